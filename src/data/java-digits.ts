import { powerOfTen } from './decimal.ts';

/** The number is 0.d₁d₂… times ten to the power of `exponent`; the last digit is no zero. */
export type Digits = { readonly digits: string; readonly exponent: number };

/**
 * The digits that Java's Double.toString chose up to version 18. They always read back as the number, but are
 * not always the fewest: Java counted in 32, 64 or more bits, as the size of the number asked for, and the
 * three ways end a hair's breadth apart. Casts to text are compared digit for digit, so their choices are
 * followed here. Invariant: equal to Java 17 for every double and float.
 *
 * The number is `fraction` (53 bits, the first one set) times 2^(exponent - 52), and stands for all numbers
 * that round to it with `significantBits` bits.
 */
export function javaDigits(fraction: bigint, exponent: number, significantBits: number): Digits {
  const trailing = trailingZeros(fraction);
  const fractionBits = 53 - trailing;
  const bitsBehindPoint = Math.max(0, fractionBits - exponent - 1);
  if (bitsBehindPoint === 0 && exponent <= 62) {
    return wholeDigits(shift(fraction, exponent - 52), exponent - significantBits - 1);
  }
  const estimate = estimateExponent(fraction, exponent);
  const fives = Math.max(0, -estimate);
  let twos = fives + bitsBehindPoint + exponent;
  const scaleFives = Math.max(0, estimate);
  let scaleTwos = scaleFives + bitsBehindPoint;
  let marginTwos = twos - significantBits;
  twos -= fractionBits - 1;
  const common = Math.min(twos, scaleTwos);
  twos -= common;
  scaleTwos -= common;
  marginTwos -= common;
  // Below a power of two the neighbours are only half as far away.
  if (fractionBits === 1) marginTwos -= 1;
  if (marginTwos < 0) {
    twos -= marginTwos;
    scaleTwos -= marginTwos;
    marginTwos = 0;
  }
  const numeratorBits = fractionBits + twos + bitsOfFives(fives);
  const tenfoldBits = scaleTwos + 1 + bitsOfFives(scaleFives + 1);
  return generate({
    rest: ((fraction >> BigInt(trailing)) * 5n ** BigInt(fives)) << BigInt(twos),
    scale: (5n ** BigInt(scaleFives)) << BigInt(scaleTwos),
    margin: (5n ** BigInt(fives)) << BigInt(marginTwos),
    exponent: estimate,
    word: Math.max(numeratorBits, tenfoldBits) < 32 ? 32 : 64,
    isBig: numeratorBits >= 64 || tenfoldBits >= 64,
  });
}

type Division = {
  readonly rest: bigint;
  readonly scale: bigint;
  readonly margin: bigint;
  readonly exponent: number;
  readonly word: number;
  readonly isBig: boolean;
};

/** Long division, digit by digit, until what is left is inside the margin below or above. */
function generate({ scale, exponent, word, isBig, ...start }: Division): Digits {
  const tenfold = scale * 10n;
  let { rest, margin } = start;
  let digits = '';
  let point = exponent;
  let low = false;
  let high = false;
  const step = (): bigint => {
    const digit = rest / scale;
    rest = (rest - digit * scale) * 10n;
    margin *= 10n;
    if (!isBig) margin = BigInt.asIntN(word, margin);
    const isOverflown = margin <= 0n;
    low = isOverflown || rest < margin;
    const above = rest + margin;
    high = isOverflown || (isBig ? above >= tenfold : BigInt.asIntN(word, above) > tenfold);
    return digit;
  };
  const first = step();
  if (first === 0n && !high) point -= 1;
  else digits += first;
  // In the form with an exponent at least two digits are made, whatever the margins say.
  if (point < -3 || point >= 8) {
    low = false;
    high = false;
  }
  while (!low && !high) digits += step();
  const difference = low ? rest * 2n - tenfold : 1n;
  const isOdd = Number(digits.at(-1)) % 2 === 1;
  const roundsUp = high && (difference > 0n || (difference === 0n && isOdd));
  return trimmed(roundsUp ? (BigInt(digits) + 1n).toString() : digits, digits.length, point + 1);
}

/** A whole number below 2^63; digits that its float can not tell apart are rounded away. */
function wholeDigits(value: bigint, spareBits: number): Digits {
  const spare = spareBits > 1 ? (1n << BigInt(spareBits)).toString().length - 1 : 0;
  const unit = powerOfTen(spare);
  const kept = spare === 0 ? value : (value + unit / 2n) / unit;
  const digits = kept.toString();
  return trimmed(digits, digits.length, digits.length + spare);
}

/** Rounding up 99 gives a digit more, and moves the point. */
function trimmed(digits: string, length: number, exponent: number): Digits {
  return { digits: digits.replace(/0+$/, ''), exponent: exponent + digits.length - length };
}

/** The decimal exponent, at most one too high: the logarithm from a straight line through the fraction. */
function estimateExponent(fraction: bigint, exponent: number): number {
  const mantissa = Number(fraction) / 2 ** 52;
  return Math.floor((mantissa - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981);
}

/** As Java counted them: exactly for the powers it had in a table, three for each five beyond. */
function bitsOfFives(count: number): number {
  if (count === 0) return 0;
  return count < 27 ? (5n ** BigInt(count)).toString(2).length : count * 3;
}

function shift(value: bigint, by: number): bigint {
  return by >= 0 ? value << BigInt(by) : value >> BigInt(-by);
}

function trailingZeros(value: bigint): number {
  const low = Number(value & 0xffff_ffffn);
  if (low !== 0) return 31 - Math.clz32(low & -low);
  const high = Number(value >> 32n);
  return 63 - Math.clz32(high & -high);
}

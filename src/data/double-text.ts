import { type Digits, javaDigits } from './java-digits.ts';

/**
 * Doubles and floats as Java 17 prints them, which is how Spark casts them to text: `1.0E7`, `1.0E-4`, `0.1`.
 * Invariant: the text reads back as the same number, and has at least one digit behind the point.
 */
export function formatDouble(value: number): string {
  return special(value) ?? javaForm(value < 0, doubleDigits(Math.abs(value)));
}

/** As `formatDouble`, with the digits that tell one float from its neighbours. */
export function formatFloat(value: number): string {
  return special(value) ?? javaForm(value < 0, floatDigits(Math.abs(value)));
}

/** The double with the shortest text that rounds to this float: 0.1 for `Math.fround(0.1)`. */
export function shortestDoubleOfFloat(value: number): number {
  if (!Number.isFinite(value) || value === 0) return value;
  for (let digits = 1; digits < 9; digits += 1) {
    const shortest = Number(value.toPrecision(digits));
    if (Math.fround(shortest) === value) return shortest;
  }
  return Number(value.toPrecision(9));
}

function special(value: number): string | undefined {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  return undefined;
}

const bits = Buffer.alloc(8);

function doubleDigits(value: number): Digits {
  bits.writeDoubleBE(value);
  const word = bits.readBigUInt64BE();
  const exponent = Number(word >> 52n);
  const fraction = word & 0xf_ffff_ffff_ffffn;
  if (exponent > 0) return javaDigits(fraction | (1n << 52n), exponent - 1023, 53);
  const size = fraction.toString(2).length;
  return javaDigits(fraction << BigInt(53 - size), size - 53 - 1022, size);
}

function floatDigits(value: number): Digits {
  bits.writeFloatBE(value);
  const word = bits.readUInt32BE();
  const exponent = word >>> 23;
  const fraction = BigInt(word & 0x7f_ffff);
  const widened = 29n;
  if (exponent > 0) return javaDigits((fraction | (1n << 23n)) << widened, exponent - 127, 24);
  const size = fraction.toString(2).length;
  return javaDigits(fraction << (BigInt(24 - size) + widened), size - 24 - 126, size);
}

function javaForm(isNegative: boolean, { digits, exponent }: Digits): string {
  const sign = isNegative ? '-' : '';
  if (exponent > 7 || exponent <= -3) {
    return `${sign}${digits[0]}.${digits.slice(1) || '0'}E${exponent - 1}`;
  }
  if (exponent <= 0) return `${sign}0.${'0'.repeat(-exponent)}${digits}`;
  const padded = digits.padEnd(exponent, '0');
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent) || '0'}`;
}

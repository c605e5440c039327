import { powerOfTen } from './decimal.ts';
import { type JsonKind, kindInteger, kindNumber } from './json-lex.ts';
import { type Misfit, misfit } from './misfit.ts';

/**
 * Numbers of JSON as values, from the bytes of a valid number. Invariant: the value is exactly the number
 * that stands there (a double: the nearest one), or a misfit; nothing wraps, rounds or becomes infinite.
 */

/** A whole number from `least` to `most`, however it is written: `10`, `10.0`, `1e1`. */
export function decodeInteger(
  bytes: Buffer,
  span: { readonly start: number; readonly end: number; readonly kind: JsonKind },
  least: number,
  most: number,
): number | Misfit {
  const { start, end, kind } = span;
  let value: number;
  if (kind === kindInteger && end - start <= digitsMax) {
    value = smallInteger(bytes, start, end);
  } else {
    const exact = decodeExact(bytes, start, end, kind, 0);
    if (exact === undefined) return misfit;
    value = Number(exact);
  }
  return value >= least && value <= most ? value : misfit;
}

export function decodeBigint(
  bytes: Buffer,
  start: number,
  end: number,
  kind: JsonKind,
): bigint | Misfit {
  if (kind === kindInteger) {
    if (end - start <= digitsMax) return BigInt(smallInteger(bytes, start, end));
    if (end - start > 20) return misfit;
    const value = largeInteger(bytes, start, end);
    return BigInt.asIntN(64, value) === value ? value : misfit;
  }
  const value = decodeExact(bytes, start, end, kind, 0);
  return value === undefined || BigInt.asIntN(64, value) !== value ? misfit : value;
}

/** The unscaled value at `scale`. Digits beyond the scale must be zeros. */
export function decodeDecimal(
  bytes: Buffer,
  span: { readonly start: number; readonly end: number; readonly kind: JsonKind },
  scale: number,
  limit: bigint,
): bigint | Misfit {
  const { start, end, kind } = span;
  let value = end - start <= digitsMax ? shortDecimal(bytes, start, end, scale) : undefined;
  value ??= decodeExact(bytes, start, end, kind, scale);
  return value === undefined || value >= limit || value <= -limit ? misfit : value;
}

export function decodeDouble(
  bytes: Buffer,
  start: number,
  end: number,
  kind: JsonKind,
): number | Misfit {
  if (end - start <= digitsMax) {
    const short = shortDouble(bytes, start, end);
    if (short !== undefined) return short;
  }
  if (kind !== kindInteger && kind !== kindNumber) return misfit;
  const value = Number(bytes.toString('latin1', start, end));
  return Number.isFinite(value) ? value : misfit;
}

/** So many characters that any digits among them make an exact double. */
const digitsMax = 15;

/** The number times ten to the power of `scale`, when that is whole and has at most 39 digits. */
function decodeExact(
  bytes: Buffer,
  start: number,
  end: number,
  kind: JsonKind,
  scale: number,
): bigint | undefined {
  if (kind !== kindInteger && kind !== kindNumber) return undefined;
  return exactUnscaled(bytes.toString('latin1', start, end), scale);
}

/** As above, from text; undefined also for what is no number. Never builds digits that can not fit. */
export function exactUnscaled(text: string, scale: number): bigint | undefined {
  const match = numberPattern.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const all = whole + fraction;
  const digits = all.replace(leadingZeros, '');
  if (digits === '') return 0n;
  let last = digits.length;
  while (digits.charCodeAt(last - 1) === 0x30) last -= 1;
  // The last digit is no zero, and stands `shift` digits above the lowest that the scale has.
  const shift = Number(exponent) - fraction.length + (digits.length - last) + scale;
  if (shift < 0 || last + shift > 39) return undefined;
  const value = BigInt(digits.slice(0, last)) * powerOfTen(shift);
  return sign === '-' ? -value : value;
}

const numberPattern = /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
const leadingZeros = /^0+/;

function smallInteger(bytes: Buffer, start: number, end: number): number {
  const isNegative = bytes[start] === 0x2d;
  let value = 0;
  for (let at = isNegative ? start + 1 : start; at < end; at += 1) {
    value = value * 10 + (bytes[at] as number) - 0x30;
  }
  // Not -value: there is one zero.
  return isNegative ? 0 - value : value;
}

/** At most 20 characters, in two halves that doubles hold exactly. */
function largeInteger(bytes: Buffer, start: number, end: number): bigint {
  const isNegative = bytes[start] === 0x2d;
  const middle = end - 9;
  const high = BigInt(smallInteger(bytes, isNegative ? start + 1 : start, middle));
  const value = high * 1_000_000_000n + BigInt(smallInteger(bytes, middle, end));
  return isNegative ? -value : value;
}

/** A number without exponent and with no more fraction digits than the scale; else undefined. */
function shortDecimal(
  bytes: Buffer,
  start: number,
  end: number,
  scale: number,
): bigint | undefined {
  const isNegative = bytes[start] === 0x2d;
  let value = 0;
  let point = end - 1;
  for (let at = isNegative ? start + 1 : start; at < end; at += 1) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
    else if (bytes[at] === 0x2e) point = at;
    else return undefined;
  }
  const missing = scale - (end - 1 - point);
  if (missing < 0) return undefined;
  const signed = isNegative ? 0 - value : value;
  const scaled = signed * (smallPowers[missing] ?? Number.NaN);
  return Math.abs(scaled) <= Number.MAX_SAFE_INTEGER
    ? BigInt(scaled)
    : BigInt(signed) * powerOfTen(missing);
}

/** Both operands of one division are exact, so the quotient is the nearest double. */
function shortDouble(bytes: Buffer, start: number, end: number): number | undefined {
  const isNegative = bytes[start] === 0x2d;
  let value = 0;
  let point = end - 1;
  for (let at = isNegative ? start + 1 : start; at < end; at += 1) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
    else if (bytes[at] === 0x2e) point = at;
    else return undefined;
  }
  value /= smallPowers[end - 1 - point] as number;
  return isNegative ? -value : value;
}

const smallPowers: readonly number[] = Array.from({ length: 16 }, (_, index) => 10 ** index);

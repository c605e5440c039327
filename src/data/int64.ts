import type { ByteWriter } from './byte-writer.ts';

/** A 64-bit whole number as two halves, both unsigned; one object is filled again and again. */
export type Int64 = { high: number; low: number };

/**
 * 64-bit whole numbers between decimal digits and two halves, in doubles alone: a BigInt is an allocation, and several of
 * them a record cost more than the rest of its way. Invariant: the digits and the halves are the same number, or
 * `readInt64Digits` says that it does not fit.
 */

/** From an integer of JSON, [start, end): false when it is beyond 64 bits. */
export function readInt64Digits(
  bytes: Uint8Array,
  start: number,
  end: number,
  into: Int64,
): boolean {
  const isNegative = bytes[start] === minus;
  const first = isNegative ? start + 1 : start;
  const digits = end - first;
  if (digits > digitsMax) return false;
  const middle = digits > lowDigits ? end - lowDigits : first;
  let top = 0;
  for (let at = first; at < middle; at += 1) top = top * 10 + (bytes[at] as number) - digit0;
  let rest = 0;
  for (let at = middle; at < end; at += 1) rest = rest * 10 + (bytes[at] as number) - digit0;
  return takeHalves(top, rest, isNegative, into);
}

/** The same, where the view of the bytes is at hand, four digits at a time. */
export function readInt64Words(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  into: Int64,
): boolean {
  const isNegative = bytes[start] === minus;
  const first = isNegative ? start + 1 : start;
  const digits = end - first;
  if (digits > digitsMax) return false;
  if (digits <= lowDigits) return readInt64Digits(bytes, start, end, into);
  const middle = end - lowDigits;
  const rest =
    ((bytes[middle] as number) - digit0) * 100_000_000 +
    fourDigits(view.getInt32(end - 8, true)) * 10_000 +
    fourDigits(view.getInt32(end - 4, true));
  let top = 0;
  let at = first;
  for (; (middle - at) % 4 !== 0; at += 1) top = top * 10 + (bytes[at] as number) - digit0;
  for (; at < middle; at += 4) top = top * 10_000 + fourDigits(view.getInt32(at, true));
  return takeHalves(top, rest, isNegative, into);
}

/** The number of four digits that lie in a word, the first one lowest. */
function fourDigits(word: number): number {
  const digits = word ^ 0x30303030;
  // Each byte with ten times the one below it: two numbers below 100, one byte apart.
  const pairs = Math.imul(digits, 10) + (digits >>> 8);
  return (pairs & 0xff) * 100 + ((pairs >>> 16) & 0xff);
}

/** Of top × 10^9 + rest, or of its negative; false: it is beyond 64 bits. */
function takeHalves(top: number, rest: number, isNegative: boolean, into: Int64): boolean {
  // The product in two steps of 16 bits, so that no sum passes 2^53.
  const topHigh = Math.floor(top / 0x1_0000);
  const product = topHigh * unit;
  const productHigh = Math.floor(product / 0x1_0000);
  const sum =
    (product - productHigh * 0x1_0000) * 0x1_0000 + (top - topHigh * 0x1_0000) * unit + rest;
  const carry = Math.floor(sum / 0x1_0000_0000);
  const high = productHigh + carry;
  const low = sum - carry * 0x1_0000_0000;
  // The least number has no positive counterpart.
  if (high >= 0x8000_0000 && !(isNegative && high === 0x8000_0000 && low === 0)) return false;
  into.high = isNegative ? (low === 0 ? -high : ~high) >>> 0 : high;
  into.low = isNegative ? -low >>> 0 : low;
  return true;
}

/** As decimal digits. */
export function writeInt64Digits(out: ByteWriter, high: number, low: number): void {
  let top = high;
  let bottom = low;
  if (high >= 0x8000_0000) {
    out.byte(minus);
    top = (low === 0 ? -high : ~high) >>> 0;
    bottom = -low >>> 0;
  }
  // Divided by 10^9 in steps of 16 bits.
  const quotientHigh = Math.floor(top / unit);
  let rest = (top - quotientHigh * unit) * 0x1_0000 + Math.floor(bottom / 0x1_0000);
  const quotientMiddle = Math.floor(rest / unit);
  rest = (rest - quotientMiddle * unit) * 0x1_0000 + (bottom % 0x1_0000);
  const quotientLow = Math.floor(rest / unit);
  rest -= quotientLow * unit;
  const quotient = quotientHigh * 0x1_0000_0000 + quotientMiddle * 0x1_0000 + quotientLow;
  if (quotient === 0) {
    writeDigits(out, rest, digitCount(rest));
  } else {
    writeDigits(out, quotient, digitCount(quotient));
    writeDigits(out, rest, lowDigits);
  }
}

const minus = 0x2d;
const digit0 = 0x30;
const digitsMax = 19;
const lowDigits = 9;
const unit = 1_000_000_000;

function digitCount(value: number): number {
  let count = 1;
  for (let limit = 10; value >= limit; limit *= 10) count += 1;
  return count;
}

function writeDigits(out: ByteWriter, value: number, count: number): void {
  out.reserve(count);
  const { buffer, length } = out;
  let rest = value;
  for (let at = length + count - 1; at >= length; at -= 1) {
    const quotient = Math.floor(rest / 10);
    buffer[at] = digit0 + (rest - quotient * 10);
    rest = quotient;
  }
  out.length = length + count;
}

import { type Int64, readInt64Digits } from './int64.ts';
import { kindAscii, kindFalse, kindInteger, kindNumber, kindText, kindTrue } from './json-lex.ts';
import type { DataType } from './types.ts';

/** How a value of JSON may be taken over. */
export type Plainness = 0 | 1 | 2;
/** It has to be decoded, and written from its value. */
export const notPlain = 0;
/** Its bytes, as they lie, are the canonical ones of its type. */
export const plain = 1;
/** An instant with three digits behind the second, which are six in its canonical form. */
export const plainMillis = 2;

/** The span is that of the scanner: of strings without their quotes. */
export type PlainTest = (bytes: Uint8Array, start: number, end: number, kind: number) => Plainness;

/**
 * Whether the bytes of a value in a JSON text are those that `json-encode.ts` would write for it, so that a value that only
 * passes through need not be decoded. Undefined: values of the type are always decoded. Invariant: what is plain is valid
 * for its type; what is not plain may be so all the same.
 */
export function plainTest(type: DataType): PlainTest | undefined {
  switch (type.kind) {
    case 'boolean':
      return (_bytes, _start, _end, kind) =>
        kind === kindTrue || kind === kindFalse ? plain : notPlain;
    case 'string':
      return (bytes, start, end, kind) =>
        kind === kindAscii || (kind === kindText && hasCanonicalEscapes(bytes, start, end))
          ? plain
          : notPlain;
    case 'int':
      return (bytes, start, end, kind) =>
        kind === kindInteger && isShort(bytes, start, end, 9) ? plain : notPlain;
    case 'bigint':
      return (bytes, start, end, kind) =>
        kind === kindInteger && isPlainInt64(bytes, start, end) ? plain : notPlain;
    case 'decimal':
      return decimalTest(type.precision, type.scale);
    case 'timestamp':
      return (bytes, start, end, kind) => {
        if (kind !== kindAscii) return notPlain;
        return plainTimestamp(bytes, start, end);
      };
    default:
      return undefined;
  }
}

const minus = 0x2d;
const digit0 = 0x30;
const dot = 0x2e;

/** So few digits always fit; `-0` is written as `0`. */
function isShort(bytes: Uint8Array, start: number, end: number, digitsMax: number): boolean {
  if (bytes[start] !== minus) return end - start <= digitsMax;
  return end - start <= digitsMax + 1 && bytes[start + 1] !== digit0;
}

/** Of an integer. */
export function isPlainInt64(bytes: Uint8Array, start: number, end: number): boolean {
  return (
    isShort(bytes, start, end, 18) ||
    (isShort(bytes, start, end, 19) && readInt64Digits(bytes, start, end, scratch))
  );
}

const scratch: Int64 = { high: 0, low: 0 };

function decimalTest(precision: number, scale: number): PlainTest {
  const wholeDigitsMax = precision - scale;
  return (bytes, start, end, kind) => {
    if (bytes[start] === minus && bytes[start + 1] === digit0) return notPlain;
    const first = bytes[start] === minus ? start + 1 : start;
    if (scale === 0)
      return kind === kindInteger && end - first <= wholeDigitsMax ? plain : notPlain;
    const point = end - scale - 1;
    if (kind !== kindNumber || point <= first || bytes[point] !== dot) return notPlain;
    const wholeDigits = point - first;
    // `0.50` has one digit before the point even where the type leaves room for none.
    if (wholeDigits > wholeDigitsMax && !(wholeDigits === 1 && bytes[first] === digit0)) {
      return notPlain;
    }
    for (let at = point + 1; at < end; at += 1) {
      const byte = bytes[at] as number;
      if (byte < digit0 || byte > digit0 + 9) return notPlain;
    }
    return plain;
  };
}

/**
 * Whether a string of ASCII characters has no other escapes than those that its canonical form has, too. The
 * scanner has checked that it is a valid JSON string.
 */
function hasCanonicalEscapes(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= 0x80) return false;
    if (byte !== backslash) continue;
    at += 1;
    // `\/` is written plain, and what `\u` stands for is not looked into here.
    if (bytes[at] === slash || bytes[at] === letterU) return false;
  }
  return true;
}

const backslash = 0x5c;
const slash = 0x2f;
const letterU = 0x75;

/** `2025-03-05T04:33:46.000000Z` exactly, with every part in its range, or the same with three digits. */
function plainTimestamp(bytes: Uint8Array, start: number, end: number): Plainness {
  if (hasShape(bytes, start, end, microsShape)) return isInRange(bytes, start) ? plain : notPlain;
  const isMillis = hasShape(bytes, start, end, millisShape) && isInRange(bytes, start);
  return isMillis ? plainMillis : notPlain;
}

function hasShape(bytes: Uint8Array, start: number, end: number, shape: Buffer): boolean {
  const length = shape.length;
  if (end - start !== length) return false;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[start + at] as number;
    const wanted = shape[at] as number;
    if (wanted === digit0 ? byte < digit0 || byte > digit0 + 9 : byte !== wanted) return false;
  }
  return true;
}

/** Whether the parts of an instant that has the shape are in their ranges. */
export function isInRange(bytes: Uint8Array, start: number): boolean {
  const year = two(bytes, start) * 100 + two(bytes, start + 2);
  const month = two(bytes, start + 5);
  const day = two(bytes, start + 8);
  return (
    year >= 1 &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    // The end of February is left to the decoder: it knows the leap years.
    day <= (monthDays[month] as number) &&
    two(bytes, start + 11) < 24 &&
    two(bytes, start + 14) < 60 &&
    two(bytes, start + 17) < 60
  );
}

const monthDays = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const microsShape = Buffer.from('0000-00-00T00:00:00.000000Z', 'latin1');
const millisShape = Buffer.from('0000-00-00T00:00:00.000Z', 'latin1');

function two(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) - digit0) * 10 + ((bytes[at + 1] as number) - digit0);
}

import { parseDecimal } from './decimal.ts';
import {
  type JsonSpan,
  kindArray,
  kindAscii,
  kindFalse,
  kindInteger,
  kindMissing,
  kindNumber,
  kindObject,
  kindText,
  kindTrue,
  readValue,
  spaceEnd,
  stringEnd,
  valueEnd,
} from './json-lex.ts';
import { decodeJsonString } from './json-text.ts';
import { type Misfit, misfit } from './misfit.ts';
import type { Variant, VariantNode } from './value.ts';
import { decimalNode, variantObject } from './variant.ts';

/**
 * Reads a semi-structured value from a span of a valid JSON text. Invariant: no digit is lost where a
 * decimal can hold them; an object with the same name twice is a misfit, and so is a number beyond the doubles.
 */
export function decodeVariant(bytes: Buffer, span: JsonSpan): VariantNode | Misfit {
  return decodeNode(bytes, span, (text) => {
    const node = variantNumber(text);
    return node === Number.POSITIVE_INFINITY || node === Number.NEGATIVE_INFINITY ? misfit : node;
  });
}

type Span = Pick<JsonSpan, 'start' | 'end'>;

type NumberReader = (text: string) => VariantNode | Misfit;

function decodeNode(
  bytes: Buffer,
  { start, end, kind }: JsonSpan,
  numberOf: NumberReader,
): VariantNode | Misfit {
  switch (kind) {
    case kindAscii:
      return bytes.toString('latin1', start, end);
    case kindText:
      return decodeJsonString(bytes, start, end) ?? misfit;
    case kindInteger:
    case kindNumber:
      return numberOf(bytes.toString('latin1', start, end));
    case kindTrue:
      return true;
    case kindFalse:
      return false;
    case kindArray:
      return decodeArray(bytes, { start, end }, numberOf);
    case kindObject:
      return decodeObject(bytes, { start, end }, numberOf);
    default:
      return null;
  }
}

/** What a text of JSON says; what follows the first value is not looked at. undefined: it is no JSON. */
export function parseVariant(text: string): Variant | undefined {
  const bytes = Buffer.from(text, 'utf8');
  const start = spaceEnd(bytes, 0);
  if (start >= bytes.length) return undefined;
  const end = valueEnd(bytes, start, bytes.length, 0);
  if (end < 0 || end > bytes.length || runsOn(bytes, start, end)) return undefined;
  const span: JsonSpan = { kind: kindMissing, start, end };
  readValue(span, bytes, start, end);
  // As Spark does it: what is beyond the doubles is an infinity here.
  const variant = decodeNode(bytes, span, variantNumber);
  return variant === misfit ? undefined : { variant };
}

/** `01` and `truex`: a number or word must end where another token could begin. */
function runsOn(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start];
  if (first === 0x22 || first === 0x7b || first === 0x5b) return false;
  if (end >= bytes.length) return false;
  const next = String.fromCharCode(bytes[end] as number);
  // Behind a number there is nothing but space.
  const isNumber = first === 0x2d || (first !== undefined && first >= 0x30 && first <= 0x39);
  return isNumber ? !/\s/.test(next) : /[\w.+-]/.test(next);
}

/** Beyond it a whole number has more than 64 bits, and would take its time to be read as one. */
const bigintTextMax = 20;

/** A bigint where it fits, a decimal where one holds all digits, else a double. */
export function variantNumber(text: string): VariantNode {
  // NaN and the infinities have no digits.
  if (!/\d/.test(text)) return Number(text);
  if (text.length <= bigintTextMax && !/[.eE]/.test(text)) {
    const whole = BigInt(text);
    if (BigInt.asIntN(64, whole) === whole) return whole;
  }
  if (!/[eE]/.test(text)) {
    const decimal = parseDecimal(text);
    const node = decimal && decimalNode(decimal.unscaled, decimal.scale, text);
    if (node !== undefined) return node;
  }
  return Number(text);
}

function decodeArray(
  bytes: Buffer,
  { start, end }: Span,
  numberOf: NumberReader,
): VariantNode | Misfit {
  const element: JsonSpan = { kind: kindMissing, start: 0, end: 0 };
  const nodes: VariantNode[] = [];
  let at = spaceEnd(bytes, start + 1);
  while (bytes[at] !== 0x5d) {
    at = readValue(element, bytes, at, end);
    const node = decodeNode(bytes, element, numberOf);
    if (node === misfit) return misfit;
    nodes.push(node);
    at = spaceEnd(bytes, at);
    if (bytes[at] === 0x2c) at = spaceEnd(bytes, at + 1);
  }
  return nodes;
}

function decodeObject(
  bytes: Buffer,
  { start, end }: Span,
  numberOf: NumberReader,
): VariantNode | Misfit {
  const member: JsonSpan = { kind: kindMissing, start: 0, end: 0 };
  const members: [string, VariantNode][] = [];
  let at = spaceEnd(bytes, start + 1);
  while (bytes[at] !== 0x7d) {
    const name = stringEnd(bytes, at + 1, end);
    const key = decodeJsonString(bytes, at + 1, (name >> 1) - 1);
    at = spaceEnd(bytes, spaceEnd(bytes, name >> 1) + 1);
    at = readValue(member, bytes, at, end);
    const node = decodeNode(bytes, member, numberOf);
    if (key === undefined || node === misfit) return misfit;
    members.push([key, node]);
    at = spaceEnd(bytes, at);
    if (bytes[at] === 0x2c) at = spaceEnd(bytes, at + 1);
  }
  return variantObject(members) ?? misfit;
}

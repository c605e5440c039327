/**
 * Where the parts of a JSON text end: the grammar of RFC 8259 over bytes, without recursion and
 * without making a value. Invariant: a position that comes back has a valid part before it, unless it is
 * beyond `end`: callers compare once, at the end of a record, because positions only grow.
 * Buffers are shorter than 2^30 bytes, so that a position and a flag fit one small integer.
 */

/** Returned in place of a position. */
export const malformed = -1;
export const tooDeep = -2;

/** Levels of objects and arrays that a record may have. */
export const depthMax = 1000;

/** What a member's value is; `missing` also stands for an element that was not found. */
export type JsonKind = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;
export const kindMissing = 0;
/** A string of ASCII without escapes: its bytes are its characters. Spans of strings are without quotes. */
export const kindAscii = 1;
/** A string with escapes or beyond ASCII. */
export const kindText = 2;
/** A number without fraction and exponent. */
export const kindInteger = 3;
export const kindNumber = 4;
export const kindTrue = 5;
export const kindFalse = 6;
export const kindNull = 7;
export const kindObject = 8;
export const kindArray = 9;

/** The position of the first byte that is no white space. */
export function spaceEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at] as number;
    if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) return at;
    at += 1;
  }
}

/**
 * From behind the opening quote: twice the position behind the closing one, plus 1 when the string has
 * escapes or bytes beyond ASCII. Whether those are valid UTF-8 is for the one who decodes.
 */
export function stringEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  let needsDecode = 0;
  while (at < end) {
    const what = classes[bytes[at] as number];
    at += 1;
    if (what === plain) continue;
    if (what === quote) return at * 2 + needsDecode;
    needsDecode = 1;
    if (what === beyondAscii) continue;
    if (what === control) return malformed;
    const escaped = bytes[at] as number;
    at += 1;
    if (escaped === 0x75) {
      for (const last = at + 4; at < last; at += 1) {
        if (!isHexDigit(bytes[at] as number)) return malformed;
      }
    } else if (!isSimpleEscape(escaped)) {
      return malformed;
    }
  }
  return malformed;
}

/** From the first byte: twice the position behind the number, plus 1 when it has a fraction or an exponent. */
export function numberEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  if (bytes[at] === 0x2d) at += 1;
  let byte = bytes[at] as number;
  if (byte === 0x30) {
    at += 1;
  } else {
    if (!(byte >= 0x31 && byte <= 0x39)) return malformed;
    at = digitsEnd(bytes, at + 1);
  }
  byte = bytes[at] as number;
  if (byte !== 0x2e && byte !== 0x65 && byte !== 0x45) return at * 2;
  if (byte === 0x2e) {
    const fraction = at + 1;
    at = digitsEnd(bytes, fraction);
    if (at === fraction) return malformed;
    byte = bytes[at] as number;
  }
  if (byte === 0x65 || byte === 0x45) {
    at += 1;
    byte = bytes[at] as number;
    if (byte === 0x2b || byte === 0x2d) at += 1;
    const exponent = at;
    at = digitsEnd(bytes, exponent);
    if (at === exponent) return malformed;
  }
  return at * 2 + 1;
}

/** From the first letter of `true`, `false` or `null`. */
export function literalEnd(bytes: Uint8Array, at: number): number {
  const isTrue =
    bytes[at] === 0x74 &&
    bytes[at + 1] === 0x72 &&
    bytes[at + 2] === 0x75 &&
    bytes[at + 3] === 0x65;
  if (isTrue) return at + 4;
  const isNull =
    bytes[at] === 0x6e &&
    bytes[at + 1] === 0x75 &&
    bytes[at + 2] === 0x6c &&
    bytes[at + 3] === 0x6c;
  if (isNull) return at + 4;
  const isFalse =
    bytes[at] === 0x66 &&
    bytes[at + 1] === 0x61 &&
    bytes[at + 2] === 0x6c &&
    bytes[at + 3] === 0x73 &&
    bytes[at + 4] === 0x65;
  return isFalse ? at + 5 : malformed;
}

/** From `{` or `[`, of which `outer` levels are open around it. */
export function nestedEnd(bytes: Uint8Array, from: number, end: number, outer: number): number {
  let at = from;
  let depth = 0;
  for (;;) {
    const byte = bytes[at] as number;
    if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth + outer > depthMax) return tooDeep;
      isObjectAt[depth] = byte === 0x7b ? 1 : 0;
      at = spaceEnd(bytes, at + 1);
      // `}` and `]` are two above their openings.
      if (bytes[at] === byte + 2) {
        at += 1;
        depth -= 1;
      } else {
        if (byte === 0x7b) at = nameEnd(bytes, at, end);
        if (at < 0) return malformed;
        continue;
      }
    } else {
      at = scalarEnd(bytes, at, end);
      if (at < 0) return malformed;
    }
    // A value just ended: close what ends with it, and stand before the next one.
    for (;;) {
      if (depth === 0) return at;
      at = spaceEnd(bytes, at);
      const next = bytes[at] as number;
      const isObject = isObjectAt[depth] === 1;
      at += 1;
      if (next === 0x2c) {
        at = spaceEnd(bytes, at);
        if (isObject) at = nameEnd(bytes, at, end);
        if (at < 0 || at > end) return malformed;
        break;
      }
      if (next !== (isObject ? 0x7d : 0x5d)) return malformed;
      depth -= 1;
    }
  }
}

/** From the first byte of any value; `outer` levels are open around it. */
export function valueEnd(bytes: Uint8Array, at: number, end: number, outer: number): number {
  const byte = bytes[at];
  return byte === 0x7b || byte === 0x5b
    ? nestedEnd(bytes, at, end, outer)
    : scalarEnd(bytes, at, end);
}

/** One value inside a valid text, as `readValue` fills it; a string's span is without its quotes. */
export type JsonSpan = { kind: JsonKind; start: number; end: number };

/** Fills `span` with the value that begins at `at`, in a text known to be valid; gives the position behind it. */
export function readValue(span: JsonSpan, bytes: Uint8Array, at: number, end: number): number {
  const byte = bytes[at] as number;
  span.start = at;
  let to: number;
  if (byte === 0x22) {
    const text = stringEnd(bytes, at + 1, end);
    to = text >> 1;
    span.kind = (text & 1) === 0 ? kindAscii : kindText;
    span.start = at + 1;
    span.end = to - 1;
    return to;
  }
  if (byte === 0x7b || byte === 0x5b) {
    to = nestedEnd(bytes, at, end, 0);
    span.kind = byte === 0x7b ? kindObject : kindArray;
  } else if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
    const number = numberEnd(bytes, at);
    to = number >> 1;
    span.kind = (number & 1) === 0 ? kindInteger : kindNumber;
  } else {
    to = literalEnd(bytes, at);
    span.kind = byte === 0x6e ? kindNull : byte === 0x74 ? kindTrue : kindFalse;
  }
  span.end = to;
  return to;
}

/** Whether a class of objects is open at a level; nothing here calls itself, so one array serves all. */
const isObjectAt = new Uint8Array(depthMax + 2);

const plain = 0;
const quote = 1;
const backslash = 2;
const control = 3;
const beyondAscii = 4;
const classes = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === 0x22) return quote;
  if (byte === 0x5c) return backslash;
  if (byte < 0x20) return control;
  return byte > 0x7f ? beyondAscii : plain;
});

/** From the quote of a member's name to the first byte of its value. */
function nameEnd(bytes: Uint8Array, from: number, end: number): number {
  if (bytes[from] !== 0x22) return malformed;
  const name = stringEnd(bytes, from + 1, end);
  if (name < 0) return malformed;
  const colon = spaceEnd(bytes, name >> 1);
  return bytes[colon] === 0x3a ? spaceEnd(bytes, colon + 1) : malformed;
}

function scalarEnd(bytes: Uint8Array, at: number, end: number): number {
  const byte = bytes[at] as number;
  if (byte === 0x22) return stringEnd(bytes, at + 1, end) >> 1;
  if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) return numberEnd(bytes, at) >> 1;
  return literalEnd(bytes, at);
}

function digitsEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at] as number;
    if (!(byte >= 0x30 && byte <= 0x39)) return at;
    at += 1;
  }
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}

/** One of `"\/bfnrt`. */
function isSimpleEscape(byte: number): boolean {
  switch (byte) {
    case 0x22:
    case 0x5c:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true;
    default:
      return false;
  }
}

import { asciiText } from './ascii-text.ts';
import type { ByteWriter } from './byte-writer.ts';

/**
 * The characters of JSON strings, both ways. Invariant: what is decoded is well-formed (no invalid UTF-8,
 * no lone surrogate), and every string has exactly one encoded form.
 *
 * Gives the text of the string whose bytes between the quotes are [start, end), known to have valid
 * escapes; undefined when it is not well-formed.
 */
export function decodeJsonString(bytes: Buffer, start: number, end: number): string | undefined {
  if (scratch.length < end - start) scratch = Buffer.allocUnsafeSlow((end - start) * 2);
  // Unescaped text is never longer, in UTF-8, than the text with its escapes.
  const target = scratch;
  let length = 0;
  let isAscii = true;
  for (let at = start; at < end; ) {
    const byte = bytes[at] as number;
    if (byte < 0x80 && byte !== backslash) {
      target[length] = byte;
      length += 1;
      at += 1;
    } else if (byte === backslash) {
      const escaped = bytes[at + 1] as number;
      if (escaped === 0x75) {
        const size = isHighSurrogate(hexUnit(bytes, at + 2)) ? 12 : 6;
        const point = codePoint(bytes, at, end);
        if (point < 0) return undefined;
        length = writeCodePoint(target, length, point);
        isAscii &&= point < 0x80;
        at += size;
      } else {
        target[length] = unescaped[escaped] as number;
        length += 1;
        at += 2;
      }
    } else {
      const next = sequenceEnd(bytes, at, end);
      if (next < 0) return undefined;
      isAscii = false;
      for (; at < next; at += 1) {
        target[length] = bytes[at] as number;
        length += 1;
      }
    }
  }
  return isAscii ? asciiText(target, 0, length) : target.toString('utf8', 0, length);
}

/** Writes the string with its quotes; only `"`, `\` and control characters are escaped. */
export function writeJsonString(out: ByteWriter, text: string): void {
  if (text.length <= shortMax && writeShortAscii(out, text)) return;
  const safe = mustEscape.test(text) ? text.replace(mustEscapeAll, escapeOf) : text;
  out.reserve(safe.length * 3 + 2);
  out.buffer[out.length] = quote;
  const written = out.buffer.write(safe, out.length + 1, 'utf8');
  out.buffer[out.length + 1 + written] = quote;
  out.length += written + 2;
}

/** A loop beats the engine's own encoder for short text; gives up at the first character beyond ASCII. */
function writeShortAscii(out: ByteWriter, text: string): boolean {
  const { length } = text;
  out.reserve(length * 6 + 2);
  const { buffer } = out;
  let at = out.length;
  buffer[at] = quote;
  at += 1;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    if (code >= 0x20 && code < 0x80 && code !== quote && code !== backslash) {
      buffer[at] = code;
      at += 1;
    } else if (code < 0x80) {
      const escaped = escapes[code] as string;
      for (let part = 0; part < escaped.length; part += 1) {
        buffer[at] = escaped.charCodeAt(part);
        at += 1;
      }
    } else {
      return false;
    }
  }
  buffer[at] = quote;
  out.length = at + 1;
  return true;
}

const quote = 0x22;
const backslash = 0x5c;

/** Nothing here calls itself, so one buffer serves all strings. */
let scratch = Buffer.allocUnsafeSlow(4096);

const shortMax = 96;

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape.
const mustEscape = /["\\\u0000-\u001f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape.
const mustEscapeAll = /["\\\u0000-\u001f]/g;

const shortEscapes: readonly (readonly [string, string])[] = [
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
];

/** What stands for a character below 128 that may not stand for itself. */
const escapes: readonly string[] = Array.from({ length: 128 }, (_, code) => {
  const short = shortEscapes.find(([, character]) => character.charCodeAt(0) === code);
  return short === undefined ? `\\u${code.toString(16).padStart(4, '0')}` : `\\${short[0]}`;
});

function escapeOf(character: string): string {
  return escapes[character.charCodeAt(0)] as string;
}

/** By the byte behind the backslash. */
const unescaped = new Uint8Array(128);
for (const [letter, character] of shortEscapes) {
  unescaped[letter.charCodeAt(0)] = character.charCodeAt(0);
}

/** The code point of the escape at `at`, with the second half of a pair; -1 for a lone surrogate. */
function codePoint(bytes: Buffer, at: number, end: number): number {
  const unit = hexUnit(bytes, at + 2);
  if (unit < 0xd800 || unit > 0xdfff) return unit;
  const isPair = at + 12 <= end && bytes[at + 6] === backslash && bytes[at + 7] === 0x75;
  const low = isPair ? hexUnit(bytes, at + 8) : 0;
  if (!isHighSurrogate(unit) || low < 0xdc00 || low > 0xdfff) return -1;
  return 0x1_0000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function writeCodePoint(target: Buffer, at: number, point: number): number {
  if (point < 0x80) {
    target[at] = point;
    return at + 1;
  }
  if (point < 0x800) {
    target[at] = 0xc0 | (point >> 6);
    target[at + 1] = 0x80 | (point & 0x3f);
    return at + 2;
  }
  if (point < 0x1_0000) {
    target[at] = 0xe0 | (point >> 12);
    target[at + 1] = 0x80 | ((point >> 6) & 0x3f);
    target[at + 2] = 0x80 | (point & 0x3f);
    return at + 3;
  }
  target[at] = 0xf0 | (point >> 18);
  target[at + 1] = 0x80 | ((point >> 12) & 0x3f);
  target[at + 2] = 0x80 | ((point >> 6) & 0x3f);
  target[at + 3] = 0x80 | (point & 0x3f);
  return at + 4;
}

function hexUnit(bytes: Buffer, at: number): number {
  return (
    (hexDigit(bytes[at] as number) << 12) |
    (hexDigit(bytes[at + 1] as number) << 8) |
    (hexDigit(bytes[at + 2] as number) << 4) |
    hexDigit(bytes[at + 3] as number)
  );
}

function hexDigit(byte: number): number {
  return byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57;
}

/** Behind the UTF-8 sequence that begins at `at`; -1 when it is not well-formed. */
function sequenceEnd(bytes: Buffer, at: number, end: number): number {
  const lead = bytes[at] as number;
  const second = bytes[at + 1] as number;
  if (lead < 0xc2 || lead > 0xf4) return -1;
  const size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (at + size > end) return -1;
  // Overlong forms, surrogates and code points beyond U+10FFFF show in the second byte.
  const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return -1;
  for (let index = 2; index < size; index += 1) {
    if (((bytes[at + index] as number) & 0xc0) !== 0x80) return -1;
  }
  return at + size;
}

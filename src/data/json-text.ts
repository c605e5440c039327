/**
 * The characters of JSON strings, both ways. Invariant: what is decoded is well-formed (no invalid UTF-8,
 * no lone surrogate), and every string has exactly one encoded form.
 */
import type { ByteWriter } from './byte-writer.ts';

/**
 * The text of the string whose bytes between the quotes are [start, end), known to have valid escapes;
 * undefined when it is not well-formed.
 */
export function decodeJsonString(bytes: Buffer, start: number, end: number): string | undefined {
  let text = '';
  let from = start;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= 0x80) {
      const next = sequenceEnd(bytes, at, end);
      if (next < 0) return undefined;
      at = next - 1;
    } else if (byte === 0x5c) {
      text += bytes.toString('utf8', from, at);
      const escaped = bytes[at + 1] as number;
      if (escaped === 0x75) {
        let unit = hexUnit(bytes, at + 2);
        if (unit >= 0xdc00 && unit <= 0xdfff) return undefined;
        text += String.fromCharCode(unit);
        at += 5;
        if (unit >= 0xd800 && unit <= 0xdbff) {
          if (bytes[at + 1] !== 0x5c || bytes[at + 2] !== 0x75) return undefined;
          unit = hexUnit(bytes, at + 3);
          if (unit < 0xdc00 || unit > 0xdfff) return undefined;
          text += String.fromCharCode(unit);
          at += 6;
        }
      } else {
        text += unescaped[escaped];
        at += 1;
      }
      from = at + 1;
    }
  }
  const rest = bytes.toString('utf8', from, end);
  return text === '' ? rest : text + rest;
}

/** Writes the string with its quotes; only `"`, `\` and control characters are escaped. */
export function writeJsonString(out: ByteWriter, text: string): void {
  const { length } = text;
  if (length > shortMax || !writeShortAscii(out, text)) {
    const safe = mustEscape.test(text) ? text.replace(mustEscapeAll, escapeOf) : text;
    out.reserve(safe.length * 3 + 2);
    out.buffer[out.length] = 0x22;
    const written = out.buffer.write(safe, out.length + 1, 'utf8');
    out.buffer[out.length + 1 + written] = 0x22;
    out.length += written + 2;
  }
}

/** A loop beats the engine's own encoder for short text; gives up at the first unusual character. */
function writeShortAscii(out: ByteWriter, text: string): boolean {
  const { length } = text;
  out.reserve(length + 2);
  const { buffer } = out;
  let at = out.length;
  buffer[at] = 0x22;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7f || code === 0x22 || code === 0x5c) return false;
    at += 1;
    buffer[at] = code;
  }
  buffer[at + 1] = 0x22;
  out.length = at + 2;
  return true;
}

const shortMax = 48;

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape.
const mustEscape = /["\\\u0000-\u001f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape.
const mustEscapeAll = /["\\\u0000-\u001f]/g;

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

function escapeOf(character: string): string {
  const short = shortEscapes[character];
  return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const unescaped: Readonly<Record<number, string>> = {
  34: '"',
  92: '\\',
  47: '/',
  98: '\b',
  102: '\f',
  110: '\n',
  114: '\r',
  116: '\t',
};

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

import type { Span } from './bytes.ts';
import { spaceEnd, stringEnd, valueEnd } from './json-lex.ts';
import { decodeJsonString } from './json-text.ts';

/**
 * The top-level elements of a JSON array as spans of its bytes, in order; undefined when [start, end) is
 * not exactly one valid JSON array. Invariant: no element is decoded or copied.
 */
export function splitJsonArray(bytes: Buffer, start: number, end: number): Span[] | undefined {
  const elements: Span[] = [];
  let at = spaceEnd(bytes, start);
  if (at >= end || bytes[at] !== 0x5b) return undefined;
  at = spaceEnd(bytes, at + 1);
  if (bytes[at] !== 0x5d) {
    for (;;) {
      const from = at;
      at = valueEnd(bytes, at, end, 1);
      if (at < 0 || at >= end) return undefined;
      elements.push({ bytes, start: from, end: at });
      at = spaceEnd(bytes, at);
      if (bytes[at] === 0x5d) break;
      if (bytes[at] !== 0x2c) return undefined;
      at = spaceEnd(bytes, at + 1);
    }
  }
  at += 1;
  return at <= end && (at === end || spaceEnd(bytes, at) >= end) ? elements : undefined;
}

/**
 * The members of a JSON object that this program wrote, by name, as spans of its bytes; none where it is not one.
 * Invariant: no value is decoded or copied.
 */
export function splitJsonObject({ bytes, start, end }: Span): ReadonlyMap<string, Span> {
  const members = new Map<string, Span>();
  let at = start + 1;
  while (at < end && bytes[at] === 0x22) {
    const name = stringEnd(bytes, at + 1, end);
    if (name < 0) break;
    const nameEnd = name >> 1;
    const text = decodeJsonString(bytes, at + 1, nameEnd - 1) ?? '';
    const from = spaceEnd(bytes, spaceEnd(bytes, nameEnd) + 1);
    const to = valueEnd(bytes, from, end, 1);
    if (to < 0) break;
    members.set(text, { bytes, start: from, end: to });
    at = spaceEnd(bytes, spaceEnd(bytes, to) + 1);
  }
  return members;
}

import type { Span } from './bytes.ts';
import { spaceEnd, valueEnd } from './json-lex.ts';

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

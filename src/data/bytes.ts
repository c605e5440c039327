/** Compares two spans as unsigned bytes; where one is the other's beginning, the shorter one is less. */
export function compareSpans(a: Span, b: Span): number {
  return compareBytes(a.bytes, a.start, a.end, b.bytes, b.start, b.end);
}

/** As `compareSpans`, without the objects: six plain parameters, for the record path. */
export function compareBytes(
  bytesA: Uint8Array,
  startA: number,
  endA: number,
  bytesB: Uint8Array,
  startB: number,
  endB: number,
): number {
  const lengthA = endA - startA;
  const lengthB = endB - startB;
  const shared = lengthA < lengthB ? lengthA : lengthB;
  for (let index = 0; index < shared; index += 1) {
    const difference = (bytesA[startA + index] as number) - (bytesB[startB + index] as number);
    if (difference !== 0) return difference;
  }
  return lengthA - lengthB;
}

export function wholeSpan(bytes: Buffer): Span {
  return { bytes, start: 0, end: bytes.length };
}

export function equalSpans(a: Span, b: Span): boolean {
  return a.end - a.start === b.end - b.start && compareSpans(a, b) === 0;
}

/** The bytes [start, end) of a buffer that somebody else owns and nobody changes. */
export type Span = { readonly bytes: Buffer; readonly start: number; readonly end: number };

/** Compares two spans as unsigned bytes; where one is the other's beginning, the shorter one is less. */
export function compareSpans(a: Span, b: Span): number {
  const lengthA = a.end - a.start;
  const lengthB = b.end - b.start;
  const shared = Math.min(lengthA, lengthB);
  const bytesA = a.bytes;
  const bytesB = b.bytes;
  for (let index = 0; index < shared; index += 1) {
    const difference = (bytesA[a.start + index] as number) - (bytesB[b.start + index] as number);
    if (difference !== 0) return difference;
  }
  return lengthA - lengthB;
}

export function equalSpans(a: Span, b: Span): boolean {
  return a.end - a.start === b.end - b.start && compareSpans(a, b) === 0;
}

/** The bytes [start, end) of a buffer that somebody else owns and nobody changes. */
export type Span = { readonly bytes: Buffer; readonly start: number; readonly end: number };

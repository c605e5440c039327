/**
 * Copies bytes between two buffers, [start, end) to `at`, through their views: for a short span the engine's own copy costs
 * more in making an object for it than in copying, and a loop over single bytes takes three times as long as one over words.
 * The two must not overlap.
 */
export function copyBytes(
  source: DataView,
  start: number,
  end: number,
  target: DataView,
  at: number,
): void {
  const size = end - start;
  let from = start;
  let to = at;
  if (size < wordBytes) {
    for (; from < end; from += 1, to += 1) target.setUint8(to, source.getUint8(from));
    return;
  }
  for (const last = end - 2 * wordBytes; from <= last; from += 8, to += 8) {
    target.setInt32(to, source.getInt32(from, true), true);
    target.setInt32(to + 4, source.getInt32(from + 4, true), true);
  }
  if (from + wordBytes < end) target.setInt32(to, source.getInt32(from, true), true);
  // The last word, which may have part of the one before.
  target.setInt32(at + size - wordBytes, source.getInt32(end - wordBytes, true), true);
}

const wordBytes = 4;

/** From this size on the engine's copy is the faster one. */
export const longCopyBytes = 64;

/** Of the very bytes of a buffer. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

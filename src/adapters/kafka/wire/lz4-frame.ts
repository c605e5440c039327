/**
 * Reads the outline of an LZ4 frame without decompressing it.
 * Invariant: the answer is never smaller than what a decoder would produce; a frame that cannot be
 * followed to its end counts only up to there, since a decoder cannot go further either.
 */
export function lz4DecompressedSizeMax(frame: Buffer, enough: number): number {
  const blocks = [...blocksOf(frame)];
  const blockSizeMax = maxBlockSize(frame);
  const bound = blocks.reduce(
    (sum, block) => sum + (block.compressed ? blockSizeMax : block.end - block.start),
    0,
  );
  // Blocks that were flushed early are smaller than they may be: before a batch is refused, count exactly.
  if (bound <= enough) return bound;
  let size = 0;
  for (const { start, end, compressed } of blocks) {
    size += compressed ? blockSize(frame, start, end) : end - start;
    if (size > enough) break;
  }
  return size;
}

type Block = { readonly start: number; readonly end: number; readonly compressed: boolean };

const blockChecksum = 0x10;
const contentSize = 0x08;
const dictionaryId = 0x01;

function maxBlockSize(frame: Buffer): number {
  // 4 to 7 stand for 64 KB to 4 MB.
  const code = ((frame[5] ?? 0) >>> 4) & 7;
  return 1 << (2 * code + 8);
}

function* blocksOf(frame: Buffer): Generator<Block> {
  const flags = frame[4] ?? 0;
  let at = 7 + (flags & contentSize ? 8 : 0) + (flags & dictionaryId ? 4 : 0);
  while (at + 4 <= frame.length) {
    const word = frame.readUInt32LE(at);
    if (word === 0) return;
    const start = at + 4;
    const end = start + (word & 0x7fff_ffff);
    if (end > frame.length) return;
    yield { start, end, compressed: word < 0x8000_0000 };
    at = end + (flags & blockChecksum ? 4 : 0);
  }
}

/** Sums literals and matches of one compressed block. */
function blockSize(frame: Buffer, start: number, end: number): number {
  let at = start;
  let size = 0;
  const extended = (nibble: number): number => {
    let length = nibble;
    let byte = nibble === 15 ? 255 : 0;
    while (byte === 255 && at < end) {
      byte = frame[at] ?? 0;
      length += byte;
      at += 1;
    }
    return length;
  };
  while (at < end) {
    const token = frame[at] ?? 0;
    at += 1;
    const literals = extended(token >>> 4);
    size += literals;
    at += literals;
    // The last sequence of a block has no match.
    if (at >= end) break;
    at += 2;
    size += extended(token & 15) + 4;
  }
  return size;
}

import {
  compressSync as compressBlock,
  uncompressSync as decompressBlock,
  decompressFrameSync,
} from 'lz4-napi';

/**
 * LZ4 frames, taken apart and put together here, while the module does the blocks: its own frame functions
 * work through large buffers whose pages the system has to hand out anew for each batch, which costs ten
 * times as much as the decompression.
 * Invariant: `lz4Decompress` never produces more than `bytesMax` bytes; it returns undefined instead.
 * What it cannot follow to the end of the frame throws.
 */
export function lz4Decompress(frame: Buffer, bytesMax: number): Buffer | undefined {
  const flags = frame[4] ?? 0;
  if (frame.length < 7 || frame.readUInt32LE(0) !== FRAME_MAGIC || flags >>> 6 !== 1) {
    throw new RangeError('not an lz4 frame');
  }
  const blocks = blocksOf(frame, flags);
  if ((flags & INDEPENDENT_BLOCKS) === 0) {
    // Blocks that refer to those before them need the module's frame decoder.
    const size = blocks.reduce((sum, block) => sum + sizeOf(frame, block), 0);
    return size > bytesMax ? undefined : decompressFrameSync(frame);
  }
  const parts: Buffer[] = [];
  let left = bytesMax;
  for (const block of blocks) {
    const part = block.compressed
      ? plainOf(frame, block, left)
      : frame.subarray(block.start, block.end);
    if (part === undefined || part.length > left) return undefined;
    left -= part.length;
    parts.push(part);
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

/** How many times larger blocks got of late. */
let growth = 1;
/** What is added to it, and what is left of it with each block. */
const growthMargin = 1.1;
const growthDecay = 0.98;

/**
 * What a block stands for; undefined: it is more than `bytesMax`. The module wants to know how much that is at most, and
 * adding it up takes longer than half of the decompression: blocks of one topic are alike, so it is guessed from those before.
 */
function plainOf(frame: Buffer, block: Block, bytesMax: number): Buffer | undefined {
  const packed = block.end - block.start;
  const guess = Math.ceil(packed * growth * growthMargin);
  if (guess <= bytesMax) {
    try {
      const bytes = plainBlock(frame, block, guess);
      growth = Math.max(bytes.length / packed, growth * growthDecay);
      return bytes;
    } catch {
      // It stands for more than that, or it is damaged, which shows below.
    }
  }
  const size = sizeOf(frame, block);
  if (size > bytesMax) return undefined;
  const bytes = plainBlock(frame, block, size);
  growth = Math.max(growth, size / packed);
  return bytes;
}

/** The frame in parts. */
export function lz4Compress(bytes: Buffer): readonly Buffer[] {
  const header = frameHeader(bytes.length);
  const parts: Buffer[] = [header.bytes];
  for (let start = 0; start < bytes.length; start += header.blockSize) {
    const plain = bytes.subarray(start, start + header.blockSize);
    // The module puts the size before a block; a frame does not have it, but the block's own length.
    const block = compressBlock(plain).subarray(SIZE_BYTES);
    const packed = block.length < plain.length;
    const length = Buffer.allocUnsafe(SIZE_BYTES);
    length.writeUInt32LE(packed ? block.length : (plain.length | PLAIN_BLOCK) >>> 0);
    parts.push(length, packed ? block : plain);
  }
  parts.push(endMark);
  return parts;
}

type Block = { readonly start: number; readonly end: number; readonly compressed: boolean };

const FRAME_MAGIC = 0x184d2204;
const INDEPENDENT_BLOCKS = 0x20;
const BLOCK_CHECKSUM = 0x10;
const CONTENT_SIZE = 0x08;
const PLAIN_BLOCK = 0x8000_0000;
const SIZE_BYTES = 4;
const EXTENDED = 15;
const MATCH_LENGTH_MIN = 4;
const endMark = Buffer.alloc(SIZE_BYTES);

/** Independent blocks without checksums (the batch has its own); the last byte is the header's checksum. */
const frameHeaders = [
  { blockSize: 64 * 1024, bytes: Buffer.from('04224d18604082', 'hex') },
  { blockSize: 256 * 1024, bytes: Buffer.from('04224d186050fb', 'hex') },
] as const;
const largestFrameHeader = {
  blockSize: 4 * 1024 * 1024,
  bytes: Buffer.from('04224d18607073', 'hex'),
};

function frameHeader(length: number): { blockSize: number; bytes: Buffer } {
  return frameHeaders.find(({ blockSize }) => length <= blockSize) ?? largestFrameHeader;
}

/** The checksums of header, blocks and content are passed over: the batch's checksum covers them all. */
function blocksOf(frame: Buffer, flags: number): Block[] {
  const blocks: Block[] = [];
  let at = 7 + (flags & CONTENT_SIZE ? 8 : 0);
  for (;;) {
    const word = frame.readUInt32LE(at);
    if (word === 0) return blocks;
    const start = at + SIZE_BYTES;
    const end = start + (word & 0x7fff_ffff);
    if (end > frame.length) throw new RangeError('lz4 block is cut short');
    blocks.push({ start, end, compressed: word < PLAIN_BLOCK });
    at = end + (flags & BLOCK_CHECKSUM ? 4 : 0);
  }
}

/** What a block decompresses to, summed up from its literals and matches. */
function sizeOf(frame: Buffer, { start, end, compressed }: Block): number {
  if (!compressed) return end - start;
  let size = 0;
  for (let at = start; at < end; ) {
    const token = frame[at] as number;
    at += 1;
    let literals = token >>> 4;
    if (literals === EXTENDED) {
      const bytes = extensionBytes(frame, at, end);
      literals += extension(frame, at, bytes);
      at += bytes;
    }
    size += literals;
    at += literals;
    // The last sequence of a block has no match.
    if (at >= end) break;
    at += 2;
    size += (token & 15) + MATCH_LENGTH_MIN;
    if ((token & 15) === EXTENDED) {
      const bytes = extensionBytes(frame, at, end);
      size += extension(frame, at, bytes);
      at += bytes;
    }
  }
  return size;
}

/** A length of 15 goes on in the bytes that follow, up to the first that is not 255. */
function extensionBytes(frame: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && frame[at] === 255) at += 1;
  return Math.min(at + 1, end) - start;
}

function extension(frame: Buffer, start: number, bytes: number): number {
  return bytes === 0 ? 0 : (bytes - 1) * 255 + (frame[start + bytes - 1] as number);
}

/**
 * Decompresses a block to at most `size` bytes. The module wants that number before the block, where the frame has the
 * block's own length: it is put there as long as the call takes, since a copy of each block is as much memory to be
 * collected as the whole source.
 */
function plainBlock(frame: Buffer, { start, end }: Block, size: number): Buffer {
  const at = start - SIZE_BYTES;
  const length = frame.readUInt32LE(at);
  frame.writeUInt32LE(size, at);
  try {
    return decompressBlock(frame.subarray(at, end));
  } finally {
    frame.writeUInt32LE(length, at);
  }
}

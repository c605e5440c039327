import { gunzipSync, gzipSync } from 'node:zlib';
import { compressSync, uncompressSync } from 'snappy';
import { lz4Compress, lz4Decompress } from './lz4-frame.ts';
import { isTooLarge, zstd } from './zstd.ts';

/** By code, as the attributes of a batch carry it. */
export const compressions = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;

export type Compression = (typeof compressions)[number];

/**
 * Results are copied into memory of the engine's own: memory that belongs to the module goes back to the
 * system at each collection, and taking it anew costs several times the copy.
 */
const ownMemory = { copyOutputData: true };

/** In parts, which whoever asks puts together where they belong: each copy in between is memory to be collected. */
export function compress(compression: Compression, bytes: Buffer): readonly Buffer[] {
  switch (compression) {
    case 'none':
      return [bytes];
    case 'gzip':
      return [gzipSync(bytes)];
    case 'snappy':
      return [compressSync(bytes, ownMemory)];
    case 'lz4':
      return lz4Compress(bytes);
    case 'zstd':
      return [zstd().compress(bytes)];
  }
}

/**
 * The bytes before compression, or undefined when they are more than `bytesMax`: a few kilobytes may
 * stand for gigabytes, and memory is a promise. Throws whatever the codec throws on damaged bytes.
 */
export function decompress(
  compression: Compression,
  bytes: Buffer,
  bytesMax: number,
): Buffer | undefined {
  switch (compression) {
    case 'none':
      return bytes;
    case 'gzip':
      return gunzip(bytes, bytesMax);
    case 'snappy':
      return unsnappy(bytes, bytesMax);
    case 'lz4':
      return lz4Decompress(bytes, bytesMax);
    case 'zstd':
      return zstd().decompress(bytes, bytesMax);
  }
}

function gunzip(bytes: Buffer, bytesMax: number): Buffer | undefined {
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax });
  } catch (error) {
    if (isTooLarge(error)) return undefined;
    throw error;
  }
}

/** Java producers wrap snappy blocks: this magic, two versions of four bytes, then blocks with their lengths. */
const xerialMagic = Buffer.from('\x82SNAPPY\0', 'latin1');
const XERIAL_HEADER_BYTES = 16;

function unsnappy(bytes: Buffer, bytesMax: number): Buffer | undefined {
  if (!bytes.subarray(0, xerialMagic.length).equals(xerialMagic)) {
    return unsnappyBlock(bytes, bytesMax);
  }
  const blocks: Buffer[] = [];
  let left = bytesMax;
  let at = XERIAL_HEADER_BYTES;
  while (at < bytes.length) {
    const start = at + 4;
    const end = start + bytes.readInt32BE(at);
    if (end <= start || end > bytes.length) throw new RangeError('snappy block is cut short');
    const block = unsnappyBlock(bytes.subarray(start, end), left);
    if (block === undefined) return undefined;
    blocks.push(block);
    left -= block.length;
    at = end;
  }
  return blocks.length === 1 ? blocks[0] : Buffer.concat(blocks);
}

function unsnappyBlock(bytes: Buffer, bytesMax: number): Buffer | undefined {
  if (snappySize(bytes) > bytesMax) return undefined;
  return uncompressSync(bytes, { asBuffer: true, ...ownMemory }) as Buffer;
}

/** A block begins with the length of what it stands for. */
function snappySize(bytes: Buffer): number {
  let size = 0;
  for (let index = 0; index < 5; index += 1) {
    const byte = bytes[index] ?? 0;
    size += (byte & 127) * 2 ** (7 * index);
    if (byte < 128) break;
  }
  return size;
}

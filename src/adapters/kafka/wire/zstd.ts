import { createRequire } from 'node:module';
import * as zlib from 'node:zlib';
import type { Decoder, Encoder } from '@toondepauw/node-zstd';

/**
 * Zstandard, from node:zlib where it has it (Node 22.15 on), else from a prebuilt module.
 * Invariant: `decompress` never produces more than `bytesMax` bytes; it returns undefined instead.
 */
export type Zstd = {
  compress(bytes: Buffer): Buffer;
  decompress(bytes: Buffer, bytesMax: number): Buffer | undefined;
};

/** Kafka's own default. */
const LEVEL = 3;

type ZstdOfZlib = {
  readonly zstdCompressSync: (bytes: Buffer) => Buffer;
  readonly zstdDecompressSync: (bytes: Buffer, options: { maxOutputLength: number }) => Buffer;
};

let loaded: Zstd | undefined;

export function zstd(): Zstd {
  loaded ??= 'zstdDecompressSync' in zlib ? fromZlib(zlib as unknown as ZstdOfZlib) : fromModule();
  return loaded;
}

function fromZlib({ zstdCompressSync, zstdDecompressSync }: ZstdOfZlib): Zstd {
  return {
    compress: (bytes) => zstdCompressSync(bytes),
    decompress(bytes, bytesMax) {
      try {
        return zstdDecompressSync(bytes, { maxOutputLength: bytesMax });
      } catch (error) {
        if (isTooLarge(error)) return undefined;
        throw error;
      }
    },
  };
}

/** True for what node:zlib throws when the output passes maxOutputLength. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function fromModule(): Zstd {
  // Loaded on first use only: a machine without a prebuilt file can do without it until a zstd batch comes.
  const module = createRequire(import.meta.url)('@toondepauw/node-zstd') as {
    readonly Decoder: new () => Decoder;
    readonly Encoder: new (level: number) => Encoder;
  };
  const decoder = new module.Decoder();
  const encoder = new module.Encoder(LEVEL);
  return {
    compress: (bytes) => encoder.encodeSync(bytes),
    decompress: (bytes, bytesMax) =>
      zstdDecompressedSizeMax(bytes) > bytesMax ? undefined : decoder.decodeSync(bytes),
  };
}

const FRAME_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const BLOCK_SIZE_MAX = 128 * 1024;
const RUN_LENGTH_BLOCK = 1;
const COMPRESSED_BLOCK = 2;

/** An upper bound of what the frames decompress to, read from their block headers. */
export function zstdDecompressedSizeMax(bytes: Buffer): number {
  let at = 0;
  let size = 0;
  while (at + 8 <= bytes.length) {
    const magic = bytes.readUInt32LE(at);
    if (magic >>> 4 === SKIPPABLE_MAGIC >>> 4) {
      at += 8 + bytes.readUInt32LE(at + 4);
    } else if (magic === FRAME_MAGIC) {
      const frame = frameOutline(bytes, at);
      size += frame.size;
      at = frame.end;
    } else {
      break;
    }
  }
  return size;
}

function frameOutline(bytes: Buffer, start: number): { end: number; size: number } {
  const descriptor = bytes[start + 4] ?? 0;
  let at = start + 5 + headerFieldsSize(descriptor);
  let size = 0;
  let last = false;
  while (!last && at + 3 <= bytes.length) {
    const header = bytes.readUIntLE(at, 3);
    const length = header >>> 3;
    const type = (header >>> 1) & 3;
    last = (header & 1) === 1;
    size += type === COMPRESSED_BLOCK ? BLOCK_SIZE_MAX : length;
    // A run-length block is one byte, whatever it stands for.
    at += 3 + (type === RUN_LENGTH_BLOCK ? 1 : length);
  }
  const hasChecksum = (descriptor & 0x04) !== 0;
  return { end: at + (hasChecksum ? 4 : 0), size };
}

function headerFieldsSize(descriptor: number): number {
  const singleSegment = (descriptor & 0x20) !== 0;
  const dictionaryId = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const contentSize = [singleSegment ? 1 : 0, 2, 4, 8][descriptor >>> 6] ?? 0;
  return (singleSegment ? 0 : 1) + dictionaryId + contentSize;
}

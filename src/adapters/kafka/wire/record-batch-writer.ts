import { crc32c } from '@node-rs/crc32';
import { assert } from '../../../base/assert.ts';
import { FlowError } from '../../../base/errors.ts';
import type { OutgoingRecord } from '../../../ports/log.ts';
import { BATCH_PREFIX_BYTES, batchAttributes, batchLayout } from './batch-layout.ts';
import { type Compression, compress, compressions } from './compression.ts';

export type BatchOptions = {
  /** -1n: not idempotent. */
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly transactional: boolean;
  readonly compression: Compression;
};

/** Records as they go out, with room for a header that is still to be filled in. */
export type PackedBatch = {
  readonly bytes: Buffer;
  readonly compression: Compression;
  readonly recordCount: number;
  /** Before compression, header included. */
  readonly plainBytes: number;
  readonly baseTimestampMs: number;
  readonly maxTimestampMs: number;
};

/** Spans up to here are copied by a loop: the call of a native copy costs as much as 48 bytes. */
const LOOP_COPY_BYTES = 48;

/** Buffers that came back and wait for their next batch. */
const SPARE_BUFFERS_MAX = 2;

/** Memory of compressed batches comes in multiples of this. */
const PACKED_UNIT_BYTES = 256 * 1024;
const SPARE_PACKED_MAX = 32;

/**
 * Builds record batches for one partition: `append` copies spans to the end of one growing buffer,
 * `finish` fills in the header and hands the batch out.
 * Invariant: a batch is never larger than `bytesMax` (before compression), and its bytes do not change
 * between `finish` and `release`.
 */
export class RecordBatchBuilder {
  /** Records appended since the last `finish`. */
  recordCount = 0;

  readonly #bytesMax: number;
  readonly #initialBytes: number;
  readonly #spare: Buffer[] = [];
  /** Memory that was handed out, so that only such is taken back, and once; weak, since not all of it comes back. */
  readonly #lent = new WeakMap<ArrayBufferLike, Buffer>();
  #buffer: Buffer;
  #length: number = batchLayout.records;
  #baseTimestampMs = 0;
  #maxTimestampMs = 0;

  /** `bytesMax` bounds the batch before compression. */
  constructor(bytesMax: number, initialBytes: number = 64 * 1024) {
    this.#bytesMax = bytesMax;
    this.#initialBytes = Math.max(initialBytes, batchLayout.records);
    this.#buffer = Buffer.allocUnsafeSlow(this.#initialBytes);
  }

  /** The size of the batch as it stands, uncompressed, header included. */
  get byteLength(): number {
    return this.#length;
  }

  /**
   * Copies a record to the end. False, and nothing is written, when the batch would pass its bound:
   * finish it first. A record that no batch can hold throws RECORD_TOO_LARGE.
   */
  append(record: OutgoingRecord): boolean {
    const keyLength = record.keyEnd < 0 ? -1 : record.keyEnd - record.keyStart;
    const valueLength = record.valueEnd < 0 ? -1 : record.valueEnd - record.valueStart;
    const headersLength = Math.max(record.headersEnd - record.headersStart, 0);
    const timestampDelta = this.recordCount === 0 ? 0 : record.timestampMs - this.#baseTimestampMs;
    const body =
      1 +
      varintSize(timestampDelta) +
      varintSize(this.recordCount) +
      varintSize(keyLength) +
      Math.max(keyLength, 0) +
      varintSize(valueLength) +
      Math.max(valueLength, 0) +
      Math.max(headersLength, 1);
    const size = varintSize(body) + body;
    if (this.#length + size > this.#bytesMax) {
      if (this.recordCount > 0) return false;
      throw tooLarge(batchLayout.records + size, this.#bytesMax);
    }
    this.#reserve(size);
    if (this.recordCount === 0) {
      this.#baseTimestampMs = record.timestampMs;
      this.#maxTimestampMs = record.timestampMs;
    } else if (record.timestampMs > this.#maxTimestampMs) {
      this.#maxTimestampMs = record.timestampMs;
    }
    this.#varint(body);
    this.#byte(0);
    this.#varint(timestampDelta);
    this.#varint(this.recordCount);
    this.#varint(keyLength);
    if (keyLength > 0) this.#copy(record.key, record.keyStart, record.keyEnd);
    this.#varint(valueLength);
    if (valueLength > 0) this.#copy(record.value, record.valueStart, record.valueEnd);
    if (headersLength > 0) this.#copy(record.headers, record.headersStart, record.headersEnd);
    else this.#byte(0);
    this.recordCount += 1;
    return true;
  }

  /** Packs the batch and seals it at once. */
  finish({ compression, ...options }: BatchOptions): Buffer {
    return sealBatch(this.pack(compression), options);
  }

  /**
   * Compresses what was appended, with room for the header, and begins the next batch. The result is the caller's to seal
   * and to send, again and again if need be, until its memory is given back with `release`.
   */
  pack(wanted: Compression): PackedBatch {
    assert(this.recordCount > 0, 'a batch has at least one record');
    const { recordCount } = this;
    const plainBytes = this.#length;
    const baseTimestampMs = this.#baseTimestampMs;
    const maxTimestampMs = this.#maxTimestampMs;
    const { bytes, compression } = this.#packed(wanted);
    this.reset();
    return { bytes, compression, recordCount, plainBytes, baseTimestampMs, maxTimestampMs };
  }

  /** Drops what was appended. */
  reset(): void {
    this.recordCount = 0;
    this.#length = batchLayout.records;
  }

  /** Gives the memory of a finished batch back once nobody reads it any more. */
  release(batch: Buffer): void {
    const buffer = this.#lent.get(batch.buffer);
    if (buffer === undefined) {
      releasePacked(batch);
      return;
    }
    this.#lent.delete(batch.buffer);
    if (this.#spare.length < SPARE_BUFFERS_MAX) this.#spare.push(buffer);
  }

  /** Header space and records as they go out. The header is still to be filled in. */
  #packed(compression: Compression): { bytes: Buffer; compression: Compression } {
    if (compression !== 'none') {
      const plain = this.#buffer.subarray(batchLayout.records, this.#length);
      const parts = compress(compression, plain);
      const size = parts.reduce((sum, part) => sum + part.length, 0);
      // What does not shrink goes out plain, and spares the reader the work.
      if (size < plain.length) {
        const bytes = takePacked(batchLayout.records + size);
        let at: number = batchLayout.records;
        for (const part of parts) at += part.copy(bytes, at);
        return { bytes, compression };
      }
    }
    const bytes = this.#buffer.subarray(0, this.#length);
    this.#lent.set(this.#buffer.buffer, this.#buffer);
    this.#buffer = this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#initialBytes);
    return { bytes, compression: 'none' };
  }

  #reserve(size: number): void {
    const needed = this.#length + size;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }

  #byte(value: number): void {
    this.#buffer[this.#length] = value;
    this.#length += 1;
  }

  /** Zigzag: the sign goes to the lowest bit, so that small negative numbers stay short. */
  #varint(value: number): void {
    const buffer = this.#buffer;
    let at = this.#length;
    let rest = value < 0 ? -value * 2 - 1 : value * 2;
    while (rest > 127) {
      buffer[at] = (rest & 127) | 128;
      at += 1;
      rest = rest < 0x8000_0000 ? rest >>> 7 : Math.floor(rest / 128);
    }
    buffer[at] = rest;
    this.#length = at + 1;
  }

  #copy(source: Uint8Array, start: number, end: number): void {
    const buffer = this.#buffer;
    const size = end - start;
    if (size <= LOOP_COPY_BYTES) {
      for (let from = start, to = this.#length; from < end; from += 1, to += 1) {
        buffer[to] = source[from] as number;
      }
    } else {
      buffer.set(source.subarray(start, end), this.#length);
    }
    this.#length += size;
  }
}

/**
 * Memory of compressed batches that came back, of all builders: a commit holds them until the broker has answered, by when
 * they have grown old, and only collections of the whole heap would free them.
 */
const sparePacked: Buffer[] = [];
const lentPacked = new WeakMap<ArrayBufferLike, Buffer>();

function takePacked(size: number): Buffer {
  // Small ones cost little, and are not worth so much memory.
  if (size < PACKED_UNIT_BYTES / 4) return Buffer.allocUnsafeSlow(size);
  let memory = sparePacked.at(-1);
  if (memory !== undefined && memory.length >= size) sparePacked.pop();
  else memory = Buffer.allocUnsafeSlow(Math.ceil(size / PACKED_UNIT_BYTES) * PACKED_UNIT_BYTES);
  lentPacked.set(memory.buffer, memory);
  return memory.subarray(0, size);
}

function releasePacked(batch: Buffer): void {
  const memory = lentPacked.get(batch.buffer);
  if (memory === undefined) return;
  lentPacked.delete(batch.buffer);
  if (memory.length > PACKED_UNIT_BYTES * 2 || sparePacked.length >= SPARE_PACKED_MAX) return;
  sparePacked.push(memory);
}

/** Fills in the header, and gives the batch as it is sent. */
export function sealBatch(packed: PackedBatch, options: Omit<BatchOptions, 'compression'>): Buffer {
  const { bytes, recordCount } = packed;
  const attributes =
    compressions.indexOf(packed.compression) |
    (options.transactional ? batchAttributes.transactional : 0);
  bytes.writeBigInt64BE(0n, batchLayout.baseOffset);
  bytes.writeInt32BE(bytes.length - BATCH_PREFIX_BYTES, batchLayout.length);
  bytes.writeInt32BE(-1, batchLayout.leaderEpoch);
  bytes.writeInt8(2, batchLayout.magic);
  bytes.writeInt16BE(attributes, batchLayout.attributes);
  bytes.writeInt32BE(recordCount - 1, batchLayout.lastOffsetDelta);
  bytes.writeBigInt64BE(BigInt(packed.baseTimestampMs), batchLayout.baseTimestamp);
  bytes.writeBigInt64BE(BigInt(packed.maxTimestampMs), batchLayout.maxTimestamp);
  bytes.writeBigInt64BE(options.producerId, batchLayout.producerId);
  bytes.writeInt16BE(options.producerEpoch, batchLayout.producerEpoch);
  bytes.writeInt32BE(options.baseSequence, batchLayout.baseSequence);
  bytes.writeInt32BE(recordCount, batchLayout.recordCount);
  bytes.writeUInt32BE(crc32c(bytes.subarray(batchLayout.attributes)), batchLayout.checksum);
  return bytes;
}

function varintSize(value: number): number {
  const zigzag = value < 0 ? -value * 2 - 1 : value * 2;
  if (zigzag < 0x80) return 1;
  if (zigzag < 0x4000) return 2;
  let size = 3;
  for (let rest = zigzag / 0x20_0000; rest >= 1; rest /= 128) size += 1;
  return size;
}

function tooLarge(size: number, bytesMax: number): FlowError {
  return new FlowError('RECORD_TOO_LARGE', `record needs a batch of ${size} bytes`, {
    detail: `A batch may have ${bytesMax} bytes.`,
    hint: 'Raise max.message.bytes of the topic, or make the rows smaller.',
  });
}

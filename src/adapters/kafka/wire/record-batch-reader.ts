import { crc32c } from '@node-rs/crc32';
import { type ErrorCode, FlowError } from '../../../base/errors.ts';
import type { RecordCursor } from '../../../ports/log.ts';
import { AbortedFilter } from './aborted-filter.ts';
import { BATCH_PREFIX_BYTES, batchAttributes, batchLayout } from './batch-layout.ts';
import { compressions, decompress } from './compression.ts';
import type { AbortedTransaction } from './fetch.ts';

export type RecordSet = {
  readonly topic: string;
  readonly partition: number;
  /** The raw record set of one partition, as the fetch brought it. */
  readonly bytes: Buffer;
  /** The offset that was asked for; records below it are not shown. */
  readonly position: number;
  /** null: read uncommitted, aborted records are shown. Control batches never are. */
  readonly abortedTransactions: readonly AbortedTransaction[] | null;
  /** Bound of one decompressed batch; 64 MB where left out. */
  readonly decompressedBytesMax?: number;
};

const DECOMPRESSED_BYTES_MAX = 64 * 1024 * 1024;

/** Length, attributes, two deltas, null key, null value, no headers. */
const RECORD_BYTES_MIN = 7;

/**
 * Walks the records of one fetched record set without an object per record.
 * Invariant: the offsets shown grow strictly, from `position` on; no record of an aborted transaction, no
 * marker and no record below the position is ever shown. All batch headers and checksums are verified
 * before the first record is shown, so that no damage can hide a batch. Bytes that break the format end
 * in a FlowError that names topic, partition and offset (RECORD_CORRUPT; NOT_SUPPORTED for the formats
 * before Kafka 0.11; RECORD_TOO_LARGE for a batch that decompresses past the bound), and never in a loop.
 */
export class RecordBatchCursor implements RecordCursor {
  /** The position after all complete batches, control and aborted ones included. */
  readonly nextOffset: number;
  /** Upper bound of the records that `next` will give. */
  readonly recordCountMax: number;

  // These start as fractions, so that the engine stores them unboxed from the first record on.
  offset = -0.5;
  timestampMs = -0.5;
  bytes: Buffer;
  keyStart = 0;
  keyEnd = -1;
  valueStart = 0;
  valueEnd = -1;
  headersStart = 0;
  headersEnd = 0;

  readonly #set: RecordSet;
  readonly #position: number;
  /** Where the batches begin whose records are to be shown. */
  readonly #batches: number[] = [];
  #nextBatch = 0;

  // The open batch.
  #at = 0;
  #end = 0;
  #recordsLeft = 0;
  #baseOffset = 0;
  #lastOffsetDelta = 0;
  #previousDelta = -1;
  #baseTimestampMs = 0;
  #appendTimeMs = -1;

  constructor(set: RecordSet) {
    this.#set = set;
    this.#position = set.position;
    this.bytes = set.bytes;
    const { nextOffset, recordCount } = this.#scan();
    this.nextOffset = nextOffset;
    this.recordCountMax = recordCount;
  }

  next(): boolean {
    for (;;) {
      if (this.#recordsLeft === 0) {
        if (this.#nextBatch === this.#batches.length) return false;
        this.#openBatch();
      }
      this.#readRecord();
      if (this.offset >= this.#position) return true;
    }
  }

  /** Checks all batches and keeps those with records to be shown. */
  #scan(): { nextOffset: number; recordCount: number } {
    const { bytes, position, abortedTransactions } = this.#set;
    const filter =
      abortedTransactions === null ? undefined : new AbortedFilter(abortedTransactions);
    let at = 0;
    let lastOffset = -1;
    let recordCount = 0;
    for (;;) {
      const end = this.#batchEnd(at, Math.max(position, lastOffset + 1));
      if (end === undefined) break;
      const batch = this.#checkBatch(at, end, lastOffset);
      lastOffset = batch.lastOffset;
      filter?.advance(lastOffset);
      if (batch.control) filter?.end(batch.producerId);
      const hidden = batch.control || (batch.transactional && filter?.hides(batch.producerId));
      if (!hidden && lastOffset >= position && batch.recordCount > 0) {
        this.#batches.push(at);
        recordCount += batch.recordCount;
      }
      at = end;
    }
    // A broker gives at least one whole batch: less than that would be asked for again for ever.
    if (at === 0 && bytes.length > 0) {
      throw this.#refusal('RECORD_CORRUPT', position, 'it is cut short');
    }
    return { nextOffset: Math.max(position, lastOffset + 1), recordCount };
  }

  /** The end of the batch that begins at `at`, or undefined when it is not wholly there. */
  #batchEnd(at: number, offset: number): number | undefined {
    const { bytes } = this.#set;
    if (at + BATCH_PREFIX_BYTES > bytes.length) return undefined;
    const length = bytes.readInt32BE(at + batchLayout.length);
    if (length <= batchLayout.magic - BATCH_PREFIX_BYTES) {
      throw this.#refusal('RECORD_CORRUPT', offset, `its length is ${length}`);
    }
    const end = at + BATCH_PREFIX_BYTES + length;
    if (at + batchLayout.magic >= bytes.length) return undefined;
    const magic = bytes.readInt8(at + batchLayout.magic);
    if (magic === 0 || magic === 1) {
      throw new FlowError('NOT_SUPPORTED', `${this.#place(offset)} has message format ${magic}`, {
        detail: 'Only message format 2, which Kafka writes since 0.11, is read.',
        hint: 'Copy the topic with a current producer into a new one, and read that.',
      });
    }
    if (magic !== 2) throw this.#refusal('RECORD_CORRUPT', offset, `its format is ${magic}`);
    if (BATCH_PREFIX_BYTES + length < batchLayout.records) {
      throw this.#refusal('RECORD_CORRUPT', offset, `its length is ${length}`);
    }
    return end > bytes.length ? undefined : end;
  }

  #checkBatch(at: number, end: number, previousOffset: number): BatchFacts {
    const { bytes } = this.#set;
    const baseOffset = int64(bytes, at + batchLayout.baseOffset);
    const corrupt = (what: string): FlowError => {
      return this.#refusal('RECORD_CORRUPT', Math.max(baseOffset, 0), what);
    };
    const checksum = bytes.readUInt32BE(at + batchLayout.checksum);
    if (crc32c(bytes.subarray(at + batchLayout.attributes, end)) !== checksum) {
      throw corrupt('its checksum does not match');
    }
    const attributes = bytes.readInt16BE(at + batchLayout.attributes);
    const lastOffsetDelta = bytes.readInt32BE(at + batchLayout.lastOffsetDelta);
    const recordCount = bytes.readInt32BE(at + batchLayout.recordCount);
    if (baseOffset <= previousOffset || lastOffsetDelta < 0) {
      throw corrupt('its offsets do not follow on those before');
    }
    if (!Number.isSafeInteger(baseOffset + lastOffsetDelta))
      throw corrupt('its offset is too large');
    // Compaction takes records away, never adds any.
    if (recordCount < 0 || recordCount > lastOffsetDelta + 1) {
      throw corrupt(`it announces ${recordCount} records`);
    }
    return {
      lastOffset: baseOffset + lastOffsetDelta,
      recordCount,
      producerId: bytes.readBigInt64BE(at + batchLayout.producerId),
      control: (attributes & batchAttributes.control) !== 0,
      transactional: (attributes & batchAttributes.transactional) !== 0,
    };
  }

  #openBatch(): void {
    const { bytes, decompressedBytesMax = DECOMPRESSED_BYTES_MAX } = this.#set;
    const at = this.#batches[this.#nextBatch] ?? 0;
    const end = at + BATCH_PREFIX_BYTES + bytes.readInt32BE(at + batchLayout.length);
    const attributes = bytes.readInt16BE(at + batchLayout.attributes);
    this.#nextBatch += 1;
    this.#baseOffset = int64(bytes, at + batchLayout.baseOffset);
    this.#lastOffsetDelta = bytes.readInt32BE(at + batchLayout.lastOffsetDelta);
    this.#previousDelta = -1;
    this.#baseTimestampMs = int64(bytes, at + batchLayout.baseTimestamp);
    this.#appendTimeMs =
      (attributes & batchAttributes.logAppendTime) === 0
        ? -1
        : int64(bytes, at + batchLayout.maxTimestamp);
    const recordCount = bytes.readInt32BE(at + batchLayout.recordCount);
    const code = attributes & batchAttributes.compression;
    if (code === 0) {
      this.bytes = bytes;
      this.#at = at + batchLayout.records;
      this.#end = end;
    } else {
      this.bytes = this.#decompress(
        code,
        bytes.subarray(at + batchLayout.records, end),
        decompressedBytesMax,
      );
      this.#at = 0;
      this.#end = this.bytes.length;
    }
    if (recordCount * RECORD_BYTES_MIN > this.#end - this.#at) {
      throw this.#corrupt(`it announces ${recordCount} records`);
    }
    this.#recordsLeft = recordCount;
  }

  #decompress(code: number, bytes: Buffer, bytesMax: number): Buffer {
    const compression = compressions[code];
    if (compression === undefined) throw this.#corrupt(`its compression is ${code}`);
    let plain: Buffer | undefined;
    try {
      plain = decompress(compression, bytes, bytesMax);
    } catch (cause) {
      const what = `its ${compression} data cannot be decompressed`;
      throw this.#refusal('RECORD_CORRUPT', this.#baseOffset, what, cause);
    }
    if (plain !== undefined) return plain;
    throw new FlowError('RECORD_TOO_LARGE', `${this.#place(this.#baseOffset)} is too large`, {
      detail: `It takes ${bytes.length} bytes in ${compression}, but more than ${bytesMax} bytes decompressed.`,
    });
  }

  #readRecord(): void {
    const length = this.#varint();
    const recordEnd = this.#at + length;
    if (length < RECORD_BYTES_MIN - 1 || recordEnd > this.#end) {
      throw this.#corrupt(`a record of it has ${length} bytes`);
    }
    this.#at += 1;
    const timestampDelta = this.#varlong();
    const offsetDelta = this.#varint();
    if (offsetDelta <= this.#previousDelta || offsetDelta > this.#lastOffsetDelta) {
      throw this.#corrupt(`a record of it has the offset ${this.#baseOffset + offsetDelta}`);
    }
    this.#previousDelta = offsetDelta;
    this.offset = this.#baseOffset + offsetDelta;
    this.timestampMs =
      this.#appendTimeMs < 0 ? this.#baseTimestampMs + timestampDelta : this.#appendTimeMs;

    const keyLength = this.#varint();
    this.keyStart = this.#at;
    this.keyEnd = keyLength < 0 ? -1 : this.#at + keyLength;
    if (keyLength > 0) this.#at += keyLength;

    const valueLength = this.#varint();
    this.valueStart = this.#at;
    this.valueEnd = valueLength < 0 ? -1 : this.#at + valueLength;
    if (valueLength > 0) this.#at += valueLength;

    this.headersStart = this.#at;
    this.headersEnd = recordEnd;
    if (this.bytes[this.#at] === 0) {
      this.#at += 1;
      this.headersStart = recordEnd;
    } else {
      this.#skipHeaders(recordEnd);
    }
    // Every length above moved the position on, so that this one check covers them all.
    if (this.#at !== recordEnd || keyLength < -1 || valueLength < -1) {
      throw this.#corrupt('a record of it is malformed');
    }
    this.#recordsLeft -= 1;
    if (this.#recordsLeft === 0 && recordEnd !== this.#end) {
      throw this.#corrupt('it has bytes after its last record');
    }
  }

  /** Checks the header section, so that those who read it need not. */
  #skipHeaders(end: number): void {
    const count = this.#varint();
    if (count < 0 || count > end - this.#at) throw this.#corrupt(`a record has ${count} headers`);
    for (let index = 0; index < count; index += 1) {
      const keyLength = this.#varint();
      if (keyLength < 0) throw this.#corrupt('a header has no key');
      this.#at += keyLength;
      const valueLength = this.#varint();
      if (valueLength < -1) throw this.#corrupt(`a header has ${valueLength} bytes`);
      if (valueLength > 0) this.#at += valueLength;
      if (this.#at > end) throw this.#corrupt('a header is cut short');
    }
  }

  /** A zigzag number of at most 32 bits. Behind the end of the bytes it reads as zero, which a later check finds. */
  #varint(): number {
    const { bytes } = this;
    let at = this.#at;
    let byte = bytes[at] as number;
    at += 1;
    let value = byte & 127;
    if (byte > 127) {
      let shift = 7;
      do {
        if (shift > 28) throw this.#corrupt('a number in it has more than five bytes');
        byte = bytes[at] as number;
        at += 1;
        value |= (byte & 127) << shift;
        shift += 7;
      } while (byte > 127);
    }
    this.#at = at;
    return (value >>> 1) ^ -(value & 1);
  }

  /** A zigzag number of at most 64 bits; beyond 2^53 it is rounded, which no real timestamp reaches. */
  #varlong(): number {
    const { bytes } = this;
    let byte = bytes[this.#at] as number;
    this.#at += 1;
    if (byte < 128) return (byte >>> 1) ^ -(byte & 1);
    let value = byte & 127;
    let scale = 128;
    for (let size = 1; byte > 127; size += 1) {
      if (size === 10) throw this.#corrupt('a number in it has more than ten bytes');
      byte = bytes[this.#at] as number;
      this.#at += 1;
      value += (byte & 127) * scale;
      scale *= 128;
    }
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  #place(offset: number): string {
    const { topic, partition } = this.#set;
    return `record batch at offset ${offset} of topic "${topic}" partition ${partition}`;
  }

  #corrupt(what: string): FlowError {
    return this.#refusal('RECORD_CORRUPT', this.#baseOffset, what);
  }

  #refusal(code: ErrorCode, offset: number, what: string, cause?: unknown): FlowError {
    return new FlowError(code, `${this.#place(offset)} is damaged`, {
      detail: `It cannot be read: ${what}.`,
      cause,
    });
  }
}

type BatchFacts = {
  readonly lastOffset: number;
  readonly recordCount: number;
  readonly producerId: bigint;
  readonly control: boolean;
  readonly transactional: boolean;
};

function int64(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}

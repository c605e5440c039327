import { FlowError } from '../../base/errors.ts';
import type { OutgoingRecord } from '../../ports/log.ts';
import type { Compression } from './wire/compression.ts';
import {
  type BatchOptions,
  type PackedBatch,
  RecordBatchBuilder,
  sealBatch,
} from './wire/record-batch-writer.ts';

/** A sealed batch; its bytes stay as they are, however often they are sent. */
export type SealedBatch = {
  readonly bytes: Buffer;
  readonly recordCount: number;
  readonly plainBytes: number;
};

type FullBatch = { readonly packed: PackedBatch; readonly transaction: number };

/** A record that is larger than a batch goes alone in one of its own; the broker says whether it takes it. */
const loneRecordBytesMax = 32 << 20;
const sequenceBound = 2 ** 31;

/** What a batch is sealed with, apart from its place in the sequence. */
export type ProducerStamp = Omit<BatchOptions, 'baseSequence' | 'compression'>;

/**
 * What one partition was given and has not acknowledged. Batches are filled in order and sent one at a time. One that is full
 * is compressed at once, while its bytes are still in the processor's cache, and the next is filled in the same memory: what a
 * commit has to send waits for the broker compressed. It is sealed when it is sent. Invariant: a batch holds records of one
 * transaction, and the sequence grows by exactly the records of the sealed batches, so that the broker refuses a gap and knows
 * a repetition.
 */
export class OutgoingBatches {
  readonly topic: string;
  readonly partition: number;
  readonly #compression: Compression;
  readonly #bytesMax: () => number;
  /** In order, before the one that is being filled. */
  readonly #full: FullBatch[] = [];
  #builder: { readonly records: RecordBatchBuilder; readonly bytesMax: number } | undefined;
  /** Of the records in the builder. */
  #transaction = 0;
  #sent: SealedBatch | undefined;
  #sequence = 0;
  /** It is named by a request on its way. */
  isBusy = false;
  /** Of the batch that was sent last. */
  failures = 0;
  failingSince: number | undefined;
  retryAt = 0;

  constructor(topic: string, partition: number, compression: Compression, bytesMax: () => number) {
    this.topic = topic;
    this.partition = partition;
    this.#compression = compression;
    this.#bytesMax = bytesMax;
  }

  /** Bytes that the record took. */
  append(record: OutgoingRecord, transaction: number): number {
    const records = this.#builder?.records;
    if (records !== undefined && records.recordCount > 0) {
      if (this.#transaction === transaction) {
        const before = records.byteLength;
        if (records.append(record)) return records.byteLength - before;
      }
      this.#pack(records, this.#transaction);
    }
    this.#transaction = transaction;
    return this.#begin(record, transaction);
  }

  #begin(record: OutgoingRecord, transaction: number): number {
    const bytesMax = this.#bytesMax();
    if (this.#builder?.bytesMax !== bytesMax) {
      this.#builder = { records: new RecordBatchBuilder(bytesMax), bytesMax };
    }
    const { records } = this.#builder;
    try {
      records.append(record);
      return records.byteLength;
    } catch (error) {
      if (!(error instanceof FlowError) || error.code !== 'RECORD_TOO_LARGE') throw error;
    }
    const lone = new RecordBatchBuilder(loneRecordBytesMax);
    lone.append(record);
    const { byteLength } = lone;
    this.#pack(lone, transaction);
    return byteLength;
  }

  #pack(records: RecordBatchBuilder, transaction: number): void {
    this.#full.push({ packed: records.pack(this.#compression), transaction });
  }

  /** The batch on its way, else whether one could be sent: a full one, or any with `flush`. */
  hasNext(transaction: number, flush: boolean): boolean {
    if (this.#sent !== undefined) return true;
    const [first] = this.#full;
    if (first !== undefined) return first.transaction === transaction;
    return flush && this.#isFilling(transaction);
  }

  isEmpty(transaction: number): boolean {
    if (this.#sent !== undefined || this.#full[0]?.transaction === transaction) return false;
    return this.#full.length > 0 || !this.#isFilling(transaction);
  }

  #isFilling(transaction: number): boolean {
    return (this.#builder?.records.recordCount ?? 0) > 0 && this.#transaction === transaction;
  }

  /** The batch to send now: the one that failed before, or the next one, sealed. */
  next(stamp: ProducerStamp): SealedBatch | undefined {
    if (this.#sent !== undefined) return this.#sent;
    const records = this.#builder?.records;
    if (this.#full.length === 0 && records !== undefined && records.recordCount > 0) {
      this.#pack(records, this.#transaction);
    }
    const packed = this.#full.shift()?.packed;
    if (packed === undefined) return undefined;
    const { recordCount, plainBytes } = packed;
    const bytes = sealBatch(packed, { ...stamp, baseSequence: this.#sequence });
    this.#sequence = (this.#sequence + recordCount) % sequenceBound;
    this.#sent = { bytes, recordCount, plainBytes };
    return this.#sent;
  }

  acknowledge(): void {
    if (this.#sent === undefined) return;
    // A request that was given up may still be on its way, with this memory.
    if (this.failures === 0) this.#builder?.records.release(this.#sent.bytes);
    this.#sent = undefined;
    this.failures = 0;
    this.failingSince = undefined;
  }

  /** For a new producer epoch. */
  resetSequence(): void {
    this.#sequence = 0;
  }
}

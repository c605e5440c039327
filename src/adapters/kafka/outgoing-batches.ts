import { FlowError } from '../../base/errors.ts';
import type { OutgoingRecord } from '../../ports/log.ts';
import { type BatchOptions, RecordBatchBuilder } from './wire/record-batch-writer.ts';

/** A sealed batch; its bytes stay as they are, however often they are sent. */
export type SealedBatch = {
  readonly bytes: Buffer;
  readonly recordCount: number;
  readonly plainBytes: number;
};

type Filling = { readonly builder: RecordBatchBuilder; readonly bytesMax: number };
type OpenBatch = Filling & { readonly transaction: number };

/** A record that is larger than a batch goes alone in one of its own; the broker says whether it takes it. */
const loneRecordBytesMax = 32 << 20;
const sequenceBound = 2 ** 31;

/**
 * What one partition was given and has not acknowledged. Batches are filled in order, sealed when they are sent, and sent
 * one at a time. Invariant: a batch holds records of one transaction, and the sequence grows by exactly the records of the
 * sealed batches, so that the broker refuses a gap and knows a repetition.
 */
export class OutgoingBatches {
  readonly topic: string;
  readonly partition: number;
  readonly #bytesMax: () => number;
  /** Filled in order; the last one is open. */
  readonly #queue: OpenBatch[] = [];
  /** An empty builder that keeps its memory for the next batch. */
  #spare: Filling | undefined;
  #sent: (Filling & { readonly batch: SealedBatch }) | undefined;
  #sequence = 0;
  /** It is named by a request on its way. */
  isBusy = false;
  /** Of the batch that was sent last. */
  failures = 0;
  failingSince: number | undefined;
  retryAt = 0;

  constructor(topic: string, partition: number, bytesMax: () => number) {
    this.topic = topic;
    this.partition = partition;
    this.#bytesMax = bytesMax;
  }

  /** Bytes that the record took. */
  append(record: OutgoingRecord, transaction: number): number {
    const last = this.#queue.at(-1);
    if (last?.transaction === transaction && last.bytesMax !== loneRecordBytesMax) {
      const before = last.builder.byteLength;
      if (last.builder.append(record)) return last.builder.byteLength - before;
    }
    const filling = this.#begin(record);
    this.#queue.push({ ...filling, transaction });
    return filling.builder.byteLength;
  }

  #begin(record: OutgoingRecord): Filling {
    const bytesMax = this.#bytesMax();
    const builder =
      this.#spare?.bytesMax === bytesMax ? this.#spare.builder : new RecordBatchBuilder(bytesMax);
    this.#spare = undefined;
    try {
      builder.append(record);
      return { builder, bytesMax };
    } catch (error) {
      if (!(error instanceof FlowError) || error.code !== 'RECORD_TOO_LARGE') throw error;
    }
    this.#spare = { builder, bytesMax };
    const lone = new RecordBatchBuilder(loneRecordBytesMax);
    lone.append(record);
    return { builder: lone, bytesMax: loneRecordBytesMax };
  }

  /** The batch on its way, else whether one could be sent: a full one, or any with `flush`. */
  hasNext(transaction: number, flush: boolean): boolean {
    if (this.#sent !== undefined) return true;
    const [first] = this.#queue;
    return first?.transaction === transaction && (flush || this.#queue.length > 1);
  }

  isEmpty(transaction: number): boolean {
    return this.#sent === undefined && this.#queue[0]?.transaction !== transaction;
  }

  /** The batch to send now: the one that failed before, or the next one, sealed. */
  next(options: Omit<BatchOptions, 'baseSequence'>): SealedBatch | undefined {
    if (this.#sent !== undefined) return this.#sent.batch;
    const first = this.#queue.shift();
    if (first === undefined) return undefined;
    const { recordCount, byteLength } = first.builder;
    const bytes = first.builder.finish({ ...options, baseSequence: this.#sequence });
    this.#sequence = (this.#sequence + recordCount) % sequenceBound;
    const batch = { bytes, recordCount, plainBytes: byteLength };
    this.#sent = { batch, builder: first.builder, bytesMax: first.bytesMax };
    return batch;
  }

  acknowledge(): void {
    const sent = this.#sent;
    if (sent === undefined) return;
    sent.builder.release(sent.batch.bytes);
    this.#spare ??= { builder: sent.builder, bytesMax: sent.bytesMax };
    this.#sent = undefined;
    this.failures = 0;
    this.failingSince = undefined;
  }

  /** For a new producer epoch. */
  resetSequence(): void {
    this.#sequence = 0;
  }
}

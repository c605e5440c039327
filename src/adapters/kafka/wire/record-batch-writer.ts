import type { OutgoingRecord } from '../../../ports/log.ts';
import type { Compression } from './compression.ts';

export type BatchOptions = {
  /** -1n: not idempotent. */
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly transactional: boolean;
  readonly compression: Compression;
};

export class RecordBatchBuilder {
  /** Records appended since the last `finish`. */
  recordCount = 0;

  /** `bytesMax` bounds the batch before compression. */
  constructor(bytesMax: number, initialBytes?: number) {
    void bytesMax;
    void initialBytes;
  }

  /** The size of the batch as it stands, uncompressed, header included. */
  get byteLength(): number {
    return 0;
  }

  /**
   * Copies a record to the end. False, and nothing is written, when the batch would pass its bound:
   * finish it first. A record that no batch can hold throws RECORD_TOO_LARGE.
   */
  append(record: OutgoingRecord): boolean {
    void record;
    return true;
  }

  /**
   * Seals the batch, and begins the next. The result is the caller's to send, again and again if need
   * be, until it is given back with `release`.
   */
  finish(options: BatchOptions): Buffer {
    void options;
    return Buffer.alloc(0);
  }

  /** Drops what was appended. */
  reset(): void {
    this.recordCount = 0;
  }

  /** Gives the memory of a finished batch back once nobody reads it any more. */
  release(batch: Buffer): void {
    void batch;
  }
}

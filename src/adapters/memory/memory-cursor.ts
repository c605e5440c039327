import type { RecordCursor } from '../../ports/log.ts';
import type { MemorySegment } from './memory-segment.ts';

/** Records [start, end) of a segment, by position. */
export type SegmentRange = {
  readonly segment: MemorySegment;
  readonly start: number;
  readonly end: number;
};

const nothing = Buffer.alloc(0);

/** Walks ranges of segments without making an object per record. Invariant: records of aborted transactions never show. */
export class MemoryCursor implements RecordCursor {
  offset = -1;
  timestampMs = 0;
  bytes: Buffer = nothing;
  keyStart = 0;
  keyEnd = -1;
  valueStart = 0;
  valueEnd = -1;
  headersStart = 0;
  headersEnd = 0;
  /** 0: written outside of any transaction. */
  transaction = 0;
  readonly #ranges: readonly SegmentRange[];
  readonly #aborted: ReadonlySet<number>;
  #range = 0;
  #index: number;

  constructor(ranges: readonly SegmentRange[], aborted: ReadonlySet<number>) {
    this.#ranges = ranges;
    this.#aborted = aborted;
    this.#index = ranges[0]?.start ?? 0;
  }

  next(): boolean {
    for (;;) {
      const range = this.#ranges[this.#range];
      if (range === undefined) return false;
      const index = this.#index;
      if (index >= range.end) {
        this.#range += 1;
        this.#index = this.#ranges[this.#range]?.start ?? 0;
        continue;
      }
      this.#index = index + 1;
      const transaction = range.segment.transaction(index);
      if (this.#aborted.has(transaction)) continue;
      this.#show(range.segment, index, transaction);
      return true;
    }
  }

  #show(segment: MemorySegment, index: number, transaction: number): void {
    this.offset = segment.offset(index);
    this.timestampMs = segment.timestampMs(index);
    this.transaction = transaction;
    this.bytes = segment.bytes;
    this.keyStart = segment.span(index, 0);
    this.keyEnd = segment.span(index, 1);
    this.valueStart = segment.span(index, 2);
    this.valueEnd = segment.span(index, 3);
    this.headersStart = segment.span(index, 4);
    this.headersEnd = segment.span(index, 5);
  }
}

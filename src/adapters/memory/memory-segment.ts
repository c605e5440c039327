import type { OutgoingRecord } from '../../ports/log.ts';

const recordsMax = 8192;
const bytesSize = 1 << 20;

/**
 * A run of records of one partition: their bytes in one buffer, what describes them in flat arrays.
 * Invariant: a record that was appended never changes, so a cursor needs no copy; only the buffer
 * is replaced when it grows.
 */
export class MemorySegment {
  bytes: Buffer;
  count = 0;
  #size = 0;
  /** Per record: offset, timestamp, transaction. */
  readonly #numbers: number[] = [];
  /** Per record: key start, key end, value start, value end, headers start, headers end. */
  readonly #spans: number[] = [];

  constructor(bytesCapacity: number) {
    this.bytes = Buffer.allocUnsafe(bytesCapacity);
  }

  /** Whether another record of this size belongs here. An empty segment takes any. */
  fits(size: number): boolean {
    return this.count === 0 || (this.count < recordsMax && this.#size + size <= bytesSize);
  }

  append(record: OutgoingRecord, offset: number, transaction: number): void {
    const size = recordSize(record);
    this.#reserve(size);
    this.#numbers.push(offset, record.timestampMs, transaction);
    this.#copy(record.key, record.keyStart, record.keyEnd);
    this.#copy(record.value, record.valueStart, record.valueEnd);
    this.#copy(record.headers, record.headersStart, record.headersEnd);
    this.count += 1;
  }

  offset(index: number): number {
    return this.#numbers[index * 3] ?? 0;
  }

  timestampMs(index: number): number {
    return this.#numbers[index * 3 + 1] ?? 0;
  }

  /** 0: written outside of any transaction. */
  transaction(index: number): number {
    return this.#numbers[index * 3 + 2] ?? 0;
  }

  /** `part` 0 to 5: key start, key end, value start, value end, headers start, headers end. */
  span(index: number, part: number): number {
    return this.#spans[index * 6 + part] ?? 0;
  }

  get lastOffset(): number {
    return this.offset(this.count - 1);
  }

  /** Position of the first record at or above an offset; `count` when there is none. */
  find(offset: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.offset(middle) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #copy(source: Uint8Array, start: number, end: number): void {
    const at = this.#size;
    if (end < 0) {
      this.#spans.push(at, -1);
      return;
    }
    const size = end - start;
    if (size < 24) {
      // A loop beats the native copy for short spans.
      const { bytes } = this;
      for (let from = start, to = at; from < end; from += 1, to += 1) {
        bytes[to] = source[from] as number;
      }
    } else {
      this.bytes.set(source.subarray(start, end), at);
    }
    this.#size = at + size;
    this.#spans.push(at, this.#size);
  }

  #reserve(size: number): void {
    const needed = this.#size + size;
    if (needed <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, this.#size);
    this.bytes = grown;
  }
}

export function recordSize(record: OutgoingRecord): number {
  const key = record.keyEnd < 0 ? 0 : record.keyEnd - record.keyStart;
  const value = record.valueEnd < 0 ? 0 : record.valueEnd - record.valueStart;
  return key + value + record.headersEnd - record.headersStart;
}

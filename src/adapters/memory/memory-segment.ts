import type { OutgoingRecord } from '../../ports/log.ts';

const recordsMax = 8192;
const bytesSize = 1 << 20;

/**
 * A run of records of one partition: their bytes in one buffer, what describes them in flat arrays.
 * Invariant: a record that was appended never changes, so a cursor needs no copy; only the arrays
 * are replaced when they grow.
 */
export class MemorySegment {
  bytes: Buffer;
  count = 0;
  #size = 0;
  /** Per record: offset, timestamp, transaction. */
  #numbers: Float64Array;
  /** Per record: key start, key end, value start, value end, headers start, headers end. */
  #spans: Int32Array;

  constructor(bytesCapacity: number, recordsCapacity: number) {
    this.bytes = Buffer.allocUnsafeSlow(bytesCapacity);
    this.#numbers = new Float64Array(recordsCapacity * 3);
    this.#spans = new Int32Array(recordsCapacity * 6);
  }

  /** Whether another record of this size belongs here. An empty segment takes any. */
  fits(size: number): boolean {
    return this.count === 0 || (this.count < recordsMax && this.#size + size <= bytesSize);
  }

  append(record: OutgoingRecord, offset: number, transaction: number): void {
    const size = recordSize(record);
    this.#reserve(size);
    const at = this.count * 3;
    this.#numbers[at] = offset;
    this.#numbers[at + 1] = record.timestampMs;
    this.#numbers[at + 2] = transaction;
    const span = this.count * 6;
    this.#copy(span, record.key, record.keyStart, record.keyEnd);
    this.#copy(span + 2, record.value, record.valueStart, record.valueEnd);
    this.#copy(span + 4, record.headers, record.headersStart, record.headersEnd);
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

  #copy(span: number, source: Uint8Array, start: number, end: number): void {
    this.#spans[span] = this.#size;
    if (end < 0) {
      this.#spans[span + 1] = -1;
      return;
    }
    this.bytes.set(source.subarray(start, end), this.#size);
    this.#size += end - start;
    this.#spans[span + 1] = this.#size;
  }

  #reserve(size: number): void {
    const needed = this.#size + size;
    if (needed > this.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
      this.bytes.copy(grown, 0, 0, this.#size);
      this.bytes = grown;
    }
    if ((this.count + 1) * 3 > this.#numbers.length) {
      const numbers = new Float64Array(this.#numbers.length * 2);
      numbers.set(this.#numbers);
      this.#numbers = numbers;
      const spans = new Int32Array(this.#spans.length * 2);
      spans.set(this.#spans);
      this.#spans = spans;
    }
  }
}

export function recordSize(record: OutgoingRecord): number {
  const key = record.keyEnd < 0 ? 0 : record.keyEnd - record.keyStart;
  const value = record.valueEnd < 0 ? 0 : record.valueEnd - record.valueStart;
  return key + value + record.headersEnd - record.headersStart;
}

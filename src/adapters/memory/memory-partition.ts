import type { OutgoingRecord } from '../../ports/log.ts';
import { MemoryCursor, type SegmentRange } from './memory-cursor.ts';
import { MemorySegment, recordSize } from './memory-segment.ts';

export type ReadBounds = { readonly bytesMax: number; readonly recordsMax: number };

export type PartitionSlice = {
  readonly records: MemoryCursor;
  readonly recordCount: number;
  readonly byteLength: number;
  readonly nextOffset: number;
};

/**
 * The log of one partition. Invariant: below the stable offset the fate of every record is settled,
 * so whatever a committed reader was given once it is given again, until it is deleted or compacted.
 * The end of a transaction takes an offset of its own, as a control record does.
 */
export class MemoryPartition {
  logStart = 0;
  /** Next offset; the high watermark too, since there are no replicas to wait for. */
  end = 0;
  #segments: MemorySegment[] = [];
  /** Open transaction → its first offset here, in the order of those. */
  readonly #open = new Map<number, number>();
  readonly #aborted = new Set<number>();

  get stable(): number {
    for (const firstOffset of this.#open.values()) return firstOffset;
    return this.end;
  }

  append(record: OutgoingRecord, transaction: number): number {
    const offset = this.end;
    if (transaction !== 0 && !this.#open.has(transaction)) this.#open.set(transaction, offset);
    this.#store(record, offset, transaction);
    this.end = offset + 1;
    return offset;
  }

  endTransaction(transaction: number, committed: boolean): void {
    if (!this.#open.delete(transaction)) return;
    if (!committed) this.#aborted.add(transaction);
    this.end += 1;
  }

  deleteBefore(offset: number): void {
    this.logStart = Math.max(this.logStart, offset);
    this.#segments = this.#segments.filter(({ lastOffset }) => lastOffset >= this.logStart);
  }

  /** Loses the end of the log, as a broker does whose followers were behind when it was elected all the same. */
  truncate(offset: number): void {
    if (offset >= this.end) return;
    const before = this.#segments;
    this.#segments = [];
    for (const segment of before) {
      for (let index = 0; index < segment.find(offset); index += 1) {
        this.#store(recordAt(segment, index), segment.offset(index), segment.transaction(index));
      }
    }
    for (const [transaction, first] of this.#open) {
      if (first >= offset) this.#open.delete(transaction);
    }
    this.end = offset;
  }

  /** Records from an offset on that a committed reader may see, within bounds but at least one. */
  read(from: number, bounds: ReadBounds): PartitionSlice {
    const { stable } = this;
    const ranges: SegmentRange[] = [];
    let recordCount = 0;
    let byteLength = 0;
    let nextOffset = stable;
    search: for (let at = this.#segmentOf(from); at < this.#segments.length; at += 1) {
      const segment = this.#segments[at] as MemorySegment;
      const start = segment.find(from);
      let index = start;
      for (; index < segment.count; index += 1) {
        const offset = segment.offset(index);
        if (offset >= stable) break;
        if (this.#aborted.has(segment.transaction(index))) continue;
        const size = sizeAt(segment, index);
        const full = recordCount >= bounds.recordsMax || byteLength + size > bounds.bytesMax;
        if (full && recordCount > 0) {
          nextOffset = offset;
          ranges.push({ segment, start, end: index });
          break search;
        }
        recordCount += 1;
        byteLength += size;
      }
      ranges.push({ segment, start, end: index });
      if (index < segment.count) break;
    }
    return { records: this.#cursor(ranges), recordCount, byteLength, nextOffset };
  }

  /** The first offset whose record is as late as the time; the end without one. */
  offsetAt(timestampMs: number): number {
    for (const segment of this.#segments) {
      for (let index = 0; index < segment.count; index += 1) {
        const offset = segment.offset(index);
        if (offset >= this.logStart && segment.timestampMs(index) >= timestampMs) return offset;
      }
    }
    return this.end;
  }

  /** Whether a record's transaction is still open. */
  isOpen(transaction: number): boolean {
    return this.#open.has(transaction);
  }

  /** A cursor over everything that is not aborted, beyond the stable offset, too. */
  unsettled(): MemoryCursor {
    const ranges = this.#segments.map((segment) => ({
      segment,
      start: segment.find(this.logStart),
      end: segment.count,
    }));
    return this.#cursor(ranges);
  }

  /** A cursor over everything that is committed. */
  committed(): MemoryCursor {
    return this.read(this.logStart, { bytesMax: Infinity, recordsMax: Infinity }).records;
  }

  /** Keeps the last committed record of each key, at its offset; what is not settled yet stays. */
  compact(dropTombstones: boolean): void {
    const latest = this.#latestOffsets();
    const before = this.#segments;
    this.#segments = [];
    for (const segment of before) {
      for (let index = 0; index < segment.count; index += 1) {
        const dropped = dropTombstones && segment.span(index, 3) < 0;
        const settled = segment.offset(index) < this.stable;
        if (settled && (dropped || this.#isSuperseded(segment, index, latest))) continue;
        const record = recordAt(segment, index);
        this.#store(record, segment.offset(index), segment.transaction(index));
      }
    }
  }

  #isSuperseded(
    segment: MemorySegment,
    index: number,
    latest: ReadonlyMap<string, number>,
  ): boolean {
    if (this.#aborted.has(segment.transaction(index))) return true;
    const key = keyAt(segment, index);
    return key !== undefined && latest.get(key) !== segment.offset(index);
  }

  #latestOffsets(): Map<string, number> {
    const latest = new Map<string, number>();
    for (const segment of this.#segments) {
      for (let index = 0; index < segment.count; index += 1) {
        const offset = segment.offset(index);
        if (offset >= this.stable) return latest;
        const key = keyAt(segment, index);
        if (key !== undefined && !this.#aborted.has(segment.transaction(index))) {
          latest.set(key, offset);
        }
      }
    }
    return latest;
  }

  #cursor(ranges: readonly SegmentRange[]): MemoryCursor {
    return new MemoryCursor(ranges, this.#aborted);
  }

  #store(record: OutgoingRecord, offset: number, transaction: number): void {
    const size = recordSize(record);
    let segment = this.#segments.at(-1);
    if (segment === undefined || !segment.fits(size)) {
      // The first one starts small: most partitions of a test hold a handful of records.
      const first = segment === undefined;
      segment = new MemorySegment(Math.max(size, first ? 512 : 1 << 16));
      this.#segments.push(segment);
    }
    segment.append(record, offset, transaction);
  }

  /** Position of the first segment that may hold an offset or a later one. */
  #segmentOf(offset: number): number {
    let low = 0;
    let high = this.#segments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#segments[middle] as MemorySegment).lastOffset < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function sizeAt(segment: MemorySegment, index: number): number {
  // The three parts lie one behind the other.
  return segment.span(index, 5) - segment.span(index, 0);
}

function keyAt(segment: MemorySegment, index: number): string | undefined {
  const end = segment.span(index, 1);
  return end < 0 ? undefined : segment.bytes.toString('latin1', segment.span(index, 0), end);
}

function recordAt(segment: MemorySegment, index: number): OutgoingRecord {
  const { bytes } = segment;
  return {
    key: bytes,
    keyStart: segment.span(index, 0),
    keyEnd: segment.span(index, 1),
    value: bytes,
    valueStart: segment.span(index, 2),
    valueEnd: segment.span(index, 3),
    headers: bytes,
    headersStart: segment.span(index, 4),
    headersEnd: segment.span(index, 5),
    timestampMs: segment.timestampMs(index),
  };
}

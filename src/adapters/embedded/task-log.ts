import { readdirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { assert } from '../../base/assert.ts';
import { FlowError } from '../../base/errors.ts';
import { putByteText } from '../../data/byte-text.ts';
import { entryLength, goneLength, putEntryLengths } from '../../data/state-entries.ts';
import type { StateKey, StateMark, StateWrite } from '../../ports/state-store.ts';
import {
  type BatchParts,
  type BatchState,
  batchLength,
  entriesStart,
  headBytes,
  isResetBatch,
  openBatch,
  readEntries,
  sealBatch,
} from './batch-format.ts';
import { deleted, EntryColumns } from './entry-columns.ts';
import { KeyIndex } from './key-index.ts';
import { makeDirectory } from './make-directory.ts';
import { fileError, SegmentFile, segmentNumbers, type TailCache } from './segment-file.ts';

export type TaskLogOptions = {
  readonly directory: string;
  readonly cache: TailCache;
  /** A segment is closed when it is larger than this, or than a quarter of the live entries. */
  readonly segmentBytesMin: number;
  readonly segmentBytesMax: number;
};

/** Bytes of the oldest segment that are looked at for each byte that is written, while there is too much garbage. */
const cleaningFactor = 2;
const cleaningBytesMin = 1 << 16;
/** What is taken from a segment at a time, so that the memory for it is always the same. */
const cleaningPartBytes = 1 << 20;
/** Entries that are parsed and indexed at a time when a log is opened. */
const loadedEntries = 4_096;
const scratchBytesKept = 1 << 22;
const slabBytes = 1 << 16;
const loadedBytes = 1 << 22;
/** Of all logs: no call leaves anything in it, and each runs to its end before another one begins. */
let scratch: Buffer = Buffer.allocUnsafeSlow(1 << 16);
/** For what is read from a segment while `scratch` has what is written. */
let readScratch: Buffer = Buffer.allocUnsafeSlow(0);
/** The state of a log without any batch. */
const nothing: BatchState = {
  number: 0,
  epoch: -1,
  mark: undefined,
  firstSegment: 1,
  checksum: 0,
};
const plain = { entries: 0, isReset: false };

/**
 * One task's state as a log of batches in segment files, with an index in memory. The log is a ring: what is
 * live in the oldest segment is written again at the end, then the segment is removed.
 *
 * Invariant: what opening the log gives is the state after one of its batches, exactly.
 * - A batch is written by one call, carries a checksum and a number without gaps, and counts only when it is
 *   whole. It says epoch, mark and first needed segment as they are after it, so they change with its entries
 *   or not at all. A process that is killed leaves at most its last batch cut short.
 * - A segment is removed only after a batch says that it is not needed. If the log breaks off before that
 *   batch (a disk that lost what was not flushed; a damaged file), the oldest segment that is there is not the
 *   first needed one, and the whole log counts as empty: no mark, so the state is rebuilt.
 * So nothing has to be flushed to the disk.
 */
export class TaskLog {
  readonly #options: TaskLogOptions;
  readonly #segments = new Map<number, SegmentFile>();
  readonly #columns = new EntryColumns();
  readonly #moved = new EntryColumns();
  #index = new KeyIndex();
  #state = nothing;
  #active: SegmentFile;
  #bytes = 0;
  #liveBytes = 0;
  /** How far the oldest segment was looked through. */
  #cleaned = { segment: 0, position: 0, batchEnd: 0 };

  private constructor(options: TaskLogOptions, active: SegmentFile) {
    this.#options = options;
    this.#active = active;
  }

  /** Opens a task's log, or begins one. */
  static async open(options: TaskLogOptions): Promise<TaskLog> {
    const { directory, cache } = options;
    let numbers: number[];
    try {
      makeDirectory(directory);
      numbers = segmentNumbers(readdirSync(directory));
    } catch (error) {
      throw fileError(error, directory);
    }
    const segments = (numbers.length === 0 ? [1] : numbers).map(
      (number) => new SegmentFile(directory, number, cache),
    );
    const log = new TaskLog(options, segments.at(-1) as SegmentFile);
    try {
      await log.#load(segments);
    } catch (error) {
      for (const segment of segments) segment.close();
      throw error;
    }
    return log;
  }

  /** -1: nobody has opened the task yet. */
  get epoch(): number {
    return this.#state.epoch;
  }

  get mark(): StateMark | undefined {
    return this.#state.mark;
  }

  /** Of all its segments. */
  get fileBytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#index.size;
  }

  takeOver(epoch: number): void {
    this.#append([this.#emptyBatch(this.mark)], { epoch });
  }

  /** The pages of the entries are written as they lie, and are the batch but for its head. */
  write({ entries, mark }: StateWrite): void {
    const head = this.#emptyBatch(mark);
    const { pages } = entries;
    const start = this.#append(
      [head, ...pages],
      { mark },
      { entries: entries.count, isReset: false },
    );
    const segment = this.#active;
    const columns = this.#columns;
    let position = start + head.length;
    let index = 0;
    for (const page of pages) {
      columns.reset(entries.bytesOf(index), 0);
      for (const end = entries.pageEnd(index); index < end; index += 1) {
        const valueLength = entries.valueLength(index);
        columns.add(
          entries.keyStart(index),
          entries.keyLength(index),
          entries.valueStart(index),
          valueLength === goneLength ? deleted : valueLength,
        );
      }
      this.#apply(columns, segment, position);
      position += page.length;
    }
    this.#clean(position - start);
  }

  clear(): void {
    const oldest = [...this.#segments.values()];
    // The batch that drops everything comes first in a segment, so that all before it can go.
    const next = this.#createSegment();
    const change = { mark: undefined, firstSegment: next.number };
    this.#append([this.#emptyBatch(undefined)], change, { entries: 0, isReset: true });
    this.#index = new KeyIndex();
    this.#liveBytes = 0;
    this.#remove(oldest);
  }

  /** By position; the buffers are copies. */
  read(keys: readonly StateKey[]): (Buffer | undefined)[] {
    const columns = this.#keyColumns(keys);
    const values: (Buffer | undefined)[] = new Array(keys.length).fill(undefined);
    let slab: Buffer = Buffer.alloc(0);
    let used = 0;
    this.#index.probe(columns, (index) => {
      const entry = this.#index.find(columns, index);
      if (entry < 0) return;
      const length = this.#index.lengthOf(entry);
      if (used + length > slab.length) {
        slab = Buffer.allocUnsafeSlow(Math.max(length, Math.min(slabBytes, 64 * keys.length)));
        used = 0;
      }
      this.#readValue(entry, length, slab, used);
      values[index] = slab.subarray(used, used + length);
      used += length;
    });
    return values;
  }

  /** Some entries from a number on, and the number to go on from; undefined at the end. */
  scan(
    from: number,
    countMax: number,
    bytesMax: number,
  ): { readonly entries: (readonly [StateKey, Buffer])[]; readonly next: number | undefined } {
    const index = this.#index;
    const entries: (readonly [StateKey, Buffer])[] = [];
    let bytes = 0;
    let entry = from;
    for (; entry < index.entryLimit && entries.length < countMax && bytes < bytesMax; entry++) {
      if (!index.isUsed(entry)) continue;
      const value = Buffer.allocUnsafe(index.lengthOf(entry));
      this.#readValue(entry, value.length, value, 0);
      entries.push([index.keyOf(entry), value]);
      bytes += value.length;
    }
    return { entries, next: entry < index.entryLimit ? entry : undefined };
  }

  close(): void {
    for (const segment of this.#segments.values()) segment.close();
    this.#segments.clear();
  }

  #readValue(entry: number, length: number, target: Buffer, targetStart: number): void {
    const segment = this.#segments.get(this.#index.segmentOf(entry));
    assert(segment !== undefined, 'the index leads to a segment that is gone');
    segment.read(this.#index.positionOf(entry), length, target, targetStart);
  }

  #keyColumns(keys: readonly StateKey[]): EntryColumns {
    let size = 0;
    for (const key of keys) size += key.length;
    const columns = this.#columns;
    const bytes = this.#takeScratch(size);
    columns.reset(bytes, keys.length);
    let position = 0;
    for (const key of keys) {
      putByteText(bytes, position, key);
      columns.add(position, key.length, 0, 0);
      position += key.length;
    }
    return columns;
  }

  #takeScratch(size: number): Buffer {
    if (size > scratchBytesKept) {
      return Buffer.allocUnsafeSlow(size);
    }
    if (size > scratch.length) {
      scratch = Buffer.allocUnsafeSlow(Math.min(2 * size, scratchBytesKept));
    }
    return scratch.subarray(0, size);
  }

  #emptyBatch(mark: StateMark | undefined): Buffer {
    return this.#takeScratch(headBytes(mark));
  }

  /** Writes a batch, which makes its state the log's; returns the position of the batch. */
  #append(batch: BatchParts, change: Partial<BatchState>, contents = plain): number {
    const size = batch.reduce((sum, part) => sum + part.length, 0);
    const { segmentBytesMin, segmentBytesMax } = this.#options;
    const limit = Math.min(Math.max(segmentBytesMin, this.#liveBytes / 4), segmentBytesMax);
    if (this.#active.size > 0 && this.#active.size + size > limit) {
      this.#createSegment();
    }
    const state = sealBatch(batch, change, { ...contents, before: this.#state });
    const start = this.#active.append(batch);
    this.#bytes += size;
    this.#state = state;
    return start;
  }

  /** Leads the index to the entries of a batch that was appended at a position. */
  #apply(columns: EntryColumns, segment: SegmentFile, start: number): void {
    const index = this.#index;
    index.probe(columns, (position) => {
      const keyLength = columns.keyLengths[position] ?? 0;
      const length = columns.valueLengths[position] ?? 0;
      let entry = index.find(columns, position);
      if (entry >= 0) {
        const bytes = entryLength(keyLength, index.lengthOf(entry));
        const owner = this.#segments.get(index.segmentOf(entry));
        if (owner !== undefined) owner.liveBytes -= bytes;
        this.#liveBytes -= bytes;
      }
      if (length === deleted) {
        if (entry >= 0) index.remove(columns, position, entry);
        return;
      }
      if (entry < 0) entry = index.insert(columns, position);
      index.place(entry, segment.number, start + (columns.valueStarts[position] ?? 0), length);
      const bytes = entryLength(keyLength, length);
      segment.liveBytes += bytes;
      this.#liveBytes += bytes;
    });
  }

  #createSegment(): SegmentFile {
    const { directory, cache } = this.#options;
    this.#active = new SegmentFile(directory, this.#active.number + 1, cache);
    this.#active.truncate(0);
    this.#segments.set(this.#active.number, this.#active);
    return this.#active;
  }

  /** Removes segments at the beginning, of which a batch has said that they are not needed. */
  #remove(segments: readonly SegmentFile[]): void {
    for (const segment of segments) {
      this.#bytes -= segment.size;
      this.#segments.delete(segment.number);
      try {
        segment.remove();
      } catch {
        // It is only space, and it is removed when the log is opened the next time.
        segment.close();
      }
    }
  }

  /**
   * Goes on with the oldest segments, in proportion to what was written: at most half of the log is garbage in
   * the long run, and no single write waits long. Deletions in it need not be kept: nothing older is left
   * that they would have to hide.
   */
  #clean(writtenBytes: number): void {
    if (!this.#hasGarbage(0)) return;
    try {
      const dead: SegmentFile[] = [];
      let deadBytes = 0;
      let bytesLeft = Math.max(cleaningFactor * writtenBytes, cleaningBytesMin);
      for (const segment of [...this.#segments.values()]) {
        if (segment === this.#active || bytesLeft <= 0 || !this.#hasGarbage(deadBytes)) break;
        while (segment.liveBytes > 0 && bytesLeft > 0) {
          bytesLeft -= this.#moveLive(segment, Math.min(bytesLeft, cleaningPartBytes));
        }
        if (segment.liveBytes > 0) break;
        dead.push(segment);
        deadBytes += segment.size;
      }
      const last = dead.at(-1);
      if (last !== undefined) {
        this.#append([this.#emptyBatch(this.mark)], { firstSegment: last.number + 1 });
        this.#remove(dead);
      }
    } catch (error) {
      // The write itself succeeded; a disk that is full now may have room for the cleaning later.
      if (!(error instanceof FlowError) || error.code !== 'STATE_UNAVAILABLE') throw error;
    }
  }

  #hasGarbage(deadBytes: number): boolean {
    return this.#bytes - deadBytes > 2 * this.#liveBytes + 2 * this.#options.segmentBytesMin;
  }

  /** Writes the live entries of the next part of a segment again, at the end of the log; returns its size. */
  #moveLive(segment: SegmentFile, bytesMax: number): number {
    if (segment.liveBytes === 0) return 0;
    if (this.#cleaned.segment !== segment.number) {
      this.#cleaned = { segment: segment.number, position: 0, batchEnd: 0 };
    }
    const cleaned = this.#cleaned;
    const rest = segment.size - cleaned.position;
    const columns = this.#columns;
    let length = 0;
    let next = { end: 0, batchEnd: 0 };
    do {
      // At first, and then when an entry is larger than the part: take more.
      length = Math.min(Math.max(2 * length, bytesMax), rest);
      if (length > readScratch.length)
        readScratch = Buffer.allocUnsafeSlow(Math.max(length, cleaningBytesMin));
      columns.reset(readScratch.subarray(0, length), 0);
      segment.read(cleaned.position, length, columns.bytes, 0);
      next = readPart(columns, cleaned.batchEnd - cleaned.position);
    } while (next.end === 0 && length < rest);
    assert(next.end > 0, 'a segment has live entries behind its end');
    this.#moveEntries(columns, segment, cleaned.position);
    cleaned.batchEnd = cleaned.position + next.batchEnd;
    cleaned.position += next.end;
    return next.end;
  }

  #moveEntries(columns: EntryColumns, segment: SegmentFile, partStart: number): void {
    const index = this.#index;
    const moved = this.#moved;
    const start = headBytes(this.#state.mark);
    const batch = this.#takeScratch(start + columns.bytes.length);
    moved.reset(batch, columns.count);
    let position = start;
    index.probe(columns, (at) => {
      const valueStart = columns.valueStarts[at] ?? 0;
      const valueLength = columns.valueLengths[at] ?? 0;
      const entry = valueLength === deleted ? -1 : index.find(columns, at);
      if (
        entry < 0 ||
        index.segmentOf(entry) !== segment.number ||
        index.positionOf(entry) !== partStart + valueStart
      ) {
        return;
      }
      const keyLength = columns.keyLengths[at] ?? 0;
      const keyStart = putEntryLengths(batch, position, keyLength, valueLength);
      columns.bytes.copy(batch, keyStart, columns.keyStarts[at], valueStart + valueLength);
      moved.add(keyStart, keyLength, keyStart + keyLength, valueLength);
      position = keyStart + keyLength + valueLength;
    });
    if (moved.count > 0) {
      const contents = { entries: moved.count, isReset: false };
      const at = this.#append([batch.subarray(0, position)], {}, contents);
      this.#apply(moved, this.#active, at);
    }
  }

  /** Reads all segments, and keeps what is proved to be whole. */
  async #load(segments: readonly SegmentFile[]): Promise<void> {
    const run = contiguousEnd(segments);
    for (const segment of run) {
      this.#segments.set(segment.number, segment);
      const size = await this.#loadSegment(segment);
      if (size < segment.size) {
        segment.truncate(size);
        break;
      }
    }
    // A segment without batches proves nothing: a crash of the machine may have emptied it. None is kept, lest
    // it should once be taken for the beginning.
    for (const segment of run.toReversed()) {
      if (segment.size === 0 && this.#segments.size > 1) this.#segments.delete(segment.number);
    }
    const first = run.find((segment) => segment.size > 0) ?? run[0];
    const isComplete = (first?.number ?? 0) <= this.#state.firstSegment;
    // From the end: should this be cut short, then what is left still breaks off at the same place.
    for (const segment of segments.toReversed()) {
      const isNeeded = segment.number >= this.#state.firstSegment;
      if (isComplete && isNeeded && this.#segments.has(segment.number)) continue;
      this.#segments.delete(segment.number);
      segment.remove();
    }
    if (isComplete) {
      this.#active = [...this.#segments.values()].at(-1) ?? this.#active;
    } else {
      this.#forgetAll();
    }
    this.#bytes = [...this.#segments.values()].reduce((sum, segment) => sum + segment.size, 0);
  }

  #forgetAll(): void {
    this.#index = new KeyIndex();
    this.#liveBytes = 0;
    this.#state = { ...nothing, firstSegment: this.#createSegment().number };
  }

  /** Takes the batches of one segment in; returns the position behind the last whole one. */
  async #loadSegment(segment: SegmentFile): Promise<number> {
    const head = headBytes(undefined);
    let chunk: Buffer = Buffer.alloc(0);
    let chunkStart = 0;
    let position = 0;
    for (;;) {
      const bytes = chunk.subarray(position - chunkStart);
      const length = batchLength(bytes);
      if (bytes.length < Math.max(head, length)) {
        const rest = segment.size - position;
        if (rest < Math.max(head, length)) return position;
        chunk = Buffer.allocUnsafeSlow(Math.min(Math.max(length, loadedBytes), rest));
        segment.read(position, chunk.length, chunk, 0);
        chunkStart = position;
        await setImmediate();
        continue;
      }
      const batch = bytes.subarray(0, length);
      const state = length === 0 ? undefined : openBatch(batch, this.#state);
      if (state === undefined) return position;
      this.#loadBatch(segment, batch, position);
      this.#state = state;
      position += length;
    }
  }

  #loadBatch(segment: SegmentFile, batch: Buffer, start: number): void {
    if (isResetBatch(batch)) {
      this.#index = new KeyIndex();
      this.#liveBytes = 0;
      for (const each of this.#segments.values()) each.liveBytes = 0;
    }
    const columns = this.#columns;
    for (let position = entriesStart(batch); position < batch.length; ) {
      columns.reset(batch, loadedEntries);
      position = readEntries(columns, position, batch.length, loadedEntries);
      assert(columns.count > 0, 'a whole batch ends within an entry');
      this.#apply(columns, segment, start);
    }
  }
}

/**
 * Adds the entries of a part of a segment to the columns; the part begins within a batch that ends at `batchEnd`.
 * Returns where the last whole entry ends, and the batch in which that is.
 */
function readPart(columns: EntryColumns, batchEnd: number): { end: number; batchEnd: number } {
  const { bytes } = columns;
  let position = 0;
  let end = batchEnd;
  for (;;) {
    if (position === end) {
      const head = bytes.subarray(position);
      if (head.length < headBytes(undefined) || entriesStart(head) > head.length) break;
      end = position + batchLength(head);
      position += entriesStart(head);
    }
    position = readEntries(columns, position, Math.min(end, bytes.length), bytes.length);
    if (position < end) break;
  }
  return { end: position, batchEnd: end };
}

/** The segments at the end that follow on one another: what comes before a gap was to be removed. */
function contiguousEnd(segments: readonly SegmentFile[]): readonly SegmentFile[] {
  let start = segments.length - 1;
  while (start > 0 && segments[start - 1]?.number === (segments[start]?.number ?? 0) - 1) start--;
  return segments.slice(start);
}

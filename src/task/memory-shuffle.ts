import { ByteWriter } from '../data/byte-writer.ts';
import type { OutgoingRecord, RecordCursor, RecordSink, Slice } from '../ports/log.ts';

/** What a table task needs of a slice: its rows, and what to call them in an error. */
export type RowSlice = Pick<Slice, 'topic' | 'partition' | 'records'>;

/** Rows lie in chunks of this size. */
const chunkBytesMin = 1 << 16;
const chunkBytesMax = 1 << 20;
/** With less room than this left a new chunk is begun; a row that is larger makes its chunk grow. */
const rowRoomBytes = 1 << 14;
/** Chunks that wait for the next transaction; what a burst took beyond them is given back. */
const spareChunksMax = 64;
/** Rows that a lane has room for at first. */
const roomMin = 16;
const nothing = Buffer.alloc(0);

/**
 * Hands rows from the flow stage to the table partitions of the same process, in memory instead of through the
 * repartition topic; rows of partitions that are elsewhere go on to the topic. Per row that is free to choose: a
 * row-set is a set by provenance, so neither the way nor the order of arrival shows in it. What makes it sound is that
 * the row's effects, and the checkpoint of the record that it came from, are in one transaction.
 *
 * Rows are written where they stay: `rows` is the memory itself, and `offer` only notes where a row lies in it.
 *
 * Invariant: the bytes of a row stay as they are until `turn`, which is called when everything that was merged has
 * been written out; then their memory is used again, so that a row costs neither a copy nor an allocation.
 */
export class MemoryShuffle implements RecordSink {
  /** Where the next row is to be written, after `beginRow`. Its buffer may be another one after each call. */
  readonly rows = new ByteWriter(0);
  readonly #topic: string;
  /** By partition; undefined: it is elsewhere. */
  readonly #lanes: (RowLane | undefined)[] = [];
  readonly #filled = new Set<RowLane>();
  readonly #full: Buffer[] = [];
  readonly #spare: Buffer[] = [];
  /** Up to here `rows` has rows that were taken. */
  #kept = 0;
  #heldBytes = 0;
  /** Of the next chunk: a transaction that holds more is given larger ones. */
  #chunkBytes = chunkBytesMin;
  #sink: RecordSink | undefined;

  constructor(topic: string) {
    this.#topic = topic;
  }

  /** From now on the rows of a partition are merged here. */
  open(partition: number): void {
    this.#lanes[partition] = new RowLane(this.#topic, partition);
  }

  close(partition: number): void {
    const lane = this.#lanes[partition];
    if (lane !== undefined) this.#filled.delete(lane);
    this.#lanes[partition] = undefined;
  }

  /** Bytes that rows of the open transaction hold. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Starts a slice of the flow stage; rows that an earlier one left when it failed are forgotten. */
  begin(sink: RecordSink): void {
    for (const lane of this.#filled) lane.clear();
    this.#filled.clear();
    this.#sink = sink;
  }

  /** What was written since the last row that was taken is forgotten. */
  beginRow(): void {
    const { rows } = this;
    if (rows.capacity - this.#kept < rowRoomBytes) this.#turnPage();
    rows.length = this.#kept;
  }

  /** Takes a row that lies in `rows`, key before value; false: its partition is elsewhere. */
  offer(partition: number, row: OfferedRow): boolean {
    const lane = this.#lanes[partition];
    if (lane === undefined) return false;
    if (lane.count === 0) this.#filled.add(lane);
    lane.add(this.rows.buffer, row);
    this.#kept = this.rows.length;
    this.#heldBytes += row.valueEnd - row.keyStart;
    return true;
  }

  /** Rows that are elsewhere, dead letters. */
  append(topic: string, partition: number, record: OutgoingRecord): void {
    this.#sink?.append(topic, partition, record);
  }

  /** The rows of the slice, by partition. */
  take(): readonly RowSlice[] {
    const slices = [...this.#filled].map((lane) => lane.slice);
    this.#filled.clear();
    return slices;
  }

  /** Everything that was taken is written out, or dropped. */
  turn(): void {
    for (const chunk of this.#full) {
      if (this.#spare.length < spareChunksMax) this.#spare.push(chunk);
    }
    this.#full.length = 0;
    this.#kept = 0;
    this.#heldBytes = 0;
  }

  #turnPage(): void {
    const { rows } = this;
    // One that a giant row made grow is not kept.
    if (rows.capacity > 0 && rows.capacity <= chunkBytesMax) {
      this.#full.push(rows.buffer);
      this.#chunkBytes = Math.min(2 * this.#chunkBytes, chunkBytesMax);
    }
    rows.use(this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#chunkBytes));
    this.#kept = 0;
  }
}

/** Where a row lies, and the hash of its key; one object is filled again and again. */
export type OfferedRow = {
  keyStart: number;
  valueStart: number;
  valueEnd: number;
  /** By `murmur2`. */
  keyHash: number;
  timestampMs: number;
};

/** The rows of one partition, as a cursor that is read once and filled again. */
export class RowLane implements RecordCursor {
  readonly slice: RowSlice;
  count = 0;
  bytes: Buffer = nothing;
  keyStart = 0;
  keyEnd = 0;
  valueStart = 0;
  valueEnd = 0;
  readonly offset = -1;
  timestampMs = 0;
  readonly headersStart = 0;
  readonly headersEnd = 0;
  /** The chunks that rows lie in, and the first row in each. */
  readonly #chunks: Buffer[] = [];
  readonly #chunkStarts: number[] = [];
  #nextChunk = 0;
  /** Of the current row's key, by `murmur2`. */
  keyHash = 0;
  /** Start of the key and of the value, end, hash: row by row. */
  #spans = new Int32Array(4 * roomMin);
  /** Rows that there is room for. */
  #room = roomMin;
  #timestamps = new Float64Array(roomMin);
  #next = 0;

  constructor(topic: string, partition: number) {
    this.slice = { topic, partition, records: this };
  }

  add(chunk: Buffer, row: OfferedRow): void {
    const at = this.count * 4;
    if (this.count === this.#room) this.#grow();
    const spans = this.#spans;
    spans[at] = row.keyStart;
    spans[at + 1] = row.valueStart;
    spans[at + 2] = row.valueEnd;
    spans[at + 3] = row.keyHash;
    if (this.#chunks.at(-1) !== chunk) {
      this.#chunks.push(chunk);
      this.#chunkStarts.push(this.count);
    }
    this.#timestamps[this.count] = row.timestampMs;
    this.count += 1;
  }

  #grow(): void {
    this.#room *= 2;
    const spans = new Int32Array(this.#room * 4);
    spans.set(this.#spans);
    this.#spans = spans;
    const timestamps = new Float64Array(this.#room);
    timestamps.set(this.#timestamps);
    this.#timestamps = timestamps;
  }

  /** After the last row the lane is empty, and may be filled again. */
  next(): boolean {
    const index = this.#next;
    if (index === this.count) {
      this.clear();
      return false;
    }
    const at = index * 4;
    const spans = this.#spans;
    if (index === this.#chunkStarts[this.#nextChunk]) {
      this.bytes = this.#chunks[this.#nextChunk] as Buffer;
      this.#nextChunk += 1;
    }
    this.timestampMs = this.#timestamps[index] as number;
    this.keyStart = spans[at] as number;
    this.valueStart = spans[at + 1] as number;
    this.keyEnd = this.valueStart;
    this.valueEnd = spans[at + 2] as number;
    this.keyHash = spans[at + 3] as number;
    this.#next = index + 1;
    return true;
  }

  clear(): void {
    this.count = 0;
    this.#next = 0;
    this.#nextChunk = 0;
    this.#chunks.length = 0;
    this.#chunkStarts.length = 0;
  }
}

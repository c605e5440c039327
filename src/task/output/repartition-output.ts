import { FlowError } from '../../base/errors.ts';
import { viewOf } from '../../data/byte-copy.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import { murmur2Of, partitionOfHash } from '../../data/murmur2.ts';
import { HeaderWriter } from '../../data/record-headers.ts';
import {
  beginEnvelope,
  endSequence,
  timeFlag,
  timeKey,
  truncateKey,
  writeEnvelopeHead,
} from '../../data/row-envelope.ts';
import type { Row } from '../../data/value.ts';
import type { RecordCursor, RecordSink } from '../../ports/log.ts';
import type { MemoryShuffle, OfferedRow } from '../memory-shuffle.ts';
import type { RowProgram } from '../row/row-program.ts';
import { emptyOutgoingRecord } from './outgoing-record.ts';
import type { RowOutput } from './row-output.ts';

const nothing = Buffer.alloc(0);

/** About what a batch adds to a record, with some to spare. */
const recordOverheadBytes = 256;
/** Of a key that is told. */
const keyCharsMax = 200;

/** A record is passed off as no older than this: some brokers refuse old timestamps. */
const ageMsMax = 3_600_001;

export type RepartitionTarget = {
  readonly topic: string;
  readonly partitions: number;
  /** The largest record that it takes, in bytes; absent: the broker tells. */
  readonly recordBytesMax?: number | undefined;
  /** Its rows are of dead letters, which no source partition has handed on: the account tells them apart. */
  readonly isReplay?: boolean;
};

/**
 * Sends rows to the table stage: each in its envelope, to the partition of its key. Invariant: rows of one key
 * are in one partition, whatever record they came from.
 */
export class RepartitionOutput implements RowOutput {
  readonly #target: RepartitionTarget;
  readonly #shuffle: MemoryShuffle | undefined;
  readonly #recordBytesMax: number;
  readonly #rows: ByteWriter;
  readonly #offered: OfferedRow = {
    keyStart: 0,
    valueStart: 0,
    valueEnd: 0,
    keyHash: 0,
    timestampMs: 0,
  };
  readonly #sequence = new ByteWriter(64);
  /** The provenance that came last, and its view: it is one buffer whose bytes change. */
  #provenance: Buffer = nothing;
  #provenanceView = viewOf(nothing);
  /** The rows of the current record: start of key, start of value, end. */
  #spans = new Int32Array(3 * 16);
  #spansMax = 3 * 16;
  #spanCount = 0;
  /** Where in the spans a row stands that every partition has to hear of. */
  readonly #forAll = new Set<number>();
  readonly #record = emptyOutgoingRecord();

  /** `shuffle` takes the rows of the partitions that are in this process. */
  constructor(target: RepartitionTarget, shuffle?: MemoryShuffle) {
    this.#target = target;
    this.#shuffle = shuffle;
    this.#recordBytesMax = target.recordBytesMax ?? Number.POSITIVE_INFINITY;
    this.#rows = shuffle?.rows ?? new ByteWriter(4 * 1024);
    if (target.isReplay === true) {
      const headers = new HeaderWriter();
      headers.begin(1);
      headers.addText('tm-replay', '1');
      this.#record.headers = headers.writer.copy();
      this.#record.headersEnd = this.#record.headers.length;
    }
  }

  begin(): void {
    if (this.#shuffle === undefined) this.#rows.reset();
    else this.#shuffle.beginRow();
    this.#spanCount = 0;
    if (this.#forAll.size > 0) this.#forAll.clear();
  }

  add(program: RowProgram, row: Row, provenance: Buffer, records: RecordCursor): void {
    const rows = this.#rows;
    const keyStart = rows.length;
    if (program.isTruncate(row)) {
      rows.ascii(truncateKey);
      this.#forAll.add(this.#spanCount);
    } else {
      program.encodeKey(row, rows);
    }
    const valueStart = rows.length;
    if (provenance !== this.#provenance) {
      this.#provenance = provenance;
      this.#provenanceView = viewOf(provenance);
    }
    beginEnvelope(rows, this.#provenanceView);
    const flags = program.encodeSequence(row, rows, records.timestampMs);
    endSequence(rows, valueStart, flags);
    const rowStart = rows.length;
    program.encodeRow(row, rows);
    // A marker has no row; it was written all the same, since a value that does not fit is bad in any row.
    if (flags !== 0) rows.length = rowStart;
    this.#addSpan(keyStart, valueStart, rows.length);
  }

  #addSpan(keyStart: number, valueStart: number, valueEnd: number): void {
    const at = this.#spanCount;
    if (at === this.#spansMax) {
      this.#spansMax *= 2;
      const spans = new Int32Array(this.#spansMax);
      spans.set(this.#spans);
      this.#spans = spans;
    }
    this.#spans[at] = keyStart;
    this.#spans[at + 1] = valueStart;
    this.#spans[at + 2] = valueEnd;
    this.#spanCount = at + 3;
  }

  tellTime(provenance: Buffer, timeMs: number, sink: RecordSink, nowMs: number): void {
    const { topic, partitions } = this.#target;
    const rows = this.#rows;
    rows.reset();
    rows.ascii(timeKey);
    const valueStart = rows.length;
    this.#sequence.reset();
    this.#sequence.ascii(String(timeMs));
    writeEnvelopeHead(rows, timeFlag, provenance, this.#sequence);
    const record = this.#record;
    record.key = rows.buffer;
    record.value = rows.buffer;
    record.timestampMs = nowMs;
    record.keyStart = 0;
    record.keyEnd = valueStart;
    record.valueStart = valueStart;
    record.valueEnd = rows.length;
    for (let one = 0; one < partitions; one += 1) sink.append(topic, one, record);
  }

  send(records: RecordCursor, sink: RecordSink, nowMs: number): number {
    const { topic, partitions } = this.#target;
    const { buffer, view } = this.#rows;
    const isForAny = this.#forAll.size > 0;
    const spans = this.#spans;
    const row = this.#offered;
    const record = this.#record;
    row.timestampMs = timestampOf(records, nowMs);
    for (let at = 0; at < this.#spanCount; at += 3) {
      row.keyStart = spans[at] as number;
      row.valueStart = spans[at + 1] as number;
      row.valueEnd = spans[at + 2] as number;
      if (isForAny && this.#forAll.has(at)) {
        this.#fillRecord(row, records);
        for (let one = 0; one < partitions; one += 1) sink.append(topic, one, record);
        continue;
      }
      row.keyHash = murmur2Of(buffer, view, row.keyStart, row.valueStart);
      const partition = partitionOfHash(row.keyHash, partitions);
      if (this.#shuffle?.offer(partition, row) === true) continue;
      this.#fillRecord(row, records);
      sink.append(topic, partition, record);
    }
    return this.#spanCount / 3;
  }

  #fillRecord(
    { keyStart, valueStart, valueEnd, timestampMs }: OfferedRow,
    records: RecordCursor,
  ): void {
    const record = this.#record;
    const { buffer } = this.#rows;
    const size = valueEnd - keyStart + recordOverheadBytes;
    if (size > this.#recordBytesMax) {
      throw this.#tooLarge(size, buffer.toString('utf8', keyStart, valueStart), records);
    }
    record.key = buffer;
    record.keyStart = keyStart;
    record.keyEnd = valueStart;
    record.value = buffer;
    record.valueStart = valueStart;
    record.valueEnd = valueEnd;
    record.timestampMs = timestampMs;
  }

  /** The broker refuses what is larger, and with it the transaction of all flows. */
  #tooLarge(size: number, key: string, { offset }: RecordCursor): FlowError {
    const { topic } = this.#target;
    return new FlowError(
      'RECORD_TOO_LARGE',
      `a row is too large for one record of topic "${topic}", between the stages`,
      {
        detail: `Key ${key.slice(0, keyCharsMax)}, of the record at offset ${offset}, needs ${size} bytes, and the topic takes ${this.#recordBytesMax} bytes a record.`,
        hint: 'Raise max.message.bytes of the topic, or select less into a row.',
      },
    );
  }
}

/** That of the source record, so that the table stage knows how old a row is; within what every broker takes. */
function timestampOf({ timestampMs }: RecordCursor, nowMs: number): number {
  return Math.min(nowMs, Math.max(timestampMs, nowMs - ageMsMax));
}

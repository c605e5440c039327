import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { ByteWriter } from '../data/byte-writer.ts';
import type { Span } from '../data/bytes.ts';
import { provenanceSize } from '../data/provenance.ts';
import { HeaderWriter } from '../data/record-headers.ts';
import { equalRows, type RowSet, type SetRow } from '../data/row-set.ts';
import type { OutgoingRecord, RecordSink } from '../ports/log.ts';
import { SourceTextWriter } from './source-text.ts';

export type OutputTarget = {
  readonly table: string;
  readonly topic: string;
  readonly partition: number;
  readonly generation: number;
  /** Canonical text of an encoded sequence. */
  readonly sequenceText: (bytes: Buffer, start: number, end: number) => string;
  /** SELECT DISTINCT: equal rows are written once, with the provenance of each. */
  readonly distinct: boolean;
  /** The broker's limit on one record, in bytes. */
  readonly recordBytesMax: number;
  /** Changelog of the levels that outlive their rows; needed only where markers may come. */
  readonly levelsTopic?: string | undefined;
};

/** A row as it lies in its envelope. */
export type SingleRow = {
  readonly bytes: Buffer;
  readonly envelopeStart: number;
  readonly sequenceStart: number;
  readonly sequenceEnd: number;
  readonly rowStart: number;
  readonly rowEnd: number;
};

export type NumberedRow = {
  readonly sequence: Span;
  readonly rows: readonly SetRow[];
  readonly position: number;
};

/** Room for what the log adds to a record: lengths, batch header. */
export const recordOverheadBytes = 256;

const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const plus = 0x2b;

/**
 * Composes the records of an output topic from row-sets, without decoding a row. Invariant: the
 * headers of a record hold all that is needed to rebuild the state of its key from the topic alone.
 */
export class OutputWriter {
  readonly #target: OutputTarget;
  readonly #value = new ByteWriter(4 * 1024);
  readonly #key = new ByteWriter(256);
  readonly #headers = new HeaderWriter();
  readonly #sources = new ByteWriter(256);
  readonly #generation: Buffer;
  readonly #sourceText = new SourceTextWriter();
  readonly #record: OutgoingRecord = {
    key: Buffer.alloc(0),
    keyStart: 0,
    keyEnd: 0,
    value: Buffer.alloc(0),
    valueStart: 0,
    valueEnd: 0,
    headers: Buffer.alloc(0),
    headersStart: 0,
    headersEnd: 0,
    timestampMs: 0,
  };

  constructor(target: OutputTarget) {
    this.#target = target;
    this.#generation = Buffer.from(String(target.generation), 'latin1');
  }

  /** One record: the whole row-set as a JSON array. */
  rowSet(sink: RecordSink, key: Buffer, rowSet: RowSet, nowMs: number): void {
    const value = this.#value;
    const groups = this.#target.distinct ? equalRows(rowSet.rows) : rowSet.rows.map((row) => [row]);
    value.reset();
    value.byte(openBracket);
    for (const [position, [first]] of groups.entries()) {
      if (position > 0) value.byte(comma);
      const { row } = first as SetRow;
      value.bytes(row.bytes, row.start, row.end);
    }
    value.byte(closeBracket);
    this.#writeHeaders(rowSet.sequence, groups);
    this.#send(sink, key, key.length, value.length, nowMs);
  }

  /** The record of a key that has one row, straight from its envelope. */
  single(
    sink: RecordSink,
    key: Buffer,
    row: SingleRow,
    { isNumbered, nowMs }: { readonly isNumbered: boolean; readonly nowMs: number },
  ): void {
    const value = this.#value;
    value.reset();
    if (!isNumbered) value.byte(openBracket);
    value.bytes(row.bytes, row.rowStart, row.rowEnd);
    if (!isNumbered) value.byte(closeBracket);
    this.#writeSingleHeaders(row);
    if (isNumbered) {
      this.#numberedKey(key, 0);
      this.#send(sink, this.#key.buffer, this.#key.length, value.length, nowMs);
    } else {
      this.#send(sink, key, key.length, value.length, nowMs);
    }
  }

  /** One numbered record of output mode `rows`; of equal rows, with DISTINCT, the one that stands for all. */
  row(
    sink: RecordSink,
    key: Buffer,
    { sequence, rows, position }: NumberedRow,
    nowMs: number,
  ): void {
    const { row } = rows[0] as SetRow;
    this.#value.reset();
    this.#value.bytes(row.bytes, row.start, row.end);
    this.#writeHeaders(sequence, [rows]);
    this.#numberedKey(key, position);
    this.#send(sink, this.#key.buffer, this.#key.length, this.#value.length, nowMs);
  }

  tombstone(sink: RecordSink, key: Buffer, position: number | undefined, nowMs: number): void {
    this.#headers.begin(1);
    this.#headers.add('tm-gen', this.#generation);
    if (position === undefined) {
      this.#send(sink, key, key.length, -1, nowMs);
    } else {
      this.#numberedKey(key, position);
      this.#send(sink, this.#key.buffer, this.#key.length, -1, nowMs);
    }
  }

  /** The tombstone of a key that a marker emptied: it tells the marker's sequence and provenance. */
  emptied(
    sink: RecordSink,
    key: Buffer,
    marker: SingleRow,
    { isNumbered, nowMs }: { readonly isNumbered: boolean; readonly nowMs: number },
  ): void {
    this.#writeSingleHeaders(marker);
    if (isNumbered) {
      this.#numberedKey(key, 0);
      this.#send(sink, this.#key.buffer, this.#key.length, -1, nowMs);
    } else {
      this.#send(sink, key, key.length, -1, nowMs);
    }
  }

  /**
   * A record of the levels topic: the key has no rows at the marker's sequence. Without marker a tombstone, since
   * rows have brought the sequence back into the output topic.
   */
  level(sink: RecordSink, key: Buffer, marker: SingleRow | undefined, nowMs: number): void {
    const { levelsTopic } = this.#target;
    assert(levelsTopic !== undefined, 'a flow whose keys can be emptied has a levels topic');
    this.#value.reset();
    if (marker === undefined) {
      this.#headers.begin(1);
      this.#headers.add('tm-gen', this.#generation);
      this.#send(sink, key, key.length, -1, nowMs, levelsTopic);
    } else {
      this.#value.byte(openBracket);
      this.#value.byte(closeBracket);
      this.#writeSingleHeaders(marker);
      this.#send(sink, key, key.length, this.#value.length, nowMs, levelsTopic);
    }
  }

  #writeSingleHeaders(row: SingleRow): void {
    this.#headers.begin(3);
    this.#headers.addText(
      'tm-seq',
      this.#target.sequenceText(row.bytes, row.sequenceStart, row.sequenceEnd),
    );
    this.#sources.reset();
    this.#sourceText.whole(this.#sources, row.bytes, row.envelopeStart + 2);
    this.#headers.add('tm-src', this.#sources.buffer, 0, this.#sources.length);
    this.#headers.add('tm-gen', this.#generation);
  }

  /** `{"k":1}` becomes `{"k":1,"_row":0}`. */
  #numberedKey(key: Buffer, position: number): void {
    this.#key.reset();
    this.#key.bytes(key, 0, key.length - 1);
    this.#key.ascii(`,"_row":${position}}`);
  }

  #writeHeaders(sequence: Span, groups: readonly (readonly SetRow[])[]): void {
    this.#headers.begin(3);
    this.#headers.addText(
      'tm-seq',
      this.#target.sequenceText(sequence.bytes, sequence.start, sequence.end),
    );
    this.#sources.reset();
    let before: SetRow | undefined;
    for (const group of groups) {
      for (const [position, row] of group.entries()) {
        if (before !== undefined) this.#sources.byte(position === 0 ? comma : plus);
        this.#writeSource(row.provenance, before?.provenance);
        before = row;
      }
    }
    this.#headers.add('tm-src', this.#sources.buffer, 0, this.#sources.length);
    this.#headers.add('tm-gen', this.#generation);
  }

  /** An entry that begins with `@` repeats the topic and partition before it. */
  #writeSource(provenance: Span, before: Span | undefined): void {
    const { bytes, start } = provenance;
    const isSamePartition =
      before !== undefined &&
      bytes.compare(before.bytes, before.start, before.start + 20, start, start + 20) === 0;
    if (isSamePartition) this.#sourceText.position(this.#sources, bytes, start);
    else this.#sourceText.whole(this.#sources, bytes, start);
  }

  #send(
    sink: RecordSink,
    key: Buffer,
    keyLength: number,
    valueLength: number,
    nowMs: number,
    topic: string = this.#target.topic,
  ): void {
    const { table, partition, recordBytesMax } = this.#target;
    const headers = this.#headers.writer;
    const size = keyLength + Math.max(valueLength, 0) + headers.length + recordOverheadBytes;
    if (size > recordBytesMax) {
      throw recordTooLarge(
        { table, topic, size, bytesMax: recordBytesMax },
        key.subarray(0, keyLength),
        "Set output = 'rows' on the table, so that each row is a record of its own, or raise max.message.bytes of the topic.",
      );
    }
    const record = this.#record;
    record.key = key;
    record.keyEnd = keyLength;
    record.value = this.#value.buffer;
    record.valueEnd = valueLength;
    record.headers = headers.buffer;
    record.headersEnd = headers.length;
    // The time of writing, never the source's: an old timestamp would expose the row to retention.
    record.timestampMs = nowMs;
    sink.append(topic, partition, record);
  }
}

type SizedRecord = {
  readonly table: string;
  readonly topic: string;
  readonly size: number;
  readonly bytesMax: number;
};

/** The broker refuses what is larger, and with it the whole transaction. */
export function recordTooLarge(
  { table, topic, size, bytesMax }: SizedRecord,
  key: Buffer,
  hint: string,
): FlowError {
  return new FlowError(
    'RECORD_TOO_LARGE',
    `the row-set of one key in table "${table}" is too large for one record`,
    {
      detail: `Key ${key.toString('utf8', 0, Math.min(key.length, 200))} needs ${size} bytes, and topic "${topic}" takes ${bytesMax} bytes a record.`,
      logDetail: `A key needs ${size} bytes, and topic "${topic}" takes ${bytesMax} bytes a record.`,
      hint,
    },
  );
}

/**
 * Reads header `tm-src`: the provenance (36 bytes) of each row, in the order of the value's rows; several for
 * a row that stands for equal ones. Undefined when the text is not such a header.
 *
 * Form: rows joined by `,`, equal rows by `+`; each `<topic id>/<partition>@<offset>[#<branch>.<index>]`, where
 * an entry that begins with `@` repeats the topic and partition before it.
 */
export function parseSources(text: string): Buffer[][] | undefined {
  const rows: Buffer[][] = [];
  let place = '';
  for (const entries of text.split(',')) {
    const group: Buffer[] = [];
    for (const entry of entries.split('+')) {
      const match = /^([0-9a-f]{32}\/\d+)?@(\d+)(?:#(\d+)\.(\d+))?$/.exec(entry);
      if (match === null) return undefined;
      place = match[1] ?? place;
      if (place === '') return undefined;
      group.push(
        sourceBytes(place, Number(match[2]), Number(match[3] ?? 0), Number(match[4] ?? 0)),
      );
    }
    rows.push(group);
  }
  return rows;
}

function sourceBytes(place: string, offset: number, branch: number, index: number): Buffer {
  const bytes = Buffer.alloc(provenanceSize);
  bytes.write(place.slice(0, 32), 0, 'hex');
  bytes.writeUInt32BE(Number(place.slice(33)), 16);
  bytes.writeUInt32BE(Math.floor(offset / 0x1_0000_0000), 20);
  bytes.writeUInt32BE(offset >>> 0, 24);
  bytes[28] = branch;
  bytes.writeUIntBE(Math.floor(index / 0x1_0000_0000), 29, 3);
  bytes.writeUInt32BE(index >>> 0, 32);
  return bytes;
}

import { assert } from '../../base/assert.ts';
import { FlowError } from '../../base/errors.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import type { Span } from '../../data/bytes.ts';
import { writeWhole } from '../../data/number-bytes.ts';
import { provenanceSize } from '../../data/provenance.ts';
import { HeaderWriter, headerName, wholeHeader } from '../../data/record-headers.ts';
import { equalRows, type RowSet, type SetRow } from '../../data/row-set.ts';
import type { SequenceCodec } from '../../data/sequence.ts';
import type { OutgoingRecord, RecordSink } from '../../ports/log.ts';
import { SourceTextWriter } from '../row/source-text.ts';

const nothing = Buffer.alloc(0);

export type OutputTarget = {
  readonly table: string;
  readonly topic: string;
  readonly partition: number;
  readonly generation: number;
  /** Writes the canonical text of an encoded sequence. */
  readonly writeSequence: SequenceCodec['writeText'];
  /** SELECT DISTINCT: equal rows are written once, with the provenance of each. */
  readonly distinct: boolean;
  /** The broker's limit on one record, in bytes. */
  readonly recordBytesMax: number;
  /** Changelog of the levels that outlive their rows; needed only where markers may come. */
  readonly levelsTopic?: string | undefined;
  /** Records of a key that had none say so. */
  readonly marksFirst?: boolean;
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

const sequenceHeader = headerName('tm-seq');
const sourceHeader = headerName('tm-src');
/** Of the first version of a key. */
export const firstHeader = wholeHeader('tm-first', Buffer.alloc(0));

const rowMember = Buffer.from(',"_row":', 'latin1');
const closeBrace = 0x7d;
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
  /** Each row is a record of its own. */
  #isNumbered = false;
  /** What is written from here on is the first version of its key, and says so. */
  isFirst = false;
  readonly #value = new ByteWriter(4 * 1024);
  readonly #key = new ByteWriter(256);
  readonly #numberedSpan: { bytes: Buffer; start: number; end: number } = {
    bytes: nothing,
    start: 0,
    end: 0,
  };
  readonly #headers = new HeaderWriter();
  readonly #generation: Buffer;
  readonly #sourceText = new SourceTextWriter();
  readonly #record: OutgoingRecord = {
    key: nothing,
    keyStart: 0,
    keyEnd: 0,
    value: nothing,
    valueStart: 0,
    valueEnd: 0,
    headers: nothing,
    headersStart: 0,
    headersEnd: 0,
    timestampMs: 0,
  };

  constructor(target: OutputTarget) {
    this.#target = target;
    this.#generation = wholeHeader('tm-gen', Buffer.from(String(target.generation), 'latin1'));
  }

  /** One record: the whole row-set as a JSON array. */
  rowSet(sink: RecordSink, key: Span, rowSet: RowSet, nowMs: number): void {
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
    this.#send(sink, key, value.length, nowMs);
  }

  /** The record of a key that has one row, straight from its envelope. */
  single(
    sink: RecordSink,
    key: Span,
    row: SingleRow,
    { isNumbered, nowMs }: { readonly isNumbered: boolean; readonly nowMs: number },
  ): void {
    this.#writeSingleHeaders(row);
    this.#isNumbered = isNumbered;
    if (isNumbered) {
      // The row is the value as it lies.
      this.#record.value = row.bytes;
      this.#record.valueStart = row.rowStart;
      this.#record.valueEnd = row.rowEnd;
      this.#append(sink, this.#numbered(key, 0), nowMs);
      return;
    }
    const value = this.#value;
    value.reset();
    value.byte(openBracket);
    value.bytes(row.bytes, row.rowStart, row.rowEnd);
    value.byte(closeBracket);
    this.#send(sink, key, value.length, nowMs);
  }

  /** One numbered record of output mode `rows`; of equal rows, with DISTINCT, the one that stands for all. */
  row(sink: RecordSink, key: Span, { sequence, rows, position }: NumberedRow, nowMs: number): void {
    const { row } = rows[0] as SetRow;
    this.#value.reset();
    this.#value.bytes(row.bytes, row.start, row.end);
    this.#writeHeaders(sequence, [rows]);
    this.#send(sink, this.#numbered(key, position), this.#value.length, nowMs);
  }

  tombstone(sink: RecordSink, key: Span, position: number | undefined, nowMs: number): void {
    this.#headers.begin(1);
    this.#headers.addWhole(this.#generation);
    if (position === undefined) {
      this.#send(sink, key, -1, nowMs);
    } else {
      this.#send(sink, this.#numbered(key, position), -1, nowMs);
    }
  }

  /** The tombstone of a key that a marker emptied: it tells the marker's sequence and provenance. */
  emptied(
    sink: RecordSink,
    key: Span,
    marker: SingleRow,
    { isNumbered, nowMs }: { readonly isNumbered: boolean; readonly nowMs: number },
  ): void {
    this.#writeSingleHeaders(marker);
    this.#isNumbered = isNumbered;
    if (isNumbered) {
      this.#send(sink, this.#numbered(key, 0), -1, nowMs);
    } else {
      this.#send(sink, key, -1, nowMs);
    }
  }

  /**
   * A record of the levels topic: the key has no rows at the marker's sequence. Without marker a tombstone, since
   * rows have brought the sequence back into the output topic.
   */
  level(sink: RecordSink, key: Span, marker: SingleRow | undefined, nowMs: number): void {
    const { levelsTopic } = this.#target;
    assert(levelsTopic !== undefined, 'a flow whose keys can be emptied has a levels topic');
    this.#value.reset();
    if (marker === undefined) {
      this.#headers.begin(1);
      this.#headers.addWhole(this.#generation);
      this.#send(sink, key, -1, nowMs, levelsTopic);
    } else {
      this.#value.byte(openBracket);
      this.#value.byte(closeBracket);
      this.#writeSingleHeaders(marker);
      this.#send(sink, key, this.#value.length, nowMs, levelsTopic);
    }
  }

  #writeSingleHeaders(row: SingleRow): void {
    this.#headers.begin(this.isFirst ? 4 : 3);
    this.#writeSequence(row.bytes, row.sequenceStart, row.sequenceEnd);
    this.#headers.open(sourceHeader);
    this.#sourceText.whole(this.#headers.writer, row.bytes, row.envelopeStart + 2);
    this.#headers.close();
    this.#headers.addWhole(this.#generation);
    if (this.isFirst) this.#headers.addWhole(firstHeader);
  }

  /** `{"k":1}` becomes `{"k":1,"_row":0}`. */
  #numbered({ bytes, start, end }: Span, position: number): Span {
    const key = this.#key;
    key.reset();
    key.bytes(bytes, start, end - 1);
    key.bytes(rowMember);
    writeWhole(key, position);
    key.byte(closeBrace);
    const span = this.#numberedSpan;
    span.bytes = key.buffer;
    span.end = key.length;
    return span;
  }

  #writeHeaders(sequence: Span, groups: readonly (readonly SetRow[])[]): void {
    this.#headers.begin(this.isFirst ? 4 : 3);
    this.#writeSequence(sequence.bytes, sequence.start, sequence.end);
    this.#headers.open(sourceHeader);
    let before: SetRow | undefined;
    for (const group of groups) {
      for (const [position, row] of group.entries()) {
        if (before !== undefined) this.#headers.writer.byte(position === 0 ? comma : plus);
        this.#writeSource(row.provenance, before?.provenance);
        before = row;
      }
    }
    this.#headers.close();
    this.#headers.addWhole(this.#generation);
    if (this.isFirst) this.#headers.addWhole(firstHeader);
  }

  #writeSequence(bytes: Buffer, start: number, end: number): void {
    this.#headers.open(sequenceHeader);
    this.#target.writeSequence(this.#headers.writer, bytes, start, end);
    this.#headers.close();
  }

  /** An entry that begins with `@` repeats the topic and partition before it. */
  #writeSource(provenance: Span, before: Span | undefined): void {
    const { bytes, start } = provenance;
    const isSamePartition =
      before !== undefined &&
      bytes.compare(before.bytes, before.start, before.start + 20, start, start + 20) === 0;
    if (isSamePartition) this.#sourceText.position(this.#headers.writer, bytes, start);
    else this.#sourceText.whole(this.#headers.writer, bytes, start);
  }

  #send(
    sink: RecordSink,
    key: Span,
    valueLength: number,
    nowMs: number,
    topic: string = this.#target.topic,
  ): void {
    this.#record.value = this.#value.buffer;
    this.#record.valueStart = 0;
    this.#record.valueEnd = valueLength;
    this.#append(sink, key, nowMs, topic);
  }

  #append(sink: RecordSink, key: Span, nowMs: number, topic: string = this.#target.topic): void {
    const { table, partition, recordBytesMax } = this.#target;
    const record = this.#record;
    const headers = this.#headers.writer;
    const valueLength = record.valueEnd < 0 ? 0 : record.valueEnd - record.valueStart;
    const size = key.end - key.start + valueLength + headers.length + recordOverheadBytes;
    if (size > recordBytesMax) {
      throw recordTooLarge(
        { table, topic, size, bytesMax: recordBytesMax },
        key.bytes.subarray(key.start, key.end),
        this.#isNumbered ? ofRow : ofSet,
      );
    }
    record.key = key.bytes;
    record.keyStart = key.start;
    record.keyEnd = key.end;
    record.headers = headers.buffer;
    record.headersEnd = headers.length;
    // The time of writing, never the source's: an old timestamp would expose the row to retention.
    record.timestampMs = nowMs;
    sink.append(topic, partition, record);
  }
}

const ofSet =
  "Set output = 'rows' on the table, so that each row is a record of its own, or raise max.message.bytes of the topic.";
const ofRow = 'Raise max.message.bytes of the topic, or select less into a row.';

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
      const [, , offset, branch = 0, index = 0] = match;
      const source = sourceBytes(place, Number(offset), Number(branch), Number(index));
      if (source === undefined) return undefined;
      group.push(source);
    }
    rows.push(group);
  }
  return rows;
}

/** undefined: a number is larger than any of ours. */
function sourceBytes(
  place: string,
  offset: number,
  branch: number,
  index: number,
): Buffer | undefined {
  const partition = Number(place.slice(33));
  if (partition > 0xffff_ffff || branch > 0xff) return undefined;
  if (offset > Number.MAX_SAFE_INTEGER || index > Number.MAX_SAFE_INTEGER) return undefined;
  const bytes = Buffer.alloc(provenanceSize);
  bytes.write(place.slice(0, 32), 0, 'hex');
  bytes.writeUInt32BE(partition, 16);
  bytes.writeUInt32BE(Math.floor(offset / 0x1_0000_0000), 20);
  bytes.writeUInt32BE(offset >>> 0, 24);
  bytes[28] = branch;
  bytes.writeUIntBE(Math.floor(index / 0x1_0000_0000), 29, 3);
  bytes.writeUInt32BE(index >>> 0, 32);
  return bytes;
}

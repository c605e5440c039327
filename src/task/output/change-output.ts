import { assert } from '../../base/assert.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import type { Span } from '../../data/bytes.ts';
import { type Change, encodeChanges } from '../../data/change.ts';
import { type JsonEncoder, jsonEncoder } from '../../data/json-encode.ts';
import { HeaderWriter } from '../../data/record-headers.ts';
import { truncateKey } from '../../data/row-envelope.ts';
import { type SequenceCodec, sequenceCodec } from '../../data/sequence.ts';
import type { DataType } from '../../data/types.ts';
import type { RecordSink } from '../../ports/log.ts';
import type { ChangeMerge, MergedRow } from '../change-merge.ts';
import { SourceTextWriter } from '../row/source-text.ts';
import { emptyOutgoingRecord } from './outgoing-record.ts';
import { firstHeader, recordOverheadBytes, recordTooLarge } from './output-record.ts';

export type ChangeTarget = {
  readonly table: string;
  readonly topic: string;
  readonly levelsTopic: string;
  readonly partition: number;
  readonly generation: number;
  readonly sequenceType: DataType;
  /** The names of the history's columns, which stand behind all others. */
  readonly historyNames: readonly string[];
  /** The broker's limit on one record, in bytes. */
  readonly recordBytesMax: number;
  /** Records of a key that had none say so. */
  readonly marksFirst?: boolean;
};

/** Header with the changes that count, where a record does not tell them itself. */
export const stateHeader = 'tm-state';

const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const comma = 0x2c;
const plus = 0x2b;
const nullBytes = Buffer.from('null', 'latin1');

/**
 * Composes the records of an AUTO CDC table: for each key the array of its rows, or a tombstone. Invariant: a record
 * tells all changes that count for its key, in `tm-seq`, `tm-src` and its row where there is one that gives every
 * column, else in header `tm-state`; so the state can be rebuilt from output and levels topic alone.
 */
export class ChangeOutput {
  readonly #target: ChangeTarget;
  readonly #merge: ChangeMerge;
  readonly #codec: SequenceCodec;
  readonly #sequenceJson: JsonEncoder;
  readonly #value = new ByteWriter(4 * 1024);
  readonly #headers = new HeaderWriter();
  readonly #sources = new ByteWriter(256);
  readonly #sourceText = new SourceTextWriter();
  readonly #generation: Buffer;
  readonly #record = emptyOutgoingRecord();
  /** `{"a":`, `,"b":` … of every column. */
  readonly #prefixes: readonly Buffer[];

  constructor(target: ChangeTarget, merge: ChangeMerge) {
    this.#target = target;
    this.#merge = merge;
    this.#codec = sequenceCodec(target.sequenceType);
    this.#sequenceJson = jsonEncoder(target.sequenceType);
    this.#generation = Buffer.from(String(target.generation), 'latin1');
    this.#prefixes = [...merge.names, ...target.historyNames].map((name, position) =>
      Buffer.from(`${position === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    );
  }

  /** The record of a key as it stands now. */
  rows(sink: RecordSink, key: Buffer, { rows, changes, isFirst, nowMs }: KeyNow): void {
    const value = this.#value;
    value.reset();
    value.byte(openBracket);
    for (const [position, row] of rows.entries()) {
      if (position > 0) value.byte(comma);
      this.#writeRow(row);
    }
    value.byte(closeBracket);
    const groups = rows.length === 0 ? [changes] : rows.map((row) => row.changes);
    this.#writeHeaders(changes, groups, {
      hasState: !this.#isPlain(changes),
      isFirst: isFirst && this.#target.marksFirst === true,
    });
    const length = rows.length === 0 ? -1 : value.length;
    this.#send(sink, this.#target.topic, key, length, nowMs);
  }

  /** A record of the levels topic: the key has no rows, and what it has heard of still counts. */
  level(
    sink: RecordSink,
    key: Buffer,
    changes: readonly Change[] | undefined,
    nowMs: number,
  ): void {
    this.#value.reset();
    this.#value.byte(openBracket);
    this.#value.byte(closeBracket);
    this.#writeHeaders(changes ?? [], changes === undefined ? [] : [changes], {
      hasState: true,
      isFirst: false,
    });
    const length = changes === undefined ? -1 : this.#value.length;
    this.#send(sink, this.#target.levelsTopic, key, length, nowMs);
  }

  /** The last truncate, as a level of the whole partition. */
  floor(sink: RecordSink, changes: readonly Change[], nowMs: number): void {
    this.level(sink, Buffer.from(truncateKey, 'latin1'), changes, nowMs);
  }

  /** One upsert that gives every column is told by the row itself. */
  #isPlain(changes: readonly Change[]): boolean {
    const [only] = changes;
    return (
      !this.#merge.keepsHistory &&
      only !== undefined &&
      changes.length === 1 &&
      !only.isDelete &&
      only.members.size === this.#merge.names.length
    );
  }

  #writeRow({ values, history }: MergedRow): void {
    const value = this.#value;
    for (const [position, span] of values.entries()) {
      value.bytes(this.#prefixes[position] as Buffer);
      if (span === undefined) value.bytes(nullBytes);
      else value.bytes(span.bytes, span.start, span.end);
    }
    if (history !== undefined) {
      for (const [position, sequence] of [history.start, history.end].entries()) {
        value.bytes(this.#prefixes[values.length + position] as Buffer);
        this.#writeSequence(sequence);
      }
    }
    if (this.#prefixes.length === 0) value.byte(openBrace);
    value.byte(closeBrace);
  }

  #writeSequence(sequence: Span | undefined): void {
    const decodedSequence =
      sequence === undefined
        ? null
        : this.#codec.decode(sequence.bytes, sequence.start, sequence.end);
    this.#sequenceJson(decodedSequence, this.#value);
  }

  #writeHeaders(
    changes: readonly Change[],
    groups: readonly (readonly Change[])[],
    { hasState, isFirst }: { readonly hasState: boolean; readonly isFirst: boolean },
  ): void {
    const headers = this.#headers;
    const highest = changes.at(-1)?.sequence;
    if (highest === undefined) {
      headers.begin(1);
      headers.add('tm-gen', this.#generation);
      return;
    }
    headers.begin(3 + (hasState ? 1 : 0) + (isFirst ? 1 : 0));
    headers.addText('tm-seq', this.#codec.text(highest.bytes, highest.start, highest.end));
    this.#sources.reset();
    for (const [position, group] of groups.entries()) {
      if (position > 0) this.#sources.byte(comma);
      for (const [index, { provenance }] of group.entries()) {
        if (index > 0) this.#sources.byte(plus);
        this.#sourceText.whole(this.#sources, provenance.bytes, provenance.start);
      }
    }
    headers.add('tm-src', this.#sources.buffer, 0, this.#sources.length);
    headers.add('tm-gen', this.#generation);
    if (hasState) headers.add(stateHeader, encodeChanges(changes));
    if (isFirst) headers.addWhole(firstHeader);
  }

  #send(sink: RecordSink, topic: string, key: Buffer, valueLength: number, nowMs: number): void {
    const headers = this.#headers.writer;
    const { table, partition, recordBytesMax } = this.#target;
    const size = key.length + Math.max(valueLength, 0) + headers.length + recordOverheadBytes;
    if (size > recordBytesMax) {
      throw recordTooLarge(
        { table, topic, size, bytesMax: recordBytesMax },
        key,
        'Track fewer columns with TRACK HISTORY ON, or raise max.message.bytes of the topic.',
      );
    }
    assert(key.length > 0, 'a record of a table has a key');
    const record = this.#record;
    record.key = key;
    record.keyEnd = key.length;
    record.value = this.#value.buffer;
    record.valueEnd = valueLength;
    record.headers = headers.buffer;
    record.headersEnd = headers.length;
    // The time of writing, never the source's: an old timestamp would expose the row to retention.
    record.timestampMs = nowMs;
    sink.append(topic, partition, record);
  }
}

type KeyNow = {
  readonly rows: readonly MergedRow[];
  readonly changes: readonly Change[];
  /** Nothing was known of the key before. */
  readonly isFirst: boolean;
  readonly nowMs: number;
};

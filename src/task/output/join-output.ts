import { FlowError } from '../../base/errors.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import { rowEncoder } from '../../data/json-encode.ts';
import { HeaderWriter } from '../../data/record-headers.ts';
import type { Column } from '../../data/types.ts';
import type { Row } from '../../data/value.ts';
import type { RecordSink } from '../../ports/log.ts';
import type { StateKey } from '../../ports/state-store.ts';
import { SourceTextWriter } from '../row/source-text.ts';
import { emptyOutgoingRecord } from './outgoing-record.ts';

export type JoinTarget = {
  readonly table: string;
  /** Of the joined rows. */
  readonly topic: string;
  readonly changelog: string;
  readonly partition: number;
  readonly generation: number;
  /** The broker's limit on one record, in bytes. */
  readonly recordBytesMax: number;
};

/** Room for what the log adds to a record: lengths, batch header. */
const recordOverheadBytes = 256;

/**
 * Writes what a join gives: a record for each joined row, with the values that were compared as its key, and one for
 * each key of which other rows are kept.
 */
export class JoinOutput {
  readonly #target: JoinTarget;
  readonly #encode: ReturnType<typeof rowEncoder>;
  readonly #row = new ByteWriter(1024);
  readonly #source = new ByteWriter(128);
  readonly #sourceText = new SourceTextWriter();
  readonly #headers = new HeaderWriter();
  readonly #generation: Buffer;
  readonly #record = emptyOutgoingRecord();

  constructor(target: JoinTarget, columns: readonly Column[]) {
    this.#target = target;
    this.#encode = rowEncoder(columns);
    this.#generation = Buffer.from(String(target.generation), 'latin1');
  }

  joined(sink: RecordSink, key: Buffer, row: Row, provenance: Buffer, nowMs: number): void {
    this.#row.reset();
    this.#encode(row, this.#row);
    this.#source.reset();
    this.#sourceText.whole(this.#source, provenance, 0);
    this.#headers.begin(2);
    this.#headers.add('tm-src', this.#source.buffer, 0, this.#source.length);
    this.#headers.add('tm-gen', this.#generation);
    const record = this.#record;
    record.key = key;
    record.keyEnd = key.length;
    record.value = this.#row.buffer;
    record.valueEnd = this.#row.length;
    record.headers = this.#headers.writer.buffer;
    record.headersEnd = this.#headers.writer.length;
    record.timestampMs = nowMs;
    this.#checkSize('a row of the join', key.length + this.#row.length + record.headersEnd);
    sink.append(this.#target.topic, this.#target.partition, record);
  }

  /** What is kept of a key; undefined: nothing. */
  kept(sink: RecordSink, stateKey: StateKey, entry: Buffer | undefined, nowMs: number): void {
    const key = Buffer.from(stateKey, 'latin1');
    const record = this.#record;
    record.key = key;
    record.keyEnd = key.length;
    record.value = entry ?? key;
    record.valueEnd = entry === undefined ? -1 : entry.length;
    this.#headers.begin(1);
    this.#headers.add('tm-gen', this.#generation);
    record.headers = this.#headers.writer.buffer;
    record.headersEnd = this.#headers.writer.length;
    record.timestampMs = nowMs;
    const what = `what the join keeps of key ${key.toString('utf8')}`;
    this.#checkSize(what, key.length + (entry?.length ?? 0));
    sink.append(this.#target.changelog, this.#target.partition, record);
  }

  #checkSize(what: string, bytes: number): void {
    const { table, recordBytesMax } = this.#target;
    const size = bytes + recordOverheadBytes;
    if (size <= recordBytesMax) return;
    throw new FlowError('RECORD_TOO_LARGE', `${what} is too large for one record`, {
      detail: `Flow "${table}" needs ${size} bytes for it, and its topics take ${recordBytesMax} bytes a record.`,
      hint: 'Raise max.message.bytes of the topics of the join, select less of each side, or compare more values by =, so that fewer rows share a key.',
    });
  }
}

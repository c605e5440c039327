import { FlowError } from '../../base/errors.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import { HeaderWriter } from '../../data/record-headers.ts';
import type { RecordSink } from '../../ports/log.ts';
import type { StateKey } from '../../ports/state-store.ts';
import type { LoadedRow } from '../row/row-batch.ts';
import { SourceTextWriter } from '../row/source-text.ts';
import { emptyOutgoingRecord } from './outgoing-record.ts';

export type SiftTarget = {
  readonly table: string;
  readonly topic: string;
  readonly partition: number;
  readonly generation: number;
  /** The broker's limit on one record, in bytes. */
  readonly recordBytesMax: number;
};

/** Room for what the log adds to a record: lengths, batch header. */
const recordOverheadBytes = 256;

/** Writes the rows that DISTINCT and LIMIT let through, each as it came: with the digest of the row as its key, or without one. */
export class SiftOutput {
  readonly #target: SiftTarget;
  readonly #source = new ByteWriter(128);
  readonly #sourceText = new SourceTextWriter();
  readonly #headers = new HeaderWriter();
  readonly #generation: Buffer;
  readonly #record = emptyOutgoingRecord();

  constructor(target: SiftTarget) {
    this.#target = target;
    this.#generation = Buffer.from(String(target.generation), 'latin1');
  }

  row(sink: RecordSink, row: LoadedRow, key: StateKey | undefined, nowMs: number): void {
    this.#source.reset();
    this.#sourceText.whole(this.#source, row.bytes, row.provenanceStart);
    this.#headers.begin(2);
    this.#headers.add('tm-src', this.#source.buffer, 0, this.#source.length);
    this.#headers.add('tm-gen', this.#generation);
    const record = this.#record;
    record.key = key === undefined ? row.bytes : Buffer.from(key, 'latin1');
    record.keyStart = 0;
    record.keyEnd = key === undefined ? -1 : key.length;
    record.value = row.bytes;
    record.valueStart = row.rowStart;
    record.valueEnd = row.valueEnd;
    record.headers = this.#headers.writer.buffer;
    record.headersEnd = this.#headers.writer.length;
    record.timestampMs = nowMs;
    this.#checkSize((key?.length ?? 0) + row.valueEnd - row.rowStart + record.headersEnd);
    sink.append(this.#target.topic, this.#target.partition, record);
  }

  #checkSize(bytes: number): void {
    const { table, topic, recordBytesMax } = this.#target;
    const size = bytes + recordOverheadBytes;
    if (size <= recordBytesMax) return;
    throw new FlowError(
      'RECORD_TOO_LARGE',
      `a row of flow "${table}" is too large for one record`,
      {
        detail: `It needs ${size} bytes, and topic "${topic}" takes ${recordBytesMax} bytes a record.`,
        hint: 'Raise max.message.bytes of the topic, or select less into a row.',
      },
    );
  }
}

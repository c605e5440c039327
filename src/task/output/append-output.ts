import { FlowError } from '../../base/errors.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import { partitionOf } from '../../data/murmur2.ts';
import { provenanceSize } from '../../data/provenance.ts';
import { HeaderWriter } from '../../data/record-headers.ts';
import type { Row } from '../../data/value.ts';
import type { RecordCursor, RecordSink } from '../../ports/log.ts';
import type { RowProgram } from '../row/row-program.ts';
import { SourceTextWriter } from '../row/source-text.ts';
import { emptyOutgoingRecord } from './outgoing-record.ts';
import type { RowOutput } from './row-output.ts';

export type AppendTarget = {
  readonly table: string;
  readonly topic: string;
  readonly partitions: number;
  /** The broker's limit on one record, in bytes. */
  readonly recordBytesMax: number;
  /** The source partition that the rows come from. */
  readonly sourcePartition: number;
  readonly generation: number;
};

/** Room for what the log adds to a record: lengths, batch header. */
const recordOverheadBytes = 256;

/**
 * Appends rows to the output topic: a record is one row with the key of its source's record, in the partition of that
 * key, else in the one that the source partition falls on. Invariant: rows of one source partition and key keep
 * their order.
 */
export class AppendOutput implements RowOutput {
  readonly #target: AppendTarget;
  readonly #rows = new ByteWriter(4 * 1024);
  readonly #sources = new ByteWriter(256);
  readonly #sourceText = new SourceTextWriter();
  readonly #headers = new HeaderWriter();
  readonly #generation: Buffer;
  /** The rows of the current record: start and end of the row, end of its source. */
  readonly #spans: number[] = [];
  readonly #record = emptyOutgoingRecord();

  constructor(target: AppendTarget) {
    this.#target = target;
    this.#generation = Buffer.from(String(target.generation), 'latin1');
  }

  begin(): void {
    this.#rows.reset();
    this.#sources.reset();
    this.#spans.length = 0;
  }

  add(program: RowProgram, row: Row, provenance: Buffer): void {
    const start = this.#rows.length;
    program.encodeRow(row, this.#rows);
    this.#sources.bytes(provenance, 0, provenanceSize);
    this.#spans.push(start, this.#rows.length);
  }

  send(records: RecordCursor, sink: RecordSink, nowMs: number): number {
    const { topic } = this.#target;
    const spans = this.#spans;
    const partition = this.#partitionOf(records);
    const record = this.#record;
    const text = this.#text;
    record.key = records.bytes;
    record.keyStart = records.keyStart;
    record.keyEnd = records.keyEnd;
    record.value = this.#rows.buffer;
    // The time of writing, as in every output: an old timestamp would expose the row to retention.
    record.timestampMs = nowMs;
    for (let at = 0; at < spans.length; at += 2) {
      text.reset();
      this.#sourceText.whole(text, this.#sources.buffer, (at / 2) * provenanceSize);
      this.#headers.begin(2);
      this.#headers.add('tm-src', text.buffer, 0, text.length);
      this.#headers.add('tm-gen', this.#generation);
      record.valueStart = spans[at] as number;
      record.valueEnd = spans[at + 1] as number;
      record.headers = this.#headers.writer.buffer;
      record.headersEnd = this.#headers.writer.length;
      this.#checkSize(records);
      sink.append(topic, partition, record);
    }
    return spans.length / 2;
  }

  readonly #text = new ByteWriter(128);

  #partitionOf({ bytes, keyStart, keyEnd }: RecordCursor): number {
    const { partitions, sourcePartition } = this.#target;
    if (keyEnd < 0) return sourcePartition % partitions;
    return partitionOf(bytes, keyStart, keyEnd, partitions);
  }

  #checkSize({ offset }: RecordCursor): void {
    const { table, topic, recordBytesMax, sourcePartition } = this.#target;
    const { keyStart, keyEnd, valueStart, valueEnd, headersEnd } = this.#record;
    const keySize = keyEnd < 0 ? 0 : keyEnd - keyStart;
    const size = keySize + valueEnd - valueStart + headersEnd + recordOverheadBytes;
    if (size <= recordBytesMax) return;
    throw new FlowError(
      'RECORD_TOO_LARGE',
      `a row of table "${table}" is too large for one record`,
      {
        detail: `The row of source partition ${sourcePartition}, offset ${offset} needs ${size} bytes, and topic "${topic}" takes ${recordBytesMax} bytes a record.`,
        hint: 'Raise max.message.bytes of the topic, or select less into a row.',
      },
    );
  }
}

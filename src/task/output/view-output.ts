import { FlowError } from '../../base/errors.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import { provenanceTemplate, writeProvenance } from '../../data/provenance.ts';
import { HeaderWriter } from '../../data/record-headers.ts';
import type { RecordSink } from '../../ports/log.ts';
import { SourceTextWriter } from '../row/source-text.ts';
import type { ViewRecord } from '../view-records.ts';
import { emptyOutgoingRecord } from './outgoing-record.ts';

export type ViewTarget = {
  readonly table: string;
  readonly topic: string;
  readonly topicId: string;
  readonly recordBytesMax: number;
  /** Of the computation whose rows are written: their sequence. */
  readonly run: number;
  /** How often the table was refreshed fully. */
  readonly generation: number;
};

export type ViewChange = {
  readonly partition: number;
  readonly key: Buffer;
  /** undefined: the key is gone. */
  readonly record: ViewRecord | undefined;
};

/** Room for what the log adds to a record: lengths, batch header. */
const recordOverheadBytes = 256;

/**
 * Writes records of a materialized view. Invariant: they are read as those of any table: `tm-seq` is the run that
 * computed the rows, and `tm-src` names the view itself, since a group has no single place that it comes from.
 */
export class ViewOutput {
  readonly #target: ViewTarget;
  readonly #headers = new HeaderWriter();
  readonly #sources = new ByteWriter(256);
  readonly #provenance = new ByteWriter(64);
  readonly #sourceText = new SourceTextWriter();
  readonly #record = emptyOutgoingRecord();

  constructor(target: ViewTarget) {
    this.#target = target;
  }

  write(sink: RecordSink, { partition, key, record: rows }: ViewChange, nowMs: number): void {
    const record = this.#record;
    const value = Buffer.from(rows?.value ?? '', 'latin1');
    this.#writeHeaders(partition, rows?.rows ?? 0);
    record.key = key;
    record.keyEnd = key.length;
    record.value = value;
    record.valueEnd = rows === undefined ? -1 : value.length;
    record.headers = this.#headers.writer.buffer;
    record.headersEnd = this.#headers.writer.length;
    record.timestampMs = nowMs;
    this.#checkSize(key, value);
    sink.append(this.#target.topic, partition, record);
  }

  #writeHeaders(partition: number, rows: number): void {
    const { topicId, run } = this.#target;
    const headers = this.#headers;
    headers.begin(rows === 0 ? 1 : 3);
    if (rows > 0) {
      const template = provenanceTemplate(topicId, partition, 0);
      this.#sources.reset();
      for (let index = 0; index < rows; index += 1) {
        this.#provenance.reset();
        writeProvenance(this.#provenance, template, run, index);
        if (index === 0) this.#sourceText.whole(this.#sources, this.#provenance.buffer, 0);
        else {
          this.#sources.ascii(',');
          this.#sourceText.position(this.#sources, this.#provenance.buffer, 0);
        }
      }
      headers.addText('tm-seq', String(run));
      headers.add('tm-src', this.#sources.buffer, 0, this.#sources.length);
    }
    headers.addText('tm-gen', String(this.#target.generation));
  }

  #checkSize(key: Buffer, value: Buffer): void {
    const { table, topic, recordBytesMax } = this.#target;
    const size = key.length + value.length + this.#headers.writer.length + recordOverheadBytes;
    if (size <= recordBytesMax) return;
    throw new FlowError('RECORD_TOO_LARGE', `a row of "${table}" is too large for one record`, {
      detail: `Key ${key.toString('utf8', 0, 200)} needs ${size} bytes, and topic "${topic}" takes ${recordBytesMax} bytes a record.`,
      hint: 'Raise max.message.bytes of the topic, or select less into a row.',
    });
  }
}

import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { ByteWriter } from '../data/byte-writer.ts';
import { partitionOf } from '../data/murmur2.ts';
import { provenanceTemplate, writeProvenance } from '../data/provenance.ts';
import { HeaderWriter } from '../data/record-headers.ts';
import { emptyFlag, writeEnvelopeHead } from '../data/row-envelope.ts';
import type { Row } from '../data/value.ts';
import { ExpressionError } from '../expr/expression-error.ts';
import type { OutgoingRecord, RecordCursor, RecordSink, Slice } from '../ports/log.ts';
import type { BadRow } from './bad-row.ts';
import {
  addFlowCounters,
  clearFlowCounters,
  copyFlowCounters,
  emptyFlowCounters,
  type FlowCounters,
} from './row-account.ts';
import type { RowProgram } from './row-program.ts';

export type FlowTaskOptions = {
  readonly flow: string;
  readonly programs: readonly RowProgram[];
  /** The source partition that it reads. */
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly repartitionTopic: string;
  readonly repartitionCount: number;
  readonly deadLetterTopic: string | undefined;
  readonly deadLetterPartitions: number;
};

/**
 * One source partition of one flow: a slice of records in, rows for the repartition topic out.
 * Invariant: the rows of one record go out all or none, and a record that is bad gives none; so the
 * checkpoint may stand before or after a record, never inside it.
 */
export class FlowTask {
  readonly #options: FlowTaskOptions;
  readonly #templates: readonly Buffer[];
  readonly #rows = new ByteWriter(4 * 1024);
  readonly #provenance = new ByteWriter(64);
  readonly #sequence = new ByteWriter(64);
  readonly #deadLetterHeaders = new HeaderWriter();
  /** The rows of the current record: start of key, start of value, end; partition. */
  readonly #spans: number[] = [];
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
  #counters: FlowCounters;
  /** What the current record adds to the account. */
  readonly #delta: FlowCounters;

  constructor(options: FlowTaskOptions) {
    assert(options.programs.length > 0, 'a flow task runs at least one program');
    this.#options = options;
    this.#templates = options.programs.map((program) =>
      provenanceTemplate(options.topicId, options.partition, program.branch),
    );
    const names = options.programs[0]?.expectationNames ?? [];
    this.#counters = emptyFlowCounters(names);
    this.#delta = emptyFlowCounters(names);
  }

  get counters(): FlowCounters {
    return this.#counters;
  }

  startCounters(counters: FlowCounters): void {
    this.#counters = copyFlowCounters(counters);
  }

  /** Puts the rows of a slice into the sink. Throws BAD_ROW or EXPECTATION_FAILED where the flow has to stop. */
  process(slice: Slice, sink: RecordSink, nowMs: number): void {
    const { records } = slice;
    for (const program of this.#options.programs) program.startBatch(nowMs);
    while (records.next()) {
      this.#counters.records += 1;
      const bad = this.#runRecord(records);
      if (bad === undefined) this.#send(sink, nowMs);
      else this.#reject(records, bad, sink, nowMs);
    }
  }

  #runRecord(records: RecordCursor): BadRow | undefined {
    this.#rows.reset();
    this.#spans.length = 0;
    const delta = this.#delta;
    clearFlowCounters(delta);
    for (const [position, program] of this.#options.programs.entries()) {
      const verdict = program.read(records, this.#options);
      if (verdict === 'tombstone') {
        this.#counters.tombstones += 1;
        return undefined;
      }
      if (verdict !== undefined) return verdict;
      try {
        program.run(delta, (row, index) =>
          this.#addRow(program, this.#templates[position] as Buffer, records, row, index),
        );
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw this.#place(error, records);
        return { errorClass: error.errorClass, message: error.message };
      }
    }
    // Only now: what a record changes before it turns out bad does not count.
    addFlowCounters(this.#counters, delta);
    this.#counters.decoded += 1;
    return undefined;
  }

  #place(error: unknown, records: RecordCursor): unknown {
    if (!(error instanceof FlowError) || error.code !== 'EXPECTATION_FAILED') return error;
    return new FlowError('EXPECTATION_FAILED', error.message, {
      detail: `Flow "${this.#options.flow}" stopped at ${this.#at(records)}. ${error.detail ?? ''}`,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    });
  }

  #addRow(
    program: RowProgram,
    template: Buffer,
    records: RecordCursor,
    row: Row,
    index: number,
  ): void {
    const rows = this.#rows;
    const keyStart = rows.length;
    program.encodeKey(row, rows);
    const valueStart = rows.length;
    this.#sequence.reset();
    const flags = program.encodeSequence(row, this.#sequence, records.timestampMs);
    this.#provenance.reset();
    writeProvenance(this.#provenance, template, records.offset, index);
    writeEnvelopeHead(rows, flags, this.#provenance.buffer, this.#sequence);
    const rowStart = rows.length;
    program.encodeRow(row, rows);
    // A marker has no row; it was written all the same, since a value that does not fit is bad in any row.
    if ((flags & emptyFlag) !== 0) rows.length = rowStart;
    this.#spans.push(keyStart, valueStart, rows.length);
  }

  #send(sink: RecordSink, nowMs: number): void {
    const { repartitionTopic, repartitionCount } = this.#options;
    const { buffer } = this.#rows;
    const spans = this.#spans;
    const record = this.#record;
    record.key = buffer;
    record.value = buffer;
    record.headersEnd = 0;
    record.timestampMs = nowMs;
    for (let at = 0; at < spans.length; at += 3) {
      const keyStart = spans[at] as number;
      const valueStart = spans[at + 1] as number;
      record.keyStart = keyStart;
      record.keyEnd = valueStart;
      record.valueStart = valueStart;
      record.valueEnd = spans[at + 2] as number;
      const partition = partitionOf(buffer, keyStart, valueStart, repartitionCount);
      sink.append(repartitionTopic, partition, record);
      this.#counters.handedOn += 1;
    }
  }

  #reject(records: RecordCursor, bad: BadRow, sink: RecordSink, nowMs: number): void {
    const { deadLetterTopic, deadLetterPartitions, flow, topic, partition } = this.#options;
    if (deadLetterTopic === undefined) {
      throw new FlowError('BAD_ROW', `flow "${flow}" stopped at a bad row`, {
        detail: `${bad.errorClass}: ${bad.message}. It is the record at ${this.#at(records)}; the checkpoint stays before it.`,
        hint: 'Correct the record at its producer, filter it in the query, or give the table a dead_letter_topic; then start again.',
      });
    }
    this.#counters.deadLettered += 1;
    const headers = this.#deadLetterHeaders;
    headers.begin(6);
    headers.addText('tm-source-topic', topic);
    headers.addText('tm-source-partition', String(partition));
    headers.addText('tm-source-offset', String(records.offset));
    headers.addText('tm-flow', flow);
    headers.addText('tm-error-class', bad.errorClass);
    headers.addText('tm-error-message', bad.message);
    const record = this.#record;
    record.key = records.bytes;
    record.keyStart = records.keyStart;
    record.keyEnd = records.keyEnd;
    record.value = records.bytes;
    record.valueStart = records.valueStart;
    record.valueEnd = records.valueEnd;
    record.headers = headers.writer.buffer;
    record.headersStart = 0;
    record.headersEnd = headers.writer.length;
    record.timestampMs = nowMs;
    sink.append(deadLetterTopic, partition % deadLetterPartitions, record);
  }

  #at(records: RecordCursor): string {
    const { topic, partition } = this.#options;
    return `topic "${topic}", partition ${partition}, offset ${records.offset}`;
  }
}

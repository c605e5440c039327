import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { ByteWriter } from '../data/byte-writer.ts';
import { provenanceTemplate, writeProvenance } from '../data/provenance.ts';
import { HeaderWriter } from '../data/record-headers.ts';
import type { Row } from '../data/value.ts';
import { ExpressionError } from '../expr/expression-error.ts';
import type { RecordCursor, RecordSink, Slice } from '../ports/log.ts';
import type { BadRow, PlacedBadRow } from './bad-row.ts';
import { emptyOutgoingRecord } from './outgoing-record.ts';
import {
  addFlowCounters,
  clearFlowCounters,
  copyFlowCounters,
  emptyFlowCounters,
  type FlowCounters,
} from './row-account.ts';
import type { RowOutput } from './row-output.ts';
import type { RowProgram } from './row-program.ts';

export type FlowTaskOptions = {
  readonly flow: string;
  readonly programs: readonly RowProgram[];
  /** The source partition that it reads. */
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** Where its rows go. */
  readonly output: RowOutput;
  /** Records that somebody had the flow step over; they count as dead letters. */
  readonly skipped?: ReadonlySet<number> | undefined;
  readonly deadLetterTopic: string | undefined;
  readonly deadLetterPartitions: number;
};

/**
 * One source partition of one flow: a slice of records in, rows for the next stage or the output topic out.
 * Invariant: the rows of one record go out all or none, and a record that is bad gives none; so the
 * checkpoint may stand before or after a record, never inside it.
 */
export class FlowTask {
  readonly #options: FlowTaskOptions;
  readonly #templates: readonly Buffer[];
  readonly #provenance = new ByteWriter(64);
  readonly #deadLetterHeaders = new HeaderWriter();
  readonly #record = emptyOutgoingRecord();
  #counters: FlowCounters;
  #lastBadRow: PlacedBadRow | undefined;
  /** What the current record adds to the account. */
  readonly #delta: FlowCounters;

  constructor(options: FlowTaskOptions) {
    assert(options.programs.length > 0, 'a flow task runs at least one program');
    this.#options = options;
    this.#templates = options.programs.map((program) =>
      provenanceTemplate(options.topicId, options.partition, program.provenanceBranch),
    );
    const names = options.programs[0]?.expectationNames ?? [];
    this.#counters = emptyFlowCounters(names);
    this.#delta = emptyFlowCounters(names);
  }

  get counters(): FlowCounters {
    return this.#counters;
  }

  /** The last one that went to the dead-letter topic, for people who look. */
  get lastBadRow(): PlacedBadRow | undefined {
    return this.#lastBadRow;
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
      if (this.#options.skipped?.has(records.offset) === true) {
        this.#counters.deadLettered += 1;
        continue;
      }
      const bad = this.#runRecord(records);
      if (bad === undefined) {
        this.#counters.handedOn += this.#options.output.send(records, sink, nowMs);
      } else {
        this.#reject(records, bad, sink, nowMs);
      }
    }
  }

  #runRecord(records: RecordCursor): BadRow | undefined {
    this.#options.output.begin();
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
        program.chained?.read(records, this.#options);
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
    const provenance = this.#provenance;
    const { chained } = program;
    provenance.reset();
    if (chained === undefined) {
      writeProvenance(provenance, template, records.offset, index);
    } else {
      writeProvenance(provenance, chained.template, chained.offset, chained.indexOf(index));
    }
    this.#options.output.add(program, row, provenance.buffer, records);
  }

  #reject(records: RecordCursor, bad: BadRow, sink: RecordSink, nowMs: number): void {
    const { deadLetterTopic, deadLetterPartitions, flow, topic, partition } = this.#options;
    if (deadLetterTopic === undefined) {
      throw new FlowError('BAD_ROW', `flow "${flow}" stopped at a bad row`, {
        detail: `${bad.errorClass}: ${bad.message}. It is the record at ${this.#at(records)}; the checkpoint stays before it.`,
        hint: `Correct the record at its producer, filter it in the query, or give the table a dead_letter_topic; then start again. Or step over this one record: tidemark checkpoint skip ${flow} ${topic}/${partition}@${records.offset}`,
      });
    }
    this.#counters.deadLettered += 1;
    this.#lastBadRow = { ...bad, topic, partition, offset: records.offset, atMs: nowMs };
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

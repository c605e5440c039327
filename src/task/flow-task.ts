import { assert } from '../base/assert.ts';
import { deadLetterReason } from '../base/dead-letter-reason.ts';
import { FlowError } from '../base/errors.ts';
import type { LogPlace } from '../base/log-place.ts';
import { ByteWriter } from '../data/byte-writer.ts';
import { patchOffset, provenanceTemplate, writeProvenance } from '../data/provenance.ts';
import type { Row } from '../data/value.ts';
import { ExpressionError } from '../expr/expression-error.ts';
import type { RecordCursor, RecordSink, Slice } from '../ports/log.ts';
import type { EventTimes } from './event-times.ts';
import { type KeyVersion, PartCursor, type VersionRow } from './key/key-version.ts';
import { type DeadLetterTarget, DeadLetterWriter } from './output/dead-letter.ts';
import type { RowOutput } from './output/row-output.ts';
import type { BadRow, PlacedBadRow } from './row/bad-row.ts';
import type { RowProgram } from './row/row-program.ts';
import {
  addFlowCounters,
  clearFlowCounters,
  copyFlowCounters,
  emptyFlowCounters,
  type FlowCounters,
} from './row-account.ts';
import type { SampledContexts } from './sampled-contexts.ts';
import type { TimeRuns } from './time-runs.ts';

export type FlowTaskOptions = {
  readonly flow: string;
  readonly programs: readonly RowProgram[];
  /** Records of a table that a refresh of it has left behind; they count as tombstones. */
  readonly stale?: ((offset: number) => boolean) | undefined;
  /** The source partition that it reads. */
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** Shared by the partitions of the flow that are here. */
  readonly eventTimes?: EventTimes | undefined;
  /** The first record that is not read any more; undefined: it goes on for ever. */
  readonly until?: number | undefined;
  /** Whoever reads its rows has to know how far it has come in their time. */
  readonly tellsTime?: boolean;
  /** Where its rows go. */
  readonly output: RowOutput;
  /** Records that somebody had the flow step over; they count as dead letters. */
  readonly skipped?: ReadonlySet<number> | undefined;
  readonly deadLetters: DeadLetterTarget | undefined;
  /** Takes what is bad instead: whoever only looks neither stops nor sets anything aside. */
  readonly onBad?: ((bad: BadRow, place: LogPlace) => void) | undefined;
  /** Told of each record that is set aside. */
  readonly onDeadLetter?: ((errorClass: string, place: LogPlace) => void) | undefined;
  /** The share of a thousand records that may be dead letters before the flow stops; 1: all of them. */
  readonly deadLetterShareMax: number;
  /** Where it is the last stage: told when each record was made. */
  readonly times?: TimeRuns | undefined;
  /** Shown every record, for traces; undefined: nobody traces. */
  readonly contexts?: SampledContexts | undefined;
};

/** Records of a source partition over which the share of dead letters is taken. */
const shareRecords = 1_000;

type LateBad = {
  count: number;
  readonly places: { readonly at: string; readonly message: string }[];
};

/** What an error about too many bad records tells: enough to see what they have in common. */
const lateClassesMax = 5;
const latePlacesMax = 3;
const lateCharactersMax = 200;

/**
 * One source partition of one flow: a slice of records in, rows for the next stage or the output topic out.
 * Invariant: the rows of one record go out all or none, and a record that is bad gives none; so the
 * checkpoint may stand before or after a record, never inside it.
 */
export class FlowTask {
  readonly #options: FlowTaskOptions;
  readonly #templates: readonly Buffer[];
  readonly #provenance = new ByteWriter(64);
  readonly #deadLetters = new DeadLetterWriter();
  /** What `#emit` is about. */
  #program: RowProgram;
  #template: Buffer;
  /** What `#provenance` was made of, where only the offset differs from record to record. */
  #patched: Buffer | undefined;
  #records: RecordCursor | undefined;
  #counters: FlowCounters;
  #lastBadRow: PlacedBadRow | undefined;
  /** Error class → bad records of this thousand, as far as they were read here. */
  readonly #lateBad = new Map<string, LateBad>();
  /** Its source is a table whose rows are replaced. */
  readonly #readsVersions: boolean;
  /** Of such a table, the first version of each key alone. */
  readonly #readsFirsts: boolean;
  /** Rows that were handed to the output, ever. */
  #emitted = 0;
  readonly #part = new PartCursor();
  /** How far whoever reads its rows believes it to be; undefined: it has said nothing since it is here. */
  #toldMs: number | undefined;
  /** What the current record adds to the account. */
  readonly #delta: FlowCounters;

  constructor(options: FlowTaskOptions) {
    assert(options.programs.length > 0, 'a flow task runs at least one program');
    this.#options = options;
    this.#templates = options.programs.map((program) =>
      provenanceTemplate(options.topicId, options.partition, program.provenanceBranch),
    );
    this.#program = options.programs[0] as RowProgram;
    this.#template = this.#templates[0] as Buffer;
    this.#readsVersions = this.#program.versions !== undefined;
    this.#readsFirsts = this.#program.firsts !== undefined;
    const names = this.#program.expectationNames;
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
    this.#noteTime();
  }

  get #name(): string {
    return `${this.#options.topic}/${this.#options.partition}`;
  }

  #noteTime(): void {
    const { eventTimeMs } = this.#counters;
    if (eventTimeMs > 0) this.#options.eventTimes?.set(this.#name, eventTimeMs);
  }

  /** Puts the rows of a slice into the sink. Throws BAD_ROW or EXPECTATION_FAILED where the flow has to stop. */
  process(slice: Slice, sink: RecordSink, nowMs: number): void {
    const { records } = slice;
    const { times, contexts, until = Number.POSITIVE_INFINITY } = this.#options;
    const reached = this.#options.eventTimes?.reached(this.#name);
    for (const program of this.#options.programs) program.startBatch(nowMs, reached);
    const { output, skipped, stale } = this.#options;
    const counters = this.#counters;
    this.#records = records;
    while (records.next()) {
      if (records.offset >= until) break;
      counters.records += 1;
      times?.add(records.timestampMs);
      contexts?.see(records);
      if (skipped?.has(records.offset) === true) {
        counters.deadLettered += 1;
        counters.skipped += 1;
        if (this.#readsVersions && this.#skipVersion(records)) {
          counters.handedOn += output.send(records, sink, nowMs);
        }
        continue;
      }
      if (stale?.(records.offset) === true) {
        counters.tombstones += 1;
        continue;
      }
      const bad = this.#run(records);
      if (bad !== undefined) this.#reject(records, bad, sink, nowMs);
      if (bad === undefined || this.#readsVersions) {
        counters.handedOn += output.send(records, sink, nowMs);
      }
    }
    this.#noteTime();
    if (counters.eventTimeMs > (this.#toldMs ?? 0)) this.tellTime(sink, nowMs);
  }

  /** Whether nobody knows yet how far it has come. */
  get isSilent(): boolean {
    return this.#options.tellsTime === true && this.#toldMs === undefined;
  }

  /** Behind the rows that it has sent: none that comes is older, but for those that are late. 0: it has had none. */
  tellTime(sink: RecordSink, nowMs: number): void {
    if (this.#options.tellsTime !== true) return;
    this.#toldMs = this.#counters.eventTimeMs;
    const [template] = this.#templates;
    if (template === undefined) return;
    this.#options.output.tellTime?.(template, this.#toldMs, sink, nowMs);
  }

  #runRecord(records: RecordCursor): BadRow | undefined {
    this.#options.output.begin();
    const delta = this.#delta;
    clearFlowCounters(delta);
    const { programs } = this.#options;
    for (let position = 0; position < programs.length; position += 1) {
      const program = programs[position] as RowProgram;
      program.startRecord(this.#counters.eventTimeMs);
      const verdict = program.read(records, this.#options);
      if (verdict === 'tombstone') {
        this.#counters.tombstones += 1;
        return undefined;
      }
      if (verdict !== undefined) return verdict;
      try {
        program.chained?.read(records, this.#options);
        this.#program = program;
        this.#template = this.#templates[position] as Buffer;
        program.run(delta, this.#emit);
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

  /**
   * A record of a table whose rows are replaced. Its rows are bad one by one: whether a version is there must not depend on
   * what else it holds, since an instance may have seen an earlier one with fewer rows. A version that gives no row empties
   * its key, whatever the reason.
   */
  #runVersion(records: RecordCursor): BadRow | undefined {
    const version = this.#program.versions?.read(records, this.#options);
    if (version === undefined) {
      this.#options.output.begin();
      this.#counters.tombstones += 1;
      return undefined;
    }
    const found = this.#passVersion(version, records, (program, row) => {
      return this.#runVersionRow(program, row, records);
    });
    if (found === undefined) this.#counters.decoded += 1;
    else this.#passGoodRows(version, records);
    addFlowCounters(this.#counters, this.#delta);
    return found;
  }

  #run(records: RecordCursor): BadRow | undefined {
    if (this.#readsVersions) return this.#runVersion(records);
    return this.#readsFirsts ? this.#runFirst(records) : this.#runRecord(records);
  }

  /** A record of such a table whose changes are skipped: the rows of the first version of a key, all or none. */
  #runFirst(records: RecordCursor): BadRow | undefined {
    this.#options.output.begin();
    clearFlowCounters(this.#delta);
    const rows = this.#program.firsts?.read(records, this.#options);
    if (rows === undefined) {
      this.#counters.tombstones += 1;
      return undefined;
    }
    for (const program of this.#options.programs) {
      for (const row of rows) {
        const bad = this.#runVersionRow(program, row, records);
        if (bad !== undefined) return bad;
      }
    }
    addFlowCounters(this.#counters, this.#delta);
    this.#counters.decoded += 1;
    return undefined;
  }

  /** Once more, without the rows that are bad. */
  #passGoodRows(version: KeyVersion, records: RecordCursor): void {
    const bad = new Map(this.#options.programs.map((program) => [program, new Set<VersionRow>()]));
    for (const [program, rows] of bad) {
      for (const row of version.rows) {
        this.#options.output.begin();
        if (this.#runVersionRow(program, row, records) !== undefined) rows.add(row);
      }
    }
    this.#passVersion(version, records, (program, row) => {
      if (bad.get(program)?.has(row) === true) return undefined;
      return this.#runVersionRow(program, row, records);
    });
  }

  #passVersion(
    version: KeyVersion,
    records: RecordCursor,
    run: (program: RowProgram, row: VersionRow) => BadRow | undefined,
  ): BadRow | undefined {
    this.#options.output.begin();
    clearFlowCounters(this.#delta);
    for (const program of this.#options.programs) {
      const before = this.#emitted;
      for (const row of version.rows) {
        const bad = run(program, row);
        if (bad !== undefined) return bad;
      }
      if (this.#emitted === before) this.#emptyKey(program, version, records);
    }
    return undefined;
  }

  /** Somebody had the flow step over the record: its rows are missing, and so are those that they replaced. */
  #skipVersion(records: RecordCursor): boolean {
    const version = this.#program.versions?.read(records, this.#options);
    if (version === undefined) return false;
    this.#passVersion({ ...version, rows: [] }, records, () => undefined);
    addFlowCounters(this.#counters, this.#delta);
    return true;
  }

  #runVersionRow(program: RowProgram, row: VersionRow, records: RecordCursor): BadRow | undefined {
    this.#program = program;
    const bad = program.read(this.#part.of(records, row.start, row.end), this.#options);
    if (bad !== undefined) {
      return bad === 'tombstone' ? { errorClass: 'NULL_VALUE', message: 'the row is null' } : bad;
    }
    try {
      for (const source of row.sources) {
        program.chained?.take(source);
        program.run(this.#delta, this.#emit);
      }
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw this.#place(error, records);
      return { errorClass: error.errorClass, message: error.message };
    }
    return undefined;
  }

  #emptyKey(program: RowProgram, version: KeyVersion, records: RecordCursor): void {
    this.#program = program;
    program.chained?.take(version.source);
    const row = program.empty(records, this.#options, version);
    try {
      this.#delta.rows += 1;
      this.#emit(row, 0);
    } finally {
      program.endEmpty();
    }
  }

  #place(error: unknown, records: RecordCursor): unknown {
    if (!(error instanceof FlowError) || error.code !== 'EXPECTATION_FAILED') return error;
    return new FlowError('EXPECTATION_FAILED', error.message, {
      detail: `Flow "${this.#options.flow}" stopped at ${this.#at(records)}. ${error.detail ?? ''}`,
      logDetail: `Flow "${this.#options.flow}" stopped at ${this.#at(records)}. ${error.logDetail ?? ''}`,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      place: this.#placeOf(records),
    });
  }

  /** One for all records: a closure a record would be an allocation a record. */
  readonly #emit = (row: Row, index: number): void => {
    const provenance = this.#provenance;
    const program = this.#program;
    const records = this.#records as RecordCursor;
    const { chained } = program;
    this.#emitted += 1;
    if (chained === undefined) {
      this.#writeProvenance(records.offset, index);
    } else {
      provenance.reset();
      this.#patched = undefined;
      writeProvenance(provenance, chained.template, chained.offset, chained.indexOf(index));
    }
    this.#options.output.add(program, row, provenance.buffer, records);
  };

  /** From record to record hardly more than the offset changes. */
  #writeProvenance(offset: number, index: number): void {
    const provenance = this.#provenance;
    if (index === 0 && this.#patched === this.#template) {
      patchOffset(provenance.buffer, 0, offset);
      return;
    }
    provenance.reset();
    writeProvenance(provenance, this.#template, offset, index);
    this.#patched = index === 0 ? this.#template : undefined;
  }

  #reject(records: RecordCursor, bad: BadRow, sink: RecordSink, nowMs: number): void {
    const { deadLetters: target, flow, topic, partition, onBad } = this.#options;
    if (onBad !== undefined) {
      this.#countDeadLetter(bad);
      onBad(bad, this.#placeOf(records));
      return;
    }
    if (target === undefined) {
      throw new FlowError('BAD_ROW', `flow "${flow}" stopped at a bad row`, {
        detail: `${bad.errorClass}: ${bad.message}. It is the record at ${this.#at(records)}; the checkpoint stays before it.`,
        logDetail: `${bad.errorClass}. It is the record at ${this.#at(records)}; the checkpoint stays before it.`,
        // What can't be decoded never comes to the query.
        hint: `Correct the record at its producer, ${bad.errorClass === 'MALFORMED_RECORD' ? '' : 'filter it in the query, '}or give the table a dead_letter_topic; then start again. Or step over this one record: tidemark checkpoint skip ${flow} ${topic}/${partition}@${records.offset}`,
        place: this.#placeOf(records),
      });
    }
    this.#countDeadLetter(bad);
    this.#checkShare(records, bad);
    this.#lastBadRow = { ...bad, topic, partition, offset: records.offset, atMs: nowMs };
    this.#deadLetters.write(records, bad, this.#options, { target, sink, nowMs });
    this.#options.onDeadLetter?.(bad.errorClass, this.#placeOf(records));
  }

  #countDeadLetter({ errorClass }: BadRow): void {
    this.#counters.deadLettered += 1;
    this.#counters.reasons[deadLetterReason(errorClass)] += 1;
  }

  /**
   * The breaker: a change upstream that makes most records bad must not empty a source into the dead-letter topic.
   * Counted over each thousand records of the account, so that a restart neither forgets nor repeats any.
   */
  #checkShare(records: RecordCursor, bad: BadRow): void {
    const { flow, deadLetterShareMax } = this.#options;
    const counters = this.#counters;
    const thousand = Math.floor((counters.records - 1) / shareRecords);
    if (thousand !== counters.lately.thousand) {
      counters.lately = { thousand, deadLettered: 0 };
      this.#lateBad.clear();
    }
    const { lately } = counters;
    lately.deadLettered += 1;
    this.#noteBad(records, bad);
    if (lately.deadLettered <= deadLetterShareMax * shareRecords) return;
    const read = counters.records - thousand * shareRecords;
    const facts = `Of the last ${read} records of its source ${lately.deadLettered} are bad`;
    const first = [...this.#lateBad].map(
      ([errorClass, { count, places }]) => [`${errorClass}: ${count}`, places] as const,
    );
    throw new FlowError('TOO_MANY_DEAD_LETTERS', `too many records of flow "${flow}" are bad`, {
      detail: `${facts}, and max_dead_letter_share = ${deadLetterShareMax} allows ${Math.floor(deadLetterShareMax * shareRecords)} of ${shareRecords}. The last is at ${this.#at(records)}: ${bad.errorClass}: ${bad.message}. Since the flow started here: ${first.map(([text, places]) => `${text}, the first at ${places.map(({ at, message }) => `${at} (${message})`).join(', ')}`).join('; ')}.`,
      logDetail: `${facts}. The last is at ${this.#at(records)}: ${bad.errorClass}. Since the flow started here: ${first.map(([text, places]) => `${text}, the first at ${places.map(({ at }) => at).join(', ')}`).join('; ')}.`,
      hint: `What was read since the last commit is taken back, and the checkpoint stays before it: those records are named here, and no dead letters yet; the ones before are (tidemark dlq show ${flow}). See what they have in common, correct the producer or the query, then start again; or raise max_dead_letter_share of the table, where 1 is no bound, and they become dead letters to be replayed.`,
      place: this.#placeOf(records),
    });
  }

  /** What somebody needs to see of records whose letters will be taken back with the transaction. */
  #noteBad(records: RecordCursor, { errorClass, message }: BadRow): void {
    const known = this.#lateBad.get(errorClass);
    if (known === undefined && this.#lateBad.size >= lateClassesMax) return;
    const found = known ?? { count: 0, places: [] };
    this.#lateBad.set(errorClass, found);
    found.count += 1;
    if (found.places.length >= latePlacesMax) return;
    const { topic, partition } = this.#options;
    const at = `${topic}/${partition}@${records.offset}`;
    found.places.push({ at, message: message.slice(0, lateCharactersMax) });
  }

  #placeOf({ offset }: RecordCursor): LogPlace {
    const { topic, partition } = this.#options;
    return { topic, partition, offset };
  }

  #at(records: RecordCursor): string {
    const { topic, partition } = this.#options;
    return `topic "${topic}", partition ${partition}, offset ${records.offset}`;
  }
}

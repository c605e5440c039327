import { FlowError } from '../../base/errors.ts';
import { readProvenance } from '../../data/provenance.ts';
import { readHeaders } from '../../data/record-headers.ts';
import { readEnvelope } from '../../data/row-envelope.ts';
import type { FlowPlan } from '../../plan/pipeline-plan.ts';
import { groupOf, tableOf } from '../../plan/topology.ts';
import type {
  LogProducer,
  OutgoingRecord,
  RecordCursor,
  RecordSink,
  Slice,
} from '../../ports/log.ts';
import { readDeployedFlow } from '../../refresh/deployed-flow.ts';
import { FlowTask } from '../../task/flow-task.ts';
import { AppendOutput } from '../../task/output/append-output.ts';
import { parseSources } from '../../task/output/output-record.ts';
import { RepartitionOutput } from '../../task/output/repartition-output.ts';
import type { RowOutput } from '../../task/output/row-output.ts';
import type { BadRow } from '../../task/row/bad-row.ts';
import type { RowProgram } from '../../task/row/row-program.ts';
import { eventEntry, type OutsideOptions } from '../refresh/refresh-checkpoints.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import { otherDefinition } from '../takeover/other-definition.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import { refuseLocked } from '../topics/locks.ts';
import { forgetWriter, nameWriter } from '../topics/named-writers.ts';
import { readAppendedRows } from '../views/read-appended-rows.ts';
import { StaticData } from '../views/static-data.ts';
import { type PlacedDeadLetter, readDeadLetters } from '../worker/dead-letters.ts';
import { eachWaiting } from '../worker/each-waiting.ts';
import { compileSource } from './compile-source.ts';
import { type FlowFacts, feedOf } from './flow-facts.ts';
import type { NamedLetters } from './named-letters.ts';
import { deployedFacts } from './pipeline-facts.ts';
import { openSettled } from './settled-letters.ts';

export type ReplayOptions = Omit<OutsideOptions, 'token'> & {
  readonly flow: FlowPlan;
  readonly isWanted: (letter: PlacedDeadLetter) => boolean;
  /** Whoever named records wants the letters of all of them, or nothing; absent: none was named. */
  readonly named?: NamedLetters;
  /** Only tells what would become of each. */
  readonly isDryRun: boolean;
  /** Told of each letter that is still bad. */
  readonly onBad: (letter: PlacedDeadLetter, bad: BadRow) => void;
};

export type ReplayReport = {
  /** Dead letters of the flow that were asked for. */
  letters: number;
  /** Those that can be read now. */
  replayed: number;
  /** Rows that went on their way: to the merge, where a row that is there already changes nothing, or to the output. */
  rows: number;
  /** Rows of an append flow, or of LIMIT, that are in the output or on their way there already. */
  present: number;
  stillBad: number;
  /** Letters of records that the flow has yet to read: it reads them itself. */
  unread: number;
  /** Letters of a source that the flow no longer reads. */
  foreign: number;
};

const lettersPerTransaction = 1_000;
const bytesPerTransaction = 4 * 1024 * 1024;

/**
 * Gives dead letters to their flow once more. Invariant: a row has the provenance of its source record, never that of the
 * letter. So it is the same row however often it is replayed, and whether or not the flow has read the record again
 * meanwhile: REPLACE USING merges it as such, and of a flow whose stages know no row again (append, LIMIT alone) only rows
 * go out that neither its output nor the way there has.
 */
export async function replayDeadLetters(options: ReplayOptions): Promise<ReplayReport> {
  const { log, catalog, clock, flow, plan, pipeline, command, isDryRun, named } = options;
  await catalog.read();
  refuseLocked(catalog, flow.name, clock.now());
  refuseOtherDefinition(options);
  const facts = await deployedFacts(options, flow);
  if (!knowsRows(flow)) refuseTwins(options);
  const table = tableOf(plan, flow);
  const settled = isDryRun ? undefined : await openSettled(options);
  const run = new Replay(options, facts, await committedOffsets(options, facts));
  await run.readStatics();
  const transactionalId = `${pipeline}-replay.${flow.name}`;
  let producer: LogProducer | undefined;
  const opened = async (): Promise<LogProducer | undefined> => {
    if (isDryRun || producer !== undefined) return producer;
    await nameWriter(catalog, transactionalId, clock.now());
    producer = await log.openProducer(transactionalId);
    return producer;
  };
  try {
    await readDeadLetters({ log, catalog, pipeline, table, flow: flow.name }, async (letter) => {
      const isReplayed = run.take(letter);
      settled?.see(letter, isReplayed);
      // Of records that were named nothing goes out before each is known to be there.
      if (run.isFull && named?.isEmpty !== false) await run.send(opened);
    });
    named?.refuseMissing(flow.name);
    await run.send(opened);
  } catch (error) {
    await producer?.abort().catch(() => undefined);
    throw error;
  } finally {
    await producer?.close();
  }
  if (!isDryRun) {
    const nowMs = clock.now();
    await forgetWriter(catalog, transactionalId, nowMs);
    const facts = { report: { ...run.report } };
    await catalog.write(
      [
        ...(run.report.replayed === 0 ? [] : (settled?.changes() ?? [])),
        eventEntry({ flow: flow.name, what: 'dead_letters_replayed', nowMs, command, facts }),
      ],
      nowMs,
    );
  }
  return run.report;
}

/** One batch after the other: rows of whole letters in, one transaction out. */
class Replay {
  readonly report: ReplayReport = {
    letters: 0,
    replayed: 0,
    rows: 0,
    present: 0,
    stillBad: 0,
    unread: 0,
    foreign: 0,
  };
  readonly #options: ReplayOptions;
  readonly #facts: FlowFacts;
  readonly #committed: ReadonlyMap<string, number>;
  readonly #tasks = new Map<string, FlowTask>();
  readonly #statics: StaticData;
  readonly #programs: ReadonlyMap<string, readonly RowProgram[]>;
  #held = new HeldRecords();
  #lettersHeld = 0;
  /** Why the letter at hand gives no row. */
  #bad: BadRow | undefined;

  constructor(options: ReplayOptions, facts: FlowFacts, committed: ReadonlyMap<string, number>) {
    this.#options = options;
    this.#facts = facts;
    this.#committed = committed;
    this.#statics = new StaticData({ ...options, facts, isInterrupted: () => false });
    this.#programs = new Map(
      facts.sources.map((source) => [
        source.topic,
        compileSource(facts, source, this.#statics.partners),
      ]),
    );
  }

  /** What its rows are joined with, as it stands now. */
  readStatics(): Promise<void> {
    return this.#statics.refresh();
  }

  get isFull(): boolean {
    return this.#lettersHeld >= lettersPerTransaction || this.#held.bytes >= bytesPerTransaction;
  }

  /** Whether its record gave what it gives: rows, or none that a filter lets through. */
  take(letter: PlacedDeadLetter): boolean {
    const { isWanted, named, onBad, clock } = this.#options;
    if (!isWanted(letter)) return false;
    named?.meet(letter);
    this.report.letters += 1;
    const source = this.#facts.sources.find(({ topic }) => topic === letter.topic);
    if (source === undefined) {
      this.report.foreign += 1;
      return false;
    }
    const { topic, topicId, partition, offset } = letter;
    const checkpoint = this.#committed.get(partitionKey(topic, partition));
    if (topicId === source.topicId && (checkpoint === undefined || offset >= checkpoint)) {
      this.report.unread += 1;
      return false;
    }
    this.#bad = undefined;
    const before = this.#held.mark();
    try {
      this.#taskOf(letter).process(sliceOf(letter), this.#held, clock.now());
    } catch (error) {
      // Nothing stops here but this letter: the flow itself has not read it.
      if (!(error instanceof FlowError) || error.code !== 'EXPECTATION_FAILED') throw error;
      this.#bad = { errorClass: error.code, message: error.message };
    }
    if (this.#bad !== undefined) {
      // Rows of it that are good went out when it was set aside.
      this.#held.backTo(before);
      this.report.stillBad += 1;
      onBad(letter, this.#bad);
      return false;
    }
    this.report.replayed += 1;
    this.#lettersHeld += 1;
    return true;
  }

  #taskOf({ topic, topicId, partition }: PlacedDeadLetter): FlowTask {
    const key = `${partitionKey(topic, partition)} ${topicId}`;
    const found = this.#tasks.get(key);
    if (found !== undefined) return found;
    const facts = this.#facts;
    const task = new FlowTask({
      flow: facts.flow.name,
      programs: this.#programs.get(topic) ?? [],
      topic,
      topicId,
      partition,
      output: replayOutput(facts, partition),
      deadLetters: undefined,
      onBad: (bad) => {
        this.#bad = bad;
      },
      deadLetterShareMax: 1,
    });
    this.#tasks.set(key, task);
    return task;
  }

  /** undefined from `opened`: nothing is written, only counted. */
  async send(opened: () => Promise<LogProducer | undefined>): Promise<void> {
    const held = this.#held;
    this.#held = new HeldRecords();
    this.#lettersHeld = 0;
    if (held.records.length === 0) return;
    // It ends what a replay that was killed left open, before anything is looked for.
    const producer = await opened();
    const isCompared = !knowsRows(this.#facts.flow);
    const present = isCompared ? await this.#presentRows(held) : new Set<string>();
    for (const { topic, partition, record } of held.records) {
      const source = isCompared ? this.#sourceOf(record) : undefined;
      if (source !== undefined && present.has(source)) {
        this.report.present += 1;
        continue;
      }
      // Two letters of one record may be in one batch.
      if (source !== undefined) present.add(source);
      this.report.rows += 1;
      producer?.append(topic, partition, record);
    }
    await producer?.commit([]);
  }

  /** Of the rows, those that the output has already or will have, by where they came from. */
  async #presentRows(held: HeldRecords): Promise<Set<string>> {
    const present = new Set<string>();
    const { table } = this.#facts;
    const wanted = new Set(held.records.map(({ record }) => this.#sourceOf(record)));
    const note = (source: string | undefined): void => {
      if (source !== undefined && wanted.has(source)) present.add(source);
    };
    // First what is on its way: what is let through meanwhile is found in the output.
    await this.#eachOnItsWay(note);
    for await (const { rows } of readAppendedRows({ log: this.#options.log, table })) {
      for (const { sources } of rows) note(JSON.stringify(sources[0]));
    }
    return present;
  }

  /** Where the rows came from that the second stage has yet to take. */
  async #eachOnItsWay(take: (source: string | undefined) => void): Promise<void> {
    const { repartition, group } = this.#facts;
    if (repartition === undefined) return;
    await eachWaiting(this.#options.log, group, repartition, ({ bytes, valueStart, valueEnd }) =>
      take(sourceOnItsWay(bytes, valueStart, valueEnd)),
    );
  }

  #sourceOf(record: OutgoingRecord): string | undefined {
    const { value, valueStart, valueEnd } = record;
    return this.#facts.repartition === undefined
      ? sourceOf(record)
      : sourceOnItsWay(Buffer.from(value), valueStart, valueEnd);
  }
}

/** Whether a later stage takes a row that comes once more for what it is; else the replay has to. */
function knowsRows(flow: FlowPlan): boolean {
  // LIMIT alone counts rows and keeps none; DISTINCT knows each again.
  return flow.kind !== 'append' && (flow.kind !== 'sift' || flow.distinct);
}

/** Where the row of a record between the stages came from; undefined: it has none. */
function sourceOnItsWay(bytes: Buffer, valueStart: number, valueEnd: number): string | undefined {
  const parts = { flags: 0, provenanceStart: 0, sequenceStart: 0, sequenceEnd: 0, rowStart: 0 };
  if (valueEnd < 0 || !readEnvelope(bytes, valueStart, valueEnd, parts)) return undefined;
  return JSON.stringify(readProvenance(bytes, parts.provenanceStart));
}

function replayOutput(facts: FlowFacts, sourcePartition: number): RowOutput {
  const { table, output, outputRecordBytesMax, generation } = facts;
  const feed = feedOf(facts);
  if (feed !== undefined) return new RepartitionOutput({ ...feed, isReplay: true });
  return new AppendOutput({
    table: table.name,
    topic: output.topic,
    partitions: output.partitions,
    recordBytesMax: outputRecordBytesMax,
    sourcePartition,
    generation,
  });
}

type HeldMark = { readonly records: number; readonly bytes: number };

/** What a batch gives, until it is known which rows of it are sent. */
class HeldRecords implements RecordSink {
  readonly records: {
    readonly topic: string;
    readonly partition: number;
    readonly record: OutgoingRecord;
  }[] = [];
  bytes = 0;

  mark(): HeldMark {
    return { records: this.records.length, bytes: this.bytes };
  }

  /** Forgets what came after a mark. */
  backTo({ records, bytes }: HeldMark): void {
    this.records.length = records;
    this.bytes = bytes;
  }

  append(topic: string, partition: number, record: OutgoingRecord): void {
    const key = copied(record.key, record.keyStart, record.keyEnd);
    const value = copied(record.value, record.valueStart, record.valueEnd);
    const headers = copied(record.headers, record.headersStart, record.headersEnd);
    this.bytes += (key?.length ?? 0) + (value?.length ?? 0) + (headers?.length ?? 0);
    this.records.push({
      topic,
      partition,
      record: {
        key: key ?? nothing,
        keyStart: 0,
        keyEnd: key?.length ?? -1,
        value: value ?? nothing,
        valueStart: 0,
        valueEnd: value?.length ?? -1,
        headers: headers ?? nothing,
        headersStart: 0,
        headersEnd: headers?.length ?? 0,
        timestampMs: record.timestampMs,
      },
    });
  }
}

const nothing = Buffer.alloc(0);

function copied(bytes: Uint8Array, start: number, end: number): Buffer | undefined {
  return end < 0 ? undefined : Buffer.from(bytes.subarray(start, end));
}

/** Where the one row of an output record came from. */
function sourceOf({ headers, headersEnd }: OutgoingRecord): string | undefined {
  const found = readHeaders(Buffer.from(headers), 0, headersEnd).find(
    ({ key }) => key === 'tm-src',
  );
  const place = parseSources(found?.value?.toString('latin1') ?? '')?.[0]?.[0];
  return place === undefined ? undefined : JSON.stringify(readProvenance(place, 0));
}

/** The letter as the record that it was: at its own place and time, with its own headers. */
function sliceOf(letter: PlacedDeadLetter): Slice {
  const { topic, partition, offset, timestampMs } = letter;
  const key = letter.key ?? nothing;
  const value = letter.value ?? nothing;
  const valueStart = key.length;
  const headersStart = valueStart + value.length;
  const bytes = Buffer.concat([key, value, letter.headers]);
  let isRead = false;
  const records: RecordCursor = {
    next: () => {
      const isFirst = !isRead;
      isRead = true;
      return isFirst;
    },
    offset,
    timestampMs,
    bytes,
    keyStart: 0,
    keyEnd: letter.key === null ? -1 : valueStart,
    valueStart,
    valueEnd: letter.value === null ? -1 : headersStart,
    headersStart,
    headersEnd: bytes.length,
  };
  const nextOffset = offset + 1;
  return {
    topic,
    partition,
    records,
    recordCountMax: 1,
    byteLength: bytes.length,
    fromOffset: offset,
    nextOffset,
    logStart: 0,
    stableOffset: nextOffset,
    highWatermark: nextOffset,
  };
}

async function committedOffsets(
  { log, pipeline }: ReplayOptions,
  { flow, sources }: FlowFacts,
): Promise<ReadonlyMap<string, number>> {
  const committed = new Map<string, number>();
  for (const { topic, partitions } of sources) {
    const group = groupOf(pipeline, flow.name);
    const offsets = await log.committedOffsets(group, topic, numbersTo(partitions));
    for (const [partition, { offset }] of offsets) {
      committed.set(partitionKey(topic, partition), offset);
    }
  }
  return committed;
}

/** Rows of a definition that does not run would stand beside those of the one that does. */
function refuseOtherDefinition({ catalog, flow, plan }: ReplayOptions): void {
  const deployed = readDeployedFlow(catalog.get('flow', flow.name)?.value);
  if (deployed === undefined) {
    throw new FlowError('USAGE', `flow "${flow.name}" never ran`, {
      hint: 'Run the pipeline first: what it can read then is no dead letter.',
    });
  }
  const detail = otherDefinition(catalog, plan, flow);
  if (detail === undefined) return;
  throw new FlowError('DEFINITION_CHANGED', `flow "${flow.name}" runs with another definition`, {
    detail,
    hint: 'Start the pipeline with this definition first, then replay. Where run refuses it since the type of a source column changed, declare that column as VARIANT and cast it in the query to the type that it had (CAST(v AS INT)): the flow goes on from its checkpoint, and what can be read then is replayed.',
  });
}

/** Two flows that append the rows of one record give them one provenance: which of them lacks it, nobody can tell. */
function refuseTwins({ flow, plan }: ReplayOptions): void {
  const topicsOf = ({ branches }: FlowPlan): readonly (string | undefined)[] =>
    branches.map(({ source }) => plan.sources.find(({ name }) => name === source)?.topic);
  const mine = new Set(topicsOf(flow));
  const twin = plan.flows.find(
    (one) =>
      one.name !== flow.name &&
      one.target === flow.target &&
      topicsOf(one).some((topic) => mine.has(topic)),
  );
  if (twin === undefined) return;
  throw new FlowError(
    'NOT_SUPPORTED',
    `dead letters of flow "${flow.name}" cannot be replayed safely`,
    {
      detail: `Flow "${twin.name}" appends rows of the same records to table "${flow.target}", and which rows are whose is not known any more.`,
      hint: 'Produce the corrected records anew, under a key that tells them apart.',
    },
  );
}

import { FlowError } from '../../base/errors.ts';
import { partitionOf } from '../../data/murmur2.ts';
import type { Row } from '../../data/value.ts';
import { type IncrementalView, incrementalView } from '../../plan/flows/incremental-view.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  Assignment,
  GroupMember,
  Log,
  LogProducer,
  MemberIdentity,
  OffsetCommit,
} from '../../ports/log.ts';
import { ViewOutput } from '../../task/output/view-output.ts';
import { isOfRows, viewDigest, viewRows } from '../../task/view-query.ts';
import { viewDifferences, viewRecords } from '../../task/view-records.ts';
import { answerWithin, stuckAfterMs } from '../worker/answer-within.ts';
import { PendingAnswer } from '../worker/pending-answer.ts';
import { readPartition } from '../worker/read-partition.ts';
import { canBeHeld, type HeldChanges, HeldView } from './held-view.ts';
import { type InputFacts, readInputRows } from './read-input-rows.ts';
import type { ViewFacts } from './view-facts.ts';
import type { ViewTopics } from './view-topics.ts';

export type ExpectationResult = { passed: number; failed: number };

/** What one computation did. */
export type ViewRun = {
  /** Counts from 1; of runs that wrote nothing, too. */
  readonly run: number;
  /** The view has them now. */
  readonly rows: number;
  /** Record keys that changed, and of them those that are gone. */
  readonly changed: number;
  readonly removed: number;
  readonly expectations: Readonly<Record<string, ExpectationResult>>;
};

/** How the last run stands in the checkpoint of the view. Changes: 2026-11-30 version 1. */
type Checkpoint = ViewRun & {
  readonly v: 1;
  readonly fingerprint: string;
  /** Of the output topic: another one has none of the rows. */
  readonly topicId: string;
  /** Absent: the table was never refreshed. Rows of an earlier one are not kept. */
  readonly generation?: number;
};

/** `unsettled`: a transaction is open on a table that the view reads. */
export type ViewState = 'current' | 'stale' | 'unsettled';

type Computed = HeldChanges & {
  readonly rows: number;
  readonly expectations: ReadonlyMap<string, ExpectationResult>;
  /** To be kept for the next time; undefined: all of it was computed. */
  readonly held: HeldView | undefined;
};

/** How long a view's group is waited for before the other views have their turn. */
const joinWaitMs = 50;

export type InputEnd = {
  readonly topic: string;
  readonly partition: number;
  readonly end: number;
};

export type InputEnds = readonly InputEnd[];

export type ViewRunnerOptions = {
  readonly facts: ViewFacts;
  readonly log: Log;
  readonly clock: Clock;
  readonly member: GroupMember;
  readonly topics: ViewTopics;
  /** The generation that the catalog has now. */
  readonly generation: () => Promise<number>;
  /** undefined: rows and checkpoint are not one transaction. */
  readonly transactionalId: string | undefined;
  /** What is never computed again need not be held. */
  readonly isComputedOnce: boolean;
};

/**
 * Computes one materialized view and writes what differs from what its topic holds.
 *
 * Invariants: differences and checkpoint are one transaction, committed as the member that owns the view, so a run
 * that died or was overtaken leaves nothing; and a view whose inputs are where its checkpoint says is not computed again.
 */
export class ViewRunner {
  readonly facts: ViewFacts;
  /** Of the last run that this process made or found; undefined: there was none yet. */
  last: ViewRun | undefined;
  readonly #options: ViewRunnerOptions;
  #identity: MemberIdentity | undefined;
  readonly #joined = new PendingAnswer<Assignment>();
  #producer: LogProducer | undefined;
  readonly #divided: IncrementalView | undefined;
  /** The view as the run left it that this process made last. */
  #held: { readonly view: HeldView; readonly run: number; readonly generation: number } | undefined;

  constructor(options: ViewRunnerOptions) {
    this.#options = options;
    this.facts = options.facts;
    this.#divided = options.isComputedOnce ? undefined : incrementalView(options.facts.view);
  }

  /**
   * Follows the group, and waits for it a moment at most: in other groups others may wait for this process. Whether it is
   * known now whose the view is.
   */
  async keepMembership(): Promise<boolean> {
    const { member, clock } = this.#options;
    const { status } = member;
    if (!this.#joined.isPending) {
      if (status === 'stable' || status === 'left') return true;
      if (status === 'lost') await this.drop();
      this.#identity = undefined;
    }
    await Promise.race([this.#joined.ask(() => member.rejoin()), clock.sleep(joinWaitMs)]);
    const joined = this.#joined.take();
    if (joined === undefined) return false;
    const { identity, partitions } = joined;
    const isOwner = partitions.get(this.facts.catalogTopic)?.includes(0) === true;
    this.#identity = isOwner ? identity : undefined;
    if (!isOwner) await this.drop();
    return true;
  }

  get isOwner(): boolean {
    return this.#identity !== undefined;
  }

  /**
   * Where the inputs end now: a table at its high watermark, since what is open there is of those who write it; a source at
   * its last stable offset, since what is open there may stay so.
   */
  async inputEnds(): Promise<InputEnds> {
    const ends: InputEnd[] = [];
    for (const { kind, topic, partitions } of this.facts.inputs) {
      if (partitions === 0) continue;
      const ranges = await this.#options.log.offsetRanges(topic, numbersTo(partitions));
      for (const [partition, { stable, end }] of ranges) {
        ends.push({ topic, partition, end: kind === 'table' ? end : stable });
      }
    }
    return ends;
  }

  /** Whether what stands in the inputs goes as far. */
  async isReadable(ends: InputEnds): Promise<boolean> {
    const { log } = this.#options;
    for (const { topic, partition, end } of ends) {
      const range = (await log.offsetRanges(topic, [partition])).get(partition);
      if ((range?.stable ?? 0) < end) return false;
    }
    return true;
  }

  /** Whether the last run, whoever made it, has read as far. */
  async hasRead(ends: InputEnds): Promise<boolean> {
    const { log } = this.#options;
    const last = await this.#checkpoint();
    if (!isOfNow(last, { ...this.facts, generation: await this.#options.generation() }))
      return false;
    if (last?.fingerprint !== viewDigest(this.facts.view)) return false;
    for (const { topic, partition, end } of ends) {
      const found = await log.committedOffsets(this.facts.group, topic, [partition]);
      if ((found.get(partition)?.offset ?? -1) < end) return false;
    }
    return true;
  }

  async state(): Promise<ViewState> {
    // Ends what an owner that died in its commit has left open: until then the log does not tell how far the view is
    // (simulation seed 212).
    if (this.isOwner) await this.#openProducer();
    const generation = await this.#options.generation();
    const { state, last } = await this.#answered(
      readViewState(this.#options.log, { ...this.facts, generation }),
    );
    this.last = last;
    if (!this.isOwner || !(await this.#options.topics.isTorn())) return state;
    this.#held = undefined;
    return 'stale';
  }

  /**
   * Computes the view over the inputs as they stand and commits the differences. What is kept of the table is read behind
   * the end of whatever a predecessor left open.
   */
  async compute(): Promise<ViewRun> {
    const { clock } = this.#options;
    const { facts } = this;
    const identity = this.#identity;
    if (identity === undefined) {
      throw new FlowError('TASK_MIGRATED', `view "${facts.view.name}" is another instance's`);
    }
    const producer = await this.#openProducer();
    const generation = await this.#options.generation();
    const offsets = await this.#inputOffsets();
    const before = await this.#checkpoint();
    const isKept = (before?.generation ?? 0) === generation;
    const computed =
      (await this.#computeParts(before, generation)) ?? (await this.#computeAll(isKept));
    const { changes } = computed;
    const run = await this.#nextRun();
    const output = new ViewOutput({
      table: facts.table.name,
      topic: facts.output.topic,
      topicId: facts.output.topicId,
      recordBytesMax: facts.outputRecordBytesMax,
      run,
      generation,
    });
    this.#refuseStale();
    const isTorn = await this.#options.topics.check();
    let removed = 0;
    for (const [key, record] of changes) {
      const bytes = Buffer.from(key, 'latin1');
      const partition = partitionOf(bytes, 0, bytes.length, facts.output.partitions);
      if (record === undefined) removed += 1;
      output.write(producer, { partition, key: bytes, record }, clock.now());
    }
    const done: ViewRun = {
      run,
      rows: computed.rows,
      changed: changes.size,
      removed,
      expectations: Object.fromEntries(computed.expectations),
    };
    const checkpoint: Checkpoint = {
      v: 1,
      fingerprint: viewDigest(facts.view),
      topicId: facts.output.topicId,
      ...(generation === 0 ? {} : { generation }),
      ...done,
    };
    const mark = {
      topic: facts.catalogTopic,
      partition: 0,
      offset: run,
      metadata: JSON.stringify(checkpoint),
    };
    await producer.commit([{ member: identity, offsets: [...offsets, mark] }]);
    this.last = done;
    if (isTorn) await this.#options.topics.remember();
    if (computed.held !== undefined) {
      computed.held.applied(computed);
      this.#held = { view: computed.held, run, generation };
    }
    return done;
  }

  /**
   * Computes what the records belong to that have come since this process computed the view last. undefined: its query
   * has no parts, or they cannot be told here; then all of it is computed, and says what is wrong.
   */
  async #computeParts(
    before: Checkpoint | undefined,
    generation: number,
  ): Promise<Computed | undefined> {
    const { log, clock } = this.#options;
    const { facts } = this;
    const [input] = facts.inputs;
    const view = this.#divided;
    if (view === undefined || input === undefined || !canBeHeld(input)) return undefined;
    const known = this.#held;
    // Only the transaction that stands makes it known again.
    this.#held = undefined;
    const isOurs = known?.run === before?.run && known?.generation === generation;
    const fresh = (): HeldView =>
      new HeldView({
        log,
        input,
        view,
        layout: { columns: facts.table.columns, keys: facts.view.keys },
        timeZone: facts.timeZone,
        nowMicros: BigInt(Math.floor(clock.now())) * 1_000n,
      });
    for (const held of known !== undefined && isOurs ? [known.view, fresh()] : [fresh()]) {
      try {
        const found = await held.changes(() => this.#written());
        if (found === undefined) continue;
        return { ...found, rows: held.rows, expectations: held.expectations, held };
      } catch (error) {
        if (!isOfRows(error)) throw error;
        return undefined;
      }
    }
    return undefined;
  }

  async #computeAll(isKept: boolean): Promise<Computed> {
    const { facts } = this;
    const expectations = new Map<string, ExpectationResult>();
    const after = viewRecords(await this.#rows(expectations, isKept), {
      columns: facts.table.columns,
      keys: facts.view.keys,
    });
    const rows = [...after.values()].reduce((sum, one) => sum + one.rows, 0);
    const changes = viewDifferences(await this.#written(), after);
    return { changes, rows, expectations, held: undefined, read: 0 };
  }

  /** Without transactions nobody refuses what is written too late: another owner may have gone on meanwhile (simulation seed 5384). */
  #refuseStale(): void {
    const { transactionalId, member } = this.#options;
    if (transactionalId !== undefined) return;
    const isMember = member.status === 'stable' || member.status === 'rebalancing';
    if (isMember && member.isInTouch) return;
    throw new FlowError(
      'TASK_MIGRATED',
      `view "${this.facts.view.name}" may be another instance's`,
    );
  }

  async #openProducer(): Promise<LogProducer> {
    const { log, transactionalId } = this.#options;
    this.#producer ??= await log.openProducer(transactionalId);
    return this.#producer;
  }

  /** Lets go of what is open; the transaction of a run that failed ends here. */
  async drop(): Promise<void> {
    this.#held = undefined;
    const producer = this.#producer;
    this.#producer = undefined;
    await producer?.abort().catch(() => undefined);
    await producer?.close().catch(() => undefined);
  }

  async close(isLeaving: boolean): Promise<void> {
    await this.drop();
    if (isLeaving) await this.#options.member.leave().catch(() => undefined);
  }

  /** Where the inputs stand before they are read: what comes in meanwhile makes the view due again. */
  async #inputOffsets(): Promise<OffsetCommit['offsets']> {
    const offsets: OffsetCommit['offsets'][number][] = [];
    for (const { topic, partitions } of this.facts.inputs) {
      if (partitions === 0) continue;
      const ranges = await this.#options.log.offsetRanges(topic, numbersTo(partitions));
      for (const [partition, { stable }] of ranges) {
        offsets.push({ topic, partition, offset: stable, metadata: '' });
      }
    }
    return offsets;
  }

  async #rows(
    expectations: Map<string, ExpectationResult>,
    isKept: boolean,
  ): Promise<readonly Row[]> {
    const { log, clock } = this.#options;
    const { view, inputs, timeZone, kept } = this.facts;
    const rows = new Map<string, readonly Row[]>();
    if (kept !== undefined && isKept) {
      rows.set(kept.name, await readInputRows(log, kept, timeZone));
    }
    for (const input of inputs) rows.set(input.name, await readInputRows(log, input, timeZone));
    return viewRows(view, {
      timeZone,
      nowMicros: BigInt(Math.floor(clock.now())) * 1_000n,
      rowsOf: (name) => rows.get(name) ?? [],
      count: (name, isMet) => {
        const result = expectations.get(name) ?? { passed: 0, failed: 0 };
        if (isMet) result.passed += 1;
        else result.failed += 1;
        expectations.set(name, result);
      },
    });
  }

  /** Record key → value, as the topic holds them. Nobody else writes it while this member owns the view. */
  async #written(): Promise<ReadonlyMap<string, string>> {
    const { topic, partitions } = this.facts.output;
    const written = new Map<string, string>();
    for (let partition = 0; partition < partitions; partition += 1) {
      await readPartition({ log: this.#options.log, topic, partition, partitions }, (slice) => {
        const { records } = slice;
        while (records.next()) {
          const { bytes, keyStart, keyEnd, valueStart, valueEnd } = records;
          const key = bytes.toString('latin1', keyStart, Math.max(keyStart, keyEnd));
          if (valueEnd < 0) written.delete(key);
          else written.set(key, bytes.toString('latin1', valueStart, valueEnd));
        }
      });
    }
    return written;
  }

  async #checkpoint(): Promise<Checkpoint | undefined> {
    const { group, catalogTopic } = this.facts;
    const asking = this.#options.log.committedOffsets(group, catalogTopic, [0]);
    return readCheckpoint((await this.#answered(asking)).get(0)?.metadata);
  }

  async #nextRun(): Promise<number> {
    const { group, catalogTopic } = this.facts;
    const asking = this.#options.log.committedOffsets(group, catalogTopic, [0]);
    return ((await this.#answered(asking)).get(0)?.offset ?? 0) + 1;
  }

  /**
   * The owner has ended what was open. Where the log does not answer it even so, another one took the view over, and may be gone:
   * nobody but who opens the producer again would end what that one left open. Of others it is not waited for here.
   */
  async #answered<Answer>(asking: Promise<Answer>): Promise<Answer> {
    if (!this.isOwner) return asking;
    const answer = await answerWithin(this.#options.clock, stuckAfterMs, asking);
    if (answer !== undefined) return answer;
    const { name } = this.facts.view;
    throw new FlowError('PRODUCER_FENCED', `another instance has a run of view "${name}" open`);
  }
}

/**
 * Whether the topic holds what the query gives over the inputs as they stand now, as far as the checkpoint tells, and
 * what the last run was, whoever made it.
 */
export async function readViewState(
  log: Log,
  {
    group,
    inputs,
    catalogTopic,
    view,
    output,
    generation,
  }: Pick<ViewFacts, 'group' | 'catalogTopic' | 'view' | 'generation'> & {
    readonly output: { readonly topicId: string | undefined };
    readonly inputs: readonly Pick<InputFacts, 'kind' | 'topic' | 'partitions'>[];
  },
): Promise<{ readonly state: ViewState; readonly last: ViewRun | undefined }> {
  const found = (await log.committedOffsets(group, catalogTopic, [0])).get(0);
  const last = readCheckpoint(found?.metadata);
  const isOwn = isOfNow(last, { output, generation });
  // What runs one time is done whatever its definition and its sources have become.
  if (isOwn && view.replaceWhere?.once === true) return { state: 'current', last };
  const isSame = isOwn && last?.fingerprint === viewDigest(view);
  let state: ViewState = isSame ? 'current' : 'stale';
  for (const { kind, topic, partitions } of inputs) {
    const numbers = numbersTo(partitions);
    if (partitions === 0) continue;
    const committed = await log.committedOffsets(group, topic, numbers);
    for (const [partition, { stable, end }] of await log.offsetRanges(topic, numbers)) {
      if (kind === 'table' && stable < end) return { state: 'unsettled', last };
      if ((committed.get(partition)?.offset ?? -1) < stable) state = 'stale';
    }
  }
  return { state, last };
}

/** Whether a run wrote the topic that there is now, in its present generation. */
function isOfNow(
  last: Checkpoint | undefined,
  {
    output,
    generation,
  }: { readonly output: { readonly topicId: string | undefined }; readonly generation: number },
): boolean {
  if (last === undefined) return false;
  return last.topicId === output.topicId && (last.generation ?? 0) === generation;
}

function readCheckpoint(metadata: string | undefined): Checkpoint | undefined {
  if (metadata === undefined || metadata === '') return undefined;
  try {
    const read = JSON.parse(metadata) as Checkpoint;
    return read.v === 1 ? read : undefined;
  } catch {
    return undefined;
  }
}

function numbersTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, number) => number);
}

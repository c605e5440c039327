import { FlowError } from '../base/errors.ts';
import { partitionOf } from '../data/murmur2.ts';
import { storedRowCount } from '../data/row-set.ts';
import { countedExpectations } from '../plan/counted-expectations.ts';
import type { Clock } from '../ports/clock.ts';
import type {
  Assignment,
  GroupMember,
  Log,
  LogReader,
  MemberIdentity,
  OffsetCommit,
  OffsetRange,
  RecordSink,
  Slice,
} from '../ports/log.ts';
import type { StateStore } from '../ports/state-store.ts';
import type { Tracer } from '../ports/tracer.ts';
import type { Gap } from '../refresh/continuity.ts';
import { AppendOutput } from '../task/append-output.ts';
import type { PlacedBadRow } from '../task/bad-row.ts';
import { EventTimes } from '../task/event-times.ts';
import { FlowTask } from '../task/flow-task.ts';
import type { TableEffects } from '../task/keyed-task.ts';
import { MemoryShuffle, type RowSlice } from '../task/memory-shuffle.ts';
import { RepartitionOutput } from '../task/repartition-output.ts';
import {
  copyFlowCounters,
  type FlowCounters,
  flowMetadata,
  parseFlowMetadata,
  parseTableMetadata,
  type TableCounters,
  tableMetadata,
} from '../task/row-account.ts';
import type { RowOutput } from '../task/row-output.ts';
import type { RowProgram } from '../task/row-program.ts';
import { SampledContexts } from '../task/sampled-contexts.ts';
import type { Catalog } from './catalog.ts';
import { compileSource } from './compile-source.ts';
import {
  type FlowFacts,
  feedOf,
  isJoining,
  keyedFacts,
  type OncePins,
  stateTopicOf,
} from './flow-facts.ts';
import { type FlowFigures, FlowTally } from './flow-tally.ts';
import { acceptedGaps, decideWithAccepted, recordGaps, usedGapEntries } from './gaps.ts';
import {
  type CheckpointMark,
  checkpointMark,
  markedGeneration,
  refuseOtherGeneration,
  tableGeneration,
} from './generation.ts';
import { refuseLocked } from './locks.ts';
import { onceEnd, pinOnce, recordOnceDone } from './once-pins.ts';
import type { OwnId } from './own-id.ts';
import { partitionKey } from './partition-key.ts';
import { PendingAnswer } from './pending-answer.ts';
import type { RuntimeListener } from './runtime-events.ts';
import { skippedOffsets } from './skips.ts';
import type { StageTimes } from './stage-times.ts';
import { staleVersions } from './stale-versions.ts';
import { StaticData } from './static-data.ts';
import { clearStop, type FlowMove } from './stops.ts';
import type { StoredEntry, TableSlot } from './table-slot.ts';
import {
  settledCheckpoint,
  settledRange,
  type TakeoverOptions,
  takeOverTable,
} from './takeover.ts';
import { tracedSink } from './traced-sink.ts';

export type FlowRunnerOptions = {
  readonly pipeline: string;
  readonly facts: FlowFacts;
  readonly log: Log;
  readonly state: StateStore;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly listener: RuntimeListener;
  readonly own: OwnId | undefined;
  readonly instance: string;
  readonly member: GroupMember;
  readonly cacheBytesMax: number;
  readonly stages: StageTimes;
  readonly tracer?: Tracer | undefined;
  readonly shuffle: 'memory' | 'topic';
  readonly isStopping: () => boolean;
};

/** One partition that this worker reads for the flow. */
type ReadPartition = {
  readonly topic: string;
  readonly partition: number;
  readonly work: FlowTask | TableSlot;
  /** Next offset to process. */
  position: number;
  /** As of the last commit that stands. */
  committed: number;
  committedCounters: FlowCounters | TableCounters;
  isDirty: boolean;
  /** Where a flow that runs once has read all of it; undefined: it goes on for ever. */
  readonly until: number | undefined;
  /** The catalog does not know yet that there is a checkpoint, and of which incarnation of the topic. */
  unrecorded: { readonly name: string; readonly value: CheckpointMark } | undefined;
  /** Gaps that were accepted, until a commit stands behind them. */
  acceptedGaps: readonly string[];
};

type TableRead = ReadPartition & { readonly work: TableSlot };

/** What belongs to the commit that runs. */
type InFlight = {
  readonly effects: readonly (readonly [TableSlot, TableEffects])[];
  /** Partitions with what stands once the commit does. */
  readonly reads: readonly CommittedRead[];
  /** Rows that went straight to the output topic. */
  readonly appended: number;
  readonly figures: FlowFigures | undefined;
};

type CommittedRead = {
  readonly read: ReadPartition;
  readonly offset: number;
  readonly counters: FlowCounters | TableCounters;
};

const nothingInFlight: InFlight = { effects: [], reads: [], appended: 0, figures: undefined };

type GainedPartition = {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** Transactional id of the instance that had it before. */
  readonly predecessor: string | undefined;
};

export type PartitionProgress = {
  readonly topic: string;
  readonly partition: number;
  readonly position: number;
  readonly committed: number;
  readonly stable: number;
  /** The high watermark; what lies from `stable` up to it waits for a transaction of its producer. */
  readonly end: number;
  /** First available offset; undefined before the log has answered. */
  readonly logStart: number | undefined;
  readonly counters: FlowCounters | TableCounters;
  /** The account as it stands with the checkpoint. */
  readonly committedCounters: FlowCounters | TableCounters;
  /** Keys that a table task has in memory; 0 of a source partition. */
  readonly keysHeld: number;
  /** The last row of a source partition that was set aside since it is here; absent or undefined: none. */
  readonly lastBadRow?: PlacedBadRow | undefined;
};

/**
 * One flow in this process: its membership, its reader and its tasks. Invariant: offsets that `commits`
 * gives cover exactly the slices whose rows are in the sink or merged in a task, under the generation in
 * which they were read.
 */
export class FlowRunner {
  readonly facts: FlowFacts;
  readonly #options: FlowRunnerOptions;
  readonly #reader: LogReader;
  readonly #partitions = new Map<string, ReadPartition>();
  readonly #programs = new Map<string, RowProgram[]>();
  readonly #statics: StaticData;
  /** Takes the rows of the tables that are here. */
  readonly #shuffle: MemoryShuffle | undefined;
  readonly #tablesHere = new Map<number, TableRead>();
  readonly #eventTimes = new EventTimes();
  #assignment: Assignment | undefined;
  /** Of the group, with the identity that asked. */
  readonly #joined = new PendingAnswer<{
    readonly assignment: Assignment;
    readonly before: MemberIdentity | undefined;
  }>();
  #inFlight: InFlight = nothingInFlight;
  /** Up to where a flow that runs once reads, as of the last takeover. */
  #once: OncePins | undefined;
  #polling: Promise<void> | undefined;
  readonly #ready: Slice[] = [];
  #pollError: { readonly error: unknown } | undefined;
  /** Partitions of the last commit that stands. */
  #lastCommitted: readonly ReadPartition[] = [];
  /** Since when it has had no assignment to work on. */
  #unassignedMs: number | undefined;
  /** Grows with each `drop`: what went wrong in a poll before it is nobody's any more. */
  #drops = 0;
  #outputRecords = 0;
  readonly #tally: FlowTally;
  readonly #contexts = new SampledContexts();
  #figures: FlowFigures | undefined;

  constructor(options: FlowRunnerOptions) {
    this.#options = options;
    this.facts = options.facts;
    this.#tally = new FlowTally(options.facts.flow.name, options.facts.output.topic);
    this.#reader = options.log.openReader();
    this.#statics = new StaticData({
      ...options,
      isInterrupted: () => options.member.status !== 'stable' || options.isStopping(),
    });
    const { repartition } = options.facts;
    // Proved for row-sets; changes of other kinds, which several flows may write, meet in the topic.
    const isRowSet = options.facts.flow.kind === 'replace_using';
    if (repartition !== undefined && isRowSet && options.shuffle === 'memory') {
      this.#shuffle = new MemoryShuffle(repartition.topic);
    }
    for (const source of options.facts.sources) {
      const programs = compileSource(options.facts, source, this.#statics.partners);
      this.#programs.set(source.topic, programs);
    }
  }

  get member(): GroupMember {
    return this.#options.member;
  }

  /** Whether anything was processed since the last commit was begun. */
  get isDirty(): boolean {
    for (const { isDirty } of this.#partitions.values()) if (isDirty) return true;
    return false;
  }

  /** Written and committed by this process. */
  get outputRecords(): number {
    return this.#outputRecords;
  }

  /** The event time that all of its partitions have reached; undefined: not known, or it has no watermark. */
  get eventTimeMs(): number | undefined {
    return this.#eventTimes.leastMs;
  }

  wake(): void {
    this.#reader.wake();
  }

  /**
   * Resolves when slices (or an error) are there to `take`, or after the wait. The same promise until it is
   * settled, so that several flows can be waited for at once and no slice is lost to the slower ones.
   */
  poll(maxWaitMs: number): Promise<void> {
    if (this.#ready.length > 0 || this.#pollError !== undefined) return Promise.resolve();
    const drops = this.#drops;
    this.#polling ??= this.#reader
      .poll(maxWaitMs)
      .then(
        (slices) => {
          // Even where everything was dropped meanwhile: the reader gives nothing of before, and what it gives now it
          // gives once (simulation seed 8752).
          this.#ready.push(...slices);
        },
        (error: unknown) => {
          if (drops === this.#drops) this.#pollError = { error };
        },
      )
      .finally(() => {
        this.#polling = undefined;
      });
    return this.#polling;
  }

  /** What the polls have brought since the last call. */
  take(): readonly Slice[] {
    const failed = this.#pollError;
    this.#pollError = undefined;
    if (failed !== undefined) throw failed.error;
    return this.#ready.splice(0);
  }

  /** Whether it waits for its group, or has heard of it and not taken over yet. */
  get isJoining(): boolean {
    return this.#joined.isPending;
  }

  /** Whether there is something for `takeJoined`. */
  get hasJoined(): boolean {
    return this.#joined.hasAnswer;
  }

  /**
   * (Re)joins the group; resolves once the group has answered, whatever it has. Every other member may be waited for
   * meanwhile, so whoever has several groups waits for them at once: two that wait for each other in two groups would be
   * thrown out of both, again and again.
   */
  join(): Promise<void> {
    return this.#joined.ask(async () => {
      const { member, clock } = this.#options;
      this.#unassignedMs ??= clock.monotonic();
      const before = this.#assignment?.identity;
      if (member.status !== 'rebalancing') await this.drop();
      return { assignment: await member.rejoin(), before };
    });
  }

  /**
   * Takes over what is new. A partition that was there before keeps its task only where it was nobody else's in
   * between. Throws what the group answered instead.
   */
  async takeJoined(): Promise<void> {
    const joined = this.#joined.take();
    if (joined === undefined) return;
    const { assignment, before } = joined;
    if (!isNextGeneration(before, assignment.identity)) await this.drop();
    await this.#take(assignment);
  }

  /** Takes every assigned partition over once more, from its checkpoint: after any doubt. */
  async retake(isOusted: boolean): Promise<void> {
    this.#unassignedMs ??= this.#options.clock.monotonic();
    const assignment = this.#assignment;
    await this.drop();
    if (this.isJoining) return;
    if (assignment !== undefined && this.#options.member.status === 'stable' && !isOusted) {
      await this.#take(assignment);
    } else {
      // Its answer is waited for with those of the other groups.
      void this.join();
    }
  }

  async #take(assignment: Assignment): Promise<void> {
    const {
      listener,
      facts: { flow },
    } = this.#options;
    this.#assignment = assignment;
    const wanted = new Set<string>();
    for (const [topic, partitions] of assignment.partitions) {
      for (const partition of partitions) wanted.add(partitionKey(topic, partition));
    }
    const lost = [...this.#partitions.keys()].filter((key) => !wanted.has(key));
    for (const key of lost) await this.#release(key);
    if (lost.length > 0) listener({ event: 'revoked', flow: flow.name, partitions: lost });
    const gained = new Map<string, number[]>();
    for (const [topic, partitions] of assignment.partitions) {
      const fresh = partitions.filter((one) => !this.#partitions.has(partitionKey(topic, one)));
      if (fresh.length > 0) gained.set(topic, fresh);
    }
    if (gained.size > 0) await this.#gain(gained);
    const nowMs = this.#options.clock.monotonic();
    const durationMs = nowMs - (this.#unassignedMs ?? nowMs);
    this.#unassignedMs = undefined;
    listener({ event: 'assigned', flow: flow.name, partitions: [...wanted].sort(), durationMs });
  }

  async #gain(gained: ReadonlyMap<string, readonly number[]>): Promise<void> {
    const { catalog, clock, instance, own, facts } = this.#options;
    const transactionalId = own?.transactionalId;
    const owner = { instance, transactionalId: transactionalId ?? null };
    const names = [...gained].flatMap(([topic, partitions]) =>
      partitions.map((partition) => `${facts.flow.name}/${partitionKey(topic, partition)}`),
    );
    // Before it is overwritten: who had each of them.
    await catalog.read();
    // Without entering its own name over that of the other one.
    if (own?.isOvertaken(catalog) === true) {
      throw new FlowError('PRODUCER_FENCED', 'another process of this name began after this one');
    }
    const predecessors = new Map(
      names.map((name) => {
        const id = catalog.get('takeover', name)?.value['transactionalId'];
        return [name, typeof id === 'string' && id !== transactionalId ? id : undefined] as const;
      }),
    );
    const epoch = await catalog.write(
      [
        ...names.map((name) => ({ kind: 'takeover' as const, name, value: owner })),
        ...(own === undefined ? [] : [own.entry(catalog, clock.now())]),
      ],
      clock.now(),
    );
    // Asked for after the write: a command that locks the flow either is seen here, or sees this member in the group.
    refuseLocked(catalog, facts.flow.name, clock.now());
    refuseOtherGeneration(catalog, facts);
    this.#once = await this.#pins();
    const gaps: Gap[] = [];
    for (const [topic, partitions] of gained) {
      const topicId = await this.#topicIdOf(topic);
      for (const partition of partitions) {
        const predecessor = predecessors.get(
          `${facts.flow.name}/${partitionKey(topic, partition)}`,
        );
        const gap = await this.#gainPartition({ topic, topicId, partition, predecessor }, epoch);
        if (gap !== undefined) gaps.push(gap);
      }
    }
    if (gaps.length === 0) {
      await this.#clearStop({
        move: 'taken_over',
        gained: ({ topic, partition }) => gained.get(topic)?.includes(partition) === true,
      });
      return;
    }
    const fresh = gaps.filter(({ id }) => catalog.get('gap', id) === undefined);
    for (const gap of fresh) this.#options.listener({ event: 'gap', flow: facts.flow.name, gap });
    throw await recordGaps(catalog, gaps, clock.now());
  }

  /** A full refresh has a flow that runs once run again, so they are asked for with each takeover. */
  async #pins(): Promise<OncePins | undefined> {
    const { facts, log, catalog, clock } = this.#options;
    const { flow, sources: topics } = facts;
    if (flow.once !== true) return undefined;
    return pinOnce({ flow, topics, log, catalog, nowMs: clock.now() });
  }

  /** As the topic stands now: it may have been recreated since the start. */
  async #topicIdOf(topic: string): Promise<string> {
    const found = (await this.#options.log.describeTopics([topic])).get(topic);
    if (found === undefined) {
      throw new FlowError('TOPIC_MISSING', `topic "${topic}" is gone`, {
        hint: 'Create it again, and accept that the flow goes on from its first record.',
      });
    }
    return found.topicId;
  }

  /** Gives the gap that keeps the flow from going on, if there is one. */
  async #gainPartition(gained: GainedPartition, epoch: number): Promise<Gap | undefined> {
    const { topic, topicId, partition } = gained;
    const { facts, catalog } = this.#options;
    const takeover = this.#takeoverOptions(gained.predecessor);
    const keyed = topic === facts.repartition?.topic ? keyedFacts(facts) : undefined;
    const until = keyed === undefined ? onceEnd(this.#once, topic, partition) : undefined;
    if (until !== undefined && this.#once?.isDone === true) return undefined;
    const isOwn = this.#isOwn(topic);
    const slot =
      keyed === undefined
        ? undefined
        : await takeOverTable({ ...takeover, facts: keyed }, partition, epoch);
    try {
      // Between the stages every record is the pipeline's own: what is open there is settled first.
      if (isOwn) await settledRange(takeover, topic, partition);
      // Looked up first: what the catalog knows of a checkpoint was committed before, so that a later answer without it
      // is a loss. The other way round another owner's first commit may fall in between (simulation seed 2234).
      const name = this.#checkpointName(topic, partition);
      const mark = catalog.get('checkpoint', name)?.value;
      const recorded = mark?.['topicId'];
      const checkpointGeneration = markedGeneration(mark);
      const generation = this.#generationOf(topic) ?? checkpointGeneration;
      const committed = await settledCheckpoint(takeover, topic, partition);
      // Asked for last: the end that stood before may lie below a checkpoint that settled meanwhile.
      const range = await this.#rangeOf(topic, partition);
      const decided = decideWithAccepted(catalog, {
        flow: facts.flow.name,
        topic,
        partition,
        committed: committed?.offset,
        checkpointTopicId: typeof recorded === 'string' ? recorded : undefined,
        topicId,
        generation,
        checkpointGeneration,
        start: range.start,
        end: range.end,
      });
      // What lies behind the end of a flow that runs once may go.
      const isRead = until !== undefined && committed !== undefined && committed.offset >= until;
      if (decided.decision === 'gap' && !isRead) {
        await this.#refuseIfMoved(takeover, { topic, partition, offset: committed?.offset });
        await slot?.close().catch(() => undefined);
        return decided.gap;
      }
      const position =
        isRead || decided.decision === 'gap' ? (committed?.offset ?? 0) : decided.position;
      const stale =
        slot === undefined
          ? await this.#staleVersions(topic, partition, position, range.start)
          : undefined;
      const work = slot ?? this.#flowTask(gained, until, stale);
      if (slot === undefined && position < Math.min(range.stable, until ?? range.stable)) {
        this.#eventTimes.set(partitionKey(topic, partition), 0);
      }
      startCounters(work, committed?.metadata ?? '', facts, `${topic}/${partition}`);
      const read = {
        topic,
        partition,
        position,
        committed: position,
        committedCounters: countersOf(work),
        // A position that is not committed yet is committed first of all, so that its loss can be told later.
        isDirty: committed?.offset !== position,
        until,
        unrecorded:
          recorded === topicId && checkpointGeneration === generation
            ? undefined
            : { name, value: checkpointMark(topicId, generation) },
        acceptedGaps: acceptedGaps(catalog, { flow: facts.flow.name, topic, partition }),
      };
      if (work instanceof FlowTask) {
        this.#partitions.set(partitionKey(topic, partition), { ...read, work });
      } else {
        const table: TableRead = { ...read, work };
        this.#partitions.set(partitionKey(topic, partition), table);
        this.#tablesHere.set(partition, table);
        this.#shuffle?.open(partition);
      }
      this.#readFromPosition(read);
      return undefined;
    } catch (error) {
      await slot?.close().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Between the look at the checkpoint and the one at the log another owner may have gone on and deleted what it had
   * read: to whoever slept in between, that looks like a gap (simulation seed 2099).
   */
  async #refuseIfMoved(
    takeover: TakeoverOptions,
    seen: {
      readonly topic: string;
      readonly partition: number;
      readonly offset: number | undefined;
    },
  ): Promise<void> {
    const now = await settledCheckpoint(takeover, seen.topic, seen.partition);
    if (now?.offset === seen.offset) return;
    throw new FlowError('TASK_MIGRATED', 'somebody else has moved the checkpoint meanwhile');
  }

  /** Of the table whose topic it is, as the catalog knows; undefined: it is none, or nobody minds. */
  #generationOf(topic: string): number | undefined {
    const { facts, catalog } = this.#options;
    const writers = facts.sources.find((source) => source.topic === topic)?.writers ?? [];
    return writers.length === 0 ? undefined : tableGeneration(catalog, writers);
  }

  #checkpointName(topic: string, partition: number): string {
    return `${this.#options.facts.flow.name}/${partitionKey(topic, partition)}`;
  }

  /** After a commit: remembers which incarnation of each topic its checkpoints are of. */
  async recordCheckpoints(): Promise<void> {
    const fresh = this.#lastCommitted.filter(
      ({ unrecorded, acceptedGaps: gaps }) => unrecorded !== undefined || gaps.length > 0,
    );
    const ended = this.#lastCommitted.some(({ until, committed }) => committed === until);
    await this.#clearStop({
      move: 'committed',
      offsetOf: ({ topic, partition }) =>
        this.#lastCommitted.find((one) => one.topic === topic && one.partition === partition)
          ?.committed,
    });
    this.#lastCommitted = [];
    if (ended) await this.#recordOnce();
    if (fresh.length === 0) return;
    const entries = fresh.flatMap(({ unrecorded }) =>
      unrecorded === undefined
        ? []
        : [
            {
              kind: 'checkpoint' as const,
              name: unrecorded.name,
              value: unrecorded.value,
            },
          ],
    );
    const { catalog, clock } = this.#options;
    const gaps = fresh.flatMap((read) => read.acceptedGaps);
    await catalog.write([...entries, ...usedGapEntries(catalog, gaps, clock.now())], clock.now());
    for (const read of fresh) {
      read.unrecorded = undefined;
      read.acceptedGaps = [];
    }
  }

  #clearStop(move: FlowMove): Promise<void> {
    const { catalog, clock, facts } = this.#options;
    return clearStop({ catalog, clock }, facts.flow.name, move);
  }

  /** A flow that runs once is done when every partition, whoever reads it, is committed up to its end. */
  async #recordOnce(): Promise<void> {
    const { facts, log, catalog, clock } = this.#options;
    for (const [topic, ends] of this.#once?.ends ?? []) {
      const committed = await log.committedOffsets(facts.group, topic, [...ends.keys()]);
      const isRead = ends.every((end, partition) => (committed.get(partition)?.offset ?? 0) >= end);
      if (!isRead) return;
    }
    await recordOnceDone(catalog, facts.flow.name, clock.now());
  }

  async #rangeOf(topic: string, partition: number): Promise<OffsetRange> {
    const range = (await this.#options.log.offsetRanges(topic, [partition])).get(partition);
    if (range === undefined) {
      throw new FlowError('TOPIC_MISSING', `topic "${topic}" has no partition ${partition}`);
    }
    return range;
  }

  #takeoverOptions(predecessor: string | undefined): TakeoverOptions {
    const { pipeline, facts, log, state, catalog, clock, listener, member } = this.#options;
    return {
      pipeline,
      facts,
      log,
      state,
      catalog,
      clock,
      listener,
      own: this.#options.own,
      predecessor,
      cacheBytesMax: this.#options.cacheBytesMax,
      times: this.#tally.times,
      stages: this.#options.stages,
      isInterrupted: () => member.status !== 'stable' || this.#options.isStopping(),
    };
  }

  async #staleVersions(topic: string, partition: number, position: number, start: number) {
    const { facts, catalog, log } = this.#options;
    const source = facts.sources.find((one) => one.topic === topic);
    if (source === undefined) return undefined;
    return staleVersions({ log, catalog, source, partition, position, start });
  }

  #flowTask(
    { topic, topicId, partition }: GainedPartition,
    until?: number,
    stale?: (offset: number) => boolean,
  ): FlowTask {
    const { facts, catalog } = this.#options;
    const flow = facts.flow.name;
    return new FlowTask({
      flow,
      programs: this.#programs.get(topic) ?? [],
      eventTimes: this.#eventTimes,
      topic,
      topicId,
      partition,
      until,
      output: rowOutput(facts, partition, this.#shuffle),
      skipped: skippedOffsets(catalog, { flow, topic, topicId, partition }),
      stale,
      deadLetters: facts.deadLetter,
      deadLetterShareMax: facts.table.deadLetterShareMax,
      tellsTime: isJoining(facts) && facts.flow.join.times !== undefined,
      times: feedOf(facts) === undefined ? this.#tally.times : undefined,
      contexts: this.#options.tracer === undefined ? undefined : this.#contexts,
    });
  }

  /**
   * Where nobody knows yet how far a source partition has come, which has nothing to read: it is told, and committed with
   * what is open.
   */
  tellTimes(sink: RecordSink, nowMs: number): void {
    for (const read of this.#partitions.values()) {
      const { work, topic, partition, position } = read;
      if (!(work instanceof FlowTask) || !work.isSilent) continue;
      const range = this.#reader.range(topic, partition);
      if (range === undefined || position < range.stable) continue;
      work.tellTime(sink, nowMs);
      read.isDirty = true;
    }
  }

  /** Brings the static sides of its joins up to date where that is due. */
  refreshStatics(): Promise<void> {
    return this.#statics.refresh();
  }

  /**
   * Runs one slice. Gives the bytes that it holds in memory until the next commit; undefined when its partition is no
   * longer this worker's, or the slice is of an earlier takeover.
   */
  async process(slice: Slice, sink: RecordSink, nowMs: number): Promise<number | undefined> {
    const read = this.#partitions.get(partitionKey(slice.topic, slice.partition));
    if (read === undefined) return undefined;
    if (slice.fromOffset !== read.position) {
      this.#readFromPosition(read);
      return undefined;
    }
    const { tracer } = this.#options;
    const heldBytes =
      tracer === undefined
        ? await this.#work(read.work, slice, sink, nowMs)
        : await this.#traced(tracer, slice, () => this.#work(read.work, slice, sink, nowMs));
    const { until = slice.nextOffset } = read;
    read.position = Math.min(slice.nextOffset, until);
    read.isDirty = true;
    if (slice.nextOffset >= until && read.until !== undefined) {
      this.#reader.unassign(slice.topic, slice.partition);
    }
    return heldBytes;
  }

  /**
   * A slice that was on its way while the partition was taken over anew may have come beside those of the new reading:
   * one of the two was taken, and the reader does not stand where the task does. Without this it would stand still
   * for ever (simulation seed 3017694).
   */
  #readFromPosition({ topic, partition, position, until }: Omit<ReadPartition, 'work'>): void {
    if (until === undefined || position < until) this.#reader.assign(topic, partition, position);
  }

  /** Merges what the flow stage has for tables that are here. Their checkpoints stay, and their accounts go on. */
  async #mergeHere(slices: readonly RowSlice[], sink: RecordSink, nowMs: number): Promise<void> {
    const loaded = slices.map((slice) => {
      const read = this.#tablesHere.get(slice.partition) as TableRead;
      read.isDirty = true;
      return { slot: read.work, keys: read.work.load(slice) };
    });
    if (loaded.every(({ keys }) => keys.length === 0)) {
      for (const { slot } of loaded) slot.finish([], sink, nowMs);
      return;
    }
    // One wait for all, and all are over before anything is said of one: whoever hears of a failure may drop the tasks.
    const read = await this.#options.stages.wait('store', () =>
      Promise.allSettled(loaded.map(({ slot, keys }) => slot.entriesOf(keys))),
    );
    for (const [index, { slot }] of loaded.entries()) {
      const entries = read[index] as (typeof read)[number];
      if (entries.status === 'rejected') throw entries.reason;
      slot.finish(entries.value, sink, nowMs);
    }
  }

  /** Gives the bytes that stay in memory until the next commit. */
  async #work(
    work: FlowTask | TableSlot,
    slice: Slice,
    sink: RecordSink,
    nowMs: number,
  ): Promise<number> {
    if (!(work instanceof FlowTask)) {
      await work.merge(slice, this.#counted(sink), nowMs);
      return slice.byteLength;
    }
    const { stages } = this.#options;
    const shuffle = this.#shuffle;
    this.#tally.fetched(slice.topic, slice.byteLength);
    if (shuffle === undefined) {
      // Only where rows go straight to the output topic is there anything to count on their way.
      const target = feedOf(this.facts) === undefined ? this.#counted(sink) : sink;
      stages.run('query', () => work.process(slice, target, nowMs));
      return slice.byteLength;
    }
    const before = shuffle.heldBytes;
    shuffle.begin(sink);
    stages.run('query', () => work.process(slice, shuffle, nowMs));
    await this.#mergeHere(shuffle.take(), sink, nowMs);
    return slice.byteLength + shuffle.heldBytes - before;
  }

  /** On its way to the output topic a record is counted, and given the context of its transaction where that is wished. */
  #counted(sink: RecordSink): RecordSink {
    const { tracer, facts } = this.#options;
    const traceparent = tracer?.outgoing();
    const target =
      traceparent === undefined ? sink : tracedSink(sink, facts.output.topic, traceparent);
    return this.#tally.over(target);
  }

  async #traced(tracer: Tracer, slice: Slice, work: () => Promise<number>): Promise<number> {
    const { clock, stages, facts } = this.#options;
    const startedMs = clock.monotonic();
    const startedAtMs = clock.now();
    const storeMs = stages.spentMs.store;
    const heldBytes = await work();
    tracer.slice({
      flow: facts.flow.name,
      group: facts.group,
      topic: slice.topic,
      partition: slice.partition,
      firstOffset: slice.fromOffset,
      nextOffset: slice.nextOffset,
      startedAtMs,
      durationMs: clock.monotonic() - startedMs,
      storeMs: stages.spentMs.store - storeMs,
      links: this.#contexts.take(),
    });
    return heldBytes;
  }

  /**
   * Emits what the tables have collected and gives the offsets to commit with it. From here on the tasks go on as
   * if the transaction stood; where it does not, all of them are thrown away.
   */
  commits(sink: RecordSink, nowMs: number): OffsetCommit | undefined {
    const identity = this.#assignment?.identity;
    if (identity === undefined) return undefined;
    const effects: (readonly [TableSlot, TableEffects])[] = [];
    const reads: CommittedRead[] = [];
    const offsets: OffsetCommit['offsets'][number][] = [];
    const counted = this.#counted(sink);
    let appended = 0;
    for (const read of this.#partitions.values()) {
      const { topic, partition, work, position, isDirty } = read;
      if (!isDirty) continue;
      let metadata: string;
      if (work instanceof FlowTask) {
        metadata = flowMetadata(work.counters);
        appended += this.#appendedBy(work, read.committedCounters);
      } else {
        const done = this.#options.stages.run('emit', () => work.task.effects(counted, nowMs));
        for (const entry of done.entries) {
          if (entry !== undefined) this.#tally.rowSet(storedRowCount(entry));
        }
        this.#tally.replaced(done.replaced);
        effects.push([work, done]);
        metadata = tableMetadata(work.task.counters);
        work.task.applied();
      }
      offsets.push({ topic, partition, offset: position, metadata });
      reads.push({ read, offset: position, counters: countersOf(work) });
      read.isDirty = false;
    }
    this.#shuffle?.turn();
    this.#inFlight = { effects, reads, appended, figures: this.#tally.take() };
    return offsets.length === 0 ? undefined : { member: identity, offsets };
  }

  /** Rows of a source partition that are in the output topic once this commit stands, and were not before. */
  #appendedBy({ counters }: FlowTask, before: FlowCounters | TableCounters): number {
    if (feedOf(this.facts) !== undefined || !('handedOn' in before)) return 0;
    return counters.handedOn - before.handedOn;
  }

  /** Waits for the state writes of the commit before: the bounded window between log and state. */
  async settle(): Promise<void> {
    for (const { work } of this.#partitions.values()) {
      if (!(work instanceof FlowTask)) await work.settle();
    }
  }

  /** Throws where the state of a table does not follow the log any more: it is brought up again while there is time. */
  checkState(): void {
    for (const { work } of this.#partitions.values()) {
      if (!(work instanceof FlowTask)) work.check();
    }
  }

  /** The transaction stands: the state follows. Gives the number of output records. */
  applied(ends: ReadonlyMap<string, number>): number {
    const { facts } = this.#options;
    const state = stateTopicOf(facts);
    const levels = isJoining(facts) ? undefined : facts.levels;
    const { effects, reads, appended, figures } = this.#inFlight;
    this.#figures = figures;
    this.#inFlight = nothingInFlight;
    let outputRecords = appended;
    for (const [slot, done] of effects) {
      outputRecords += done.outputRecords;
      slot.follow(done, {
        output: ends.get(partitionKey(state.topic, slot.partition)),
        levels:
          levels === undefined ? undefined : ends.get(partitionKey(levels.topic, slot.partition)),
      });
    }
    for (const { read, offset, counters } of reads) {
      read.committed = offset;
      read.committedCounters = counters;
    }
    this.#lastCommitted = reads.map(({ read }) => read);
    this.#outputRecords += outputRecords;
    return outputRecords;
  }

  /** What the last commit that stands carried; asked for once. */
  takeFigures(): FlowFigures | undefined {
    const figures = this.#figures;
    this.#figures = undefined;
    return figures;
  }

  /** How many keys the state of its partitions holds. */
  async keyCount(): Promise<number> {
    let keys = 0;
    for (const { work } of [...this.#partitions.values()]) {
      if (!(work instanceof FlowTask)) keys += await work.keyCount();
    }
    return keys;
  }

  /** Where each partition of this worker stands. */
  progress(): PartitionProgress[] {
    return [...this.#partitions.values()].map((read) => {
      const range = this.#reader.range(read.topic, read.partition);
      return {
        topic: read.topic,
        partition: read.partition,
        position: read.position,
        committed: read.committed,
        stable: range?.stable ?? read.position,
        end: range?.end ?? read.position,
        logStart: range?.start,
        counters: read.work instanceof FlowTask ? read.work.counters : read.work.task.counters,
        committedCounters: read.committedCounters,
        keysHeld: read.work instanceof FlowTask ? 0 : read.work.task.keysHeld,
        lastBadRow: read.work instanceof FlowTask ? read.work.lastBadRow : undefined,
      };
    });
  }

  /** What the state has of a key, as of the last commit; undefined: its partition is not here. */
  peek(key: Buffer): Promise<StoredEntry> | undefined {
    const { repartition } = this.facts;
    if (repartition === undefined) return undefined;
    const partition = partitionOf(key, 0, key.length, repartition.partitions);
    const work = this.#partitions.get(partitionKey(repartition.topic, partition))?.work;
    return work === undefined || work instanceof FlowTask ? undefined : work.peek(key);
  }

  /** Whether the pipeline itself writes a topic that this flow reads: the one between its stages, or a table's. */
  #isOwn(topic: string): boolean {
    const { repartition, sources } = this.facts;
    return (
      topic === repartition?.topic || sources.some((one) => one.isTable && one.topic === topic)
    );
  }

  /** Where this worker stands in the topics that the pipeline itself writes, against what the log says. */
  ownRanges(): (OffsetRange & Pick<PartitionProgress, 'topic' | 'partition' | 'position'>)[] {
    const ranges = [];
    for (const { topic, partition, position } of this.#partitions.values()) {
      const range = this.#reader.range(topic, partition);
      if (range === undefined || !this.#isOwn(topic)) continue;
      ranges.push({ ...range, topic, partition, position });
    }
    return ranges;
  }

  async #release(key: string): Promise<void> {
    const read = this.#partitions.get(key);
    if (read === undefined) return;
    this.#partitions.delete(key);
    if (!(read.work instanceof FlowTask)) {
      this.#tablesHere.delete(read.partition);
      this.#shuffle?.close(read.partition);
    }
    this.#eventTimes.forget(key);
    this.#reader.unassign(read.topic, read.partition);
    if (!(read.work instanceof FlowTask)) await read.work.close().catch(() => undefined);
  }

  /** Forgets all tasks and what they collected. */
  async drop(): Promise<void> {
    for (const key of [...this.#partitions.keys()]) await this.#release(key);
    this.#inFlight = nothingInFlight;
    this.#tally.take();
    this.#shuffle?.turn();
    this.#drops += 1;
    this.#ready.length = 0;
    this.#lastCommitted = [];
    this.#pollError = undefined;
  }

  async close(isLeaving: boolean): Promise<void> {
    await this.drop();
    if (isLeaving) await this.#options.member.leave();
    await this.#reader.close();
  }
}

/**
 * Whether a member went from one generation right to the next. One that stalled may have been thrown out, or have
 * missed a generation in which its partitions were another's (simulation seed 4771).
 */
function isNextGeneration(before: MemberIdentity | undefined, after: MemberIdentity): boolean {
  return before?.memberId === after.memberId && after.generation <= before.generation + 1;
}

/** Rows of an append flow need not meet, so they go where they belong at once. */
function rowOutput(
  facts: FlowFacts,
  sourcePartition: number,
  shuffle: MemoryShuffle | undefined,
): RowOutput {
  const feed = feedOf(facts);
  if (feed !== undefined) return new RepartitionOutput(feed, shuffle);
  const { table, output, outputRecordBytesMax } = facts;
  return new AppendOutput({
    table: table.name,
    topic: output.topic,
    partitions: output.partitions,
    recordBytesMax: outputRecordBytesMax,
    sourcePartition,
    generation: facts.generation,
  });
}

/** A copy: those of the task go on. */
function countersOf(work: FlowTask | TableSlot): FlowCounters | TableCounters {
  return work instanceof FlowTask ? copyFlowCounters(work.counters) : { ...work.task.counters };
}

function startCounters(
  work: FlowTask | TableSlot,
  metadata: string,
  facts: FlowFacts,
  place: string,
): void {
  if (work instanceof FlowTask) {
    const names = countedExpectations(facts.flow, facts.table);
    const counters = parseFlowMetadata(metadata, names);
    if (counters === undefined) throw damaged(facts, place);
    work.startCounters(counters);
  } else {
    const counters = parseTableMetadata(metadata);
    if (counters === undefined) throw damaged(facts, place);
    work.task.startCounters(counters);
  }
}

function damaged(facts: FlowFacts, place: string): FlowError {
  return new FlowError(
    'CHECKPOINT_DAMAGED',
    `the checkpoint of flow "${facts.flow.name}" for ${place} is damaged`,
    {
      detail: `The metadata of its committed offset in group "${facts.group}" is not what Tidemark writes.`,
      hint: `Repair it with: tidemark checkpoint rewind ${facts.flow.name} --to <the same offset>. Rows stay, and the table is exact; only the counters start anew.`,
    },
  );
}

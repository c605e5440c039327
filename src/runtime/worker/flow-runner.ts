import { partitionOf } from '../../data/murmur2.ts';
import type {
  Assignment,
  GroupMember,
  LogReader,
  OffsetCommit,
  OffsetRange,
  RecordSink,
  Slice,
} from '../../ports/log.ts';
import type { Tracer } from '../../ports/tracer.ts';
import { EventTimes } from '../../task/event-times.ts';
import { FlowTask } from '../../task/flow-task.ts';
import type { TableEffects } from '../../task/key/keyed-task.ts';
import { MemoryShuffle, type RowSlice } from '../../task/memory-shuffle.ts';
import {
  type FlowCounters,
  flowMetadata,
  type TableCounters,
  tableMetadata,
} from '../../task/row-account.ts';
import { SampledContexts } from '../../task/sampled-contexts.ts';
import { compileSource } from '../inspect/compile-source.ts';
import {
  type FlowFacts,
  feedOf,
  isJoining,
  isOwnTopic,
  stateTopicOf,
} from '../inspect/flow-facts.ts';
import { FlowTakeover } from '../takeover/flow-takeover.ts';
import {
  countersOf,
  type HeldPartition,
  type HeldTable,
  isHeldTable,
  type PartitionProgress,
} from '../takeover/held-partition.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import { recordCheckpoints } from '../takeover/record-checkpoints.ts';
import { StaticData } from '../views/static-data.ts';
import { FlowMembership } from './flow-membership.ts';
import type { FlowRunnerOptions } from './flow-runner-options.ts';
import { type FlowFigures, FlowTally } from './flow-tally.ts';
import { SlicePolls } from './slice-polls.ts';
import { RowFates } from './slice-rows.ts';
import type { StoredEntry, TableSlot } from './table-slot.ts';
import { tracedSink } from './traced-sink.ts';

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
  readonly read: HeldPartition;
  readonly offset: number;
  readonly counters: FlowCounters | TableCounters;
};

const nothingInFlight: InFlight = { effects: [], reads: [], appended: 0, figures: undefined };

/**
 * One flow in this process: its membership, its reader and its tasks. Invariant: offsets that `commits`
 * gives cover exactly the slices whose rows are in the sink or merged in a task, under the generation in
 * which they were read.
 */
export class FlowRunner {
  readonly facts: FlowFacts;
  readonly membership: FlowMembership;
  readonly #options: FlowRunnerOptions;
  readonly #reader: LogReader;
  readonly #partitions = new Map<string, HeldPartition>();
  readonly #statics: StaticData;
  /** Takes the rows of the tables that are here. */
  readonly #shuffle: MemoryShuffle | undefined;
  readonly #tablesHere = new Map<number, HeldTable>();
  readonly #eventTimes = new EventTimes();
  readonly #polls: SlicePolls;
  readonly #takeover: FlowTakeover;
  #inFlight: InFlight = nothingInFlight;
  /** Partitions of the last commit that stands. */
  #lastCommitted: readonly HeldPartition[] = [];
  #outputRecords = 0;
  readonly #tally: FlowTally;
  readonly #contexts = new SampledContexts();
  #figures: FlowFigures | undefined;

  constructor(options: FlowRunnerOptions) {
    this.#options = options;
    this.facts = options.facts;
    this.#tally = new FlowTally(options.facts.flow.name, options.facts.output.topic);
    this.#reader = options.log.openReader();
    const { log, catalog, clock } = options;
    this.#statics = new StaticData({
      facts: options.facts,
      log,
      catalog,
      clock,
      isInterrupted: () => options.member.status !== 'stable' || options.isStopping(),
    });
    const { repartition } = options.facts;
    // Proved for row-sets; changes of other kinds, which several flows may write, meet in the topic.
    const isRowSet = options.facts.flow.kind === 'replace_using';
    if (repartition !== undefined && isRowSet && options.shuffle === 'memory') {
      this.#shuffle = new MemoryShuffle(repartition.topic);
    }
    this.#polls = new SlicePolls(this.#reader);
    this.membership = new FlowMembership({
      member: options.member,
      clock,
      drop: () => this.drop(),
      take: (assignment) => this.#take(assignment),
    });
    const { partners } = this.#statics;
    const programs = options.facts.sources.map(
      (source) => [source.topic, compileSource(options.facts, source, partners)] as const,
    );
    this.#takeover = new FlowTakeover({
      ...options,
      programs: new Map(programs),
      shuffle: this.#shuffle,
      eventTimes: this.#eventTimes,
      tally: this.#tally,
      contexts: this.#contexts,
    });
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
    return this.#polls.poll(maxWaitMs);
  }

  /** What the polls have brought since the last call. */
  take(): readonly Slice[] {
    return this.#polls.take();
  }

  async #take(assignment: Assignment): Promise<void> {
    const { listener, facts } = this.#options;
    const flow = facts.flow.name;
    const wanted = new Set<string>();
    const gained = new Map<string, number[]>();
    for (const [topic, partitions] of assignment.partitions) {
      for (const partition of partitions) wanted.add(partitionKey(topic, partition));
      const fresh = partitions.filter((one) => !this.#partitions.has(partitionKey(topic, one)));
      if (fresh.length > 0) gained.set(topic, fresh);
    }
    const lost = [...this.#partitions.keys()].filter((key) => !wanted.has(key));
    for (const key of lost) await this.#release(key);
    if (lost.length > 0) listener({ event: 'revoked', flow, partitions: lost });
    if (gained.size > 0) await this.#takeover.take(gained, (read) => this.#hold(read));
    else if (wanted.size === 0) await this.#takeover.takeNothing();
    const durationMs = this.membership.takeUnassignedMs();
    listener({ event: 'assigned', flow, partitions: [...wanted].sort(), durationMs });
  }

  #hold(read: HeldPartition): void {
    this.#partitions.set(partitionKey(read.topic, read.partition), read);
    if (isHeldTable(read)) {
      this.#tablesHere.set(read.partition, read);
      this.#shuffle?.open(read.partition);
    }
    this.#readFromPosition(read);
  }

  /** After a commit: the catalog hears of what stands with it. */
  async recordCheckpoints(): Promise<void> {
    const reads = this.#lastCommitted;
    this.#lastCommitted = [];
    await recordCheckpoints({ ...this.#options, once: this.#takeover.once }, reads);
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
        : await this.#traced(tracer, slice, read.work, () =>
            this.#work(read.work, slice, sink, nowMs),
          );
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
  #readFromPosition({ topic, partition, position, until }: Omit<HeldPartition, 'work'>): void {
    if (until === undefined || position < until) this.#reader.assign(topic, partition, position);
  }

  /** Merges what the flow stage has for tables that are here. Their checkpoints stay, and their accounts go on. */
  async #mergeHere(slices: readonly RowSlice[], sink: RecordSink, nowMs: number): Promise<void> {
    const loaded = slices.map((slice) => {
      const read = this.#tablesHere.get(slice.partition) as HeldTable;
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

  async #traced(
    tracer: Tracer,
    slice: Slice,
    task: FlowTask | TableSlot,
    work: () => Promise<number>,
  ): Promise<number> {
    const { clock, stages, facts } = this.#options;
    const startedMs = clock.monotonic();
    const startedAtMs = clock.now();
    const storeMs = stages.spentMs.store;
    const isMergedHere = task instanceof FlowTask && this.#shuffle !== undefined;
    const merging = isMergedHere ? [...this.#tablesHere.values()] : [];
    const fates = new RowFates([task, ...merging.map((table) => table.work)]);
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
      rows: fates.take(),
      links: this.#contexts.take(),
    });
    return heldBytes;
  }

  /**
   * Emits what the tables have collected and gives the offsets to commit with it. From here on the tasks go on as
   * if the transaction stood; where it does not, all of them are thrown away.
   */
  commits(sink: RecordSink, nowMs: number): OffsetCommit | undefined {
    const { identity } = this.membership;
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
        this.#tally.rowSets(done.setRows);
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

  /** Where this worker stands in the topics that the pipeline itself writes, against what the log says. */
  ownRanges(): (OffsetRange & Pick<PartitionProgress, 'topic' | 'partition' | 'position'>)[] {
    const ranges = [];
    for (const { topic, partition, position } of this.#partitions.values()) {
      const range = this.#reader.range(topic, partition);
      if (range === undefined || !isOwnTopic(this.facts, topic)) continue;
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
    this.#polls.drop();
    this.#lastCommitted = [];
  }

  async close(isLeaving: boolean): Promise<void> {
    await this.drop();
    if (isLeaving) await this.#options.member.leave();
    await this.#reader.close();
  }
}

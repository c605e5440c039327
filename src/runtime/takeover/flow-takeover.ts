import { FlowError } from '../../base/errors.ts';
import { countedExpectations } from '../../plan/counted-expectations.ts';
import type { OffsetRange, TopicDescription } from '../../ports/log.ts';
import type { Gap } from '../../refresh/continuity.ts';
import type { EventTimes } from '../../task/event-times.ts';
import { FlowTask } from '../../task/flow-task.ts';
import type { MemoryShuffle } from '../../task/memory-shuffle.ts';
import { AppendOutput } from '../../task/output/append-output.ts';
import { RepartitionOutput } from '../../task/output/repartition-output.ts';
import type { RowOutput } from '../../task/output/row-output.ts';
import type { RowProgram } from '../../task/row/row-program.ts';
import { parseFlowMetadata, parseTableMetadata } from '../../task/row-account.ts';
import type { SampledContexts } from '../../task/sampled-contexts.ts';
import {
  type FlowFacts,
  feedOf,
  isJoining,
  isOwnTopic,
  keyedFacts,
  type OncePins,
} from '../inspect/flow-facts.ts';
import { refuseLocked } from '../topics/locks.ts';
import { refuseRecreated, tableTopics, writtenNames } from '../topics/refuse-recreated.ts';
import { onceEnd, pinOnce } from '../views/once-pins.ts';
import { computeOnce } from '../views/once-result.ts';
import type { FlowRunnerOptions } from '../worker/flow-runner-options.ts';
import type { FlowTally } from '../worker/flow-tally.ts';
import { clearStop } from '../worker/stops.ts';
import type { TableSlot } from '../worker/table-slot.ts';
import { firstPartitions, isAddedSince, markedPartitions } from './added-partitions.ts';
import { acceptedGaps, decideWithAccepted, goneRows, recordGaps } from './gaps.ts';
import {
  checkpointMark,
  markedFirst,
  markedGeneration,
  markOfCheckpoint,
  refuseOtherGeneration,
  refuseSucceeded,
  tableGeneration,
} from './generation.ts';
import { countersOf, type HeldPartition } from './held-partition.ts';
import { movedStarts, refuseMovedStarts } from './log-starts.ts';
import { partitionKey } from './partition-key.ts';
import { skippedOffsets } from './skips.ts';
import { staleVersions } from './stale-versions.ts';
import {
  settledCheckpoint,
  settledRange,
  type TakeoverOptions,
  takeOverTable,
} from './takeover.ts';

export type FlowTakeoverOptions = Omit<FlowRunnerOptions, 'shuffle'> & {
  /** Of each topic that is read. */
  readonly programs: ReadonlyMap<string, readonly RowProgram[]>;
  /** Takes the rows of the tables that are here. */
  readonly shuffle: MemoryShuffle | undefined;
  readonly eventTimes: EventTimes;
  readonly tally: FlowTally;
  readonly contexts: SampledContexts;
};

type GainedPartition = {
  readonly topic: string;
  readonly topicId: string;
  /** How many the topic has by now. */
  readonly partitions: number;
  readonly partition: number;
  /** Transactional id of the instance that had it before. */
  readonly predecessor: string | undefined;
};

/**
 * Makes partitions this worker's: tells the catalog so, decides from checkpoint, log and accepted gaps where each goes on
 * or why it can't, and gives it a task. Invariant: a partition is read only from a position that the continuity rules
 * allow, in the generation of the table that the catalog has.
 */
export class FlowTakeover {
  readonly #options: FlowTakeoverOptions;
  /** Up to where a flow that runs once reads, as of the last takeover. */
  #once: OncePins | undefined;

  constructor(options: FlowTakeoverOptions) {
    this.#options = options;
  }

  get once(): OncePins | undefined {
    return this.#once;
  }

  /**
   * Takes partitions over, topic by topic, and gives each to `hold` as soon as it can be read. Throws where one of them
   * can't go on, or must not; those before it are held all the same.
   */
  async take(
    gained: ReadonlyMap<string, readonly number[]>,
    hold: (read: HeldPartition) => void,
  ): Promise<void> {
    const { catalog, clock, instance, log, own, facts } = this.#options;
    refuseRecreated(facts, await log.describeTopics(writtenNames(facts)));
    const { transactionalId } = own;
    const owner = { instance, transactionalId: transactionalId ?? null };
    const names = [...gained].flatMap(([topic, partitions]) =>
      partitions.map((partition) => this.#checkpointName(topic, partition)),
    );
    // Before it is overwritten: who had each of them.
    await catalog.read();
    // Without entering its own name over that of the other one.
    if (own.isOvertaken(catalog)) {
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
        own.entry(catalog, clock.now()),
      ],
      clock.now(),
    );
    // Asked for after the write: a command that locks the flow either is seen here, or sees this member in the group.
    refuseLocked(catalog, facts.flow.name, clock.now());
    refuseSucceeded(catalog, facts);
    refuseOtherGeneration(catalog, facts);
    this.#once = await this.#pins();
    const gaps: Gap[] = [...(await this.#goneRows())];
    for (const [topic, partitions] of gaps.length === 0 ? gained : []) {
      const { topicId, partitions: count } = await this.#topicNow(topic);
      for (const partition of partitions) {
        const predecessor = predecessors.get(this.#checkpointName(topic, partition));
        const gap = await this.#takePartition(
          { topic, topicId, partitions: count, partition, predecessor },
          epoch,
          hold,
        );
        if (gap !== undefined) gaps.push(gap);
      }
    }
    await this.#refuseGaps(gaps);
    await clearStop({ catalog, clock }, facts.flow.name, {
      move: 'taken_over',
      gained: ({ topic, partition }) => gained.get(topic)?.includes(partition) === true,
    });
  }

  /**
   * Where no partition is here. Whatever the watch finds of the flow's topics it finds here, too: a takeover that had
   * nothing to say of it would be asked for again and again, and no other flow of this process would come further
   * (simulation seed 91709813).
   */
  async takeNothing(): Promise<void> {
    const { catalog, log, facts } = this.#options;
    refuseRecreated(facts, await log.describeTopics(writtenNames(facts)));
    await catalog.read();
    await this.#refuseGaps(await this.#goneRows());
  }

  async #refuseGaps(gaps: readonly Gap[]): Promise<void> {
    if (gaps.length === 0) return;
    const { catalog, clock, facts, listener } = this.#options;
    // A command that takes checkpoints away waits for members of the group only: whoever dropped out of it while he took over is
    // none, and what he misses is no loss (simulation seed 701914 with refreshes).
    await catalog.read();
    refuseLocked(catalog, facts.flow.name, clock.now());
    refuseOtherGeneration(catalog, facts);
    const fresh = gaps.filter(({ id }) => catalog.get('gap', id) === undefined);
    for (const gap of fresh) listener({ event: 'gap', flow: facts.flow.name, gap });
    throw await recordGaps(catalog, gaps, { table: facts.table, nowMs: clock.now() });
  }

  /**
   * Of the topics that hold what the flow has computed, whichever partitions are here: whoever has those of the source
   * only must not go on either. Nobody restores a state from appended rows, which are missed by whoever reads the table.
   */
  async #goneRows(): Promise<readonly Gap[]> {
    const { facts, log, catalog } = this.#options;
    for (const topic of tableTopics(facts)) {
      const moved = await movedStarts(log, catalog, topic);
      if (feedOf(facts) === undefined) return goneRows(facts.flow.name, topic, moved);
      refuseMovedStarts(facts, topic, moved);
    }
    return [];
  }

  /** A full refresh has a flow that runs once run again, so they are asked for with each takeover. */
  async #pins(): Promise<OncePins | undefined> {
    const { facts, log, catalog, clock, listener, isStopping: isStopped } = this.#options;
    const { flow, sources: topics } = facts;
    if (flow.once !== true) return undefined;
    await computeOnce({ facts, log, catalog, clock, listener, isStopped });
    return pinOnce({ flow, topics, log, catalog, nowMs: clock.now(), listener });
  }

  /** As the topic stands now: it may have been recreated since the start. */
  async #topicNow(topic: string): Promise<TopicDescription> {
    const found = (await this.#options.log.describeTopics([topic])).get(topic);
    if (found === undefined) {
      throw new FlowError('TOPIC_MISSING', `topic "${topic}" is gone`, {
        hint: 'Create it again, and accept that the flow goes on from its first record.',
      });
    }
    return found;
  }

  /** Gives the gap that keeps the flow from going on, if there is one. */
  async #takePartition(
    gained: GainedPartition,
    epoch: number,
    hold: (read: HeldPartition) => void,
  ): Promise<Gap | undefined> {
    const { topic, topicId, partition } = gained;
    const { facts, catalog } = this.#options;
    const takeover = this.#takeoverOptions(gained.predecessor);
    const keyed = topic === facts.repartition?.topic ? keyedFacts(facts) : undefined;
    const until = keyed === undefined ? onceEnd(this.#once, topic, partition) : undefined;
    if (until !== undefined && this.#once?.isDone === true) return undefined;
    const isOwn = isOwnTopic(facts, topic);
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
      const mark = markOfCheckpoint(catalog, facts.flow.name, { topic, partition });
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
        // A partition of which a flow that runs once has nothing to read may have lost what it likes.
        isAdded:
          until !== 0 &&
          isAddedSince(catalog, { flow: facts.flow.name, topic, topicId, partition }),
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
        this.#options.eventTimes.set(partitionKey(topic, partition), 0);
      }
      // A flow that is new to the catalog goes on from a checkpoint that some tool has made for it.
      const isBegun = committed !== undefined && (committed.metadata !== '' || mark !== undefined);
      if (isBegun) startCounters(work, committed.metadata, facts, `${topic}/${partition}`);
      const read: HeldPartition = {
        topic,
        partition,
        work,
        position,
        committed: position,
        committedCounters: countersOf(work),
        // A position that is not committed yet is committed first of all, so that its loss can be told later.
        isDirty: committed?.offset !== position,
        until,
        unrecorded:
          markedPartitions(mark, topicId) !== undefined && checkpointGeneration === generation
            ? undefined
            : {
                name,
                value: checkpointMark(
                  topicId,
                  firstPartitions(mark, topicId, gained.partitions),
                  { generation, of: facts.generation },
                  markedFirst(mark, topicId) ?? (committed === undefined ? position : undefined),
                ),
              },
        acceptedGaps: acceptedGaps(catalog, { flow: facts.flow.name, topic, partition }),
      };
      hold(read);
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

  async #rangeOf(topic: string, partition: number): Promise<OffsetRange> {
    const range = (await this.#options.log.offsetRanges(topic, [partition])).get(partition);
    if (range === undefined) {
      throw new FlowError('TOPIC_MISSING', `topic "${topic}" has no partition ${partition}`);
    }
    return range;
  }

  #takeoverOptions(predecessor: string | undefined): TakeoverOptions {
    const options = this.#options;
    const { member, tally, isStopping } = options;
    return {
      pipeline: options.pipeline,
      facts: options.facts,
      log: options.log,
      state: options.state,
      catalog: options.catalog,
      clock: options.clock,
      listener: options.listener,
      own: options.own,
      cacheBytesMax: options.cacheBytesMax,
      stages: options.stages,
      predecessor,
      times: tally.times,
      isInterrupted: () => member.status !== 'stable' || isStopping(),
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
    const { facts, catalog, pipeline } = this.#options;
    const { deadLetter } = facts;
    const flow = facts.flow.name;
    return new FlowTask({
      flow,
      programs: this.#options.programs.get(topic) ?? [],
      eventTimes: this.#options.eventTimes,
      topic,
      topicId,
      partition,
      until,
      output: rowOutput(facts, partition, this.#options.shuffle),
      skipped: skippedOffsets(catalog, { flow, topic, topicId, partition }),
      stale,
      deadLetters: deadLetter === undefined ? undefined : { ...deadLetter, pipeline },
      onDeadLetter: (errorClass, place) => this.#options.tally.setAside(errorClass, place),
      deadLetterShareMax: facts.table.deadLetterShareMax,
      tellsTime: isJoining(facts) && facts.flow.join.times !== undefined,
      times: feedOf(facts) === undefined ? this.#options.tally.times : undefined,
      contexts: this.#options.tracer === undefined ? undefined : this.#options.contexts,
    });
  }
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
function startCounters(
  work: FlowTask | TableSlot,
  metadata: string,
  facts: FlowFacts,
  place: string,
): void {
  if (work instanceof FlowTask) {
    const names = countedExpectations(facts.flow, facts.table);
    const counters = parseFlowMetadata(metadata, names);
    if (counters === undefined) throw damaged(facts, place, metadata);
    work.startCounters(counters);
  } else {
    const counters = parseTableMetadata(metadata);
    if (counters === undefined) throw damaged(facts, place, metadata);
    work.task.startCounters(counters);
  }
}

function damaged({ flow, group }: FlowFacts, place: string, metadata: string): FlowError {
  if (metadata === '') {
    return new FlowError(
      'CHECKPOINT_DAMAGED',
      `the checkpoint of flow "${flow.name}" for ${place} was set by something else than Tidemark`,
      {
        detail: `The offset committed in group "${group}" has no account beside it: records may be left out, or be read twice.`,
        hint: `See where it stands with tidemark checkpoint show ${flow.name}. To take it as it is, or to go back to where the flow was: tidemark checkpoint rewind ${flow.name} --to <offset>`,
      },
    );
  }
  return new FlowError(
    'CHECKPOINT_DAMAGED',
    `the checkpoint of flow "${flow.name}" for ${place} is damaged`,
    {
      detail: `The metadata of its committed offset in group "${group}" is not what Tidemark writes.`,
      hint: `Repair it with: tidemark checkpoint rewind ${flow.name} --to <the same offset>. Rows stay, and the table is exact; only the counters start anew.`,
    },
  );
}

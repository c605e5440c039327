import { FlowError } from '../../base/errors.ts';
import { StateEntries } from '../../data/state-entries.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CommittedOffset, Log, OffsetRange } from '../../ports/log.ts';
import type { StateMark, StateSession, StateStore } from '../../ports/state-store.ts';
import type { TimeRuns } from '../../task/time-runs.ts';
import {
  type FlowFacts,
  isJoining,
  isSifting,
  type KeyedFlowFacts,
  stateTopicOf,
  type TopicFacts,
} from '../inspect/flow-facts.ts';
import type { RestoreCause, RuntimeListener } from '../runtime-events.ts';
import type { Catalog } from '../topics/catalog.ts';
import { answerOnceEnded, answerWithin, stuckAfterMs } from '../worker/answer-within.ts';
import type { OwnId } from '../worker/own-id.ts';
import type { StageTimes } from '../worker/stage-times.ts';
import { readAt, TableSlot } from '../worker/table-slot.ts';
import { levelSteps, outputSteps, tableTask } from '../worker/table-stage.ts';
import { generationStart } from './generation.ts';
import { movedStart, refuseMovedStarts } from './log-starts.ts';
import { pastFormerEpochs } from './past-former-epochs.ts';

export type TakeoverOptions = {
  readonly pipeline: string;
  readonly facts: FlowFacts;
  readonly log: Log;
  readonly state: StateStore;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly listener: RuntimeListener;
  /** Absent: it writes nothing in transactions. */
  readonly own?: OwnId | undefined;
  /** Who had the partition before, as the catalog knows; undefined: nobody, this instance, or nobody knows. */
  readonly predecessor: string | undefined;
  readonly cacheBytesMax: number;
  /** Told when the rows were made that the table merges. */
  readonly times?: TimeRuns;
  readonly stages?: StageTimes;
  /** True when the worker has to turn to something else: a rebalance, a stop. */
  readonly isInterrupted: () => boolean;
};

export type TableTakeover = TakeoverOptions & { readonly facts: KeyedFlowFacts };

/** How long the instance that had the partition before may hold it up: it gave it up with nothing open, or it is gone. */
const predecessorStuckAfterMs = 400;
const pollMs = 50;
/** Refreshes of which one may follow the other without a run between them, so that their states wait to be forgotten. */
const formerMax = 32;

/**
 * Makes a table partition this worker's: ends what a dead predecessor left open, brings the state to the
 * end of the output topic, and gives the task that goes on from there.
 *
 * Invariant: the state is complete at the high watermark as it stood at the takeover, not at the last
 * stable offset, which an open transaction may hold below committed rows.
 */
export async function takeOverTable(
  options: TableTakeover,
  partition: number,
  epoch: number,
): Promise<TableSlot> {
  const { facts, state, pipeline } = options;
  const range = await settledRange(options, stateTopicOf(facts).topic, partition);
  refuseLostStart(options, stateTopicOf(facts), partition, range);
  await forgetFormerState(options, partition, epoch);
  const id = { pipeline, flow: facts.flow.name, generation: facts.generation, partition };
  const session = await pastFormerEpochs(options, epoch, (own) => state.open(id, own));
  try {
    const mark = await restore(options, session, partition, range);
    const task = tableTask(facts, partition, options);
    return new TableSlot({
      task,
      partition,
      session,
      mark: await restoreLevels(options, session, partition, mark),
      levelsTopicId: isJoining(facts) ? undefined : facts.levels?.topicId,
      stages: options.stages,
    });
  } catch (error) {
    await session.close().catch(() => undefined);
    throw error;
  }
}

function refuseLostStart(
  { catalog, facts }: TableTakeover,
  topic: TopicFacts,
  partition: number,
  { start }: OffsetRange,
): void {
  const moved = movedStart(catalog, topic, partition, start);
  if (moved !== undefined) refuseMovedStarts(facts, topic, [moved]);
}

/** What refreshes left of the states before them is of no more use. */
async function forgetFormerState(
  options: TableTakeover,
  partition: number,
  epoch: number,
): Promise<void> {
  const { facts, state, pipeline } = options;
  const { generation: present, flow } = facts;
  const forgetting: Promise<void>[] = [];
  for (let generation = Math.max(0, present - formerMax); generation < present; generation += 1) {
    const id = { pipeline, flow: flow.name, generation, partition };
    forgetting.push(pastFormerEpochs(options, epoch, (own) => state.forget(id, own)));
  }
  await Promise.all(forgetting);
}

/**
 * Waits until a partition has no open transaction below the end that it has now. A transaction that stays
 * open is fenced where its producer is one of the pipeline's; a foreign one is waited for.
 */
export async function settledRange(
  options: TakeoverOptions,
  topic: string,
  partition: number,
): Promise<OffsetRange> {
  const { log, clock, listener, facts } = options;
  const started = clock.monotonic();
  let goal: number | undefined;
  let isFenced = false;
  let isPredecessorFenced = false;
  for (;;) {
    const range = (await log.offsetRanges(topic, [partition])).get(partition);
    if (range === undefined) {
      throw new FlowError('TOPIC_MISSING', `topic "${topic}" has no partition ${partition}`);
    }
    goal ??= range.end;
    if (range.stable >= goal) return { ...range, end: range.stable };
    if (options.isInterrupted()) {
      throw new FlowError('TASK_MIGRATED', 'the takeover was interrupted');
    }
    const waitedMs = clock.monotonic() - started;
    if (!isPredecessorFenced && waitedMs >= predecessorStuckAfterMs) {
      isPredecessorFenced = true;
      await fencePredecessor(options, `it left topic "${topic}", partition ${partition} open`);
    }
    if (!isFenced && waitedMs >= stuckAfterMs) {
      isFenced = true;
      listener({
        event: 'restoring',
        flow: facts.flow.name,
        partition,
        cause: 'unsettled',
        reason: `an open transaction holds topic "${topic}", partition ${partition} at offset ${range.stable}`,
      });
      await fenceOthers(options, `it may hold topic "${topic}", partition ${partition}`);
    }
    await clock.sleep(pollMs);
  }
}

/**
 * The checkpoint of a partition, once no transaction is open that may move it. The log waits for such a
 * transaction; one that stays open is of an instance that died between its offsets and its commit, and is fenced.
 */
export async function settledCheckpoint(
  options: TakeoverOptions,
  topic: string,
  partition: number,
): Promise<CommittedOffset | undefined> {
  const { log, clock, facts } = options;
  const asking = log.committedOffsets(facts.group, topic, [partition]);
  const { predecessor } = options;
  if (predecessor !== undefined) {
    const answer = await answerWithin(clock, predecessorStuckAfterMs, asking);
    if (answer !== undefined) return answer.get(partition);
    await fencePredecessor(options, `it left the checkpoint of ${topic}/${partition} open`);
  }
  const answer = await answerOnceEnded(clock, asking, () =>
    fenceOthers(options, `it may hold the checkpoint of topic "${topic}", partition ${partition}`),
  );
  return answer.get(partition);
}

/** Ends what the former owner of a partition left open, unless it has ended in good order. */
async function fencePredecessor(
  { catalog, log, listener, predecessor }: TakeoverOptions,
  reason: string,
): Promise<void> {
  if (predecessor === undefined || catalog.get('instance', predecessor) === undefined) return;
  listener({ event: 'fencing', transactionalId: predecessor, reason });
  await log.fence(predecessor);
}

export type FencingOptions = Pick<TakeoverOptions, 'catalog' | 'log' | 'listener' | 'own'>;

/**
 * Ends the open transactions of the pipeline's other instances, and that of a twin, which had this one's name and is gone.
 * A live one opens its producer again and goes on.
 */
export async function fenceOthers(
  { catalog, log, listener, own }: FencingOptions,
  reason: string,
): Promise<void> {
  const fenced = new Set(own === undefined ? [] : [own.name]);
  for (;;) {
    await catalog.read();
    const others = catalog.all('instance').filter(({ name }) => !fenced.has(name));
    if (others.length === 0) break;
    for (const { name } of others) {
      listener({ event: 'fencing', transactionalId: name, reason });
      await log.fence(name);
      fenced.add(name);
    }
    // One of them may have had a record of the catalog open, with others' entries hidden behind it.
  }
  await own?.renew();
}

async function restore(
  options: TableTakeover,
  session: StateSession,
  partition: number,
  range: OffsetRange,
): Promise<StateMark> {
  const { facts, clock, listener } = options;
  const found = await session.mark();
  const { topicId } = stateTopicOf(facts);
  const isUsable = found !== undefined && found.topicId === topicId;
  if (isUsable && found.offset > range.end)
    throw await aheadOfLog(options, partition, found.offset);
  // Swaps are of the output topic; a changelog beside it tells its generations record by record.
  const swapped = isJoining(facts) ? 0 : generationStart(facts.swaps, partition);
  const firstOffset = Math.max(range.start, swapped);
  const start = isUsable ? found : await emptyState(session, topicId, firstOffset);
  if (start.offset >= range.end) return start;
  const startedMs = clock.monotonic();
  const cause: RestoreCause = isUsable ? 'behind' : found === undefined ? 'empty' : 'foreign';
  const reason = isUsable
    ? `its state stands at offset ${start.offset} of ${range.end}`
    : 'it has no usable state';
  listener({ event: 'restoring', flow: facts.flow.name, partition, cause, reason });
  const { mark, records } = await catchUp({
    ...options,
    session,
    partition,
    start,
    end: range.end,
  });
  const durationMs = clock.monotonic() - startedMs;
  listener({ event: 'restored', flow: facts.flow.name, partition, cause, records, durationMs });
  return mark;
}

/**
 * Why the state stands beyond the end that the output topic had. Either somebody else has taken both further meanwhile
 * (simulation seed 371), or the topic has lost its end: rebuilt from what is left, the state would forget rows that the
 * checkpoint says are applied.
 */
async function aheadOfLog(
  { log, facts }: TakeoverOptions,
  partition: number,
  offset: number,
): Promise<FlowError> {
  const { topic } = stateTopicOf(facts);
  const end = (await log.offsetRanges(topic, [partition])).get(partition)?.end ?? 0;
  if (offset <= end) {
    return new FlowError('TASK_MIGRATED', 'somebody else has taken the state further');
  }
  return new FlowError(
    'OFFSET_OUT_OF_RANGE',
    `flow "${facts.flow.name}" cannot go on: its changelog has lost records`,
    {
      detail: `Topic "${topic}", partition ${partition} ends at offset ${end}, and the state of the table has followed it up to ${offset}: ${offset - end} offsets are gone.`,
      hint: 'Nothing was written since. A broker has lost what it had acknowledged, perhaps by an unclean leader election: refresh the table fully.',
    },
  );
}

/** The state of a topic of which nothing was read yet. */
async function emptyState(
  session: StateSession,
  topicId: string,
  offset: number,
): Promise<StateMark> {
  const mark = { topicId, offset };
  await session.clear();
  await session.write({ entries: new StateEntries(), mark });
  return mark;
}

type CatchUp = TableTakeover & {
  readonly session: StateSession;
  readonly partition: number;
  readonly start: StateMark;
  readonly end: number;
};

/** Replays the output topic over the state, from where it stands to `end`. */
async function catchUp({
  facts,
  log,
  listener,
  isInterrupted,
  session,
  partition,
  start,
  end,
}: CatchUp): Promise<{ readonly mark: StateMark; readonly records: number }> {
  const stepOf = outputSteps(facts, partition);
  const reader = log.openReader();
  let mark = start;
  let records = 0;
  /** The write of the slice before: the next one is fetched and taken apart meanwhile. */
  let writing: Promise<void> = Promise.resolve();
  try {
    reader.assign(stateTopicOf(facts).topic, partition, start.offset);
    while (mark.offset < end) {
      if (isInterrupted()) throw new FlowError('TASK_MIGRATED', 'the restore was interrupted');
      for (const slice of await reader.poll(500)) {
        const step = stepOf(slice);
        await writing;
        const present = await readAt(session, step.keysNeeded, mark);
        const entries = StateEntries.of(step.apply(present));
        mark = { ...start, offset: slice.nextOffset };
        writing = session.write({ entries, mark }).then(() => entries.release());
        // Whoever awaits it hears of its failure; until then it is nobody's.
        writing.catch(() => undefined);
        records += step.records;
        const remaining = Math.max(0, end - mark.offset);
        listener({ event: 'restore_progress', flow: facts.flow.name, partition, remaining });
      }
    }
    await writing;
  } finally {
    await writing.catch(() => undefined);
    await reader.close();
  }
  return { mark, records };
}

/**
 * Brings the levels that outlive their rows into a state that stands at the end of the output topic, and gives where it stands
 * then. They have a position of their own in the mark: a takeover that ended in between goes on from there.
 */
async function restoreLevels(
  options: TableTakeover,
  session: StateSession,
  partition: number,
  restored: StateMark,
): Promise<StateMark> {
  const { facts, log, isInterrupted } = options;
  if (facts.levels === undefined || isJoining(facts) || isSifting(facts)) return restored;
  const { topic, topicId } = facts.levels;
  const range = await settledRange(options, topic, partition);
  refuseLostStart(options, facts.levels, partition, range);
  const { levels } = restored;
  const known = levels?.topicId === topicId ? levels.offset : range.start;
  let offset = known >= range.start && known <= range.end ? known : range.start;
  if (offset >= range.end) return restored;
  let mark = restored;
  const stepOf = levelSteps(facts);
  const reader = log.openReader();
  try {
    reader.assign(topic, partition, offset);
    while (offset < range.end) {
      if (isInterrupted()) throw new FlowError('TASK_MIGRATED', 'the restore was interrupted');
      for (const slice of await reader.poll(500)) {
        const step = stepOf(slice);
        const levels = step.apply(await readAt(session, step.keysNeeded, mark));
        offset = slice.nextOffset;
        mark = { ...restored, levels: { topicId, offset } };
        await session.write({ entries: StateEntries.of(levels), mark });
      }
    }
  } finally {
    await reader.close();
  }
  return mark;
}

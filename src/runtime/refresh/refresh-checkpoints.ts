import { FlowError } from '../../base/errors.ts';
import type { FlowPlan, PipelinePlan } from '../../plan/pipeline-plan.ts';
import { groupOf, repartitionTopicOf, sourcesOf, tableOf } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CommittedOffset, Log } from '../../ports/log.ts';
import type { CheckpointMove, CheckpointRow } from '../../refresh/checkpoint-move.ts';
import { movedMetadata, parseFlowMetadata, parseTableMetadata } from '../../task/row-account.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import { firstPartitions } from '../takeover/added-partitions.ts';
import { endOpenOver } from '../takeover/end-open.ts';
import {
  checkpointMark,
  generationOf,
  markedFirst,
  markOfCheckpoint,
  tableGeneration,
  writersOf,
} from '../takeover/generation.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import type { Catalog } from '../topics/catalog.ts';
import { hasBegun, type LockFacts, lockFlows, markBegun, unlockFlows } from '../topics/locks.ts';
import { answerOnceEnded } from '../worker/answer-within.ts';
import { numbersTo } from './refresh-facts.ts';

/** What every command that changes checkpoints from outside works with. */
export type OutsideOptions = {
  readonly log: Log;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  readonly listener: RuntimeListener;
  /** The command as a person would repeat it. */
  readonly command: string;
  /** Tells this attempt from others. */
  readonly token: string;
};

export type KnownCheckpoint = CheckpointRow & {
  readonly topicId: string;
  /** The incarnation of the topic that the checkpoint is of, as the catalog knows; undefined: unknown. */
  readonly checkpointTopicId: string | undefined;
  readonly metadata: string | undefined;
};

/** How long a lock of a short command counts: far more than it takes, and soon over after a crash. */
const shortLockMs = 60_000;
const pollMs = 100;
/** A service looks for locks every second, and finishes what is open. */
const waitMsDefault = 15_000;

/** The checkpoints of a flow: of its sources in the order of the query, then between its stages. */
export async function readCheckpoints(
  { log, catalog, pipeline, plan }: Pick<OutsideOptions, 'log' | 'catalog' | 'pipeline' | 'plan'>,
  flow: FlowPlan,
): Promise<readonly KnownCheckpoint[]> {
  const group = groupOf(pipeline, flow.name);
  const repartition = repartitionTopicOf(pipeline, flow.name);
  const sources = [...new Set(sourcesOf(plan, flow).map(({ topic }) => topic))];
  const described = await log.describeTopics([...sources, repartition]);
  const expectations = tableOf(plan, flow).expectations.map(({ name }) => name);
  const rows: KnownCheckpoint[] = [];
  for (const topic of [...sources, repartition]) {
    const found = described.get(topic);
    if (found === undefined) continue;
    const stage = topic === repartition ? 'repartition' : 'source';
    const numbers = numbersTo(found.partitions);
    const committed = await log.committedOffsets(group, topic, numbers);
    for (const [partition, { start, stable }] of await log.offsetRanges(topic, numbers)) {
      const known = markOfCheckpoint(catalog, flow.name, { topic, partition });
      const checkpointTopicId = known?.['topicId'];
      const checkpoint = committed.get(partition);
      rows.push({
        stage,
        topic,
        partition,
        start,
        end: stable,
        committed: checkpoint?.offset,
        metadata: checkpoint?.metadata,
        isDamaged: checkpoint !== undefined && isDamaged(checkpoint, stage, expectations),
        topicId: found.topicId,
        checkpointTopicId: typeof checkpointTopicId === 'string' ? checkpointTopicId : undefined,
      });
    }
  }
  return rows;
}

function isDamaged(
  { metadata }: CommittedOffset,
  stage: CheckpointRow['stage'],
  expectations: readonly string[],
): boolean {
  const counters =
    stage === 'source' ? parseFlowMetadata(metadata, expectations) : parseTableMetadata(metadata);
  return counters === undefined;
}

/**
 * Waits until nobody is in a group: a service that finds its flow locked lets go of it. Throws GROUP_BUSY, and tells who
 * is there, where somebody stays.
 */
export async function awaitNobody(
  { log, clock, waitMs, onWait }: WaitOptions,
  group: string,
): Promise<void> {
  const untilMs = clock.monotonic() + (waitMs ?? waitMsDefault);
  let isTold = false;
  for (;;) {
    const members = await log.groupMembers(group);
    if (members.length === 0) return;
    if (!isTold) onWait?.(members.length);
    isTold = true;
    if (clock.monotonic() >= untilMs) {
      const names = members.map(
        ({ memberId, instanceId, host }) => `${instanceId ?? memberId} at ${host}`,
      );
      throw new FlowError('GROUP_BUSY', `group "${group}" has members that do not let go`, {
        detail: `In the group: ${names.join(', ')}. Whoever reads goes on from what it knows, and would overwrite what is set from outside.`,
        hint: 'Stop those instances first. One that was killed counts until its session has timed out.',
      });
    }
    await clock.sleep(pollMs);
  }
}

export type WaitOptions = Pick<OutsideOptions, 'log' | 'clock'> & {
  readonly waitMs?: number | undefined;
  /** Told once, with the number of members, where there is anything to wait for. */
  readonly onWait?: ((members: number) => void) | undefined;
};

/**
 * Runs a deed while nobody reads for the flows. Invariant: between the lock and its end no instance takes a partition
 * over, and every transaction that might still move a checkpoint has ended. A lasting lock outlives a crash, and once its
 * deed has begun to change something an error, too, so that only the same command goes on.
 */
export async function whileNobodyReads<Result>(
  options: OutsideOptions & { readonly isLasting?: boolean; readonly waitMs?: number },
  flows: readonly string[],
  deed: (begin: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const { catalog, clock, pipeline, command, token } = options;
  const untilMs = options.isLasting === true ? undefined : clock.now() + shortLockMs;
  const locks = flows.map((flow): LockFacts => ({ flow, command, token, untilMs }));
  await lockFlows(catalog, locks, clock.now());
  let isDone = false;
  let isBegun = flows.some((flow) => hasBegun(catalog, flow, token));
  try {
    for (const flow of flows) await awaitNobody(options, groupOf(pipeline, flow));
    for (const flow of flows) await settleCheckpoints(options, flow);
    const result = await deed(async () => {
      isBegun = options.isLasting === true;
      if (isBegun) await markBegun(catalog, locks, clock.now());
    });
    isDone = true;
    return result;
  } finally {
    if (isDone || !isBegun) await unlockFlows(catalog, locks, clock.now());
  }
}

/** Ends what a dead instance left open over the checkpoints of a flow. */
export async function settleCheckpoints(
  options: Pick<OutsideOptions, 'log' | 'catalog' | 'clock' | 'pipeline' | 'plan' | 'listener'>,
  flow: string,
): Promise<void> {
  const { log, clock, pipeline, plan } = options;
  const known = plan.flows.filter(({ name }) => name === flow);
  // One that is gone from the plan, whose checkpoints are carried to another name, may have read what any other reads.
  const readers = known.length === 0 ? plan.flows : known;
  const topics = [
    ...readers.flatMap((one) => sourcesOf(plan, one).map(({ topic }) => topic)),
    repartitionTopicOf(pipeline, flow),
  ];
  const asking = (async () => {
    for (const { name, partitions } of (await log.describeTopics([...new Set(topics)])).values()) {
      await log.committedOffsets(groupOf(pipeline, flow), name, numbersTo(partitions));
    }
    return 'settled';
  })();
  await answerOnceEnded(clock, asking, () => endOpenOver(options, flow));
}

/** Sets checkpoints, and remembers which incarnation of each topic they are of. Rows are not touched. */
export async function applyMoves(
  options: OutsideOptions,
  flow: FlowPlan,
  moves: readonly CheckpointMove[],
  rows: readonly KnownCheckpoint[],
): Promise<void> {
  const { log, catalog, clock, pipeline, plan, command } = options;
  const nowMs = clock.now();
  const countOf = (topic: string): number => rows.filter((row) => row.topic === topic).length;
  const rowOf = ({ topic, partition }: CheckpointMove) =>
    rows.find((row) => row.topic === topic && row.partition === partition);
  await log.commitCheckpoint(
    groupOf(pipeline, flow.name),
    moves.map((move) => {
      const { topic, partition, offset, isRepaired } = move;
      return {
        topic,
        partition,
        offset,
        metadata: isRepaired ? movedMetadata : (rowOf(move)?.metadata ?? movedMetadata),
      };
    }),
  );
  await catalog.write(
    [
      ...moves.map((move) => {
        const name = `${flow.name}/${partitionKey(move.topic, move.partition)}`;
        const topicId = rowOf(move)?.topicId ?? '';
        const known = markOfCheckpoint(catalog, flow.name, move);
        const partitions = firstPartitions(known, topicId, countOf(move.topic));
        // Whoever moves it takes the table that is read as it is now.
        const generation = tableGeneration(catalog, writersOf(plan, move.topic));
        const of = generationOf(catalog, flow.name);
        return {
          kind: 'checkpoint' as const,
          name,
          value: checkpointMark(
            topicId,
            partitions,
            { generation, of },
            markedFirst(known, topicId),
          ),
        };
      }),
      eventEntry({ flow: flow.name, what: 'checkpoint_moved', nowMs, command, facts: { moves } }),
    ],
    nowMs,
  );
}

/** An entry of the pipeline's event log: what a person did to it. */
export function eventEntry({ flow, what, nowMs, command, facts }: EventFacts) {
  return {
    kind: 'event' as const,
    name: `${new Date(nowMs).toISOString()}/${flow}/${what}`,
    value: { flow, what, atMs: nowMs, command, ...facts },
  };
}

type EventFacts = {
  readonly flow: string;
  readonly what: string;
  readonly nowMs: number;
  readonly command: string;
  readonly facts: Readonly<Record<string, unknown>>;
};

import { FlowError } from '../../base/errors.ts';
import type { FlowPlan } from '../../plan/pipeline-plan.ts';
import { groupOf, levelsTopicOf, repartitionTopicOf, tableOf } from '../../plan/topology.ts';
import type { Log, TopicDescription } from '../../ports/log.ts';
import { flowChanges, needsRefresh } from '../../refresh/changes.ts';
import { type DeployedFlow, deployedFlow, readDeployedFlow } from '../../refresh/deployed-flow.ts';
import { movedMetadata } from '../../task/row-account.ts';
import { movedSettled } from '../inspect/settled-letters.ts';
import { markedPartitions } from '../takeover/added-partitions.ts';
import {
  checkpointMark,
  generationOf,
  markedFirst,
  markedGeneration,
  markOfCheckpoint,
  swapsOf,
} from '../takeover/generation.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import { carriedEntries } from '../topics/carried-flows.ts';
import { hasBegun } from '../topics/locks.ts';
import { writerEntry, writerOf } from '../topics/table-writer.ts';
import { movedLetters } from '../worker/letter-owner.ts';
import { copiedConfigs, copyRecords } from './copy-topic.ts';
import {
  eventEntry,
  type KnownCheckpoint,
  type OutsideOptions,
  readCheckpoints,
  whileNobodyReads,
} from './refresh-checkpoints.ts';
import { numbersTo } from './refresh-facts.ts';

/**
 * Hands the checkpoint of a flow that is gone to a new one of the same query. Invariant: the former name keeps nothing
 * that could be resumed, so that it never goes on from a checkpoint that is not its own; and no row is on its way
 * between the stages of the former flow, where the new one would not find it. An attempt that was killed or failed is
 * gone on with by the next: both names stay locked until one comes to its end.
 */
export async function carryCheckpoint(
  options: OutsideOptions,
  before: string,
  after: FlowPlan,
): Promise<readonly KnownCheckpoint[]> {
  const { log, catalog, pipeline, plan } = options;
  await catalog.read();
  // The same for every attempt, so that one that was interrupted is gone on with.
  const token = `carry ${before} ${after.name}`;
  const isResumed = hasBegun(catalog, before, token);
  // What the former name has is no source of truth any more, and may be gone in part.
  const isRenamed = isResumed && catalog.get('flow', after.name) !== undefined;
  const definition = deployedFlow(after, tableOf(plan, after));
  if (!isRenamed) {
    refuseOther(before, formerDefinition(options, before, after), after.name, definition);
  }
  const held = { ...options, token, isLasting: true };
  return whileNobodyReads(held, [before, after.name], async (begin) => {
    if (isRenamed) {
      const carried = await readCheckpoints(options, after);
      await removeFormer(options, before);
      return carried.filter(({ committed }) => committed !== undefined);
    }
    const rows = await readCheckpoints(options, { ...after, name: before });
    refusePending(before, rows);
    if (!isResumed) await refuseStarted(log, pipeline, after.name, rows);
    await begin();
    await copyOwnTopics(options, before, after.name);
    const moved = await commitTo(options, after.name, before, rows);
    await rename(options, { before, after, definition, rows: moved });
    await removeFormer(options, before);
    return moved;
  });
}

/** What the former name still has, once the new one has it all. */
async function removeFormer(
  { log, catalog, clock, pipeline }: OutsideOptions,
  before: string,
): Promise<void> {
  await log.deleteCheckpoints(groupOf(pipeline, before));
  await log.deleteTopics([repartitionTopicOf(pipeline, before), levelsTopicOf(pipeline, before)]);
  const known = (['checkpoint', 'takeover'] as const).flatMap((kind) =>
    catalog.all(kind).filter(({ name }) => name.startsWith(`${before}/`)),
  );
  await catalog.write(
    [
      ...known.map(({ kind, name }) => ({ kind, name, value: undefined })),
      { kind: 'generation' as const, name: before, value: undefined },
      { kind: 'flow' as const, name: before, value: undefined },
    ],
    clock.now(),
  );
}

/** The checkpoints that would be carried; an error where they can't be. Nothing is held or written. */
export async function previewCarry(
  options: OutsideOptions,
  before: string,
  after: FlowPlan,
): Promise<readonly KnownCheckpoint[]> {
  const { log, catalog, pipeline, plan } = options;
  await catalog.read();
  const former = formerDefinition(options, before, after);
  refuseOther(before, former, after.name, deployedFlow(after, tableOf(plan, after)));
  const rows = await readCheckpoints(options, { ...after, name: before });
  await refuseStarted(log, pipeline, after.name, rows);
  return rows.filter(({ committed }) => committed !== undefined);
}

function formerDefinition(
  { catalog, plan }: OutsideOptions,
  before: string,
  after: FlowPlan,
): DeployedFlow {
  const former = readDeployedFlow(catalog.get('flow', before)?.value);
  if (former === undefined) {
    const known = catalog.all('flow').map(({ name }) => name);
    throw new FlowError('USAGE', `the catalog knows no flow "${before}"`, {
      hint: known.length === 0 ? 'No flow ever ran.' : `It knows: ${known.join(', ')}.`,
    });
  }
  if (plan.flows.some(({ name }) => name === before)) {
    throw new FlowError('USAGE', `flow "${before}" is still part of the pipeline`, {
      hint: 'A checkpoint is carried over from a flow that is gone: two flows never share one.',
    });
  }
  if (catalog.get('flow', after.name) !== undefined) {
    throw new FlowError('USAGE', `flow "${after.name}" has run already`, {
      detail: 'It has a checkpoint of its own, and its rows are merged with those that are there.',
    });
  }
  return former;
}

function refuseOther(
  before: string,
  former: DeployedFlow,
  after: string,
  definition: DeployedFlow,
): void {
  const changes = flowChanges(former, definition);
  if (!needsRefresh(changes)) return;
  const reasons = changes.filter(({ effect }) => effect === 'refresh');
  throw new FlowError(
    'DEFINITION_CHANGED',
    `flow "${after}" cannot go on from the checkpoint of flow "${before}"`,
    {
      detail: reasons.map(({ id, text }) => `${text} (${id})`).join(' '),
      hint: 'A new flow name keeps its own checkpoint: run it, and it reads its sources from the beginning.',
    },
  );
}

function refusePending(before: string, rows: readonly KnownCheckpoint[]): void {
  const pending = rows.filter(
    ({ stage, committed, start, end }) =>
      stage === 'repartition' && Math.max(committed ?? start, start) < end,
  );
  if (pending.length === 0) return;
  throw new FlowError('USAGE', `flow "${before}" has rows between its stages`, {
    detail: `Of ${pending.map(({ topic, partition }) => `${topic}/${partition}`).join(', ')} not everything is merged.`,
    hint: 'Run the pipeline once more with its former name: tidemark run --once.',
  });
}

async function refuseStarted(
  log: Log,
  pipeline: string,
  after: string,
  rows: readonly KnownCheckpoint[],
): Promise<void> {
  for (const { stage, topic, partition } of rows) {
    if (stage !== 'source') continue;
    const known = await log.committedOffsets(groupOf(pipeline, after), topic, [partition]);
    if (known.size === 0) continue;
    throw new FlowError('USAGE', `group "${groupOf(pipeline, after)}" has a checkpoint already`);
  }
}

/** The topics between and beside the stages carry the flow's name: the new flow gets its own, with the same levels. */
async function copyOwnTopics(
  { log, catalog, clock, pipeline }: OutsideOptions,
  before: string,
  after: string,
): Promise<void> {
  for (const [role, nameOf] of [
    ['repartition', repartitionTopicOf],
    ['levels', levelsTopicOf],
  ] as const) {
    const from = nameOf(pipeline, before);
    const to = nameOf(pipeline, after);
    const found = (await log.describeTopics([from])).get(from);
    if (found === undefined) continue;
    await log.createTopics([
      {
        name: to,
        partitions: found.partitions,
        replicationFactor: -1,
        configs: copiedConfigs(found),
      },
    ]);
    if (role === 'levels') await copyCommitted(log, found, to);
    const value = { role, flow: after, partitions: found.partitions };
    await catalog.write([{ kind: 'topic', name: to, value }], clock.now());
  }
}

async function copyCommitted(
  log: Log,
  { name, partitions }: TopicDescription,
  to: string,
): Promise<void> {
  const producer = await log.openProducer(undefined);
  try {
    const found = await log.offsetRanges(name, numbersTo(partitions));
    const ranges = [...found].map(
      ([partition, { start, stable }]) => [partition, { start, end: stable }] as const,
    );
    await copyRecords(log, producer, { from: name, to, ranges });
    await producer.commit([]);
  } finally {
    await producer.close();
  }
}

/** The checkpoints under the new name; between its stages, where nothing is yet, only the account goes on. */
async function commitTo(
  { log, pipeline }: OutsideOptions,
  after: string,
  before: string,
  rows: readonly KnownCheckpoint[],
): Promise<readonly KnownCheckpoint[]> {
  const own = repartitionTopicOf(pipeline, after);
  const ownId = (await log.describeTopics([own])).get(own)?.topicId;
  const moved = rows.flatMap((row): KnownCheckpoint[] => {
    if (row.committed === undefined || row.topic === repartitionTopicOf(pipeline, before)) {
      const isCarried = row.stage === 'repartition' && row.committed !== undefined;
      return isCarried && ownId !== undefined
        ? [{ ...row, topic: own, committed: 0, topicId: ownId, checkpointTopicId: ownId }]
        : [];
    }
    return [row];
  });
  await log.commitCheckpoint(
    groupOf(pipeline, after),
    moved.map(({ topic, partition, committed, metadata }) => ({
      topic,
      partition,
      offset: committed ?? 0,
      metadata: metadata ?? movedMetadata,
    })),
  );
  return moved;
}

type Renamed = {
  readonly before: string;
  readonly after: FlowPlan;
  readonly definition: DeployedFlow;
  readonly rows: readonly KnownCheckpoint[];
};

async function rename(
  { log, catalog, clock, command, plan }: OutsideOptions,
  { before, after: flow, definition, rows }: Renamed,
): Promise<void> {
  const nowMs = clock.now();
  const after = flow.name;
  const { topic: output, deadLetterTopic } = tableOf(plan, flow);
  const letters = await lettersUpToNow(log, deadLetterTopic);
  const isWriter = writerOf(catalog, output) === before;
  const generation = generationOf(catalog, before);
  const swaps = swapsOf(catalog, before);
  const markOf = (topic: string, partition: number) =>
    markOfCheckpoint(catalog, before, { topic, partition });
  await catalog.write(
    [
      ...rows.map(({ topic, partition, checkpointTopicId }) => ({
        kind: 'checkpoint' as const,
        name: `${after}/${partitionKey(topic, partition)}`,
        value:
          checkpointTopicId === undefined
            ? undefined
            : checkpointMark(
                checkpointTopicId,
                markedPartitions(markOf(topic, partition), checkpointTopicId),
                { generation: markedGeneration(markOf(topic, partition)), of: generation },
                markedFirst(markOf(topic, partition), checkpointTopicId),
              ),
      })),
      ...(generation === generationOf(catalog, after)
        ? []
        : [{ kind: 'generation' as const, name: after, value: { generation, swaps } }]),
      ...movedLetters(catalog, { before, after }, letters),
      ...movedSettled(catalog, { before, after }),
      ...(isWriter ? [writerEntry(output, after)] : []),
      ...carriedEntries(before, after),
      eventEntry({
        flow: after,
        what: 'checkpoint_carried',
        nowMs,
        command,
        facts: { from: before },
      }),
      // The last of them, which tells the next attempt that all are there.
      { kind: 'flow' as const, name: after, value: definition },
    ],
    nowMs,
  );
}

/** Where a dead-letter topic ends; undefined: there is none. */
async function lettersUpToNow(log: Log, topic: string | undefined) {
  const found = topic === undefined ? undefined : (await log.describeTopics([topic])).get(topic);
  if (found === undefined) return undefined;
  const { name, topicId, partitions } = found;
  const ranges = await log.offsetRanges(name, numbersTo(partitions));
  return { topicId, ends: numbersTo(partitions).map((at) => ranges.get(at)?.end ?? 0) };
}

import { FlowError } from '../../base/errors.ts';
import type { FlowPlan } from '../../plan/pipeline-plan.ts';
import { catalogTopicOf, groupOf, hasStage, levelsTopicOf, tableOf } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PipelineOnLog } from '../inspect/pipeline-facts.ts';
import { copiedConfigs, copyRecords } from '../refresh/copy-topic.ts';
import { awaitNobody, settleCheckpoints } from '../refresh/refresh-checkpoints.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import { fenceOthers } from '../takeover/takeover.ts';
import { stuckAfterMs } from '../worker/answer-within.ts';
import { type Catalog, catalogRecord } from './catalog.ts';
import { lockFlows, unlockFlows } from './locks.ts';
import { forgetWriter, nameWriter } from './named-writers.ts';
import { isOnlyWriter, writerEntry, writerOf } from './table-writer.ts';

export type WriterOptions = PipelineOnLog & {
  readonly listener: RuntimeListener;
  readonly clock: Clock;
  readonly instance: string;
};

type Succession = WriterOptions & {
  readonly catalog: Catalog;
  readonly flow: FlowPlan;
  /** The output topic of the table. */
  readonly topic: string;
  readonly before: string;
};

/** A live instance lets go within a second or two, a dead one when its session has timed out. */
const waitMs = 90_000;
const pollMs = 500;

/**
 * Takes a table over from a flow of another name. Invariant: two flows never write a table at once, whichever instances run with the one and the
 * other definition, and what is known of keys without rows goes on with the table: a late row does not bring one back (FR-38).
 *
 * The last start has its way. An instance that runs the former flow lets go of it as for a command, and finds then that
 * the table has another writer; a former definition that is started again takes the table back in the same way.
 */
export async function takeTableOver(
  options: WriterOptions,
  catalog: Catalog,
  flow: FlowPlan,
): Promise<void> {
  if (!isOnlyWriter(flow)) return;
  const { topic } = tableOf(options.plan, flow);
  const before = writerOf(catalog, topic);
  if (before === undefined || before === flow.name) return;
  options.listener({ event: 'succeeding', flow: flow.name, before, table: flow.target });
  await succeed({ ...options, catalog, flow, topic, before });
}

async function succeed(succession: Succession): Promise<void> {
  const { catalog, clock, flow, topic, before, instance, log, pipeline } = succession;
  const lock = {
    flow: before,
    command: `tidemark run, where flow ${flow.name} writes its table now`,
    token: `${flow.name} ${instance} ${clock.now()}`,
    untilMs: clock.now() + 2 * waitMs,
  };
  const untilMs = clock.monotonic() + waitMs;
  while (!(await isLocked(succession, lock, untilMs))) {
    // Another instance of this definition was at it, or a command.
    if (writerOf(catalog, topic) === flow.name) return;
    await clock.sleep(pollMs);
  }
  try {
    await awaitNobody({ log, clock, waitMs }, groupOf(pipeline, before));
    await settleCheckpoints(succession, before);
    await handOver(succession);
  } finally {
    await unlockFlows(catalog, [lock], clock.now());
  }
}

async function isLocked(
  { catalog, clock }: Succession,
  lock: Parameters<typeof lockFlows>[1][number],
  untilMs: number,
): Promise<boolean> {
  try {
    await lockFlows(catalog, [lock], clock.now());
    return true;
  } catch (error) {
    const isHeld = error instanceof FlowError && error.code === 'TABLE_LOCKED';
    if (!isHeld || clock.monotonic() >= untilMs) throw error;
    return false;
  }
}

/**
 * In one transaction the levels and the name of the writer: of two instances that are at it the later one fences the other, and finds out what that
 * one has done before it does anything.
 */
async function handOver(succession: Succession): Promise<void> {
  const { catalog, clock, flow, topic, before, log, pipeline } = succession;
  const writerId = `${pipeline}.writer.${flow.name}`;
  await nameWriter(catalog, writerId, clock.now());
  const producer = await log.openProducer(writerId);
  try {
    await catalog.read();
    if (writerOf(catalog, topic) === flow.name) return;
    const from = levelsTopicOf(pipeline, before);
    const found = (await log.describeTopics([from])).get(from);
    const levels = levelsTopicOf(pipeline, flow.name);
    if (found !== undefined && hasStage(flow)) {
      const { partitions } = found;
      const configs = copiedConfigs(found);
      await log.createTopics([{ name: levels, partitions, replicationFactor: -1, configs }]);
      const ranges = await settledLevels(succession, from, partitions);
      await copyRecords(log, producer, { from, to: levels, ranges });
      if (catalog.get('topic', levels) === undefined) {
        const value = { role: 'levels', flow: flow.name, partitions };
        await catalog.write([{ kind: 'topic', name: levels, value }], clock.now());
      }
    }
    const entry = writerEntry(topic, flow.name);
    producer.append(catalogTopicOf(pipeline), 0, catalogRecord(entry, clock.now()));
    await producer.commit([]);
    await catalog.read();
    await forgetWriter(catalog, writerId, clock.now());
  } finally {
    await producer.close();
  }
}

/** What the former flow left open ends first: a level that its last commit wrote counts. */
async function settledLevels(
  succession: Succession,
  topic: string,
  partitions: number,
): Promise<readonly (readonly [number, SettledRange])[]> {
  const ranges: (readonly [number, SettledRange])[] = [];
  for (const partition of numbersTo(partitions)) {
    ranges.push([partition, await settledPartition(succession, topic, partition)]);
  }
  return ranges;
}

type SettledRange = { readonly start: number; readonly end: number };

async function settledPartition(
  { log, clock, catalog, listener }: Succession,
  topic: string,
  partition: number,
): Promise<SettledRange> {
  const stuckAtMs = clock.monotonic() + stuckAfterMs;
  let isFenced = false;
  for (;;) {
    const range = (await log.offsetRanges(topic, [partition])).get(partition);
    if (range === undefined) return { start: 0, end: 0 };
    if (range.stable >= range.end) return range;
    if (!isFenced && clock.monotonic() >= stuckAtMs) {
      isFenced = true;
      const reason = `it may hold topic "${topic}", partition ${partition}`;
      await fenceOthers({ catalog, log, listener, own: undefined }, reason);
    }
    await clock.sleep(pollMs);
  }
}

import { FlowError } from '../../base/errors.ts';
import type { FlowPlan, PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { catalogTopicOf, groupOf, hasStage, levelsTopicOf, tableOf } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LogProducer, TopicDescription } from '../../ports/log.ts';
import type { FlowFacts } from '../inspect/flow-facts.ts';
import type { PipelineOnLog } from '../inspect/pipeline-facts.ts';
import { appendCopy } from '../refresh/append-copy.ts';
import { awaitNobody, settleCheckpoints } from '../refresh/refresh-checkpoints.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import { fenceOthers } from '../takeover/takeover.ts';
import { type Catalog, catalogRecord, type KnownCatalog } from './catalog.ts';
import { lockFlows, unlockFlows } from './locks.ts';

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
const stuckAfterMs = 2_000;
const copyBytesMax = 8 * 1024 * 1024;

/** Whether one flow alone may write the table: rows meet by key in its state, which another flow would know nothing of. */
function isOnlyWriter(flow: FlowPlan): boolean {
  return flow.kind === 'replace_using' || (flow.kind === 'auto_cdc' && hasStage(flow));
}

/** The flow that writes a table, as the catalog has it; undefined: none ever did. */
export function writerOf(catalog: KnownCatalog, topic: string): string | undefined {
  const flow = catalog.get('writer', topic)?.value['flow'];
  return typeof flow === 'string' ? flow : undefined;
}

/** What the catalog has yet to be told of the tables of a pipeline that no flow has written. */
export function firstWriters(catalog: KnownCatalog, plan: PipelinePlan): readonly WriterEntry[] {
  return plan.flows.flatMap((flow) => {
    const { topic } = tableOf(plan, flow);
    const isNew = isOnlyWriter(flow) && writerOf(catalog, topic) === undefined;
    return isNew ? [writerEntry(topic, flow.name)] : [];
  });
}

type WriterEntry = {
  readonly kind: 'writer';
  readonly name: string;
  readonly value: { readonly flow: string };
};

export function writerEntry(topic: string, flow: string): WriterEntry {
  return { kind: 'writer', name: topic, value: { flow } };
}

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
  const producer = await log.openProducer(`${pipeline}.writer.${flow.name}`);
  try {
    await catalog.read();
    if (writerOf(catalog, topic) === flow.name) return;
    const from = levelsTopicOf(pipeline, before);
    const found = (await log.describeTopics([from])).get(from);
    const levels = levelsTopicOf(pipeline, flow.name);
    if (found !== undefined && hasStage(flow)) {
      const { partitions, configs } = found;
      const kept = Object.fromEntries(
        ['cleanup.policy', 'retention.ms'].flatMap((name) => {
          const value = configs.get(name);
          return value === undefined ? [] : [[name, value]];
        }),
      );
      await log.createTopics([{ name: levels, partitions, replicationFactor: -1, configs: kept }]);
      await copyLevels(succession, producer, found, levels);
      if (catalog.get('topic', levels) === undefined) {
        const value = { role: 'levels', flow: flow.name, partitions };
        await catalog.write([{ kind: 'topic', name: levels, value }], clock.now());
      }
    }
    const entry = writerEntry(topic, flow.name);
    producer.append(catalogTopicOf(pipeline), 0, catalogRecord(entry, clock.now()));
    await producer.commit([]);
    await catalog.read();
  } finally {
    await producer.close();
  }
}

async function copyLevels(
  succession: Succession,
  producer: LogProducer,
  { name, partitions }: TopicDescription,
  to: string,
): Promise<void> {
  const { log } = succession;
  const reader = log.openReader();
  try {
    for (const partition of numbersTo(partitions)) {
      const { start, end } = await settledLevels(succession, name, partition);
      if (start >= end) continue;
      reader.assign(name, partition, start);
      for (let position = start; position < end; ) {
        for (const { records, nextOffset } of await reader.poll(pollMs)) {
          while (records.next()) appendCopy(producer, to, partition, records);
          position = nextOffset;
        }
        if (producer.pendingBytes > copyBytesMax) await producer.drain(copyBytesMax / 2);
      }
      reader.unassign(name, partition);
    }
  } finally {
    await reader.close();
  }
}

/** What the former flow left open ends first: a level that its last commit wrote counts. */
async function settledLevels(
  { log, clock, catalog, listener }: Succession,
  topic: string,
  partition: number,
): Promise<{ readonly start: number; readonly end: number }> {
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

/** A refresh would hold the flows of its files only, while the former one went on writing. */
export function refuseOtherWriter(
  catalog: KnownCatalog,
  plan: PipelinePlan,
  { name, topic }: Pick<TablePlan, 'name' | 'topic'>,
): void {
  const writer = writerOf(catalog, topic);
  const flow = plan.flows.find((one) => one.target === name && isOnlyWriter(one))?.name;
  if (writer === undefined || flow === undefined || writer === flow) return;
  throw new FlowError(
    'USAGE',
    `table "${name}" is written by flow "${writer}", and by flow "${flow}" in these files`,
    {
      detail: 'A refresh would not keep the former flow from writing meanwhile.',
      hint: `Start the pipeline with these files first: flow "${flow}" takes the table over, and its rows stay. Or carry the checkpoint, where the query is the same: tidemark checkpoint carry ${writer} ${flow}`,
    },
  );
}

/** An instance whose flow was succeeded by one of another name has no say in the table any more. */
export function succeededError(
  catalog: KnownCatalog,
  { flow, output }: Pick<FlowFacts, 'flow' | 'output'>,
): FlowError | undefined {
  if (!isOnlyWriter(flow)) return undefined;
  const writer = writerOf(catalog, output.topic);
  if (writer === undefined || writer === flow.name) return undefined;
  return new FlowError(
    'DEFINITION_CHANGED',
    `table "${flow.target}" is written by flow "${writer}" now`,
    {
      detail: `A definition in which flow "${flow.name}" has given way to flow "${writer}" was started after this instance.`,
      hint: 'Start the instance with the present files. Started again with these, it takes the table back.',
    },
  );
}

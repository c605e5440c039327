import { FlowError } from '../base/errors.ts';
import { topicIdHex } from '../data/provenance.ts';
import type {
  FlowPlan,
  PipelinePlan,
  ReplaceUsingFlowPlan,
  SourcePlan,
  TablePlan,
} from '../plan/pipeline-plan.ts';
import { groupOf, levelsTopicOf, repartitionTopicOf, sourcesOf } from '../plan/topology.ts';
import type { Log, LogReader, OffsetRange, TopicDescription } from '../ports/log.ts';
import { readDeployedFlow } from '../refresh/deployed-flow.ts';
import {
  isCompactedPolicy,
  retentionLimit,
  type SourcePartitionFacts,
} from '../refresh/retention.ts';
import type { Catalog } from './catalog.ts';
import { generationOf } from './generation.ts';

export type FactsOptions = {
  readonly log: Log;
  /** undefined: the pipeline never ran. */
  readonly catalog: Catalog | undefined;
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  readonly table: TablePlan;
  readonly flow: FlowPlan;
};

/** One partition that a flow reads or writes, with its checkpoint. */
export type StagePartition = OffsetRange & {
  readonly partition: number;
  readonly committed: number | undefined;
};

export type OwnTopic = {
  readonly topic: string;
  readonly topicId: string;
  readonly partitions: readonly StagePartition[];
};

/** All that a decision about a table needs to know, as of one moment. */
export type RefreshFacts = {
  readonly table: TablePlan;
  readonly flow: ReplaceUsingFlowPlan;
  readonly group: string;
  /** How often the table was refreshed. */
  readonly generation: number;
  /** Whether the records that are there are single rows with a number. */
  readonly isNumbered: boolean;
  readonly sources: readonly SourcePartitionFacts[];
  /** undefined where the topic does not exist. */
  readonly output: OwnTopic | undefined;
  readonly levels: OwnTopic | undefined;
  readonly repartition: OwnTopic | undefined;
};

/** Asks the log for everything; nothing is created, written or joined. */
export async function gatherFacts(options: FactsOptions): Promise<RefreshFacts> {
  const { log, catalog, pipeline, plan, table, flow } = options;
  if (flow.kind !== 'replace_using') {
    const detail =
      flow.kind === 'append'
        ? 'Append flows write it, and rows that they appended cannot be taken back yet.'
        : 'AUTO CDC flows write it, and the changes that they merged cannot be merged anew beside them yet.';
    throw new FlowError(
      'NOT_SUPPORTED',
      `a refresh of table "${table.name}" is not supported yet`,
      {
        detail,
        hint: 'Give the table a new topic and its flows new names: they start from the beginning.',
      },
    );
  }
  const before = readDeployedFlow(catalog?.get('flow', flow.name)?.value);
  const group = groupOf(pipeline, flow.name);
  const sources = sourcesOf(plan, flow);
  const chained = sources.find((source) => source.table !== undefined);
  if (chained !== undefined) {
    throw new FlowError(
      'NOT_SUPPORTED',
      `a refresh of table "${table.name}" is not supported yet`,
      {
        detail: `It reads table "${chained.name}" of the pipeline, and what would be lost is not followed through tables yet.`,
        hint: 'Give the table a new topic and its flow a new name: it starts from the beginning.',
      },
    );
  }
  const own = {
    output: table.topic,
    levels: levelsTopicOf(pipeline, flow.name),
    repartition: repartitionTopicOf(pipeline, flow.name),
  };
  const described = await log.describeTopics([
    ...new Set([...sources.map(({ topic }) => topic), ...Object.values(own)]),
  ]);
  const ownTopic = (name: string) => describeOwn(log, group, described.get(name));
  return {
    table,
    flow,
    group,
    generation: generationOf(catalog, flow.name),
    isNumbered: (before?.topic === table.topic ? before.output : table.output) === 'rows',
    sources: (
      await Promise.all(
        sources.map((source) => sourceFacts(log, group, source, described.get(source.topic))),
      )
    ).flat(),
    output: await ownTopic(own.output),
    levels: await ownTopic(own.levels),
    repartition: await ownTopic(own.repartition),
  };
}

export function numbersTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, partition) => partition);
}

async function describeOwn(
  log: Log,
  group: string,
  topic: TopicDescription | undefined,
): Promise<OwnTopic | undefined> {
  if (topic === undefined) return undefined;
  const { name, topicId } = topic;
  const numbers = numbersTo(topic.partitions);
  // Checkpoints first: an end that is read later is never behind them.
  const committed = await log.committedOffsets(group, name, numbers);
  const ranges = await log.offsetRanges(name, numbers);
  const partitions = numbers.flatMap((partition) => {
    const range = ranges.get(partition);
    return range === undefined
      ? []
      : [{ ...range, partition, committed: committed.get(partition)?.offset }];
  });
  return { topic: name, topicId, partitions };
}

async function sourceFacts(
  log: Log,
  group: string,
  source: SourcePlan,
  description: TopicDescription | undefined,
): Promise<readonly SourcePartitionFacts[]> {
  if (description === undefined) {
    throw new FlowError('TOPIC_MISSING', `source topic "${source.topic}" does not exist`, {
      detail: `Source "${source.name}" reads it. Without it no row of the table can be read again.`,
      hint: 'Create the topic again before anything else.',
    });
  }
  const topic = await describeOwn(log, group, description);
  const { configs } = description;
  const times = await edgeTimes(log, source.topic, topic?.partitions ?? []);
  return (topic?.partitions ?? []).map(({ partition, start, stable, committed }) => ({
    source: source.name,
    topic: source.topic,
    topicId: topicIdHex(description.topicId),
    partition,
    logStart: start,
    end: stable,
    committed,
    fromMs: times.get(partition)?.fromMs,
    toMs: times.get(partition)?.toMs,
    isCompacted: isCompactedPolicy(configs.get('cleanup.policy')),
    retentionMs: retentionLimit(configs.get('retention.ms')),
    retentionBytes: retentionLimit(configs.get('retention.bytes')),
    isTable: source.table !== undefined,
  }));
}

type EdgeTimes = { readonly fromMs: number | undefined; readonly toMs: number | undefined };

/** How far before the end the last record is looked for: control records and gaps may follow it. */
const lookBack = [1, 16, 1024, 65_536];

async function edgeTimes(
  log: Log,
  topic: string,
  partitions: readonly StagePartition[],
): Promise<ReadonlyMap<number, EdgeTimes>> {
  const times = new Map<number, EdgeTimes>();
  const reader = log.openReader();
  try {
    for (const { partition, start, stable } of partitions) {
      if (start >= stable) continue;
      const fromMs = await timeIn(reader, topic, {
        partition,
        from: start,
        to: stable,
        at: 'first',
      });
      let toMs: number | undefined;
      for (const back of lookBack) {
        if (fromMs === undefined || toMs !== undefined) break;
        const from = Math.max(start, stable - back);
        toMs = await timeIn(reader, topic, { partition, from, to: stable, at: 'last' });
      }
      times.set(partition, { fromMs, toMs: toMs ?? fromMs });
    }
  } finally {
    await reader.close();
  }
  return times;
}

type Span = {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly at: 'first' | 'last';
};

/** Timestamp of the first or the last record between two offsets; undefined: there is none. */
async function timeIn(
  reader: LogReader,
  topic: string,
  { partition, from, to, at }: Span,
): Promise<number | undefined> {
  let found: number | undefined;
  reader.assign(topic, partition, from);
  for (let position = from; position < to; ) {
    for (const { records, nextOffset } of await reader.poll(500)) {
      while (records.next()) {
        if (records.offset >= to) break;
        found = records.timestampMs;
        if (at === 'first') break;
      }
      position = nextOffset;
    }
    if (at === 'first' && found !== undefined) break;
  }
  reader.unassign(topic, partition);
  return found;
}

import type {
  FlowPlan,
  MaterializedViewPlan,
  PipelinePlan,
  TablePlan,
} from '../../plan/pipeline-plan.ts';
import {
  batchInputs,
  batchTables,
  catalogTopicOf,
  hasStage,
  levelsTopicOf,
  outputConfigs,
  repartitionTopicOf,
  viewInputs,
} from '../../plan/topology.ts';
import type { TopicDescription } from '../../ports/log.ts';
import {
  type Known,
  keepsLevels,
  messageBytesDefault,
  type PipelineOnLog,
  sourcesOf,
  tableOf,
  tableOfView,
} from '../inspect/pipeline-facts.ts';
import { writersOf } from '../takeover/generation.ts';
import type { KnownCatalog } from './catalog.ts';
import { keptWhole, type WantedTopic } from './check-topics.ts';

const deadLetterRoomBytes = 64 * 1024;

type Wanted = {
  readonly known: Known;
  readonly existing: ReadonlyMap<string, TopicDescription>;
  readonly resolved: readonly WantedTopic[];
};

export type WantedOptions = PipelineOnLog & { readonly replicationFactor: number };

/**
 * The topics that a pipeline writes, with the settings that each has to have, beside what is there of them. Invariant: each
 * comes once, and a topic that is there decides how many partitions it has where the pipeline leaves it open.
 */
export async function wantedOf(
  options: WantedOptions,
  sources: ReadonlyMap<string, TopicDescription>,
  catalog: KnownCatalog,
): Promise<Wanted> {
  const { plan, log } = options;
  const outputs = await log.describeTopics(plan.tables.map(({ topic }) => topic));
  const known = { sources, outputs, catalog };
  const wanted = [
    ...plan.flows.flatMap((flow) => wantedTopics(flow, options, known)),
    ...plan.materializedViews.map((view) => viewTopic(view, options, known)),
  ];
  const existing = await log.describeTopics([...new Set(wanted.map(({ name }) => name))]);
  return { known, existing, resolved: withoutTwins(resolvePartitions(plan, wanted, existing)) };
}

/** Where a table declares no count, its topic decides if it is there, else the widest source of its flows. */
function partitionsOf(plan: PipelinePlan, table: TablePlan, known: Known): number {
  if (table.partitions !== undefined) return table.partitions;
  const found = known.outputs.get(table.topic);
  if (table.output === 'append' && found !== undefined) return found.partitions;
  let most = 1;
  for (const { source, table: upstream } of viewInputs(plan, table)) {
    const count =
      upstream === undefined
        ? known.sources.get(source?.topic ?? '')?.partitions
        : partitionsOf(plan, upstream, known);
    most = Math.max(most, count ?? 1);
  }
  for (const flow of plan.flows) {
    if (flow.target !== table.name) continue;
    for (const source of sourcesOf(plan, flow)) {
      const upstream = plan.tables.find(({ name }) => name === source.table);
      const counts =
        upstream === undefined
          ? [source, ...batchInputs(plan, source)].map(
              ({ topic }) => known.sources.get(topic)?.partitions,
            )
          : [partitionsOf(plan, upstream, known)];
      for (const read of batchTables(plan, source)) counts.push(partitionsOf(plan, read, known));
      for (const count of counts) most = Math.max(most, count ?? 1);
    }
  }
  return most;
}

/**
 * Several flows write one topic: those of one table, stages of a join, tables that share a dead-letter topic. It is made once, as wide and for
 * records as large as the one of them that needs most.
 */
function withoutTwins(topics: readonly WantedTopic[]): WantedTopic[] {
  const found = new Map<string, WantedTopic>();
  for (const topic of topics) {
    // In two roles it stays twice, for the check that refuses it.
    const use = `${topic.role} ${topic.name}`;
    const before = found.get(use);
    found.set(use, before === undefined ? topic : joined(before, topic));
  }
  return [...found.values()];
}

function joined(before: WantedTopic, topic: WantedTopic): WantedTopic {
  if (topic.role !== 'dead_letter') return before;
  const bytesMax = Math.max(bytesMaxOf(before), bytesMaxOf(topic));
  return {
    ...before,
    partitions: Math.max(before.partitions, topic.partitions),
    configs: { ...before.configs, 'max.message.bytes': String(bytesMax) },
  };
}

function bytesMaxOf({ configs }: WantedTopic): number {
  return Number(configs['max.message.bytes'] ?? 0);
}

/** A topic that is there decides how many partitions it has, where the view does not. */
function viewTopic(
  view: MaterializedViewPlan,
  { plan, pipeline, replicationFactor }: WantedOptions,
  known: Known,
): WantedTopic {
  const table = tableOfView(plan, view);
  const found = table.partitions === undefined ? known.outputs.get(table.topic) : undefined;
  return {
    name: table.topic,
    role: 'output',
    flow: view.name,
    table: table.name,
    keepers: view.replaceWhere === undefined ? [] : [view.name],
    reads: [catalogTopicOf(pipeline)],
    partitions: found?.partitions ?? partitionsOf(plan, table, known),
    replicationFactor,
    configs: { 'cleanup.policy': 'compact', 'retention.ms': '-1' },
  };
}

function wantedTopics(
  flow: FlowPlan,
  { plan, pipeline, replicationFactor }: WantedOptions,
  known: Known,
): WantedTopic[] {
  const table = tableOf(plan, flow);
  const partitions = partitionsOf(plan, table, known);
  const keepers = writersOf(plan, table.topic);
  const reads = plan.flows.flatMap((one) =>
    keepers.includes(one.name)
      ? [...sourcesOf(plan, one).map(({ topic }) => topic), repartitionTopicOf(pipeline, one.name)]
      : [],
  );
  const topic = (
    role: WantedTopic['role'],
    name: string,
    configs: WantedTopic['configs'],
    count = partitions,
  ): WantedTopic => ({
    name,
    role,
    flow: flow.name,
    table: table.name,
    keepers,
    reads,
    partitions: count,
    replicationFactor,
    configs,
  });
  const topics = [
    topic(table.isSink === true ? 'sink' : 'output', table.topic, outputConfigs(plan, flow)),
  ];
  for (const { topic: name, batch } of sourcesOf(plan, flow)) {
    if (batch !== undefined) topics.push(topic('result', name, keptWhole, 1));
  }
  if (hasStage(flow)) {
    // Purged behind the checkpoint by the service itself, never by time.
    topics.push(topic('repartition', repartitionTopicOf(pipeline, flow.name), keptWhole));
  }
  if (keepsLevels(flow, pipeline, known.catalog)) {
    const configs = { 'cleanup.policy': 'compact', 'retention.ms': '-1' };
    topics.push(topic('levels', levelsTopicOf(pipeline, flow.name), configs));
  }
  if (table.deadLetterTopic !== undefined) {
    const configs = {
      ...keptWhole,
      'max.message.bytes': String(deadLetterBytesMax(flow, plan, known)),
    };
    topics.push(topic('dead_letter', table.deadLetterTopic, configs));
  }
  return topics;
}

/** A dead letter is its record and some headers: the largest record of a source has to fit with them. */
function deadLetterBytesMax(flow: FlowPlan, plan: PipelinePlan, known: Known): number {
  const limits = sourcesOf(plan, flow).map(({ topic }) => {
    const found = known.sources.get(topic) ?? known.outputs.get(topic);
    return Number(found?.configs.get('max.message.bytes') ?? messageBytesDefault);
  });
  return Math.min(Math.max(messageBytesDefault, ...limits) + deadLetterRoomBytes, 2_147_483_647);
}

/** Where the table declares no partition count, an output topic that is there already decides. */
function resolvePartitions(
  plan: PipelinePlan,
  wanted: readonly WantedTopic[],
  existing: ReadonlyMap<string, TopicDescription>,
): WantedTopic[] {
  return wanted.map((topic) => {
    const flow = plan.flows.find(({ name }) => name === topic.flow);
    const table = flow === undefined ? undefined : tableOf(plan, flow);
    if (table === undefined || table.partitions !== undefined || topic.role === 'result') {
      return topic;
    }
    const repartition = wanted.find((one) => one.role === 'repartition' && one.flow === topic.flow);
    const decided =
      existing.get(repartition?.name ?? '')?.partitions ?? existing.get(table.topic)?.partitions;
    return { ...topic, partitions: decided ?? topic.partitions };
  });
}

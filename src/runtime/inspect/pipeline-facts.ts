import { FlowError } from '../../base/errors.ts';
import { oncePerPair } from '../../base/once-per.ts';
import type { DataType } from '../../data/types.ts';
import {
  type FlowPlan,
  type MaterializedViewPlan,
  type PipelinePlan,
  type SourcePlan,
  staticSources,
  type TablePlan,
} from '../../plan/pipeline-plan.ts';
import {
  batchInputs,
  batchTables,
  catalogTopicOf,
  hasLevels,
  hasStage,
  levelsTopicOf,
  repartitionTopicOf,
  viewInputs,
} from '../../plan/topology.ts';
import type { Log, TopicDescription } from '../../ports/log.ts';
import { generationOf, swapsOf, writersOf } from '../takeover/generation.ts';
import type { Catalog, KnownCatalog } from '../topics/catalog.ts';
import type { InputFacts } from '../views/read-input-rows.ts';
import type { ViewFacts } from '../views/view-facts.ts';
import type {
  ComputedSource,
  FlowFacts,
  SourceFacts,
  StaticFacts,
  TopicFacts,
} from './flow-facts.ts';
import { refuseOtherForm, refuseUnwritten } from './refuse-unreadable.ts';

/** A pipeline, by its name, on a log. */
export type PipelineOnLog = {
  readonly plan: PipelinePlan;
  readonly pipeline: string;
  readonly log: Log;
};

/** What is known of the topics before any of them is created. */
export type Known = {
  readonly sources: ReadonlyMap<string, TopicDescription>;
  /** Of the tables, as far as they were there before. */
  readonly outputs: ReadonlyMap<string, TopicDescription>;
  readonly catalog: KnownCatalog;
};

/** Whether a source is the output of a table that is part of the plan; one that is not stands for itself. */
export function isOwn(plan: PipelinePlan, { table }: SourcePlan): boolean {
  return plan.tables.some(({ name }) => name === table);
}

export function tableOf(plan: PipelinePlan, flow: FlowPlan): TablePlan {
  const table = plan.tables.find(({ name }) => name === flow.target);
  if (table === undefined) {
    throw new FlowError('PIPELINE_INVALID', `flow "${flow.name}" has no table "${flow.target}"`);
  }
  return table;
}

export const sourcesOf = oncePerPair(
  (plan: PipelinePlan, flow: FlowPlan): readonly SourcePlan[] => {
    const names = new Set(flow.branches.map(({ source }) => source));
    return plan.sources.filter(({ name }) => names.has(name));
  },
);

export function tableOfView(plan: PipelinePlan, view: MaterializedViewPlan): TablePlan {
  const table = plan.tables.find(({ name }) => name === view.table);
  if (table !== undefined) return table;
  throw new FlowError('PIPELINE_INVALID', `"${view.name}" has no table "${view.table}"`);
}

/** Levels outlive the clause that made them: without them an older row would rise again. */
export function keepsLevels(flow: FlowPlan, pipeline: string, catalog: KnownCatalog): boolean {
  if (!hasStage(flow)) return false;
  return hasLevels(flow) || catalog.get('topic', levelsTopicOf(pipeline, flow.name)) !== undefined;
}

/** Far above what a record may hold by default: the broker's own default of max.message.bytes. */
export const messageBytesDefault = 1_048_588;

function recordBytesMax(topic: TopicDescription | undefined): number {
  const limit = Number(topic?.configs.get('max.message.bytes'));
  return limit > 0 ? limit : messageBytesDefault;
}

/** Of a materialized view the number of the run that wrote the rows. */
export function sequenceTypeOf(plan: PipelinePlan, { name }: TablePlan): DataType {
  const flow = plan.flows.find(({ target }) => target === name);
  return flow !== undefined && 'sequenceType' in flow ? flow.sequenceType : { kind: 'bigint' };
}

type DeployedOptions = PipelineOnLog & {
  readonly catalog: Catalog;
};

/**
 * What a command knows of a flow that is deployed. Nothing is created: its topics are there, or TOPIC_MISSING; and what is
 * there can be read by the present definition.
 */
export async function deployedFacts(options: DeployedOptions, flow: FlowPlan): Promise<FlowFacts> {
  const { described } = await describeFlow(options, flow);
  const table = tableOf(options.plan, flow);
  refuseOtherForm(options.catalog, flow, table);
  if (!described.has(table.topic)) refuseUnwritten(options.catalog, flow, table);
  return factsOf(options, flow, described);
}

/** The same of a definition that is not deployed yet: topics of its own that are not there have no id. */
export async function definedFacts(options: DeployedOptions, flow: FlowPlan): Promise<FlowFacts> {
  const { own, described } = await describeFlow(options, flow);
  const all = new Map(described);
  for (const name of own) {
    if (!all.has(name)) all.set(name, { name, topicId: '', partitions: 1, configs: new Map() });
  }
  return factsOf(options, flow, all);
}

async function describeFlow(
  { log, plan, pipeline }: DeployedOptions,
  flow: FlowPlan,
): Promise<{
  readonly own: readonly string[];
  readonly described: ReadonlyMap<string, TopicDescription>;
}> {
  const table = tableOf(plan, flow);
  const sources = sourcesOf(plan, flow).map(({ topic }) => topic);
  const own = [
    table.topic,
    ...(table.deadLetterTopic === undefined ? [] : [table.deadLetterTopic]),
    // AUTO CDC flows share those of their table.
    ...[flow.name, flow.target].flatMap((name) => [
      repartitionTopicOf(pipeline, name),
      levelsTopicOf(pipeline, name),
    ]),
  ];
  const described = await log.describeTopics([...new Set([...own, ...sources])]);
  return { own, described };
}

function factsOf(
  { plan, pipeline, catalog }: DeployedOptions,
  flow: FlowPlan,
  described: ReadonlyMap<string, TopicDescription>,
): FlowFacts {
  const known = { sources: described, outputs: described, catalog };
  return flowFacts(flow, { plan, pipeline }, known, described);
}

export function flowFacts(
  flow: FlowPlan,
  { plan, pipeline }: Pick<PipelineOnLog, 'plan' | 'pipeline'>,
  known: Known,
  topics: ReadonlyMap<string, TopicDescription>,
): FlowFacts {
  const table = tableOf(plan, flow);
  const output = topicFacts(topics, table.topic);
  const bySource = new Map<string, SourceFacts>();
  for (const [branch, { source: name }] of flow.branches.entries()) {
    const source = plan.sources.find((one) => one.name === name);
    if (source === undefined) continue;
    const isTable = isOwn(plan, source);
    const before = bySource.get(source.topic);
    bySource.set(source.topic, {
      ...topicFacts(isTable || source.batch !== undefined ? topics : known.sources, source.topic),
      branches: [...(before?.branches ?? []), { branch, source }],
      isTable,
      writers:
        source.skipsChanges === true ? (before?.writers ?? []) : writersOf(plan, source.topic),
    });
  }
  const shared = {
    table,
    generation: generationOf(known.catalog, flow.name),
    swaps: swapsOf(known.catalog, flow.name),
    group: `${pipeline}.${flow.name}`,
    sources: [...bySource.values()],
    statics: staticFacts(flow, plan),
    output,
    deadLetter:
      table.deadLetterTopic === undefined ? undefined : topicFacts(topics, table.deadLetterTopic),
    outputRecordBytesMax: recordBytesMax(topics.get(table.topic)),
    timeZone: plan.timeZone,
    twinsBefore: twinsBefore(plan, flow),
    computed: computedSource(plan, flow, topics),
  };
  if (flow.kind === 'append') return { ...shared, flow, repartition: undefined, levels: undefined };
  const levels = keepsLevels(flow, pipeline, known.catalog)
    ? topicFacts(topics, levelsTopicOf(pipeline, flow.name))
    : undefined;
  if (flow.kind === 'auto_cdc') {
    const feeds = feedFacts(topics, repartitionTopicOf(pipeline, flow.target));
    return { ...shared, flow, feeds, repartition: hasStage(flow) ? feeds : undefined, levels };
  }
  const repartition = feedFacts(topics, repartitionTopicOf(pipeline, flow.name));
  if (flow.kind === 'join') {
    return {
      ...shared,
      flow,
      repartition,
      levels: topicFacts(topics, levelsTopicOf(pipeline, flow.name)),
    };
  }
  if (flow.kind === 'sift') return { ...shared, flow, repartition, levels: undefined };
  return { ...shared, flow, repartition, levels };
}

export function viewFacts(
  view: MaterializedViewPlan,
  { plan, pipeline }: Pick<PipelineOnLog, 'plan' | 'pipeline'>,
  known: Known,
  topics: ReadonlyMap<string, TopicDescription>,
): ViewFacts {
  const table = tableOfView(plan, view);
  const output = topicFacts(topics, table.topic);
  return {
    view,
    table,
    group: `${pipeline}.${view.name}`,
    output,
    outputRecordBytesMax: recordBytesMax(topics.get(table.topic)),
    kept:
      view.replaceWhere === undefined
        ? undefined
        : {
            kind: 'table',
            name: table.name,
            topic: table.topic,
            partitions: output.partitions,
            table,
            sequenceType: sequenceTypeOf(plan, table),
          },
    generation: generationOf(known.catalog, view.name),
    inputs: viewInputs(plan, table).map(({ name, source, table: upstream }): InputFacts => {
      if (source !== undefined) {
        const { topic, partitions } = topicFacts(known.sources, source.topic);
        return { kind: 'source', name, topic, partitions, source };
      }
      return { ...tableInput(plan, upstream ?? table, topics), name };
    }),
    timeZone: plan.timeZone,
    catalogTopic: catalogTopicOf(pipeline),
  };
}

function computedSource(
  plan: PipelinePlan,
  flow: FlowPlan,
  topics: ReadonlyMap<string, TopicDescription>,
): ComputedSource | undefined {
  const source = sourcesOf(plan, flow).find(({ batch }) => batch !== undefined);
  if (source === undefined) return undefined;
  const sources = batchInputs(plan, source).map((one): InputFacts => {
    const { name, topic } = one;
    return { kind: 'source', name, topic, partitions: 0, source: one };
  });
  const tables = batchTables(plan, source).map((table) => tableInput(plan, table, topics));
  return { source, inputs: [...sources, ...tables] };
}

/** A table of the pipeline as a batch query reads it. */
export function tableInput(
  plan: PipelinePlan,
  table: TablePlan,
  topics: ReadonlyMap<string, TopicDescription>,
): Extract<InputFacts, { readonly kind: 'table' }> {
  return {
    kind: 'table',
    name: table.name,
    topic: table.topic,
    // A table that no flow writes has no topic and no rows.
    partitions: topics.get(table.topic)?.partitions ?? 0,
    topicId: topics.get(table.topic)?.topicId,
    writers: writersOf(plan, table.topic),
    table,
    sequenceType: sequenceTypeOf(plan, table),
  };
}

/** A record gives a row to each flow that reads it; what the rows of one table come from has to tell the flows apart. */
const twinsBefore = oncePerPair((plan: PipelinePlan, flow: FlowPlan): number => {
  const topicsOf = (one: FlowPlan) => sourcesOf(plan, one).map(({ topic }) => topic);
  const topics = new Set(topicsOf(flow));
  const before = plan.flows.slice(
    0,
    plan.flows.findIndex(({ name }) => name === flow.name),
  );
  return before.filter(
    (one) => one.target === flow.target && topicsOf(one).some((topic) => topics.has(topic)),
  ).length;
});

const staticFacts = oncePerPair((flow: FlowPlan, plan: PipelinePlan): readonly StaticFacts[] => {
  const bySource = new Map<string, StaticFacts>();
  for (const { steps } of flow.branches) {
    for (const source of staticSources(steps)) {
      const table = plan.tables.find(({ name }) => name === source.table);
      bySource.set(source.name, { source, output: table?.output });
    }
  }
  return [...bySource.values()];
});

function feedFacts(topics: ReadonlyMap<string, TopicDescription>, name: string): TopicFacts {
  return { ...topicFacts(topics, name), recordBytesMax: recordBytesMax(topics.get(name)) };
}

function topicFacts(topics: ReadonlyMap<string, TopicDescription>, name: string): TopicFacts {
  const found = topics.get(name);
  if (found === undefined) {
    throw new FlowError('TOPIC_MISSING', `topic "${name}" is missing`, {
      hint: 'It was there a moment ago; start again, and find out what deletes it.',
    });
  }
  return { topic: name, topicId: found.topicId, partitions: found.partitions };
}

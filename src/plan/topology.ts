import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { topicNameFault } from './bind/names.ts';
import { type FaultList, planFault } from './faults.ts';
import { hasTableStage } from './flows/cdc-plan.ts';
import {
  type BranchPlan,
  type FlowPlan,
  isHelping,
  isOutside,
  type PipelinePlan,
  type SourcePlan,
  type TablePlan,
} from './pipeline-plan.ts';

/**
 * The consumer groups and topics of a deployed pipeline. Invariant: a name depends on nothing but the
 * names of the pipeline, the flow and the table, so that no change elsewhere ever leaves state behind.
 */
export type Topology = {
  readonly pipeline: string;
  readonly flows: readonly FlowTopology[];
  /** Every topic that the pipeline owns; sources are not among them. */
  readonly topics: readonly TopicPlan[];
};

export type FlowTopology = {
  readonly flow: string;
  readonly group: string;
  readonly sources: readonly {
    readonly source: string;
    readonly topic: string;
    readonly partitions: number;
  }[];
  /** undefined of an append flow, whose rows need not meet. */
  readonly repartitionTopic: string | undefined;
  readonly outputTopic: string;
  readonly deadLetterTopic: string | undefined;
  readonly levelsTopic: string | undefined;
};

export type TopicRole =
  | 'output'
  | 'sink'
  | 'repartition'
  | 'levels'
  | 'dead_letter'
  | 'result'
  | 'catalog';

export type TopicPlan = {
  readonly name: string;
  readonly role: TopicRole;
  /** undefined for the catalog, which belongs to all. */
  readonly flow: string | undefined;
  readonly partitions: number;
  readonly configs: Readonly<Record<string, string>>;
};

const compacted = { 'cleanup.policy': 'compact', 'retention.ms': '-1' };
const kept = { 'cleanup.policy': 'delete', 'retention.ms': '-1' };
/** A hundred years: a tombstone that says at which sequence a key was emptied stays until its readers have seen it. */
const tombstonesMs = '3155760000000';
const keptWhole = { ...kept, 'retention.bytes': '-1' };

export function groupOf(pipeline: string, flow: string): string {
  return `${pipeline}.${flow}`;
}

export function repartitionTopicOf(pipeline: string, flow: string): string {
  return `${pipeline}.${flow}.repartition`;
}

/** The topic that the table stage of a flow reads; undefined where it has none. */
export function stageTopicOf(pipeline: string, flow: FlowPlan): string | undefined {
  return hasStage(flow) ? repartitionTopicOf(pipeline, flow.name) : undefined;
}

export function hasStage(flow: FlowPlan): boolean {
  if (flow.kind === 'auto_cdc') return hasTableStage(flow);
  return flow.kind !== 'append';
}

/**
 * Whether the state of the flow has what its output does not tell: sequences of keys without rows, or the rows that a
 * join keeps.
 */
export function hasLevels(flow: FlowPlan): boolean {
  if (flow.kind === 'join') return true;
  if (flow.kind === 'auto_cdc') return hasTableStage(flow);
  if (flow.kind !== 'replace_using') return false;
  return flow.emptyWhen !== undefined || flow.branches.some(readsVersions);
}

/** Whether a branch reads a table whose rows are replaced, so that a record of its source is a version of a key. */
function readsVersions({ versionKeys }: BranchPlan): boolean {
  return versionKeys !== undefined;
}

/** The changelog of sequence levels that outlive their rows, and of the rows that a join keeps. */
export function levelsTopicOf(pipeline: string, flow: string): string {
  return `${pipeline}.${flow}.levels`;
}

export function catalogTopicOf(pipeline: string): string {
  return `${pipeline}.catalog`;
}

/**
 * Derives groups and topics from a plan. `partitionCounts` has the partitions of every source topic; a
 * table without a count of its own gets as many as its source with the most.
 */
export function topology(
  plan: PipelinePlan,
  pipeline: string,
  partitionCounts: ReadonlyMap<string, number>,
): Topology {
  const flows = plan.flows.map((flow) => flowTopology(plan, flow, pipeline, partitionCounts));
  const topics = topicsOf(plan, pipeline, partitionCounts, flows);
  checkNames(topics, plan);
  return { pipeline, flows, topics };
}

function topicsOf(
  plan: PipelinePlan,
  pipeline: string,
  partitionCounts: ReadonlyMap<string, number>,
  flows = plan.flows.map((flow) => flowTopology(plan, flow, pipeline, partitionCounts)),
): readonly TopicPlan[] {
  const topics: TopicPlan[] = [];
  for (const [i, flow] of plan.flows.entries()) {
    const facts = flows[i];
    const partitions = partitionsOf(plan, flow, partitionCounts) ?? 1;
    if (facts !== undefined) topics.push(...flowTopics(plan, flow, facts, partitions));
  }
  for (const table of tablesWithoutFlow(plan)) {
    const partitions = tablePartitions(plan, table, partitionCounts) || 1;
    topics.push({
      name: table.topic,
      role: 'output',
      flow: undefined,
      partitions,
      configs: compacted,
    });
  }
  topics.push({
    name: catalogTopicOf(pipeline),
    role: 'catalog',
    flow: undefined,
    partitions: 1,
    configs: compacted,
  });
  return withoutSharedDeadLetters(withoutTwins(plan, topics));
}

/** What a table gets where it does not say; undefined where a source topic is not known. */
export function partitionsOf(
  plan: PipelinePlan,
  flow: FlowPlan,
  partitionCounts: ReadonlyMap<string, number>,
): number | undefined {
  return tablePartitions(plan, tableOf(plan, flow), partitionCounts);
}

/** A table that declares no count has as many as the widest source of its flows, which may be a table again. */
export function tablePartitions(
  plan: PipelinePlan,
  table: TablePlan,
  partitionCounts: ReadonlyMap<string, number>,
): number | undefined {
  if (table.partitions !== undefined) return table.partitions;
  let most = 0;
  for (const { source, table: upstream } of viewInputs(plan, table)) {
    const count =
      upstream === undefined
        ? partitionCounts.get(source?.topic ?? '')
        : tablePartitions(plan, upstream, partitionCounts);
    if (count === undefined) return undefined;
    most = Math.max(most, count);
  }
  for (const flow of plan.flows) {
    if (flow.target !== table.name) continue;
    for (const source of sourcesOf(plan, flow)) {
      for (const read of [source, ...batchInputs(plan, source)]) {
        const count = sourcePartitions(plan, read, partitionCounts);
        if (count === undefined) return undefined;
        most = Math.max(most, count);
      }
      for (const read of batchTables(plan, source)) {
        const count = tablePartitions(plan, read, partitionCounts);
        if (count === undefined) return undefined;
        most = Math.max(most, count);
      }
    }
  }
  return most;
}

/** What the batch query of a table reads; nothing where the table has none. */
export function viewInputs(plan: PipelinePlan, { name: written }: TablePlan) {
  const view = plan.materializedViews.find(({ table }) => table === written);
  return (view?.inputs ?? []).map(({ kind, name }) => ({
    name,
    source: kind === 'source' ? plan.sources.find((one) => one.name === name) : undefined,
    table: kind === 'table' ? plan.tables.find((one) => one.name === name) : undefined,
  }));
}

export function sourcePartitions(
  plan: PipelinePlan,
  source: SourcePlan,
  partitionCounts: ReadonlyMap<string, number>,
): number | undefined {
  const known = partitionCounts.get(source.topic) ?? (source.batch === undefined ? undefined : 1);
  const table = plan.tables.find(({ name }) => name === source.table);
  return known !== undefined || table === undefined
    ? known
    : tablePartitions(plan, table, partitionCounts);
}

/** The sources of the batch query whose result a source is. */
export function batchInputs(plan: PipelinePlan, { batch }: SourcePlan): readonly SourcePlan[] {
  const names = new Set(batch?.inputs.map(({ name }) => name));
  return plan.sources.filter(({ name }) => names.has(name));
}

/** The tables of the pipeline, materialized views among them, that the batch query of a source reads. */
export function batchTables(plan: PipelinePlan, { batch }: SourcePlan): readonly TablePlan[] {
  const read = batch?.inputs.filter(({ kind }) => kind === 'table') ?? [];
  return read.flatMap((input) => plan.tables.find(({ name }) => name === input.name) ?? []);
}

export function tableOf(plan: PipelinePlan, flow: FlowPlan): TablePlan {
  const table = plan.tables.find(({ name }) => name === flow.target);
  assert(table !== undefined, `flow ${flow.name} has no table ${flow.target}`);
  return table;
}

/** The sources of a flow, each once, in the order of its branches. */
export function sourcesOf(plan: PipelinePlan, flow: FlowPlan) {
  return [...new Set(flow.branches.map(({ source }) => source))].map((name) => {
    const source = plan.sources.find((candidate) => candidate.name === name);
    assert(source !== undefined, `flow ${flow.name} has no source ${name}`);
    return source;
  });
}

function flowTopology(
  plan: PipelinePlan,
  flow: FlowPlan,
  pipeline: string,
  partitionCounts: ReadonlyMap<string, number>,
): FlowTopology {
  const table = tableOf(plan, flow);
  const sources = sourcesOf(plan, flow).map((source) => {
    const { name, topic } = source;
    const partitions = sourcePartitions(plan, source, partitionCounts);
    if (partitions !== undefined) return { source: name, topic, partitions };
    throw new FlowError('TOPIC_MISSING', `source topic "${topic}" does not exist`, {
      detail: `Source "${name}" of flow "${flow.name}" reads it.`,
      hint: "Create the topic, or name another one with WITH (topic = '…') in CREATE SOURCE.",
    });
  });
  return {
    flow: flow.name,
    group: groupOf(pipeline, flow.name),
    sources,
    repartitionTopic: stageTopicOf(pipeline, flow),
    outputTopic: table.topic,
    deadLetterTopic: table.deadLetterTopic,
    levelsTopic: hasLevels(flow) ? levelsTopicOf(pipeline, flow.name) : undefined,
  };
}

/** All stages of a flow have one partition count: a key is in the same partition everywhere. */
function flowTopics(
  plan: PipelinePlan,
  flow: FlowPlan,
  facts: FlowTopology,
  partitions: number,
): readonly TopicPlan[] {
  const table = tableOf(plan, flow);
  const base = { flow: facts.flow, partitions };
  const topics: TopicPlan[] = [
    {
      ...base,
      name: facts.outputTopic,
      role: table.isSink === true ? 'sink' : 'output',
      configs: outputConfigs(plan, flow),
    },
  ];
  for (const { topic, batch } of sourcesOf(plan, flow)) {
    if (batch === undefined) continue;
    topics.push({ ...base, name: topic, role: 'result', partitions: 1, configs: keptWhole });
  }
  if (facts.repartitionTopic !== undefined) {
    // Purged behind the checkpoint by the service itself, never by time or size.
    topics.push({
      ...base,
      name: facts.repartitionTopic,
      role: 'repartition',
      configs: keptWhole,
    });
  }
  if (facts.levelsTopic !== undefined) {
    topics.push({ ...base, name: facts.levelsTopic, role: 'levels', configs: compacted });
  }
  if (facts.deadLetterTopic !== undefined) {
    topics.push({ ...base, name: facts.deadLetterTopic, role: 'dead_letter', configs: kept });
  }
  return topics;
}

/** The settings of the topic that a flow's table is in. */
export function outputConfigs(
  plan: PipelinePlan,
  flow: FlowPlan,
): Readonly<Record<string, string>> {
  if (flow.kind === 'append' || isHelping(flow)) return keptWhole;
  const isStreamed = plan.sources.some(
    ({ table, replaced }) => replaced !== undefined && table === flow.target,
  );
  return isStreamed && hasLevels(flow)
    ? { ...compacted, 'delete.retention.ms': tombstonesMs }
    : compacted;
}

function tablesWithoutFlow(plan: PipelinePlan): readonly TablePlan[] {
  const targets = new Set(plan.flows.map(({ target }) => target));
  return plan.tables.filter(({ name }) => !targets.has(name));
}

/** Flows may share a topic for their dead letters; it has the partitions of the widest of them. */
function withoutSharedDeadLetters(topics: readonly TopicPlan[]): readonly TopicPlan[] {
  const letters = new Map<string, TopicPlan>();
  for (const topic of topics) {
    if (topic.role !== 'dead_letter') continue;
    const before = letters.get(topic.name);
    if (before === undefined || before.partitions < topic.partitions)
      letters.set(topic.name, topic);
  }
  return [...topics.filter(({ role }) => role !== 'dead_letter'), ...letters.values()];
}

/** Append and AUTO CDC flows share the topic of their table. */
function withoutTwins(plan: PipelinePlan, topics: readonly TopicPlan[]): readonly TopicPlan[] {
  const shared = plan.flows.filter(({ kind }) => kind !== 'replace_using');
  const names = new Set(shared.map((flow) => tableOf(plan, flow).topic));
  return topics.filter(
    ({ name, role }, index) =>
      (role !== 'output' && role !== 'sink') ||
      !names.has(name) ||
      topics.findIndex((one) => one.role === role && one.name === name) === index,
  );
}

function checkNames(topics: readonly TopicPlan[], plan: PipelinePlan): void {
  for (const { message, detail, hint } of nameClashes(topics, plan)) {
    throw new FlowError('PIPELINE_INVALID', message, { detail, hint });
  }
}

/** The same without a broker: told with the place of the table or flow. */
export function checkPipelineTopics(
  plan: Omit<PipelinePlan, 'timeZone' | 'warnings'>,
  pipeline: string,
  faults: FaultList,
): void {
  const counts = new Map(plan.sources.map(({ topic }) => [topic, 1]));
  const whole = { ...plan, timeZone: 'UTC', warnings: [] };
  for (const clash of nameClashes(topicsOf(whole, pipeline, counts), whole)) {
    const { code, message, detail, hint, topic } = clash;
    const table = plan.tables.find((one) => one.topic === topic || one.deadLetterTopic === topic);
    const place = table?.place ?? plan.flows.find(({ name }) => name === clash.flow)?.place;
    if (place !== undefined) faults.add(planFault(code, message, place, { detail, hint }));
  }
}

type NameClash = {
  readonly code: 'TOPIC_TAKEN' | 'TOPIC_NAME_INVALID';
  readonly topic: string;
  readonly flow: string | undefined;
  readonly message: string;
  readonly detail: string;
  readonly hint: string;
};

function nameClashes(topics: readonly TopicPlan[], plan: PipelinePlan): readonly NameClash[] {
  const clashes: NameClash[] = [];
  const owners = new Map<string, string>();
  for (const source of plan.sources) {
    if (isOutside(source)) owners.set(source.topic, `source "${source.name}"`);
  }
  for (const { name, role, flow } of topics) {
    const owner = flow === undefined ? `the ${role} topic` : `the ${role} topic of flow "${flow}"`;
    const reason = topicNameFault(name);
    const before = owners.get(name);
    if (reason !== undefined) {
      clashes.push({
        ...{ code: 'TOPIC_NAME_INVALID', topic: name, flow },
        message: `Kafka refuses the topic name "${name}": ${reason}`,
        detail: `It would be ${owner}.`,
        hint: 'Shorten the name of the pipeline or of the flow.',
      });
    } else if (before !== undefined) {
      clashes.push({
        ...{ code: 'TOPIC_TAKEN', topic: name, flow },
        message: `topic "${name}" is needed twice`,
        detail: `It is ${before} and ${owner}.`,
        hint: "Give the table another topic: WITH (topic = '…').",
      });
    }
    owners.set(name, owner);
  }
  return clashes;
}

import { FlowError } from '../base/errors.ts';
import type { DataType } from '../data/types.ts';
import {
  type FlowPlan,
  type MaterializedViewPlan,
  type PipelinePlan,
  type SourcePlan,
  staticSources,
  type TablePlan,
} from '../plan/pipeline-plan.ts';
import {
  batchInputs,
  catalogTopicOf,
  groupOf,
  hasLevels,
  hasStage,
  levelsTopicOf,
  outputConfigs,
  repartitionTopicOf,
  viewInputs,
} from '../plan/topology.ts';
import { viewDefinition } from '../plan/view-definition.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log, TopicDescription, TopicSpec } from '../ports/log.ts';
import { alternatives } from '../refresh/alternatives.ts';
import { flowChanges, needsRefresh } from '../refresh/changes.ts';
import { deployedFlow, readDeployedFlow } from '../refresh/deployed-flow.ts';
import { readViewDefinition } from '../refresh/view-changes.ts';
import { Catalog, type KnownCatalog } from './catalog.ts';
import { checkCatalog, checkTopic, keptWhole, type WantedTopic } from './check-topics.ts';
import type { FlowFacts, SourceFacts, StaticFacts, TopicFacts } from './flow-facts.ts';
import { generationOf, swapsOf, writersOf } from './generation.ts';
import { pinOnce } from './once-pins.ts';
import { computeOnce } from './once-result.ts';
import type { InputFacts } from './read-input-rows.ts';
import type { RuntimeListener } from './runtime-events.ts';
import type { ViewFacts } from './view-runner.ts';

export type PrepareOptions = {
  readonly plan: PipelinePlan;
  readonly pipeline: string;
  readonly log: Log;
  readonly listener: RuntimeListener;
  readonly replicationFactor: number;
  readonly clock: Clock;
};

export type PreparedPipeline = {
  readonly flows: readonly FlowFacts[];
  readonly views: readonly ViewFacts[];
  readonly catalog: Catalog;
};

/** Far above what a record may hold by default: the broker's own default of max.message.bytes. */
const messageBytesDefault = 1_048_588;

const deadLetterRoomBytes = 64 * 1024;

/**
 * Brings the topics of a pipeline into the state that it needs, or refuses with what to change.
 * Invariant: a topic that holds records and is not the pipeline's own is never written to, and no setting
 * of an existing topic is changed.
 */
export async function prepareTopics(options: PrepareOptions): Promise<PreparedPipeline> {
  const { plan, pipeline, log, listener, replicationFactor } = options;
  const sourceTopics = await describeSources(plan, log);
  const catalogTopic = `${pipeline}.catalog`;
  await createMissing(log, listener, [
    {
      name: catalogTopic,
      partitions: 1,
      replicationFactor,
      configs: { 'cleanup.policy': 'compact', 'retention.ms': '-1' },
    },
  ]);
  await checkCatalogIn(log, catalogTopic);
  const catalog = new Catalog(log, catalogTopic);
  try {
    await catalog.read();
    for (const flow of plan.flows) {
      await checkHistory(options, flow, catalog);
      checkDefinition(plan, flow, catalog);
    }
    const { known, existing, resolved } = await wantedOf(options, sourceTopics, catalog);
    const check = { log, catalog, pipeline, existing, wanted: resolved };
    for (const topic of resolved) await checkTopic(check, topic);
    await createMissing(
      log,
      listener,
      resolved.filter(({ name }) => !existing.has(name)),
    );
    // Tables that are read here may be written by flows that are not: their topics are there, or TOPIC_MISSING.
    const read = plan.flows.flatMap((flow) => sourcesOf(plan, flow).map(({ topic }) => topic));
    const all = await log.describeTopics([
      ...new Set([...resolved.map(({ name }) => name), ...read]),
    ]);
    await remember(options, catalog, resolved, all);
    const flows: FlowFacts[] = [];
    for (const flow of plan.flows) {
      const facts = flowFacts(flow, options, known, all);
      flows.push(flow.once === true ? await pinned(facts, options, catalog) : facts);
    }
    const views = plan.materializedViews.map((view) => viewFacts(view, options, known, all));
    return { flows, views, catalog };
  } catch (error) {
    await catalog.close();
    throw error;
  }
}

/** One that is not there is created, or the pipeline never ran. */
async function checkCatalogIn(log: Log, name: string): Promise<void> {
  const found = (await log.describeTopics([name])).get(name);
  if (found !== undefined) checkCatalog(found);
}

type Wanted = {
  readonly known: Known;
  readonly existing: ReadonlyMap<string, TopicDescription>;
  readonly resolved: readonly WantedTopic[];
};

async function wantedOf(
  options: WantedOptions,
  sources: ReadonlyMap<string, TopicDescription>,
  catalog: KnownCatalog,
): Promise<Wanted> {
  const { plan, log } = options;
  const outputs = await log.describeTopics(plan.tables.map(({ topic }) => topic));
  const known = { sources, outputs, catalog };
  const wanted = withoutTwins([
    ...plan.flows.flatMap((flow) => wantedTopics(flow, options, known)),
    ...plan.materializedViews.map((view) => viewTopic(view, options, known)),
  ]);
  const existing = await log.describeTopics(wanted.map(({ name }) => name));
  return { known, existing, resolved: resolvePartitions(plan, wanted, existing) };
}

type WantedOptions = Pick<PrepareOptions, 'plan' | 'pipeline' | 'log' | 'replicationFactor'>;

/**
 * What a start would refuse, in the order in which it looks: the first of them would be its error. Nothing is created,
 * written or joined.
 */
export async function startRefusals(
  options: Omit<WantedOptions, 'replicationFactor'>,
  catalog: KnownCatalog,
): Promise<readonly FlowError[]> {
  const { plan, log } = options;
  const refusals: FlowError[] = [];
  const attempt = async <Result>(
    step: () => Promise<Result> | Result,
  ): Promise<Result | undefined> => {
    try {
      return await step();
    } catch (error) {
      const isLasting = error instanceof FlowError && /^(fix-input|stop)$/.test(error.remedy);
      if (!isLasting) throw error;
      refusals.push(error);
      return undefined;
    }
  };
  await attempt(() => checkCatalogIn(log, catalogTopicOf(options.pipeline)));
  const sources = await attempt(() => describeSources(plan, log));
  for (const flow of plan.flows) {
    await attempt(async () => {
      await checkHistory(options, flow, catalog);
      checkDefinition(plan, flow, catalog);
    });
  }
  if (sources === undefined) return refusals;
  const wanted = await attempt(() =>
    wantedOf({ ...options, replicationFactor: -1 }, sources, catalog),
  );
  if (wanted === undefined) return refusals;
  const { existing, resolved } = wanted;
  const check = { log, catalog, pipeline: options.pipeline, existing, wanted: resolved };
  for (const topic of resolved) await attempt(() => checkTopic(check, topic));
  return refusals;
}

/** Whether a source is the output of a table that is part of the plan; one that is not stands for itself. */
function isOwn(plan: PipelinePlan, { table }: SourcePlan): boolean {
  return plan.tables.some(({ name }) => name === table);
}

async function describeSources(
  plan: PipelinePlan,
  log: Log,
): Promise<ReadonlyMap<string, TopicDescription>> {
  const used = new Set([
    ...plan.materializedViews.flatMap(({ inputs }) => inputs.map(({ name }) => name)),
    ...plan.flows.flatMap(({ branches }) =>
      branches.flatMap(({ source, steps }) => [
        source,
        ...staticSources(steps).map(({ name }) => name),
      ]),
    ),
  ]);
  for (const source of plan.sources) {
    if (used.has(source.name)) for (const { name } of batchInputs(plan, source)) used.add(name);
  }
  // The output of a table and the result of a batch query are no sources of somebody else's: they are created below.
  const sources = plan.sources.filter(
    (source) => used.has(source.name) && source.batch === undefined && !isOwn(plan, source),
  );
  const topics = await log.describeTopics([...new Set(sources.map(({ topic }) => topic))]);
  const missing = sources.filter(({ topic }) => !topics.has(topic));
  if (missing.length > 0) {
    throw new FlowError(
      'TOPIC_MISSING',
      `source topic "${missing.map(({ topic }) => topic).join('", "')}" does not exist`,
      {
        detail: missing
          .map(({ name, topic }) => `Source "${name}" reads topic "${topic}".`)
          .join(' '),
        hint: "Create the topic, or name another one with WITH (topic = '…') in CREATE SOURCE. Tidemark never creates a source topic.",
      },
    );
  }
  return topics;
}

async function createMissing(
  log: Log,
  listener: RuntimeListener,
  topics: readonly TopicSpec[],
): Promise<void> {
  const existing = await log.describeTopics(topics.map(({ name }) => name));
  const missing = topics.filter(({ name }) => !existing.has(name));
  if (missing.length === 0) return;
  await log.createTopics(
    missing.map(({ name, partitions, replicationFactor, configs }) => ({
      name,
      partitions,
      replicationFactor,
      configs,
    })),
  );
  for (const { name, partitions } of missing) {
    listener({ event: 'topic_created', topic: name, partitions });
  }
}

function tableOf(plan: PipelinePlan, flow: FlowPlan): TablePlan {
  const table = plan.tables.find(({ name }) => name === flow.target);
  if (table === undefined) {
    throw new FlowError('PIPELINE_INVALID', `flow "${flow.name}" has no table "${flow.target}"`);
  }
  return table;
}

function sourcesOf(plan: PipelinePlan, flow: FlowPlan): SourcePlan[] {
  const names = new Set(flow.branches.map(({ source }) => source));
  return plan.sources.filter(({ name }) => names.has(name));
}

type Known = {
  readonly sources: ReadonlyMap<string, TopicDescription>;
  /** Of the tables, as far as they were there before. */
  readonly outputs: ReadonlyMap<string, TopicDescription>;
  readonly catalog: KnownCatalog;
};

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
      for (const count of counts) most = Math.max(most, count ?? 1);
    }
  }
  return most;
}

/** Append and AUTO CDC flows share the topics of their table. */
function withoutTwins(topics: readonly WantedTopic[]): WantedTopic[] {
  const names = new Set<string>();
  return topics.filter(({ name, role }) => {
    if ((role === 'output' || role === 'sink') && names.has(name)) return false;
    names.add(name);
    return true;
  });
}

/** Levels outlive the clause that made them: without them an older row would rise again. */
function keepsLevels(flow: FlowPlan, pipeline: string, catalog: KnownCatalog): boolean {
  if (!hasStage(flow)) return false;
  return hasLevels(flow) || catalog.get('topic', levelsTopicOf(pipeline, flow.name)) !== undefined;
}

function tableOfView(plan: PipelinePlan, view: MaterializedViewPlan): TablePlan {
  const table = plan.tables.find(({ name }) => name === view.name);
  if (table !== undefined) return table;
  throw new FlowError('PIPELINE_INVALID', `materialized view "${view.name}" has no table`);
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
    reads: [catalogTopicOf(pipeline)],
    partitions: found?.partitions ?? partitionsOf(plan, table, known),
    replicationFactor,
    configs: { 'cleanup.policy': 'compact', 'retention.ms': '-1' },
  };
}

function viewFacts(
  view: MaterializedViewPlan,
  { plan, pipeline }: PrepareOptions,
  known: Known,
  topics: ReadonlyMap<string, TopicDescription>,
): ViewFacts {
  const table = tableOfView(plan, view);
  return {
    view,
    table,
    group: `${pipeline}.${view.name}`,
    output: topicFacts(topics, table.topic),
    outputRecordBytesMax: recordBytesMax(topics.get(table.topic)),
    inputs: viewInputs(plan, table).map(({ name, source, table: upstream }): InputFacts => {
      if (source !== undefined) {
        const { topic, partitions } = topicFacts(known.sources, source.topic);
        return { kind: 'source', name, topic, partitions, source };
      }
      const read = upstream ?? table;
      return {
        kind: 'table',
        name,
        topic: read.topic,
        // A table that no flow writes has no topic and no rows.
        partitions: topics.get(read.topic)?.partitions ?? 0,
        table: read,
        sequenceType: sequenceTypeOf(plan, read),
      };
    }),
    timeZone: plan.timeZone,
    catalogTopic: `${pipeline}.catalog`,
  };
}

/** Of a materialized view the number of the run that wrote the rows. */
function sequenceTypeOf(plan: PipelinePlan, { name }: TablePlan): DataType {
  const flow = plan.flows.find(({ target }) => target === name);
  return flow !== undefined && 'sequenceType' in flow ? flow.sequenceType : { kind: 'bigint' };
}

function recordBytesMax(topic: TopicDescription | undefined): number {
  const limit = Number(topic?.configs.get('max.message.bytes'));
  return limit > 0 ? limit : messageBytesDefault;
}

function wantedTopics(
  flow: FlowPlan,
  { plan, pipeline, replicationFactor }: WantedOptions,
  known: Known,
): WantedTopic[] {
  const table = tableOf(plan, flow);
  const partitions = partitionsOf(plan, table, known);
  const reads = [
    ...sourcesOf(plan, flow).map(({ topic }) => topic),
    repartitionTopicOf(pipeline, flow.name),
  ];
  const base = { partitions, replicationFactor, flow: flow.name, reads };
  const topics: WantedTopic[] = [
    {
      ...base,
      name: table.topic,
      role: table.isSink === true ? 'sink' : 'output',
      configs: outputConfigs(plan, flow),
    },
  ];
  for (const { topic, batch } of sourcesOf(plan, flow)) {
    if (batch === undefined) continue;
    topics.push({ ...base, name: topic, role: 'result', partitions: 1, configs: keptWhole });
  }
  if (hasStage(flow)) {
    topics.push({
      ...base,
      name: repartitionTopicOf(pipeline, flow.name),
      role: 'repartition',
      // Purged behind the checkpoint by the service itself, never by time.
      configs: keptWhole,
    });
  }
  if (keepsLevels(flow, pipeline, known.catalog)) {
    topics.push({
      ...base,
      name: levelsTopicOf(pipeline, flow.name),
      role: 'levels',
      configs: { 'cleanup.policy': 'compact', 'retention.ms': '-1' },
    });
  }
  if (table.deadLetterTopic !== undefined) {
    topics.push({
      ...base,
      name: table.deadLetterTopic,
      role: 'dead_letter',
      configs: {
        ...keptWhole,
        'max.message.bytes': String(deadLetterBytesMax(flow, plan, known)),
      },
    });
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

/**
 * Refuses to go on from a checkpoint of which nobody knows any more what it was made with. An instance that takes a flow
 * over has written its definition before, so what has a checkpoint and none has lost it.
 */
async function checkHistory(
  { plan, pipeline, log }: Pick<PrepareOptions, 'plan' | 'pipeline' | 'log'>,
  flow: FlowPlan,
  catalog: KnownCatalog,
): Promise<void> {
  const isKnown = (): boolean =>
    readDeployedFlow(catalog.get('flow', flow.name)?.value) !== undefined;
  if (isKnown()) return;
  const isTaken = catalog.all('takeover').some(({ name }) => name.startsWith(`${flow.name}/`));
  const isDamaged = catalog.get('flow', flow.name) !== undefined;
  const isEmpty = catalog.all('flow').length === 0;
  const isLost = isTaken || isDamaged || (isEmpty && (await isWritten(log, plan, pipeline, flow)));
  if (!isLost) return;
  // Another instance may have started the flow since the catalog was read.
  await catalog.read();
  if (isKnown()) return;
  throw new FlowError(
    'DEFINITION_MISSING',
    `the catalog of the pipeline does not know what flow "${flow.name}" was made with`,
    {
      detail: `The flow has a checkpoint, and topic "${pipeline}.catalog" has no definition of it: its records were deleted, or the topic was created anew.`,
      hint: `Restore topic "${pipeline}.catalog" from a copy, with its records in order. Without one compute the table anew (tidemark refresh ${flow.target} --in-place; --plan tells first what that would lose), or give the table another topic and the flow a new name.`,
    },
  );
}

/** Whether the flow has a checkpoint, and its table records. */
async function isWritten(
  log: Log,
  plan: PipelinePlan,
  pipeline: string,
  flow: FlowPlan,
): Promise<boolean> {
  const { topic } = tableOf(plan, flow);
  const topics = [...sourcesOf(plan, flow).map((source) => source.topic), topic];
  let isCommitted = false;
  let isFilled = false;
  for (const { name, partitions } of (await log.describeTopics([...new Set(topics)])).values()) {
    const numbers = Array.from({ length: partitions }, (_, partition) => partition);
    if (name === topic) {
      const ranges = await log.offsetRanges(name, numbers);
      isFilled ||= [...ranges.values()].some(({ start, end }) => end > start);
    } else {
      const group = groupOf(pipeline, flow.name);
      isCommitted ||= (await log.committedOffsets(group, name, numbers)).size > 0;
    }
  }
  return isCommitted && isFilled;
}

/**
 * Refuses to go on from a checkpoint whose rows contradict the present definition. Everything else that changed is told
 * by `plan` and remembered.
 */
function checkDefinition(plan: PipelinePlan, flow: FlowPlan, catalog: KnownCatalog): void {
  const before = readDeployedFlow(catalog.get('flow', flow.name)?.value);
  if (before === undefined) return;
  const changes = flowChanges(before, deployedFlow(flow, tableOf(plan, flow)));
  if (!needsRefresh(changes)) return;
  const reasons = changes.filter(({ effect }) => effect === 'refresh');
  throw new FlowError(
    'DEFINITION_CHANGED',
    `flow "${flow.name}" has a checkpoint of another definition`,
    {
      detail: reasons.map(({ id, text }) => `${text} (${id})`).join(' '),
      hint: `${alternatives(changes, { flow: flow.name, table: flow.target }).join('; ')}.`,
    },
  );
}

async function remember(
  { plan, clock }: PrepareOptions,
  catalog: Catalog,
  topics: readonly WantedTopic[],
  described: ReadonlyMap<string, TopicDescription>,
): Promise<void> {
  const entries = [];
  for (const { name, role, flow, partitions } of topics) {
    const topicId = described.get(name)?.topicId;
    const known = catalog.get('topic', name)?.value;
    if (known === undefined || known['topicId'] !== topicId) {
      entries.push({ kind: 'topic' as const, name, value: { role, flow, partitions, topicId } });
    }
  }
  for (const flow of plan.flows) {
    const value = deployedFlow(flow, tableOf(plan, flow));
    const known = readDeployedFlow(catalog.get('flow', flow.name)?.value);
    const isKnown =
      known?.fingerprint === value.fingerprint && flowChanges(known, value).length === 0;
    if (!isKnown) {
      entries.push({ kind: 'flow' as const, name: flow.name, value });
    }
  }
  for (const view of plan.materializedViews) {
    const value = viewDefinition(view);
    const known = readViewDefinition(catalog.get('view', view.name)?.value);
    if (known?.fingerprint !== value.fingerprint) {
      entries.push({ kind: 'view' as const, name: view.name, value });
    }
  }
  if (entries.length > 0) await catalog.write(entries, clock.now());
}

type DeployedOptions = Pick<PrepareOptions, 'log' | 'plan' | 'pipeline'> & {
  readonly catalog: Catalog;
};

/** What a command knows of a flow that is deployed. Nothing is created: its topics are there, or TOPIC_MISSING. */
export async function deployedFacts(options: DeployedOptions, flow: FlowPlan): Promise<FlowFacts> {
  const { described } = await describeFlow(options, flow);
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

function flowFacts(
  flow: FlowPlan,
  { plan, pipeline }: Pick<PrepareOptions, 'plan' | 'pipeline'>,
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
  };
  if (flow.kind === 'append') return { ...shared, flow, repartition: undefined, levels: undefined };
  const levels = keepsLevels(flow, pipeline, known.catalog)
    ? topicFacts(topics, levelsTopicOf(pipeline, flow.name))
    : undefined;
  if (flow.kind === 'auto_cdc') {
    const feeds = topicFacts(topics, repartitionTopicOf(pipeline, flow.target));
    return { ...shared, flow, feeds, repartition: hasStage(flow) ? feeds : undefined, levels };
  }
  const repartition = topicFacts(topics, repartitionTopicOf(pipeline, flow.name));
  if (flow.kind === 'join') {
    return {
      ...shared,
      flow,
      repartition,
      levels: topicFacts(topics, levelsTopicOf(pipeline, flow.name)),
    };
  }
  return { ...shared, flow, repartition, levels };
}

/** A record gives a row to each flow that reads it; what the rows of one table come from has to tell the flows apart. */
function twinsBefore(plan: PipelinePlan, flow: FlowPlan): number {
  const topicsOf = (one: FlowPlan) => sourcesOf(plan, one).map(({ topic }) => topic);
  const topics = new Set(topicsOf(flow));
  const before = plan.flows.slice(
    0,
    plan.flows.findIndex(({ name }) => name === flow.name),
  );
  return before.filter(
    (one) => one.target === flow.target && topicsOf(one).some((topic) => topics.has(topic)),
  ).length;
}

function staticFacts(flow: FlowPlan, plan: PipelinePlan): readonly StaticFacts[] {
  const bySource = new Map<string, StaticFacts>();
  for (const { steps } of flow.branches) {
    for (const source of staticSources(steps)) {
      const table = plan.tables.find(({ name }) => name === source.table);
      bySource.set(source.name, { source, output: table?.output });
    }
  }
  return [...bySource.values()];
}

async function pinned(
  facts: FlowFacts,
  { plan, log, pipeline, clock }: PrepareOptions,
  catalog: Catalog,
): Promise<FlowFacts> {
  const { flow, sources: topics } = facts;
  for (const { branches } of topics) {
    for (const { source } of branches) {
      await computeOnce({ flow, source, plan, pipeline, log, catalog, clock });
    }
  }
  return { ...facts, once: await pinOnce({ flow, topics, log, catalog, nowMs: clock.now() }) };
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

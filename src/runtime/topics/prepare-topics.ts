import { createHash } from 'node:crypto';
import { FlowError } from '../../base/errors.ts';
import { oncePer, oncePerPair } from '../../base/once-per.ts';
import { viewDefinition } from '../../plan/flows/view-definition.ts';
import {
  type FlowPlan,
  type MaterializedViewPlan,
  type PipelinePlan,
  type SourcePlan,
  staticSources,
} from '../../plan/pipeline-plan.ts';
import { batchInputs, catalogTopicOf, groupOf, viewInputs } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, TopicDescription, TopicSpec } from '../../ports/log.ts';
import { alternatives } from '../../refresh/alternatives.ts';
import { flowChanges, isOtherForm, needsRefresh } from '../../refresh/changes.ts';
import { type DeployedFlow, deployedFlow, readDeployedFlow } from '../../refresh/deployed-flow.ts';
import type { FlowChange } from '../../refresh/flow-change.ts';
import { successionChanges } from '../../refresh/succession-changes.ts';
import { keptRowChanges, readViewDefinition } from '../../refresh/view-changes.ts';
import type { FlowFacts } from '../inspect/flow-facts.ts';
import {
  flowFacts,
  isOwn,
  type PipelineOnLog,
  sourcesOf,
  tableOf,
  tableOfView,
  viewFacts,
} from '../inspect/pipeline-facts.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import { endOpenOver } from '../takeover/end-open.ts';
import { goneDeadLetters } from '../takeover/gaps.ts';
import { logStarts } from '../takeover/log-starts.ts';
import { pinOnce } from '../views/once-pins.ts';
import { computeOnce } from '../views/once-result.ts';
import { missingStatic } from '../views/static-data.ts';
import type { ViewFacts } from '../views/view-facts.ts';
import { answerWithin } from '../worker/answer-within.ts';
import { checkCarried, forgottenCarries } from './carried-flows.ts';
import { Catalog, type KnownCatalog } from './catalog.ts';
import { checkSuccession } from './check-succession.ts';
import {
  type CheckpointAsker,
  checkCatalog,
  checkTopic,
  refuseLost,
  type WantedTopic,
} from './check-topics.ts';
import { type EnteredTopic, refuseShared } from './other-owners.ts';
import { firstWriters } from './table-writer.ts';
import { takeTableOver } from './take-table-over.ts';
import { type WantedOptions, wantedOf } from './wanted-topics.ts';

export type PrepareOptions = PipelineOnLog & {
  readonly listener: RuntimeListener;
  readonly replicationFactor: number;
  readonly clock: Clock;
  readonly instance: string;
  /** Whether somebody asked for the end meanwhile. */
  readonly isStopped: () => boolean;
};

export type PreparedPipeline = {
  readonly flows: readonly FlowFacts[];
  readonly views: readonly ViewFacts[];
  readonly catalog: Catalog;
};

/**
 * Brings the topics of a pipeline into the state that it needs, or refuses with what to change.
 * Invariant: a topic that holds records and is not the pipeline's own is never written to, and no setting
 * of an existing topic is changed.
 */
export async function prepareTopics(options: PrepareOptions): Promise<PreparedPipeline> {
  const { plan, pipeline, log, listener, replicationFactor } = options;
  const sourceTopics = await describeSources(plan, log);
  const catalogTopic = catalogTopicOf(pipeline);
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
    const endOpen = (flow: string): Promise<void> => endOpenOver({ ...options, catalog }, flow);
    const ending = { clock: options.clock, endOpen };
    const definitions = new Map<FlowPlan, Definition>();
    for (const flow of plan.flows) {
      checkCarried(plan, flow, catalog);
      await checkHistory({ ...options, ending }, flow, catalog);
      const definition = definitionOf(plan, flow, catalog);
      checkDefinition(flow, definition, tableOf(plan, flow).isSink === true);
      checkSuccession(plan, flow, catalog);
      definitions.set(flow, definition);
    }
    for (const view of plan.materializedViews) checkKeptRows(plan, view, catalog);
    for (const flow of plan.flows) await takeTableOver(options, catalog, flow);
    const { known, existing, resolved } = await wantedOf(options, sourceTopics, catalog);
    const check = { log, catalog, pipeline, existing, wanted: resolved, ending };
    for (const topic of resolved) await checkTopic(check, topic);
    await createMissing(
      log,
      listener,
      resolved.filter(({ name }) => !existing.has(name)),
    );
    // Tables that are read here may be written by flows that are not: their topics are there, or TOPIC_MISSING.
    const read = [
      ...plan.flows.flatMap((flow) => sourcesOf(plan, flow).map(({ topic }) => topic)),
      ...plan.materializedViews.flatMap((view) =>
        viewInputs(plan, tableOfView(plan, view)).flatMap(({ table }) => table?.topic ?? []),
      ),
    ];
    const all = await log.describeTopics([
      ...new Set([...resolved.map(({ name }) => name), ...read]),
    ]);
    const isNews = ({ name }: WantedTopic): boolean =>
      catalog.get('topic', name)?.value['topicId'] !== all.get(name)?.topicId;
    if (resolved.some(isNews)) {
      // Before what is there now is taken for known: since the checks another instance may have begun, and lost its table.
      await catalog.read();
      for (const topic of resolved) await refuseLost({ ...check, existing: all }, topic);
    }
    const found = { topics: resolved, definitions, described: all };
    const entered = await remember(options, catalog, found);
    await refuseShared({ ...options, catalog, nowMs: options.clock.now() }, entered);
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
      checkCarried(plan, flow, catalog);
      await checkHistory(options, flow, catalog);
      const isSink = tableOf(plan, flow).isSink === true;
      checkDefinition(flow, definitionOf(plan, flow, catalog), isSink);
      checkSuccession(plan, flow, catalog);
    });
  }
  for (const view of plan.materializedViews) {
    await attempt(() => checkKeptRows(plan, view, catalog));
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

async function describeSources(
  plan: PipelinePlan,
  log: Log,
): Promise<ReadonlyMap<string, TopicDescription>> {
  const sources = foreignSources(plan);
  const topics = await log.describeTopics([...new Set(sources.map(({ topic }) => topic))]);
  const missing = sources.filter(({ topic }) => !topics.has(topic));
  const file = missing.find((source) => source.file !== undefined);
  if (file !== undefined) throw missingStatic(file);
  if (missing.length > 0) {
    const names = [...new Set(missing.map(({ topic }) => topic))];
    const are = names.length === 1 ? ['topic', 'does'] : ['topics', 'do'];
    throw new FlowError(
      'TOPIC_MISSING',
      `source ${are[0]} "${names.join('", "')}" ${are[1]} not exist`,
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

/** What a plan reads that is not its own: the output of a table and the result of a batch query are created below. */
const foreignSources = oncePer((plan: PipelinePlan): readonly SourcePlan[] => {
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
  return plan.sources.filter(
    (source) => used.has(source.name) && source.batch === undefined && !isOwn(plan, source),
  );
});

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

type HistoryOptions = CheckpointAsker & { readonly plan: PipelinePlan };

/** How often the catalog is looked at while a checkpoint is waited for, which an open transaction may hold. */
const lookMs = 2_000;

/**
 * Refuses to go on from a checkpoint of which nobody knows any more what it was made with. An instance that takes a flow
 * over has written its definition before, so what has a checkpoint and none has lost it.
 */
async function checkHistory(
  options: HistoryOptions,
  flow: FlowPlan,
  catalog: KnownCatalog,
): Promise<void> {
  const { pipeline } = options;
  const isKnown = (): boolean =>
    readDeployedFlow(catalog.get('flow', flow.name)?.value) !== undefined;
  if (isKnown()) return;
  const isTaken = catalog.all('takeover').some(({ name }) => name.startsWith(`${flow.name}/`));
  const isDamaged = catalog.get('flow', flow.name) !== undefined;
  const isEmpty = catalog.all('flow').length === 0;
  const isLost =
    isTaken || isDamaged || (isEmpty && (await isCommittedUnless(isKnown, options, flow, catalog)));
  if (!isLost) return;
  // Another instance may have started the flow since the catalog was read.
  await catalog.read();
  if (isKnown()) return;
  throw new FlowError(
    'DEFINITION_MISSING',
    `the catalog of the pipeline does not know what flow "${flow.name}" was made with`,
    {
      detail: `The flow has a checkpoint, and topic "${pipeline}.catalog" has no definition of it: its records were deleted, or the topic was created anew.`,
      hint: `Restore topic "${pipeline}.catalog" from a copy, with its records in order. Without one compute the table anew (tidemark refresh ${flow.target} --in-place; --plan tells first what that would lose, and --keep-unrecoverable keeps it), or give the table another topic and the flow a new name.`,
    },
  );
}

/**
 * Whether the flow has a checkpoint, unless the definition turns up meanwhile: an instance that died with its first checkpoint open would be waited
 * for until its transaction has timed out, and has entered its definition before (simulation seed 799255). Where none turns up the
 * catalog is lost, and what holds the answer up is ended.
 */
async function isCommittedUnless(
  isKnown: () => boolean,
  options: HistoryOptions,
  flow: FlowPlan,
  catalog: KnownCatalog,
): Promise<boolean> {
  const { ending } = options;
  const asking = isCommitted(options, flow);
  if (ending === undefined) return asking;
  for (let looks = 1; ; looks += 1) {
    const answer = await answerWithin(ending.clock, lookMs, asking);
    if (answer !== undefined) return answer;
    await catalog.read();
    if (isKnown()) return false;
    if (looks === 1) await ending.endOpen(flow.name);
  }
}

/** Whether the flow has a checkpoint in any of its sources, whatever has become of its table. */
async function isCommitted(
  { plan, pipeline, log }: HistoryOptions,
  flow: FlowPlan,
): Promise<boolean> {
  const topics = new Set(sourcesOf(plan, flow).map((source) => source.topic));
  for (const { name, partitions } of (await log.describeTopics([...topics])).values()) {
    const numbers = Array.from({ length: partitions }, (_, partition) => partition);
    const committed = await log.committedOffsets(groupOf(pipeline, flow.name), name, numbers);
    if (committed.size > 0) return true;
  }
  return false;
}

/** Each start compares the same two: entries of the catalog that have one text are one object. */
const changesSince = oncePerPair(flowChanges);

/** A flow as the catalog knows it, as it is now, and what differs. */
type Definition = {
  /** undefined: it is not known. */
  readonly known: DeployedFlow | undefined;
  readonly present: DeployedFlow;
  readonly changes: readonly FlowChange[];
};

function definitionOf(plan: PipelinePlan, flow: FlowPlan, catalog: KnownCatalog): Definition {
  const known = readDeployedFlow(catalog.get('flow', flow.name)?.value);
  const present = deployedFlow(flow, tableOf(plan, flow));
  const changes = known === undefined ? [] : changesSince(known, present);
  return { known, present, changes };
}

/**
 * Refuses to go on from a checkpoint whose rows contradict the present definition. Everything else that changed is told
 * by `plan` and remembered.
 */
function checkDefinition(
  flow: FlowPlan,
  { known, present, changes }: Definition,
  isSink: boolean,
): void {
  if (!needsRefresh(changes)) return;
  const reasons = changes.filter(({ effect }) => effect === 'refresh');
  throw new FlowError(
    'DEFINITION_CHANGED',
    `flow "${flow.name}" has a checkpoint of another definition`,
    {
      detail: [
        ...reasons.map(({ id, text }) => `${text} (${id})`),
        ...fingerprintsOf(known, present),
      ].join(' '),
      hint: `${alternatives(changes, {
        flow: flow.name,
        table: flow.target,
        kind: flow.kind,
        isSink,
        canBeSucceeded: known !== undefined && successionChanges(known, present).length === 0,
        otherForm: known !== undefined && isOtherForm(known, present) ? 'mode' : undefined,
      }).join('; ')}.`,
    },
  );
}

/** By which two definitions of one name are told apart; a topic or a column list may differ where they are the same. */
function fingerprintsOf(known: DeployedFlow | undefined, present: DeployedFlow): readonly string[] {
  if (known === undefined || known.fingerprint === present.fingerprint) return [];
  const short = ({ fingerprint }: DeployedFlow): string =>
    createHash('sha256').update(fingerprint).digest('hex').slice(0, digitsShown);
  return [`The checkpoint has fingerprint ${short(known)}, these files give ${short(present)}.`];
}

const digitsShown = 12;

/** The same of a REPLACE WHERE flow, whatever its name was: the rows that it keeps are rows of its table as it is now. */
function checkKeptRows(
  plan: PipelinePlan,
  view: MaterializedViewPlan,
  catalog: KnownCatalog,
): void {
  if (view.replaceWhere === undefined) return;
  const { name, columns } = tableOfView(plan, view);
  const definitions = catalog.all('view').flatMap(({ value, offset }) => {
    const keeps = readViewDefinition(value)?.keeps;
    return keeps?.table === name ? [{ keeps, offset }] : [];
  });
  const last = definitions.toSorted((left, right) => right.offset - left.offset)[0];
  const changes = keptRowChanges(last?.keeps.columns ?? [], columns);
  if (changes.length === 0) return;
  throw new FlowError(
    'DEFINITION_CHANGED',
    `flow "${view.name}" keeps rows of table "${name}" that another definition wrote`,
    {
      detail: changes.map(({ id, text }) => `${text} (${id})`).join(' '),
      hint: `Keep the column as it was and add a new one beside it; or give the table another name and topic, and unite both in a view; or compute the table from nothing (tidemark refresh ${name}; --plan tells first which rows would go).`,
    },
  );
}

type Found = {
  readonly topics: readonly WantedTopic[];
  /** As they were when they were checked. */
  readonly definitions: ReadonlyMap<FlowPlan, Definition>;
  readonly described: ReadonlyMap<string, TopicDescription>;
};

async function remember(
  { plan, log, clock, listener }: PrepareOptions,
  catalog: Catalog,
  { topics, definitions, described }: Found,
): Promise<readonly EnteredTopic[]> {
  const entries: Parameters<Catalog['write']>[0][number][] = [
    ...firstWriters(catalog, plan),
    ...forgottenCarries(plan, catalog),
  ];
  const entered: EnteredTopic[] = [];
  for (const { name, role, flow, partitions } of topics) {
    const topicId = described.get(name)?.topicId;
    const known = catalog.get('topic', name)?.value;
    if (known === undefined || known['topicId'] !== topicId) {
      const isTable = topicId !== undefined && (role === 'output' || role === 'levels');
      const starts = isTable ? await logStarts(log, name, partitions) : {};
      const value = { role, flow, partitions, topicId, ...starts };
      entries.push({ kind: 'topic' as const, name, value });
      if (isTable) entered.push({ name, topicId, before: known });
      if (role === 'dead_letter' && known !== undefined && topicId !== undefined) {
        const gap = goneDeadLetters(flow, name, topicId);
        const atMs = clock.now();
        const noted = { ...gap, detectedAtMs: atMs, acceptedAtMs: atMs, usedAtMs: atMs };
        entries.push({ kind: 'gap' as const, name: gap.id, value: noted });
        listener({ event: 'gap', flow, gap });
      }
    }
  }
  for (const flow of plan.flows) {
    const checked = definitions.get(flow);
    const isAsChecked = checked?.known === readDeployedFlow(catalog.get('flow', flow.name)?.value);
    const definition =
      checked !== undefined && isAsChecked ? checked : definitionOf(plan, flow, catalog);
    const { known, present: value, changes } = definition;
    if (known?.fingerprint !== value.fingerprint || changes.length > 0) {
      entries.push({ kind: 'flow' as const, name: flow.name, value });
    }
  }
  for (const view of plan.materializedViews) {
    const value = viewDefinition(view, tableOfView(plan, view));
    const known = readViewDefinition(catalog.get('view', view.name)?.value);
    if (known?.fingerprint !== value.fingerprint) {
      entries.push({ kind: 'view' as const, name: view.name, value });
    }
  }
  const own = new Set(topics.map(({ name }) => name));
  for (const { name, topicId, clusterId } of described.values()) {
    if (own.has(name) || clusterId === undefined) continue;
    // Of a topic id for ever: what a checkpoint was made on can be told apart from what has its name now.
    if (catalog.get('source', topicId) !== undefined) continue;
    entries.push({ kind: 'source' as const, name: topicId, value: { topic: name, clusterId } });
  }
  if (entries.length > 0) await catalog.write(entries, clock.now());
  return entered;
}

async function pinned(
  facts: FlowFacts,
  options: PrepareOptions,
  catalog: Catalog,
): Promise<FlowFacts> {
  const { flow, sources: topics } = facts;
  const { log, clock, listener } = options;
  await computeOnce({ ...options, facts, catalog });
  const nowMs = clock.now();
  return { ...facts, once: await pinOnce({ flow, topics, log, catalog, nowMs, listener }) };
}

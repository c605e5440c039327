import type { FlowError } from '../../base/errors.ts';
import { flowOfBuilt } from '../../plan/bind/names.ts';
import { viewDefinition } from '../../plan/flows/view-definition.ts';
import type { FlowPlan, PipelinePlan } from '../../plan/pipeline-plan.ts';
import { groupOf, repartitionTopicOf, sourcesOf, tableOf, topology } from '../../plan/topology.ts';
import type { Log, TopicDescription } from '../../ports/log.ts';
import type { Gap } from '../../refresh/continuity.ts';
import { deployedFlow, readDeployedFlow } from '../../refresh/deployed-flow.ts';
import type { DeploymentFacts, WantedTopicFacts } from '../../refresh/deployment-plan.ts';
import { readViewDefinition } from '../../refresh/view-changes.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import { openRefresh } from '../refresh/refresh-record.ts';
import { isAddedSince } from '../takeover/added-partitions.ts';
import { decideWithAccepted, gapError } from '../takeover/gaps.ts';
import { markedGeneration, tableGeneration, writersOf } from '../takeover/generation.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import { type Catalog, noCatalog } from '../topics/catalog.ts';
import { lockedError } from '../topics/locks.ts';
import { startRefusals } from '../topics/prepare-topics.ts';
import { onceEnd, readPins } from '../views/once-pins.ts';
import { type Stop, stopOf } from '../worker/stops.ts';
import { tableOfView } from './pipeline-facts.ts';

export type PlanFactsOptions = {
  readonly log: Log;
  readonly catalog: Catalog | undefined;
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  readonly nowMs: number;
};

export type GatheredDeployment = DeploymentFacts & {
  /** What `run` would refuse; the first would be its error. */
  readonly refusals: readonly FlowError[];
  /** Flows and views that stood when they were tried last. */
  readonly stops: readonly Stop[];
};

/** What is deployed of a pipeline, beside its definition. Nothing is created, written or joined. */
export async function gatherDeployment(options: PlanFactsOptions): Promise<GatheredDeployment> {
  const { log, catalog, pipeline, plan } = options;
  const sources = plan.flows.flatMap((flow) => sourcesOf(plan, flow).map(({ topic }) => topic));
  const described = await log.describeTopics([...new Set(sources)]);
  const gaps = new Map<string, readonly Gap[]>();
  for (const flow of plan.flows) gaps.set(flow.name, await gapsOf(options, flow));
  return {
    flows: plan.flows.map((flow) => ({
      name: flow.name,
      definition: deployedFlow(flow, tableOf(plan, flow)),
    })),
    deployed: (catalog?.all('flow') ?? []).flatMap(({ name, value }) => {
      const definition = readDeployedFlow(value);
      // What a refresh builds is no flow of the pipeline.
      const isBuilt = openRefresh(catalog, flowOfBuilt(name)) !== undefined;
      const isFlow = flowOfBuilt(name) === name || !isBuilt;
      return definition === undefined || !isFlow ? [] : [{ name, definition }];
    }),
    views: plan.materializedViews.map((view) => ({
      name: view.name,
      definition: viewDefinition(view, tableOfView(plan, view)),
    })),
    deployedViews: (catalog?.all('view') ?? []).flatMap(({ name, value }) => {
      const definition = readViewDefinition(value);
      return definition === undefined ? [] : [{ name, definition }];
    }),
    topics: isComplete(plan, described) ? await wantedTopics(log, plan, pipeline, described) : [],
    gaps,
    refusals: [
      ...(await startRefusals(options, catalog ?? noCatalog)),
      ...[...gaps.values()].flatMap((found) => (found.length === 0 ? [] : [gapError(found)])),
      ...heldFlows(options),
    ],
    stops: [...plan.flows, ...plan.materializedViews].flatMap(({ name }) => {
      const stop = stopOf(catalog, name);
      return stop === undefined ? [] : [stop];
    }),
  };
}

/** How many partitions topics need is known only where all sources are there. */
function isComplete(plan: PipelinePlan, described: ReadonlyMap<string, TopicDescription>): boolean {
  return plan.flows.every((flow) =>
    sourcesOf(plan, flow).every(
      ({ topic, table }) => described.has(topic) || plan.tables.some(({ name }) => name === table),
    ),
  );
}

/** Flows that a command holds: an update would end there, a service waits. */
function heldFlows({ catalog, plan, nowMs }: PlanFactsOptions): readonly FlowError[] {
  if (catalog === undefined) return [];
  return plan.flows.flatMap(({ name }) => lockedError(catalog, name, nowMs) ?? []);
}

async function wantedTopics(
  log: Log,
  plan: PipelinePlan,
  pipeline: string,
  sources: ReadonlyMap<string, TopicDescription>,
): Promise<readonly WantedTopicFacts[]> {
  const counts = new Map([...sources].map(([name, { partitions }]) => [name, partitions]));
  const wanted = topology(plan, pipeline, counts).topics;
  const existing = await log.describeTopics(wanted.map(({ name }) => name));
  return wanted.map(({ name, role, flow, partitions }) => {
    const table = plan.tables.find(({ topic }) => topic === name);
    return {
      name,
      role,
      flow,
      partitions,
      isDeclared: role === 'output' && table?.partitions !== undefined,
      existing: existing.get(name)?.partitions,
    };
  });
}

/** What would stop a flow at its checkpoints, as it would find out itself. */
async function gapsOf(
  { log, catalog, pipeline, plan }: PlanFactsOptions,
  flow: FlowPlan,
): Promise<readonly Gap[]> {
  if (catalog === undefined) return [];
  const group = groupOf(pipeline, flow.name);
  const names = [
    ...new Set(sourcesOf(plan, flow).map(({ topic }) => topic)),
    repartitionTopicOf(pipeline, flow.name),
  ];
  const gaps: Gap[] = [];
  const pins = readPins(flow, catalog);
  const described = await log.describeTopics(names);
  for (const { name: topic, topicId, clusterId, partitions } of described.values()) {
    const numbers = numbersTo(partitions);
    const committed = await log.committedOffsets(group, topic, numbers);
    for (const [partition, { start, end }] of await log.offsetRanges(topic, numbers)) {
      const name = `${flow.name}/${partitionKey(topic, partition)}`;
      const mark = catalog.get('checkpoint', name)?.value;
      const known = mark?.['topicId'];
      const decided = decideWithAccepted(catalog, {
        flow: flow.name,
        topic,
        partition,
        committed: committed.get(partition)?.offset,
        checkpointTopicId: typeof known === 'string' ? known : undefined,
        topicId,
        isAdded:
          onceEnd(pins, topic, partition) !== 0 &&
          isAddedSince(catalog, { flow: flow.name, topic, topicId, partition }),
        clusterId,
        generation: isMinded(plan, flow, topic)
          ? tableGeneration(catalog, writersOf(plan, topic))
          : markedGeneration(mark),
        checkpointGeneration: markedGeneration(mark),
        start,
        end,
      });
      if (decided.decision === 'gap') gaps.push(decided.gap);
    }
  }
  return gaps;
}

/** Whether the flow stops when the table whose topic it reads was refreshed. */
function isMinded(plan: PipelinePlan, flow: FlowPlan, topic: string): boolean {
  return sourcesOf(plan, flow).some(
    (source) => source.topic === topic && source.skipsChanges !== true,
  );
}

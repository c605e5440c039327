import type { FlowError } from '../../base/errors.ts';
import { flowOfBuilt } from '../../plan/bind/names.ts';
import { viewDefinition } from '../../plan/flows/view-definition.ts';
import type { PipelinePlan } from '../../plan/pipeline-plan.ts';
import { sourcesOf, tableOf, topology } from '../../plan/topology.ts';
import type { Log, TopicDescription } from '../../ports/log.ts';
import type { Gap } from '../../refresh/continuity.ts';
import { deployedFlow, readDeployedFlow } from '../../refresh/deployed-flow.ts';
import type { DeploymentFacts, WantedTopicFacts } from '../../refresh/deployment-plan.ts';
import { readViewDefinition } from '../../refresh/view-changes.ts';
import { openRefresh } from '../refresh/refresh-record.ts';
import { gapError } from '../takeover/gaps.ts';
import { type Catalog, noCatalog } from '../topics/catalog.ts';
import { lockedError } from '../topics/locks.ts';
import { startRefusals } from '../topics/prepare-topics.ts';
import { readPins } from '../views/once-pins.ts';
import { type Stop, stopOf } from '../worker/stops.ts';
import { gapsOf } from './gaps-ahead.ts';
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
      isSink: tableOf(plan, flow).isSink === true,
      isDone: readPins(flow, catalog)?.isDone === true,
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
      ...plan.flows.flatMap((flow) => {
        const found = gaps.get(flow.name) ?? [];
        return found.length === 0 ? [] : [gapError(found, tableOf(plan, flow))];
      }),
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

import {
  type FlowPlan,
  type MaterializedViewPlan,
  type PipelinePlan,
  staticSources,
} from '../../plan/pipeline-plan.ts';
import { batchTables, catalogTopicOf, viewInputs } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { sourcesOf, tableOfView } from '../inspect/pipeline-facts.ts';
import { Catalog } from '../topics/catalog.ts';
import { answerWithin } from '../worker/answer-within.ts';
import { pausesOf } from '../worker/pauses.ts';
import { readPins } from './once-pins.ts';
import { readViewStatus } from './view-status.ts';

/** How long the answer about a view is waited for. */
const answerMsMax = 1_000;

export type UpstreamOptions = {
  readonly log: Log;
  readonly clock: Clock;
  readonly pipeline: string;
  /** In a triggered update REPLACE WHERE flows come behind all others as it is. */
  readonly isTriggered: boolean;
};

/**
 * What has to be brought up to date before the flows of a pipeline that run one time start first: the part of it that writes
 * the tables which they read. undefined: there is nothing to wait for. Invariant: what such a flow finds in a table does not
 * depend on which flow was quicker, but on what stood in the sources when the pipeline started.
 */
export async function onceUpstream(
  plan: PipelinePlan,
  { log, clock, pipeline, isTriggered }: UpstreamOptions,
): Promise<PipelinePlan | undefined> {
  const catalogTopic = catalogTopicOf(pipeline);
  const readers = plan.flows.filter((flow) => tablesOf(plan, flow).length > 0);
  const views = isTriggered
    ? []
    : plan.materializedViews.filter(
        (view) => view.replaceWhere?.once === true && tablesOfView(plan, view).length > 0,
      );
  if (readers.length + views.length === 0) return undefined;
  const isDeployed = (await log.describeTopics([catalogTopic])).has(catalogTopic);
  const catalog = isDeployed ? new Catalog(log, catalogTopic) : undefined;
  try {
    await catalog?.read();
    const due = readers.filter((flow) => {
      return catalog === undefined || readPins(flow, catalog) === undefined;
    });
    // The log does not tell how far a view is while its transaction is open, and whoever died in it is another's to end, who
    // has to start first: so it counts as one that is due.
    const asking = readViewStatus({
      ...{ log, pipeline, catalog },
      plan: { ...plan, materializedViews: views },
    });
    const states = (await answerWithin(clock, answerMsMax, asking)) ?? [];
    const dueViews = views.filter(
      ({ name }) => !states.some(({ view, state }) => view === name && state === 'current'),
    );
    const paused = new Set(catalog === undefined ? [] : pausesOf(catalog).map(({ flow }) => flow));
    return writersOf(
      plan,
      [
        ...due.flatMap((flow) => tablesOf(plan, flow)),
        ...dueViews.flatMap((view) => tablesOfView(plan, view)),
      ],
      paused,
    );
  } finally {
    await catalog?.close();
  }
}

/** The tables that the batch query of a flow reads. */
function tablesOf(plan: PipelinePlan, flow: FlowPlan): readonly string[] {
  return sourcesOf(plan, flow).flatMap((source) =>
    batchTables(plan, source).map(({ name }) => name),
  );
}

/** The tables that a materialized view or a REPLACE WHERE flow reads. */
function tablesOfView(plan: PipelinePlan, view: MaterializedViewPlan): readonly string[] {
  return viewInputs(plan, tableOfView(plan, view)).flatMap(({ table }) =>
    table === undefined ? [] : [table.name],
  );
}

/** The pipeline with what writes some tables alone, and whatever that reads in turn. */
function writersOf(
  plan: PipelinePlan,
  tables: readonly string[],
  paused: ReadonlySet<string>,
): PipelinePlan | undefined {
  const found = new Set(tables);
  const flows = new Set<FlowPlan>();
  const views = new Set<MaterializedViewPlan>();
  for (const table of found) {
    for (const flow of plan.flows.filter(({ target }) => target === table)) {
      flows.add(flow);
      const beside = flow.branches.flatMap(({ steps }) => staticSources(steps));
      for (const { table: read } of [...sourcesOf(plan, flow), ...beside]) {
        if (read !== undefined) found.add(read);
      }
      for (const read of tablesOf(plan, flow)) found.add(read);
    }
    for (const view of plan.materializedViews.filter((one) => one.table === table)) {
      views.add(view);
      for (const read of tablesOfView(plan, view)) found.add(read);
    }
  }
  const isGoing = ({ name }: { readonly name: string }): boolean => !paused.has(name);
  if (![...flows, ...views].some(isGoing)) return undefined;
  return {
    ...plan,
    flows: plan.flows.filter((flow) => flows.has(flow)),
    materializedViews: plan.materializedViews.filter((view) => views.has(view)),
  };
}

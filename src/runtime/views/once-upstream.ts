import {
  type FlowPlan,
  type MaterializedViewPlan,
  type PipelinePlan,
  staticSources,
} from '../../plan/pipeline-plan.ts';
import { batchTables, viewInputs } from '../../plan/topology.ts';
import type { Log } from '../../ports/log.ts';
import { sourcesOf, tableOfView } from '../inspect/pipeline-facts.ts';
import { Catalog } from '../topics/catalog.ts';
import { pausesOf } from '../worker/pauses.ts';
import { readPins } from './once-pins.ts';

/**
 * What has to be brought up to date before the once flows of a pipeline start first: the part of it that writes the tables
 * which they read. undefined: there is nothing to wait for. Invariant: what a once flow finds in a table does not depend on
 * which flow was quicker, but on what stood in the sources when the pipeline started.
 */
export async function onceUpstream(
  plan: PipelinePlan,
  { log, catalogTopic }: { readonly log: Log; readonly catalogTopic: string },
): Promise<PipelinePlan | undefined> {
  const readers = plan.flows.filter((flow) => tablesOf(plan, flow).length > 0);
  if (readers.length === 0) return undefined;
  const isDeployed = (await log.describeTopics([catalogTopic])).has(catalogTopic);
  const catalog = isDeployed ? new Catalog(log, catalogTopic) : undefined;
  try {
    await catalog?.read();
    const due = readers.filter((flow) => {
      return catalog === undefined || readPins(flow, catalog) === undefined;
    });
    const paused = new Set(catalog === undefined ? [] : pausesOf(catalog).map(({ flow }) => flow));
    return writersOf(
      plan,
      due.flatMap((flow) => tablesOf(plan, flow)),
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
      for (const { table: read } of viewInputs(plan, tableOfView(plan, view))) {
        if (read !== undefined) found.add(read.name);
      }
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

import type { PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { groupOf } from '../../plan/topology.ts';
import type { Log } from '../../ports/log.ts';
import { otherDefinition } from '../takeover/other-definition.ts';
import type { KnownCatalog } from '../topics/catalog.ts';

type OutdatedOptions = {
  readonly log: Log;
  readonly catalog: KnownCatalog;
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  readonly table: TablePlan;
};

/**
 * How many instances run the flows of a table by another definition than these files have. Invariant: an instance counts once,
 * and one that runs what the files say is none of them.
 */
export async function outdatedInstances(options: OutdatedOptions): Promise<number> {
  const { log, catalog, pipeline, plan, table } = options;
  let most = 0;
  for (const flow of plan.flows) {
    if (flow.target !== table.name) continue;
    if (otherDefinition(catalog, plan, flow) === undefined) continue;
    // An instance is a member of the group of each of its flows.
    most = Math.max(most, (await log.groupMembers(groupOf(pipeline, flow.name))).length);
  }
  return most;
}

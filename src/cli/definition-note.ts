import { FlowError } from '../base/errors.ts';
import type { PipelinePlan, TablePlan } from '../plan/pipeline-plan.ts';
import { catalogTopicOf } from '../plan/topology.ts';
import type { Log } from '../ports/log.ts';
import { refuseOtherForm } from '../runtime/inspect/refuse-unreadable.ts';
import { otherDefinition } from '../runtime/takeover/other-definition.ts';
import { type KnownCatalog, openCatalog } from '../runtime/topics/catalog.ts';

/** What to say of a table whose files are not what is deployed of it; undefined: nothing. Invariant: it is one line. */
export function definitionNote(
  catalog: KnownCatalog,
  plan: PipelinePlan,
  table: TablePlan,
): string | undefined {
  for (const flow of plan.flows) {
    if (flow.target !== table.name) continue;
    const changes = otherDefinition(catalog, plan, flow);
    if (changes === undefined) continue;
    return `the files differ from what is deployed of flow "${flow.name}"${changes === '' ? '' : `: ${changes}`}`;
  }
  return undefined;
}

/**
 * The same for verbs that need no more than the log: nothing is said where the catalog is not named, absent or unreadable.
 * Throws where the present definition can't read what is there.
 */
export async function deployedNote(
  log: Log,
  { plan, table, pipeline }: DeployedTable,
): Promise<string | undefined> {
  const catalog = await knownCatalog(log, pipeline);
  if (catalog === undefined) return undefined;
  for (const flow of plan.flows) {
    if (flow.target === table.name) refuseOtherForm(catalog, flow, table);
  }
  return definitionNote(catalog, plan, table);
}

async function knownCatalog(
  log: Log,
  pipeline: string | undefined,
): Promise<KnownCatalog | undefined> {
  if (pipeline === undefined) return undefined;
  try {
    const catalog = await openCatalog(log, catalogTopicOf(pipeline));
    await catalog?.close();
    return catalog;
  } catch (error) {
    if (error instanceof FlowError) return undefined;
    throw error;
  }
}

export type DeployedTable = {
  readonly plan: PipelinePlan;
  readonly table: TablePlan;
  /** Its name, where it is known. */
  readonly pipeline: string | undefined;
};

import { FlowError } from '../../base/errors.ts';
import type { FlowPlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { moveTo } from '../../refresh/alternatives.ts';
import { isOtherForm } from '../../refresh/changes.ts';
import { deployedFlow, readDeployedFlow } from '../../refresh/deployed-flow.ts';
import type { KnownCatalog } from '../topics/catalog.ts';

/**
 * Refuses to read a table by a definition whose records have another form than those that are there: each of them would
 * be called somebody else's.
 */
export function refuseOtherForm(catalog: KnownCatalog, flow: FlowPlan, table: TablePlan): void {
  const before = readDeployedFlow(catalog.get('flow', flow.name)?.value);
  if (before === undefined || !isOtherForm(before, deployedFlow(flow, table))) return;
  throw new FlowError(
    'DEFINITION_CHANGED',
    `table "${table.name}" was written in output mode ${before.output}, and the files say ${table.output}`,
    {
      detail: `Topic "${table.topic}" holds records of the former mode, which the present definition can not read. (FR-19)`,
      hint: `Read it with the definition that it was written with; or ${moveTo(table.name, 'mode')}.`,
    },
  );
}

/** Says why a table whose topic is not there has none, where that is no fault; otherwise nothing. */
export function refuseUnwritten(catalog: KnownCatalog, flow: FlowPlan, table: TablePlan): void {
  const before = readDeployedFlow(catalog.get('flow', flow.name)?.value);
  if (before === undefined && catalog.get('topic', table.topic) === undefined) {
    throw new FlowError('USAGE', `nothing was ever written to table "${table.name}"`, {
      detail: `Flow "${flow.name}" never ran, and topic "${table.topic}" does not exist.`,
      hint: 'Run the pipeline first: tidemark run --once.',
    });
  }
  if (before === undefined || before.topic === table.topic) return;
  throw new FlowError(
    'DEFINITION_CHANGED',
    `table "${table.name}" was written to topic "${before.topic}", and the files say "${table.topic}"`,
    {
      detail: 'That topic does not exist: nothing was written there yet. (FR-19)',
      hint: `Read it with the definition that it was written with; or let the next run fill the other topic: tidemark refresh ${table.name} --in-place, which leaves the former one as it is.`,
    },
  );
}

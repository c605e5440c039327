import { systemClock } from '../adapters/system/system-clock.ts';
import type { MaterializedViewPlan, PipelinePlan } from '../plan/pipeline-plan.ts';
import {
  type ComputedRefresh,
  type ComputedReport,
  previewComputed,
  refreshComputed,
} from '../runtime/refresh/refresh-computed.ts';
import { type Invocation, usageError } from './command.ts';
import type { Deployment } from './deployment.ts';

/** The REPLACE WHERE flow that computes a table, by the name of the table. */
export function computingFlow(plan: PipelinePlan, name: string): MaterializedViewPlan | undefined {
  return plan.materializedViews.find(
    ({ table, replaceWhere }) =>
      replaceWhere !== undefined && table.toLowerCase() === name.toLowerCase(),
  );
}

/** What is about rows that are read one by one, or about a table beside the live one. */
const otherFlags = [
  ...['keep-unrecoverable', 'lost-keys', 'rate', 'try-records', 'shadow', 'cancel'],
] as const;

/** Refreshes tables of REPLACE WHERE flows, or tells what that would lose (--plan); one report a table. */
export async function refreshTables(
  invocation: Invocation,
  { log, plan, pipeline, catalog }: Deployment,
  views: readonly MaterializedViewPlan[],
): Promise<readonly ComputedReport[]> {
  const other = otherFlags.find((flag) => invocation.isSet(flag));
  if (other !== undefined) {
    throw usageError(
      `--${other} has no meaning for table "${views[0]?.table ?? ''}", which a REPLACE WHERE flow computes`,
      'Its refresh is one computation that keeps none of its rows; --plan tells which would be lost.',
    );
  }
  const isPreview = invocation.isSet('plan') || invocation.isSet('dry-run');
  const reports: ComputedReport[] = [];
  for (const view of views) {
    const options: ComputedRefresh = { log, plan, pipeline, view, clock: systemClock };
    if (isPreview) reports.push(await previewComputed(options, catalog));
    else if (catalog === undefined) throw usageError(`pipeline "${pipeline}" never ran`);
    else {
      const allowLoss = invocation.isSet('allow-loss');
      reports.push(await refreshComputed({ ...options, catalog, allowLoss }));
    }
  }
  if (!invocation.json) {
    for (const report of reports) {
      invocation.terminal.out(isPreview ? previewText(report) : doneText(report));
    }
  }
  return reports;
}

function previewText({ table, rows, lost, downstream }: ComputedReport): string {
  const loss =
    lost.rows === 0
      ? 'A refresh loses nothing: the next update computes each of them again.'
      : `A refresh would lose ${lost.rows} of them, which no update computes again: they do not meet the condition, or records that they came from are gone.`;
  const views =
    downstream.length === 0
      ? ''
      : `These are computed anew by the next update: ${downstream.join(', ')}.\n`;
  return `Table ${table} has ${rows} rows, which a REPLACE WHERE flow computes.\n${loss}\n${views}`;
}

function doneText({ table, generation, lost }: ComputedReport): string {
  const loss = lost.rows === 0 ? 'nothing is lost' : `rows lost: ${lost.rows}`;
  return `table ${table} is in generation ${generation}: the next update computes it from nothing, or the service that runs; ${loss}\n`;
}

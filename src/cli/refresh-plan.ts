import { FlowError } from '../base/errors.ts';
import type { MaterializedViewPlan, TablePlan } from '../plan/pipeline-plan.ts';
import type { ReadRate, RefreshReport } from '../refresh/refresh-report.ts';
import type { RefreshRequest } from '../refresh/refresh-request.ts';
import { outdatedInstances } from '../runtime/inspect/outdated-instances.ts';
import type { ComputedReport } from '../runtime/refresh/refresh-computed.ts';
import { gatherFacts, type RefreshFacts } from '../runtime/refresh/refresh-facts.ts';
import { type Preview, previewRefresh } from '../runtime/refresh/refresh-preview.ts';
import { foreseenRefusal } from '../runtime/refresh/refresh-refusals.ts';
import { noCatalog } from '../runtime/topics/catalog.ts';
import type { ExitCode, Invocation } from './command.ts';
import type { Deployment } from './deployment.ts';
import { errorText, exitCodeOf } from './exit-code.ts';
import { LostKeysFile } from './lost-keys-file.ts';
import { refreshTables } from './refresh-computed.ts';
import { foreseenText, previewText, sourcesText } from './refresh-text.ts';
import { trialOf } from './refresh-trial.ts';
import { errorFields } from './run-log.ts';
import { ScanProgress } from './scan-progress.ts';

/** What a refresh is asked to compute anew. */
export type Wanted = {
  /** In the order in which they have to be refreshed. */
  readonly tables: readonly TablePlan[];
  /** Those of them that were asked for: the others belong to their flows. */
  readonly asked: readonly TablePlan[];
  /** REPLACE WHERE flows whose tables are meant: each computes its table as a whole. */
  readonly computing: readonly MaterializedViewPlan[];
};

/** Of records that are tried. */
export const tryBounds = { min: 0, max: 1_000_000_000_000 };
/** Of records a second. */
export const rateBounds = { min: 1, max: 1_000_000_000 };

/** Tells of each table what a refresh as it is asked for would do and lose (--plan). */
export async function preview(
  invocation: Invocation,
  deployment: Deployment,
  { tables, asked, computing }: Wanted,
): Promise<ExitCode> {
  const path = invocation.text('lost-keys');
  const file = path === undefined ? undefined : new LostKeysFile(path);
  const reports: (Planned | Refusal | ComputedReport)[] = [];
  let failure: FlowError | undefined;
  for (const table of asked) {
    try {
      const found = await previewTable(invocation, deployment, { table, file, tables });
      const outdated = await outdatedOf(deployment, table);
      const refused = found.refusal === undefined ? null : errorFields(found.refusal);
      reports.push({ ...found.report, refused, outdatedInstances: outdated });
      if (!invocation.json && outdated > 0) invocation.terminal.out(`${outdatedText(outdated)}\n`);
    } catch (error) {
      // Of several tables each has its own fate; what no table has a part in ends the command.
      if (asked.length === 1 || !isOwnFailure(error)) throw error;
      failure ??= error;
      reports.push({ table: table.name, error: errorFields(error) });
      if (!invocation.json) {
        invocation.terminal.out(`Table ${table.name} can not be refreshed:\n${errorText(error)}\n`);
      }
    }
  }
  await file?.close();
  if (computing.length > 0)
    reports.push(...(await refreshTables(invocation, deployment, computing)));
  if (invocation.json) invocation.printJson(reports.length === 1 ? reports[0] : reports);
  return failure === undefined ? 0 : exitCodeOf(failure);
}

type Planned = RefreshReport & {
  /** Why the command would be refused as it is asked for, whatever it loses; null: it would not. */
  readonly refused: Record<string, unknown> | null;
  readonly outdatedInstances: number;
};

function requestOf(invocation: Invocation, table: TablePlan): RefreshRequest {
  return {
    table: table.name,
    mode: invocation.isSet('in-place') ? 'in_place' : 'beside',
    allowLoss: invocation.isSet('allow-loss'),
    keepUnrecoverable: invocation.isSet('keep-unrecoverable'),
  };
}

async function outdatedOf(deployment: Deployment, table: TablePlan): Promise<number> {
  const { catalog } = deployment;
  return catalog === undefined ? 0 : outdatedInstances({ ...deployment, catalog, table });
}

/** Whoever runs older files is told of before anything begins: it stops once the table is of another definition. */
export function outdatedText(count: number): string {
  return count === 1
    ? '1 instance runs another definition than these files, and stops once the table is refreshed: start it anew with them then.'
    : `${count} instances run another definition than these files, and stop once the table is refreshed: start them anew with them then.`;
}

/** A table of several that can't be refreshed, and why. */
type Refusal = { readonly table: string; readonly error: Record<string, unknown> };

function isOwnFailure(error: unknown): error is FlowError {
  return error instanceof FlowError && (error.remedy === 'fix-input' || error.remedy === 'stop');
}

/** Tells what is known at once, then what only a scan can tell. */
async function previewTable(
  invocation: Invocation,
  deployment: Deployment,
  {
    table,
    file,
    tables,
  }: {
    readonly table: TablePlan;
    readonly file: LostKeysFile | undefined;
    readonly tables: readonly TablePlan[];
  },
): Promise<Preview & { readonly facts: RefreshFacts; readonly refusal: FlowError | undefined }> {
  const { log, catalog, pipeline, plan } = deployment;
  const { terminal, json } = invocation;
  const together = new Set(tables.map(({ name }) => name));
  const facts = await gatherFacts({ log, catalog, pipeline, plan, table, together });
  const asked = { catalog: catalog ?? noCatalog, plan, table, together };
  const refusal = foreseenRefusal(asked, requestOf(invocation, table), facts);
  if (!json) terminal.out(sourcesText(facts));
  const rate = rateOf(invocation);
  const progress = new ScanProgress(invocation);
  const found = await previewRefresh({
    log,
    plan,
    facts,
    rate,
    trial: trialOf(deployment, facts, {
      together,
      recordsMax: invocation.whole('try-records', tryBounds),
      onProgress: (one) => progress.show(one, 'trying'),
    }),
    onLoss: (loss) => file?.add(loss, facts),
    onProgress: (one) => progress.show(one),
  });
  progress.end();
  if (!json) {
    const refused = refusal === undefined ? '' : foreseenText(refusal);
    terminal.out(`${previewText(found, facts, plan)}${refused}\n`);
  }
  return { ...found, facts, refusal };
}

function rateOf(invocation: Invocation): ReadRate | undefined {
  const recordsPerSecond = invocation.whole('rate', rateBounds);
  return recordsPerSecond === undefined ? undefined : { recordsPerSecond, basis: 'given' };
}

/** Tells of instances that stop once the tables are refreshed. */
export async function tellOutdated(
  { terminal }: Invocation,
  deployment: Deployment,
  tables: readonly TablePlan[],
): Promise<void> {
  for (const table of tables) {
    const count = await outdatedOf(deployment, table);
    if (count > 0) terminal.err(`${table.name}: ${outdatedText(count)}\n`);
  }
}

import type { FlowError } from '../../base/errors.ts';
import type { PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { sourcesOf } from '../../plan/topology.ts';
import type { OtherForm } from '../../refresh/alternatives.ts';
import { flowChanges, isOtherForm } from '../../refresh/changes.ts';
import { deployedFlow, readDeployedFlow } from '../../refresh/deployed-flow.ts';
import type { FlowChange } from '../../refresh/flow-change.ts';
import type { LossCounts } from '../../refresh/loss.ts';
import { downstreamOf } from '../../refresh/refresh-report.ts';
import {
  decideRefresh,
  type RefreshDecision,
  type RefreshMode,
  type RefreshRequest,
  refusalOf,
} from '../../refresh/refresh-request.ts';
import type { TrialReport } from '../../refresh/trial.ts';
import type { KnownCatalog } from '../topics/catalog.ts';
import { flowsOf, type RefreshFacts, siftsOf } from './refresh-facts.ts';
import { previewRefresh } from './refresh-preview.ts';
import { takesAll } from './refresh-record.ts';
import type { RefreshRun, RefreshRunOptions } from './refresh-run.ts';
import { trialRecordsDefault, tryRecords } from './refresh-trial.ts';

/** The table that is asked for, and what the command refreshes with it. */
type Asked = {
  readonly catalog: Pick<KnownCatalog, 'get'>;
  readonly plan: PipelinePlan;
  readonly table: TablePlan;
  readonly together?: ReadonlySet<string> | undefined;
};

type Known = {
  readonly lost: LossCounts;
  readonly pendingLost: number;
  readonly untold?: RefreshFacts['untold'];
  readonly partitions: number | undefined;
  readonly trial?: TrialReport | null;
};

const noLoss = { lost: { keys: 0, rows: 0, levels: 0 }, pendingLost: 0 };

/** Throws the refusal, if what would be lost is not accepted. */
export function refuseUnwanted({ options, progress }: RefreshRun, known: Known): void {
  const { plan, table, together } = options;
  const { mode, allowLoss, keepUnrecoverable, isShadow } = progress.record;
  const downstream =
    isShadow === true
      ? []
      : downstreamOf(plan, table).filter((name) => together?.has(name) !== true);
  const request = { table: table.name, mode, allowLoss, keepUnrecoverable, isShadow };
  const refusal = refusalOf(decide(options, request, { ...known, downstream }));
  if (refusal !== undefined) throw refusal;
}

/**
 * Why a refresh as it is asked for would be refused whatever it loses; undefined: it would not. Throws it where no refresh
 * is possible at all, whose loss nobody needs to know. That other tables read this one is told elsewhere.
 */
export function foreseenRefusal(
  asked: Asked,
  request: RefreshRequest,
  { output }: Pick<RefreshFacts, 'output'>,
): FlowError | undefined {
  const known = { ...noLoss, partitions: output?.partitions.length, downstream: [] };
  const refusal = refusalOf(decide(asked, request, known));
  if (refusal !== undefined && hasOtherForm(asked, { output })) throw refusal;
  return refusal;
}

/** Whether the topic of a table can't take what the present definition gives, so that no refresh of it is possible. */
export function hasOtherForm(asked: Asked, { output }: Pick<RefreshFacts, 'output'>): boolean {
  return otherFormOf(asked, output?.partitions.length) !== undefined;
}

function decide(
  asked: Asked,
  request: RefreshRequest,
  { partitions, trial, ...known }: Known & { readonly downstream: readonly string[] },
): RefreshDecision {
  const { plan, table, together } = asked;
  const flows = flowsOf(plan, table);
  return decideRefresh(request, {
    ...known,
    isJoined: flows.some(({ kind }) => kind === 'join'),
    isLimited: [...siftsOf(plan, table), ...flows].some(
      (flow) => 'limit' in flow && flow.limit !== undefined,
    ),
    appendedFrom: table.output === 'append' ? readTogether(plan, table, together) : [],
    changes: changesOf(asked),
    otherForm: otherFormOf(asked, partitions),
    trial: trial ?? null,
  });
}

/** Against the definitions that the table was written with. */
function changesOf({ catalog, plan, table }: Asked): readonly FlowChange[] {
  const changes = flowsOf(plan, table).flatMap((flow) => {
    const before = readDeployedFlow(catalog.get('flow', flow.name)?.value);
    return before === undefined ? [] : flowChanges(before, deployedFlow(flow, table));
  });
  // What is said of the table each of its feeds says.
  return [...new Map(changes.map((change) => [JSON.stringify(change), change])).values()];
}

/** The tables refreshed by the same command that a table reads. */
function readTogether(
  plan: PipelinePlan,
  table: TablePlan,
  together: ReadonlySet<string> | undefined,
): readonly string[] {
  const read = flowsOf(plan, table).flatMap((flow) => sourcesOf(plan, flow));
  return read.flatMap(({ table: name }) =>
    name !== undefined && name !== table.name && together?.has(name) === true ? [name] : [],
  );
}

function otherFormOf(
  { catalog, plan, table }: Asked,
  partitions: number | undefined,
): OtherForm | undefined {
  const [flow] = flowsOf(plan, table);
  const before = readDeployedFlow(catalog.get('flow', flow.name)?.value);
  if (before !== undefined && isOtherForm(before, deployedFlow(flow, table))) return 'mode';
  const { partitions: declared = partitions } = table;
  return partitions === undefined || declared === partitions ? undefined : 'partitions';
}

/** Refuses what is not accepted, before anything is made or touched. Gives the records that the sources have. */
export async function refuseLossOf(run: RefreshRun, facts: RefreshFacts): Promise<number> {
  const { log, plan, onProgress } = run.options;
  const { record } = run.progress;
  const partitions = facts.output?.partitions.length;
  // What no flag accepts is known at once, and what is of another form could not even be read.
  refuseUnwanted(run, { ...noLoss, partitions });
  if (takesAll(record)) return 0;
  const { report } = await previewRefresh({
    log,
    plan,
    facts,
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  const known = {
    ...{ lost: report.lost, pendingLost: report.pending.lost, partitions },
    untold: facts.untold,
  };
  refuseUnwanted(run, known);
  // What is accepted, or only measured, need not be known.
  if (!record.allowLoss && record.isShadow !== true) {
    refuseUnwanted(run, { ...known, trial: await tryBefore(run.options, record.mode) });
  }
  return report.records;
}

/**
 * An emptied table can't be had back, so every record is tried, or as many as somebody takes for enough. One that is built
 * beside it reads them all before it takes its place, so a sample tells most of what is wrong before the work begins.
 */
function tryBefore(options: RefreshRunOptions, mode: RefreshMode): Promise<TrialReport> {
  const { plan, table, onStep } = options;
  const most = mode === 'in_place' ? Number.POSITIVE_INFINITY : trialRecordsDefault;
  const { tryRecordsMax: recordsMax = most } = options;
  onStep?.('trying whether its records can be read with the present definition');
  return tryRecords({ ...options, flows: flowsOf(plan, table), recordsMax });
}

import { systemClock } from '../adapters/system/system-clock.ts';
import { composeState, workerSettings } from '../compose.ts';
import type { PipelinePlan, TablePlan } from '../plan/pipeline-plan.ts';
import { areChained, refreshOrder, withHelpers } from '../refresh/refresh-report.ts';
import { type BesideOptions, refreshBeside } from '../runtime/refresh/refresh-beside.ts';
import { type CancelOptions, cancelRefresh } from '../runtime/refresh/refresh-cancel.ts';
import { flowsOf } from '../runtime/refresh/refresh-facts.ts';
import { refreshInPlace } from '../runtime/refresh/refresh-in-place.ts';
import { openRefresh } from '../runtime/refresh/refresh-record.ts';
import type { RefreshOutcome, RefreshRunOptions } from '../runtime/refresh/refresh-run.ts';
import { refreshTogether, refreshTogetherBeside } from '../runtime/refresh/refresh-together.ts';
import { lostCatalog } from '../runtime/topics/lost-catalog.ts';
import { type Command, type Invocation, usageError } from './command.ts';
import { type Deployment, withDeployment } from './deployment.ts';
import { timeFlag, waitUntil } from './not-before.ts';
import { fencingListener } from './outside.ts';
import { namedTable, pipelineFlag } from './pipeline-files.ts';
import { computingFlow, refreshTables } from './refresh-computed.ts';
import { preview, rateBounds, tellOutdated, tryBounds, type Wanted } from './refresh-plan.ts';
import { outcomeText } from './refresh-text.ts';
import { ScanProgress } from './scan-progress.ts';

export const refresh: Command = {
  name: 'refresh',
  summary: 'compute tables anew from their sources; --plan tells first what that would lose',
  arguments: 'TABLE…',
  example:
    'tidemark refresh bookings_current --plan --lost-keys lost.jsonl --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092',
  flags: {
    ...pipelineFlag,
    plan: { type: 'boolean', doc: 'Only tell what would be read, lost and be due downstream.' },
    'dry-run': { type: 'boolean', doc: 'The same as --plan.' },
    all: { type: 'boolean', doc: 'All tables of the pipeline.' },
    'lost-keys': {
      type: 'string',
      value: 'FILE',
      doc: 'Write every key that would lose rows, one JSON object a line.',
    },
    'in-place': {
      type: 'boolean',
      doc: 'Empty the table first and let the next run fill it, instead of building beside it.',
    },
    'allow-loss': {
      type: 'boolean',
      doc: 'Accept that what can not be read again goes, and rows of records that the present definition can not read.',
    },
    'keep-unrecoverable': {
      type: 'boolean',
      doc: 'Keep what can not be read again: it is merged with what can.',
    },
    rate: {
      type: 'string',
      value: 'RECORDS_PER_SECOND',
      doc: 'Read no faster; with --plan, the rate that the duration is computed with.',
    },
    'try-records': {
      type: 'string',
      value: 'RECORDS',
      doc: 'How many records of each table to read once more with the present definition, before anything is made or touched (default: 100000, all with --in-place).',
    },
    shadow: {
      type: 'boolean',
      doc: 'Build it and tell what would change, then throw it away: the table stays as it is.',
    },
    'not-before': {
      type: 'string',
      value: 'TIME',
      doc: 'Wait for the maintenance window: begin at this time, for example 2026-12-01T03:00:00Z.',
    },
    cancel: { type: 'boolean', doc: 'Give up a refresh that has not touched the table yet.' },
    cascade: {
      type: 'boolean',
      doc: 'Also the tables that read it, and those that read them, in order.',
    },
    yes: { type: 'boolean', doc: 'Do not ask on a terminal whether it is meant.' },
  },
  usesConfig: true,
  isUnattended: true,
  run: async (invocation) =>
    withDeployment(invocation, async (deployment) => {
      const { tables, asked, computing } = tablesOf(invocation, deployment);
      refuseMixed(invocation);
      const startMs = invocation.text('not-before');
      const notBeforeMs = startMs === undefined ? undefined : timeFlag('not-before', startMs);
      if (invocation.isSet('plan') || invocation.isSet('dry-run')) {
        return preview(invocation, deployment, { tables, asked, computing });
      }
      const [first] = tables;
      if (deployment.catalog === undefined && first !== undefined) {
        throw await lostCatalog({ ...deployment, table: first });
      }
      const names = [...asked.map(({ name }) => name), ...computing.map(({ table }) => table)];
      if (!(await isConfirmed(invocation, names))) {
        invocation.terminal.err('nothing was done\n');
        return 2;
      }
      if (notBeforeMs !== undefined && !(await isTime(invocation, notBeforeMs))) {
        invocation.terminal.err('stopped before it began: nothing was done\n');
        return 1;
      }
      if (!invocation.isSet('shadow') && !invocation.isSet('cancel')) {
        await tellOutdated(invocation, deployment, asked);
      }
      const outcomes = areChained(deployment.plan, tables)
        ? await performTogether(invocation, deployment, tables)
        : await performEach(invocation, deployment, tables);
      const computed =
        computing.length === 0 ? [] : await refreshTables(invocation, deployment, computing);
      if (invocation.json && !invocation.isSet('cancel')) {
        const all = [...outcomes, ...computed].filter(({ table }) => names.includes(table));
        invocation.printJson(names.length === 1 ? (all[0] ?? null) : all);
      }
      return 0;
    }),
};

/** A shadow of a table is built beside it, and is never what the table becomes. */
function refuseMixed(invocation: Invocation): void {
  const other = ['in-place', 'cancel', 'plan', 'dry-run'].find((flag) => invocation.isSet(flag));
  if (!invocation.isSet('shadow') || other === undefined) return;
  throw usageError(`--shadow and --${other} exclude each other`);
}

function isTime({ terminal }: Invocation, timeMs: number): Promise<boolean> {
  return waitUntil(timeMs, {
    clock: systemClock,
    say: (text) => terminal.err(`${text}\n`),
    onStop: (listener) => terminal.onStop(listener),
  });
}

function tablesOf(invocation: Invocation, { plan }: Deployment): Wanted {
  const { positionals } = invocation;
  const isAll = invocation.isSet('all');
  if (isAll === positionals.length > 0) {
    throw usageError('name the tables to refresh, or all of them with --all, not both');
  }
  const views = new Set(plan.materializedViews.map(({ name }) => name));
  const written = new Set(plan.flows.map(({ target }) => target));
  const isOwn = ({ name, isSink }: TablePlan): boolean =>
    isSink !== true && !views.has(name) && written.has(name);
  const all = isAll
    ? plan.tables
        .filter((table) => isOwn(table) || computingFlow(plan, table.name) !== undefined)
        .map(({ name }) => name)
    : positionals;
  const computing = [...new Set(all.flatMap((name) => computingFlow(plan, name) ?? []))];
  const names = all.filter((name) => computingFlow(plan, name) === undefined);
  if (isAll && !invocation.json) tellLeftOut(invocation, plan, all);
  const view = plan.materializedViews.find(
    ({ name, replaceWhere }) =>
      replaceWhere === undefined && names.some((one) => one.toLowerCase() === name.toLowerCase()),
  );
  if (view !== undefined) {
    throw usageError(
      `"${view.name}" is a materialized view, and those are computed anew by every update`,
      'Update the pipeline: tidemark run --once',
    );
  }
  const named = [...new Set(names)].map((name) => namedTable(plan, name).table);
  const asked = refreshOrder(plan, named, invocation.isSet('cascade'));
  // What is only measured is built from what a helper has let through.
  const tables = invocation.isSet('shadow')
    ? asked
    : refreshOrder(plan, withHelpers(plan, asked, invocation.isSet('in-place')), false);
  return { tables, asked, computing };
}

/** What --all does not mean, and why. */
function tellLeftOut({ terminal }: Invocation, plan: PipelinePlan, names: readonly string[]): void {
  const views = new Set(plan.materializedViews.map(({ name }) => name));
  for (const { name, isSink } of plan.tables) {
    if (names.includes(name)) continue;
    const reason = views.has(name)
      ? 'it is a materialized view, which each update computes'
      : isSink === true
        ? 'it is a sink, whose topic lies outside of the pipeline'
        : 'no flow writes it';
    terminal.err(`${name} is left out: ${reason}\n`);
  }
}

/** Asked on a terminal only, where somebody can answer; a script has said what it wants. */
async function isConfirmed(invocation: Invocation, names: readonly string[]): Promise<boolean> {
  const { ask } = invocation.terminal;
  const isHarmless = invocation.isSet('cancel') || invocation.isSet('shadow');
  if (ask === undefined || invocation.isSet('yes') || isHarmless) return true;
  const how = invocation.isSet('in-place') ? ' It is emptied first.' : '';
  const answer = await ask(
    `Refresh ${names.join(', ')} from the beginning of the sources?${how} [y/N] `,
  );
  return /^y(es)?$/i.test(answer.trim());
}

async function performTogether(
  invocation: Invocation,
  deployment: Deployment,
  tables: readonly TablePlan[],
): Promise<readonly RefreshOutcome[]> {
  if (invocation.isSet('cancel')) return cancelTogether(invocation, deployment, tables);
  if (invocation.isSet('shadow')) {
    throw usageError(
      `a shadow is of one table, and these read each other: ${namesOf(tables)}`,
      'Each is built from what those above it are now. Name one of them; what all would lose tells --plan.',
    );
  }
  const all = tables.map((table) => runOptions(invocation, deployment, table, tables));
  if (invocation.isSet('in-place')) {
    const outcomes = await refreshTogether(all);
    for (const outcome of outcomes) tell(invocation, outcome);
    return outcomes;
  }
  const joined = tables.filter((table) =>
    flowsOf(deployment.plan, table).some(({ kind }) => kind === 'join'),
  );
  if (joined.length > 0) {
    throw usageError(
      `joins of two streams write ${namesOf(joined)}, so these tables are refreshed in place only: ${namesOf(tables)}`,
      'What a join keeps of both sides is forgotten with its rows. Empty them, and let the next run fill them in order: --in-place',
    );
  }
  return refreshTogetherBeside(
    all,
    (options) => withState(invocation, deployment, options, refreshBeside),
    (outcome) => tell(invocation, outcome),
  );
}

/** Those that are being built are given up; the others were not begun, or can not be given up any more. */
async function cancelTogether(
  invocation: Invocation,
  deployment: Deployment,
  tables: readonly TablePlan[],
): Promise<readonly RefreshOutcome[]> {
  const { catalog, plan } = deployment;
  const begun = tables.filter(
    (table) => openRefresh(catalog, flowsOf(plan, table)[0].name) !== undefined,
  );
  return performEach(invocation, deployment, begun.length === 0 ? tables.slice(0, 1) : begun);
}

function namesOf(tables: readonly TablePlan[]): string {
  return tables.map(({ name }) => name).join(', ');
}

async function performEach(
  invocation: Invocation,
  deployment: Deployment,
  tables: readonly TablePlan[],
): Promise<readonly RefreshOutcome[]> {
  const outcomes: RefreshOutcome[] = [];
  for (const [at, table] of tables.entries()) {
    try {
      const options = runOptions(invocation, deployment, table, tables);
      const outcome = await performOne(invocation, deployment, options);
      if (outcome !== undefined) outcomes.push(outcome);
    } catch (error) {
      if (tables.length > 1) tellHalfDone(invocation, { tables, at, outcomes });
      throw error;
    }
  }
  return outcomes;
}

/** The tables before the one that failed are done, those behind it were not begun. */
function tellHalfDone(
  invocation: Invocation,
  {
    tables,
    at,
    outcomes,
  }: {
    readonly tables: readonly TablePlan[];
    readonly at: number;
    readonly outcomes: readonly RefreshOutcome[];
  },
): void {
  const names = (some: readonly TablePlan[]): string =>
    some.map(({ name }) => name).join(', ') || 'none';
  // In one line, since another follows: that of the error.
  if (invocation.json && outcomes.length > 0) {
    invocation.terminal.out(`${JSON.stringify(outcomes)}\n`);
  }
  invocation.terminal.err(
    `done: ${names(tables.slice(0, at))}; failed: ${tables[at]?.name ?? ''}; not begun: ${names(tables.slice(at + 1))}\n`,
  );
}

/** undefined: it was given up. */
async function performOne(
  invocation: Invocation,
  deployment: Deployment,
  options: RefreshRunOptions,
): Promise<RefreshOutcome | undefined> {
  if (invocation.isSet('cancel')) {
    await cancelRefresh(besideOf(invocation, deployment, options));
    if (!invocation.json) {
      invocation.terminal.out(`the refresh of table ${options.table.name} is given up\n`);
    }
    return undefined;
  }
  const outcome = invocation.isSet('in-place')
    ? await refreshInPlace(options)
    : await withState(invocation, deployment, options, refreshBeside);
  tell(invocation, outcome);
  return outcome;
}

function runOptions(
  invocation: Invocation,
  { plan, pipeline, log, catalog }: Deployment,
  table: TablePlan,
  tables: readonly TablePlan[],
): RefreshRunOptions {
  if (catalog === undefined) throw usageError(`pipeline "${pipeline}" never ran`);
  const say = (text: string): void => invocation.terminal.err(`${text}\n`);
  const progress = new ScanProgress(invocation);
  return {
    log,
    catalog,
    clock: systemClock,
    pipeline,
    plan,
    table,
    flow: flowsOf(plan, table)[0],
    together: new Set(tables.map(({ name }) => name)),
    listener: fencingListener(invocation.terminal),
    command: commandText(invocation, tables.length > 1 ? tables : [table]),
    allowLoss: invocation.isSet('allow-loss'),
    keepUnrecoverable: invocation.isSet('keep-unrecoverable'),
    tryRecordsMax: invocation.whole('try-records', tryBounds),
    onStep: (text) => {
      progress.end();
      say(`${table.name}: ${text}`);
    },
    onProgress: (one) => progress.show(one),
  };
}

/** What is built beside the table needs a state. */
async function withState<Result>(
  invocation: Invocation,
  deployment: Deployment,
  options: RefreshRunOptions,
  use: (beside: BesideOptions) => Promise<Result>,
): Promise<Result> {
  const { openState, ...built } = besideOf(invocation, deployment, options);
  const state = await openState();
  try {
    return await use({ ...built, state });
  } finally {
    await state.close().catch(() => undefined);
  }
}

function besideOf(
  invocation: Invocation,
  { config }: Deployment,
  options: RefreshRunOptions,
): CancelOptions {
  const { terminal } = invocation;
  // A service on this machine may hold its directory: the refresh has one of its own.
  const directory = `${config['state.directory']}-refresh`;
  const say = (text: string): void => terminal.err(`${text}\n`);
  return {
    ...options,
    openState: () => composeState({ ...config, 'state.directory': directory }, say),
    settings: workerSettings(config, true),
    replicationFactor: config['kafka.replicationFactor'],
    recordsPerSecondMax: invocation.whole('rate', rateBounds),
    isShadow: invocation.isSet('shadow'),
    onStop: (listener) => terminal.onStop(listener),
  };
}

/** The command as a person would repeat it. */
function commandText(invocation: Invocation, tables: readonly TablePlan[]): string {
  const flags = [
    'cascade',
    'in-place',
    'allow-loss',
    'keep-unrecoverable',
    'shadow',
    'cancel',
  ].filter((flag) => invocation.isSet(flag));
  return [
    'tidemark refresh',
    ...tables.map(({ name }) => name),
    ...flags.map((flag) => `--${flag}`),
  ].join(' ');
}

function tell({ terminal, json }: Invocation, outcome: RefreshOutcome): void {
  if (!json) terminal.out(outcomeText(outcome));
}

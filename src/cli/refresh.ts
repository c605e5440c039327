import { systemClock } from '../adapters/system/system-clock.ts';
import { FlowError } from '../base/errors.ts';
import { composeState, workerSettings } from '../compose.ts';
import type { ReadRate, RefreshReport } from '../refresh/refresh-report.ts';
import type { ReadProgress } from '../runtime/read-partition.ts';
import { type BesideOptions, cancelRefresh, refreshBeside } from '../runtime/refresh-beside.ts';
import { gatherFacts, type RefreshFacts } from '../runtime/refresh-facts.ts';
import { type Preview, previewRefresh } from '../runtime/refresh-preview.ts';
import {
  type RefreshOutcome,
  type RefreshRunOptions,
  refreshInPlace,
} from '../runtime/refresh-run.ts';
import { type Command, type ExitCode, type Invocation, usageError } from './command.ts';
import { type Deployment, withDeployment } from './deployment.ts';
import { LostKeysFile } from './lost-keys-file.ts';
import { namedTable, pipelineFlag } from './pipeline-files.ts';
import { previewText, sourcesText } from './refresh-text.ts';

const progressIntervalMs = 500;

export const refresh: Command = {
  name: 'refresh',
  summary: 'compute tables anew from their sources; --plan tells first what that would lose',
  arguments: 'TABLE…',
  example:
    'tidemark refresh bookings_current --plan --lost-keys lost.jsonl --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092',
  flags: {
    ...pipelineFlag,
    plan: { type: 'boolean', doc: 'Only tell what would be read, lost and be due downstream.' },
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
    'allow-loss': { type: 'boolean', doc: 'Accept that what can not be read again goes.' },
    'keep-unrecoverable': {
      type: 'boolean',
      doc: 'Keep what can not be read again: it is merged with what can.',
    },
    rate: {
      type: 'string',
      value: 'RECORDS_PER_SECOND',
      doc: 'Read no faster; with --plan, the rate that the duration is computed with.',
    },
    cancel: { type: 'boolean', doc: 'Give up a refresh that has not touched the table yet.' },
    cascade: { type: 'boolean', doc: 'Also the tables that read it (not supported yet).' },
    yes: { type: 'boolean', doc: 'Nothing is asked; accepted for scripts.' },
  },
  usesConfig: true,
  run: async (invocation) =>
    withDeployment(invocation, async (deployment) => {
      const tables = tablesOf(invocation, deployment);
      if (invocation.isSet('cascade')) {
        throw new FlowError(
          'NOT_SUPPORTED',
          'a refresh with the tables that read it is not built yet',
          {
            hint: 'Refresh tables that nothing of the pipeline reads.',
          },
        );
      }
      if (invocation.isSet('plan')) return preview(invocation, deployment, tables);
      const outcomes: RefreshOutcome[] = [];
      for (const table of tables) {
        const outcome = await perform(invocation, deployment, table);
        if (outcome !== undefined) outcomes.push(outcome);
      }
      if (invocation.json) {
        invocation.printJson(tables.length === 1 ? (outcomes[0] ?? null) : outcomes);
      }
      return 0;
    }),
};

type NamedTable = ReturnType<typeof namedTable>;

function tablesOf(invocation: Invocation, { plan }: Deployment): readonly NamedTable[] {
  const { positionals } = invocation;
  const isAll = invocation.isSet('all');
  if (isAll === positionals.length > 0) {
    throw usageError('name the tables to refresh, or all of them with --all, not both');
  }
  const names = isAll ? plan.flows.map(({ target }) => target) : positionals;
  return names.map((name) => namedTable(plan, name));
}

async function preview(
  invocation: Invocation,
  deployment: Deployment,
  tables: readonly NamedTable[],
): Promise<ExitCode> {
  const path = invocation.text('lost-keys');
  const file = path === undefined ? undefined : new LostKeysFile(path);
  const reports: RefreshReport[] = [];
  for (const named of tables) {
    const { report } = await previewTable(invocation, deployment, named, file);
    reports.push(report);
  }
  await file?.close();
  if (invocation.json) invocation.printJson(tables.length === 1 ? reports[0] : reports);
  return 0;
}

/** Tells what is known at once, then what only a scan can tell. */
async function previewTable(
  invocation: Invocation,
  { log, catalog, pipeline, plan }: Deployment,
  { table, flow }: NamedTable,
  file: LostKeysFile | undefined,
): Promise<Preview & { readonly facts: RefreshFacts }> {
  const { terminal, json } = invocation;
  const facts = await gatherFacts({ log, catalog, pipeline, plan, table, flow });
  if (!json) terminal.out(sourcesText(facts));
  const rate = rateOf(invocation);
  const progress = new ScanProgress(invocation);
  const found = await previewRefresh({
    log,
    plan,
    facts,
    rate,
    onLoss: (loss) => file?.add(loss, facts),
    onProgress: (one) => progress.show(one),
  });
  progress.end();
  if (!json) terminal.out(`${previewText(found, facts)}\n`);
  return { ...found, facts };
}

/** Undefined where a refresh was given up. */
async function perform(
  invocation: Invocation,
  deployment: Deployment,
  { table, flow }: NamedTable,
): Promise<RefreshOutcome | undefined> {
  const { terminal } = invocation;
  const { config, plan, pipeline, log, catalog } = deployment;
  if (flow.kind !== 'replace_using') {
    throw new FlowError(
      'NOT_SUPPORTED',
      `a refresh of table "${table.name}" is not supported yet`,
      {
        detail: 'Append flows write it.',
      },
    );
  }
  if (catalog === undefined) throw usageError(`pipeline "${pipeline}" never ran`);
  const say = (text: string): void => terminal.err(`${text}\n`);
  const progress = new ScanProgress(invocation);
  const options: RefreshRunOptions = {
    log,
    catalog,
    clock: systemClock,
    pipeline,
    plan,
    table,
    flow,
    listener: (event) => {
      if (event.event === 'fencing') say(`ending what instance ${event.transactionalId} left open`);
    },
    command: commandText(invocation, table.name),
    allowLoss: invocation.isSet('allow-loss'),
    keepUnrecoverable: invocation.isSet('keep-unrecoverable'),
    onStep: (text) => {
      progress.end();
      say(`${table.name}: ${text}`);
    },
    onProgress: (one) => progress.show(one),
  };
  const isInPlace = invocation.isSet('in-place');
  if (isInPlace && !invocation.isSet('cancel')) {
    const outcome = await refreshInPlace(options);
    tell(invocation, outcome);
    return outcome;
  }
  // A service on this machine may hold its directory: the refresh has one of its own.
  const directory = `${config['state.directory']}-refresh`;
  const state = await composeState({ ...config, 'state.directory': directory }, say);
  const beside: BesideOptions = {
    ...options,
    state,
    settings: workerSettings(config, true),
    replicationFactor: config['kafka.replicationFactor'],
    recordsPerSecondMax: invocation.whole('rate', rateBounds),
    onStop: (listener) => terminal.onStop(listener),
  };
  try {
    if (invocation.isSet('cancel')) {
      await cancelRefresh(beside);
      if (!invocation.json) terminal.out(`the refresh of table ${table.name} is given up\n`);
      return undefined;
    }
    const outcome = await refreshBeside(beside);
    tell(invocation, outcome);
    return outcome;
  } finally {
    await state.close().catch(() => undefined);
  }
}

/** The command as a person would repeat it. */
function commandText(invocation: Invocation, table: string): string {
  const flags = ['in-place', 'allow-loss', 'keep-unrecoverable', 'cancel'].filter((flag) =>
    invocation.isSet(flag),
  );
  return ['tidemark refresh', table, ...flags.map((flag) => `--${flag}`)].join(' ');
}

function tell({ terminal, json }: Invocation, outcome: RefreshOutcome): void {
  if (json) return;
  const { table, generation, mode, published, buried, lost } = outcome;
  const loss =
    lost.keys === 0
      ? 'nothing was lost'
      : `lost: keys: ${lost.keys}, rows: ${lost.rows}${lost.levels > 0 ? `, levels: ${lost.levels}` : ''}`;
  const next =
    mode === 'in_place'
      ? 'The next run fills it: tidemark run.'
      : 'The next run goes on from there.';
  terminal.out(
    `table ${table} is in generation ${generation}: records written: ${published}, removed: ${buried}; ${loss}. ${next}\n`,
  );
}

const rateBounds = { min: 1, max: 1_000_000_000 };

function rateOf(invocation: Invocation): ReadRate | undefined {
  const recordsPerSecond = invocation.whole('rate', rateBounds);
  return recordsPerSecond === undefined ? undefined : { recordsPerSecond, basis: 'given' };
}

/** One line on a terminal that is written over; nothing elsewhere. */
class ScanProgress {
  readonly #invocation: Invocation;
  #nextMs = 0;

  constructor(invocation: Invocation) {
    this.#invocation = invocation;
  }

  show({ partition, partitions, position, end }: ReadProgress): void {
    const { terminal } = this.#invocation;
    if (!terminal.isTerminal || Date.now() < this.#nextMs) return;
    this.#nextMs = Date.now() + progressIntervalMs;
    terminal.err(
      `\r\u001b[Kscanning partition ${partition + 1} of ${partitions}: offset ${position} of ${end}`,
    );
  }

  end(): void {
    const { terminal } = this.#invocation;
    if (terminal.isTerminal) terminal.err('\r\u001b[K');
  }
}

import { FlowError } from '../base/errors.ts';
import type { ReadRate, RefreshReport } from '../refresh/refresh-report.ts';
import type { ReadProgress } from '../runtime/read-partition.ts';
import { gatherFacts, type RefreshFacts } from '../runtime/refresh-facts.ts';
import { type Preview, previewRefresh } from '../runtime/refresh-preview.ts';
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
    rate: {
      type: 'string',
      value: 'RECORDS_PER_SECOND',
      doc: 'The rate that the estimated duration is computed with.',
    },
  },
  usesConfig: true,
  run: async (invocation) =>
    withDeployment(invocation, async (deployment) => {
      const tables = tablesOf(invocation, deployment);
      if (!invocation.isSet('plan')) {
        throw new FlowError('NOT_SUPPORTED', 'a refresh itself is not built yet', {
          hint: 'Use --plan to see what it would do.',
        });
      }
      return preview(invocation, deployment, tables);
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

function rateOf(invocation: Invocation): ReadRate | undefined {
  const recordsPerSecond = invocation.whole('rate', { min: 1, max: 1_000_000_000 });
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

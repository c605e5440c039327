import { nearestNames } from '../base/nearest-name.ts';
import { composeLog } from '../compose.ts';
import type { Config } from '../config/options.ts';
import {
  type FlowPlan,
  isKeyed,
  type KeyedFlowPlan,
  type PipelinePlan,
  type TablePlan,
} from '../plan/pipeline-plan.ts';
import type { Log } from '../ports/log.ts';
import { type FlagSpec, type Invocation, usageError } from './command.ts';
import { faultJson, type LoadedPipeline, loadPipeline } from './load-pipeline.ts';

/** How verbs take the pipeline whose arguments are something else. */
export const pipelineFlag: Readonly<Record<string, FlagSpec>> = {
  pipeline: {
    type: 'string',
    multiple: true,
    value: 'FILE',
    doc: "A file of the pipeline (default: the configuration's pipeline.files). May be given several times.",
  },
};

/** The files of the pipeline, for verbs that take them as arguments: these, or as every other verb takes them. */
export function pipelinePaths(invocation: Invocation): readonly string[] {
  const given = [...invocation.positionals, ...invocation.texts('pipeline')];
  return given.length > 0 ? given : invocation.config()['pipeline.files'];
}

/** The plan of the pipeline that is meant; undefined: it is invalid, and its faults have been told. */
export async function namedPipeline(
  invocation: Invocation,
  config: Config,
): Promise<PipelinePlan | undefined> {
  const given = invocation.texts('pipeline');
  const paths = given.length > 0 ? given : config['pipeline.files'];
  if (paths.length === 0) {
    throw usageError(
      'no pipeline file is given',
      'Name the files with --pipeline FILE, or set pipeline.files in tidemark.yaml.',
    );
  }
  return (await toldPipeline(invocation, paths, { tellsWarnings: false }))?.plan;
}

type ValidPipeline = LoadedPipeline & { readonly plan: PipelinePlan };

/** The files with their plan, after their faults have been told; undefined: they are invalid. */
export async function toldPipeline(
  invocation: Invocation,
  paths: readonly string[],
  { tellsWarnings }: { readonly tellsWarnings: boolean } = { tellsWarnings: true },
): Promise<ValidPipeline | undefined> {
  const loaded = await loadPipeline(paths);
  const { plan, faults, faultText } = loaded;
  if (faultText !== '' && (tellsWarnings || plan === undefined))
    invocation.terminal.err(`${faultText}\n`);
  if (plan !== undefined) return { ...loaded, plan };
  if (invocation.json) invocation.printJson({ valid: false, faults: faults.map(faultJson) });
  return undefined;
}

/** A table with the flow that keeps it. Names go without case, as in SQL. */
export function namedTable(
  plan: PipelinePlan,
  name: string,
): { readonly table: TablePlan; readonly flow: FlowPlan } {
  const table = plan.tables.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (table?.isSink === true) {
    throw usageError(
      `"${table.name}" is a sink: the pipeline writes its topic and never reads it`,
      'Name a table.',
    );
  }
  const flow = plan.flows.find(({ target }) => target === table?.name);
  if (table !== undefined && flow !== undefined) return { table, flow };
  const view = plan.materializedViews.find((one) => one.table === table?.name);
  if (view !== undefined) {
    throw usageError(
      view.replaceWhere === undefined
        ? `"${table?.name}" is a materialized view: each update computes it, and no flow keeps it`
        : `REPLACE WHERE flow "${view.name}" computes table "${table?.name}", and keeps no row by a key`,
      `Read its rows with tidemark dump ${table?.name}; tidemark status tells how it stands.`,
    );
  }
  const names = plan.tables.map((one) => one.name);
  const [nearest] = nearestNames(name, names);
  throw usageError(
    `the pipeline has no table "${name}"`,
    nearest === undefined
      ? `Its tables are: ${names.join(', ')}.`
      : `Did you mean "${nearest}"? Its tables are: ${names.join(', ')}.`,
  );
}

/** A table or materialized view, and how the sequences of its rows are written. */
export function namedRows(
  plan: PipelinePlan,
  name: string,
): { readonly table: TablePlan; readonly flow: Pick<KeyedFlowPlan, 'sequenceType'> } {
  const view = plan.materializedViews.find((one) => one.table.toLowerCase() === name.toLowerCase());
  const table = plan.tables.find((one) => one.name === view?.table);
  if (table !== undefined) return { table, flow: { sequenceType: { kind: 'bigint' } } };
  const found = namedTable(plan, name);
  const sequenceType = isKeyed(found.flow) ? found.flow.sequenceType : ({ kind: 'void' } as const);
  return { table: found.table, flow: { sequenceType } };
}

/** Opens the log for one verb and closes it again; what is waited for is told on standard error. */
export async function withLog<Result>(
  { terminal }: Invocation,
  config: Config,
  use: (log: Log) => Promise<Result>,
): Promise<Result> {
  const log = await composeLog(config, (text) => terminal.err(`${text}\n`));
  try {
    return await use(log);
  } finally {
    await log.close().catch(() => undefined);
  }
}

import { FlowError } from '../../base/errors.ts';
import type { Row } from '../../data/value.ts';
import { viewDefinition } from '../../plan/flows/view-definition.ts';
import type { MaterializedViewPlan, PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { groupOf, viewInputs } from '../../plan/topology.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { viewsOver } from '../../refresh/refresh-report.ts';
import { runBatch } from '../../task/batch-run.ts';
import { viewRows } from '../../task/view-query.ts';
import { viewRecords } from '../../task/view-records.ts';
import { tableInput, tableOfView } from '../inspect/pipeline-facts.ts';
import { generationOf } from '../takeover/generation.ts';
import type { Catalog, KnownCatalog } from '../topics/catalog.ts';
import { type InputFacts, readInputRows } from '../views/read-input-rows.ts';
import { numbersTo } from './refresh-facts.ts';
import { topicEntries } from './refresh-run.ts';

/** What a full refresh of the table of a REPLACE WHERE flow would do, in the shape of every refresh. */
export type ComputedReport = {
  readonly table: string;
  readonly generation: number;
  readonly lossless: boolean;
  /**
   * Rows that no update computes: they do not meet the condition, or records that they came from are gone. `keys`: different
   * ones.
   */
  readonly lost: { readonly keys: number; readonly rows: number };
  /** All rows that the table has. */
  readonly rows: number;
  readonly sources: readonly {
    readonly source: string;
    readonly topic: string;
    readonly partition: number;
    readonly logStart: number;
    readonly committed: number | null;
    readonly end: number;
    readonly records: number;
  }[];
  readonly downstream: readonly string[];
  readonly estimateSeconds: null;
};

export type ComputedRefresh = {
  readonly log: Log;
  readonly plan: PipelinePlan;
  readonly pipeline: string;
  readonly view: MaterializedViewPlan;
  readonly clock: Clock;
};

/** Tells what a refresh would lose. Nothing is written. */
export async function previewComputed(
  { log, plan, pipeline, view, clock }: ComputedRefresh,
  catalog: KnownCatalog | undefined,
): Promise<ComputedReport> {
  const table = tableOfView(plan, view);
  const rows = await tableRows({ log, plan, view });
  const stays = view.replaceWhere?.stays;
  const kept =
    stays === undefined
      ? []
      : [
          ...runBatch(stays, {
            timeZone: plan.timeZone,
            nowMicros: BigInt(Math.floor(clock.now())) * 1_000n,
            rowsOf: () => rows,
          }),
        ];
  const group = groupOf(pipeline, view.name);
  const sources: ComputedReport['sources'][number][] = [];
  for (const { name, source, table: upstream } of viewInputs(plan, table)) {
    const topic = source?.topic ?? upstream?.topic ?? '';
    const found = (await log.describeTopics([topic])).get(topic);
    const numbers = numbersTo(found?.partitions ?? 0);
    if (numbers.length === 0) continue;
    const committed = await log.committedOffsets(group, topic, numbers);
    for (const [partition, { start, end }] of await log.offsetRanges(topic, numbers)) {
      sources.push({
        ...{ source: name, topic, partition, logStart: start, end, records: end - start },
        committed: committed.get(partition)?.offset ?? null,
      });
    }
  }
  const isWhole = sources.every(({ logStart }) => logStart === 0);
  const given = isWhole ? rows : await givenRows({ log, plan, view, clock });
  const lost = lostOf(table, { rows, kept, given });
  return {
    table: table.name,
    generation: generationOf(catalog, view.name),
    lossless: lost.rows === 0,
    lost,
    rows: rows.length,
    sources,
    downstream: viewsOver(plan, [table.name]),
    estimateSeconds: null,
  };
}

/** What is kept goes, and what nothing gives again: equal rows are counted. */
function lostOf(
  { columns }: TablePlan,
  { rows, kept, given }: Readonly<Record<'rows' | 'kept' | 'given', readonly Row[]>>,
): ComputedReport['lost'] {
  const recordsOf = (some: readonly Row[]) => viewRecords(some, { columns, keys: undefined });
  const stands = recordsOf([...kept, ...given]);
  const keys = new Set(recordsOf(kept).keys());
  let count = kept.length;
  for (const [key, { rows: had }] of recordsOf(rows)) {
    const left = had - (stands.get(key)?.rows ?? 0);
    if (left <= 0) continue;
    keys.add(key);
    count += left;
  }
  return { keys: keys.size, rows: count };
}

/** The rows that the next update computes from what the sources have still. */
async function givenRows({
  log,
  plan,
  view,
  clock,
}: Omit<ComputedRefresh, 'pipeline'>): Promise<readonly Row[]> {
  const own = tableOfView(plan, view);
  const inputs = viewInputs(plan, own);
  const described = await log.describeTopics(
    inputs.map(({ source, table = own }) => source?.topic ?? table.topic),
  );
  const rows = new Map<string, readonly Row[]>();
  for (const { name, source, table = own } of inputs) {
    const input: InputFacts =
      source === undefined
        ? { ...tableInput(plan, table, described), name }
        : {
            ...{ kind: 'source', name, topic: source.topic, source },
            partitions: described.get(source.topic)?.partitions ?? 0,
          };
    rows.set(name, await readInputRows(log, input, plan.timeZone));
  }
  return viewRows(view, {
    timeZone: plan.timeZone,
    nowMicros: BigInt(Math.floor(clock.now())) * 1_000n,
    rowsOf: (name) => rows.get(name) ?? [],
  });
}

async function tableRows({
  log,
  plan,
  view,
}: Pick<ComputedRefresh, 'log' | 'plan' | 'view'>): Promise<readonly Row[]> {
  const table = tableOfView(plan, view);
  const described = await log.describeTopics([table.topic]);
  return readInputRows(log, tableInput(plan, table, described), plan.timeZone);
}

/**
 * Has the next update compute the table from nothing: rows that do not meet the condition go, and a flow that ran once runs
 * again. Invariant: the table is not touched here; whoever computes it next does both in one transaction, and the generation in
 * its checkpoint says that it was done.
 */
export async function refreshComputed(
  options: ComputedRefresh & { readonly catalog: Catalog; readonly allowLoss: boolean },
): Promise<ComputedReport> {
  const { catalog, view, plan, allowLoss, clock } = options;
  await catalog.read();
  const report = await previewComputed(options, catalog);
  if (report.lost.rows > 0 && !allowLoss) {
    throw new FlowError(
      'DATA_LOSS_REFUSED',
      `a refresh of table "${report.table}" would lose ${report.lost.rows} of its ${report.rows} rows`,
      {
        detail: `They do not meet ${view.replaceWhere?.sql ?? ''}, or records that they came from are gone: no update computes them again.`,
        hint: 'Accept it with --allow-loss; or leave the table: each update replaces the rows that meet the condition anyway.',
      },
    );
  }
  const generation = report.generation + 1;
  const table = tableOfView(plan, view);
  const definition = viewDefinition(view, table);
  await catalog.write(
    [
      { kind: 'generation', name: view.name, value: { generation } },
      { kind: 'view', name: view.name, value: definition },
      ...(await topicEntries({ ...options, table, flow: view })),
    ],
    clock.now(),
  );
  return { ...report, generation };
}

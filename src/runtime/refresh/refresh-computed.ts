import { FlowError } from '../../base/errors.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import { rowEncoder } from '../../data/json-encode.ts';
import type { Column } from '../../data/types.ts';
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
import { sequenceTypeOf, tableOfView } from '../inspect/pipeline-facts.ts';
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
  const lost = [...kept, ...missing(rows, [...kept, ...given], table)];
  return {
    table: table.name,
    generation: generationOf(catalog, view.name),
    lossless: lost.length === 0,
    lost: {
      keys: viewRecords(lost, { columns: table.columns, keys: undefined }).size,
      rows: lost.length,
    },
    rows: rows.length,
    sources,
    downstream: viewsOver(plan, [table.name]),
    estimateSeconds: null,
  };
}

/** The rows that the next update computes from what the sources have still. */
async function givenRows({
  log,
  plan,
  view,
  clock,
}: Omit<ComputedRefresh, 'pipeline'>): Promise<readonly Row[]> {
  const own = tableOfView(plan, view);
  const rows = new Map<string, readonly Row[]>();
  for (const { name, source, table = own } of viewInputs(plan, own)) {
    const topic = source?.topic ?? table.topic;
    const partitions = (await log.describeTopics([topic])).get(topic)?.partitions ?? 0;
    const sequenceType = sequenceTypeOf(plan, table);
    const input: InputFacts =
      source === undefined
        ? { kind: 'table', name, topic, partitions, table, sequenceType }
        : { kind: 'source', name, topic, partitions, source };
    rows.set(name, await readInputRows(log, input, plan.timeZone));
  }
  return viewRows(view, {
    timeZone: plan.timeZone,
    nowMicros: BigInt(Math.floor(clock.now())) * 1_000n,
    rowsOf: (name) => rows.get(name) ?? [],
  });
}

/** Rows that others have not, equal ones counted. */
function missing(
  rows: readonly Row[],
  others: readonly Row[],
  { columns }: TablePlan,
): readonly Row[] {
  const textOf = rowText(columns);
  const left = new Map<string, number>();
  for (const row of others) {
    const text = textOf(row);
    left.set(text, (left.get(text) ?? 0) + 1);
  }
  return rows.filter((row) => {
    const text = textOf(row);
    const count = left.get(text) ?? 0;
    left.set(text, count - 1);
    return count <= 0;
  });
}

function rowText(columns: readonly Column[]): (row: Row) => string {
  const encode = rowEncoder(columns, 'kept');
  const out = new ByteWriter(256);
  return (row) => {
    out.reset();
    encode(row, out);
    return out.buffer.toString('latin1', 0, out.length);
  };
}

async function tableRows({
  log,
  plan,
  view,
}: Pick<ComputedRefresh, 'log' | 'plan' | 'view'>): Promise<readonly Row[]> {
  const table = tableOfView(plan, view);
  const { name, topic } = table;
  const partitions = (await log.describeTopics([topic])).get(topic)?.partitions ?? 0;
  const sequenceType = { kind: 'bigint' } as const;
  const input = { kind: 'table' as const, name, topic, partitions, table, sequenceType };
  return readInputRows(log, input, plan.timeZone);
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

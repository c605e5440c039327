import type { Column } from '../../src/data/types.ts';
import type { Row } from '../../src/data/value.ts';
import { planBatchQuery } from '../../src/plan/batch/batch-query.ts';
import { runBatch } from '../../src/task/batch-run.ts';

/** Runs a query over one table `src` and over what the query itself makes. */
export type Source = { readonly columns: readonly Column[]; readonly rows: readonly Row[] };

export type Answer = { readonly columns: readonly Column[]; readonly rows: readonly Row[] };

const timeZone = 'UTC';
const nowMicros = 1_764_504_000_000_000n;

export function runQuery(sql: string, source: Source): Answer {
  const { plan, columns } = planBatchQuery(sql, 'case.sql', {
    timeZone,
    findTable: ({ parts }) =>
      parts.length === 1 && parts[0]?.text.toLowerCase() === 'src'
        ? { name: 'src', columns: source.columns }
        : undefined,
  });
  const rows = [...runBatch(plan, { timeZone, nowMicros, rowsOf: () => source.rows })];
  return { columns: columns.map(({ name = '', type }) => ({ name, type })), rows };
}

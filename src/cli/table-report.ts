import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import type { Readable } from '../runtime/inspect/readable-watch.ts';

/** What a full refresh would lose of a table, as running instances measured it. */
export type TableReport = {
  readonly table: string;
  /** Of a large table by a sample. */
  readonly rows: number;
  /** Rows that a full refresh would lose. */
  readonly lost: number;
  readonly atRisk: number;
  /** Share of the rows whose records can still be read, between 0 and 1. */
  readonly readable: number;
  readonly measuredAt: string;
};

/** One report for each table of which somebody has looked at a partition. */
export function tableReports(
  plan: Pick<PipelinePlan, 'tables'>,
  measured: readonly Readable[],
): readonly TableReport[] {
  return plan.tables.flatMap(({ name: table }) => {
    const parts = measured.filter((one) => one.table === table);
    if (parts.length === 0) return [];
    const rows = sum(parts.map((one) => one.rows));
    const lost = sum(parts.map((one) => one.lost));
    const atRisk = sum(parts.map((one) => one.atRisk));
    const readable = rows === 0 ? 1 : (rows - lost - atRisk) / rows;
    // Only what changes is noted down: of the parts the latest says when somebody looked.
    const measuredAt = new Date(Math.max(...parts.map(({ atMs }) => atMs))).toISOString();
    return [{ table, rows, lost, atRisk, readable, measuredAt }];
  });
}

export function tableReportText({ table, rows, lost, readable, measuredAt }: TableReport): string {
  const share = Math.floor(readable * 1000) / 10;
  return `table ${table}: ${share} % of its rows can be read again, a refresh would lose ${lost} of the ${rows} that instances have looked at (measured ${measuredAt})\n`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

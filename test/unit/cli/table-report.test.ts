import { expect, test } from 'vitest';
import { tableReports, tableReportText } from '../../../src/cli/table-report.ts';
import { samplePlan } from '../../support/sample-plan.ts';

test('what a refresh would lose is told with the time of the latest look, and of the rows that were looked at', () => {
  const part = { table: 't', keys: 1, generation: 0, lost: 0, atRisk: 0 };
  const [report, ...rest] = tableReports(samplePlan('row_set'), [
    { ...part, partition: 0, rows: 8, atMs: Date.UTC(2026, 2, 1, 10) },
    { ...part, partition: 1, rows: 2, lost: 1, atMs: Date.UTC(2026, 2, 1, 10, 5) },
  ]);
  expect(rest).toEqual([]);
  expect(report && tableReportText(report)).toBe(
    'table t: 90 % of its rows can be read again, a refresh would lose 1 of the 10 that instances have looked at (measured 2026-03-01T10:05:00.000Z)\n',
  );
});

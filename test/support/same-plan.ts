import { expect } from 'vitest';
import type { Pipeline } from '../../src/index.ts';
import { planPipeline, planStatements } from '../../src/plan/plan-pipeline.ts';

/** Everything that the planner makes of a definition but its places. */
function planText({ plan, faults }: ReturnType<typeof planStatements>): string {
  const skipped = ['place', 'sql', 'warnings'];
  return JSON.stringify(plan ?? faults, (key, value: unknown) =>
    skipped.includes(key) ? undefined : typeof value === 'bigint' ? `${value}n` : value,
  );
}

/** A program and a text of SQL mean the same, fingerprints and all. */
export function expectSamePlan(program: Pipeline, text: string): void {
  const planned = planPipeline([{ file: 'same.sql', text }]);
  expect(planned.faults.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(planText(planStatements(program.definition()))).toBe(planText(planned));
}

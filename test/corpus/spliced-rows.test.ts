import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { planPipeline } from '../../src/plan/plan-pipeline.ts';
import { readPipelineCase } from '../../src/testing/pipeline/pipeline-case.ts';
import { rowRunner } from '../support/run-rows.ts';

const cases = ['replace-using.jsonl', 'auto-cdc.jsonl'].flatMap((file) =>
  readFileSync(join(import.meta.dirname, 'data/pipelines', file), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map(readPipelineCase),
);

test('every case of the corpora gives the same rows whether values are copied or decoded', () => {
  let plans = 0;
  let records = 0;
  for (const { name, sql, schemas, inputs } of cases) {
    const { plan } = planPipeline([{ file: `${name}.sql`, text: sql }], { schemas });
    if (plan === undefined || plan.flows.length === 0) continue;
    // Rows of a join are never copied, and there is nobody here to give its static side.
    const isJoining = plan.flows.some(({ branches }) =>
      branches.some(({ steps }) => steps.some(({ step }) => step === 'join')),
    );
    if (isJoining) continue;
    plans += 1;
    const spliced = rowRunner(plan, true);
    const decoded = rowRunner(plan, false);
    for (const value of [...inputs.values()].flat()) {
      const bytes = Buffer.from(value, 'utf8');
      expect(
        attempt(() => spliced(bytes)),
        `${name}: ${value}`,
      ).toEqual(attempt(() => decoded(bytes)));
      records += 1;
    }
  }
  expect(plans).toBeGreaterThan(140);
  expect(records).toBeGreaterThan(5_000);
});

/** A failed expectation stops the flow, with the same text either way. */
function attempt(run: () => string[]): string[] {
  try {
    return run();
  } catch (error) {
    return [String(error), String((error as { detail?: unknown }).detail)];
  }
}

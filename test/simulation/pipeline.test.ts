import { expect, test } from 'vitest';
import { simulatePipeline } from '../../src/testing/simulate-pipeline.ts';
import { samplePlan } from '../support/sample-plan.ts';

const seedFirst = Number(process.env['SEED'] ?? 1);
const seedCount = Number(process.env['SEEDS'] ?? 100);

/** Seeds that once showed a fault of the runtime. */
const failedOnce = [108, 259, 279, 354, 416, 503, 581];

test.each(['row_set', 'rows'] as const)(
  'RU-10 RU-14 whatever crashes, stalls or forgets, the output is the reference: mode %s',
  async (mode) => {
    const failed: unknown[] = [];
    let crashes = 0;
    const drawn = Array.from({ length: seedCount }, (_, index) => seedFirst + index);
    for (const seed of new Set([...failedOnce, ...drawn])) {
      const report = await simulatePipeline(samplePlan(mode), seed);
      crashes += report.crashes;
      if (report.faults.length > 0) failed.push(report);
    }
    expect(failed).toEqual([]);
    expect(crashes).toBeGreaterThan(0);
  },
);

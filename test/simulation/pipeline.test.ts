import { expect, test } from 'vitest';
import { simulate } from '../../src/testing/simulate-pipeline.ts';
import { simulationShapes } from '../../src/testing/simulation-shapes.ts';

const seedFirst = Number(process.env['SEED'] ?? 1);
const seedCount = Number(process.env['SEEDS'] ?? 3000);

/** Seeds that once showed a fault, of the runtime or of the simulated world itself. */
const failedOnce = [
  117, 371, 532, 647, 704, 773, 1132, 1140, 1150, 1456, 2037, 2234, 2319, 2662, 2938, 6372, 7798,
  8752, 10014, 13941,
];
/** And those that showed it in a shape of their own. */
const failedInPlain = [2677];

async function failures(seeds: Iterable<number>) {
  const failed: unknown[] = [];
  let crashes = 0;
  for (const seed of seeds) {
    const report = await simulate(seed);
    crashes += report.crashes;
    if (report.faults.length > 0) failed.push(report);
  }
  return { failed, crashes };
}

test('RU-10 RU-14 whatever crashes, stalls or forgets, the output is the reference', async () => {
  const seeds = Array.from({ length: seedCount }, (_, index) => seedFirst + index);
  const { failed, crashes } = await failures(seeds);
  expect(failed).toEqual([]);
  expect(crashes).toBeGreaterThan(0);
});

test('seeds that once showed a fault', async () => {
  expect((await failures(failedOnce)).failed).toEqual([]);
  const [plain] = simulationShapes;
  for (const seed of failedInPlain) {
    expect(await simulate(seed, plain === undefined ? {} : { shape: plain })).toMatchObject({
      faults: [],
    });
  }
});

test.each(simulationShapes)('shape $name stands up to any of it', async (shape) => {
  const failed: unknown[] = [];
  for (let seed = 1; seed <= 50; seed += 1) {
    const report = await simulate(seed, { shape });
    if (report.faults.length > 0) failed.push(report);
  }
  expect(failed).toEqual([]);
});

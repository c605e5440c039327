import { expect, test } from 'vitest';
import { compareRun, type KeptRun } from '../../../bench/compare.ts';
import { benchOptions } from '../../../bench/options.ts';

const run: KeptRun = {
  asked: { work: 'w1-a', records: 1000 },
  figures: { cpuSecondsPerMillion: 3, differences: 0, fresh: 1 },
  date: '2026-01-01',
  machine: 'any',
  load: 1,
};

test('a run is compared with the one that was asked for in the same way, by ratio', () => {
  const kept = [
    { ...run, asked: { work: 'w1-a', records: 2000 }, figures: { cpuSecondsPerMillion: 9 } },
    { ...run, figures: { cpuSecondsPerMillion: 6, differences: 0 } },
  ];
  expect(compareRun(run, kept)).toEqual([
    { figure: 'cpuSecondsPerMillion', now: 3, before: 6, ratio: 0.5 },
  ]);
  expect(compareRun({ ...run, asked: { work: 'w1-b', records: 1000 } }, kept)).toBeUndefined();
});

test('each work has its own defaults', () => {
  expect(benchOptions(['--work', 'memory'])).toMatchObject({
    records: 1_000_000,
    keys: 1_000_000,
    output: 'rows',
    state: 'embedded',
  });
  expect(benchOptions(['--work', 'latency'])).toMatchObject({ commitMs: 100, rate: 1000 });
  expect(() => benchOptions(['--work', 'nothing'])).toThrow(/--work takes w1-a, w1-b/);
});

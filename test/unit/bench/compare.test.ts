import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compareRun, type KeptRun, keepRun, readKept } from '../../../bench/compare.ts';
import { benchOptions, works } from '../../../bench/options.ts';
import { tableRows } from '../../../bench/rows.ts';

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

test('a run is kept in the place of the same one, beside the others', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  try {
    const file = join(folder, 'figures.json');
    const other = { ...run, asked: { work: 'w1-b', records: 1000 } };
    const later = { ...run, figures: { cpuSecondsPerMillion: 2 } };
    for (const one of [run, other, later]) keepRun(one, file);
    expect(readKept(file)).toEqual([other, later]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('--all has every work, both stores, both outputs, and a share of the records of each', () => {
  const whole = tableRows(benchOptions(['--all']));
  expect(new Set(whole.map(({ work }) => work))).toEqual(new Set(works));
  const kinds = whole
    .filter(({ work }) => work === 'w1-a')
    .map((one) => `${one.state} ${one.output}`);
  expect(new Set(kinds).size).toBe(4);
  expect(whole.every(({ compare }) => compare === 'bench/figures.json')).toBe(true);
  const processes = whole.filter(({ work }) => work === 'instances').map((one) => one.processes);
  expect(processes).toEqual([1, 2, 4]);
  const part = tableRows(benchOptions(['--all', '--percent', '5', '--json', '--keep-in', 'f']));
  expect(part[0]).toMatchObject({ records: 100_000, json: true, keepIn: 'f' });
  expect(part.length).toBe(whole.length);
});

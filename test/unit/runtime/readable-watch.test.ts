import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import type { Provenance } from '../../../src/data/provenance.ts';
import { SourceBounds } from '../../../src/refresh/retention.ts';
import { StatusReader } from '../../../src/runtime/inspect/pipeline-status.ts';
import { ReadableWatch } from '../../../src/runtime/inspect/readable-watch.ts';
import { RowSample } from '../../../src/runtime/inspect/row-sample.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { openCatalog } from '../../../src/runtime/topics/catalog.ts';
import { Random } from '../../../src/testing/random.ts';
import { RefreshWorld, type SourceRow } from '../../support/refresh-world.ts';

const sql = (output: string) => `CREATE STREAMING TABLE t WITH (output = '${output}')
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);
CREATE STREAMING TABLE raw AS SELECT k, seq, v FROM STREAM(a);`;

async function watched(world: RefreshWorld): Promise<ReadableWatch> {
  const { catalog, log, plan, pipeline } = await world.outside();
  return new ReadableWatch({
    log,
    clock: systemClock,
    catalog,
    pipeline,
    plan,
    ownPartitions: () => [0, 1],
  });
}

function total(watch: ReadableWatch, table: string) {
  const parts = watch.figures().filter((one) => one.table === table);
  const sum = (of: 'rows' | 'lost') => parts.reduce((all, one) => all + one[of], 0);
  return { rows: sum('rows'), lost: sum('lost') };
}

test.each(['row_set', 'rows'])(
  'FR-44 what is measured all the time is what the preview finds by a scan: %s',
  async (output) => {
    const random = new Random(4);
    const world = new RefreshWorld(sql(output), ['a'], 2);
    const produce = async (count: number): Promise<void> => {
      for (let at = 0; at < count; at += 1) {
        const row: SourceRow = { k: `k${random.below(30)}`, seq: random.below(8), v: `v${at}` };
        await world.produce('a', random.below(2), row);
      }
      await world.update();
    };
    await produce(200);
    const watch = await watched(world);
    await watch.look();
    expect(total(watch, 't')).toMatchObject({ lost: 0 });
    expect(total(watch, 'raw')).toEqual({ rows: 200, lost: 0 });
    await world.log.deleteRecords(
      'a',
      new Map([
        [0, 60],
        [1, 40],
      ]),
    );
    await produce(50);
    await watch.look();
    const { report } = await world.preview('t');
    const rows = [...(await world.table('t')).values()].reduce(
      (sum, set) => sum + set.rows.length,
      0,
    );
    expect(report.lost.rows).toBeGreaterThan(0);
    expect(total(watch, 't')).toEqual({ rows, lost: report.lost.rows });
    expect(total(watch, 'raw')).toEqual({
      rows: 250,
      lost: (await world.preview('raw')).report.lost.rows,
    });
    const status = new StatusReader(world.plan, world.pipeline, world.log, systemClock);
    await status.read();
    const told = status.readable().filter(({ table }) => table === 't');
    expect(told.reduce((sum, { lost }) => sum + lost, 0)).toBe(report.lost.rows);
    await status.close();
    await watch.close();
    expect((await openCatalog(world.log, 'p.catalog'))?.all('readable')).toHaveLength(4);
  },
);

test('FR-44 what was measured of rows that a refresh has replaced is told no more', async () => {
  const world = new RefreshWorld(sql('row_set'), ['a'], 2);
  for (const k of ['x', 'y', 'z']) await world.produce('a', 0, { k, seq: 1, v: k });
  await world.update();
  await world.log.deleteRecords('a', new Map([[0, 2]]));
  const { catalog, log, plan, pipeline } = await world.outside();
  const ownPartitions = () => [0, 1];
  const watch = new ReadableWatch({
    log,
    clock: systemClock,
    catalog,
    pipeline,
    plan,
    ownPartitions,
  });
  await watch.look();
  expect(total(watch, 't')).toEqual({ rows: 3, lost: 2 });
  const told = async (): Promise<number | undefined> => {
    const status = new StatusReader(plan, pipeline, log, systemClock);
    await status.read();
    const parts = status.readable().filter(({ table }) => table === 't');
    await status.close();
    return parts.length === 0 ? undefined : parts.reduce((sum, { lost }) => sum + lost, 0);
  };
  expect(await told()).toBe(2);
  await refreshInPlace(await world.runOptions('t', { allowLoss: true }));
  expect(await told()).toBeUndefined();
  await catalog.read();
  expect(watch.figures().filter(({ table }) => table === 't')).toEqual([]);
  await world.update();
  await catalog.read();
  await watch.look();
  expect(total(watch, 't')).toEqual({ rows: 1, lost: 0 });
  expect(await told()).toBe(0);
  await watch.close();
});

describe('a sample of the keys', () => {
  const place = (offset: number): Provenance => ({
    topicId: '0'.repeat(32),
    partition: 0,
    offset,
    branch: 0,
    index: 0,
  });
  const bounds = new SourceBounds([
    {
      source: 'a',
      topic: 'a',
      topicId: '0'.repeat(32),
      partition: 0,
      logStart: 5_000,
      end: 10_000,
      committed: 10_000,
      fromMs: undefined,
      toMs: undefined,
      isCompacted: false,
      retentionMs: undefined,
      retentionBytes: undefined,
    },
  ]);

  test('is all of them while they are few, and stands for the whole where they are many', () => {
    for (const [keysMax, tolerance] of [
      [20_000, 0],
      [1_000, 1_000],
    ] as const) {
      const sample = new RowSample(keysMax);
      for (let at = 0; at < 10_000; at += 1) {
        const key = `{"k":${at}}`;
        if (sample.isWanted(key)) sample.record(key, 0, '1', [[place(at)]]);
      }
      const { rows, lost, keys } = sample.figures(bounds);
      expect(keys).toBe(rows);
      expect(Math.abs(rows - 10_000)).toBeLessThanOrEqual(tolerance);
      expect(Math.abs(lost - 5_000)).toBeLessThanOrEqual(tolerance);
    }
  });

  test('forgets rows that are replaced or gone', () => {
    const sample = new RowSample(10);
    sample.record('k', 0, '1', [[place(1)]]);
    sample.record('k', 1, '1', [[place(2)]]);
    expect(sample.figures(bounds)).toEqual({ keys: 1, rows: 2, lost: 2, atRisk: 0 });
    sample.tombstone('k', 1);
    expect(sample.figures(bounds).rows).toBe(1);
    sample.record('k', 0, '2', [[place(6_000)]]);
    expect(sample.figures(bounds)).toEqual({ keys: 1, rows: 1, lost: 0, atRisk: 0 });
    sample.tombstone('k', 0);
    expect(sample.figures(bounds).keys).toBe(0);
  });
});

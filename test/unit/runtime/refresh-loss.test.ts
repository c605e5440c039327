import { describe, expect, test } from 'vitest';
import { previewText } from '../../../src/cli/refresh-text.ts';
import { previewRefresh } from '../../../src/runtime/refresh/refresh-preview.ts';
import { scanLoss } from '../../../src/runtime/refresh/refresh-scan.ts';
import { Random } from '../../../src/testing/random.ts';
import { bruteForceLoss } from '../../support/brute-force-loss.ts';
import { type KnownRecord, RefreshWorld } from '../../support/refresh-world.ts';

type Shape = {
  readonly title: string;
  readonly sql: string;
  readonly branches: readonly string[];
  readonly distinct?: boolean;
  /** Whether snapshots may be empty. */
  readonly empties?: boolean;
};

const using = 'FLOW REPLACE USING (k) SEQUENCE BY seq';
const columns = 'SELECT k, seq, v FROM STREAM';

const shapes: readonly Shape[] = [
  {
    title: 'one source',
    sql: `CREATE STREAMING TABLE t ${using} BY NAME ${columns}(a);`,
    branches: ['a'],
  },
  {
    title: 'numbered rows',
    sql: `CREATE STREAMING TABLE t WITH (output = 'rows') ${using} BY NAME ${columns}(a);`,
    branches: ['a'],
  },
  {
    title: 'two sources',
    sql: `CREATE STREAMING TABLE t ${using} BY NAME ${columns}(a) UNION ALL ${columns}(b);`,
    branches: ['a', 'b'],
  },
  {
    title: 'one source twice',
    sql: `CREATE STREAMING TABLE t ${using} BY NAME ${columns}(a) UNION ALL ${columns}(a);`,
    branches: ['a', 'a'],
  },
  {
    title: 'DISTINCT',
    sql: `CREATE STREAMING TABLE t ${using} BY NAME SELECT DISTINCT k, seq, v FROM STREAM(a);`,
    branches: ['a'],
    distinct: true,
  },
  {
    title: 'empty snapshots',
    sql: `CREATE STREAMING TABLE t ${using} APPLY AS EMPTY WHEN (gone) BY NAME SELECT k, seq, v, gone FROM STREAM(a);`,
    branches: ['a'],
    empties: true,
  },
  {
    title: 'empty snapshots and numbered rows',
    sql: `CREATE STREAMING TABLE t WITH (output = 'rows') ${using} APPLY AS EMPTY WHEN (gone) BY NAME SELECT k, seq, v, gone FROM STREAM(a);`,
    branches: ['a'],
    empties: true,
  },
];

const keyCount = 25;

/** Rows with ties, late rows and equal rows; every empty snapshot has a sequence of its own. */
async function produceRandomly(
  world: RefreshWorld,
  random: Random,
  empties: boolean,
  levels: Map<string, number>,
): Promise<void> {
  for (let number = 0; number < 150; number += 1) {
    const k = `k${random.below(keyCount)}`;
    const level = levels.get(k) ?? 0;
    const gone = empties && random.chance(120);
    let seq = level + 2;
    if (!gone && random.chance(300)) seq = level;
    else if (!gone && random.chance(100)) seq = Math.max(0, level - 2);
    levels.set(k, Math.max(level, seq));
    const row = { k, seq, v: `v${random.below(3)}`, gone };
    await world.produce(random.chance(500) ? 'a' : 'b', random.below(2), row);
  }
}

/** Takes away the oldest records of some partitions, as retention does. */
async function expire(world: RefreshWorld, random: Random): Promise<void> {
  for (const topic of ['a', 'b']) {
    for (const [partition, { end }] of await world.log.offsetRanges(topic, [0, 1])) {
      if (random.chance(700)) {
        await world.log.deleteRecords(topic, new Map([[partition, random.below(end + 1)]]));
      }
    }
  }
}

async function readableNow(world: RefreshWorld): Promise<(record: KnownRecord) => boolean> {
  const places = new Map<string, number>();
  for (const topic of ['a', 'b']) {
    const topicId = await world.topicId(topic);
    for (const [partition, { start }] of await world.log.offsetRanges(topic, [0, 1])) {
      places.set(`${topicId}/${partition}`, start);
    }
  }
  return ({ topicId, partition, offset }) => {
    const start = places.get(`${topicId}/${partition}`);
    return start !== undefined && offset >= start;
  };
}

describe.each(shapes)('P055 the preview against a brute-force recomputation: $title', (shape) => {
  test.each([1, 2, 3, 4, 5, 6])('seed %d', async (seed) => {
    const random = new Random(seed);
    const world = new RefreshWorld(shape.sql, ['a', 'b']);
    const levels = new Map<string, number>();
    await produceRandomly(world, random, shape.empties === true, levels);
    await world.update();
    if (random.chance(500)) {
      world.recreate('a');
      await world.update({ acceptsGaps: true });
      await produceRandomly(world, random, shape.empties === true, levels);
      await world.update();
    }
    if (random.chance(500)) world.log.compact('t');
    await expire(world, random);
    const expected = bruteForceLoss(world.produced, {
      branches: shape.branches,
      distinct: shape.distinct === true,
      isReadable: await readableNow(world),
    });
    const { report, losses } = await world.preview('t');
    expect(losses.map(({ key }) => key).sort()).toEqual(expected.keys);
    expect(report.lost).toEqual({
      keys: expected.keys.length,
      rows: expected.rows,
      levels: expected.levels,
    });
    expect(report.lossless).toBe(expected.keys.length === 0);
    // Divided into shares it is the same.
    const divided: string[] = [];
    for await (const { key } of scanLoss({
      log: world.log,
      facts: await world.facts('t'),
      heldBytesMax: 2_000,
    })) {
      divided.push(key);
    }
    expect(divided.sort()).toEqual(expected.keys);
  });
});

const single = `CREATE STREAMING TABLE t ${using} BY NAME ${columns}(a);`;

describe('the report', () => {
  test('P055 FR-05 FR-07 FR-44 what is still there, and what a refresh would lose', async () => {
    const world = new RefreshWorld(single, ['a'], 1);
    const row = (k: string) => ({ k, seq: 1, v: k });
    await world.produce('a', 0, ...['R1', 'R2', 'R3', 'R4', 'R5', 'R6'].map(row));
    await world.update();
    await world.log.deleteRecords('a', new Map([[0, 3]]));
    const { report, loss, losses } = await world.preview('t');
    expect(losses.map(({ key }) => key).sort()).toEqual(['{"k":"R1"}', '{"k":"R2"}', '{"k":"R3"}']);
    expect(report).toMatchObject({
      table: 't',
      generation: 0,
      lossless: false,
      lost: { keys: 3, rows: 3, levels: 0 },
      reasons: { expired: 3 },
      pending: { rows: 0, lost: 0 },
      downstream: [],
      records: 3,
      estimateSeconds: 1,
      rate: { basis: 'assumed' },
    });
    expect(report.sources).toMatchObject([
      {
        source: 'a',
        topic: 'a',
        partition: 0,
        firstRead: 0,
        logStart: 3,
        committed: 6,
        end: 6,
        records: 3,
        lost: { rows: 3, first: 0, last: 2 },
      },
    ]);
    expect(previewText({ report, loss }, await world.facts('t'), world.plan)).toContain(
      `  of a/0, whose log starts at 3: 3, from offset 0 to 2; the first record that is there is of ${report.sources[0]?.from}\n`,
    );
    expect(report.sources[0]?.from).toMatch(/^\d{4}-\d\d-\d\dT/);
  });

  test('FR-07 the duration is computed with the rate of the last refresh', async () => {
    const world = new RefreshWorld(single, ['a'], 1);
    await world.produce('a', 0, ...['R1', 'R2', 'R3'].map((k) => ({ k, seq: 1, v: k })));
    await world.update();
    const { catalog } = await world.outside();
    const value = { flow: 't', table: 't', state: 'done', recordsPerSecond: 1 };
    await catalog.write([{ kind: 'refresh', name: 't', value }], 0);
    const { report } = await world.preview('t');
    expect(report).toMatchObject({
      estimateSeconds: 3,
      rate: { recordsPerSecond: 1, basis: 'measured' },
    });
  });

  test('what flows read after the facts were gathered is no loss', async () => {
    const world = new RefreshWorld(single, ['a'], 1);
    await world.produce('a', 0, { k: 'x', seq: 1, v: 'x' });
    await world.update();
    const facts = await world.facts('t');
    await world.produce('a', 0, { k: 'y', seq: 1, v: 'y' });
    await world.update();
    const { report } = await previewRefresh({ log: world.log, plan: world.plan, facts });
    expect(report).toMatchObject({ lossless: true, pending: { lost: 0 } });
    await world.log.deleteRecords('a', new Map([[0, 1]]));
    const later = { log: world.log, plan: world.plan, facts: await world.facts('t') };
    expect((await previewRefresh(later)).report.lost).toMatchObject({ keys: 1 });
  });

  test('a source without any record that is left', async () => {
    const world = new RefreshWorld(single, ['a'], 1);
    await world.produce('a', 0, { k: 'x', seq: 1, v: 'x' });
    await world.update();
    await world.log.deleteRecords('a', new Map([[0, 1]]));
    const { report } = await world.preview('t');
    expect(report.sources[0]).toMatchObject({ records: 0, from: null, to: null });
    expect(report.estimateSeconds).toBe(0);
    expect(report.lost.keys).toBe(1);
  });

  test('over a compacted source every key is at risk', async () => {
    const world = new RefreshWorld(single, ['b'], 1);
    world.log.createTopic('a', 1, { 'cleanup.policy': 'compact' });
    await world.produce('a', 0, { k: 'x', seq: 1, v: 'x' }, { k: 'y', seq: 1, v: 'y' });
    await world.update();
    const { report } = await world.preview('t');
    expect(report).toMatchObject({
      lossless: false,
      lost: { keys: 2, rows: 2 },
      atRisk: { keys: 2, rows: 2 },
      reasons: { at_risk: 2 },
    });
    expect(report.sources[0]?.compacted).toBe(true);
  });

  test('a pipeline that never ran loses nothing', async () => {
    const world = new RefreshWorld(single, ['a'], 1);
    await world.produce('a', 0, { k: 'x', seq: 1, v: 'x' });
    const { report } = await world.preview('t');
    expect(report).toMatchObject({ lossless: true, lost: { keys: 0, rows: 0 }, records: 1 });
    expect(report.sources[0]?.committed).toBeNull();
  });
});

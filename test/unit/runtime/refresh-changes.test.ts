import { describe, expect, test } from 'vitest';
import { previewText } from '../../../src/cli/refresh-text.ts';
import type { Log, LogReader } from '../../../src/ports/log.ts';
import { overriding } from '../../../src/runtime/refresh/overriding.ts';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { cancelRefresh } from '../../../src/runtime/refresh/refresh-cancel.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { openCatalog } from '../../../src/runtime/topics/catalog.ts';
import { Random } from '../../../src/testing/random.ts';
import { FailingLog } from '../../support/failing-log.ts';
import { refreshThroughCrashes, updateOrLocked } from '../../support/refresh-crashes.ts';
import {
  type KnownRecord,
  RefreshWorld,
  type SourceRow,
  tableText,
} from '../../support/refresh-world.ts';

const columns =
  "k, seq, gone, v, NULLIF(split_part(v, '|', 1), '-') AS x, NULLIF(split_part(v, '|', 2), '-') AS y";

/** Flows f over topic a and g over topic b, both into table t. */
function sqlOf(clauses: string, select = columns): string {
  const feed = (flow: string, topic: string) => `
CREATE FLOW ${flow} AS AUTO CDC INTO t FROM (SELECT ${select} FROM STREAM(${topic})) KEYS (k) ${clauses};`;
  return `CREATE STREAMING TABLE t; ${feed('f', 'a')} ${feed('g', 'b')}`;
}

const rest = 'SEQUENCE BY seq COLUMNS * EXCEPT (gone, v)';

const shapes = [
  { title: 'SCD type 1', clauses: `APPLY AS DELETE WHEN gone ${rest}`, truncates: false },
  {
    title: 'columns one by one',
    clauses: `IGNORE NULL UPDATES APPLY AS DELETE WHEN gone ${rest}`,
    truncates: false,
  },
  {
    title: 'with truncates',
    clauses: `IGNORE NULL UPDATES APPLY AS DELETE WHEN gone APPLY AS TRUNCATE WHEN v = 'all' ${rest}`,
    truncates: true,
  },
  {
    title: 'SCD type 2',
    clauses: `APPLY AS DELETE WHEN gone ${rest} STORED AS SCD TYPE 2`,
    truncates: false,
  },
  {
    title: 'SCD type 2 over one column',
    clauses: `IGNORE NULL UPDATES APPLY AS DELETE WHEN gone ${rest} STORED AS SCD TYPE 2 TRACK HISTORY ON (x)`,
    truncates: false,
  },
];

type Shape = (typeof shapes)[number];

/** TEST_REFRESH_SEEDS=20 tries more. */
const seeds = Array.from(
  { length: Number(process.env['TEST_REFRESH_SEEDS'] ?? 1) },
  (_, at) => at + 1,
);

class Feed {
  readonly world: RefreshWorld;
  readonly #random: Random;
  readonly #shape: Shape;
  #number = 0;

  constructor(random: Random, shape: Shape) {
    this.#random = random;
    this.#shape = shape;
    this.world = new RefreshWorld(sqlOf(shape.clauses), ['a', 'b'], 2);
  }

  async produce(count: number): Promise<void> {
    const random = this.#random;
    for (let at = 0; at < count; at += 1) {
      this.#number += 1;
      const isAll = this.#shape.truncates && random.chance(30);
      const part = (name: string): string => (random.chance(400) ? '-' : `${name}${this.#number}`);
      const row: SourceRow = {
        k: `k${random.below(10)}`,
        // Late ones, and several at one sequence.
        seq: Math.max(0, Math.floor(this.#number / 2) - random.below(12)),
        v: isAll ? 'all' : `${part('x')}|${part('y')}`,
        gone: !isAll && random.chance(150),
      };
      await this.world.produce(random.chance(500) ? 'a' : 'b', random.below(2), row);
    }
  }

  async expire(): Promise<(record: KnownRecord) => boolean> {
    const { log } = this.world;
    const starts = new Map<string, number>();
    for (const topic of ['a', 'b']) {
      for (const partition of [0, 1]) {
        const end = (await log.offsetRanges(topic, [partition])).get(partition)?.end ?? 0;
        const start = this.#random.below(end + 1);
        starts.set(`${topic}/${partition}`, start);
        await log.deleteRecords(topic, new Map([[partition, start]]));
      }
    }
    return ({ topic, partition, offset }) => offset >= (starts.get(`${topic}/${partition}`) ?? 0);
  }
}

/** The table that a pipeline of its own makes of some of the records. */
async function tableOf(
  { sql, produced }: RefreshWorld,
  isThere: (record: KnownRecord) => boolean = () => true,
): Promise<string[]> {
  const other = new RefreshWorld(sql, ['a', 'b'], 2);
  for (const record of produced.filter(isThere)) {
    const { topic, partition, k, seq, v, gone = false } = record;
    await other.produce(topic, partition, { k, seq, v, gone });
  }
  await other.update();
  return tableText(await other.table('t'));
}

async function rowsOf(world: RefreshWorld): Promise<string[]> {
  return tableText(await world.table('t'));
}

async function expectClean(world: RefreshWorld): Promise<void> {
  const catalog = await openCatalog(world.log, 'p.catalog');
  const kinds = ['flow', 'checkpoint', 'generation', 'once', 'topic', 'takeover'] as const;
  const left = kinds.flatMap((kind) => catalog?.all(kind) ?? []);
  expect(left.filter(({ name }) => name.includes('.refresh'))).toEqual([]);
  expect(catalog?.all('lock')).toEqual([]);
  const topics = ['output', 'repartition', 'levels'].map((name) => `p.t.refresh.${name}`);
  expect((await world.log.describeTopics(topics)).size).toBe(0);
  for (const flow of ['f', 'g', 't']) {
    expect((await world.log.committedOffsets(`p.${flow}.refresh`, 'a', [0, 1])).size).toBe(0);
  }
}

describe.each(shapes)('FL-25 a refresh of a table that AUTO CDC flows write: $title', (shape) => {
  test('where nothing is lost not one record is written, and it goes on from there', async () => {
    const random = new Random(5);
    const feed = new Feed(random, shape);
    const { world } = feed;
    await feed.produce(60);
    await world.update();
    const before = world.log.readCommitted('t').length;
    expect((await world.preview('t')).report).toMatchObject({ lossless: true });
    const outcome = await refreshBeside(await world.besideOptions('t'));
    expect(outcome).toMatchObject({ generation: 1, published: 0, buried: 0 });
    expect(world.log.readCommitted('t')).toHaveLength(before);
    await expectClean(world);
    await feed.produce(20);
    await world.update();
    expect(await rowsOf(world)).toEqual(await tableOf(world));
  });

  const ways = [
    [refreshBeside, 'beside'],
    [refreshInPlace, 'in place'],
  ] as const;
  const flags = ['allowLoss', 'keepUnrecoverable'] as const;
  const cases = ways.flatMap(([refresh, way]) =>
    flags.flatMap((flag) => seeds.map((seed) => ({ refresh, way, flag, seed }))),
  );

  test.each(cases)('$way, $flag, seed $seed', async ({ refresh, flag, seed }) => {
    const random = new Random(100 * seed + shapes.indexOf(shape));
    const feed = new Feed(random, shape);
    const { world } = feed;
    await feed.produce(80);
    await world.update();
    const before = await rowsOf(world);
    const isThere = await feed.expire();
    const { losses, report } = await world.preview('t');
    if (losses.length > 0) {
      await expect(refresh(await world.besideOptions('t'))).rejects.toMatchObject({
        code: 'DATA_LOSS_REFUSED',
      });
      expect(await rowsOf(world)).toEqual(before);
    }
    // Every key that comes out otherwise is named, and what is named counts.
    const after = await tableOf(world, isThere);
    const keyOf = (row: string): string => (JSON.parse(row) as { k: string }).k;
    const changed = new Set(
      [...before, ...after]
        .filter((row) => !before.includes(row) || !after.includes(row))
        .map(keyOf),
    );
    const named = new Set(losses.map(({ key }) => key));
    const isAllNamed = named.has('truncate');
    for (const k of changed) {
      expect(isAllNamed || named.has(JSON.stringify({ k })), `${k} in ${[...named]}`).toBe(true);
    }
    expect(report.lost.keys).toBe(named.size);

    await feed.produce(10);
    const outcome = await refresh(await world.besideOptions('t', { [flag]: true }));
    await world.update();
    const gone = new Set(
      flag === 'keepUnrecoverable'
        ? []
        : world.produced.slice(0, 80).filter((one) => !isThere(one)),
    );
    const expected = await tableOf(world, (record) => !gone.has(record));
    expect(await rowsOf(world)).toEqual(expected);
    if (flag === 'keepUnrecoverable') expect(outcome.lost).toEqual({ keys: 0, rows: 0, levels: 0 });
    await expectClean(world);
    // What a restore makes of the topics is the same, compacted or not.
    world.log.compact('t', { dropTombstones: true });
    world.log.compact('p.t.levels', { dropTombstones: true });
    await world.state.close();
    await feed.produce(20);
    await world.update();
    const wanted = await tableOf(world, (record) => !gone.has(record));
    expect(await rowsOf(world)).toEqual(wanted);
  });
});

function change(k: string, seq: number, v: string, gone = false): SourceRow {
  return { k, seq, v, gone };
}

/** Of topic a the first two records have expired: a row, and a delete whose key has an older row that is still there. */
async function expiredWorld(clauses = shapes[0]?.clauses ?? ''): Promise<RefreshWorld> {
  const world = new RefreshWorld(sqlOf(clauses), ['a', 'b'], 1);
  await world.produce('a', 0, change('R1', 1, 'x|y'), change('R2', 9, '', true));
  await world.produce('a', 0, change('R2', 3, 'old|y'), change('R3', 1, 'x|y'));
  await world.produce('b', 0, change('R4', 1, 'x|y'));
  await world.update();
  await world.log.deleteRecords('a', new Map([[0, 2]]));
  return world;
}

const [r1, r2, r3, r4] = [
  ['R1', 1],
  ['R2', 3, 'old'],
  ['R3', 1],
  ['R4', 1],
].map(([k, seq, x = 'x']) => JSON.stringify({ k, seq, x, y: 'y' }));

test('FR-05 a delete that expired counts as a level: an older row would rise', async () => {
  const world = await expiredWorld();
  const { losses, report } = await world.preview('t');
  expect(report.lost).toEqual({ keys: 2, rows: 1, levels: 1 });
  expect(losses.map(({ key }) => key).sort()).toEqual(['{"k":"R1"}', '{"k":"R2"}']);
  const outcome = await refreshBeside(await world.besideOptions('t', { allowLoss: true }));
  expect(outcome).toMatchObject({ lost: { keys: 2, rows: 1, levels: 1 }, buried: 2 });
  expect(await rowsOf(world)).toEqual([r2, r3, r4]);
});

test('FR-05 a truncate that expired is named once, whatever the number of partitions', async () => {
  const world = new RefreshWorld(sqlOf(shapes[2]?.clauses ?? ''), ['a', 'b'], 3);
  await world.produce('a', 0, change('R1', 5, 'all'), change('R2', 6, 'x|y'));
  await world.produce('b', 0, change('R1', 1, 'x|y'));
  await world.update();
  await world.log.deleteRecords('a', new Map([[0, 1]]));
  const { report } = await world.preview('t');
  expect(report.lost).toEqual({ keys: 1, rows: 0, levels: 1 });
  const kept = await refreshBeside(await world.besideOptions('t', { keepUnrecoverable: true }));
  expect(kept).toMatchObject({ published: 0, buried: 0 });
  expect(kept.kept).toEqual({ keys: 1, rows: 0, levels: 1 });
  const outcome = await refreshBeside(await world.besideOptions('t', { allowLoss: true }));
  expect(outcome.lost).toEqual({ keys: 1, rows: 0, levels: 1 });
  expect(await rowsOf(world)).toHaveLength(2);
  // It is no key of the table: whoever reads the topic finds the key columns in every record.
  const keys = world.log.readCommitted('t').map(({ key }) => String(key));
  expect(keys.filter((key) => !key.startsWith('{"k":'))).toEqual([]);
});

test('FR-01 what is read while the last update ends is merged before the swap', async () => {
  const world = new RefreshWorld(sqlOf(shapes[0]?.clauses ?? ''), ['a', 'b'], 1);
  await world.produce('a', 0, change('R1', 1, 'x|y'), change('R2', 1, 'x|y'));
  await world.update();
  // In the last update whoever asks for records finds one more that has come from outside.
  let late = 0;
  let isLast = false;
  const log = overriding(world.log as Log, {
    openReader: () => {
      const reader = world.log.openReader();
      return overriding<LogReader>(reader, {
        poll: async (maxWaitMs) => {
          if (isLast && late < 300) {
            late += 1;
            await world.produce('a', 0, change(`L${late}`, 1, 'x|y'));
          }
          return reader.poll(maxWaitMs);
        },
      });
    },
  });
  await refreshBeside({
    ...(await world.besideOptions('t', {}, log)),
    onStep: (text) => {
      isLast ||= text === 'reading what has come meanwhile';
    },
  });
  expect(late).toBeGreaterThan(0);
  await world.update();
  expect(await rowsOf(world)).toHaveLength(2 + late);
});

test.each([false, true])(
  'FR-18 a new column is NULL in what is kept, IGNORE NULL UPDATES: %s',
  async (ignores) => {
    const clauses = `${ignores ? 'IGNORE NULL UPDATES ' : ''}APPLY AS DELETE WHEN gone SEQUENCE BY seq COLUMNS * EXCEPT (gone, v)`;
    const world = new RefreshWorld(
      sqlOf(clauses, "k, seq, gone, v, split_part(v, '|', 1) AS x"),
      ['a', 'b'],
      1,
    );
    await world.produce('a', 0, change('R1', 5, 'x5|y5'), change('R1', 2, 'x2|y2'));
    await world.update();
    await world.log.deleteRecords('a', new Map([[0, 1]]));
    world.sql = sqlOf(
      clauses,
      "k, seq, gone, v, split_part(v, '|', 1) AS x, split_part(v, '|', 2) AS y",
    );
    await refreshBeside(await world.besideOptions('t', { keepUnrecoverable: true }));
    // An older change gives the column only where a NULL would leave what is below it.
    expect(await rowsOf(world)).toEqual([
      JSON.stringify({ k: 'R1', seq: 5, x: 'x5', y: ignores ? 'y2' : null }),
    ]);
  },
);

test('FR-28 another SCD type is no difference: in place it is emptied and filled', async () => {
  const world = await expiredWorld();
  world.sql = sqlOf(`${shapes[0]?.clauses} STORED AS SCD TYPE 2`);
  for (const flags of [{ allowLoss: true }, { keepUnrecoverable: true }]) {
    await expect(refreshBeside(await world.besideOptions('t', flags))).rejects.toMatchObject({
      code: 'DEFINITION_CHANGED',
      // Each of the feeds says it of the table, and it is told once.
      detail: 'The table was stored as SCD type 1 and is type 2. (FR-28)',
      hint: expect.stringContaining('--in-place'),
    });
  }
  const text = previewText(await world.preview('t'), await world.facts('t'), world.plan);
  expect(text).toContain(
    'Its history begins with the first change of each key that is still there',
  );
  await refreshInPlace(await world.runOptions('t', { allowLoss: true }));
  await world.update();
  expect(await rowsOf(world)).toHaveLength(3);
  expect((await rowsOf(world))[0]).toContain('__START_AT');
});

test('FL-18 FR-45 a feed that runs once runs again with the refresh, and not after it', async () => {
  const world = await expiredWorld();
  world.sql = world.sql.replace(/CREATE FLOW g AS AUTO CDC/, 'CREATE FLOW h AS AUTO CDC ONCE');
  await world.update();
  await world.produce('b', 0, change('R5', 1, 'x|y'));
  await world.update();
  expect(await rowsOf(world)).not.toContain(JSON.stringify({ k: 'R5', seq: 1, x: 'x', y: 'y' }));
  await refreshBeside(await world.besideOptions('t', { keepUnrecoverable: true }));
  const all = [r1, r3, r4, JSON.stringify({ k: 'R5', seq: 1, x: 'x', y: 'y' })];
  expect(await rowsOf(world)).toEqual(all);
  await world.produce('b', 0, change('R6', 1, 'x|y'));
  await world.update();
  expect(await rowsOf(world)).toEqual(all);
});

test('cancel removes what was built, and leaves the table untouched', async () => {
  const world = await expiredWorld();
  const client = world.log.connect();
  const failing = new FailingLog(client, 80, true);
  await expect(
    refreshBeside(await world.besideOptions('t', { allowLoss: true }, failing.log)),
  ).rejects.toBeDefined();
  client.kill();
  const before = world.log.readCommitted('t').length;
  await cancelRefresh(await world.cancelOptions('t'));
  await expectClean(world);
  expect(world.log.readCommitted('t')).toHaveLength(before);
  await world.update();
  expect(await rowsOf(world)).toEqual([r1, r3, r4]);
});

test('FR-04 with the service running every flow lets go, and goes on in the new generation', async () => {
  const world = await expiredWorld();
  const service = await world.service();
  const flags = { keepUnrecoverable: true };
  await refreshBeside({ ...(await world.besideOptions('t', flags)), waitMs: 5_000 });
  await world.produce('b', 0, change('R5', 1, 'x|y'));
  await expect
    .poll(() => rowsOf(world), { timeout: 5_000 })
    .toEqual([r1, r3, r4, JSON.stringify({ k: 'R5', seq: 1, x: 'x', y: 'y' })]);
  const last = world.log.readCommitted('t').at(-1);
  expect(last?.headers.find(({ key }) => key === 'tm-gen')?.value?.toString()).toBe('1');
  await service.stop();
});

describe('crashes', () => {
  test.each([
    ['allowLoss', refreshBeside, true, 61],
    ['keepUnrecoverable', refreshBeside, false, 67],
    ['allowLoss', refreshInPlace, false, 17],
    ['keepUnrecoverable', refreshInPlace, true, 19],
  ] as const)(
    'FR-04 killed anywhere it goes on and ends the same: %s, %o',
    async (flag, refresh, hasEffect, step) => {
      const expected = flag === 'allowLoss' ? [r2, r3, r4] : [r1, r3, r4];
      await refreshThroughCrashes({
        open: expiredWorld,
        refresh: async (world, log) =>
          refresh(await world.besideOptions('t', { [flag]: true }, log)),
        flow: 't',
        between: async (world) => {
          await updateOrLocked(world);
        },
        check: async (world, killedAt) => {
          expect(await rowsOf(world), killedAt).toEqual(expected);
          await expectClean(world);
        },
        hasEffect,
        step,
      });
    },
    120_000,
  );
});

import { afterEach, expect, test } from 'vitest';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { carryCheckpoint } from '../../../src/runtime/refresh/refresh-carry.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { openCatalog } from '../../../src/runtime/topics/catalog.ts';
import { writerOf } from '../../../src/runtime/topics/table-writer.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

let world: RefreshWorld;
const services: { readonly stop: () => Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.stop().catch(() => undefined)));
});

const marked = "APPLY AS EMPTY WHEN (v = 'E')";

function sqlOf(flow: string, more = '', clause = ''): string {
  return `CREATE STREAMING TABLE t;
    CREATE FLOW ${flow} AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq ${clause}
    SELECT k, seq, v FROM STREAM(a)${more};`;
}

const united = ' UNION ALL SELECT k, seq, v FROM STREAM(b)';

async function rows(): Promise<readonly string[]> {
  return tableText(await world.table('t'));
}

function text(k: string, seq: number, v: string): string {
  return JSON.stringify({ k, seq, v });
}

async function start(instance: string): Promise<void> {
  services.push(await world.service(instance));
}

async function eventually(expected: readonly string[]): Promise<void> {
  await expect.poll(rows, { timeout: 10_000 }).toEqual(expected);
}

async function writer(): Promise<string | undefined> {
  const catalog = await openCatalog(world.log, 'p.catalog');
  await catalog?.close();
  return catalog && writerOf(catalog, 't');
}

test('FR-38 a flow of another name takes the table over from an instance that runs the former: one writes at a time', async () => {
  world = new RefreshWorld(sqlOf('f1'), ['a', 'b'], 1);
  await start('old');
  await world.produce('a', 0, { k: 'K', seq: 1, v: 'first' });
  await eventually([text('K', 1, 'first')]);
  world.sql = sqlOf('f2', united);
  await start('new');
  expect(await world.log.groupMembers('p.f1')).toEqual([]);
  await world.produce('b', 0, { k: 'K', seq: 9, v: 'nine' });
  await eventually([text('K', 9, 'nine')]);
  await world.produce('a', 0, { k: 'K', seq: 5, v: 'five' }, { k: 'L', seq: 1, v: 'last' });
  await eventually([text('K', 9, 'nine'), text('L', 1, 'last')]);
  const sequences = world.log
    .readCommitted('t')
    .map(({ value }) => Number(/"seq":(\d+)/.exec(value?.toString() ?? '')?.[1]));
  expect(sequences).toEqual([1, 9, 1]);
});

test('FR-38 the former definition, started again, takes its table back', async () => {
  world = new RefreshWorld(sqlOf('f1'), ['a', 'b'], 1);
  await world.update();
  world.sql = sqlOf('f2', united);
  await start('new');
  await world.produce('b', 0, { k: 'K', seq: 9, v: 'nine' });
  await eventually([text('K', 9, 'nine')]);
  world.sql = sqlOf('f1');
  await start('back');
  expect(await world.log.groupMembers('p.f2')).toEqual([]);
  expect(await writer()).toBe('f1');
  await world.produce('a', 0, { k: 'K', seq: 5, v: 'five' }, { k: 'L', seq: 1, v: 'last' });
  await eventually([text('K', 9, 'nine'), text('L', 1, 'last')]);
});

test('FR-38 several instances of the new definition start at once: each finds the table taken over', async () => {
  world = new RefreshWorld(sqlOf('f1'), ['a', 'b'], 1);
  await start('old');
  await world.produce('a', 0, { k: 'K', seq: 1, v: 'first' });
  await eventually([text('K', 1, 'first')]);
  world.sql = sqlOf('f2', united);
  await Promise.all(['x', 'y', 'z'].map(start));
  await world.produce('b', 0, { k: 'K', seq: 2, v: 'second' });
  await eventually([text('K', 2, 'second')]);
  expect(await world.log.groupMembers('p.f1')).toEqual([]);
});

test('FR-38 what is known of keys without rows goes on with the table: a late row brings none back', async () => {
  world = new RefreshWorld(sqlOf('f1', '', marked), ['a'], 1);
  await world.produce('a', 0, { k: 'K', seq: 1, v: 'x' }, { k: 'K', seq: 10, v: 'E' });
  await world.update();
  expect(await rows()).toEqual([]);
  // Only the level knows any more.
  await world.log.deleteRecords('a', new Map([[0, 2]]));
  world.log.compact('t', { dropTombstones: true });
  for (const [flow, clause] of [
    ['f2', marked],
    ['f3', ''],
  ] as const) {
    world.sql = sqlOf(flow, '', clause);
    await world.produce('a', 0, { k: 'K', seq: 7, v: 'late' });
    await world.update({ acceptsGaps: true });
    expect([flow, await rows()]).toEqual([flow, []]);
  }
  await world.produce('a', 0, { k: 'K', seq: 11, v: 'later' });
  await world.update();
  expect(await rows()).toEqual([text('K', 11, 'later')]);
});

test('FR-12 a checkpoint that is carried takes the table with it', async () => {
  world = new RefreshWorld(sqlOf('f1'), ['a'], 1);
  await world.produce('a', 0, { k: 'K', seq: 1, v: 'x' });
  await world.update();
  world.sql = sqlOf('f2');
  const [flow] = world.plan.flows;
  if (flow === undefined) throw new Error('the pipeline has a flow');
  await carryCheckpoint(await world.outside(), 'f1', flow);
  expect(await writer()).toBe('f2');
});

test.each([
  ['beside', refreshBeside],
  ['in place', refreshInPlace],
])(
  'FR-38 a refresh %s with a flow that does not write the table yet is refused',
  async (_, refresh) => {
    world = new RefreshWorld(sqlOf('f1'), ['a'], 1);
    await world.produce('a', 0, { k: 'K', seq: 1, v: 'x' });
    await world.update();
    world.sql = sqlOf('f2');
    await expect(refresh(await world.besideOptions('t'))).rejects.toMatchObject({
      code: 'USAGE',
      message: 'table "t" is written by flow "f1", and by flow "f2" in these files',
      hint: expect.stringContaining('tidemark checkpoint carry f1 f2'),
    });
  },
);

const present = 'REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, v FROM STREAM(a)';
const contradictions = [
  ['FR-13', 'other keys', 'REPLACE USING (k, v) SEQUENCE BY seq SELECT k, seq, v FROM STREAM(a)'],
  [
    'FR-13',
    'a key of another type',
    'REPLACE USING (k) SEQUENCE BY seq SELECT length(k) AS k, seq, v FROM STREAM(a)',
  ],
  [
    'FR-28',
    'a sequence of another type',
    'REPLACE USING (k) SEQUENCE BY seq SELECT k, CAST(seq AS STRING) AS seq, v FROM STREAM(a)',
  ],
  [
    'FR-15',
    'a column of another type',
    'REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, length(v) AS v FROM STREAM(a)',
  ],
] as const;

test.each(contradictions)(
  '%s a flow of another name with %s does not take the table over',
  async (id, _, into) => {
    const sqlFor = (flow: string, merge: string) =>
      `CREATE STREAMING TABLE t; CREATE FLOW ${flow} AS INSERT INTO t BY NAME ${merge};`;
    world = new RefreshWorld(sqlFor('f1', present), ['a'], 1);
    await world.produce('a', 0, { k: 'K', seq: 1, v: 'first' });
    await world.update();
    world.sql = sqlFor('f2', into);
    await expect(world.update()).rejects.toMatchObject({
      code: 'DEFINITION_CHANGED',
      detail: expect.stringContaining(`(${id})`),
      hint: expect.stringContaining('its name "f1"'),
    });
    expect(await rows()).toEqual([text('K', 1, 'first')]);
    world.sql = sqlFor('f1', present);
    await world.update();
    expect(await writer()).toBe('f1');
  },
);

test('FL-21 an AUTO CDC flow does not take the table of a REPLACE USING flow over', async () => {
  world = new RefreshWorld(sqlOf('f1'), ['a'], 1);
  await world.produce('a', 0, { k: 'K', seq: 1, v: 'first' });
  await world.update();
  world.sql = `CREATE STREAMING TABLE t;
    CREATE FLOW f2 AS AUTO CDC INTO t FROM STREAM(a) KEYS (k) SEQUENCE BY seq COLUMNS (k, seq, v);`;
  await expect(world.update()).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
});

test('FL-21 a flow does not take the topic of a materialized view for its table', async () => {
  world = new RefreshWorld(
    "CREATE MATERIALIZED VIEW m WITH (topic = 't') AS SELECT k, max(seq) AS seq FROM a GROUP BY k;",
    ['a'],
    1,
  );
  await world.produce('a', 0, { k: 'K', seq: 1, v: 'first' });
  await world.update();
  world.sql = sqlOf('f1');
  await expect(world.update()).rejects.toMatchObject({
    code: 'DEFINITION_CHANGED',
    message: expect.stringContaining('materialized view "m"'),
  });
});

import { expect, test } from 'vitest';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { refreshTogether } from '../../../src/runtime/refresh/refresh-together.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

const sql = (more = '') => `CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
  SELECT x.k, x.seq, y.v FROM STREAM(a) x JOIN STREAM(b) y ON x.k = y.k${more};`;

async function joinedWorld(): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql(), ['a', 'b'], 1);
  await world.produce('a', 0, { k: 'A', seq: 1, v: '' }, { k: 'B', seq: 1, v: '' });
  await world.produce('b', 0, { k: 'A', seq: 1, v: 'old' }, { k: 'A', seq: 1, v: 'new' });
  await world.update();
  return world;
}

const line = (k: string, seq: number, v: string) => JSON.stringify({ k, seq, v });
const rowsOf = async (world: RefreshWorld) => tableText(await world.table('t'));

test('FR-37 a refresh of a table over a join reads the joined rows again, which are kept', async () => {
  const world = await joinedWorld();
  await world.log.deleteRecords('a', new Map([[0, 2]]));
  expect((await world.preview('t')).report).toMatchObject({ lossless: true });
  const outcome = await refreshBeside(await world.besideOptions('t'));
  expect(outcome).toMatchObject({ generation: 1, published: 0, buried: 0 });
  expect(await rowsOf(world)).toEqual([line('A', 1, 'new'), line('A', 1, 'old')].sort());
});

test('FR-03 FR-26 a refresh of the join forgets what it kept, and joins anew by the new condition', async () => {
  const world = await joinedWorld();
  world.sql = sql(" AND y.v <> 'old'");
  await expect(world.update()).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
  const together = new Set(['t.join', 't']);
  const run = async (allowLoss: boolean) => {
    const first = await world.runOptions('t.join', { allowLoss });
    const second = await world.runOptions('t', { allowLoss });
    const { catalog } = first;
    return refreshTogether([
      { ...first, together },
      { ...second, catalog, together },
    ]);
  };
  // Nothing of the sources is gone, so every pair can be made again.
  await run(false);
  expect(await rowsOf(world)).toEqual([]);
  const kept = world.log.readCommitted('p.t.join.levels');
  expect(new Map(kept.map(({ key, value }) => [String(key), value]))).toEqual(
    new Map([
      ['{"k":"A"}', null],
      ['{"k":"B"}', null],
    ]),
  );
  await world.update();
  expect(await rowsOf(world)).toEqual([line('A', 1, 'new')]);
  // What the former generation kept of B is no partner of what comes now but through the source.
  await world.produce('b', 0, { k: 'B', seq: 1, v: 'late' });
  await world.update();
  expect(await rowsOf(world)).toEqual([line('A', 1, 'new'), line('B', 1, 'late')]);
  expect(world.log.readCommitted('t.join')).toHaveLength(2);
});

test('FR-33 where anything of a side is gone, every joined row may be lost: it does not say where its rows are', async () => {
  for (const damage of [
    (world: RefreshWorld) => world.log.deleteRecords('b', new Map([[0, 1]])),
    (world: RefreshWorld) => world.recreate('a'),
  ]) {
    const world = await joinedWorld();
    await damage(world);
    const { report } = await world.preview('t.join');
    expect(report.lost).toMatchObject({ rows: 2 });
    const together = new Set(['t.join', 't']);
    const options = { ...(await world.runOptions('t.join')), together };
    await expect(refreshInPlace(options)).rejects.toMatchObject({ code: 'DATA_LOSS_REFUSED' });
  }
});

test('rows of a join cannot be kept one by one', async () => {
  const world = await joinedWorld();
  const options = await world.runOptions('t.join', { keepUnrecoverable: true });
  const together = new Set(['t.join', 't']);
  await expect(refreshInPlace({ ...options, together })).rejects.toMatchObject({ code: 'USAGE' });
});

test.each([
  ['nothing is gone', [], { keys: 0, rows: 0, levels: 0 }],
  // Of the two pairs of A the one of the first row of b can not be made again.
  ['a row of a side is gone', [['b', 1]], { keys: 1, rows: 1, levels: 0 }],
  ['rows of a side are gone that never met another', [['b', 0]], { keys: 0, rows: 0, levels: 0 }],
] as const)(
  'FR-41 a shadow of the join joins anew, tells what would become of it, and leaves no trace: %s',
  async (_, gone, lost) => {
    const world = await joinedWorld();
    for (const [topic, start] of gone) await world.log.deleteRecords(topic, new Map([[0, start]]));
    const options = await world.besideOptions('t.join');
    await expect(refreshBeside(options)).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('tidemark refresh t.join --shadow'),
    });
    const before = await rowsOf(world);
    const outcome = await refreshBeside({
      ...(await world.besideOptions('t.join')),
      isShadow: true,
    });
    expect(outcome).toMatchObject({ isShadow: true, published: 2 - lost.rows, buried: 2, lost });
    const { catalog } = await world.outside();
    expect(catalog.all('lock')).toEqual([]);
    expect(
      catalog
        .all('flow')
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['t', 't.join']);
    expect(
      (await world.log.describeTopics(['p.t.join.refresh.output', 'p.t.join.refresh.levels'])).size,
    ).toBe(0);
    expect(await rowsOf(world)).toEqual(before);
    // What it keeps of both sides is as it was.
    await world.produce('b', 0, { k: 'B', seq: 1, v: 'late' });
    await world.update();
    expect(await rowsOf(world)).toEqual([...before, line('B', 1, 'late')]);
  },
);

test('FR-41 FR-26 a shadow of the join under another condition', async () => {
  const world = await joinedWorld();
  world.sql = sql(" AND y.v <> 'old'");
  const shadow = { ...(await world.besideOptions('t.join')), isShadow: true };
  const none = { keys: 0, rows: 0, levels: 0 };
  expect(await refreshBeside(shadow)).toMatchObject({ published: 1, buried: 2, lost: none });
  world.sql = sql();
  await world.update();
  expect(await rowsOf(world)).toEqual([line('A', 1, 'new'), line('A', 1, 'old')].sort());
});

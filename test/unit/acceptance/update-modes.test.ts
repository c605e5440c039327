import { expect, test } from 'vitest';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

const sql = (create: string): string => `${create}
CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, v FROM STREAM(a);`;

test('FL-06 a service that goes on and updates that end give the same rows, also in turns', async () => {
  const rows = Array.from({ length: 30 }, (_, at) => ({
    k: `k${at % 4}`,
    seq: Math.floor(at / 10),
    v: `v${at}`,
  }));
  const outcomes: string[][] = [];
  for (const mode of ['updates', 'service', 'in turns']) {
    const world = new RefreshWorld(sql('CREATE STREAMING TABLE t;'), ['a'], 2);
    const isService = (round: number): boolean =>
      mode === 'service' || (mode === 'in turns' && round === 1);
    for (const round of [0, 1, 2]) {
      const running = isService(round) ? await world.service() : undefined;
      for (const [at, row] of rows.slice(round * 10, round * 10 + 10).entries()) {
        await world.produce('a', at % 2, row);
      }
      if (running === undefined) await world.update();
      await running?.stop();
    }
    // What came while the service ended is left to the next update.
    await world.update();
    outcomes.push(tableText(await world.table('t')));
  }
  expect(outcomes[0]).toHaveLength(10);
  expect(outcomes[1]).toEqual(outcomes[0]);
  expect(outcomes[2]).toEqual(outcomes[0]);
});

test('FL-05 an update reads what is new, and after a full refresh all that is there', async () => {
  const world = new RefreshWorld(sql('CREATE STREAMING TABLE t;'), ['a'], 2);
  const rows = [1, 2, 3, 4].map((at) => ({ k: `k${at}`, seq: 1, v: 'x' }));
  for (const [at, row] of rows.entries()) await world.produce('a', at % 2, row);
  expect(await world.update()).toBe(4);
  expect(await world.update()).toBe(0);
  await world.produce('a', 0, { k: 'k1', seq: 2, v: 'y' });
  expect(await world.update()).toBe(1);
  const before = tableText(await world.table('t'));
  await refreshInPlace(await world.runOptions('t'));
  expect(await world.update()).toBe(5);
  expect(tableText(await world.table('t'))).toEqual(before);
});

test('FL-15 the table of a flow may be made with it, or be there with rows of another flow', async () => {
  const flow = (name: string): string =>
    `CREATE FLOW f_${name} AS INSERT INTO t BY NAME SELECT k FROM STREAM(${name});`;
  const rows = (world: RefreshWorld): string[] =>
    world.log
      .readCommitted('t')
      .map(({ value }) => String(value))
      .sort();
  const world = new RefreshWorld(`CREATE STREAMING TABLE t; ${flow('a')}`, ['a', 'b'], 1);
  await world.produce('a', 0, { k: 'A', seq: 1, v: '' });
  await world.produce('b', 0, { k: 'B', seq: 1, v: '' });
  await world.update();
  expect(rows(world)).toEqual(['{"k":"A"}']);
  world.sql += flow('b');
  await world.update();
  expect(rows(world)).toEqual(['{"k":"A"}', '{"k":"B"}']);
});

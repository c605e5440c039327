import { describe, expect, test } from 'vitest';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import type { WorkerProgress } from '../../../src/runtime/worker/worker-progress.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

const sql = (create: string): string => `${create}
CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, v FROM STREAM(a);`;

const keyed = 'REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v';
/** By what makes it: what writes table `t` and what it reads. Topic `c` has its rows before the first start. */
const kinds: readonly (readonly [string, string])[] = [
  ['REPLACE USING', sql('CREATE STREAMING TABLE t;')],
  [
    'append',
    'CREATE STREAMING TABLE t AS SELECT k, seq, upper(v) AS v FROM STREAM(a) WHERE seq > 0;',
  ],
  [
    'a once flow beside one that goes on',
    `CREATE STREAMING TABLE t;
     CREATE FLOW o AS INSERT INTO ONCE t BY NAME SELECT k, v FROM c;
     CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, v FROM STREAM(a);`,
  ],
  [
    'AUTO CDC, SCD type 1',
    `CREATE STREAMING TABLE t;
     CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(a) KEYS (k) APPLY AS DELETE WHEN gone SEQUENCE BY struct(seq, v);`,
  ],
  [
    'AUTO CDC, SCD type 2',
    `CREATE STREAMING TABLE t;
     CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(a) KEYS (k) APPLY AS DELETE WHEN gone SEQUENCE BY struct(seq, v)
     COLUMNS * EXCEPT (gone) STORED AS SCD TYPE 2;`,
  ],
  [
    'REPLACE WHERE',
    `CREATE STREAMING TABLE t FLOW REPLACE WHERE n > 0 BY NAME SELECT k, count(*) AS n FROM a GROUP BY k;`,
  ],
  [
    'a materialized view over a table',
    `CREATE STREAMING TABLE m FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);
     CREATE MATERIALIZED VIEW t AS SELECT k, count(*) AS n, max(v) AS v FROM m GROUP BY k;`,
  ],
  [
    'a join of two streams',
    `CREATE STREAMING TABLE t;
     CREATE FLOW f AS INSERT INTO t BY NAME SELECT x.k, x.v, y.v AS w FROM STREAM(a) x JOIN STREAM(b) y ON x.k = y.k AND x.seq = y.seq;`,
  ],
  [
    'a join with a topic that stays as it is',
    `CREATE STREAMING TABLE t AS SELECT x.k, x.v, y.v AS w FROM STREAM(a) x LEFT JOIN c y ON x.k = y.k;`,
  ],
  [
    'chained tables',
    `CREATE STREAMING TABLE m1 AS SELECT * FROM STREAM(a);
     CREATE STREAMING TABLE m2 FLOW ${keyed} FROM STREAM(m1);
     CREATE STREAMING TABLE t FLOW ${keyed} FROM STREAM(m2);`,
  ],
];

describe('FL-06 a service that goes on and updates that end give the same rows, also in turns', () => {
  test.each(kinds)('%s', async (_, text) => {
    const rows = await rowsAfter(text, [false, false, false]);
    expect(rows.length).toBeGreaterThan(2);
    expect(await rowsAfter(text, [true, true, true])).toEqual(rows);
    expect(await rowsAfter(text, [false, true, false])).toEqual(rows);
  });
});

/** The rows of `t` after rounds of records, each of which a service takes up or an update. */
async function rowsAfter(text: string, services: readonly boolean[]): Promise<string[]> {
  const world = new RefreshWorld(text, ['a', 'b', 'c'], 2);
  for (const at of [0, 1, 2]) {
    await world.produce('c', at % 2, { k: `k${at}`, seq: 1, v: `c${at}` });
  }
  for (const [round, isService] of services.entries()) {
    const running = isService ? await world.service() : undefined;
    for (const at of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      const row = { k: `k${at % 4}`, seq: round, v: `v${round}${at}`, gone: at === 5 };
      await world.produce(at % 3 === 0 ? 'b' : 'a', at % 2, row);
    }
    if (running === undefined) {
      await world.update();
    } else {
      // The service is to have done its work, and not to leave all of it to the update at the end.
      await expect
        .poll(() => isAtWork(running.progress()), { interval: 5, timeout: 10_000 })
        .toBe(true);
      await running.stop();
    }
  }
  // What came while the service ended is left to the next update.
  await world.update();
  return rowsOf(world);
}

/** It has read the six records of a round, or computed what is computed as a whole. */
function isAtWork({ records, views = [] }: WorkerProgress): boolean {
  return records >= 6 || (views.length > 0 && views.every(({ last }) => last !== undefined));
}

/** What a reader of the topic of `t` has in the end: the last value of each key, or every record without one. */
function rowsOf({ log }: RefreshWorld): string[] {
  const last = new Map<string, string>();
  const alone: string[] = [];
  for (const { key, value } of log.readCommitted('t')) {
    if (key === null) alone.push(String(value));
    else if (value === null) last.delete(String(key));
    else last.set(String(key), String(value));
  }
  return [...alone, ...last.values()].sort();
}

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

import { describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { planned, valuesOf } from '../../support/append-world.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';
import { type Given, planOf, scenario } from '../../support/scenario.ts';

const source = `CREATE SOURCE s (k INT, g INT, d DOUBLE, m MAP<STRING, INT>) WITH (topic = 's');`;
const distinct = `${source} CREATE STREAMING TABLE t AS SELECT DISTINCT k, g FROM STREAM(s);`;
const limited = `${source} CREATE STREAMING TABLE t AS SELECT k FROM STREAM(s) LIMIT 3;`;

const row = (k: number | null, g: number, partition = 0): Given => ({ value: { k, g }, partition });
const text = (k: number | null, g: number) => JSON.stringify({ k, g });
const faultsOf = (sql: string) => {
  try {
    planOf(`${source} ${sql}`);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

describe('DISTINCT in an append flow', () => {
  test('OP-04 of equal rows the first is there, wherever and whenever the others come', async () => {
    await scenario(distinct, { partitions: 3 }, async (told) => {
      await told.settle(row(1, 1, 0), row(1, 1, 1), row(null, 2, 0), row(1, 2, 2), row(1, 1, 0));
      expect(told.rows()).toEqual([text(1, 1), text(1, 2), text(null, 2)].sort());
      await told.restart();
      await told.loseState();
      await told.settle(row(1, 1, 2), row(null, 2, 2), row(7, 7, 1));
      expect(told.rows()).toEqual([text(1, 1), text(1, 2), text(7, 7), text(null, 2)].sort());
      const { table } = await told.account('t.distinct');
      expect(table).toMatchObject({ rows: 8, new: 4, distinct: 4 });
    });
  });

  test('OP-04 -0.0 and 0.0 are one value, and so are the spellings of a number', async () => {
    const sql = `${source} CREATE STREAMING TABLE t AS SELECT DISTINCT d FROM STREAM(s);`;
    await scenario(sql, {}, async (told) => {
      const values = ['-0.0', '0', '0.0', '1', '1.0', '1e0'];
      await told.settle(...values.map((d) => ({ value: `{"d":${d}}` })));
      expect(told.rows()).toEqual(['{"d":0}', '{"d":1}']);
    });
  });

  test('OP-04, P083 each row is there once whichever step of the process is the last', async () => {
    const records = [row(1, 1), row(2, 1), row(1, 1), row(2, 1), row(3, 1)];
    const plan = planned(distinct);
    const steps = await dieAtEveryStep(plan, records, (rows, step) => {
      expect(rows, `died at step ${step}`).toEqual([text(1, 1), text(2, 1), text(3, 1)]);
    });
    expect(steps).toBeGreaterThan(50);
  });

  test('OP-04 a flow has its own: what another flow into the table brought does not matter', async () => {
    const sql = `${source} CREATE STREAMING TABLE t;
CREATE FLOW a AS INSERT INTO t BY NAME SELECT DISTINCT k FROM STREAM(s);
CREATE FLOW b AS INSERT INTO t BY NAME SELECT DISTINCT k FROM STREAM(s) WHERE g = 1;`;
    await scenario(sql, {}, async (told) => {
      await told.settle(row(1, 1), row(1, 1), row(2, 0));
      expect(told.rows()).toEqual(['{"k":1}', '{"k":1}', '{"k":2}']);
    });
  });

  test('EX-07 the expectations of the table judge what was let through', async () => {
    const sql = `${source} CREATE STREAMING TABLE t (CONSTRAINT small EXPECT (k < 5) ON VIOLATION DROP ROW)
AS SELECT DISTINCT k FROM STREAM(s);`;
    await scenario(sql, {}, async (told) => {
      await told.settle(row(1, 1), row(9, 1), row(9, 2), row(1, 2));
      expect(told.rows()).toEqual(['{"k":1}']);
      const { source: counted } = await told.account('t');
      expect(counted.expectations).toMatchObject([{ name: 'small', passed: 1, failed: 1 }]);
    });
  });

  test('what cannot be compared is refused', () => {
    expect(faultsOf('CREATE STREAMING TABLE t AS SELECT DISTINCT m FROM STREAM(s);')).toContain(
      'DISTINCT_TYPE',
    );
  });

  test('FR-05 a refresh of both reads the source again, and only equal rows of that reading are one', async () => {
    const world = new RefreshWorld(
      'CREATE STREAMING TABLE t AS SELECT DISTINCT k FROM STREAM(a);',
      ['a'],
      1,
    );
    await world.produce('a', 0, { k: 'A', seq: 1, v: '' }, { k: 'A', seq: 2, v: '' });
    await world.update();
    expect(valuesOf(world.log.readCommitted('t'))).toEqual(['{"k":"A"}']);
    const together = new Set(['t.distinct', 't']);
    await refreshInPlace({ ...(await world.runOptions('t.distinct')), together });
    await refreshInPlace({ ...(await world.runOptions('t')), together });
    expect(valuesOf(world.log.readCommitted('t'))).toEqual([]);
    await world.update();
    expect(valuesOf(world.log.readCommitted('t'))).toEqual(['{"k":"A"}']);
  });
});

describe('LIMIT in an append flow', () => {
  test('OP-05 at most so many rows over the life of the checkpoint, however it is cut', async () => {
    await scenario(limited, { partitions: 4 }, async (told) => {
      await told.settle(row(1, 0), row(2, 0, 1));
      expect(told.rows()).toEqual(['{"k":1}', '{"k":2}']);
      await told.restart();
      await told.settle(row(3, 0, 2), row(3, 0, 3), row(3, 0, 1));
      expect(told.rows()).toEqual(['{"k":1}', '{"k":2}', '{"k":3}']);
      await told.loseState();
      await told.settle(row(4, 0, 2));
      expect(told.rows()).toHaveLength(3);
      const { table } = await told.account('t.limit');
      expect(table).toMatchObject({ rows: 6, new: 3, limited: 3 });
    });
  });

  test('OP-05 exactly so many rows whichever step of the process is the last', async () => {
    const records = [1, 2, 3, 4, 5].map((k) => row(k, 0));
    await dieAtEveryStep(planned(limited), records, (rows, step) => {
      expect(rows, `died at step ${step}`).toEqual(['{"k":1}', '{"k":2}', '{"k":3}']);
    });
  });

  test('OP-05 LIMIT of SELECT DISTINCT counts rows that differ', async () => {
    const sql = `${source} CREATE STREAMING TABLE t AS SELECT DISTINCT k FROM STREAM(s) LIMIT 2;`;
    await scenario(sql, {}, async (told) => {
      await told.settle(row(1, 0), row(1, 1), row(1, 2), row(2, 0), row(3, 0), row(1, 0));
      expect(told.rows()).toEqual(['{"k":1}', '{"k":2}']);
      const { table } = await told.account('t.distinct');
      expect(table).toMatchObject({ rows: 6, new: 2, distinct: 3, limited: 1 });
    });
  });
});

test('OP-05 LIMIT of SELECT DISTINCT in front of REPLACE USING is refused, with a remedy that does the same', async () => {
  const replacing = (query: string): string =>
    `CREATE STREAMING TABLE u FLOW REPLACE USING (k) SEQUENCE BY g BY NAME ${query};`;
  const refused = `${source} ${replacing('SELECT DISTINCT k, g FROM STREAM(s) LIMIT 2')}`;
  const [fault] = planPipeline([{ file: 'p.sql', text: refused }]).faults;
  expect(fault).toMatchObject({
    code: 'NOT_SUPPORTED_YET',
    hint: expect.stringContaining('to a table of its own'),
  });
  const remedied = `${source} CREATE STREAMING TABLE few AS SELECT DISTINCT k, g FROM STREAM(s) LIMIT 2;
    ${replacing('SELECT k, g FROM STREAM(few)')}`;
  await scenario(remedied, {}, async (told) => {
    await told.settle(row(1, 1), row(1, 1), row(1, 2), row(1, 3), row(2, 0));
    expect(told.rows('u')).toEqual(['{"k":1,"g":2}']);
  });
});

test('OP-04 OP-10 DISTINCT and LIMIT around a join of streams, and a table over the rows', async () => {
  const sql = `${source} CREATE SOURCE o (k INT, v STRING) WITH (topic = 'o');
CREATE STREAMING TABLE t AS SELECT DISTINCT l.k, r.v FROM STREAM(s) l JOIN STREAM(o) r ON l.k = r.k;
CREATE STREAMING TABLE last FLOW REPLACE USING (k) SEQUENCE BY v BY NAME SELECT k, v FROM STREAM(t);`;
  await scenario(sql, { partitions: 2 }, async (told) => {
    const other = (k: number, v: string): Given => ({ topic: 'o', value: { k, v } });
    await told.settle(
      row(1, 1),
      row(1, 2, 1),
      row(2, 1),
      other(1, 'a'),
      other(1, 'a'),
      other(1, 'b'),
    );
    expect(told.rows('t')).toEqual(['{"k":1,"v":"a"}', '{"k":1,"v":"b"}']);
    expect(told.rows('last')).toEqual(['{"k":1,"v":"b"}']);
    await told.restart();
    await told.settle(row(1, 3), other(2, 'c'));
    expect(told.rows('t')).toEqual(['{"k":1,"v":"a"}', '{"k":1,"v":"b"}', '{"k":2,"v":"c"}']);
  });
});

test('FR-28 DISTINCT that comes or goes is another source, and a higher LIMIT lets further rows through', async () => {
  const sql = (limit: number) =>
    `CREATE STREAMING TABLE t AS SELECT k FROM STREAM(a) LIMIT ${limit};`;
  const world = new RefreshWorld(sql(1), ['a'], 1);
  await world.produce('a', 0, { k: 'A', seq: 1, v: '' }, { k: 'B', seq: 2, v: '' });
  await world.update();
  world.sql = sql(3);
  await world.produce('a', 0, { k: 'C', seq: 1, v: '' });
  await world.update();
  // B came when there was no room for it.
  expect(valuesOf(world.log.readCommitted('t'))).toEqual(['{"k":"A"}', '{"k":"C"}']);
  world.sql = 'CREATE STREAMING TABLE t AS SELECT k FROM STREAM(a);';
  await expect(world.update()).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
});

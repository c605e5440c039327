import { expect, test } from 'vitest';
import { replaceWhereRow } from '../../../src/cli/flows.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import { readViewStatus } from '../../../src/runtime/views/view-status.ts';
import { planned, workerOf, worldOf } from '../../support/append-world.ts';

const sqlOf = (aggregate: string) => `CREATE SOURCE src (k BIGINT, seq BIGINT);
CREATE STREAMING TABLE t (k BIGINT, n BIGINT);
CREATE FLOW daily AS INSERT INTO t BY NAME REPLACE WHERE k = 1 SELECT k, ${aggregate} AS n FROM src GROUP BY k;`;

test('CH-03 a REPLACE WHERE flow is among the flows, as what it is', async () => {
  const sql = sqlOf('count(*)');
  const world = worldOf(sql);
  try {
    world.produce('src', { value: '{"k":1,"seq":1}' });
    const rowOf = async (text: string) => {
      const plan = planned(text);
      const catalog = new Catalog(world.log, 'test.catalog');
      await catalog.read();
      const [status] = await readViewStatus({ log: world.log, plan, pipeline: 'test', catalog });
      const [view] = plan.materializedViews;
      if (status === undefined || view === undefined) throw new Error('no REPLACE WHERE flow');
      const row = replaceWhereRow(plan, view, status, catalog);
      await catalog.close();
      return row;
    };
    await (await workerOf(world, sql, { once: true })).run();
    expect(await rowOf(sql)).toEqual({
      flow: 'daily',
      kind: 'replace_where',
      table: 't',
      sources: ['src'],
      group: 'test.daily',
      lag: null,
      state: 'caught up',
      definition: 'as deployed',
    });
    world.produce('src', { value: '{"k":1,"seq":2}' });
    expect(await rowOf(sqlOf('sum(seq)'))).toMatchObject({
      state: 'behind',
      definition: 'changed',
    });
  } finally {
    world.close();
  }
});

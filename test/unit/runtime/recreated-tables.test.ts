import { describe, expect, test } from 'vitest';
import { RefreshWorld } from '../../support/refresh-world.ts';

const tables = {
  'output topic of a table': {
    sql: 'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);',
    topic: 't',
  },
  'levels topic of a table': {
    sql: 'CREATE STREAMING TABLE t; CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq APPLY AS EMPTY WHEN (v IS NULL) SELECT k, seq, v FROM STREAM(a);',
    topic: 'p.f.levels',
  },
  'output topic of an append flow': {
    sql: 'CREATE STREAMING TABLE t; CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(a);',
    topic: 't',
  },
};

const names = Object.keys(tables) as (keyof typeof tables)[];

describe.concurrent('P053 a topic of a table is deleted and created again while the service runs', () => {
  test.each(names)('%s: its flow stops, and does not call a part the whole', async (what) => {
    const { sql, topic } = tables[what];
    const world = new RefreshWorld(sql, ['a'], 1);
    const rows = Array.from({ length: 20 }, (_, k) => ({ k: `k${k}`, seq: 1, v: 'x' }));
    await world.produce('a', 0, ...rows);
    const service = await world.service();
    const written = (): number => world.log.readCommitted('t').length;
    await expect.poll(written, { timeout: 20_000 }).toBe(20);
    world.recreate(topic);
    const stops = async () => (await world.outside()).catalog.all('stop');
    let seq = 1;
    await expect
      .poll(
        async () => {
          seq += 1;
          await world.produce('a', 0, { k: 'k1', seq, v: 'y' });
          return (await stops()).map(({ value }) => value['code']);
        },
        { timeout: 30_000, interval: 200 },
      )
      .toEqual(['TOPIC_RECREATED']);
    await expect(service.stop()).rejects.toMatchObject({
      code: 'TOPIC_RECREATED',
      message: expect.stringContaining(`"${topic}" was deleted and created again`),
      hint: expect.stringContaining('refresh'),
    });
    await expect(world.update()).rejects.toMatchObject({ code: 'TOPIC_RECREATED' });
  });
});

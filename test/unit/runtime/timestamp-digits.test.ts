import { expect, test } from 'vitest';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

const sql =
  'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY at BY NAME SELECT k, CAST(v AS TIMESTAMP) AS at, seq FROM STREAM(a);';

test('a timestamp has microseconds: versions within the same one tie, and the rows of both stay', async () => {
  const world = new RefreshWorld(sql, ['a'], 1);
  const row = (k: string, seq: number, fraction: string) => ({
    k,
    seq,
    v: `2024-01-01T00:00:00.${fraction}Z`,
    gone: false,
  });
  await world.produce('a', 0, row('K1', 1, '1234561'), row('K1', 2, '123456900'));
  await world.produce('a', 0, row('K2', 1, '123456'), row('K2', 2, '123457'));
  await world.update();
  const text = (k: string, micros: string, seq: number): string =>
    JSON.stringify({ k, at: `2024-01-01T00:00:00.${micros}Z`, seq });
  expect(tableText(await world.table('t'))).toEqual([
    text('K1', '123456', 1),
    text('K1', '123456', 2),
    text('K2', '123457', 2),
  ]);
});

import { describe, expect, test } from 'vitest';
import { everyWay, type Given } from '../../support/scenario.ts';

const carts = `
CREATE SOURCE carts (cart BIGINT, items ARRAY<STRING>, seq BIGINT) WITH (topic = 'carts');
`;

function emptied(options = ''): string {
  return `${carts} CREATE STREAMING TABLE t ${options}
    FLOW REPLACE USING (cart) SEQUENCE BY seq APPLY AS EMPTY WHEN (item IS NULL) BY NAME
    SELECT cart, seq, EXPLODE_OUTER(items) AS item FROM STREAM(carts);`;
}

const modes = ['row_set', 'rows'];

function cart(items: readonly string[] | null, seq: number, id = 1): Given {
  return { value: { cart: id, items, seq } };
}

describe.each(modes)('empty snapshots in mode %s', (mode) => {
  const sql = emptied(`WITH (output = '${mode}')`);

  test('OP-06 a snapshot without elements empties its key, whatever the schedule', async () => {
    const records = [cart(['a', 'b'], 1), cart(['z'], 1, 2), cart([], 2)];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"cart":2,"seq":1,"item":"z"}']);
    });
  });

  test('the level outlives the rows: a lower sequence stays dead, a higher one comes back', async () => {
    const dead = [cart(['a', 'b'], 1), cart([], 5), cart(['c'], 4), cart(['d', 'e'], 3)];
    await everyWay(sql, dead, (told, { name }) => expect(told.rows(), name).toEqual([]));
    const back = [...dead, cart(['f', 'g'], 6), cart(['h'], 5)];
    await everyWay(sql, back, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"cart":1,"seq":6,"item":"f"}',
        '{"cart":1,"seq":6,"item":"g"}',
      ]);
    });
  });

  test('at an equal sequence rows win, in either order', async () => {
    const rows = ['{"cart":1,"seq":5,"item":"a"}', '{"cart":1,"seq":5,"item":"b"}'];
    for (const records of [
      [cart(['x'], 4), cart([], 5), cart(['a', 'b'], 5)],
      [cart(['x'], 4), cart(['a', 'b'], 5), cart([], 5)],
      [cart([], 5), cart([], 5), cart(['a', 'b'], 5), cart([], 5)],
    ]) {
      await everyWay(sql, records, (told, { name }) => expect(told.rows(), name).toEqual(rows));
    }
  });

  test('a key that never had rows has a level all the same', async () => {
    await everyWay(sql, [cart(null, 5), cart(['a'], 4), cart(['b'], 5, 2)], (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"cart":2,"seq":5,"item":"b"}']);
    });
  });
});

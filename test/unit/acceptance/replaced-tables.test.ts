import { describe, expect, test } from 'vitest';
import { Random } from '../../../src/testing/random.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';
import {
  arriveWithTrouble,
  everyWay,
  type Given,
  planOf,
  type Scenario,
  scenario,
} from '../../support/scenario.ts';

type Order = {
  readonly region: string;
  readonly item: string | null;
  readonly qty: number;
  readonly seq: number;
};

const orders = `
CREATE SOURCE orders (region STRING, item STRING, qty INT, seq BIGINT) WITH (topic = 'orders');
`;

type Chain = {
  readonly mode: string;
  /** APPLY AS EMPTY WHEN of the table above, and how its query begins. */
  readonly empty?: string;
  readonly select?: string;
  /** Columns, expectations and options of the table below. */
  readonly options?: string;
};

/** Table `cur` over the orders, and `down` over it. */
function chain(
  query: string,
  { mode, empty = '', select = 'SELECT', options = '' }: Chain,
): string {
  return `${orders}
CREATE STREAMING TABLE cur WITH (output = '${mode}')
FLOW REPLACE USING (region) SEQUENCE BY seq ${empty} BY NAME
${select} region, item, qty, seq FROM STREAM(orders);
CREATE STREAMING TABLE down ${options}
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME ${query};`;
}

function order(region: string, item: string | null, qty: number, seq: number): Given {
  return { value: { region, item, qty, seq } };
}

/** The rows of the table above, as they stand now. */
function current(told: Scenario): readonly Order[] {
  return told.rows('cur').map((row) => JSON.parse(row) as Order);
}

function texts(rows: readonly object[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

const versions: readonly Given[] = [
  order('EU', 'a', 1, 1),
  order('US', 'b', 1, 1),
  order('EU', 'c', 5, 2),
  order('EU', 'd', 7, 2),
  order('EU', 'late', 9, 1),
  order('US', 'e', 0, 2),
  order('AP', 'f', 3, 4),
  order('EU', 'c', 5, 2),
];

describe.each(['row_set', 'rows'])('a table over a table of replaced rows in mode %s', (mode) => {
  test('P111 it holds what its query makes of the last version of each key, whatever the schedule', async () => {
    const sql = chain('SELECT region, qty, seq FROM STREAM(cur)', { mode });
    await everyWay(sql, versions, (told, { name }) => {
      expect(told.rows('down'), name).toEqual([
        '{"region":"AP","qty":3,"seq":4}',
        '{"region":"EU","qty":5,"seq":2}',
        '{"region":"EU","qty":5,"seq":2}',
        '{"region":"EU","qty":7,"seq":2}',
        '{"region":"US","qty":0,"seq":2}',
      ]);
    });
  });

  test('P111 a version of which WHERE leaves nothing empties the key, one of which it leaves a part does not', async () => {
    const sql = chain('SELECT region, qty, seq FROM STREAM(cur) WHERE qty > 0 AND qty <> 5', {
      mode,
    });
    await everyWay(sql, versions, (told, { name }) => {
      expect(told.rows('down'), name).toEqual([
        '{"region":"AP","qty":3,"seq":4}',
        '{"region":"EU","qty":7,"seq":2}',
      ]);
    });
  });

  test('P111 so does one that the expectations drop', async () => {
    const sql = chain('SELECT region, qty, seq FROM STREAM(cur)', {
      mode,
      options:
        '(region STRING, qty INT, seq BIGINT, CONSTRAINT some EXPECT (qty > 0) ON VIOLATION DROP ROW)',
    });
    await everyWay(sql, versions, (told, { name }) => {
      const kept = current(told).filter(({ qty }) => qty > 0);
      expect(told.rows('down'), name).toEqual(
        texts(kept.map(({ region, qty, seq }) => ({ region, qty, seq }))),
      );
      expect(
        told.rows('down').some((row) => row.includes('US')),
        name,
      ).toBe(false);
    });
  });

  test('P111 a key that a marker has emptied is emptied below, and comes back', async () => {
    const empty = 'APPLY AS EMPTY WHEN (item IS NULL)';
    const sql = chain('SELECT region, qty, seq FROM STREAM(cur)', { mode, empty });
    const gone = [...versions, order('EU', null, 0, 3), order('AP', null, 0, 3)];
    await everyWay(sql, gone, (told, { name }) => {
      expect(told.rows('down'), name).toEqual([
        '{"region":"AP","qty":3,"seq":4}',
        '{"region":"US","qty":0,"seq":2}',
      ]);
    });
    await everyWay(sql, [...gone, order('EU', 'z', 8, 9)], (told, { name }) => {
      expect(told.rows('down'), name).toContain('{"region":"EU","qty":8,"seq":9}');
    });
  });

  test('OP-04 DISTINCT over a table of DISTINCT keeps what is distinct, whichever equal row came first', async () => {
    const sql = chain('SELECT DISTINCT region, qty, seq FROM STREAM(cur)', {
      mode,
      select: 'SELECT DISTINCT',
    });
    const records = [
      ...versions,
      order('EU', 'x', 5, 2),
      order('EU', 'x', 5, 2),
      order('EU', 'd', 7, 2),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows('down'), name).toEqual([
        '{"region":"AP","qty":3,"seq":4}',
        '{"region":"EU","qty":5,"seq":2}',
        '{"region":"EU","qty":7,"seq":2}',
        '{"region":"US","qty":0,"seq":2}',
      ]);
    });
  });

  test('OP-07 sides of a union that read it, with filters that exclude each other', async () => {
    const sql = chain(
      `SELECT region, 'many' AS kind, seq FROM STREAM(cur) WHERE qty > 4
       UNION ALL SELECT region, 'few' AS kind, seq FROM STREAM(cur) WHERE qty BETWEEN 1 AND 4`,
      { mode },
    );
    await everyWay(sql, versions, (told, { name }) => {
      const rows = current(told).flatMap(({ region, qty, seq }) =>
        qty > 4 ? [{ region, kind: 'many', seq }] : qty > 0 ? [{ region, kind: 'few', seq }] : [],
      );
      expect(told.rows('down'), name).toEqual(texts(rows));
    });
  });

  test('OP-07 a union with a source and with a second table: the highest sequence of any of them', async () => {
    const sql = `${orders}
      CREATE SOURCE more (region STRING, qty INT, seq BIGINT) WITH (topic = 'more');
      CREATE STREAMING TABLE cur WITH (output = '${mode}')
      FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, qty, seq FROM STREAM(orders);
      CREATE STREAMING TABLE other WITH (output = '${mode}')
      FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, qty, seq FROM STREAM(more);
      CREATE STREAMING TABLE down FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
      SELECT region, qty, seq FROM STREAM(cur) WHERE qty <> 2
      UNION ALL SELECT region, qty + 100 AS qty, seq FROM STREAM(other)
      UNION ALL SELECT region, qty + 200 AS qty, seq FROM STREAM(more) WHERE qty <> 9;`;
    const more = (region: string, qty: number, seq: number): Given => ({
      topic: 'more',
      value: { region, qty, seq },
    });
    const records = [
      order('EU', 'a', 1, 1),
      more('EU', 3, 1),
      more('US', 4, 2),
      order('EU', 'b', 2, 5),
      order('US', 'c', 7, 2),
      more('AP', 9, 1),
      more('AP', 8, 1),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows('down'), name).toEqual([
        '{"region":"AP","qty":108,"seq":1}',
        '{"region":"AP","qty":109,"seq":1}',
        '{"region":"AP","qty":208,"seq":1}',
        '{"region":"US","qty":104,"seq":2}',
        '{"region":"US","qty":204,"seq":2}',
        '{"region":"US","qty":7,"seq":2}',
      ]);
    });
  });

  test('keys in another order, under other names and of every kind of value are found in the record key', async () => {
    const sql = `
      CREATE SOURCE s (a DECIMAL(6,2), b TIMESTAMP, c STRUCT<x: STRING, y: DOUBLE>, d BINARY, v INT, major INT, minor INT)
        WITH (topic = 's');
      CREATE STREAMING TABLE cur WITH (output = '${mode}')
      FLOW REPLACE USING (a, b, c, d) SEQUENCE BY struct(major, minor) BY NAME SELECT * FROM STREAM(s);
      CREATE STREAMING TABLE down FLOW REPLACE USING (k4, k3, k2, k1) SEQUENCE BY struct(major, minor) BY NAME
      SELECT a AS k1, b AS k2, c AS k3, d AS k4, v, major, minor FROM STREAM(cur) WHERE v > 0;`;
    const at = '2026-03-01T10:00:00.000001Z';
    const key = { a: 1.5, b: at, c: { x: 'q"\\ü', y: -0.0 }, d: 'AQI=' };
    const nothing = { a: null, b: null, c: null, d: null };
    const record = (more: object): Given => ({ value: more });
    const records = [
      record({ ...key, v: 1, major: 1, minor: 1 }),
      record({ ...nothing, v: 2, major: 1, minor: 1 }),
      record({ ...key, v: 0, major: 1, minor: 2 }),
      record({ ...nothing, v: 3, major: 1, minor: 0 }),
      record({ ...nothing, v: 0, major: 2, minor: 0 }),
      record({ ...nothing, d: '', v: 4, major: 2, minor: 0 }),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows('down'), name).toEqual([
        '{"k1":null,"k2":null,"k3":null,"k4":"","v":4,"major":2,"minor":0}',
      ]);
    });
  });

  test('tables in a row, with EXPLODE on the way: rows keep the place of the first record', async () => {
    const sql = `
      CREATE SOURCE carts (cart BIGINT, items ARRAY<STRING>, seq BIGINT) WITH (topic = 'carts');
      CREATE STREAMING TABLE cur WITH (output = '${mode}')
      FLOW REPLACE USING (cart) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(carts);
      CREATE STREAMING TABLE items WITH (output = '${mode}')
      FLOW REPLACE USING (cart) SEQUENCE BY seq BY NAME
      SELECT cart, explode(items) AS item, seq FROM STREAM(cur);
      CREATE STREAMING TABLE down FLOW REPLACE USING (cart) SEQUENCE BY seq BY NAME
      SELECT cart, item, seq FROM STREAM(items) WHERE item <> 'x';`;
    const cart = (id: number, items: readonly string[], seq: number): Given => ({
      value: { cart: id, items, seq },
    });
    const records = [
      cart(1, ['a', 'b'], 1),
      cart(2, ['x'], 1),
      cart(3, ['c'], 1),
      cart(1, ['c', 'x', 'c'], 2),
      cart(3, [], 2),
      cart(1, ['d'], 2),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows('down'), name).toEqual([
        '{"cart":1,"item":"c","seq":2}',
        '{"cart":1,"item":"c","seq":2}',
        '{"cart":1,"item":"d","seq":2}',
      ]);
    });
    await scenario(sql, {}, async (told) => {
      await told.settle(...records);
      const { headers } = told.output('down').findLast(({ value }) => value !== null) ?? {};
      const source = headers?.find(({ key }) => key === 'tm-src')?.value?.toString('utf8');
      expect(source).toMatch(/^[0-9a-f]{32}\/0@3,@3#0\.2,@5$/);
    });
  });

  test('UC-04 bad rows are set aside one by one: the others of their version stay, with or without an earlier one', async () => {
    const sql = chain('SELECT region, 10 DIV qty AS share, seq FROM STREAM(cur)', {
      mode,
      options: "WITH (dead_letter_topic = 'dead', max_dead_letter_share = 1)",
    });
    const records = [...versions, order('EU', 'g', 0, 2)];
    await everyWay(sql, records, async (told, { name }) => {
      const good = current(told).filter(({ qty }) => qty !== 0);
      expect(told.rows('down'), name).toEqual(
        texts(good.map(({ region, qty, seq }) => ({ region, share: Math.trunc(10 / qty), seq }))),
      );
      expect(told.deadLetters().length, name).toBeGreaterThan(0);
      const { source, table } = await told.account('down');
      expect(source.rows, name).toBe(source.filtered + source.dropped + source.handedOn);
      expect(source.records, name).toBe(source.decoded + source.tombstones + source.deadLettered);
      expect(table.rows, name).toBe(source.handedOn);
    });
  });

  test('random records with crashes, takeovers and lost state: what the query makes of the table above', async () => {
    const sql = chain('SELECT region, item, qty, seq FROM STREAM(cur) WHERE qty % 3 <> 0', {
      mode,
      empty: 'APPLY AS EMPTY WHEN (item IS NULL)',
    });
    for (const seed of [11, 12, 13]) {
      const random = new Random(seed);
      const records = Array.from({ length: 150 }, (_, at) => {
        const seq = Math.floor(at / 40) + random.below(3);
        const item = random.below(6) === 0 ? null : `i${at}`;
        return order(`r${random.below(7)}`, item, random.below(9), seq);
      });
      await scenario(sql, { partitions: 2, batchRecordsMax: 7 }, async (told) => {
        await arriveWithTrouble(told, records, random);
        const kept = current(told).filter(({ qty }) => qty % 3 !== 0);
        expect(told.rows('down'), `seed ${seed}`).toEqual(texts(kept));
        expect(kept.length).toBeGreaterThan(0);
      });
    }
  });
});

test.each([
  ['row_set', 'exactly_once'],
  ['rows', 'at_least_once'],
] as const)(
  'a process that dies between any two of its steps leaves the same rows, mode %s, delivery %s',
  async (mode, delivery) => {
    const plan = planOf(`${orders}
      CREATE STREAMING TABLE below FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
      SELECT region, qty, seq FROM STREAM(cur) WHERE qty <> 5;
      CREATE STREAMING TABLE cur WITH (output = '${mode}')
      FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(orders);`);
    const records = [order('EU', 'a', 1, 1), order('EU', 'b', 5, 2)];
    const steps = await dieAtEveryStep(
      plan,
      records,
      (rows, step) => expect(rows, `died at step ${step}`).toEqual([]),
      { delivery, commitRecordsMax: 1 },
    );
    expect(steps).toBeGreaterThan(20);
  },
);

import { describe, expect, test } from 'vitest';
import { everyWay, type Given, type Scenario, scenario } from '../../support/scenario.ts';

const source = `CREATE SOURCE orders (region STRING, item STRING, qty INT, seq BIGINT)
  WITH (topic = 'orders');`;

function current(options = ''): string {
  return `${source} CREATE STREAMING TABLE cur ${options}
    FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
    SELECT region, item, qty, seq FROM STREAM(orders);`;
}

const plain = current();

/** `(region,item,qty,seq)` as a record. */
function order(region: string | null, item: string, seq: number, qty = 1): Given {
  return { value: { region, item, qty, seq } };
}

function row(region: string | null, item: string, seq: number, qty = 1): string {
  return JSON.stringify({ region, item, qty, seq });
}

/** The output records of one key, as values. */
function valuesOf(told: Scenario, key: string): string[] {
  return told
    .output()
    .filter((record) => record.key?.toString('utf8') === key)
    .map(({ value }) => value?.toString('utf8') ?? 'null');
}

describe('what an update writes', () => {
  test('RU-01 RU-09 only the keys of the update are written, the others stay byte for byte', async () => {
    await scenario(plain, {}, async (told) => {
      await told.settle(order('EU', 'a', 1), order('US', 'b', 1), order('JP', 'c', 1));
      const before = told.output();
      await told.settle(order('EU', 'd', 2), order('EU', 'e', 2));
      const written = told.output().slice(before.length);
      expect(written.map(({ key }) => key?.toString('utf8'))).toEqual(['{"region":"EU"}']);
      expect(told.rows()).toEqual([
        row('EU', 'd', 2),
        row('EU', 'e', 2),
        row('JP', 'c', 1),
        row('US', 'b', 1),
      ]);
    });
  });

  test.each([1, 2, 50, 3_000])('RU-02 a row-set of %i rows leaves exactly itself', async (size) => {
    const set = (seq: number) =>
      Array.from({ length: size }, (_, at) =>
        order('EU', `i${seq}-${String(at).padStart(4, '0')}`, seq),
      );
    await scenario(plain, {}, async (told) => {
      await told.settle(...set(1));
      await told.settle(...set(2));
      const expected = Array.from({ length: size }, (_, at) =>
        row('EU', `i2-${String(at).padStart(4, '0')}`, 2),
      );
      expect(told.rows()).toEqual(expected);
    });
  });

  test('RU-04 a lower sequence writes no record and is counted', async () => {
    await scenario(plain, {}, async (told) => {
      await told.settle(order('EU', 'a', 5));
      const before = told.output().length;
      await told.settle(order('EU', 'b', 3), order('EU', 'c', 4));
      expect(told.output()).toHaveLength(before);
      expect(told.rows()).toEqual([row('EU', 'a', 5)]);
      expect((await told.account()).table).toMatchObject({ rows: 3, new: 1, superseded: 2 });
    });
  });

  test('RU-05 rows of one key and sequence are kept, in one batch, in two, across a restart', async () => {
    const records = [order('EU', 'a', 7), order('EU', 'b', 7)];
    await everyWay(plain, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([row('EU', 'a', 7), row('EU', 'b', 7)]);
    });
  });

  test('RU-07 of two sequences in one batch the lower one is never visible', async () => {
    for (const seqs of [
      [1, 2],
      [2, 1],
    ]) {
      await scenario(plain, {}, async (told) => {
        await told.settle(...seqs.map((seq) => order('new', `s${seq}`, seq)));
        expect(valuesOf(told, '{"region":"new"}')).toEqual([`[${row('new', 's2', 2)}]`]);
      });
    }
  });

  test.each(['row_set', 'rows'])('RU-08 in mode %s a row-set grows and shrinks', async (mode) => {
    const sql = current(`WITH (output = '${mode}')`);
    const sizes = [2, 3, 1, 5, 2];
    const records = sizes.flatMap((size, at) =>
      Array.from({ length: size }, (_, n) => order('EU', `${at}-${n}`, at + 1)),
    );
    const expected = [row('EU', '4-0', 5), row('EU', '4-1', 5)];
    await everyWay(sql, records, (told, { name }) => expect(told.rows(), name).toEqual(expected));
    await scenario(sql, {}, async (told) => {
      for (const [at, size] of sizes.entries()) {
        await told.settle(
          ...Array.from({ length: size }, (_, n) => order('EU', `${at}-${n}`, at + 1)),
        );
        expect(told.rows()).toHaveLength(size);
      }
      expect(told.rows()).toEqual(expected);
    });
  });

  test('RU-13 the source produced once more changes nothing below the highest sequence', async () => {
    const below = [order('EU', 'a', 1), order('EU', 'b', 2), order('US', 'c', 1)];
    const highest = [order('EU', 'd', 3), order('US', 'e', 9)];
    await scenario(plain, { partitions: 3 }, async (told) => {
      await told.settle(...below, ...highest);
      const before = told.output().length;
      await told.settle(...below);
      expect(told.output()).toHaveLength(before);
      expect(told.rows()).toEqual([row('EU', 'd', 3), row('US', 'e', 9)]);
    });
  });

  test('RU-14 an equal record at the current sequence is a row of its own', async () => {
    await everyWay(plain, [order('EU', 'a', 3), order('EU', 'a', 3)], (told, { name }) => {
      expect(told.rows(), name).toEqual([row('EU', 'a', 3), row('EU', 'a', 3)]);
    });
  });

  test('RU-15 ten thousand rows of one key and sequence are kept', async () => {
    const records = Array.from({ length: 10_000 }, (_, at) => order('EU', `i${at}`, 1));
    await scenario(plain, { partitions: 2 }, async (told) => {
      await told.settle(...records);
      expect(told.rows()).toHaveLength(10_000);
      expect(new Set(told.rows()).size).toBe(10_000);
    });
  });

  test('RU-15 a row-set beyond max_row_set_rows stops the flow and names the key', async () => {
    const sql = current('WITH (max_row_set_rows = 2)');
    await scenario(sql, {}, async (told) => {
      await told.settle(order('US', 'x', 1), order('US', 'y', 1));
      const failure = await told.failure(...['a', 'b', 'c'].map((item) => order('EU', item, 1)));
      expect(failure).toMatchObject({
        code: 'RECORD_TOO_LARGE',
        message: expect.stringContaining('"cur"'),
        detail: expect.stringContaining('{"region":"EU"}'),
      });
      expect(told.rows()).toEqual([row('US', 'x', 1), row('US', 'y', 1)]);
    });
    await scenario(current("WITH (max_row_set_rows = 2, output = 'rows')"), {}, async (told) => {
      await told.settle(...['a', 'b', 'c'].map((item) => order('EU', item, 1)));
      expect(told.rows()).toHaveLength(3);
    });
  });

  test('RU-21 ties are counted and change no data', async () => {
    await scenario(plain, {}, async (told) => {
      await told.settle(
        ...['a', 'b', 'c'].map((item) => order('EU', item, 1)),
        order('US', 'd', 1),
      );
      expect((await told.account()).table).toMatchObject({ rows: 4, new: 2, tied: 2 });
      expect(told.rows()).toHaveLength(4);
    });
  });
});

describe('RU-11 higher replaces, equal appends, lower is dropped', () => {
  const outcomes = [
    { name: 'higher', seq: 6, rows: [row('EU', 'late', 6)] },
    { name: 'equal', seq: 5, rows: [row('EU', 'a', 5), row('EU', 'late', 5)] },
    { name: 'lower', seq: 4, rows: [row('EU', 'a', 5)] },
  ];
  const meanwhile: Record<string, (told: Scenario) => Promise<void>> = {
    'in memory': () => Promise.resolve(),
    'from the state store': (told) => told.restart(),
    'from the changelog': (told) => told.loseState(),
    'after a takeover': (told) => told.handOver(),
  };
  const table = outcomes.flatMap((outcome) =>
    Object.keys(meanwhile).map((where) => ({ ...outcome, where })),
  );

  test.each(table)('RU-11 $name, $where', async ({ seq, rows, where }) => {
    for (const mode of ['row_set', 'rows']) {
      await scenario(current(`WITH (output = '${mode}')`), { partitions: 2 }, async (told) => {
        await told.settle(order('EU', 'a', 5), order('US', 'b', 5));
        await meanwhile[where]?.(told);
        await told.settle(order('EU', 'late', seq));
        expect(told.rows(), mode).toEqual([...rows, row('US', 'b', 5)]);
      });
    }
  });
});

describe('late rows', () => {
  test('RU-12 a late row is ignored after a second, after a restart, after the state was rebuilt', async () => {
    await scenario(plain, {}, async (told) => {
      await told.settle(order('EU', 'a', 5));
      await told.world.clock.sleep(1_000);
      await told.settle(order('EU', 'late 1', 4));
      await told.restart();
      await told.settle(order('EU', 'late 2', 4));
      await told.loseState();
      await told.settle(order('EU', 'late 3', 4));
      told.flushState();
      await told.settle(order('EU', 'late 4', 4));
      expect(told.rows()).toEqual([row('EU', 'a', 5)]);
      expect((await told.account()).table).toMatchObject({ superseded: 4, new: 1 });
    });
  });

  test('RU-22 the level is remembered although the state store is empty', async () => {
    const records = [order('EU', 'a', 5), order('EU', 'b', 4)];
    await everyWay(plain, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([row('EU', 'a', 5)]);
    });
  });
});

describe('keys', () => {
  test('RU-16 NULL matches NULL, and nothing else', async () => {
    const records = [
      order(null, 'old', 1),
      order(null, 'a', 2),
      order(null, 'b', 2),
      order('', 'empty', 1),
      order('null', 'small', 1),
      order('NULL', 'large', 1),
      order('0', 'zero', 1),
    ];
    await everyWay(plain, records, (told, { name }) => {
      expect(told.rows(), name).toEqual(
        [
          row(null, 'a', 2),
          row(null, 'b', 2),
          row('', 'empty', 1),
          row('null', 'small', 1),
          row('NULL', 'large', 1),
          row('0', 'zero', 1),
        ].sort(),
      );
      for (const { key } of told.output()) expect(key?.length).toBeGreaterThan(0);
    });
  });

  const pairs = `CREATE SOURCE s (a STRING, b STRING, v INT, seq BIGINT) WITH (topic = 's');
    CREATE STREAMING TABLE t FLOW REPLACE USING (a, b) SEQUENCE BY seq BY NAME
    SELECT * FROM STREAM(s);`;
  const pair = (a: string | null, b: string | null, v: number, seq: number): Given => ({
    value: { a, b, v, seq },
  });
  const texts = (records: readonly Given[]) =>
    records.map(({ value }) => JSON.stringify(value)).sort();

  test('RU-17 a composite key is all of its columns, and no two of them are mistaken for another', async () => {
    const kept = [
      pair('1', '2', 1, 2),
      pair('2', '1', 2, 1),
      pair('a', 'bc', 3, 1),
      pair('ab', 'c', 4, 1),
      pair('a","b":"c', '', 5, 1),
      pair('a', ',"b":"c', 6, 1),
      pair('', 'abc', 7, 1),
    ];
    await everyWay(pairs, [pair('1', '2', 0, 1), ...kept], (told, { name }) => {
      expect(told.rows(), name).toEqual(texts(kept));
    });
  });

  test('RU-18 a key that is NULL in part matches that key only', async () => {
    const kept = [
      pair('1', null, 1, 2),
      pair(null, '1', 2, 1),
      pair(null, null, 3, 1),
      pair('1', '', 4, 1),
      pair('1', 'null', 5, 1),
    ];
    await everyWay(pairs, [pair('1', null, 0, 1), ...kept], (told, { name }) => {
      expect(told.rows(), name).toEqual(texts(kept));
    });
  });
});

describe('sequences', () => {
  test('RU-19 a NULL sequence is a dead letter, counted, and leaves the table alone', async () => {
    const sql = current("WITH (dead_letter_topic = 'cur.dlq')");
    const bad = '{"region":"EU","item":"x","qty":1,"seq":null}';
    const records: Given[] = [{ value: bad }, order('EU', 'y', 1), { value: bad }];
    await everyWay(sql, records, async (told, { name }) => {
      expect(told.rows(), name).toEqual([row('EU', 'y', 1)]);
      expect(told.deadLetters(), name).toEqual([`NULL_SEQUENCE ${bad}`, `NULL_SEQUENCE ${bad}`]);
      expect((await told.account()).source, name).toMatchObject({ records: 3, deadLettered: 2 });
    });
  });

  test('RU-19 without a dead-letter topic it stops the flow, before the record', async () => {
    await scenario(plain, {}, async (told) => {
      await told.settle(order('EU', 'y', 1));
      const failure = await told.failure({ value: '{"region":"EU"}' }, order('EU', 'z', 2));
      expect(failure).toMatchObject({
        code: 'BAD_ROW',
        detail: expect.stringMatching(/NULL_SEQUENCE.*topic "orders", partition 0, offset 1\b/),
      });
      expect(told.rows()).toEqual([row('EU', 'y', 1)]);
    });
  });

  type Typed = { readonly type: string; readonly low: unknown; readonly high: unknown };
  const typed: readonly Typed[] = [
    { type: 'BIGINT', low: '9007199254740992', high: '9007199254740993' },
    { type: 'BIGINT', low: '-9223372036854775808', high: '9223372036854775807' },
    { type: 'INT', low: '9', high: '10' },
    { type: 'STRING', low: '"10"', high: '"9"' },
    { type: 'STRING', low: '"Z"', high: '"a"' },
    { type: 'STRING', low: '"\uffff"', high: '"\u{1F600}"' },
    { type: 'STRING', low: '"a"', high: '"aa"' },
    {
      type: 'DECIMAL(38,2)',
      low: '999999999999999999999999999999999999.98',
      high: '999999999999999999999999999999999999.99',
    },
    { type: 'DECIMAL(4,1)', low: '-0.1', high: '0' },
    {
      type: 'TIMESTAMP',
      low: '"2025-01-01T00:00:00.000001Z"',
      high: '"2025-01-01T00:00:00.000002Z"',
    },
    { type: 'TIMESTAMP', low: '"2025-01-01T11:30:00+02:00"', high: '"2025-01-01T10:00:00Z"' },
    { type: 'TIMESTAMP', low: '"1969-12-31T23:59:59.999999Z"', high: '"1970-01-01T00:00:00Z"' },
    { type: 'DATE', low: '"1969-12-31"', high: '"1970-01-01"' },
    { type: 'DATE', low: '"2025-09-30"', high: '"2025-10-01"' },
    { type: 'DOUBLE', low: '-1e300', high: '-1e-300' },
    { type: 'DOUBLE', low: '1e300', high: '"NaN"' },
    { type: 'BOOLEAN', low: 'false', high: 'true' },
    { type: 'BINARY', low: '"fw=="', high: '"gA=="' },
    { type: 'STRUCT<a: INT, b: STRING>', low: '{"a":1,"b":"z"}', high: '{"a":2,"b":"a"}' },
    { type: 'STRUCT<a: INT, b: STRING>', low: '{"a":1,"b":null}', high: '{"a":1,"b":""}' },
    { type: 'ARRAY<INT>', low: '[9]', high: '[10]' },
    { type: 'ARRAY<INT>', low: '[1]', high: '[1,0]' },
  ];

  test.each(typed)('RU-23 $type: $high is above $low', async ({ type, low, high }) => {
    const sql = `CREATE SOURCE s (k INT, v STRING, seq ${type}) WITH (topic = 's');
      CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
      SELECT k, v, seq FROM STREAM(s);`;
    const record = (v: string, seq: unknown): Given => ({
      value: `{"k":1,"v":"${v}","seq":${seq}}`,
    });
    const lows = [record('low', low)];
    const highs = [record('high', high), record('tie', high)];
    for (const records of [
      [...lows, ...highs],
      [...highs, ...lows],
    ]) {
      await everyWay(sql, records, (told, { name }) => {
        const found = told.rows().map((text) => (JSON.parse(text) as { v: string }).v);
        expect(found, name).toEqual(['high', 'tie']);
      });
    }
  });

  test('RU-20 partition, offset and timestamp of the record can be the sequence', async () => {
    const sql = `CREATE SOURCE s (k INT, v STRING) WITH (topic = 's');
      CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY version BY NAME
      SELECT k, v, struct(_timestamp, _offset) AS version FROM STREAM(s);`;
    const record = (v: string, timestampMs: number): Given => ({ value: { k: 1, v }, timestampMs });
    const records = [
      record('a', 1_000),
      record('c', 3_000),
      record('d', 3_000),
      record('b', 2_000),
    ];
    await everyWay(sql, records, (told, { name, partitions }) => {
      const found = told.rows().map((text) => (JSON.parse(text) as { v: string }).v);
      // Offsets of one partition tell its records apart; those of two may tie.
      expect(found.at(-1), name).toBe('d');
      if (partitions === undefined) expect(found, name).toEqual(['d']);
    });
  });

  test('RU-24 the sequence may be an expression over the result', async () => {
    const sql = `CREATE SOURCE s (k INT, v STRING, a INT, b INT) WITH (topic = 's');
      CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY a * 10 + b BY NAME
      SELECT k, v, a, b FROM STREAM(s);`;
    const record = (v: string, a: number, b: number): Given => ({ value: { k: 1, v, a, b } });
    const records = [record('x', 1, 9), record('y', 2, 0), record('z', 1, 10), record('w', 0, 19)];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"k":1,"v":"y","a":2,"b":0}',
        '{"k":1,"v":"z","a":1,"b":10}',
      ]);
    });
  });
});

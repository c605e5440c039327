import { describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';
import { everyWay, type Given, planOf, scenario } from '../../support/scenario.ts';

const json = (values: readonly string[]): Given[] => values.map((value) => ({ value }));

describe('the examples of the documentation', () => {
  test('EG-01 payments_current', async () => {
    const sql = `CREATE SOURCE payments (payment_id BIGINT, status STRING, amount DECIMAL(10,2), updated_at TIMESTAMP)
        WITH (topic = 'payments');
      CREATE STREAMING TABLE payments_current
      FLOW REPLACE USING (payment_id) SEQUENCE BY updated_at BY NAME
      SELECT payment_id, status, amount, updated_at FROM STREAM(payments);`;
    const at = (second: number) => `2025-03-05T10:00:0${second}.000000Z`;
    const payment = (id: number, status: string, amount: string, second: number) =>
      `{"payment_id":${id},"status":"${status}","amount":${amount},"updated_at":"${at(second)}"}`;
    const records = [
      payment(42, 'AUTHORIZED', '10.00', 1),
      payment(43, 'AUTHORIZED', '99.99', 1),
      payment(42, 'CAPTURED', '10.00', 3),
      payment(42, 'FAILED', '10.00', 2),
    ];
    await everyWay(sql, json(records), (told, { name }) => {
      expect(told.rows(), name).toEqual([records[2], records[1]]);
    });
  });

  const bookings = (sequence: string) => `
    CREATE SOURCE bookings (booking_id BIGINT, status STRING, update_id BIGINT, updated_at TIMESTAMP)
      WITH (topic = 'bookings');
    CREATE STREAMING TABLE bookings_current
    FLOW REPLACE USING (booking_id) SEQUENCE BY ${sequence} BY NAME
    SELECT booking_id, status, update_id, updated_at FROM STREAM(bookings);`;
  const booking = (status: string, update: number) =>
    `{"booking_id":7,"status":"${status}","update_id":${update},"updated_at":"2025-03-05T10:00:00.000000Z"}`;

  test('EG-02 bookings_current: update ids tell apart what times do not', async () => {
    const records = [booking('REQUESTED', 1), booking('CONFIRMED', 2)];
    await everyWay(bookings('update_id'), json(records), (told, { name }) => {
      expect(told.rows(), name).toEqual([booking('CONFIRMED', 2)]);
    });
    await everyWay(bookings('updated_at'), json(records), async (told, { name }) => {
      expect(told.rows(), name).toEqual([booking('CONFIRMED', 2), booking('REQUESTED', 1)]);
    });
  });

  test('EG-03 bookings_by_property: a composite key, NULL in part', async () => {
    const sql = `CREATE SOURCE b (property_id BIGINT, room STRING, guest STRING, update_id BIGINT) WITH (topic = 'b');
      CREATE STREAMING TABLE bookings_by_property
      FLOW REPLACE USING (property_id, room) SEQUENCE BY update_id BY NAME
      SELECT property_id, room, guest, update_id FROM STREAM(b);`;
    const row = (property: number, room: string | null, guest: string, update: number) =>
      JSON.stringify({ property_id: property, room, guest, update_id: update });
    const kept = [
      row(1, null, 'ann', 2),
      row(1, null, 'bob', 2),
      row(1, '101', 'cy', 1),
      row(2, null, 'di', 1),
    ];
    await everyWay(sql, json([row(1, null, 'old', 1), ...kept]), (told, { name }) => {
      expect(told.rows(), name).toEqual([...kept].sort());
    });
  });
});

const source = `CREATE SOURCE s (k INT, v STRING, n INT, items ARRAY<STRING>, seq BIGINT) WITH (topic = 's');`;

function into(select: string, options = ''): string {
  return `${source} CREATE STREAMING TABLE t ${options}
    FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME ${select};`;
}

describe('projection and filter', () => {
  test('OP-01 columns are chosen, renamed, put in another order', async () => {
    const sql = into('SELECT seq, v AS Name, k, v AS again FROM STREAM(s)');
    await everyWay(sql, json(['{"k":1,"v":"a","n":5,"seq":1}']), (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"seq":1,"Name":"a","k":1,"again":"a"}']);
    });
  });

  test('OP-02 a filtered row sets no level', async () => {
    const sql = into('SELECT k, v, n, seq FROM STREAM(s) WHERE n > 0');
    const row = (v: string, n: number | null, seq: number) => JSON.stringify({ k: 1, v, n, seq });
    const records = [row('a', 1, 5), row('zero', 0, 9), row('null', null, 8), row('b', 1, 6)];
    await everyWay(sql, json(records), async (told, { name }) => {
      expect(told.rows(), name).toEqual([row('b', 1, 6)]);
      const { source: account } = await told.account();
      expect(account, name).toMatchObject({ rows: 4, filtered: 2, handedOn: 2 });
    });
  });

  test('OP-02 a value that does not fit is bad, whether or not its row is filtered', async () => {
    const options = "WITH (dead_letter_topic = 't.dlq')";
    const records = [
      '{"k":1,"v":"a","n":1,"seq":"x"}',
      '{"k":1,"v":7,"n":0,"seq":1}',
      '{"k":1,"v":"kept","n":1,"seq":1}',
      '{"k":1,"v":"filtered","n":0,"seq":1}',
    ];
    for (const select of [
      'SELECT k, v, seq FROM STREAM(s) WHERE n > 0',
      'SELECT k, concat(v) AS v, seq FROM STREAM(s) WHERE n > 0',
    ]) {
      await everyWay(into(select, options), json(records), async (told, { name }) => {
        expect(told.rows(), name).toEqual(['{"k":1,"v":"kept","seq":1}']);
        expect(told.deadLetters().sort(), `${name}, ${select}`).toEqual([
          `VALUE_DOES_NOT_FIT ${records[0]}`,
          `VALUE_DOES_NOT_FIT ${records[1]}`,
        ]);
      });
    }
  });
});

describe('scalar expressions', () => {
  test('OP-03 three-valued logic, CASE, arithmetic and casts', async () => {
    const sql = into(`SELECT k, CAST(n AS STRING) AS text, n * 2 + 1 AS odd,
        CASE WHEN n > 1 THEN 'many' WHEN n <= 1 THEN 'few' ELSE 'unknown' END AS size,
        n > 1 OR v = 'x' AS either, n > 1 AND v = 'x' AS both, seq FROM STREAM(s)`);
    const records = [
      '{"k":1,"v":"x","n":null,"seq":1}',
      '{"k":2,"v":null,"n":2,"seq":1}',
      '{"k":3,"v":"y","n":null,"seq":1}',
    ];
    await everyWay(sql, json(records), (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"k":1,"text":null,"odd":null,"size":"unknown","either":true,"both":null,"seq":1}',
        '{"k":2,"text":"2","odd":5,"size":"many","either":true,"both":null,"seq":1}',
        '{"k":3,"text":null,"odd":null,"size":"unknown","either":null,"both":false,"seq":1}',
      ]);
    });
  });

  test.each([
    ['CAST(v AS INT)', 'CAST_INVALID_INPUT', '"nine"', '"9"'],
    ['10 / (length(v) - 1)', 'DIVIDE_BY_ZERO', '"x"', '"xx"'],
    ['CAST(length(v) + 126 AS TINYINT)', 'CAST_OVERFLOW', '"xx"', '"x"'],
    ['n + 2147483640 + length(v)', 'ARITHMETIC_OVERFLOW', '"12345678"', '"1234567"'],
  ])(
    'OP-03 %s fails with %s: the row is bad, the others go on',
    async (expression, error, bad, good) => {
      const sql = into(
        `SELECT k, ${expression} AS x, seq FROM STREAM(s)`,
        "WITH (dead_letter_topic = 't.dlq')",
      );
      const record = (v: string) => `{"k":1,"v":${v},"n":0,"seq":1}`;
      await everyWay(sql, json([record(bad), record(good)]), (told, { name }) => {
        expect(told.rows(), name).toHaveLength(1);
        expect(told.deadLetters(), name).toEqual([`${error} ${record(bad)}`]);
      });
    },
  );

  test('OP-03 try_cast gives NULL instead', async () => {
    const sql = into('SELECT k, TRY_CAST(v AS INT) AS x, seq FROM STREAM(s)');
    await everyWay(sql, json(['{"k":1,"v":"nine","seq":1}']), (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"k":1,"x":null,"seq":1}']);
    });
  });
});

describe('SELECT DISTINCT', () => {
  const sql = into('SELECT DISTINCT k, v, seq FROM STREAM(s)');
  const row = (k: number, v: string | null, seq: number) => JSON.stringify({ k, v, seq });

  test.each(['row_set', 'rows'])(
    'OP-04 equal rows stand once, across restarts too, mode %s',
    async (mode) => {
      const records = [
        '{"k":1,"v":"a","n":1,"seq":1}',
        '{"k":1,"v":"a","n":2,"seq":1}',
        '{"seq":1,"k":1,"v":"\\u0061"}',
        '{"k":1,"v":"b","seq":1}',
        '{"k":1,"v":null,"seq":1}',
        '{"k":1,"seq":1}',
        '{"k":2,"v":"a","seq":1}',
      ];
      const distinct = into(
        'SELECT DISTINCT k, v, seq FROM STREAM(s)',
        `WITH (output = '${mode}')`,
      );
      await everyWay(distinct, json(records), (told, { name }) => {
        expect(told.rows(), name).toEqual(
          [row(1, 'a', 1), row(1, 'b', 1), row(1, null, 1), row(2, 'a', 1)].sort(),
        );
      });
    },
  );

  test.each(['exactly_once', 'at_least_once'] as const)(
    'OP-04 a process that dies between any two of its steps shows no row twice, %s',
    async (delivery) => {
      const numbered = into('SELECT DISTINCT k, v, seq FROM STREAM(s)', "WITH (output = 'rows')");
      const texts = ['a', 'b', 'a', 'c'].map((v) => row(1, v, 1));
      const records = [...texts, row(1, 'd', 2), row(1, 'd', 2), row(1, 'e', 2)];
      for (const [given, expected] of [
        [texts, [row(1, 'a', 1), row(1, 'b', 1), row(1, 'c', 1)]],
        [records, [row(1, 'd', 2), row(1, 'e', 2)]],
      ] as const) {
        const values = given.map((text) => ({ value: JSON.parse(text) as object }));
        const check = (rows: readonly string[], step: number) =>
          expect(rows, `died at step ${step}`).toEqual(expected);
        await dieAtEveryStep(planOf(numbered), values, check, { delivery, commitRecordsMax: 1 });
      }
    },
  );

  test.each(['row_set', 'rows'])(
    'OP-04 every equal record stays known, also when the state was rebuilt, mode %s',
    async (mode) => {
      const distinct = into(
        'SELECT DISTINCT k, v, seq FROM STREAM(s)',
        `WITH (output = '${mode}')`,
      );
      await scenario(distinct, {}, async (told) => {
        await told.settle(...json([row(1, 'b', 1), row(1, 'a', 1), row(1, 'a', 1)]));
        await told.loseState();
        await told.settle(...json([row(1, 'a', 1)]));
        const table = told.world.table('t');
        const sources =
          table === undefined ? [] : told.world.rows(table).map(({ sources }) => sources.length);
        expect(sources.sort()).toEqual([1, 3]);
        expect((await told.account()).table).toMatchObject({ new: 1, tied: 1, distinct: 2 });
      });
    },
  );

  test('OP-04 a higher sequence replaces rows that were equal', async () => {
    const records = [row(1, 'a', 1), row(1, 'a', 1), row(1, 'a', 2), row(1, 'b', 1)];
    await everyWay(sql, json(records), (told, { name }) => {
      expect(told.rows(), name).toEqual([row(1, 'a', 2)]);
    });
  });

  test('OP-04 equal values are equal however they were written', async () => {
    const typed = `CREATE SOURCE d (k INT, x DECIMAL(5,2), y DOUBLE, z TIMESTAMP, seq INT) WITH (topic = 'd');
      CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
      SELECT DISTINCT k, x, y, z, seq FROM STREAM(d);`;
    const records = [
      '{"k":1,"x":1.5,"y":0.0,"z":"2025-01-01T00:00:00Z","seq":1}',
      '{"k":1,"x":1.50,"y":-0.0,"z":"2025-01-01T01:00:00+01:00","seq":1}',
      '{"k":1,"x":15e-1,"y":0,"z":"2025-01-01T00:00:00.000Z","seq":1}',
    ];
    await everyWay(typed, json(records), (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"k":1,"x":1.50,"y":0,"z":"2025-01-01T00:00:00.000000Z","seq":1}',
      ]);
    });
  });

  test('OP-04 the state is bounded by the row-set: what is superseded is not remembered', async () => {
    await scenario(sql, {}, async (told) => {
      for (let seq = 1; seq <= 20; seq += 1) {
        await told.settle(...json([row(1, 'a', seq), row(1, 'a', seq), row(1, 'b', seq)]));
      }
      const state = told.world.state.image({
        pipeline: 'test',
        flow: 't',
        generation: 0,
        partition: 0,
      });
      expect(state?.entries.size).toBe(1);
      const [entry] = [...(state?.entries.values() ?? [])];
      // Three rows with their provenance, not sixty.
      expect(entry?.length).toBeLessThan(3 * 100);
    });
  });
});

describe('generators', () => {
  const exploded = (form: string, columns: string) =>
    into(`SELECT k, ${form}(items) AS ${columns}, seq FROM STREAM(s)`);
  const records = json([
    '{"k":1,"items":["a","b","c"],"seq":1}',
    '{"k":2,"items":[],"seq":1}',
    '{"k":3,"items":null,"seq":1}',
    '{"k":4,"items":[null],"seq":1}',
  ]);

  test('OP-06 EXPLODE gives one row an element, none for an empty or NULL array', async () => {
    await everyWay(exploded('explode', 'item'), records, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"k":1,"item":"a","seq":1}',
        '{"k":1,"item":"b","seq":1}',
        '{"k":1,"item":"c","seq":1}',
        '{"k":4,"item":null,"seq":1}',
      ]);
    });
  });

  test('OP-06 POSEXPLODE counts from 0', async () => {
    await everyWay(exploded('posexplode', '(pos, item)'), records, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"k":1,"pos":0,"item":"a","seq":1}',
        '{"k":1,"pos":1,"item":"b","seq":1}',
        '{"k":1,"pos":2,"item":"c","seq":1}',
        '{"k":4,"pos":0,"item":null,"seq":1}',
      ]);
    });
  });

  test('OP-06 an empty array cannot clear its key, and validation says so', async () => {
    const sql = exploded('explode', 'item');
    const { faults } = planPipeline([{ file: 'p.sql', text: sql }]);
    expect(faults).toMatchObject([{ severity: 'warning', code: 'EXPLODE_EMPTY' }]);
    const emptied = [...records, ...json(['{"k":1,"items":[],"seq":2}'])];
    await everyWay(sql, emptied, (told, { name }) => {
      expect(told.rows(), name).toHaveLength(4);
    });
  });

  test('OP-06 rows of one record become visible together, and a redelivery adds none', async () => {
    await scenario(exploded('explode', 'item'), { batchRecordsMax: 1 }, async (told) => {
      await told.settle(...records);
      const first = told.output().filter(({ key }) => key?.toString() === '{"k":1}');
      expect(
        first.map(({ value }) => (JSON.parse(value?.toString() ?? '[]') as []).length),
      ).toEqual([3]);
      await told.restart();
      expect(told.rows()).toHaveLength(4);
    });
  });

  test('OP-06 equal elements are rows of their own', async () => {
    const twice = json(['{"k":1,"items":["a","a"],"seq":1}']);
    await everyWay(exploded('explode', 'item'), twice, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"k":1,"item":"a","seq":1}',
        '{"k":1,"item":"a","seq":1}',
      ]);
    });
  });

  test('OP-06 of a record one of whose rows is bad no row stands', async () => {
    const sql = into(
      'SELECT k, CAST(item AS INT) AS n, seq FROM STREAM(s) LATERAL VIEW explode(items) x AS item',
      "WITH (dead_letter_topic = 't.dlq')",
    );
    const bad = '{"k":1,"items":["1","two","3"],"seq":1}';
    await everyWay(sql, json([bad, '{"k":1,"items":["4"],"seq":1}']), async (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"k":1,"n":4,"seq":1}']);
      expect(told.deadLetters(), name).toEqual([`CAST_INVALID_INPUT ${bad}`]);
      expect((await told.account()).source, name).toMatchObject({
        records: 2,
        decoded: 1,
        rows: 1,
      });
    });
  });
});

describe('OP-07 UNION ALL of two streams', () => {
  const sql = `CREATE SOURCE north (k INT, v STRING, seq BIGINT) WITH (topic = 'north');
    CREATE SOURCE south (k INT, v STRING, seq BIGINT) WITH (topic = 'south');
    CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
    SELECT k, v, 'n' AS side, seq FROM STREAM(north) UNION ALL SELECT k, v, 's', seq FROM STREAM(south);`;
  const record = (topic: string, k: number, v: string, seq: number): Given => ({
    topic,
    value: { k, v, seq },
  });

  test('OP-07 rows of both merge into one key', async () => {
    const records = [
      record('north', 1, 'old', 1),
      record('south', 1, 'a', 2),
      record('north', 1, 'b', 2),
      record('south', 2, 'c', 1),
      record('south', 1, 'late', 1),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"k":1,"v":"a","side":"s","seq":2}',
        '{"k":1,"v":"b","side":"n","seq":2}',
        '{"k":2,"v":"c","side":"s","seq":1}',
      ]);
    });
  });

  test('OP-07 one topic in both branches: each record gives a row of each, redelivered or not', async () => {
    const both = `${source} CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
      SELECT k, v, seq FROM STREAM(s) UNION ALL SELECT k, v, seq FROM STREAM(s);`;
    await everyWay(both, json(['{"k":1,"v":"a","seq":1}']), (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"k":1,"v":"a","seq":1}', '{"k":1,"v":"a","seq":1}']);
    });
  });

  test('OP-07 the offsets of both move in one transaction with the rows', async () => {
    await scenario(sql, {}, async (told) => {
      await told.settle(record('north', 1, 'a', 1), record('south', 1, 'b', 1));
      await told.stop();
      const repartition = told.world.log.readCommitted('test.t.repartition');
      expect(
        repartition.length === 0 || new Set(repartition.map((one) => one.transaction)).size === 1,
      ).toBe(true);
      for (const topic of ['north', 'south']) {
        const offsets = await told.world.log.committedOffsets('test.t', topic, [0]);
        expect(offsets.get(0)?.offset, topic).toBe(1);
      }
      expect((await told.account()).source.records).toBe(2);
    });
  });
});

import { describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { pipelineStarter } from '../../../src/testing/pipeline/start-pipeline.ts';
import { Random } from '../../../src/testing/random.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';
import {
  arriveWithTrouble,
  everyWay,
  type Given,
  planOf,
  scenario,
} from '../../support/scenario.ts';

const sources = `CREATE SOURCE orders (id BIGINT, customer STRING, amount INT, seq BIGINT) WITH (topic = 'orders');
  CREATE SOURCE payments (payment BIGINT, order_id BIGINT, paid INT, seq BIGINT) WITH (topic = 'payments');`;

const order = (id: number | null, seq: number, amount = 10): Given => ({
  topic: 'orders',
  value: { id, customer: `c${id}`, amount, seq },
});
const payment = (payment: number, order_id: number | null, paid = 5, seq = 1): Given => ({
  topic: 'payments',
  value: { payment, order_id, paid, seq },
});

function parsed(texts: readonly string[]): unknown[] {
  return texts.map((text) => JSON.parse(text) as unknown);
}

describe('joins of two streams', () => {
  test('OP-10 inner: every pair whatever comes first, in every way', async () => {
    const sql = `${sources}
      CREATE STREAMING TABLE paid FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME
      SELECT o.id, o.seq, customer, payment, paid FROM STREAM(orders) o JOIN STREAM(payments) p ON o.id = p.order_id;`;
    const records = [
      order(1, 1),
      payment(10, 1),
      payment(11, 2),
      order(2, 1),
      payment(12, 1),
      order(1, 2),
      order(3, 1),
      payment(13, 4),
      payment(14, 1),
      order(null, 1),
      payment(15, null),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(parsed(told.rows('paid')), name).toEqual([
        { id: 1, seq: 2, customer: 'c1', payment: 10, paid: 5 },
        { id: 1, seq: 2, customer: 'c1', payment: 12, paid: 5 },
        { id: 1, seq: 2, customer: 'c1', payment: 14, paid: 5 },
        { id: 2, seq: 1, customer: 'c2', payment: 11, paid: 5 },
      ]);
    });
  });

  test('OP-10 into a table that is appended: every pair once, in every way', async () => {
    const sql = `${sources}
      CREATE STREAMING TABLE paid AS
      SELECT o.id, payment FROM STREAM(orders) o JOIN STREAM(payments) p ON o.id = p.order_id AND paid < amount;`;
    const records = [
      order(1, 1),
      payment(10, 1),
      payment(11, 1, 50),
      order(1, 2, 100),
      order(1, 3),
      payment(12, 2),
      order(2, 1),
    ];
    const pair = (id: number, one: number) => ({ id, payment: one });
    await everyWay(sql, records, (told, { name }) => {
      expect(parsed(told.rows('paid')), name).toEqual([
        pair(1, 10),
        pair(1, 10),
        pair(1, 10),
        pair(1, 11),
        pair(2, 12),
      ]);
    });
  });

  test('OP-10 equal rows of one sequence are told apart, and a pair is one row however often it is read', async () => {
    const sql = `${sources}
      CREATE STREAMING TABLE t FLOW REPLACE USING (customer) SEQUENCE BY s BY NAME
      SELECT customer, o.seq + p.seq AS s FROM STREAM(orders) o JOIN STREAM(payments) p ON id = order_id;`;
    const records = [order(1, 1), order(1, 1), payment(1, 1), payment(2, 1), payment(3, 1, 5, 0)];
    await everyWay(sql, records, (told, { name }) => {
      const row = { customer: 'c1', s: 2 };
      expect(parsed(told.rows('t')), name).toEqual([row, row, row, row]);
    });
  });

  test('OP-10 a stream with itself, USING, NULL-safe, and with further joins around it', async () => {
    const sql = `${sources}
      CREATE SOURCE names (customer STRING, name STRING) WITH (topic = 'names');
      CREATE STREAMING TABLE t FLOW REPLACE USING (a, b) SEQUENCE BY seq BY NAME
      SELECT x.seq AS a, y.seq AS b, p.payment, name, id, x.seq
      FROM STREAM(orders) x JOIN STREAM(orders) y USING (id)
        JOIN STREAM(payments) p ON p.order_id <=> id JOIN names ON names.customer = x.customer;`;
    const name = { topic: 'names', key: 'c1', value: { customer: 'c1', name: 'Ann' } };
    const records = [
      name,
      order(1, 1),
      order(1, 2),
      payment(10, 1),
      order(2, 3),
      payment(12, null),
    ];
    await everyWay(sql, records, (told, way) => {
      // Static data that comes while rows are read is another matter.
      if (way.commits > 1 || way.between !== 'nothing') return;
      const row = (a: number, b: number) => ({ a, b, payment: 10, name: 'Ann', id: 1, seq: a });
      expect(parsed(told.rows('t')), way.name).toEqual([
        row(1, 1),
        row(1, 2),
        row(2, 1),
        row(2, 2),
      ]);
    });
  });

  test('OP-10 keys of any type, NULL beside NULL, exploded sides, unions and views', async () => {
    const sql = `CREATE SOURCE a (k DECIMAL(10,2), tags ARRAY<STRING>, t TIMESTAMP, n BIGINT) WITH (topic = 'a');
      CREATE SOURCE b (k DOUBLE, v STRING, d DECIMAL(30,4)) WITH (topic = 'b');
      CREATE SOURCE c (k DOUBLE, v STRING, d DECIMAL(30,4)) WITH (topic = 'c');
      CREATE VIEW tagged AS SELECT k, explode(tags) AS tag, t, n FROM STREAM(a) WHERE n > 0;
      CREATE VIEW sides AS SELECT *, _topic AS one FROM STREAM(b) UNION ALL SELECT *, _topic FROM STREAM(c);
      CREATE STREAMING TABLE t FLOW REPLACE USING (tag) SEQUENCE BY n BY NAME
      SELECT tag, n, x.t, v, d, one AS _one FROM STREAM(tagged) x JOIN (SELECT * FROM STREAM(sides)) y ON x.k <=> y.k;`;
    const a = (k: string | null, tags: string[], n: string) =>
      `{"k":${k},"tags":${JSON.stringify(tags)},"t":"2025-01-01T00:00:00.123456Z","n":${n}}`;
    const records: Given[] = [
      { topic: 'a', value: a('1.50', ['x', 'y'], '9007199254740993') },
      { topic: 'a', value: a('null', ['z'], '1') },
      { topic: 'a', value: a('1.5', ['x'], '-1') },
      { topic: 'b', value: '{"k":1.5,"v":"Ä\\u0000\\"","d":12345678901234567890.1234}' },
      { topic: 'c', value: '{"k":null,"v":null,"d":null}' },
      { topic: 'c', value: '{"k":1.50,"v":"w","d":0}' },
    ];
    await everyWay(sql, records, (told, { name }) => {
      const wide = (tag: string, v: string, d: string, one: string) =>
        `{"tag":"${tag}","n":9007199254740993,"t":"2025-01-01T00:00:00.123456Z","v":"${v}","d":${d},"_one":"${one}"}`;
      const ofB = (tag: string) => wide(tag, 'Ä\\u0000\\"', '12345678901234567890.1234', 'b');
      const ofC = (tag: string) => wide(tag, 'w', '0.0000', 'c');
      expect(told.rows('t'), name).toEqual(
        [
          ofB('x'),
          ofB('y'),
          ofC('x'),
          ofC('y'),
          '{"tag":"z","n":1,"t":"2025-01-01T00:00:00.123456Z","v":null,"d":null,"_one":"c"}',
        ].sort(),
      );
    });
  });

  test.each(['exactly_once', 'at_least_once'] as const)(
    'a pair is there once, whatever dies and is lost on the way: %s',
    async (delivery) => {
      const sql = `${sources}
      CREATE STREAMING TABLE kept FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME
      SELECT o.id, o.seq, p.payment FROM STREAM(orders) o JOIN STREAM(payments) p ON o.id = p.order_id;
      CREATE STREAMING TABLE added;
      CREATE FLOW f AS INSERT INTO added BY NAME
      SELECT o.id, o.seq, p.payment FROM STREAM(orders) o JOIN STREAM(payments) p ON o.id = p.order_id;`;
      for (const seed of [1, 2, 3]) {
        const random = new Random(seed);
        const orders = Array.from({ length: 60 }, (_, seq) => order(random.below(9), seq));
        const payments = Array.from({ length: 60 }, (_, number) =>
          payment(number, random.below(9)),
        );
        const records = random.shuffled([...orders, ...payments]);
        type Record = {
          readonly id: number;
          readonly seq: number;
          readonly order_id: number;
          readonly payment: number;
        };
        const valuesOf = (given: readonly Given[]) => given.map(({ value }) => value as Record);
        const pairs = valuesOf(orders).flatMap(({ id, seq }) =>
          valuesOf(payments)
            .filter(({ order_id }) => order_id === id)
            .map(({ payment: one }) => JSON.stringify({ id, seq, payment: one })),
        );
        const newest = new Map(valuesOf(orders).map(({ id, seq }) => [id, seq]));
        const kept = pairs.filter((text) => {
          const { id, seq } = JSON.parse(text) as Record;
          return newest.get(id) === seq;
        });
        const start = pipelineStarter({ delivery });
        await scenario(sql, { partitions: 3, batchRecordsMax: 4, start }, async (told) => {
          await arriveWithTrouble(told, records, random);
          expect(told.rows('kept'), `seed ${seed}`).toEqual(kept.sort());
          const added = told.rows('added');
          // Without transactions an appended row may come twice, and none is missing.
          const once = delivery === 'exactly_once' ? added : [...new Set(added)];
          expect(once, `seed ${seed}`).toEqual(pairs.sort());
        });
      }
    },
  );
});

const timed = `CREATE SOURCE a (id BIGINT, ts TIMESTAMP) WITH (topic = 'a');
  CREATE SOURCE b (id BIGINT, ts TIMESTAMP, v INT) WITH (topic = 'b');`;

/** A second of one minute, as text. */
const at = (second: number) => new Date(Date.UTC(2025, 0, 1, 0, 0, second)).toISOString();
const rowOf = (topic: 'a' | 'b', id: number | null, second: number | null, v?: number): Given => ({
  topic,
  value: { id, ts: second === null ? null : at(second), ...(v === undefined ? {} : { v }) },
});

/** `[id, second of a, second of b]` of each row. */
function seconds(texts: readonly string[]): unknown[] {
  const second = (time: string | null) =>
    time === null ? null : Date.parse(time) / 1000 - Date.parse(at(0)) / 1000;
  return texts
    .map(
      (text) => JSON.parse(text) as { id: number | null; ats: string | null; bts: string | null },
    )
    .map(({ id, ats, bts }) => [id, second(ats), second(bts)])
    .sort((x, y) => (JSON.stringify(x) < JSON.stringify(y) ? -1 : 1));
}

function timedJoin(kind: string, target: string, delay = 0): string {
  const mark = `WATERMARK ts DELAY OF INTERVAL ${delay} SECONDS`;
  return `${timed} CREATE STREAMING TABLE j ${target}
    SELECT coalesce(a.id, b.id) AS id, a.ts AS ats, b.ts AS bts, coalesce(a.ts, b.ts) AS s
    FROM STREAM(a) ${mark} ${kind} JOIN STREAM(b) ${mark}
      ON a.id = b.id AND a.ts <= b.ts AND b.ts <= a.ts + INTERVAL 5 SECONDS;`;
}
const replacing = 'FLOW REPLACE USING (id) SEQUENCE BY s BY NAME';

describe('joins of two streams with watermarks', () => {
  test('P119 a left row that had a partner is not given out without one, though the partner went first', async () => {
    for (const target of ['AS', replacing]) {
      await scenario(timedJoin('LEFT', target), {}, async (told) => {
        for (const second of [1, 4, 20]) {
          const id = second === 1 ? 1 : 9;
          await told.settle(rowOf('a', id, second));
          await told.settle(rowOf('b', id, second));
        }
        const ofOne = seconds(told.rows('j')).filter((row) => (row as unknown[])[0] === 1);
        expect(ofOne).toEqual([[1, 1, 1]]);
      });
    }
  });

  const records = [
    rowOf('a', 1, 1),
    rowOf('b', 1, 3),
    rowOf('b', 2, 4),
    rowOf('a', 2, 5),
    rowOf('a', 3, 6),
    rowOf('a', null, 7),
    rowOf('b', null, 7),
    rowOf('a', 5, null),
    rowOf('b', 5, null),
    rowOf('b', 3, 10),
    rowOf('b', 3, 11),
    rowOf('b', 3, 12),
    rowOf('a', 4, 13),
    // What comes last in every partition of both has the others let go.
    ...Array.from({ length: 8 }, () => [rowOf('a', 90, 60), rowOf('b', 91, 60)]).flat(),
  ];
  const pairs = [
    [1, 1, 3],
    [3, 6, 10],
    [3, 6, 11],
  ];
  const leftAlone = [
    [2, 5, null],
    [4, 13, null],
    [5, null, null],
    [null, 7, null],
  ];
  const rightAlone = [
    [2, null, 4],
    [3, null, 12],
    [5, null, null],
    [null, null, 7],
  ];
  const given = {
    INNER: pairs,
    LEFT: [...pairs, ...leftAlone],
    RIGHT: [...pairs, ...rightAlone],
    FULL: [...pairs, ...leftAlone, ...rightAlone],
  };

  test.each(Object.entries(given))(
    'OP-12 %s: each row once, in every way',
    async (kind, expected) => {
      const sorted = [...expected].sort((x, y) => (JSON.stringify(x) < JSON.stringify(y) ? -1 : 1));
      await everyWay(timedJoin(kind, 'AS', 100), records, (told, { name }) => {
        // Nothing is let go yet; what can have no partner is given out at once.
        const isThere = (row: unknown) => {
          const [id, ofA, ofB] = row as unknown[];
          return id === null || id === 5 || (ofA !== null && ofB !== null);
        };
        expect(seconds(told.rows('j')), name).toEqual(sorted.filter(isThere));
      });
      await everyWay(timedJoin(kind, 'AS', 10), records, (told, { name }) => {
        expect(seconds(told.rows('j')), name).toEqual(sorted);
      });
    },
  );

  test('OP-12 FULL: no row is missing or there twice, whatever dies and is lost on the way', async () => {
    const sql = `${timedJoin('FULL', 'AS', 30)}
      CREATE STREAMING TABLE newest FLOW REPLACE USING (id) SEQUENCE BY s BY NAME
      SELECT id, ats, bts, s FROM STREAM(j);`;
    for (const seed of [11, 12, 13, 14]) {
      const random = new Random(seed);
      const sides = ['a', 'b'] as const;
      const rows = Array.from({ length: 90 }, (_, number) => {
        const topic = sides[random.below(2)] ?? 'a';
        // Out of order by less than the delay.
        return { topic, id: random.below(6), second: number * 2 + random.below(20) };
      });
      const of = (side: 'a' | 'b') => rows.filter(({ topic }) => topic === side);
      const isPair = (x: (typeof rows)[number], y: (typeof rows)[number]) =>
        x.id === y.id && x.second <= y.second && y.second <= x.second + 5;
      const expected = [
        ...of('a').flatMap((x) =>
          of('b').flatMap((y) => (isPair(x, y) ? [[x.id, x.second, y.second]] : [])),
        ),
        ...of('a').flatMap((x) =>
          of('b').some((y) => isPair(x, y)) ? [] : [[x.id, x.second, null]],
        ),
        ...of('b').flatMap((y) =>
          of('a').some((x) => isPair(x, y)) ? [] : [[y.id, null, y.second]],
        ),
      ].sort((x, y) => (JSON.stringify(x) < JSON.stringify(y) ? -1 : 1));
      const given = rows.map(({ topic, id, second }) => rowOf(topic, id, second));
      await scenario(sql, { partitions: 3, batchRecordsMax: 4 }, async (told) => {
        await arriveWithTrouble(told, given, random);
        const last = sides.flatMap((topic) =>
          [0, 1, 2].map((partition) => ({
            ...rowOf(topic, topic === 'a' ? 90 : 91, 600),
            partition,
          })),
        );
        await told.settle(...last);
        expect(seconds(told.rows('j')), `seed ${seed}`).toEqual(expected);
        const newest = new Map<unknown, number>();
        for (const [id, ofA, ofB] of expected) {
          newest.set(id, Math.max(newest.get(id) ?? 0, (ofA ?? ofB) as number));
        }
        const kept = expected.filter(([id, ofA, ofB]) => newest.get(id) === (ofA ?? ofB));
        expect(seconds(told.rows('newest')), `seed ${seed}`).toEqual(kept);
      });
    }
  });

  test('RU-10 OP-12 FULL: exactly once whichever step of a process is the last', async () => {
    const given = [
      rowOf('a', 1, 1),
      rowOf('a', 2, 2),
      rowOf('a', 9, 30),
      rowOf('b', 1, 3),
      rowOf('b', 3, 4),
      rowOf('b', 8, 30),
    ];
    const expected = [
      [1, 1, 3],
      [2, 2, null],
      [3, null, 4],
    ];
    const steps = await dieAtEveryStep(
      planOf(timedJoin('FULL', 'AS')),
      given,
      (rows, step) => expect(seconds(rows), `died at step ${step}`).toEqual(expected),
      { commitRecordsMax: 4 },
    );
    expect(steps).toBeGreaterThan(50);
  });

  test('without transactions what is let go could be lost: it is refused', async () => {
    const start = pipelineStarter({ delivery: 'at_least_once' });
    await scenario(timedJoin('INNER', 'AS'), { start }, async (told) => {
      expect(await told.failure(rowOf('a', 1, 1))).toMatchObject({ code: 'NOT_SUPPORTED' });
    });
  });

  test('OP-12 a row is kept for as long as its last partner may come, to the very time', async () => {
    for (const kind of ['INNER', 'FULL']) {
      await scenario(timedJoin(kind, 'AS'), {}, async (told) => {
        await told.settle(rowOf('a', 1, 1), rowOf('a', 9, 1));
        await told.settle(rowOf('b', 8, 6));
        await told.settle(rowOf('b', 1, 6));
        await told.settle(rowOf('b', 2, 10), rowOf('a', 7, 10));
        await told.settle(rowOf('a', 2, 10));
        const pairs = seconds(told.rows('j')).filter((row) => !(row as unknown[]).includes(null));
        expect(pairs, kind).toEqual([
          [1, 1, 6],
          [2, 10, 10],
        ]);
        await told.settle(rowOf('b', 9, 10));
        const ofNine = seconds(told.rows('j')).filter((row) => (row as unknown[])[0] === 9);
        expect(ofNine, kind).toEqual(kind === 'INNER' ? [] : [[9, 1, null]]);
      });
    }
  });

  test('OP-10 what no partner can come for any more is kept no more, in the state nor in its changelog', async () => {
    await scenario(timedJoin('INNER', 'AS', 1), {}, async (told) => {
      for (let second = 0; second < 40; second += 1) {
        await told.settle(rowOf('a', second, second), rowOf('b', second, second));
      }
      const kept = new Map(
        told.world.log
          .readCommitted('test.j.join.levels')
          .map(({ key, value }) => [String(key), value] as const),
      );
      const keys = [...kept].filter(([key, value]) => key.startsWith('{') && value !== null);
      expect(keys.length).toBeLessThan(10);
      // How far the partitions have come is part of the state: whoever takes it over need not be told anew.
      const reached = JSON.parse(String(kept.get('times'))) as [string, number][];
      expect(reached.map(([, ms]) => ms)).toEqual([Date.parse(at(39)), Date.parse(at(39))]);
      expect(told.rows('j')).toHaveLength(40);
      await told.loseState();
      await told.settle(rowOf('a', 100, 40), rowOf('b', 100, 41), rowOf('b', 0, 41));
      expect(seconds(told.rows('j')).at(-1)).toEqual([9, 9, 9]);
      expect(told.rows('j')).toHaveLength(41);
    });
  });

  test('P121 a row that is late within its partition is left out and counted; one of a slow partition is not', async () => {
    await scenario(timedJoin('LEFT', 'AS', 2), { partitions: 2 }, async (told) => {
      const inPartition = (given: Given, partition: number): Given => ({ ...given, partition });
      await told.settle(
        inPartition(rowOf('a', 1, 30), 0),
        inPartition(rowOf('b', 1, 30), 0),
        // Behind the other partition, and not behind its own.
        inPartition(rowOf('a', 2, 1), 1),
        inPartition(rowOf('b', 2, 1), 1),
        inPartition(rowOf('a', 3, 27), 0),
      );
      expect(seconds(told.rows('j'))).toEqual([
        [1, 30, 30],
        [2, 1, 1],
      ]);
      const { source } = await told.account('j.join');
      expect(source).toMatchObject({ late: 1, filtered: 1 });
      await told.settle(inPartition(rowOf('a', 9, 60), 1), inPartition(rowOf('b', 9, 60), 1));
      await told.settle(inPartition(rowOf('a', 9, 60), 0), inPartition(rowOf('b', 9, 60), 0));
      // The late one is nowhere, not even alone.
      expect(seconds(told.rows('j')).filter((row) => (row as unknown[])[0] === 3)).toEqual([]);
    });
  });

  test('one absurd time makes no row after it late: beyond the calendar it is bad, else where the table bounds it', async () => {
    const at = (topic: 'a' | 'b', id: number, ts: string): Given => ({
      topic,
      value: { id, ts },
      timestampMs: Date.parse('2025-01-01T00:01:00Z'),
    });
    const bounded = "WITH (dead_letter_topic = 'j.dlq', max_event_time_ahead = '1 day') AS";
    const records = [
      at('a', 8, '+57145-01-01T00:00:00Z'),
      at('b', 8, '2999-01-01T00:00:00Z'),
      rowOf('a', 1, 1),
      rowOf('b', 1, 2),
      // As far ahead as a row may be.
      at('a', 7, '2025-01-02T00:01:00Z'),
    ];
    await everyWay(timedJoin('LEFT', bounded), records, (told, { name }) => {
      expect(seconds(told.rows('j')), name).toEqual([[1, 1, 2]]);
      expect(
        told
          .deadLetters()
          .map((letter) => letter.split(' ')[0])
          .sort(),
        name,
      ).toEqual(['EVENT_TIME_OUT_OF_RANGE', 'EVENT_TIME_TOO_FAR_AHEAD']);
    });
    await scenario(timedJoin('LEFT', 'AS'), {}, async (told) => {
      expect(await told.failure(...records)).toMatchObject({
        code: 'BAD_ROW',
        detail: expect.stringContaining('EVENT_TIME_OUT_OF_RANGE'),
      });
    });
  });
});

describe('what joins of two streams refuse and warn of', () => {
  function told(query: string): string[] {
    const { faults } = planPipeline([
      {
        file: 'p.sql',
        text: `${sources} CREATE SOURCE ev (id BIGINT, ts TIMESTAMP, m MAP<STRING, INT>) WITH (topic = 'ev');
          CREATE STREAMING TABLE t AS ${query};`,
      },
    ]);
    return faults.map(({ code, message }) => `${code}: ${message}`);
  }
  const codes = (query: string) => told(query).map((text) => text.split(':')[0]);

  test('OP-10 without watermarks it says that the state grows for ever', () => {
    expect(codes('SELECT id FROM STREAM(orders) JOIN STREAM(payments) ON id = order_id')).toEqual([
      'JOIN_STATE_UNBOUNDED',
    ]);
  });

  test('OP-10 OP-12 with watermarks and a range it does not; which side is not bound is told', () => {
    const join = (kind: string, range: string) =>
      told(`SELECT a.id FROM STREAM(ev) WATERMARK ts DELAY OF INTERVAL 1 MINUTE AS a
        ${kind} JOIN STREAM(ev) WATERMARK ts DELAY OF INTERVAL 1 MINUTE AS b ON a.id = b.id AND ${range}`);
    const late = 'NONDETERMINISTIC: which rows are late depends on the order in their partition';
    const unbound = (side: string) => `JOIN_STATE_UNBOUNDED: the join keeps every row of ${side}`;
    const missing =
      'JOIN_TIME_RANGE_MISSING: an outer join of two streams needs a condition on their times';
    const range = 'b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts + INTERVAL 1 HOUR';
    expect(join('', range)).toEqual([late]);
    expect(join('FULL', range)).toEqual([late]);
    expect(join('', 'b.ts > a.ts')).toEqual([late, unbound('the left side')]);
    expect(join('RIGHT', 'b.ts > a.ts')).toEqual([late, unbound('the left side')]);
    expect(join('LEFT', 'b.ts > a.ts')).toEqual([missing]);
    expect(join('', 'b.id > a.id')).toEqual([unbound('both streams')]);
    // A range over other columns, or over what moves, bounds nothing.
    expect(join('LEFT', 'b.id > a.id')).toEqual([missing]);
    expect(join('', 'b.ts < a.ts + make_dt_interval(CAST(a.id AS INT))')).toEqual([
      unbound('both streams'),
    ]);
  });

  test('nothing compared by equality, chance in what is compared, DISTINCT and LIMIT on a side', () => {
    const join = (on: string, left = 'STREAM(orders)') =>
      codes(`SELECT id FROM ${left} JOIN STREAM(payments) ON ${on}`);
    expect(join('id < order_id')).toEqual(['JOIN_EQUALITY_MISSING']);
    expect(join('id = 1')).toEqual(['JOIN_EQUALITY_MISSING']);
    expect(join('true OR id = order_id')).toEqual(['JOIN_EQUALITY_MISSING']);
    expect(codes('SELECT id FROM STREAM(orders) CROSS JOIN STREAM(payments)')).toEqual([
      'JOIN_EQUALITY_MISSING',
    ]);
    expect(
      join('id = order_id', '(SELECT unix_seconds(now()) AS id FROM STREAM(orders))'),
    ).toContain('JOIN_NONDETERMINISTIC');
    expect(join('id = order_id', '(SELECT DISTINCT id FROM STREAM(orders))')).toContain(
      'NOT_SUPPORTED_YET',
    );
    expect(join('id = order_id', '(SELECT id FROM STREAM(orders) LIMIT 3)')).toContain(
      'LIMIT_NESTED',
    );
    expect(join('id = order_id AND no_column')).toEqual(['UNRESOLVED_COLUMN.WITH_SUGGESTION']);
  });

  test('OP-10 semi and anti joins of two streams are refused with what says the same', () => {
    expect(
      told('SELECT id FROM STREAM(orders) LEFT SEMI JOIN STREAM(payments) ON id = order_id'),
    ).toEqual(['JOIN_STREAM_HALF: two streams cannot be joined by a left semi join']);
    expect(
      codes('SELECT id FROM STREAM(orders) LEFT ANTI JOIN STREAM(payments) ON id = order_id'),
    ).toEqual(['JOIN_STREAM_HALF']);
    expect(
      codes(
        'SELECT id FROM (SELECT id FROM STREAM(orders) FULL JOIN STREAM(payments) ON id = order_id)',
      ),
    ).toEqual(['JOIN_WATERMARK_MISSING', 'JOIN_TIME_RANGE_MISSING']);
  });
});

import { describe, expect, test } from 'vitest';
import { pipelineStarter } from '../../../src/testing/pipeline/start-pipeline.ts';
import { everyWay, type Given, planOf, type Scenario, scenario } from '../../support/scenario.ts';

const orders = `CREATE SOURCE orders (region STRING, item STRING, qty INT, seq BIGINT) WITH (topic = 'orders');
`;

function current(
  options = '',
  select = 'SELECT region, item, qty, seq FROM STREAM(orders)',
): string {
  return `${orders}CREATE STREAMING TABLE cur ${options}
    FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME ${select};`;
}

const fixtureR = current();
const tolerant = current("WITH (dead_letter_topic = 'cur.dlq')");

type Order = readonly [region: string | null, item: string, qty: number | null, seq: number | null];

/** `(region,item,qty,seq)@partition`; the record key is the region. */
function order([region, item, qty, seq]: Order, partition?: number): Given {
  return {
    key: region,
    value: { region, item, qty, seq },
    ...(partition === undefined ? {} : { partition }),
  };
}

function row([region, item, qty, seq]: Order): string {
  return JSON.stringify({ region, item, qty, seq });
}

const text = (value: string, partition = 0): Given => ({ value, partition });

/** What each output record of the first table holds, in log order. */
function visible(told: Scenario): (Record<string, unknown>[] | null)[] {
  return told
    .output()
    .map(({ value }) =>
      value === null ? null : (JSON.parse(value.toString('utf8')) as Record<string, unknown>[]),
    );
}

describe('order, ties, keys', () => {
  test('P001 a row of the same sequence that comes after a restart stays, too', async () => {
    await scenario(fixtureR, { partitions: 4 }, async (told) => {
      await told.settle(order(['EU', 'a', 1, 5], 0), order(['EU', 'b', 2, 5], 1));
      await told.restart();
      await told.settle(order(['EU', 'c', 3, 5], 2));
      expect(told.rows()).toEqual([
        row(['EU', 'a', 1, 5]),
        row(['EU', 'b', 2, 5]),
        row(['EU', 'c', 3, 5]),
      ]);
    });
  });

  test('P003 a batch with two sequences of a new key applies the highest; no record mixes them', async () => {
    const records = [
      order(['EU', 'c', 1, 1], 0),
      order(['EU', 'd', 2, 2], 0),
      order(['US', 'e', 2, 2], 1),
      order(['US', 'f', 1, 1], 1),
    ];
    await everyWay(fixtureR, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([row(['EU', 'd', 2, 2]), row(['US', 'e', 2, 2])]);
      for (const rows of visible(told)) {
        expect(new Set(rows?.map(({ seq }) => seq)).size, name).toBe(1);
      }
    });
  });

  test('P005 a union into one key writes no tombstone at or after the newer row', async () => {
    const sql = `CREATE SOURCE c1 (id BIGINT, name STRING, seq BIGINT) WITH (topic = 'c1');
      CREATE SOURCE c2 (id BIGINT, name STRING, seq BIGINT) WITH (topic = 'c2');
      CREATE STREAMING TABLE cat FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME
      SELECT id, name, '1' AS typ, seq FROM STREAM(c1) UNION ALL SELECT id, name, '2' AS typ, seq FROM STREAM(c2);`;
    const records: Given[] = [
      { topic: 'c1', value: { id: 1, name: 'x', seq: 1 } },
      { topic: 'c2', value: { id: 2, name: 'y', seq: 1 } },
      { topic: 'c1', value: { id: 1, name: 'z', seq: 2 } },
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"id":1,"name":"z","typ":"1","seq":2}',
        '{"id":2,"name":"y","typ":"2","seq":1}',
      ]);
      expect(visible(told), name).not.toContain(null);
    });
  });

  test('P007 the stream is partitioned by the computed key, never by the key of the record', async () => {
    const sql = current('', 'SELECT UPPER(region) AS region, item, qty, seq FROM STREAM(orders)');
    const records: Given[] = [
      { key: 'a', partition: 0, value: { region: 'eu', item: 'a', qty: 1, seq: 1 } },
      { key: 'b', partition: 1, value: { region: 'EU', item: 'b', qty: 1, seq: 2 } },
      { key: 'c', partition: 2, value: { region: 'eU', item: 'c', qty: 1, seq: 2 } },
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([row(['EU', 'b', 1, 2]), row(['EU', 'c', 1, 2])]);
      expect(new Set(told.output().map(({ partition }) => partition)).size, name).toBe(1);
    });
  });
});

describe('NULL keys and sequences', () => {
  const records = [
    order(['EU', 'x', 1, null], 0),
    order(['EU', 'y', 1, 1], 0),
    order(['US', 'y', 1, 1], 1),
    order(['US', 'x', 1, null], 1),
  ];

  test('P009 a NULL sequence is a bad row, whatever came before', async () => {
    await everyWay(tolerant, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([row(['EU', 'y', 1, 1]), row(['US', 'y', 1, 1])]);
      expect(told.deadLetters(), name).toHaveLength(2);
    });
    await scenario(fixtureR, { partitions: 4 }, async (told) => {
      const failure = await told.failure(...records);
      expect(failure).toMatchObject({ code: 'BAD_ROW' });
      expect(failure?.['detail']).toMatch(/NULL_SEQUENCE.*"orders"/);
    });
  });

  test('P011 the rows of the NULL key are replaced as a whole, like those of any other', async () => {
    const nulls = [
      order([null, 'a', 1, 1], 0),
      order([null, 'b', 1, 1], 1),
      order([null, 'c', 1, 2], 2),
      order(['EU', 'd', 1, 1], 0),
    ];
    await everyWay(fixtureR, nulls, (told, { name }) => {
      expect(told.rows(), name).toEqual([row(['EU', 'd', 1, 1]), row([null, 'c', 1, 2])]);
    });
  });

  test('P063 every key, NULL and the empty text too, is a record key that is not empty', async () => {
    const keys = [
      order([null, 'a', 1, 1], 0),
      order(['', 'b', 1, 1], 0),
      order(['EU', 'c', 1, 1], 0),
    ];
    await everyWay(fixtureR, keys, (told, { name }) => {
      expect(told.rows(), name).toEqual(
        [row([null, 'a', 1, 1]), row(['', 'b', 1, 1]), row(['EU', 'c', 1, 1])].sort(),
      );
      const recordKeys = new Set(told.output().map(({ key }) => key?.toString('utf8')));
      expect(recordKeys, name).toEqual(
        new Set(['{"region":null}', '{"region":""}', '{"region":"EU"}']),
      );
    });
  });
});

describe('key identity and numbers', () => {
  test('P027 a struct is one key whatever the order and spacing of its members, and unknown ones', async () => {
    const sql = `CREATE SOURCE s (addr STRUCT<a: INT, b: INT>, v STRING, seq BIGINT) WITH (topic = 's');
      CREATE STREAMING TABLE t FLOW REPLACE USING (addr) SEQUENCE BY seq BY NAME SELECT addr, v, seq FROM STREAM(s);`;
    const records = [
      text('{"addr":{"a":1,"b":2},"v":"x","seq":1}', 0),
      text('{"addr":{ "b":2, "a":1 },"v":"y","seq":2}', 1),
      text('{"addr":{"a":1,"b":2,"zzz":3},"v":"z","seq":3}', 0),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"addr":{"a":1,"b":2},"v":"z","seq":3}']);
    });
  });

  test('P013 sequences beyond 2^63 compare by their size', async () => {
    const sql = `CREATE SOURCE u (k STRING, v STRING, pos DECIMAL(20,0)) WITH (topic = 'u');
      CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY pos BY NAME SELECT k, v, pos FROM STREAM(u);`;
    const records = [
      text('{"k":"a","v":"old","pos":9}'),
      text('{"k":"a","v":"mid","pos":9223372036854775808}'),
      text('{"k":"a","v":"new","pos":18446744073709551615}'),
      text('{"k":"a","v":"mid2","pos":10000000000000000000}'),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"k":"a","v":"new","pos":18446744073709551615}']);
    });
  });

  test('P015 decimals keep their digits, and decimal arithmetic is exact', async () => {
    const sql = `CREATE SOURCE m (k STRING, amt DECIMAL(38,9), seq BIGINT) WITH (topic = 'm');
      CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
      SELECT k, amt, CAST(amt AS DECIMAL(10,2)) + CAST(0.20 AS DECIMAL(10,2)) AS sum, seq FROM STREAM(m)
      WHERE amt < 100 UNION ALL SELECT k, amt, NULL, seq FROM STREAM(m) WHERE amt >= 100;`;
    const records = [
      text('{"k":"a","amt":12345678901234567890.123456789,"seq":1}'),
      text('{"k":"b","amt":0.10,"seq":1}'),
      text('{"k":"b","amt":0.20,"seq":1}'),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"k":"a","amt":12345678901234567890.123456789,"sum":null,"seq":1}',
        '{"k":"b","amt":0.100000000,"sum":0.30,"seq":1}',
        '{"k":"b","amt":0.200000000,"sum":0.40,"seq":1}',
      ]);
    });
  });

  test('P017 -0.0 and 0.0 are one key', async () => {
    const sql = `CREATE SOURCE f (k DOUBLE, v STRING, seq BIGINT) WITH (topic = 'f');
      CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, seq FROM STREAM(f);`;
    const records = [
      text('{"k":-0.0,"v":"a","seq":1}', 0),
      text('{"k":0,"v":"b","seq":2}', 1),
      text('{"k":0.0,"v":"c","seq":2}', 0),
    ];
    await everyWay(sql, records, (told, { name }) => {
      const rows = told.rows().map((json) => JSON.parse(json) as { k: number; v: string });
      expect(rows.map(({ v }) => v).sort(), name).toEqual(['b', 'c']);
      expect(
        rows.every(({ k }) => k === 0),
        name,
      ).toBe(true);
    });
  });
});

describe('time', () => {
  test('P035 a timestamp in the wrong unit is a bad row, and does not win for ever', async () => {
    const sql = `CREATE SOURCE e (k STRING, v STRING, ts BIGINT) WITH (topic = 'e');
      CREATE STREAMING TABLE t WITH (dead_letter_topic = 't.dlq') FLOW REPLACE USING (k) SEQUENCE BY ts BY NAME
      SELECT k, v, TIMESTAMP_MILLIS(ts) AS ts FROM STREAM(e);`;
    const records = [
      text('{"k":"a","v":"bad","ts":1741149225844195}'),
      text('{"k":"a","v":"good","ts":1741149226000}'),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"k":"a","v":"good","ts":"2025-03-05T04:33:46.000000Z"}',
      ]);
      expect(told.deadLetters(), name).toEqual([
        'SEQUENCE_OUT_OF_RANGE {"k":"a","v":"bad","ts":1741149225844195}',
      ]);
    });
  });

  const cast = `CREATE SOURCE e (k STRING, v STRING, ts STRING) WITH (topic = 'e');
    CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY ts BY NAME
    SELECT k, v, CAST(ts AS TIMESTAMP) AS ts FROM STREAM(e);`;

  test('P037 timestamps with offsets are compared as instants', async () => {
    const records = [
      text('{"k":"a","v":"early","ts":"2025-03-05T12:00:00+02:00"}'),
      text('{"k":"a","v":"late","ts":"2025-03-05T11:00:00Z"}'),
      text('{"k":"a","v":"tie","ts":"2025-03-05T06:00:00-05:00"}'),
    ];
    await everyWay(cast, records, (told, { name }) => {
      const found = told.rows().map((json) => (JSON.parse(json) as { v: string }).v);
      expect(found, name).toEqual(['late', 'tie']);
    });
  });

  test('P039 dates before 1582 stay where they are', async () => {
    const records = [
      text('{"k":"a","ts":"1000-11-18T02:06:45Z"}'),
      text('{"k":"b","ts":"0001-01-01T00:00:00Z"}'),
      text('{"k":"c","ts":"9999-12-31T23:59:59.999999Z"}'),
      text('{"k":"c","ts":"1582-10-10T00:00:00Z"}'),
    ];
    await everyWay(cast, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"k":"a","v":null,"ts":"1000-11-18T02:06:45.000000Z"}',
        '{"k":"b","v":null,"ts":"0001-01-01T00:00:00.000000Z"}',
        '{"k":"c","v":null,"ts":"9999-12-31T23:59:59.999999Z"}',
      ]);
    });
  });
});

describe('JSON input', () => {
  test('P019 of a duplicate member the last one counts, whichever way the record is read', async () => {
    const records = [
      text('{"region":"EU","item":"a","qty":1,"seq":1,"seq":9}'),
      text('{"region":"EU","item":"b","qty":1,"seq":5}'),
      text('{"region":"US","region":"JP","item":"x","item":"y","qty":7,"seq":1}'),
    ];
    // Spliced as bytes, computed upon, and filtered by.
    for (const sql of [
      fixtureR,
      current(
        '',
        'SELECT concat(region) AS region, concat(item) AS item, qty + 0 AS qty, seq + 0 AS seq FROM STREAM(orders)',
      ),
      current(
        '',
        "SELECT region, item, qty, seq FROM STREAM(orders) WHERE region <> 'US' AND item <> 'x'",
      ),
    ]) {
      await everyWay(sql, records, (told, { name }) => {
        expect(told.rows(), name).toEqual([row(['EU', 'a', 1, 9]), row(['JP', 'y', 7, 1])]);
      });
    }
  });

  test('P021 a record that is no JSON is a dead letter, or stops the flow with its place', async () => {
    const records = [order(['EU', 'a', 1, 1], 0), text('not json{'), order(['EU', 'b', 1, 2], 0)];
    await everyWay(tolerant, records, async (told, { name }) => {
      expect(told.rows(), name).toEqual([row(['EU', 'b', 1, 2])]);
      expect(told.deadLetters(), name).toEqual(['MALFORMED_RECORD not json{']);
      expect((await told.account()).source.deadLettered, name).toBe(1);
    });
    await scenario(fixtureR, {}, async (told) => {
      const failure = await told.failure(...records);
      expect(failure).toMatchObject({
        code: 'BAD_ROW',
        detail: expect.stringContaining('topic "orders", partition 0, offset 1'),
      });
    });
  });

  test('P021 the dead letter has the key, the value and the place of the record', async () => {
    await scenario(tolerant, {}, async (told) => {
      await told.settle({ key: 'the key', value: '\u00e9 {', partition: 0 });
      const [letter] = told.world.deadLetters();
      expect(letter?.key?.toString('utf8')).toBe('the key');
      expect(letter?.value?.toString('utf8')).toBe('\u00e9 {');
      const headers = Object.fromEntries(
        (letter?.headers ?? []).map(({ key, value }) => [key, value?.toString('utf8')]),
      );
      expect(headers).toMatchObject({
        'tm-source-topic': 'orders',
        'tm-source-partition': '0',
        'tm-source-offset': '0',
        'tm-flow': 'cur',
        'tm-error-class': 'MALFORMED_RECORD',
      });
      expect(headers['tm-error-message']).not.toBe('');
    });
  });

  test('P023 a value nested tens of thousands of levels deep is malformed, and the next one goes on', async () => {
    const deep = '['.repeat(50_000) + ']'.repeat(50_000);
    const records = [
      text(deep),
      text(`{"region":"EU","item":"x","qty":1,"seq":2,"extra":${deep}}`),
      order(['EU', 'a', 1, 1], 0),
    ];
    await scenario(tolerant, {}, async (told) => {
      await told.settle(...records);
      expect(told.rows()).toEqual([row(['EU', 'a', 1, 1])]);
      expect(told.deadLetters().map((letter) => letter.slice(0, 16))).toEqual([
        'MALFORMED_RECORD',
        'MALFORMED_RECORD',
      ]);
    });
  });

  test('P025 a number beyond its type is bad: never NULL, never Infinity, never the highest sequence', async () => {
    const records = [
      text('{"region":"EU","item":"a","qty":1e400,"seq":1}'),
      text('{"region":"EU","item":"b","qty":2,"seq":1e400}'),
      text('{"region":"EU","item":"c","qty":2147483648,"seq":1}'),
      text('{"region":"EU","item":"d","qty":1,"seq":9223372036854775808}'),
      text('{"region":"EU","item":"e","qty":1.5,"seq":1}'),
      order(['US', 'c', 1, 1], 0),
    ];
    await everyWay(tolerant, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([row(['US', 'c', 1, 1])]);
      expect(told.deadLetters(), name).toHaveLength(5);
    });
  });

  test('P025 a number beyond the doubles is no Infinity in a VARIANT, wherever it stands in it', async () => {
    const sql = `CREATE SOURCE s (k STRING, v VARIANT, seq BIGINT) WITH (topic = 's');
      CREATE STREAMING TABLE t WITH (dead_letter_topic = 't.dlq')
      FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, seq FROM STREAM(s);`;
    const records = [
      text('{"k":"a","v":1e400,"seq":1}'),
      text('{"k":"a","v":{"x":[1,-1e400]},"seq":2}'),
      text(`{"k":"a","v":${'9'.repeat(400)},"seq":3}`),
      text('{"k":"a","v":{"x":1e300,"y":18446744073709551616},"seq":1}'),
    ];
    await everyWay(sql, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"k":"a","v":{"x":1.0E300,"y":18446744073709551616},"seq":1}',
      ]);
      expect(told.deadLetters(), name).toHaveLength(3);
    });
  });

  test('P029 a null value is skipped and counted, and deletes nothing', async () => {
    const records: Given[] = [
      order(['EU', 'a', 1, 1], 0),
      { key: 'EU', value: null, partition: 0 },
      order(['EU', 'b', 1, 2], 0),
    ];
    await everyWay(fixtureR, records, async (told, { name }) => {
      expect(told.rows(), name).toEqual([row(['EU', 'b', 1, 2])]);
      expect((await told.account()).source, name).toMatchObject({
        records: 3,
        tombstones: 1,
        decoded: 2,
      });
    });
    const strict = tolerant.replace("topic = 'orders'", "topic = 'orders', tombstones = 'bad'");
    await everyWay(strict, records, async (told, { name }) => {
      expect(told.rows(), name).toEqual([row(['EU', 'b', 1, 2])]);
      expect(told.deadLetters(), name).toEqual(['NULL_VALUE undefined']);
    });
  });
});

describe('SQL', () => {
  const carts = (generator: string) => `
    CREATE SOURCE carts (cart BIGINT, items ARRAY<STRING>, seq BIGINT) WITH (topic = 'carts');
    CREATE STREAMING TABLE t FLOW REPLACE USING (cart) SEQUENCE BY seq BY NAME
    SELECT cart, ${generator}(items) AS item, seq FROM STREAM(carts);`;
  const records = [
    text('{"cart": 1, "items": ["a", "b"], "seq": 1}'),
    text('{"cart": 1, "items": [], "seq": 2}'),
    text('{"cart": 2, "items": null, "seq": 1}'),
    text('{"cart": 3, "items": [null, "x"], "seq": 1}'),
  ];

  test('P041 EXPLODE of an empty array replaces nothing, and validation warns of it', async () => {
    await everyWay(carts('EXPLODE'), records, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"cart":1,"item":"a","seq":1}',
        '{"cart":1,"item":"b","seq":1}',
        '{"cart":3,"item":"x","seq":1}',
        '{"cart":3,"item":null,"seq":1}',
      ]);
    });
    expect(planOf(carts('EXPLODE')).warnings.map(({ code }) => code)).toEqual(['EXPLODE_EMPTY']);
    expect(planOf(carts('EXPLODE_OUTER')).warnings).toEqual([]);
  });

  test('P041 EXPLODE_OUTER of an empty array gives one row with NULL', async () => {
    await everyWay(carts('EXPLODE_OUTER'), records, (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"cart":1,"item":null,"seq":2}',
        '{"cart":2,"item":null,"seq":1}',
        '{"cart":3,"item":"x","seq":1}',
        '{"cart":3,"item":null,"seq":1}',
      ]);
    });
  });

  test('P043 a member that is missing is NULL, as one that is null', async () => {
    const sql = current(
      "WITH (dead_letter_topic = 'cur.dlq')",
      'SELECT region, item, qty, seq FROM STREAM(orders) WHERE item IS NULL',
    );
    const given = [
      text('{"region":"EU","item":null,"qty":1,"seq":1}'),
      text('{"region":"US","qty":1,"seq":1}'),
      text('{"region":"JP","item":"a","qty":1,"seq":1}'),
      text('{}'),
    ];
    await everyWay(sql, given, async (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"region":"EU","item":null,"qty":1,"seq":1}',
        '{"region":"US","item":null,"qty":1,"seq":1}',
      ]);
      expect(told.deadLetters(), name).toEqual(['NULL_SEQUENCE {}']);
    });
  });
});

describe('topics and offsets', () => {
  test('P057 offsets that compaction has removed are passed over', async () => {
    const records = Array.from({ length: 400 }, (_, at) =>
      order([`R${at % 5}`, `i${at}`, 1, at], 0),
    );
    await scenario(fixtureR, { batchRecordsMax: 7 }, async (told) => {
      told.produce(...records);
      told.world.log.compact('orders');
      await told.settle();
      expect(told.rows()).toEqual(
        [395, 396, 397, 398, 399].map((at) => row([`R${at % 5}`, `i${at}`, 1, at])),
      );
      const offsets = await told.world.log.committedOffsets('test.cur', 'orders', [0]);
      expect(offsets.get(0)?.offset).toBe(400);
    });
  });

  test.each(['memory', 'topic'] as const)(
    'P059 output and internal records carry no time of the source that retention would act on (shuffle: %s)',
    async (shuffle) => {
      const old = Date.UTC(2001, 8, 9);
      await scenario(fixtureR, { start: pipelineStarter({ shuffle }) }, async (told) => {
        await told.settle({ ...order(['EU', 'a', 1, 1], 0), timestampMs: old });
        const internal = told.world.log.readCommitted('test.cur.repartition');
        expect(internal).toHaveLength(shuffle === 'topic' ? 1 : 0);
        expect(told.output()).toHaveLength(1);
        for (const { timestampMs } of [...internal, ...told.world.log.readCommitted('cur')]) {
          expect(told.world.clock.now() - timestampMs).toBeLessThan(7 * 86_400_000);
        }
        for (const topic of ['cur', 'test.cur.repartition', 'test.catalog']) {
          const described = (await told.world.log.describeTopics([topic])).get(topic);
          expect(described?.configs.get('retention.ms'), topic).toBe('-1');
        }
      });
    },
  );

  test('P061 an output topic that deletes by time is refused, with the setting', async () => {
    for (const policy of ['compact,delete', 'delete']) {
      await scenario(fixtureR, {}, async (told) => {
        told.world.log.createTopic('cur', 1, { 'cleanup.policy': policy, 'retention.ms': '1000' });
        const failure = await told.failure(order(['EU', 'a', 1, 1], 0));
        expect(failure).toMatchObject({ code: 'TOPIC_CONFIG' });
        expect(failure?.['message']).toMatch(/"cur".*cleanup\.policy/);
      });
    }
  });

  test('P067 committed is the offset after the last record: restarts repeat nothing', async () => {
    await scenario(fixtureR, { partitions: 2 }, async (told) => {
      await told.settle(order(['EU', 'a', 1, 1], 0), order(['EU', 'b', 1, 1], 1));
      for (let restart = 0; restart < 10; restart += 1) await told.restart();
      await told.settle();
      expect(told.rows()).toEqual([row(['EU', 'a', 1, 1]), row(['EU', 'b', 1, 1])]);
      const offsets = await told.world.log.committedOffsets('test.cur', 'orders', [0, 1]);
      expect([...offsets.values()].map(({ offset }) => offset)).toEqual([1, 1]);
      expect((await told.account()).source.records).toBe(2);
    });
  });

  test('P075 input that changes nothing moves the checkpoint all the same', async () => {
    await scenario(fixtureR, {}, async (told) => {
      await told.settle(order(['EU', 'a', 1, 9], 0));
      await told.settle(...[1, 2, 3, 4, 5].map((seq) => order(['EU', `b${seq}`, 1, seq], 0)));
      await told.restart();
      await told.settle();
      expect(told.rows()).toEqual([row(['EU', 'a', 1, 9])]);
      expect((await told.account()).source.records).toBe(6);
    });
  });

  test('P091 an output topic whose partitions were raised is refused', async () => {
    await scenario(fixtureR, { partitions: 4 }, async (told) => {
      await told.settle(order(['EU', 'a', 1, 1], 0));
      await told.stop();
      told.world.log.addPartitions('cur', 8);
      const failure = await told.failure(order(['EU', 'b', 1, 2], 0));
      expect(failure).toMatchObject({ code: 'TOPIC_PARTITIONS' });
      expect(failure?.['message']).toMatch(/"cur".*8.*4/);
    });
  });

  test("P095 in mode 'rows' a key may outgrow a record; in mode 'row_set' the flow stops and says so", async () => {
    const large = Array.from({ length: 6_000 }, (_, at) =>
      order(['EU', `${at}${'x'.repeat(200)}`, at, 1], 0),
    );
    await scenario(current("WITH (output = 'rows')"), {}, async (told) => {
      await told.settle(...large);
      expect(told.rows()).toHaveLength(6_000);
    });
    await scenario(fixtureR, {}, async (told) => {
      const failure = await told.failure(...large);
      expect(failure).toMatchObject({ code: 'RECORD_TOO_LARGE' });
      expect(`${failure?.['detail']} ${failure?.['hint']}`).toMatch(
        /\{"region":"EU"\}.*output = 'rows'/,
      );
      expect(told.rows()).toEqual([]);
    });
  });

  test('P099 a state store that comes back empty is noticed before a row is applied', async () => {
    await scenario(fixtureR, {}, async (told) => {
      await told.settle(order(['EU', 'a', 1, 9], 0));
      told.flushState();
      await told.settle(order(['EU', 'b', 1, 5], 0), order(['EU', 'c', 1, 9], 0));
      expect(told.rows()).toEqual([row(['EU', 'a', 1, 9]), row(['EU', 'c', 1, 9])]);
    });
  });

  test('P099 so is one that comes back empty before a key is read that no cache holds', async () => {
    const start = pipelineStarter({ cacheBytesMax: 0 });
    await scenario(fixtureR, { start }, async (told) => {
      await told.settle(order(['EU', 'a', 1, 9], 0));
      await told.settle(order(['US', 'x', 1, 1], 0));
      await told.settle(order(['JP', 'x', 1, 1], 0));
      told.flushState();
      await told.settle(order(['EU', 'b', 1, 5], 0), order(['EU', 'c', 1, 9], 0));
      expect(told.rows()).toContain(row(['EU', 'a', 1, 9]));
      expect(told.rows()).toHaveLength(4);
      for (const { value } of told.output()) expect(value?.toString()).not.toContain('"b"');
    });
  });

  test('P101 an older image of the state is recognised and brought up to date', async () => {
    const task = { pipeline: 'test', flow: 'cur', generation: 0, partition: 0 };
    await scenario(fixtureR, {}, async (told) => {
      await told.settle(order(['EU', 'a', 1, 1], 0));
      const older = told.world.state.image(task);
      await told.settle(order(['EU', 'b', 1, 1], 0));
      await told.stop();
      told.world.state.restore(task, older);
      await told.settle(order(['EU', 'c', 1, 1], 0));
      expect(told.rows()).toHaveLength(3);
    });
  });
});

describe('definitions that change', () => {
  const [first, second] = [order(['EU', 'a', 1, 9], 0), order(['EU', 'b', 1, 5], 0)];

  /** Deploys another definition over what the first one left, and lets the second record come. */
  async function redeploy(
    sql: string,
    check: (told: Scenario, failure: Record<string, unknown> | undefined) => void,
  ): Promise<void> {
    await scenario(fixtureR, {}, async (told) => {
      await told.settle(first);
      await told.stop();
      told.world.log.createTopic('others', 1);
      told.produce(second);
      let failure: Record<string, unknown> | undefined;
      try {
        const process = await told.world.startProcess('worker-1', planOf(sql));
        await told.world.untilCaughtUp(process);
        await told.world.stop(process);
      } catch (error) {
        failure = error as Record<string, unknown>;
      }
      check(told, failure);
    });
  }

  test.each([
    ['key', /\bkey\b/, fixtureR.replace('USING (region)', 'USING (item)')],
    ['sequence', /SEQUENCE BY/, fixtureR.replace('SEQUENCE BY seq', 'SEQUENCE BY qty')],
    ['source topic', /"?others"?/, fixtureR.replace("topic = 'orders'", "topic = 'others'")],
    ['output mode', /output/, current("WITH (output = 'rows')")],
    ['DISTINCT', /DISTINCT/, fixtureR.replace('SELECT', 'SELECT DISTINCT')],
  ])('P107 another %s under the same name is refused', async (_, part, sql) => {
    await redeploy(sql, (told, failure) => {
      expect(failure).toMatchObject({ code: 'DEFINITION_CHANGED' });
      expect(failure?.['detail']).toMatch(part);
      expect(failure?.['hint']).toMatch(/refresh|new name/);
      expect(told.rows()).toEqual([row(['EU', 'a', 1, 9])]);
    });
  });

  test('P107 a filter may be added: it holds for new rows', async () => {
    const sql = current('', 'SELECT region, item, qty, seq FROM STREAM(orders) WHERE qty > 0');
    await redeploy(sql, (told, failure) => {
      expect(failure).toBeUndefined();
      expect(told.rows()).toEqual([row(['EU', 'a', 1, 9])]);
    });
  });

  test('P109 names depend on nothing beside: another table before this one leaves its state in place', async () => {
    const sql = `${orders}CREATE STREAMING TABLE before FLOW REPLACE USING (item) SEQUENCE BY seq BY NAME
        SELECT item, seq FROM STREAM(orders);
      CREATE STREAMING TABLE cur FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
        SELECT region, item, qty, seq FROM STREAM(orders) WHERE qty > 0;`;
    await redeploy(sql, (told, failure) => {
      expect(failure).toBeUndefined();
      expect(told.rows()).toEqual([row(['EU', 'a', 1, 9])]);
      expect(told.world.log.readCommitted('before')).toHaveLength(2);
    });
  });
});

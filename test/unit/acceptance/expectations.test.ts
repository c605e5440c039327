import { describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { Random } from '../../../src/testing/random.ts';
import { everyWay, type Given, planOf, playWay, scenario, ways } from '../../support/scenario.ts';

const source = `CREATE SOURCE s (k INT, v STRING, n INT, seq BIGINT) WITH (topic = 's');`;

function checked(...constraints: readonly string[]): string {
  return `${source} CREATE STREAMING TABLE t (${constraints.join(', ')})
    FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, n, seq FROM STREAM(s);`;
}

const positive = (action = '') => checked(`CONSTRAINT positive EXPECT (n > 0) ${action}`);
const dropping = positive('ON VIOLATION DROP ROW');
const failing = positive('ON VIOLATION FAIL UPDATE');

function record(k: number, v: string, n: number | null, seq: number): Given {
  return { value: { k, v, n, seq } };
}

function row(k: number, v: string, n: number | null, seq: number): string {
  return JSON.stringify({ k, v, n, seq });
}

describe('the three kinds', () => {
  test('EX-01 EX-02 a warning keeps the row and counts it exactly', async () => {
    const records = [record(1, 'a', 0, 1), record(1, 'b', 1, 1), record(2, 'c', -1, 1)];
    await everyWay(positive(), records, async (told, { name }) => {
      expect(told.rows(), name).toEqual([row(1, 'a', 0, 1), row(1, 'b', 1, 1), row(2, 'c', -1, 1)]);
      const { source: counted } = await told.account();
      expect(counted.expectations, name).toEqual([{ name: 'positive', passed: 1, failed: 2 }]);
      expect(counted, name).toMatchObject({ dropped: 0, handedOn: 3 });
    });
  });

  test('EX-03 a failure stops the update: nothing of its transaction is visible, no offset moves', async () => {
    await scenario(failing, {}, async (told) => {
      await told.settle(record(1, 'a', 1, 1));
      const failure = await told.failure(
        record(1, 'b', 1, 2),
        record(2, 'c', 1, 1),
        record(1, 'd', 0, 3),
      );
      expect(failure).toMatchObject({
        code: 'EXPECTATION_FAILED',
        message: expect.stringContaining('"positive"'),
        detail: expect.stringMatching(
          /topic "s", partition 0, offset 3\b.*n > 0.*\{"k":1,"v":"d","n":0,"seq":3\}/s,
        ),
      });
      expect(told.rows()).toEqual([row(1, 'a', 1, 1)]);
      const offsets = await told.world.log.committedOffsets('test.t', 's', [0]);
      expect(offsets.get(0)?.offset).toBe(1);
      // The same row is read again, and stops the next start, too.
      await told.end().catch(() => undefined);
    });
  });

  test('EX-03 a restart reads the row again, and goes on once the expectation is mended', async () => {
    await scenario(failing, {}, async (told) => {
      told.produce(record(1, 'a', 1, 1), record(1, 'b', 0, 2), record(1, 'c', 1, 2));
      for (const _ of [1, 2]) {
        const process = await told.world.startProcess('worker-1');
        await expect(told.world.untilCaughtUp(process)).rejects.toMatchObject({
          code: 'EXPECTATION_FAILED',
          detail: expect.stringContaining('offset 1'),
        });
        await told.world.stop(process).catch(() => undefined);
        expect(told.rows()).toEqual([]);
      }
      const mended = await told.world.startProcess('worker-1', planOf(dropping));
      await told.world.untilCaughtUp(mended);
      await told.world.stop(mended);
      expect(told.rows()).toEqual([row(1, 'c', 1, 2)]);
      expect((await told.account()).source).toMatchObject({ records: 3, dropped: 1 });
    });
  });

  test('EX-04 rows that are dropped might as well never have been produced', async () => {
    const plan = planOf(dropping);
    for (let seed = 0; seed < 40; seed += 1) {
      const random = new Random(seed);
      const records = Array.from({ length: 50 }, (_, at) =>
        record(random.below(4), `v${at}`, random.below(3) - 1, random.below(5)),
      );
      const valid = records.filter(({ value }) => (value as { n: number }).n > 0);
      const way = random.pick(ways) ?? { name: '', commits: 1, between: 'nothing' as const };
      const played = (given: readonly Given[]) =>
        scenario(plan, way, async (told) => {
          await playWay(told, given, { ...way, commits: Math.min(way.commits, 4) });
          return told.rows();
        });
      const rows = await played(records);
      expect(rows, `seed ${seed}, ${way.name}`).toEqual(await played(valid));
      expect(rows.length).toBeGreaterThan(0);
    }
  });

  test('EX-05 a key whose only new row is dropped is not written', async () => {
    await scenario(dropping, {}, async (told) => {
      await told.settle(record(1, 'a', 1, 1), record(2, 'b', 1, 1));
      const before = told.output().length;
      await told.settle(record(1, 'x', 0, 2));
      expect(told.output()).toHaveLength(before);
      expect(told.rows()).toEqual([row(1, 'a', 1, 1), row(2, 'b', 1, 1)]);
    });
  });

  test('EX-06 the newest valid version is kept', async () => {
    const records = [record(1, 'a', 1, 3), record(1, 'bad', 0, 5), record(1, 'b', 1, 4)];
    for (const arriving of [records, [...records].reverse()]) {
      await everyWay(dropping, arriving, (told, { name }) => {
        expect(told.rows(), name).toEqual([row(1, 'b', 1, 4)]);
      });
    }
  });

  test('EX-07 a key of which all new rows are dropped keeps its rows', async () => {
    const records = [
      record(1, 'a', 1, 1),
      record(1, 'b', 1, 1),
      record(1, 'x', 0, 2),
      record(1, 'y', -1, 3),
    ];
    await everyWay(dropping, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([row(1, 'a', 1, 1), row(1, 'b', 1, 1)]);
    });
  });

  test('EX-08 a dropped row sets no level, across restarts and rebuilds too', async () => {
    const records = [record(1, 'a', 1, 5), record(1, 'bad', 0, 9), record(1, 'b', 1, 6)];
    await everyWay(dropping, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([row(1, 'b', 1, 6)]);
    });
  });

  test('EX-09 the example of the documentation: bookings whose amount is positive', async () => {
    const sql = `CREATE SOURCE bookings (booking_id BIGINT, property_id BIGINT, total_amount DECIMAL(10,2), update_id BIGINT)
        WITH (topic = 'bookings');
      CREATE OR REFRESH STREAMING TABLE bookings_validated (
        CONSTRAINT valid_amount EXPECT (total_amount > 0) ON VIOLATION DROP ROW)
      FLOW REPLACE USING (booking_id) SEQUENCE BY update_id BY NAME
      SELECT booking_id, property_id, total_amount, update_id FROM STREAM(bookings);`;
    const records = [
      '{"booking_id":1,"property_id":7,"total_amount":120.00,"update_id":1}',
      '{"booking_id":1,"property_id":7,"total_amount":-5.00,"update_id":2}',
      '{"booking_id":2,"property_id":8,"total_amount":0,"update_id":1}',
      '{"booking_id":3,"property_id":9,"total_amount":0.01,"update_id":1}',
    ].map((value) => ({ value }));
    await everyWay(sql, records, async (told, { name }) => {
      expect(told.rows(), name).toEqual([
        '{"booking_id":1,"property_id":7,"total_amount":120.00,"update_id":1}',
        '{"booking_id":3,"property_id":9,"total_amount":0.01,"update_id":1}',
      ]);
      const { source: counted } = await told.account();
      expect(counted.expectations, name).toEqual([{ name: 'valid_amount', passed: 2, failed: 2 }]);
    });
  });

  test('EX-10 of a set with an invalid row the valid ones form the set', async () => {
    const records = [
      record(1, 'old', 1, 4),
      record(1, 'a', 1, 5),
      record(1, 'bad', 0, 5),
      record(1, 'b', 1, 5),
    ];
    await everyWay(dropping, records, (told, { name }) => {
      expect(told.rows(), name).toEqual([row(1, 'a', 1, 5), row(1, 'b', 1, 5)]);
    });
  });
});

describe('EX-11 expectations stand on the target', () => {
  test('EX-11 one on a flow is refused where it stands', () => {
    const text = `${source} CREATE STREAMING TABLE t;
CREATE FLOW f (CONSTRAINT positive EXPECT (n > 0)) AS INSERT INTO t BY NAME
SELECT k, v, n, seq FROM STREAM(s);`;
    const { plan, faults } = planPipeline([{ file: 'f.sql', text }]);
    expect(plan).toBeUndefined();
    expect(faults).toMatchObject([{ severity: 'error', place: { line: 2, column: 15 } }]);
  });
});

describe('EX-12 P045 a condition that is NULL is a violation under every action', () => {
  const records = [record(1, 'a', null, 1), record(2, 'b', -1, 1), record(3, 'c', 3, 1)];
  const counted = [{ name: 'positive', passed: 1, failed: 2 }];

  test('EX-12 P045 warn: the row is kept, and counted', async () => {
    await everyWay(positive(), records, async (told, { name }) => {
      expect(told.rows(), name).toHaveLength(3);
      expect((await told.account()).source.expectations, name).toEqual(counted);
    });
  });

  test('EX-12 P045 drop: the row is dropped, and counted', async () => {
    await everyWay(dropping, records, async (told, { name }) => {
      expect(told.rows(), name).toEqual([row(3, 'c', 3, 1)]);
      const { source: account } = await told.account();
      expect(account.expectations, name).toEqual(counted);
      expect(account, name).toMatchObject({ rows: 3, dropped: 2, handedOn: 1 });
    });
  });

  test('EX-12 P045 fail: the update fails', async () => {
    await scenario(failing, {}, async (told) => {
      expect(await told.failure(...records)).toMatchObject({
        code: 'EXPECTATION_FAILED',
        detail: expect.stringContaining('offset 0'),
      });
      expect(told.rows()).toEqual([]);
      expect(await told.world.log.committedOffsets('test.t', 's', [0])).toEqual(new Map());
    });
  });
});

describe('several expectations', () => {
  test('EX-02 every one is evaluated and counted, and drop wins over warn', async () => {
    const sql = checked(
      'CONSTRAINT positive EXPECT (n > 0) ON VIOLATION DROP ROW',
      "CONSTRAINT named EXPECT (v <> '')",
      'CONSTRAINT small EXPECT (n < 10) ON VIOLATION DROP ROW',
    );
    const records = [
      record(1, '', 0, 1),
      record(2, '', 1, 1),
      record(3, 'x', 10, 1),
      record(4, '', 100, 1),
      record(5, 'y', 5, 1),
    ];
    await everyWay(sql, records, async (told, { name }) => {
      expect(told.rows(), name).toEqual([row(2, '', 1, 1), row(5, 'y', 5, 1)]);
      const { source: account } = await told.account();
      expect(account.expectations, name).toEqual([
        { name: 'positive', passed: 4, failed: 1 },
        { name: 'named', passed: 2, failed: 3 },
        { name: 'small', passed: 3, failed: 2 },
      ]);
      expect(account.dropped, name).toBe(3);
    });
  });

  test('EX-03 fail wins over drop', async () => {
    const sql = checked(
      'CONSTRAINT positive EXPECT (n > 0) ON VIOLATION DROP ROW',
      "CONSTRAINT named EXPECT (v <> '') ON VIOLATION FAIL UPDATE",
    );
    await scenario(sql, {}, async (told) => {
      expect(await told.failure(record(1, '', 0, 1))).toMatchObject({
        code: 'EXPECTATION_FAILED',
        message: expect.stringContaining('"named"'),
      });
    });
  });

  test('EX-02 an expectation that cannot be computed makes the row a bad one, not a violation', async () => {
    const sql = `${checked('CONSTRAINT ratio EXPECT (10 / n > 1) ON VIOLATION DROP ROW').replace(
      'FLOW REPLACE',
      "WITH (dead_letter_topic = 't.dlq') FLOW REPLACE",
    )}`;
    const bad = row(1, 'x', 0, 1);
    await everyWay(sql, [{ value: bad }, record(1, 'y', 5, 1)], async (told, { name }) => {
      expect(told.rows(), name).toEqual([row(1, 'y', 5, 1)]);
      expect(told.deadLetters(), name).toEqual([`DIVIDE_BY_ZERO ${bad}`]);
      const { source: account } = await told.account();
      expect(account.expectations, name).toEqual([{ name: 'ratio', passed: 1, failed: 0 }]);
    });
  });
});

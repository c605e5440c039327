import { describe, expect, test } from 'vitest';
import { Random } from '../../../src/testing/random.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';
import {
  arriveWithTrouble,
  everyWay,
  type Given,
  planOf,
  scenario,
} from '../../support/scenario.ts';

const carts = `
CREATE SOURCE carts (cart BIGINT, items ARRAY<STRING>, seq BIGINT) WITH (topic = 'carts');
`;

function emptied(options = ''): string {
  return `${carts} CREATE STREAMING TABLE t ${options}
    FLOW REPLACE USING (cart) SEQUENCE BY seq APPLY AS EMPTY WHEN (item IS NULL) BY NAME
    SELECT cart, seq, EXPLODE_OUTER(items) AS item FROM STREAM(carts);`;
}

const task = { pipeline: 'test', flow: 't', generation: 0, partition: 0 };

function item(cart: number, seq: number, name: string): string {
  return JSON.stringify({ cart, seq, item: name });
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

  test.each(['exactly_once', 'at_least_once'] as const)(
    'a process that dies between any two of its steps loses no level, delivery %s',
    async (delivery) => {
      const plan = planOf(sql);
      const records = [cart(['a', 'b'], 1), cart(['x'], 1, 2), cart([], 5), cart(['c'], 4)];
      const steps = await dieAtEveryStep(
        plan,
        records,
        (rows, step) => expect(rows, `died at step ${step}`).toEqual([item(2, 1, 'x')]),
        // Each slice is a commit: the rows are there before the marker takes them away.
        { delivery, commitRecordsMax: 1 },
      );
      expect(steps).toBeGreaterThan(20);
    },
  );

  test('a level is above rows of its key at a lower sequence, though the state is old', async () => {
    await scenario(sql, {}, async (told) => {
      await told.settle(cart(['a', 'b'], 1), cart(['x'], 1, 2));
      await told.stop();
      const before = told.world.state.image(task);
      await told.settle(cart([], 5), cart(['y'], 2, 2));
      await told.stop();
      // The state of before comes back, and the tombstones are gone from the compacted output.
      told.world.state.restore(task, before);
      for (const topic of told.changelogs())
        told.world.log.compact(topic, { dropTombstones: true });
      await told.settle(cart(['c'], 4));
      expect(told.rows()).toEqual([item(2, 2, 'y')]);
    });
  });

  test('markers are counted as what they do', async () => {
    await scenario(sql, {}, async (told) => {
      await told.settle(cart(['a'], 1), cart([], 2), cart([], 2), cart([], 1), cart([], 1, 2));
      expect((await told.account()).table).toEqual({
        rows: 5,
        new: 2,
        replacing: 1,
        tied: 0,
        superseded: 2,
        duplicate: 0,
        distinct: 0,
        limited: 0,
        replayed: 0,
      });
    });
  });

  test('the levels topic is compacted, keyed, and holds no key that has rows', async () => {
    await scenario(sql, {}, async (told) => {
      await told.settle(cart(['a'], 1), cart([], 2), cart([], 9, 2));
      const levels = () =>
        told.world.log.readCommitted('test.t.levels').map(({ key, value, headers }) => {
          const header = (name: string) =>
            headers.find((one) => one.key === name)?.value?.toString('utf8');
          return [key?.toString('utf8'), value?.toString('utf8'), header('tm-seq')];
        });
      expect(levels()).toEqual([
        ['{"cart":1}', '[]', '2'],
        ['{"cart":2}', '[]', '9'],
      ]);
      const described = await told.world.log.describeTopics(['test.t.levels']);
      expect(described.get('test.t.levels')?.configs.get('cleanup.policy')).toBe('compact');
      await told.settle(cart(['b'], 2));
      expect(levels().at(-1)).toEqual(['{"cart":1}', undefined, undefined]);
      await told.loseState();
      await told.settle(cart(['c'], 2), cart(['d'], 8, 2));
      expect(told.rows()).toEqual([item(1, 2, 'b'), item(1, 2, 'c')]);
    });
  });

  test('the levels stay when the clause is taken out of the definition', async () => {
    await scenario(sql, {}, async (told) => {
      await told.settle(cart(['a'], 1), cart([], 5));
      await told.stop();
      const later = planOf(sql.replace(/APPLY AS EMPTY WHEN \(.*?\)/, ''));
      told.world.state.flush();
      for (const topic of told.changelogs())
        told.world.log.compact(topic, { dropTombstones: true });
      const process = await told.world.startProcess('worker-1', later);
      told.produce(cart(['b'], 4), cart(['c'], 3, 2));
      await told.world.untilCaughtUp(process);
      await told.world.stop(process);
      expect(told.rows()).toEqual([item(2, 3, 'c')]);
    });
  });

  test('a level that rows have overtaken is none, though its record is still there', async () => {
    await scenario(sql, { batchRecordsMax: 1 }, async (told) => {
      await told.settle(cart([], 5));
      await told.settle(cart(['a'], 7));
      await told.stop();
      told.world.state.flush();
      await told.settle(cart(['late'], 6), cart(['b'], 7));
      expect(told.rows()).toEqual([item(1, 7, 'a'), item(1, 7, 'b')]);
    });
  });

  test('a key that never had rows has a level all the same', async () => {
    await everyWay(sql, [cart(null, 5), cart(['a'], 4), cart(['b'], 5, 2)], (told, { name }) => {
      expect(told.rows(), name).toEqual(['{"cart":2,"seq":5,"item":"b"}']);
    });
  });
});

describe.each([
  ['row_set', ''],
  ['rows', ''],
  ['row_set', 'DISTINCT'],
  ['rows', 'DISTINCT'],
])('random histories with markers, mode %s %s', (mode, distinct) => {
  const plan = planOf(`CREATE SOURCE s (k INT, v STRING, seq BIGINT) WITH (topic = 's');
    CREATE STREAMING TABLE t WITH (output = '${mode}')
    FLOW REPLACE USING (k) SEQUENCE BY seq APPLY AS EMPTY WHEN (v IS NULL) BY NAME
    SELECT ${distinct} k, v, seq FROM STREAM(s);`);

  test('RU-10 permutations, partitionings, splits and crash points do not show', async () => {
    for (let seed = 0; seed < 60; seed += 1) {
      const random = new Random(seed);
      const events = Array.from({ length: 60 }, () => ({
        k: random.below(6),
        v: random.chance(400) ? null : `v${random.below(3)}`,
        seq: random.below(6),
      }));
      const standing = events.filter(
        ({ k, v, seq }) => v !== null && !events.some((one) => one.k === k && one.seq > seq),
      );
      const rows = standing.map((event) => JSON.stringify(event)).sort();
      const options = { partitions: 1 + random.below(4), batchRecordsMax: 1 + random.below(10) };
      await scenario(plan, options, async (told) => {
        await arriveWithTrouble(
          told,
          random.shuffled(events).map((value) => ({ value })),
          random,
        );
        const expected = distinct === '' ? rows : [...new Set(rows)];
        expect(told.rows(), `seed ${seed}`).toEqual(expected);
      });
    }
  });
});

describe('APPLY AS EMPTY and the rules around it', () => {
  const sql = `${carts}
    CREATE STREAMING TABLE t (CONSTRAINT named EXPECT (item IS NOT NULL) ON VIOLATION FAIL UPDATE)
    WITH (dead_letter_topic = 't.dlq', max_sequence = 100)
    FLOW REPLACE USING (cart) SEQUENCE BY seq APPLY AS EMPTY WHEN (item IS NULL) BY NAME
    SELECT cart, seq, EXPLODE_OUTER(items) AS item FROM STREAM(carts);`;

  test('a marker skips expectations, and nothing else', async () => {
    const nulls = '{"cart":1,"items":[],"seq":null}';
    const high = '{"cart":1,"items":[],"seq":101}';
    const misfit = '{"cart":"one","items":[],"seq":3}';
    await scenario(sql, {}, async (told) => {
      await told.settle(cart(['a'], 1), cart([], 2), ...[nulls, high, misfit].map(asGiven));
      expect(told.rows()).toEqual([]);
      expect(told.deadLetters()).toEqual([
        `NULL_SEQUENCE ${nulls}`,
        `SEQUENCE_ABOVE_MAX ${high}`,
        `VALUE_DOES_NOT_FIT ${misfit}`,
      ]);
      const { source } = await told.account();
      expect(source.expectations).toEqual([{ name: 'named', passed: 1, failed: 0 }]);
      expect(source).toMatchObject({ records: 5, decoded: 2, deadLettered: 3, handedOn: 2 });
    });
  });

  test('a condition that is NULL is no marker', async () => {
    const nullable = sql.replace('WHEN (item IS NULL)', "WHEN (item = 'none')");
    await scenario(nullable.replace(/\(CONSTRAINT.*?UPDATE\)/, ''), {}, async (told) => {
      await told.settle(cart(['a'], 1), cart([], 2));
      expect(told.rows()).toEqual(['{"cart":1,"seq":2,"item":null}']);
      await told.settle(cart(['none'], 3));
      expect(told.rows()).toEqual([]);
    });
  });
});

function asGiven(value: string): Given {
  return { value };
}

import { describe, expect, test } from 'vitest';
import { checkMonotone } from '../../../src/testing/check/check-monotone.ts';
import { Random } from '../../../src/testing/random.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';
import {
  arriveWithTrouble,
  type Given,
  planOf,
  type Scenario,
  scenario,
} from '../../support/scenario.ts';

type Event = { readonly k: number; readonly v: string; readonly seq: number };

const planText = (
  mode: string,
) => `CREATE SOURCE s (k INT, v STRING, seq BIGINT) WITH (topic = 's');
  CREATE STREAMING TABLE t WITH (output = '${mode}')
  FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, seq FROM STREAM(s);`;

const plans = { row_set: planOf(planText('row_set')), rows: planOf(planText('rows')) };
const modes = ['row_set', 'rows'] as const;

/** The definition: of each key the rows of its highest sequence. */
function expectedRows(events: readonly Event[]): string[] {
  const highest = new Map<number, number>();
  for (const { k, seq } of events) highest.set(k, Math.max(seq, highest.get(k) ?? seq));
  return events
    .filter(({ k, seq }) => highest.get(k) === seq)
    .map((event) => JSON.stringify(event))
    .sort();
}

const given = (event: Event): Given => ({ value: event });

function isSane(told: Scenario): string[] {
  const [table] = told.plan.tables;
  const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);
  return [...checkMonotone(told.output(), table?.output ?? 'row_set', BigInt, compare)];
}

describe.each(modes)('in mode %s', (mode) => {
  const plan = plans[mode];

  // Keys know nothing of one another, so each key of a world is a history of its own: 100 worlds of 100 keys.
  test('RU-03 the rows of the highest sequence stand, for ten thousand random histories', async () => {
    for (let seed = 0; seed < 100; seed += 1) {
      const random = new Random(seed);
      const events: Event[] = [];
      for (let k = 0; k < 100; k += 1) {
        const length = 1 + random.below(9);
        const spread = 1 + random.below(6);
        for (let at = 0; at < length; at += 1) {
          events.push({ k, v: `${k}.${random.below(4)}`, seq: random.below(spread) - 2 });
        }
      }
      const arriving = random.shuffled(events);
      const options = { partitions: 1 + random.below(4), batchRecordsMax: 1 + random.below(40) };
      await scenario(plan, options, async (told) => {
        const cuts = 1 + random.below(4);
        const size = Math.ceil(arriving.length / cuts);
        for (let at = 0; at < arriving.length; at += size) {
          await told.settle(...arriving.slice(at, at + size).map(given));
        }
        expect(told.rows(), `seed ${seed}`).toEqual(expectedRows(events));
        expect(isSane(told), `seed ${seed}`).toEqual([]);
      });
    }
  });

  test('RU-06 the example of the documentation', async () => {
    await scenario(example, {}, async (told) => {
      await told.settle(...exampleTarget.map((one) => exampleRecord(one, 0)));
      await told.settle(...exampleUpdate.map((one) => exampleRecord(one, 0)));
      expect(told.rows()).toEqual(exampleResult(0));
    });
  });

  // The 120 orders are keys of their own, 10 numbers apart; each split of the batch is a world.
  test('RU-06 every order of the update in every split gives the same rows', async () => {
    const orders = permutations(exampleUpdate);
    expect(orders).toHaveLength(120);
    const expected = orders.flatMap((_, at) => exampleResult(at)).sort();
    for (let split = 0; split < 16; split += 1) {
      await scenario(example, {}, async (told) => {
        await told.settle(
          ...orders.flatMap((_, at) => exampleTarget.map((one) => exampleRecord(one, at))),
        );
        for (let position = 0; position < 5; position += 1) {
          told.produce(
            ...orders.map((order, at) => exampleRecord(order[position] as ExampleRow, at)),
          );
          if ((split & (1 << position)) !== 0 || position === 4) await told.settle();
        }
        expect(told.rows(), `split ${split}`).toEqual(expected);
      });
    }
  });

  test('RU-10 permutations, partitionings, splits and crash points do not show', async () => {
    for (let seed = 0; seed < 15; seed += 1) {
      const random = new Random(1_000 + seed);
      const events = Array.from({ length: 60 }, (_, at) => ({
        k: random.below(5),
        v: `v${at % 50}`,
        seq: random.below(7),
      }));
      const expected = expectedRows(events);
      for (let run = 0; run < 10; run += 1) {
        const arriving = random.shuffled(events).map(given);
        const options = {
          partitions: 1 + random.below(5),
          batchRecordsMax: 1 + random.below(10),
        };
        await scenario(plan, options, async (told) => {
          await arriveWithTrouble(told, arriving, random);
          expect(told.rows(), `seed ${seed}, run ${run}`).toEqual(expected);
          expect(isSane(told), `seed ${seed}, run ${run}`).toEqual([]);
        });
      }
    }
  });

  test.each(['exactly_once', 'at_least_once'] as const)(
    'RU-08 RU-14 a process that dies between any two of its steps leaves no row behind, %s',
    async (delivery) => {
      const set = (size: number, seq: number): Event[] =>
        Array.from({ length: size }, (_, at) => ({ k: 1, v: `${seq}.${at}`, seq }));
      const events = [...set(3, 1), ...set(2, 2), ...set(2, 3), { k: 2, v: 'b', seq: 1 }];
      for (const last of [[], set(1, 4)]) {
        const expected = expectedRows([...events, ...last]);
        const check = (rows: readonly string[], step: number) =>
          expect(rows, `died at step ${step}`).toEqual(expected);
        await dieAtEveryStep(plan, [...events, ...last].map(given), check, {
          delivery,
          commitRecordsMax: 1,
        });
      }
    },
  );

  test.each(['exactly_once', 'at_least_once'] as const)(
    'RU-14 a process that dies between any two of its steps adds no row, %s',
    async (delivery) => {
      const events: Event[] = [
        { k: 1, v: 'old', seq: 1 },
        { k: 1, v: 'a', seq: 2 },
        { k: 1, v: 'a', seq: 2 },
        { k: 2, v: 'b', seq: 1 },
      ];
      const expected = expectedRows(events);
      const check = (rows: readonly string[], step: number) =>
        expect(rows, `died at step ${step}`).toEqual(expected);
      const steps = await dieAtEveryStep(plan, events.map(given), check, { delivery });
      expect(steps).toBeGreaterThan(20);
    },
  );
});

// ---------------------------------------------------------------- the example of the documentation

type ExampleRow = readonly [region: number, platform: string, event: string, seq: number];

const example = `CREATE SOURCE s (region INT, platform STRING, event STRING, seq BIGINT) WITH (topic = 's');
  CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
  SELECT region, platform, event, seq FROM STREAM(s);`;

const exampleTarget: readonly ExampleRow[] = [
  [1, 'iOS', 'click', 1],
  [1, 'Android', 'conversion', 1],
  [2, 'iOS', 'click', 1],
  [2, 'desktop', 'click', 1],
];

const exampleUpdate: readonly ExampleRow[] = [
  [1, 'iOS', 'click', 2],
  [1, 'Android', 'conversion', 2],
  [1, 'desktop', 'click', 2],
  [3, 'iOS', 'click', 1],
  [3, 'desktop', 'click', 2],
];

function exampleRecord([region, platform, event, seq]: ExampleRow, instance: number): Given {
  return { value: { region: instance * 10 + region, platform, event, seq } };
}

function exampleResult(instance: number): string[] {
  const rows: readonly ExampleRow[] = [
    [1, 'iOS', 'click', 2],
    [1, 'Android', 'conversion', 2],
    [1, 'desktop', 'click', 2],
    [2, 'iOS', 'click', 1],
    [2, 'desktop', 'click', 1],
    [3, 'desktop', 'click', 2],
  ];
  return rows.map((one) => JSON.stringify(exampleRecord(one, instance).value)).sort();
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, at) =>
    permutations([...items.slice(0, at), ...items.slice(at + 1)]).map((rest) => [item, ...rest]),
  );
}

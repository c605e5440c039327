import { describe, expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { ManualClock } from '../../../src/testing/manual-clock.ts';
import { Random } from '../../../src/testing/random.ts';
import { Faults, type Rates } from '../../../src/testing/simulation/faults.ts';
import { FragileState } from '../../../src/testing/simulation/fragile-state.ts';
import { LeapingClock } from '../../../src/testing/simulation/leaping-clock.ts';
import { simulate } from '../../../src/testing/simulation/simulate-pipeline.ts';
import { SimulatedLog } from '../../../src/testing/simulation/simulated-log.ts';
import { SimulatedProcess } from '../../../src/testing/simulation/simulated-process.ts';
import { SimulatedStateStore } from '../../../src/testing/simulation/simulated-state-store.ts';
import { packedEntries } from '../../support/packed-entries.ts';

const always = 1000;
const task = { pipeline: 'p', flow: 'f', generation: 0, partition: 0 };
const mark = { topicId: 't', offset: 1 };

function world(rates: Rates) {
  const clock = new LeapingClock();
  const faults = new Faults(new Random(1), { rates, focuses: [] });
  const process = new SimulatedProcess({ clock, faults, drawStallMs: () => 5_000 });
  const log = new MemoryLog({ clock });
  log.createTopic('t', 1);
  const state = new FragileState(faults);
  return {
    clock,
    faults,
    process,
    log,
    mine: new SimulatedLog(log, process, 10),
    state,
    store: new SimulatedStateStore(state, process),
  };
}

/** Whether a promise has settled once nothing moves any more. */
async function isAnswered(promise: Promise<unknown>): Promise<boolean> {
  let answered = false;
  const note = () => {
    answered = true;
  };
  promise.then(note, note);
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return answered;
}

describe('random', () => {
  test('the same seed gives the same numbers, within bounds, and shuffles lose nothing', () => {
    const draw = (seed: number) => {
      const random = new Random(seed);
      return Array.from({ length: 100 }, () => random.below(7));
    };
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
    expect(new Set(draw(3))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6]));
    const items = Array.from({ length: 50 }, (_, index) => index);
    const shuffled = new Random(4).shuffled(items);
    expect(shuffled).not.toEqual(items);
    expect(shuffled.sort((a, b) => a - b)).toEqual(items);
  });
});

describe('clocks', () => {
  test('a manual clock wakes sleepers in their order, and what they start before the next one', async () => {
    const clock = new ManualClock(1000);
    const seen: string[] = [];
    const note = (what: string) => () => void seen.push(`${what}@${clock.monotonic()}`);
    void clock.sleep(20).then(note('late'));
    void clock
      .sleep(10)
      .then(note('early'))
      .then(() => clock.sleep(5))
      .then(note('after'));
    await clock.advance(9);
    expect(seen).toEqual([]);
    await clock.advance(11);
    expect(seen).toEqual(['early@10', 'after@15', 'late@20']);
    expect(clock.now()).toBe(1020);
  });

  test('a leaping clock passes hours at once, and stands still after its end', async () => {
    const clock = new LeapingClock(0);
    await clock.sleep(3_600_000);
    expect(clock.now()).toBe(3_600_000);
    clock.stop();
    expect(await isAnswered(clock.sleep(1))).toBe(false);
  });
});

describe('a simulated process', () => {
  test('that crashes is never answered, and what it then does has no effect', async () => {
    const { process, log, mine, state, store } = world({});
    const producer = await mine.openProducer('p');
    const session = await store.open(task, 1);
    process.crash();
    await process.crashed;
    const write = session.write({ entries: packedEntries(['k'], [Buffer.from('e')]), mark });
    const calls = [write, producer.commit([]), mine.describeTopics(['t']), mine.fence('p')];
    expect(await Promise.all(calls.map(isAnswered))).toEqual([false, false, false, false]);
    expect(await (await state.store.open(task, 2)).mark()).toBeUndefined();
    expect(log.readCommitted('t')).toEqual([]);
  });

  test('that stalls is answered after it went on', async () => {
    const stalled = world({ stall: always });
    const late = stalled.mine.describeTopics(['t']);
    await stalled.clock.sleep(0);
    stalled.faults.calm();
    expect((await late).size).toBe(1);
    expect(stalled.clock.monotonic()).toBeGreaterThan(0);
  });

  test('a refused call did nothing, a lost answer did all', async () => {
    const refused = world({ refuse: always });
    await expect(refused.mine.createTopics([spec('new')])).rejects.toMatchObject({
      code: 'BROKER_UNAVAILABLE',
    });
    expect((await refused.log.describeTopics(['new'])).size).toBe(0);
    const lost = world({ lose_answer: always });
    await expect(lost.mine.createTopics([spec('new')])).rejects.toMatchObject({
      code: 'BROKER_TIMEOUT',
    });
    expect((await lost.log.describeTopics(['new'])).size).toBe(1);
  });
});

function spec(name: string) {
  return { name, partitions: 1, replicationFactor: -1, configs: {} };
}

describe('a fragile state', () => {
  test.each(['lose_state', 'lose_task', 'roll_back'] as const)(
    'forgets entries and mark together: %s',
    async (fault) => {
      const { store } = world({ [fault]: always });
      const session = await store.open(task, 1);
      const outcome = await session
        .write({ entries: packedEntries(['k'], [Buffer.from('e')]), mark })
        .then(() => session.read(['k']))
        .catch((error: { code: string }) => error.code);
      expect(outcome).toBe('TASK_CORRUPTED');
    },
  );

  test('keeps everything while nothing strikes', async () => {
    const session = await world({}).store.open(task, 1);
    await session.write({ entries: packedEntries(['k'], [Buffer.from('e')]), mark });
    const view = await session.read(['k', 'other']);
    expect(view.mark).toEqual(mark);
    expect(view.entries.map((entry) => entry?.toString())).toEqual(['e', undefined]);
  });

  test('a write that breaks off leaves entries without a mark, and must be cleared', async () => {
    const { store, faults } = world({ half_write: always });
    const session = await store.open(task, 1);
    const entries = packedEntries(['k', 'l'], [Buffer.from('a'), Buffer.from('b')]);
    const write = { entries, mark };
    await expect(session.write(write)).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    faults.calm();
    const view = await session.read(['k', 'l']);
    expect(view.mark).toBeUndefined();
    expect(view.entries.map((entry) => entry?.toString())).toEqual(['a', undefined]);
    await expect(session.write(write)).rejects.toMatchObject({ code: 'TASK_CORRUPTED' });
  });
});

test('a simulation is decided by its seed', async () => {
  const first = await simulate(11);
  expect(await simulate(11)).toEqual(first);
  expect(first.faults).toEqual([]);
  expect(first.records).toBeGreaterThan(0);
});

import { afterEach, expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import type { Log } from '../../../src/ports/log.ts';
import { throttledLog } from '../../../src/runtime/refresh/refresh-throttle.ts';
import { LeapingClock } from '../../../src/testing/simulation/leaping-clock.ts';

const clock = new LeapingClock();
afterEach(() => clock.stop());

/** Reads a topic to its end; gives how many records came, and how long it took. */
async function readAll(
  log: Log,
  topic: string,
  end: number,
): Promise<{ readonly records: number; readonly tookMs: number }> {
  const reader = log.openReader();
  const startedMs = clock.monotonic();
  let records = 0;
  reader.assign(topic, 0, 0);
  for (let position = 0; position < end; ) {
    for (const slice of await reader.poll(500)) {
      while (slice.records.next()) records += 1;
      position = slice.nextOffset;
    }
  }
  await reader.close();
  return { records, tookMs: clock.monotonic() - startedMs };
}

test('FR-34 --rate: all readers of the sources together give no more records a second, and lose none', async () => {
  const memory = new MemoryLog({ clock });
  for (const topic of ['a', 'b', 'own']) {
    memory.createTopic(topic, 1);
    for (let at = 0; at < 100; at += 1) memory.produce(topic, 0, { value: `${at}` });
  }
  const limit = { recordsPerSecond: 50, topics: new Set(['a', 'b']) };
  const log = throttledLog(memory.connect(), clock, limit);
  const [first, second] = [await readAll(log, 'a', 100), await readAll(log, 'b', 100)];
  expect([first.records, second.records]).toEqual([100, 100]);
  // What was read first has to be paid for before the next is.
  expect(first.tookMs + second.tookMs).toBeGreaterThanOrEqual(2_000);
  const third = await readAll(log, 'a', 100);
  expect(third.tookMs).toBeGreaterThanOrEqual(1_900);
});

test('FR-34 --rate: what is no source of the table is not held back by itself', async () => {
  const memory = new MemoryLog({ clock });
  memory.createTopic('own', 1);
  for (let at = 0; at < 100; at += 1) memory.produce('own', 0, { value: `${at}` });
  const log = throttledLog(memory.connect(), clock, {
    recordsPerSecond: 1,
    topics: new Set(['a']),
  });
  for (let round = 0; round < 3; round += 1) {
    expect(await readAll(log, 'own', 100)).toEqual({ records: 100, tookMs: 0 });
  }
});

test('FR-34 --rate: what was given was waited for, and what comes besides then comes at once', async () => {
  const own = new LeapingClock();
  const memory = new MemoryLog({ clock: own });
  for (const topic of ['a', 'own']) memory.createTopic(topic, 1);
  for (let at = 0; at < 100; at += 1) memory.produce('a', 0, { value: `${at}` });
  const log = throttledLog(memory.connect(), own, {
    recordsPerSecond: 50,
    topics: new Set(['a']),
  });
  const reader = log.openReader();
  reader.assign('a', 0, 0);
  reader.assign('own', 0, 0);
  const startedMs = own.monotonic();
  let slices = await reader.poll(500);
  while (slices.length === 0) slices = await reader.poll(500);
  expect(slices.map(({ nextOffset }) => nextOffset)).toEqual([100]);
  const tookMs = own.monotonic() - startedMs;
  expect(tookMs).toBeGreaterThanOrEqual(2_000);
  memory.produce('own', 0, { value: 'x' });
  expect((await reader.poll(500)).map(({ topic }) => topic)).toEqual(['own']);
  expect(own.monotonic() - startedMs).toBe(tookMs);
  // What was fetched before is not given after another assignment.
  reader.assign('a', 0, 50);
  expect(await reader.poll(500)).toEqual([]);
  reader.assign('a', 0, 90);
  slices = [];
  while (slices.length === 0) slices = await reader.poll(500);
  expect(slices.map(({ fromOffset }) => fromOffset)).toEqual([90]);
  await reader.close();
  own.stop();
});

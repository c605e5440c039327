import { expect, test } from 'vitest';
import { timeFlag, waitUntil } from '../../../src/cli/not-before.ts';
import { LeapingClock } from '../../../src/testing/simulation/leaping-clock.ts';

const startMs = Date.parse('2026-12-01T02:30:00Z');

function waiting(stopAfter?: number) {
  const clock = new LeapingClock(startMs);
  const told: string[] = [];
  let said = 0;
  let stop = (): void => undefined;
  const wait = (timeMs: number): Promise<boolean> =>
    waitUntil(timeMs, {
      clock,
      say: (text) => {
        told.push(text);
        said += 1;
        if (said === stopAfter) stop();
      },
      onStop: (listener) => {
        stop = listener;
      },
    });
  return { clock, told, wait };
}

test('FR-43 --not-before waits for the window, and tells how long it is', async () => {
  const { clock, told, wait } = waiting();
  const timeMs = timeFlag('not-before', '2026-12-01T04:00:00+01:00');
  expect(await wait(timeMs)).toBe(true);
  expect(clock.now()).toBe(timeMs);
  expect(told).toHaveLength(3);
  expect(told[0]).toBe('waiting until 2026-12-01T03:00:00.000Z: 30 min to go');
  expect(told[2]).toMatch(/10 min to go$/);
});

test('FR-43 a time that is over does not wait, and who is stopped does not begin', async () => {
  const past = waiting();
  expect(await past.wait(startMs - 1)).toBe(true);
  expect(past.told).toEqual([]);
  const stopped = waiting(2);
  expect(await stopped.wait(startMs + 3_600_000)).toBe(false);
  expect(stopped.clock.now()).toBeLessThan(startMs + 1_200_000);
});

test.each(['03:00', '2026-12-01', '2026-12-01T03:00:00', '2026-13-01T03:00:00Z', 'tonight'])(
  'FR-43 a time without a day, an hour or a zone is refused: %s',
  (text) => {
    expect(() => timeFlag('not-before', text)).toThrow(/--not-before is no time/);
  },
);

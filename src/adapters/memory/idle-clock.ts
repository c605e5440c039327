import type { Clock } from '../../ports/clock.ts';

/** The system's time; its waits never keep a process alive that has nothing else to do. */
export const idleClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms).unref();
    }),
};

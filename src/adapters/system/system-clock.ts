import { performance } from 'node:perf_hooks';
import type { Clock } from '../../ports/clock.ts';

/** The machine's own time. Invariant: a sleep never keeps the process alive by itself longer than its time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

import type { Clock } from '../ports/clock.ts';
import { ManualClock } from './manual-clock.ts';

/**
 * Virtual time for what runs in memory: whenever all is at rest, it leaps to the next sleeper, so
 * that timeouts of minutes take no time at all. Invariant: time passes only while nothing else moves.
 */
export class LeapingClock implements Clock {
  readonly #clock: ManualClock;
  #sleeping = 0;
  #turning = false;

  constructor(startMs?: number) {
    this.#clock = new ManualClock(startMs);
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  async sleep(ms: number): Promise<void> {
    const slept = this.#clock.sleep(ms);
    this.#sleeping += 1;
    this.#turn();
    await slept;
    this.#sleeping -= 1;
  }

  #turn(): void {
    if (this.#turning) return;
    this.#turning = true;
    setImmediate(() => {
      this.#turning = false;
      if (this.#clock.leap()) this.#turn();
    });
  }
}

import type { Clock } from '../ports/clock.ts';

type Sleeper = { readonly untilMs: number; readonly wake: () => void };

/**
 * Time that moves only when it is told to, in whole milliseconds: a sleep of a fraction would end where it began once
 * the numbers are large. Invariant: sleepers wake in the order of their time, and all that follows from one happens
 * before the next one wakes.
 */
export class ManualClock implements Clock {
  readonly #startMs: number;
  #elapsedMs = 0;
  /** The next one last. Of two with the same time, the one that slept first wakes first. */
  readonly #sleepers: Sleeper[] = [];

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => {
      const sleepers = this.#sleepers;
      const untilMs = this.#elapsedMs + Math.max(0, Math.ceil(ms));
      let at = sleepers.length;
      while (at > 0 && (sleepers[at - 1] as Sleeper).untilMs <= untilMs) at -= 1;
      sleepers.splice(at, 0, { untilMs, wake });
    });
  }

  /** Lets time pass and waits until nothing moves any more. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    await settled();
    while ((this.#sleepers.at(-1)?.untilMs ?? Infinity) <= untilMs) {
      this.leap();
      await settled();
    }
    this.#elapsedMs = untilMs;
  }

  /** Leaps to the next sleeper; false when nobody sleeps. */
  leap(): boolean {
    const sleeper = this.#sleepers.pop();
    if (sleeper === undefined) return false;
    this.#elapsedMs = Math.max(this.#elapsedMs, sleeper.untilMs);
    sleeper.wake();
    return true;
  }
}

/** Everything that waits for nothing but other promises is done when the event loop turns. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

import type { Clock } from '../ports/clock.ts';

type Sleeper = { readonly untilMs: number; readonly wake: () => void };

/**
 * Time that moves only when it is told to. Invariant: sleepers wake in the order of their time, and
 * all that follows from one happens before the next one wakes.
 */
export class ManualClock implements Clock {
  readonly #startMs: number;
  #elapsedMs = 0;
  #sleepers: Sleeper[] = [];

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
      this.#sleepers.push({ untilMs: this.#elapsedMs + Math.max(0, ms), wake });
    });
  }

  /** Lets time pass and waits until nothing moves any more. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    await settled();
    while (this.#nextMs() <= untilMs) {
      this.#wakeNext();
      await settled();
    }
    this.#elapsedMs = untilMs;
  }

  /** Leaps to the next sleeper; false when nobody sleeps. */
  leap(): boolean {
    if (this.#sleepers.length === 0) return false;
    this.#wakeNext();
    return true;
  }

  #nextMs(): number {
    return this.#sleepers.reduce((least, { untilMs }) => Math.min(least, untilMs), Infinity);
  }

  #wakeNext(): void {
    const nextMs = this.#nextMs();
    const at = this.#sleepers.findIndex(({ untilMs }) => untilMs === nextMs);
    const [sleeper] = this.#sleepers.splice(at, 1);
    this.#elapsedMs = Math.max(this.#elapsedMs, nextMs);
    sleeper?.wake();
  }
}

/** Everything that waits for nothing but other promises is done when the event loop turns. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

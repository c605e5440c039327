import type { Clock } from '../../ports/clock.ts';
import { ManualClock } from '../manual-clock.ts';

const rested = Promise.resolve();

/** Turns between two that let the event loop go round, so that signals and the world's own timers are heard. */
const turnsPerLoop = 1000;

/**
 * Virtual time for what runs in memory: whenever all is at rest, it leaps to the next sleeper, so
 * that timeouts of minutes take no time at all. Invariant: time passes only while nothing else moves,
 * and not at all after `stop`.
 */
export class LeapingClock implements Clock {
  readonly #clock: ManualClock;
  #isTurning = false;
  #isStopped = false;
  #turns = 0;

  constructor(startMs?: number) {
    this.#clock = new ManualClock(startMs);
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  sleep(ms: number): Promise<void> {
    const slept = this.#clock.sleep(ms);
    this.#turn();
    return slept;
  }

  /** Nobody who sleeps wakes any more: the end of a world whose processes may still hang about. */
  stop(): void {
    this.#isStopped = true;
  }

  /**
   * A tick that is asked for by a promise's reaction comes when no other reaction is left to run, and costs far
   * less than a turn of the event loop.
   */
  #turn(): void {
    if (this.#isTurning || this.#isStopped) return;
    this.#isTurning = true;
    this.#turns += 1;
    if (this.#turns % turnsPerLoop === 0) setImmediate(this.#leap);
    else void rested.then(this.#atRest);
  }

  readonly #atRest = (): void => process.nextTick(this.#leap);

  readonly #leap = (): void => {
    this.#isTurning = false;
    if (!this.#isStopped && this.#clock.leap()) this.#turn();
  };
}

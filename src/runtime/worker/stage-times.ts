import type { Clock } from '../../ports/clock.ts';

/** Where a worker's time goes. */
export const stages = [
  'wait_source',
  'query',
  'store',
  'merge',
  'emit',
  'wait_sink',
  'takeover',
] as const;

export type Stage = (typeof stages)[number];

/**
 * Time that a worker has spent, by stage. Invariant: stages do not overlap, so that their sum is never more than
 * the time since the start; what is in none of them is the worker's own.
 */
export class StageTimes {
  readonly #clock: Clock;
  readonly #spentMs: Record<Stage, number> = {
    wait_source: 0,
    query: 0,
    store: 0,
    merge: 0,
    emit: 0,
    wait_sink: 0,
    takeover: 0,
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something that waits for nobody. */
  run<Result>(stage: Stage, work: () => Result): Result {
    const startedMs = this.#clock.monotonic();
    try {
      return work();
    } finally {
      this.#spentMs[stage] += this.#clock.monotonic() - startedMs;
    }
  }

  async wait<Result>(stage: Stage, work: () => Promise<Result>): Promise<Result> {
    const startedMs = this.#clock.monotonic();
    try {
      return await work();
    } finally {
      this.#spentMs[stage] += this.#clock.monotonic() - startedMs;
    }
  }

  get spentMs(): Readonly<Record<Stage, number>> {
    return { ...this.#spentMs };
  }
}

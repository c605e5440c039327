import type { Clock } from '../../ports/clock.ts';
import { isSettledWithin } from './is-settled-within.ts';

/** How long an open transaction may hold up others before its producer is taken for dead. */
export const stuckAfterMs = 2_000;

/**
 * What the log answers about checkpoints, or undefined: not within the time, for a transaction is open that may move them,
 * perhaps of an instance that is gone. Invariant: who waits no longer has no answer, neither that there is a checkpoint nor that
 * there is none.
 */
export async function answerWithin<Answer>(
  clock: Clock,
  ms: number,
  asking: Promise<Answer>,
): Promise<Answer | undefined> {
  return (await isSettledWithin(clock, ms, asking)) ? asking : undefined;
}

/** The answer, once `endOpen` has ended what held it up, where it did not come by itself. */
export async function answerOnceEnded<Answer>(
  clock: Clock,
  asking: Promise<Answer>,
  endOpen: () => Promise<void>,
): Promise<Answer> {
  const answer = await answerWithin(clock, stuckAfterMs, asking);
  if (answer !== undefined) return answer;
  await endOpen();
  return asking;
}

/** What one of many questions is given at least: the log that is not held up answers in less. */
const leastMs = 500;

/**
 * Many answers about checkpoints for one who only looks, all of them within a bound: what one of them waits for the others do not
 * wait for again.
 */
export class TimelyAnswers {
  readonly #clock: Clock;
  #untilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.begin();
  }

  /** For the questions from here on. */
  begin(): void {
    this.#untilMs = this.#clock.monotonic() + stuckAfterMs;
  }

  /** undefined: an open transaction holds it up. */
  of<Answer>(asking: Promise<Answer>): Promise<Answer | undefined> {
    const leftMs = this.#untilMs - this.#clock.monotonic();
    return answerWithin(this.#clock, Math.max(leastMs, leftMs), asking);
  }
}

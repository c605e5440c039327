import type { Clock } from '../../ports/clock.ts';
import { isSettledWithin } from './is-settled-within.ts';

/**
 * One question at a time to somebody whose answer may take long, such as a group that waits for its other members, or a log in
 * which a transaction is open. Invariant: an answer, or the failure of the question, stands until it is taken, and is taken once.
 */
export class PendingAnswer<Answer> {
  #asking: Promise<void> | undefined;
  #answer: { readonly answer: Answer } | { readonly error: unknown } | undefined;

  /** Whether something is asked, or answered and not taken yet. */
  get isPending(): boolean {
    return this.#asking !== undefined || this.#answer !== undefined;
  }

  get hasAnswer(): boolean {
    return this.#answer !== undefined;
  }

  /** Resolves when there is an answer; asks only where nothing is pending. Never rejects: `take` does. */
  ask(question: () => Promise<Answer>): Promise<void> {
    if (this.#answer !== undefined) return Promise.resolve();
    this.#asking ??= this.#ask(question).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(question: () => Promise<Answer>): Promise<void> {
    try {
      this.#answer = { answer: await question() };
    } catch (error) {
      this.#answer = { error };
    }
  }

  /** The answer if it is there within the time, else undefined: then the question stays asked, and the next look takes its answer. */
  async within(
    clock: Clock,
    ms: number,
    question: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    await isSettledWithin(clock, ms, this.ask(question));
    return this.take();
  }

  /** undefined: there is none yet. Throws what the question failed with. */
  take(): Answer | undefined {
    const found = this.#answer;
    this.#answer = undefined;
    if (found !== undefined && 'error' in found) throw found.error;
    return found?.answer;
  }
}

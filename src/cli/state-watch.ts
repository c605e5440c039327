import { FlowError } from '../base/errors.ts';
import type { StateStore, StateUsage } from '../ports/state-store.ts';

export type StateSize = {
  readonly usage: StateUsage;
  /** Flow → keys that the state of its partitions on this instance holds. */
  readonly keys: ReadonlyMap<string, number>;
};

export type StateWatchOptions = {
  readonly store: StateStore;
  readonly keyCounts: () => Promise<ReadonlyMap<string, number>>;
  readonly onSize: (size: StateSize) => void;
};

const lookIntervalMs = 10_000;

/**
 * Asks now and then how large the state is. Invariant: one question at a time, so that a store which answers slowly
 * is not asked more than it can answer; what it does not answer leaves what was known.
 */
export class StateWatch {
  readonly #options: StateWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: StateWatchOptions) {
    this.#options = options;
  }

  start(): void {
    const look = (): void => {
      this.#looking = this.look().finally(() => {
        if (!this.#isClosed) this.#timer = setTimeout(look, lookIntervalMs).unref();
      });
      // A bug is told where the failing question is asked by the worker itself.
      this.#looking.catch(() => undefined);
    };
    this.#timer = setTimeout(look, 1_000).unref();
  }

  async look(): Promise<void> {
    const { store, keyCounts, onSize } = this.#options;
    try {
      onSize({ usage: await store.usage(), keys: await keyCounts() });
    } catch (error) {
      if (!(error instanceof FlowError)) throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#looking.catch(() => undefined);
  }
}

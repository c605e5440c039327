import { FlowError } from '../base/errors.ts';
import type { FlowPlan } from '../plan/pipeline-plan.ts';
import { type RefreshRecord, refreshesOf } from '../runtime/refresh/refresh-record.ts';
import type { Catalog } from '../runtime/topics/catalog.ts';
import { readPins } from '../runtime/views/once-pins.ts';

export type RefreshWatchOptions = {
  /** Of the worker, which closes it. */
  readonly catalog: Catalog;
  readonly onLook: (look: CatalogLook) => void;
  /** Flows that run once. */
  readonly onceFlows: readonly FlowPlan[];
};

export type CatalogLook = {
  readonly refreshes: readonly RefreshRecord[];
  /** Names of the flows that run once and have. */
  readonly onceDone: ReadonlySet<string>;
};

const lookIntervalMs = 10_000;

/**
 * Looks now and then in the catalog how far full refreshes are, whoever runs them, and which flows that run once have. Invariant: one look at a time; an
 * outage of the log leaves what was known.
 */
export class RefreshWatch {
  readonly #options: RefreshWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: RefreshWatchOptions) {
    this.#options = options;
  }

  start(onBug: (error: unknown) => void): void {
    const look = (): void => {
      this.#looking = this.look()
        .catch(onBug)
        .finally(() => {
          if (!this.#isClosed) this.#timer = setTimeout(look, lookIntervalMs).unref();
        });
    };
    this.#timer = setTimeout(look, 1_000).unref();
  }

  async look(): Promise<void> {
    try {
      const { catalog, onLook, onceFlows } = this.#options;
      await catalog.follow();
      const done = onceFlows.filter((flow) => readPins(flow, catalog)?.isDone === true);
      onLook({
        refreshes: refreshesOf(catalog),
        onceDone: new Set(done.map(({ name }) => name)),
      });
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

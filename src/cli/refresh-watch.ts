import { FlowError } from '../base/errors.ts';
import type { FlowPlan } from '../plan/pipeline-plan.ts';
import type { Log } from '../ports/log.ts';
import { Catalog } from '../runtime/catalog.ts';
import { readPins } from '../runtime/once-pins.ts';
import { type RefreshRecord, refreshesOf } from '../runtime/refresh-record.ts';

export type RefreshWatchOptions = {
  readonly log: Log;
  readonly catalogTopic: string;
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
  readonly #catalog: Catalog;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: RefreshWatchOptions) {
    this.#options = options;
    this.#catalog = new Catalog(options.log, options.catalogTopic);
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
      await this.#catalog.read();
      const { onLook, onceFlows } = this.#options;
      const done = onceFlows.filter((flow) => readPins(flow, this.#catalog)?.isDone === true);
      onLook({
        refreshes: refreshesOf(this.#catalog),
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
    await this.#catalog.close();
  }
}

import { catalogTopicOf } from '../plan/topology.ts';
import type { Log } from '../ports/log.ts';
import { Catalog } from '../runtime/topics/catalog.ts';
import { stopOf } from '../runtime/worker/stops.ts';

/**
 * Tells whether an instance was the last to stop for a flow: the one that speaks for it where figures are summed over instances.
 * It reads the catalog by a reader of its own, from the first question on: that of a worker ends with the worker.
 */
export class LastToStop {
  readonly #log: Log;
  readonly #topic: string;
  readonly #instance: string;
  #catalog: Catalog | undefined;

  constructor(log: Log, pipeline: string, instance: string) {
    this.#log = log;
    this.#topic = catalogTopicOf(pipeline);
    this.#instance = instance;
  }

  async isOwn(flow: string): Promise<boolean> {
    this.#catalog ??= new Catalog(this.#log, this.#topic);
    await this.#catalog.read();
    return stopOf(this.#catalog, flow)?.instance === this.#instance;
  }

  async close(): Promise<void> {
    await this.#catalog?.close();
  }
}

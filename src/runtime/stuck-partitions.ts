import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Catalog } from './catalog.ts';
import type { FlowRunner } from './flow-runner.ts';
import { partitionKey } from './partition-key.ts';
import type { RuntimeListener } from './runtime-events.ts';
import { fenceOthers } from './takeover.ts';

export type StuckPartitionsOptions = {
  readonly log: Log;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly listener: RuntimeListener;
  readonly ownTransactionalId: string | undefined;
  /** This worker's own transaction holds up readers for this long by right. */
  readonly commitIntervalMs: number;
};

const lookIntervalMs = 500;
const stuckAfterMinMs = 3_000;

/**
 * Watches the repartition topics, and those of tables that flows read, for a transaction that nobody ends: an instance that died between the
 * stages holds up the readers of every partition that it wrote to. Invariant: only transactions of the
 * pipeline's own instances are ended, and only after the last stable offset stood still for long.
 */
export class StuckPartitions {
  readonly #options: StuckPartitionsOptions;
  readonly #seen = new Map<string, { readonly stable: number; readonly sinceMs: number }>();
  #nextMs = 0;

  constructor(options: StuckPartitionsOptions) {
    this.#options = options;
  }

  async turn(runners: readonly FlowRunner[]): Promise<void> {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + lookIntervalMs;
    const stuckAfterMs = Math.max(stuckAfterMinMs, this.#options.commitIntervalMs * 3);
    for (const runner of runners) {
      for (const { topic, partition, position, stable, end } of runner.ownRanges()) {
        const key = partitionKey(topic, partition);
        const seen = this.#seen.get(key);
        if (position < stable || stable >= end || seen?.stable !== stable) {
          this.#seen.set(key, { stable, sinceMs: nowMs });
        } else if (nowMs - seen.sinceMs >= stuckAfterMs) {
          this.#seen.set(key, { stable, sinceMs: nowMs });
          await fenceOthers(
            this.#options,
            `topic "${topic}", partition ${partition} stands still at offset ${stable}`,
          );
        }
      }
    }
  }
}

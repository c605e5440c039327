import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import type { FlowRunner } from '../worker/flow-runner.ts';

const purgeIntervalMs = 30_000;
const purgeRecordsMin = 10_000;

/**
 * Deletes what lies behind the checkpoint of a repartition topic. Invariant: nothing that was not
 * committed as processed is ever deleted; a failed deletion only costs disk space until the next one.
 */
export class RepartitionPurge {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #purged = new Map<string, number>();
  #nextMs: number;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
    this.#nextMs = clock.monotonic() + purgeIntervalMs;
  }

  async turn(runners: readonly FlowRunner[]): Promise<void> {
    if (this.#clock.monotonic() < this.#nextMs) return;
    this.#nextMs = this.#clock.monotonic() + purgeIntervalMs;
    await this.#purge(runners, purgeRecordsMin);
  }

  /** At the end of an update: a pipeline that runs now and then leaves nothing behind. */
  async finish(runners: readonly FlowRunner[]): Promise<void> {
    await this.#purge(runners, 1);
  }

  async #purge(runners: readonly FlowRunner[], recordsMin: number): Promise<void> {
    for (const runner of runners) {
      const { repartition } = runner.facts;
      if (repartition === undefined) continue;
      const { topic } = repartition;
      const before = new Map<number, number>();
      for (const { topic: read, partition, committed } of runner.progress()) {
        const last = this.#purged.get(partitionKey(topic, partition)) ?? 0;
        if (read === topic && committed - last >= recordsMin) before.set(partition, committed);
      }
      if (before.size === 0) continue;
      await this.#log.deleteRecords(topic, before).catch(() => undefined);
      for (const [partition, offset] of before) {
        this.#purged.set(partitionKey(topic, partition), offset);
      }
    }
  }
}

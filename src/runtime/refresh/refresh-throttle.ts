import type { Clock } from '../../ports/clock.ts';
import type { Log, LogReader, Slice } from '../../ports/log.ts';
import { overriding } from './overriding.ts';

/**
 * The same log, with readers that give no more than so many records of some topics a second, together. Invariant: a slice
 * is given once its time has come, so whoever has all of them has taken as long as the rate says; nothing is held back for
 * good, and what is no source is not slowed down by itself.
 */
export function throttledLog(
  log: Log,
  clock: Clock,
  limit: { readonly recordsPerSecond: number; readonly topics: ReadonlySet<string> },
): Log {
  let freeAtMs = clock.monotonic();
  /** When as many records may be given, behind all that were promised before. */
  const dueAfter = (records: number): number => {
    freeAtMs = Math.max(freeAtMs, clock.monotonic()) + (records * 1000) / limit.recordsPerSecond;
    return freeAtMs;
  };
  return overriding(log, {
    openReader: () => {
      const reader = log.openReader();
      const held = new HeldSlices(reader, clock, limit.topics, dueAfter);
      return overriding(reader, {
        poll: (maxWaitMs) => held.poll(maxWaitMs),
        assign: (topic, partition, offset) => {
          held.drop(topic, partition);
          reader.assign(topic, partition, offset);
        },
        unassign: (topic, partition) => {
          held.drop(topic, partition);
          reader.unassign(topic, partition);
        },
      });
    },
  });
}

/** What one reader has fetched and may not give yet. While there is any, nothing further is fetched. */
class HeldSlices {
  readonly #reader: LogReader;
  readonly #clock: Clock;
  readonly #topics: ReadonlySet<string>;
  readonly #dueAfter: (records: number) => number;
  #slices: readonly Slice[] = [];
  #dueAtMs = 0;

  constructor(
    reader: LogReader,
    clock: Clock,
    topics: ReadonlySet<string>,
    dueAfter: (records: number) => number,
  ) {
    this.#reader = reader;
    this.#clock = clock;
    this.#topics = topics;
    this.#dueAfter = dueAfter;
  }

  async poll(maxWaitMs: number): Promise<readonly Slice[]> {
    if (this.#slices.length > 0) return this.#give(maxWaitMs);
    const slices = await this.#reader.poll(maxWaitMs);
    this.#slices = slices.filter(({ topic }) => this.#topics.has(topic));
    if (this.#slices.length === 0) return slices;
    this.#dueAtMs = this.#dueAfter(this.#slices.reduce((sum, one) => sum + one.recordCountMax, 0));
    return slices.filter(({ topic }) => !this.#topics.has(topic));
  }

  async #give(maxWaitMs: number): Promise<readonly Slice[]> {
    const waitMs = this.#dueAtMs - this.#clock.monotonic();
    if (waitMs > 0) await this.#clock.sleep(Math.min(waitMs, maxWaitMs));
    if (waitMs > maxWaitMs) return [];
    const due = this.#slices;
    this.#slices = [];
    return due;
  }

  drop(topic: string, partition: number): void {
    this.#slices = this.#slices.filter(
      (slice) => slice.topic !== topic || slice.partition !== partition,
    );
  }
}

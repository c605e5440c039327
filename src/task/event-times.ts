/**
 * How far the partitions of a flow have come in the time of their rows. Invariant: what it gives is the minimum over
 * all partitions that have data, read or not, so that one that is read faster makes no row of the others late.
 */
export class EventTimes {
  /** Partition → milliseconds since 1970; 0: it has data, and no time of it is known yet. */
  readonly #reached = new Map<string, number>();

  set(partition: string, ms: number): void {
    this.#reached.set(partition, ms);
  }

  forget(partition: string): void {
    this.#reached.delete(partition);
  }

  /** What all of them have come to; undefined: not known of each, or there is no watermark. */
  get leastMs(): number | undefined {
    const least = Math.min(...this.#reached.values());
    return least === 0 || !Number.isFinite(least) ? undefined : least;
  }

  /** In microseconds, for the rows of one partition; undefined: none of them is late. */
  reached(partition: string): bigint | undefined {
    if (!this.#reached.has(partition)) return undefined;
    const least = Math.min(...this.#reached.values());
    return least === 0 ? undefined : BigInt(least) * 1000n;
  }
}

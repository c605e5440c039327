import type { StateKey } from '../../ports/state-store.ts';

/** Keys are looked up by the second: what is due a little later stays for a little longer. */
const bucketMicros = 1_000_000n;

/** Which keys have something to let go at which time. Invariant: a key that is due is found, and maybe one that is not. */
export class DueKeys {
  readonly #buckets = new Map<bigint, Set<StateKey>>();

  add(key: StateKey, dueMicros: bigint): void {
    const bucket = dueMicros / bucketMicros;
    const keys = this.#buckets.get(bucket);
    if (keys === undefined) this.#buckets.set(bucket, new Set([key]));
    else keys.add(key);
  }

  /** Takes out the keys of every bucket that may have something due before a time. */
  take(beforeMicros: bigint): ReadonlySet<StateKey> {
    const last = beforeMicros / bucketMicros;
    const due = new Set<StateKey>();
    for (const [bucket, keys] of this.#buckets) {
      if (bucket > last) continue;
      for (const key of keys) due.add(key);
      this.#buckets.delete(bucket);
    }
    return due;
  }
}

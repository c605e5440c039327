type Bucket = { tokens: number; atMs: number };

/** Addresses that are remembered; the one that was seen longest ago is forgotten first. */
const addressesMax = 1_000;

/**
 * A bucket of requests for each address. Invariant: no address gets more than `burst` requests at once, nor more
 * than `perSecond` over time, and memory is bounded however many addresses ask.
 */
export class RateLimiter {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor({ perSecond, burst }: { readonly perSecond: number; readonly burst: number }) {
    this.#perSecond = perSecond;
    this.#burst = burst;
  }

  /** 0: go on. Else the seconds after which it is worth asking again. */
  take(address: string, nowMs: number): number {
    const before = this.#buckets.get(address) ?? { tokens: this.#burst, atMs: nowMs };
    const grown = before.tokens + ((nowMs - before.atMs) / 1000) * this.#perSecond;
    const tokens = Math.min(this.#burst, grown);
    // Set anew, so that the order of the map is that of the last requests.
    this.#buckets.delete(address);
    const isFree = tokens >= 1;
    this.#buckets.set(address, { tokens: isFree ? tokens - 1 : tokens, atMs: nowMs });
    if (this.#buckets.size > addressesMax) {
      const oldest = this.#buckets.keys().next().value;
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    return isFree ? 0 : Math.max(1, Math.ceil((1 - tokens) / this.#perSecond));
  }
}

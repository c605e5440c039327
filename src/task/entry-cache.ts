import type { StateKey } from '../ports/state-store.ts';

/**
 * A bounded cache of state entries in front of the state store; `null` is a key that is known to be
 * unseen. Two generations stand for a least-recently-used order: when the young one is full it
 * becomes the old one, and what the old one still holds is forgotten. Invariant: at most twice the bound.
 */
export class EntryCache {
  readonly #bytesMax: number;
  #young = new Map<StateKey, Buffer | null>();
  #old = new Map<StateKey, Buffer | null>();
  #youngBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** undefined: not in the cache. */
  get(key: StateKey): Buffer | null | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: StateKey, entry: Buffer | null): void {
    this.#young.set(key, entry);
    // What a Map slot, the key's text and a Buffer cost beside their bytes, roughly.
    this.#youngBytes += key.length + (entry?.length ?? 0) + 160;
    if (this.#youngBytes > this.#bytesMax) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#youngBytes = 0;
  }
}

import type { StateKey } from '../../ports/state-store.ts';

/** What a Map slot, the key's text, the object and its Buffer cost beside their bytes, roughly. */
const keyOverheadBytes = 320;

/** undefined: its entry is to be read; null: it has none. */
type CachedKey = { readonly stored: Buffer | null | undefined };

/**
 * The keys that a table task knows, bounded. Two generations stand for a least-recently-used order: when the
 * young one is full it becomes the old one, and what the old one still held is forgotten.
 * Invariant: a key of the open transaction is never forgotten, since generations change only between two.
 */
export class KeyCache<State extends CachedKey> {
  readonly #bytesMax: number;
  readonly #create: (key: StateKey) => State;
  #young = new Map<StateKey, State>();
  #old = new Map<StateKey, State>();
  #youngBytes = 0;

  constructor(bytesMax: number, create: (key: StateKey) => State) {
    this.#bytesMax = bytesMax;
    this.#create = create;
  }

  /** Keys in memory; one that is in both generations counts twice. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** The key's state, made with `stored` undefined where it is not known. */
  get(key: StateKey): State {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    let state = this.#old.get(key);
    state ??= this.#create(key);
    this.#young.set(key, state);
    this.#youngBytes += key.length + (state.stored?.length ?? 0) + keyOverheadBytes;
    return state;
  }

  /** Every key in memory, each once. */
  *values(): Generator<State> {
    yield* [...this.#young.values()];
    for (const [key, state] of [...this.#old]) if (!this.#young.has(key)) yield state;
  }

  /** Called for each key whose entry was read or written, with the bytes that it holds more. */
  grow(bytes: number): void {
    this.#youngBytes += bytes;
  }

  /** Called between two transactions. */
  turn(): void {
    if (this.#youngBytes <= this.#bytesMax) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }
}

import type { StateKey } from '../ports/state-store.ts';
import { KeyState } from './key-state.ts';

/** What a Map slot, the key's text, the object and its Buffer cost beside their bytes, roughly. */
const keyOverheadBytes = 320;

/**
 * The keys that a table task knows, bounded. Two generations stand for a least-recently-used order: when the
 * young one is full it becomes the old one, and what the old one still held is forgotten.
 * Invariant: a key of the open transaction is never forgotten, since generations change only between two.
 */
export class KeyCache {
  readonly #bytesMax: number;
  #young = new Map<StateKey, KeyState>();
  #old = new Map<StateKey, KeyState>();
  #youngBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Keys in memory; one that is in both generations counts twice. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** The key's state, made with `stored` undefined where it is not known. */
  get(key: StateKey): KeyState {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    let state = this.#old.get(key);
    state ??= new KeyState(key, undefined);
    this.#young.set(key, state);
    this.#youngBytes += key.length + (state.stored?.length ?? 0) + keyOverheadBytes;
    return state;
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

import { KeyTable, userField, userFields } from './key-table.ts';

/** More than this a table's positions do not reach. */
const tableBytesMax = 2 ** 31;

/**
 * The keys that a table task knows, bounded. Two generations stand for a least-recently-used order: when the
 * young one is full it becomes the old one, and what the old one still held is forgotten.
 * Invariant: a key of the open transaction is never forgotten and keeps its number, since generations change only
 * between two; every number that is given out is of the young generation.
 */
export class KeyGenerations {
  readonly #bytesMax: number;
  #young = new KeyTable();
  #old = new KeyTable();

  constructor(bytesMax: number) {
    this.#bytesMax = Math.min(bytesMax, tableBytesMax);
  }

  /** Where the numbers of `get` lead; another one after each `turn`. */
  get table(): KeyTable {
    return this.#young;
  }

  /** Keys in memory; one that is in both generations counts twice. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** The number of a key; one that is not known gets an entry without value, whose numbers are 0. */
  get(hash: number, bytes: DataView, start: number, end: number): number {
    const young = this.#young;
    const found = young.find(hash, bytes, start, end);
    if (found >= 0) return found;
    const entry = young.insert(hash, bytes, start, end);
    const old = this.#old;
    if (old.size === 0) return entry;
    const before = old.find(hash, bytes, start, end);
    if (before >= 0) move(old, before, young, entry);
    return entry;
  }

  /** Called between two transactions. */
  turn(): void {
    if (this.#young.byteLength <= this.#bytesMax) return;
    const forgotten = this.#old;
    this.#old = this.#young;
    forgotten.clear();
    this.#young = forgotten;
  }
}

function move(from: KeyTable, before: number, to: KeyTable, entry: number): void {
  const start = from.valueStart(before);
  to.setValue(entry, from.valueView(before), start, start + from.valueLength(before));
  const source = from.recordStart(before);
  const target = to.recordStart(entry);
  const [block, own] = [from.recordBlock(before), to.recordBlock(entry)];
  for (let field = userField; field < userField + userFields; field += 1) {
    own[target + field] = block[source + field] as number;
  }
}

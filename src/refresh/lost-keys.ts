import type { KeyLoss, RowLoss } from './loss.ts';

/** What one output record says, as far as the loss goes. */
export type ScannedRecord = {
  /** Latin1 text of the key's canonical bytes, without a row number. */
  readonly key: string;
  /** Row number in output mode `rows`; 0 where a record is a whole row-set. */
  readonly position: number;
  /** Canonical text. */
  readonly sequence: string;
  /** The rows of this record that can't be read again. */
  readonly losses: readonly RowLoss[];
  /** What no row of it shows and counts nonetheless. */
  readonly hidden?: RowLoss | undefined;
};

type LostKey = {
  sequence: string;
  /** Row number → its losses. */
  readonly rows: Map<number, readonly RowLoss[]>;
  hidden: RowLoss | undefined;
  level: RowLoss | undefined;
};

/** What a map entry and its objects take beside the key; measured roughly. */
const keyBytes = 300;
const rowBytes = 200;

/**
 * Follows an output partition in its order and holds, at each point, exactly the keys that would lose something if
 * the log ended there. Invariant: a key that loses nothing takes no memory.
 *
 * In output mode `rows` a record of another sequence than the one before starts the key anew: what a crash has left of
 * the former set without tombstones comes first in the log.
 */
export class LostKeys {
  readonly #keys = new Map<string, LostKey>();
  #heldBytes = 0;

  get heldBytes(): number {
    return this.#heldBytes;
  }

  record({ key, position, sequence, losses, hidden }: ScannedRecord): void {
    let known = this.#keys.get(key);
    if (known === undefined) {
      if (losses.length === 0 && hidden === undefined) return;
      known = this.#add(key, sequence);
    } else if (known.sequence !== sequence) {
      for (const losses of known.rows.values()) this.#heldBytes -= losses.length * rowBytes;
      known.rows.clear();
      known.sequence = sequence;
    }
    this.#set(known, position, losses);
    known.hidden = hidden;
    this.#forgetEmpty(key, known);
  }

  #add(key: string, sequence: string): LostKey {
    const known: LostKey = { sequence, rows: new Map(), hidden: undefined, level: undefined };
    this.#keys.set(key, known);
    this.#heldBytes += key.length + keyBytes;
    return known;
  }

  #set(known: LostKey, position: number, losses: readonly RowLoss[]): void {
    this.#heldBytes -= (known.rows.get(position)?.length ?? 0) * rowBytes;
    if (losses.length === 0) {
      known.rows.delete(position);
    } else {
      known.rows.set(position, losses);
      this.#heldBytes += losses.length * rowBytes;
    }
  }

  tombstone(key: string, position: number): void {
    const known = this.#keys.get(key);
    if (known === undefined) return;
    this.#set(known, position, []);
    known.hidden = undefined;
    this.#forgetEmpty(key, known);
  }

  /** A record of the levels topic, which is read after the output: undefined, where the level is gone or comes back. */
  level(key: string, loss: RowLoss | undefined): void {
    let known = this.#keys.get(key);
    if (known === undefined) {
      if (loss === undefined) return;
      known = this.#add(key, '');
    }
    known.level = loss;
    this.#forgetEmpty(key, known);
  }

  #forgetEmpty(key: string, { rows, hidden, level }: LostKey): void {
    if (rows.size > 0 || hidden !== undefined || level !== undefined) return;
    this.#keys.delete(key);
    this.#heldBytes -= key.length + keyBytes;
  }

  /** Lets go of keys that another pass looks after. */
  drop(isUnwanted: (key: string) => boolean): void {
    for (const [key, { rows }] of this.#keys) {
      if (!isUnwanted(key)) continue;
      this.#keys.delete(key);
      this.#heldBytes -= key.length + keyBytes;
      for (const losses of rows.values()) this.#heldBytes -= losses.length * rowBytes;
    }
  }

  *losses(): Generator<KeyLoss> {
    for (const [key, { rows, hidden, level }] of this.#keys) {
      const ordered = [...rows].sort(([left], [right]) => left - right);
      yield { key, rows: ordered.flatMap(([, losses]) => losses), level: level ?? hidden };
    }
  }
}

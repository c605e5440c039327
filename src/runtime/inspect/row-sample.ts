import type { Provenance } from '../../data/provenance.ts';
import { rowLoss } from '../../refresh/loss.ts';
import type { SourceBounds } from '../../refresh/retention.ts';
import { halves, isInShare, type KeyShare, wholeShare } from '../worker/key-share.ts';

export type SampleFigures = {
  readonly keys: number;
  readonly rows: number;
  /** Rows that can't be read again for certain. */
  readonly lost: number;
  /** Rows that a compacted source may have lost, or lose any time. */
  readonly atRisk: number;
};

type Key = {
  sequence: string;
  /** Row number, 0 of a whole row-set → the sources of each of its rows. */
  readonly rows: Map<number, readonly (readonly Provenance[])[]>;
};

/**
 * Follows an output partition and holds where the rows of its keys came from: of all of them while they are few, of an even
 * part of them else. Invariant: no more than `keysMax` keys are held, and which ones depends on their hash alone, so
 * that figures of the part stand for the whole.
 */
export class RowSample {
  readonly #keysMax: number;
  readonly #keys = new Map<string, Key>();
  #share: KeyShare = wholeShare;

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  isWanted(key: string): boolean {
    return isInShare(key, this.#share);
  }

  record(
    key: string,
    position: number,
    sequence: string,
    rows: readonly (readonly Provenance[])[],
  ): void {
    const known = this.#keys.get(key) ?? { sequence, rows: new Map() };
    // A record of another sequence starts the key anew, whatever numbers the former set had.
    if (known.sequence !== sequence) known.rows.clear();
    known.sequence = sequence;
    known.rows.set(position, rows);
    this.#keys.set(key, known);
    while (this.#keys.size > this.#keysMax) {
      [this.#share] = halves(this.#share);
      for (const name of this.#keys.keys()) if (!this.isWanted(name)) this.#keys.delete(name);
    }
  }

  tombstone(key: string, position: number): void {
    const known = this.#keys.get(key);
    known?.rows.delete(position);
    if (known?.rows.size === 0) this.#keys.delete(key);
  }

  /** Of all keys, as the sample has them. */
  figures(bounds: SourceBounds): SampleFigures {
    const scale = 2 ** this.#share.bits;
    let rows = 0;
    let lost = 0;
    let atRisk = 0;
    for (const key of this.#keys.values()) {
      for (const sources of [...key.rows.values()].flat()) {
        rows += scale;
        const fate = rowLoss(bounds, sources)?.fate;
        if (fate === 'lost') lost += scale;
        if (fate === 'at_risk') atRisk += scale;
      }
    }
    return { keys: this.#keys.size * scale, rows, lost, atRisk };
  }
}

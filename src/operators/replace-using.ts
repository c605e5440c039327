import { compareSpans, equalSpans, type Span } from '../data/bytes.ts';
import { findRow, isVacant, type RowSet, type SetRow } from '../data/row-set.ts';

/** What became of one row: each is a counter of the row account. */
export type MergeOutcome = 'new' | 'replacing' | 'tied' | 'superseded' | 'duplicate' | 'distinct';

export type KeyRowSetOptions = {
  /** `arrival` keeps each row's position for ever, which is what numbered output records need. */
  readonly order: 'provenance' | 'arrival';
  /**
   * SELECT DISTINCT: a row that equals one of the row-set joins it, too, so that the provenance of every
   * equal row is known; the output shows such rows once.
   */
  readonly distinct: boolean;
};

/** One row on its way into the row-set of its key. */
export type MergeInput = { readonly sequence: Span; readonly provenance: Span; readonly row: Span };

/**
 * The row-set of one key while a transaction collects what happens to it. Invariants: the sequence
 * never decreases; every row carries that sequence; no provenance stands twice. Together they make the
 * merge commutative, associative and idempotent, so neither arrival order nor redelivery shows in the result.
 *
 * | sequence of the row against the key's | effect |
 * | --- | --- |
 * | key not seen | the row-set is this row |
 * | higher | the row-set is replaced by this row |
 * | equal | the row joins the row-set, unless its provenance is in it already |
 * | lower | nothing |
 *
 * A set that is held back until it is complete would live here: between `merge` and `rowSet`.
 */
export class KeyRowSet {
  readonly #options: KeyRowSetOptions;
  #sequence: Span | undefined;
  #rows: SetRow[];
  #positions: Map<string, number> | undefined;
  /** Numbers that no row has; the next ones take them. */
  #vacant: number[] = [];
  #changed = false;

  constructor(stored: RowSet | undefined, options: KeyRowSetOptions) {
    this.#options = options;
    this.#sequence = stored?.sequence;
    this.#rows = stored === undefined ? [] : [...stored.rows];
  }

  /** Whether anything differs from what was stored. */
  get changed(): boolean {
    return this.#changed;
  }

  get rowCount(): number {
    return this.#rows.length;
  }

  /** Undefined until the first row. */
  get rowSet(): RowSet | undefined {
    return this.#sequence === undefined
      ? undefined
      : { sequence: this.#sequence, rows: this.#rows };
  }

  merge(input: MergeInput): MergeOutcome {
    const order = this.#sequence === undefined ? 1 : compareSpans(input.sequence, this.#sequence);
    if (order < 0) return 'superseded';
    if (order > 0) {
      const outcome = this.#sequence === undefined ? 'new' : 'replacing';
      this.#sequence = input.sequence;
      this.#rows = [{ provenance: input.provenance, row: input.row }];
      this.#positions = undefined;
      this.#vacant = [];
      this.#changed = true;
      return outcome;
    }
    return this.#options.order === 'provenance' ? this.#join(input) : this.#append(input);
  }

  #join(input: MergeInput): MergeOutcome {
    const position = findRow(this.#rows, input.provenance);
    if (position >= 0) return this.#repeat(position, input);
    const isEqual = this.#isEqualToOne(input);
    this.#rows.splice(-1 - position, 0, { provenance: input.provenance, row: input.row });
    this.#changed = true;
    return isEqual ? 'distinct' : 'tied';
  }

  #isEqualToOne(input: MergeInput): boolean {
    return this.#options.distinct && this.#rows.some(({ row }) => equalSpans(row, input.row));
  }

  #append(input: MergeInput): MergeOutcome {
    const positions = this.#positions ?? this.#readPositions();
    this.#positions = positions;
    const text = spanText(input.provenance);
    const position = positions.get(text);
    if (position !== undefined) return this.#repeat(position, input);
    const isEqual = this.#isEqualToOne(input);
    // An equal row shares the number of the first one, wherever it stands itself.
    const free = (isEqual ? undefined : this.#vacant.shift()) ?? this.#rows.length;
    positions.set(text, free);
    this.#rows[free] = { provenance: input.provenance, row: input.row };
    this.#changed = true;
    return isEqual ? 'distinct' : 'tied';
  }

  #readPositions(): Map<string, number> {
    const positions = new Map<string, number>();
    this.#vacant = [];
    for (const [position, row] of this.#rows.entries()) {
      if (isVacant(row)) this.#vacant.push(position);
      else positions.set(spanText(row.provenance), position);
    }
    return positions;
  }

  /**
   * The same row once more. It differs only after the definition changed: then the newer one wins. Where the state
   * keeps no rows it cannot be compared, and is written again. So is a set with numbers that no row has: what a
   * writer without transactions left there is taken away.
   */
  #repeat(position: number, input: MergeInput): MergeOutcome {
    const known = (this.#rows[position] as SetRow).row;
    if (this.#vacant.length > 0) this.#changed = true;
    if (!equalSpans(known, input.row)) {
      this.#rows[position] = { provenance: input.provenance, row: input.row };
      this.#changed = true;
    }
    return 'duplicate';
  }
}

function spanText({ bytes, start, end }: Span): string {
  return bytes.toString('latin1', start, end);
}

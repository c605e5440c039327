/** One row of a flow's query, before the merge. */
export type ReferenceRow<Sequence> = {
  readonly key: string;
  readonly sequence: Sequence;
  /** Tells apart two rows that are equal, and makes one of a row that is read twice. */
  readonly provenance: string;
  readonly row: string;
};

export type ReferenceSet<Sequence> = {
  readonly sequence: Sequence;
  /** Provenance → row. */
  readonly rows: ReadonlyMap<string, string>;
};

/**
 * The definition of REPLACE USING in one pass: of each key the rows that carry its highest sequence.
 * Invariant: nothing here is shared with the product's own merge, so that a fault there is no fault here.
 */
export function reference<Sequence>(
  rows: Iterable<ReferenceRow<Sequence>>,
  compare: (a: Sequence, b: Sequence) => number,
): ReadonlyMap<string, ReferenceSet<Sequence>> {
  const sets = new Map<string, { sequence: Sequence; rows: Map<string, string> }>();
  for (const { key, sequence, provenance, row } of rows) {
    const set = sets.get(key);
    const order = set === undefined ? 1 : compare(sequence, set.sequence);
    if (order > 0) sets.set(key, { sequence, rows: new Map([[provenance, row]]) });
    else if (order === 0) set?.rows.set(provenance, row);
  }
  return sets;
}

/** One row of a flow's query, before the merge. */
export type ReferenceRow<Sequence> = {
  readonly key: string;
  readonly sequence: Sequence;
  /** Tells apart two rows that are equal, and makes one of a row that is read twice. */
  readonly provenance: string;
  /** undefined: no row, but a marker that the key has none at this sequence. */
  readonly row: string | undefined;
};

export type ReferenceSet<Sequence> = {
  readonly sequence: Sequence;
  /** Provenance → row. */
  readonly rows: ReadonlyMap<string, string>;
};

/**
 * The definition of REPLACE USING in one pass: of each key the rows that carry its highest sequence, and none where
 * only markers do.
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
    const rows = order > 0 ? new Map<string, string>() : set?.rows;
    if (order >= 0 && row !== undefined) rows?.set(provenance, row);
    if (order > 0 && rows !== undefined) sets.set(key, { sequence, rows });
  }
  return sets;
}

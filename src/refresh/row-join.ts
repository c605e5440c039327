/** One row with the bytes of its provenance (one, or several where equal rows are one). */
export type JoinRow = { readonly json: Buffer; readonly sources: readonly Buffer[] };

/** The rows of a key, or the level at which it has none. */
export type JoinSet = {
  /** Order-preserving bytes. */
  readonly sequence: Buffer;
  /** Empty: a level. */
  readonly rows: readonly JoinRow[];
  /** Where the marker of a level came from. */
  readonly levelSource?: Buffer | undefined;
};

export type Joined = {
  /** `fresh`: what was computed anew stands as it is. `kept`: what was there before stands as it is. */
  readonly stands: 'fresh' | 'kept' | 'joined';
  readonly set: JoinSet | undefined;
};

/**
 * What a key has when rows that can't be read again are inputs of the merge beside those that were. Invariant: it is
 * the merge of REPLACE USING: the higher sequence wins, equal ones unite by provenance, rows win over a level, and of
 * one provenance the row that was computed anew counts.
 */
export function joinKept(fresh: JoinSet | undefined, kept: JoinSet): Joined {
  if (fresh === undefined) return { stands: 'kept', set: kept };
  const order = kept.sequence.compare(fresh.sequence);
  if (order < 0) return { stands: 'fresh', set: fresh };
  if (order > 0) return { stands: 'kept', set: kept };
  const missing = missingRows(fresh, kept);
  if (missing.length === 0) return { stands: 'fresh', set: fresh };
  return {
    stands: 'joined',
    set: { sequence: fresh.sequence, rows: [...fresh.rows, ...missing] },
  };
}

/** Rows of which the other set has no source. */
function missingRows(fresh: JoinSet, kept: JoinSet): readonly JoinRow[] {
  const known = new Set(
    fresh.rows.flatMap(({ sources }) => sources.map((source) => source.toString('latin1'))),
  );
  return kept.rows.filter(
    ({ sources }) => !sources.some((source) => known.has(source.toString('latin1'))),
  );
}

/** Rows that are lost where the fresh set takes the place of all there was, given those that can't be read again. */
export function lostRows(fresh: JoinSet | undefined, unreadable: JoinSet): readonly JoinRow[] {
  if (fresh === undefined) return unreadable.rows;
  const order = unreadable.sequence.compare(fresh.sequence);
  if (order < 0) return [];
  return order > 0 ? unreadable.rows : missingRows(fresh, unreadable);
}

/** Whether two sets say the same, whatever the order of their rows. */
export function isSameSet(left: JoinSet, right: JoinSet): boolean {
  if (!left.sequence.equals(right.sequence) || left.rows.length !== right.rows.length) return false;
  const known = new Set(left.rows.map(rowText));
  return right.rows.every((row) => known.has(rowText(row)));
}

function rowText({ json, sources }: JoinRow): string {
  const places = sources.map((source) => source.toString('latin1')).sort();
  return `${json.toString('latin1')}\n${places.join('\n')}`;
}

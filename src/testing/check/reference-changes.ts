/** One change of a key, or of all keys. */
export type ReferenceChange = {
  readonly key: string;
  readonly sequence: number;
  /** undefined: a delete. */
  readonly row: string | undefined;
  readonly isTruncate?: true | undefined;
};

/**
 * The definition of AUTO CDC in one pass: of each key the row of its highest sequence, or (`history`) what it was from
 * each change on. At one sequence a delete counts before rows, and of rows the one with the higher text.
 * Invariant: nothing here is shared with the product's own merge, so that a fault there is no fault here.
 */
export function referenceChanges(
  changes: readonly ReferenceChange[],
  form: 'current' | 'history',
): ReadonlyMap<string, readonly string[]> {
  let floor = Number.NEGATIVE_INFINITY;
  for (const { sequence, isTruncate } of changes) {
    if (isTruncate === true) floor = Math.max(floor, sequence);
  }
  /** Key → sequence → its row, or null for a delete. */
  const keys = new Map<string, Map<number, string | null>>();
  for (const { key, sequence, row, isTruncate } of changes) {
    if (isTruncate === true || sequence <= floor) continue;
    const ofKey = keys.get(key) ?? new Map<number, string | null>();
    keys.set(key, ofKey);
    const known = ofKey.get(sequence);
    if (row === undefined) ofKey.set(sequence, null);
    else if (known === undefined || (known !== null && row > known)) ofKey.set(sequence, row);
  }
  const rows = new Map<string, readonly string[]>();
  for (const [key, ofKey] of keys) {
    const inOrder = [...ofKey].sort(([a], [b]) => a - b);
    const last = inOrder.at(-1)?.[1];
    const made = form === 'history' ? historyOf(inOrder) : typeof last === 'string' ? [last] : [];
    if (made.length > 0) rows.set(key, made);
  }
  return rows;
}

function historyOf(changes: readonly (readonly [number, string | null])[]): string[] {
  const rows: { readonly row: string; readonly start: number; end: number | null }[] = [];
  for (const [sequence, row] of changes) {
    const open = rows.at(-1)?.end === null ? rows.at(-1) : undefined;
    if (open !== undefined && open.row === row) continue;
    if (open !== undefined) open.end = sequence;
    if (row !== null) rows.push({ row, start: sequence, end: null });
  }
  return rows.map(
    ({ row, start, end }) => `${row.slice(0, -1)},"__START_AT":${start},"__END_AT":${end}}`,
  );
}

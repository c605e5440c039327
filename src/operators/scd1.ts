import { compareSpans, type Span } from '../data/bytes.ts';
import type { Change } from '../data/change.ts';

/** The row of a key as it stands, put together from the changes that give its columns. */
export type CurrentRow = {
  /** By position of the columns; undefined: no change gives it, so it is NULL. */
  readonly values: readonly (Span | undefined)[];
  /** What gives at least one column, highest first. */
  readonly changes: readonly Change[];
};

/**
 * The changes of one key that still count under SCD type 1, lowest first. Invariant: what is left out can never show
 * again, whatever else arrives; so taking changes in, in any order and any number of times, comes to one end.
 *
 * What counts, from the highest sequence down to the highest delete (or `floor`, the last truncate): the first upsert,
 * then each one that gives a column which none above it gave. With all columns given that is one. A delete counts while
 * a column is missing above it, for it is what keeps older values from filling it.
 */
export function keepCurrent(
  changes: readonly Change[],
  columns: readonly string[],
  floor: Span | undefined,
): readonly Change[] {
  const kept: Change[] = [];
  const missing = new Set(columns);
  for (let at = changes.length - 1; at >= 0; at -= 1) {
    const change = changes[at] as Change;
    if (floor !== undefined && compareSpans(change.sequence, floor) <= 0) break;
    if (change.isDelete) {
      kept.push(change);
      break;
    }
    const before = missing.size;
    for (const name of change.members.keys()) missing.delete(name);
    if (kept.length === 0 || missing.size < before) kept.push(change);
    if (missing.size === 0) break;
  }
  return kept.length === changes.length ? changes : kept.reverse();
}

/** The row that kept changes make; undefined: the key has none. */
export function currentRow(
  kept: readonly Change[],
  columns: readonly string[],
): CurrentRow | undefined {
  const upserts = kept.filter(({ isDelete }) => !isDelete).reverse();
  if (upserts.length === 0) return undefined;
  const values = columns.map((name) => {
    const giver = upserts.find(({ members }) => members.has(name));
    return giver?.members.get(name);
  });
  return { values, changes: upserts };
}

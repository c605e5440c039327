import { equalSpans } from '../data/bytes.ts';
import type { KeptRow } from '../data/kept-rows.ts';

/** What became of a row at its key; the rows that go with it are given out whatever it is. */
export type JoinOutcome = 'new' | 'tied' | 'replacing' | 'duplicate';

export type KeptRows = { readonly rows: readonly KeptRow[]; readonly outcome: JoinOutcome };

/**
 * The kept rows of a key with one more among them; the same array where it is there already. Invariant: it is a set by
 * side and provenance, so that which rows are kept depends on the rows that came, never on their order or on how often
 * they came. A provenance that is there is the same row read again: the newer one wins.
 */
export function withKeptRow(rows: readonly KeptRow[], input: KeptRow): KeptRows {
  const at = rows.findIndex((row) => isSameRow(row, input));
  const known = rows[at];
  if (known === undefined) {
    return { rows: [...rows, input], outcome: rows.length === 0 ? 'new' : 'tied' };
  }
  if (equalSpans(known.row, input.row)) return { rows, outcome: 'duplicate' };
  return { rows: rows.with(at, input), outcome: 'replacing' };
}

/** The rows, with a row and those that go with it marked for having a partner; the same array where all are. */
export function withMatches(
  rows: readonly KeptRow[],
  input: KeptRow,
  matches: ReadonlySet<KeptRow>,
): readonly KeptRow[] {
  if (matches.size === 0) return rows;
  const isNews = (row: KeptRow): boolean =>
    !row.isMatched && (matches.has(row) || isSameRow(row, input));
  return rows.some(isNews)
    ? rows.map((row) => (isNews(row) ? { ...row, isMatched: true } : row))
    : rows;
}

/** The pairs that a row may make with the rows of the other side, the left one first. */
export function* pairsOf(
  rows: readonly KeptRow[],
  row: KeptRow,
): Generator<readonly [left: KeptRow, right: KeptRow, other: KeptRow]> {
  for (const other of rows) {
    if (other.side === row.side) continue;
    if (row.side === 'left') yield [row, other, other];
    else yield [other, row, other];
  }
}

function isSameRow(a: KeptRow, b: KeptRow): boolean {
  return a.side === b.side && equalSpans(a.provenance, b.provenance);
}

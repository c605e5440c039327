import { compareSpans, equalSpans, type Span } from '../data/bytes.ts';
import type { Change } from '../data/change.ts';

/** One row of a key's history: what it was from a sequence on, up to another. */
export type HistoryRow = {
  /** By position of the columns; undefined: NULL. */
  readonly values: readonly (Span | undefined)[];
  readonly start: Span;
  /** undefined: it is what the key is now. */
  readonly end: Span | undefined;
  /** What made it what it is, lowest first; at least one. */
  readonly changes: readonly Change[];
};

export type HistoryColumns = {
  readonly names: readonly string[];
  /** Positions of the columns of which a change makes a new row of the history. */
  readonly tracked: readonly number[];
};

/**
 * The changes of one key that count under SCD type 2, lowest first: all, but at one sequence only the delete if there
 * is one, else the highest upsert and those below it that give what it lacks. Invariant: what is left out can never
 * show again, whatever else arrives, so the history does not depend on the order of arrival.
 */
export function keepHistory(
  changes: readonly Change[],
  columns: readonly string[],
): readonly Change[] {
  const kept: Change[] = [];
  let above: Change | undefined;
  let missing = new Set<string>();
  for (let at = changes.length - 1; at >= 0; at -= 1) {
    const change = changes[at] as Change;
    const isSame = above !== undefined && equalSpans(above.sequence, change.sequence);
    if (isSame && above?.isDelete === true) continue;
    if (!isSame) {
      above = change;
      missing = new Set(columns);
    }
    const before = missing.size;
    for (const name of change.members.keys()) missing.delete(name);
    if (!isSame || missing.size < before) kept.push(change);
  }
  return kept.length === changes.length ? changes : kept.reverse();
}

/**
 * The history that kept changes make. Upserts that follow each other are one row as long as no tracked column changes:
 * the others take their newest values, and the row starts where it did.
 */
export function historyOf(
  kept: readonly Change[],
  { names, tracked }: HistoryColumns,
): readonly HistoryRow[] {
  const rows: HistoryRow[] = [];
  let open: HistoryRow | undefined;
  for (const group of bySequence(kept)) {
    const [first] = group;
    if (first === undefined) continue;
    const { sequence } = first;
    if (first.isDelete) {
      if (open !== undefined) rows.push({ ...open, end: sequence });
      open = undefined;
      continue;
    }
    const values = names.map((name, position) => {
      const giver = group.findLast(({ members }) => members.has(name));
      return giver === undefined ? open?.values[position] : giver.members.get(name);
    });
    const before: HistoryRow | undefined = open;
    if (before !== undefined && tracked.every((at) => sameValue(before.values[at], values[at]))) {
      open = { ...before, values, changes: [...before.changes, ...group] };
      continue;
    }
    if (before !== undefined) rows.push({ ...before, end: sequence });
    open = { values, start: sequence, end: undefined, changes: group };
  }
  if (open !== undefined) rows.push(open);
  return rows;
}

function bySequence(changes: readonly Change[]): readonly Change[][] {
  const groups: Change[][] = [];
  for (const change of changes) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && compareSpans(last[0].sequence, change.sequence) === 0) {
      last.push(change);
    } else {
      groups.push([change]);
    }
  }
  return groups;
}

const nullText = Buffer.from('null', 'latin1');

/** A column that nobody gave is NULL, as one that is given as NULL. */
function sameValue(a: Span | undefined, b: Span | undefined): boolean {
  const whole = { bytes: nullText, start: 0, end: nullText.length };
  return equalSpans(a ?? whole, b ?? whole);
}

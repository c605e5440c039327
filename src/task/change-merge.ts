import type { Span } from '../data/bytes.ts';
import type { Change } from '../data/change.ts';
import { currentRow, keepCurrent } from '../operators/scd1.ts';
import { historyOf, keepHistory } from '../operators/scd2.ts';

/** One row of the table, put together from changes. */
export type MergedRow = {
  /** By position of the columns; undefined: NULL. */
  readonly values: readonly (Span | undefined)[];
  /** SCD type 2: the sequences between which it holds. */
  readonly history: { readonly start: Span; readonly end: Span | undefined } | undefined;
  readonly changes: readonly Change[];
};

/** What AUTO CDC keeps of the changes of a key, and which rows they make. */
export type ChangeMerge = {
  /** The columns of the rows between the stages. */
  readonly names: readonly string[];
  readonly keepsHistory: boolean;
  /** `floor`: the sequence of the last truncate. */
  readonly keep: (changes: readonly Change[], floor: Span | undefined) => readonly Change[];
  readonly rows: (kept: readonly Change[]) => readonly MergedRow[];
};

/** `tracked`: the columns of which a change makes a new row of the history; undefined: SCD type 1. */
export function changeMerge(
  names: readonly string[],
  tracked: readonly number[] | undefined,
): ChangeMerge {
  if (tracked === undefined) {
    return {
      names,
      keepsHistory: false,
      keep: (changes, floor) => keepCurrent(changes, names, floor),
      rows: (kept) => {
        const row = currentRow(kept, names);
        return row === undefined ? [] : [{ ...row, history: undefined }];
      },
    };
  }
  const columns = { names, tracked };
  return {
    names,
    keepsHistory: true,
    keep: (changes) => keepHistory(changes, names),
    rows: (kept) =>
      historyOf(kept, columns).map(({ values, start, end, changes }) => ({
        values,
        history: { start, end },
        changes,
      })),
  };
}

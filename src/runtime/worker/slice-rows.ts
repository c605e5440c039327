import { FlowTask } from '../../task/flow-task.ts';
import type { TableSlot } from './table-slot.ts';

/** What became of rows, by the words of the account; those that there were none of are left out. */
export type SliceRows = Readonly<Partial<Record<RowFate, number>>>;

type RowFate =
  | 'read'
  | 'filtered'
  | 'dropped'
  | 'late'
  | 'merged'
  | 'new'
  | 'replacing'
  | 'tied'
  | 'superseded'
  | 'duplicate';

type Fates = Partial<Record<RowFate, number>>;

/** Sums over the tasks that a slice goes through: its own, and the tables that take its rows in memory. */
export class RowFates {
  readonly #works: readonly (FlowTask | TableSlot)[];
  readonly #before: Fates;

  constructor(works: readonly (FlowTask | TableSlot)[]) {
    this.#works = works;
    this.#before = sums(works);
  }

  /** Since it was made. */
  take(): SliceRows {
    const now = sums(this.#works);
    const fates = Object.entries(now) as [RowFate, number][];
    return Object.fromEntries(
      fates
        .map(([fate, count]) => [fate, count - (this.#before[fate] ?? 0)] as const)
        .filter(([, count]) => count > 0),
    );
  }
}

function sums(works: readonly (FlowTask | TableSlot)[]): Fates {
  const total: Fates = {};
  for (const work of works) {
    for (const [fate, count] of Object.entries(fatesOf(work)) as [RowFate, number][]) {
      total[fate] = (total[fate] ?? 0) + count;
    }
  }
  return total;
}

function fatesOf(work: FlowTask | TableSlot): Fates {
  if (work instanceof FlowTask) {
    const { rows, filtered, dropped, late } = work.counters;
    return { read: rows, filtered, dropped, late };
  }
  const { rows, new: fresh, replacing, tied, superseded, duplicate } = work.task.counters;
  return { merged: rows, new: fresh, replacing, tied, superseded, duplicate };
}

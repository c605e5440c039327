import type { StateEntries } from '../../data/state-entries.ts';
import type { RecordSink } from '../../ports/log.ts';
import type { StateKey } from '../../ports/state-store.ts';
import type { RowSlice } from '../memory-shuffle.ts';
import type { TableCounters } from '../row-account.ts';

/** What one commit asks of the state store, once the transaction stands. */
export type TableEffects = {
  readonly entries: StateEntries;
  readonly outputRecords: number;
  /** Rows of a key that was written → how many such keys. */
  readonly setRows: ReadonlyMap<number, number>;
  /** Row-sets that stood at the last commit and gave way to a higher sequence, and the rows that went with them. */
  readonly replaced: Replaced;
};

export type Replaced = { readonly sets: number; readonly rows: number };

/** Of a task whose keys have no row-sets. */
export const nothingReplaced: Replaced = { sets: 0, rows: 0 };

/** Of such a task: each key that is left counts as one row. */
export function oneRowEach(entries: StateEntries): ReadonlyMap<number, number> {
  let left = 0;
  for (let index = 0; index < entries.count; index += 1) if (!entries.isGone(index)) left += 1;
  return left === 0 ? new Map() : new Map([[1, left]]);
}

/**
 * One partition of a table that keeps rows by their key: a slice of rows (of the repartition topic, or of the
 * flow stage of the same process) and the prefetched state in, records and state writes out. It reads nothing by itself and waits for nothing. Contract:
 * 1. Turn: `keysOf(slice)` → the runtime reads those keys → `process(entries)`, any number of times, then
 *    `effects(sink)` once per commit, then `applied()` when the transaction stands.
 * 2. A task whose transaction does not stand is thrown away.
 * 3. Where `needsAllKeys` is true after `keysOf`, the runtime gives every entry of the state to `takeKeys` before
 *    `process`: the slice has a row that concerns keys which it does not name.
 */
export interface KeyedTask {
  /** The account, the open transaction included. */
  readonly counters: TableCounters;
  /** Keys in memory, those of the open transaction included. */
  readonly keysHeld: number;
  readonly needsAllKeys: boolean;
  /** Takes over the counters that stand with the checkpoint. */
  startCounters(counters: TableCounters): void;
  /** Loads a slice and gives the keys whose entries `process` needs: all of them, and no others. */
  keysOf(slice: RowSlice): readonly StateKey[];
  takeKeys(entries: readonly (readonly [StateKey, Buffer])[]): void;
  /**
   * Merges the loaded slice. `entries` answers the keys of `keysOf`, by position. Records that stand for the slice
   * alone, whatever else the transaction has, go to the sink at once.
   */
  process(entries: readonly (Buffer | undefined)[], sink: RecordSink, nowMs: number): void;
  /**
   * Asked for after `process` where it is there: the keys whose entries `release` needs, which the rows that came have
   * made superfluous.
   */
  keysDue?(): readonly StateKey[];
  /** Lets go what is due. `entries` answers the keys of `keysDue`, by position. */
  release?(entries: readonly (Buffer | undefined)[], sink: RecordSink, nowMs: number): void;
  /** Appends the records of everything that changed since the last commit. */
  effects(sink: RecordSink, nowMs: number): TableEffects;
  /** The transaction stands. */
  applied(): void;
}

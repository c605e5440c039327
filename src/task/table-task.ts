import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { equalSpans, type Span } from '../data/bytes.ts';
import {
  decodeRowSet,
  encodeRowSet,
  equalRows,
  isLevelEntry,
  isVacant,
  type RowSet,
  type SetRow,
  singleEntry,
  storedRowCount,
} from '../data/row-set.ts';
import type { KeyRowSet, KeyRowSetOptions } from '../operators/replace-using.ts';
import type { OutputMode } from '../plan/pipeline-plan.ts';
import type { RecordSink, Slice } from '../ports/log.ts';
import type { StateKey } from '../ports/state-store.ts';
import { KeyCache } from './key-cache.ts';
import { KeyState } from './key-state.ts';
import type { KeyedTask, TableEffects } from './keyed-task.ts';
import { type OutputTarget, OutputWriter } from './output-record.ts';
import { emptyTableCounters, type TableCounters } from './row-account.ts';
import { RowBatch } from './row-batch.ts';
import type { TimeRuns } from './time-runs.ts';

export type TableTaskOptions = {
  readonly target: OutputTarget;
  readonly output: OutputMode;
  readonly rowSetRowsMax: number;
  /** Bound of what is kept of keys that were touched lately, in bytes. */
  readonly cacheBytesMax: number;
  /** Told when each row was made that comes in. */
  readonly times?: TimeRuns | undefined;
};

/**
 * One partition of one REPLACE USING table. Invariant: at most one output record (or one set of numbered records) per key and commit, always of
 * the key's final row-set in that commit.
 */
export class TableTask implements KeyedTask {
  readonly #options: TableTaskOptions;
  readonly #setOptions: KeyRowSetOptions;
  readonly #writer: OutputWriter;
  readonly #cache: KeyCache<KeyState>;
  readonly #batch = new RowBatch();
  /** The key of each row of the batch. */
  readonly #states: KeyState[] = [];
  /** Keys of the open transaction. */
  #touched: KeyState[] = [];
  #asked: KeyState[] = [];
  #transaction = 0;
  #counters: TableCounters = emptyTableCounters();
  /** The entries of `effects`, by position of `#touched`; undefined where nothing changed. */
  #entries: (Buffer | undefined)[] = [];

  constructor(options: TableTaskOptions) {
    this.#options = options;
    this.#setOptions = {
      order: options.output === 'rows' ? 'arrival' : 'provenance',
      distinct: options.target.distinct,
    };
    this.#writer = new OutputWriter(options.target);
    this.#cache = new KeyCache(options.cacheBytesMax, (key) => new KeyState(key, undefined));
  }

  /** Each row concerns its own key alone. */
  readonly needsAllKeys = false;

  takeKeys(): void {}

  /** The account, the open transaction included. */
  get counters(): TableCounters {
    return this.#counters;
  }

  /** Keys in memory, those of the open transaction included. */
  get keysHeld(): number {
    return this.#cache.size;
  }

  /** Takes over the counters that stand with the checkpoint. */
  startCounters(counters: TableCounters): void {
    this.#counters = { ...counters };
  }

  /** Loads a slice and gives the keys whose entries `process` needs: all of them, and no others. */
  keysOf(slice: Slice): readonly StateKey[] {
    const batch = this.#batch;
    batch.load(slice, this.#options.target.table, this.#options.times);
    this.#asked = [];
    for (let index = 0; index < batch.count; index += 1) {
      const state = this.#cache.get(batch.at(index).key);
      if (state.touchedIn !== this.#transaction) {
        state.touchedIn = this.#transaction;
        this.#touched.push(state);
        if (state.stored === undefined) this.#asked.push(state);
      }
      this.#states[index] = state;
    }
    return this.#asked.map(({ key }) => key);
  }

  /** Merges the loaded slice. `entries` answers the keys of `keysOf`, by position. */
  process(entries: readonly (Buffer | undefined)[]): void {
    assert(entries.length === this.#asked.length, 'every key that was asked for is answered');
    for (let index = 0; index < entries.length; index += 1) {
      const entry = entries[index];
      (this.#asked[index] as KeyState).stored = entry ?? null;
      this.#cache.grow(entry?.length ?? 0);
    }
    this.#asked = [];
    const batch = this.#batch;
    const counters = this.#counters;
    for (let index = 0; index < batch.count; index += 1) {
      const state = this.#states[index] as KeyState;
      counters.rows += 1;
      const row = batch.at(index);
      if (row.isReplayed) counters.replayed += 1;
      counters[state.merge(row, this.#setOptions)] += 1;
      if (state.rowSet !== undefined) this.#checkSize(state.key, state.rowSet);
    }
    batch.clear();
  }

  #checkSize(key: StateKey, rowSet: KeyRowSet): void {
    const { rowSetRowsMax, target, output } = this.#options;
    if (output === 'rows' || rowSet.rowCount <= rowSetRowsMax) return;
    throw new FlowError(
      'RECORD_TOO_LARGE',
      `the row-set of one key in table "${target.table}" has more than ${rowSetRowsMax} rows`,
      {
        detail: `Key ${Buffer.from(key, 'latin1').toString('utf8')} passed the bound max_row_set_rows.`,
        logDetail: 'A key passed the bound max_row_set_rows.',
        hint: "Raise max_row_set_rows on the table, or set output = 'rows', so that each row is a record of its own.",
      },
    );
  }

  /** Appends the records of everything that changed since the last commit. */
  effects(sink: RecordSink, nowMs: number): TableEffects {
    const keys: StateKey[] = [];
    const entries: Buffer[] = [];
    let outputRecords = 0;
    this.#entries = this.#touched.map((state) => {
      if (!state.isChanged) return undefined;
      const key = Buffer.from(state.key, 'latin1');
      this.#writeLevel(sink, key, state, nowMs);
      const entry = state.isSingle
        ? this.#singleEffects(sink, key, state, nowMs)
        : this.#setEffects(sink, key, state, nowMs);
      outputRecords += this.#emitted;
      keys.push(state.key);
      entries.push(entry);
      return entry;
    });
    return { keys, entries, outputRecords };
  }

  /** Records of the key that was emitted last. */
  #emitted = 0;

  #singleEffects(sink: RecordSink, key: Buffer, state: KeyState, nowMs: number): Buffer {
    const isNumbered = this.#options.output === 'rows';
    this.#emitted = 0;
    if (isNumbered) this.#bury(sink, key, state, 1, nowMs);
    this.#emitted += 1;
    if (state.isLevel) {
      // Also where no row stood before: the end of the output topic moves with every change of the state.
      this.#writer.emptied(sink, key, state, { isNumbered, nowMs });
    } else {
      this.#writer.single(sink, key, state, { isNumbered, nowMs });
    }
    const withRow = !isNumbered || this.#setOptions.distinct;
    const end = withRow ? state.rowEnd : state.rowStart;
    return singleEntry(state.bytes, state.envelopeStart, end);
  }

  #setEffects(sink: RecordSink, key: Buffer, state: KeyState, nowMs: number): Buffer {
    const rowSet = state.rowSet?.rowSet;
    assert(rowSet !== undefined, 'a key that changed has rows');
    if (this.#options.output === 'row_set') {
      this.#emitted = 1;
      this.#writer.rowSet(sink, key, rowSet, nowMs);
      return encodeRowSet(rowSet);
    }
    this.#emitted = 0;
    const { sequence } = rowSet;
    if (this.#setOptions.distinct) {
      const groups = equalRows(rowSet.rows);
      const before = equalRowsBefore(state, sequence);
      for (const [position, rows] of groups.entries()) {
        if (rows.some(isVacant)) this.#writer.tombstone(sink, key, position, nowMs);
        else if (isSameGroup(before[position], rows)) continue;
        else this.#writer.row(sink, key, { sequence, rows, position }, nowMs);
        this.#emitted += 1;
      }
      this.#bury(sink, key, state, groups.length, nowMs);
      return encodeRowSet({ sequence, rows: upToLast(rowSet.rows) });
    }
    for (const [position, row] of rowSet.rows.entries()) {
      if (isVacant(row)) this.#writer.tombstone(sink, key, position, nowMs);
      // Rows that were there before have no bytes in the state: their records stand as they are.
      else if (row.row.end === row.row.start) continue;
      else this.#writer.row(sink, key, { sequence, rows: [row], position }, nowMs);
      this.#emitted += 1;
    }
    this.#bury(sink, key, state, rowSet.rows.length, nowMs);
    return encodeRowSet(withoutBytes(sequence, upToLast(rowSet.rows)));
  }

  /** A level stands in the levels topic exactly while the output topic has no rows of the key. */
  #writeLevel(sink: RecordSink, key: Buffer, state: KeyState, nowMs: number): void {
    const { stored } = state;
    if (state.isLevel) this.#writer.level(sink, key, state, nowMs);
    else if (stored !== null && stored !== undefined && isLevelEntry(stored)) {
      this.#writer.level(sink, key, undefined, nowMs);
    }
  }

  /** How many numbers of a key have a record. With DISTINCT one stands for all equal rows. */
  #numbersOf(stored: Buffer): number {
    if (!this.#setOptions.distinct || isLevelEntry(stored)) return storedRowCount(stored);
    return equalRows(decodeRowSet(stored)?.rows ?? []).length;
  }

  /**
   * Tombstones for the numbers that the stored set had beyond the present one, from the last one down: a restore
   * that meets some of them knows how many numbers are left.
   */
  #bury(sink: RecordSink, key: Buffer, state: KeyState, from: number, nowMs: number): void {
    const { stored } = state;
    const before = stored === null || stored === undefined ? 0 : this.#numbersOf(stored);
    for (let position = before - 1; position >= from; position -= 1) {
      this.#writer.tombstone(sink, key, position, nowMs);
      this.#emitted += 1;
    }
  }

  /** The transaction stands. */
  applied(): void {
    for (const [index, state] of this.#touched.entries()) {
      const entry = this.#entries[index];
      if (entry !== undefined) this.#cache.grow(entry.length - (state.stored?.length ?? 0));
      state.settle(entry ?? state.stored);
    }
    this.#touched = [];
    this.#entries = [];
    this.#transaction += 1;
    this.#cache.turn();
  }
}

const nothing = Buffer.alloc(0);

/** What the numbers of a DISTINCT key stand for, as long as the sequence is the same. */
function equalRowsBefore({ stored }: KeyState, sequence: Span): readonly (readonly SetRow[])[] {
  const before = stored === null || stored === undefined ? undefined : decodeRowSet(stored);
  const isSameSet = before !== undefined && equalSpans(before.sequence, sequence);
  return isSameSet ? equalRows(before.rows) : [];
}

/** Equal rows have one text, so the first speaks for all; a row more is a provenance more. */
function isSameGroup(before: readonly SetRow[] | undefined, now: readonly SetRow[]): boolean {
  if (before === undefined || before.length !== now.length) return false;
  return equalSpans((before[0] as SetRow).row, (now[0] as SetRow).row);
}

/** Without the numbers at the end that no row has: their records are gone. */
function upToLast(rows: readonly SetRow[]): readonly SetRow[] {
  let end = rows.length;
  while (end > 0 && isVacant(rows[end - 1] as SetRow)) end -= 1;
  return rows.slice(0, end);
}

/** In mode `rows` the state keeps where the rows came from, not the rows; with DISTINCT it needs both. */
function withoutBytes(sequence: Span, rows: readonly SetRow[]): RowSet {
  const row = { bytes: nothing, start: 0, end: 0 };
  return { sequence, rows: rows.map(({ provenance }) => ({ provenance, row })) };
}

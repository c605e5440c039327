import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { equalSpans, type Span } from '../data/bytes.ts';
import {
  decodeRowSet,
  encodeRowSet,
  equalRows,
  isLevelEntry,
  isVacant,
  makeSingleEntry,
  type RowSet,
  type SetRow,
  storedRowCount,
} from '../data/row-set.ts';
import { StateEntries } from '../data/state-entries.ts';
import type { KeyRowSetOptions } from '../operators/replace-using.ts';
import type { OutputMode } from '../plan/pipeline-plan.ts';
import type { RecordSink } from '../ports/log.ts';
import type { StateKey } from '../ports/state-store.ts';
import { HeldRow, KeyStates } from './key/key-state.ts';
import { mixedHash } from './key/key-table.ts';
import type { KeyedTask, TableEffects } from './key/keyed-task.ts';
import type { RowSlice } from './memory-shuffle.ts';
import { type OutputTarget, OutputWriter } from './output/output-record.ts';
import { RowBatch } from './row/row-batch.ts';
import { emptyTableCounters, type TableCounters } from './row-account.ts';
import type { TimeRuns } from './time-runs.ts';

export type TableTaskOptions = {
  readonly target: OutputTarget;
  readonly output: OutputMode;
  readonly rowSetRowsMax: number;
  /** LIMIT: rows that are let through over the life of the checkpoint; absent: all. */
  readonly limit?: number | undefined;
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
  readonly #keys: KeyStates;
  readonly #batch = new RowBatch();
  readonly #marksFirst: boolean;
  /** The number of the key of each row of the batch. */
  readonly #keyOf: number[] = [];
  readonly #asked: number[] = [];
  #counters: TableCounters = emptyTableCounters();
  readonly #key: { bytes: Buffer; start: number; end: number } = {
    bytes: nothing,
    start: 0,
    end: 0,
  };
  readonly #held = new HeldRow();

  constructor(options: TableTaskOptions) {
    this.#options = options;
    this.#setOptions = {
      order: options.output === 'rows' ? 'arrival' : 'provenance',
      distinct: options.target.distinct,
    };
    this.#writer = new OutputWriter(options.target);
    this.#marksFirst = options.target.marksFirst === true;
    this.#keys = new KeyStates(this.#setOptions, options.cacheBytesMax);
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
    return this.#keys.size;
  }

  /** Takes over the counters that stand with the checkpoint. */
  startCounters(counters: TableCounters): void {
    this.#counters = { ...counters };
  }

  /** Loads a slice and gives the keys whose entries `process` needs: all of them, and no others. */
  keysOf(slice: RowSlice): readonly StateKey[] {
    const batch = this.#batch;
    const keys = this.#keys;
    const keyOf = this.#keyOf;
    batch.load(slice, this.#options.target.table, this.#options.times);
    const { count } = batch;
    for (let index = 0; index < count; index += 1) {
      keyOf[index] = mixedHash(batch.at(index).keyHash);
    }
    keys.prefetch(keyOf, count);
    const asked: StateKey[] = [];
    this.#asked.length = 0;
    for (let index = 0; index < count; index += 1) {
      const key = keys.get(keyOf[index] as number, batch.at(index));
      keyOf[index] = key;
      if (!keys.isUnread(key) || !keys.ask(key)) continue;
      this.#asked.push(key);
      asked.push(keys.keyText(key));
    }
    return asked;
  }

  /** Merges the loaded slice. `entries` answers the keys of `keysOf`, by position. */
  process(entries: readonly (Buffer | undefined)[]): void {
    const asked = this.#asked;
    assert(entries.length === asked.length, 'every key that was asked for is answered');
    const keys = this.#keys;
    for (let index = 0; index < asked.length; index += 1) {
      keys.setStored(asked[index] as number, entries[index]);
    }
    asked.length = 0;
    const batch = this.#batch;
    const counters = this.#counters;
    const isBounded = this.#options.output === 'row_set';
    const { limit } = this.#options;
    for (let index = 0; index < batch.count; index += 1) {
      const key = this.#keyOf[index] as number;
      const row = batch.at(index);
      counters.rows += 1;
      if (row.isReplayed) counters.replayed += 1;
      if (limit !== undefined && admitted(counters) >= limit) {
        counters.limited += 1;
        continue;
      }
      const outcome = keys.merge(key, row);
      counters[outcome] += 1;
      if (isBounded && (outcome === 'tied' || outcome === 'distinct')) this.#checkSize(key);
    }
    batch.clear();
  }

  #checkSize(key: number): void {
    const { rowSetRowsMax, target } = this.#options;
    const rowCount = this.#keys.rowSet(key)?.rowCount ?? 0;
    if (rowCount <= rowSetRowsMax) return;
    throw new FlowError(
      'RECORD_TOO_LARGE',
      `the row-set of one key in table "${target.table}" has more than ${rowSetRowsMax} rows`,
      {
        detail: `Key ${Buffer.from(this.#keys.keyText(key), 'latin1').toString('utf8')} passed the bound max_row_set_rows.`,
        hint: "Raise max_row_set_rows on the table, or set output = 'rows', so that each row is a record of its own.",
      },
    );
  }

  /**
   * Appends the records of everything that changed since the last commit. Keys with one row come in the order of their
   * rows: their bytes, keys included, lie one behind the other, while a key's place in the table is anywhere in memory.
   */
  effects(sink: RecordSink, nowMs: number): TableEffects {
    const states = this.#keys;
    const entries = new StateEntries();
    const done = { sink, nowMs, entries, outputRecords: 0, replacedSets: 0, replacedRows: 0 };
    const held = this.#held;
    const key = this.#key;
    let levels = 0;
    for (let hold = 0; hold < states.holdCount; hold += 1) {
      const state = states.heldKey(hold);
      if (state < 0) continue;
      states.loadSingle(state, held);
      key.bytes = held.bytes;
      key.start = states.heldKeyStart(hold);
      key.end = key.start + states.keyLength(state);
      const isLevel = states.isLevel(state);
      if (isLevel) levels += 1;
      this.#writeLevel(done, key, state, isLevel);
      this.#singleEffects(done, key, state, isLevel);
    }
    const singles = entries.count - levels;
    const setRows = new Map<number, number>();
    if (singles > 0) setRows.set(1, singles);
    if (levels > 0) setRows.set(0, levels);
    for (let index = 0; index < states.rowSetCount; index += 1) {
      const state = states.rowSetKey(index);
      if (state < 0) continue;
      const rowSet = states.rowSet(state);
      if (rowSet?.changed !== true) {
        states.settleRowSet(state, undefined);
        continue;
      }
      key.bytes = states.keyBytes(state);
      key.start = states.keyStart(state);
      key.end = key.start + states.keyLength(state);
      this.#writeLevel(done, key, state, false);
      const entry = this.#setEffects(done, key, state);
      const rows = storedRowCount(entry);
      setRows.set(rows, (setRows.get(rows) ?? 0) + 1);
      this.#countReplaced(done, this.#replacedRows(state));
      entries.addText(states.keyText(state), entry);
      states.settleRowSet(state, entry);
    }
    const replaced = { sets: done.replacedSets, rows: done.replacedRows };
    return { entries, outputRecords: done.outputRecords, setRows, replaced };
  }

  #countReplaced(done: Emission, rows: number): void {
    if (rows === 0) return;
    done.replacedSets += 1;
    done.replacedRows += rows;
  }

  /** Rows that stood at the last commit, of a key whose sequence is another one now. */
  #replacedRows(state: number): number {
    const states = this.#keys;
    const count = states.wasLevel(state) ? 0 : states.storedNumbers(state);
    if (count === 0 || states.isSingle(state)) return count;
    const sequence = states.rowSet(state)?.rowSet?.sequence;
    const isSame = sequence !== undefined && states.isStoredSequence(state, sequence);
    return isSame ? 0 : count;
  }

  #singleEffects(done: Emission, key: Span, state: number, isLevel: boolean): void {
    const { sink, nowMs, entries } = done;
    const isNumbered = this.#options.output === 'rows';
    const held = this.#held;
    if (isNumbered) this.#bury(done, key, state, 1);
    done.outputRecords += 1;
    this.#writer.isFirst = this.#marksFirst && this.#keys.isNeverSeen(state);
    if (isLevel) {
      // Also where no row stood before: the end of the output topic moves with every change of the state.
      this.#writer.emptied(sink, key, held, { isNumbered, nowMs });
    } else {
      this.#writer.single(sink, key, held, { isNumbered, nowMs });
    }
    this.#countReplaced(done, this.#replacedRows(state));
    const withRow = !isNumbered || this.#setOptions.distinct;
    const end = withRow ? held.rowEnd : held.rowStart;
    const index = entries.count;
    entries.add(held.view, key.start, key.end, held.envelopeStart, end);
    const start = entries.valueStart(index);
    makeSingleEntry(entries.bytesOf(index), start);
    const length = end - held.envelopeStart;
    this.#keys.settleSingle(state, entries.viewOf(index), start, start + length);
  }

  #setEffects(done: Emission, key: Span, state: number): Buffer {
    const { sink, nowMs } = done;
    const rowSet = this.#keys.rowSet(state)?.rowSet;
    assert(rowSet !== undefined, 'a key that changed has rows');
    this.#writer.isFirst = this.#marksFirst && this.#keys.isNeverSeen(state);
    if (this.#options.output === 'row_set') {
      done.outputRecords += 1;
      this.#writer.rowSet(sink, key, rowSet, nowMs);
      return encodeRowSet(rowSet);
    }
    const { sequence } = rowSet;
    if (this.#setOptions.distinct) {
      const groups = equalRows(rowSet.rows);
      const before = equalRowsBefore(this.#keys.stored(state), sequence);
      for (const [position, rows] of groups.entries()) {
        if (rows.some(isVacant)) this.#writer.tombstone(sink, key, position, nowMs);
        else if (isSameGroup(before[position], rows)) continue;
        else this.#writer.row(sink, key, { sequence, rows, position }, nowMs);
        done.outputRecords += 1;
      }
      this.#bury(done, key, state, groups.length);
      return encodeRowSet({ sequence, rows: upToLast(rowSet.rows) });
    }
    for (const [position, row] of rowSet.rows.entries()) {
      if (isVacant(row)) this.#writer.tombstone(sink, key, position, nowMs);
      // Rows that were there before have no bytes in the state: their records stand as they are.
      else if (row.row.end === row.row.start) continue;
      else this.#writer.row(sink, key, { sequence, rows: [row], position }, nowMs);
      done.outputRecords += 1;
    }
    this.#bury(done, key, state, rowSet.rows.length);
    return encodeRowSet(withoutBytes(sequence, upToLast(rowSet.rows)));
  }

  /** A level stands in the levels topic exactly while the output topic has no rows of the key. */
  #writeLevel({ sink, nowMs }: Emission, key: Span, state: number, isLevel: boolean): void {
    this.#writer.isFirst = false;
    if (isLevel) this.#writer.level(sink, key, this.#held, nowMs);
    else if (this.#keys.wasLevel(state)) this.#writer.level(sink, key, undefined, nowMs);
  }

  /** How many numbers of a key have a record. With DISTINCT one stands for all equal rows. */
  readonly #numbersOf = (stored: Buffer): number => {
    if (!this.#setOptions.distinct || isLevelEntry(stored)) return storedRowCount(stored);
    return equalRows(decodeRowSet(stored)?.rows ?? []).length;
  };

  /**
   * Tombstones for the numbers that the stored set had beyond the present one, from the last one down: a restore
   * that meets some of them knows how many numbers are left.
   */
  #bury(done: Emission, key: Span, state: number, from: number): void {
    const before = this.#keys.storedNumbers(state, this.#numbersOf);
    for (let position = before - 1; position >= from; position -= 1) {
      this.#writer.tombstone(done.sink, key, position, done.nowMs);
      done.outputRecords += 1;
    }
  }

  /** `effects` has let go of everything: where the transaction does not stand, so does the task. */
  applied(): void {
    this.#keys.endTransaction();
  }
}

/** What `effects` adds up from key to key. */
type Emission = {
  readonly sink: RecordSink;
  readonly nowMs: number;
  readonly entries: StateEntries;
  outputRecords: number;
  replacedSets: number;
  replacedRows: number;
};

/** Rows that count against LIMIT: the account rides with the checkpoint, and so does what remains. */
function admitted({ rows, limited, duplicate }: TableCounters): number {
  return rows - 1 - limited - duplicate;
}

const nothing = Buffer.alloc(0);

/** What the numbers of a DISTINCT key stand for, as long as the sequence is the same. */
function equalRowsBefore(
  stored: Buffer | undefined,
  sequence: Span,
): readonly (readonly SetRow[])[] {
  const before = stored === undefined ? undefined : decodeRowSet(stored);
  const isSameSet = before !== undefined && equalSpans(before.sequence, sequence);
  return isSameSet ? equalRows(before.rows) : [];
}

/** Equal rows have one text, so the first speaks for all. Where they come from stands in the record, too. */
function isSameGroup(before: readonly SetRow[] | undefined, now: readonly SetRow[]): boolean {
  if (before === undefined || before.length !== now.length) return false;
  if (!equalSpans((before[0] as SetRow).row, (now[0] as SetRow).row)) return false;
  return now.every((row, at) => equalSpans((before[at] as SetRow).provenance, row.provenance));
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

import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { compareSpans, type Span } from '../data/bytes.ts';
import { Change, decodeChanges, encodeChanges, withChange } from '../data/change.ts';
import { provenanceSize } from '../data/provenance.ts';
import { deleteFlag, truncateFlag, truncateKey } from '../data/row-envelope.ts';
import { StateEntries } from '../data/state-entries.ts';
import type { MergeOutcome } from '../operators/replace-using.ts';
import type { RecordSink } from '../ports/log.ts';
import type { StateKey } from '../ports/state-store.ts';
import type { ChangeMerge } from './change-merge.ts';
import { KeyCache } from './key/key-cache.ts';
import { unknownEntry } from './key/key-state.ts';
import {
  type KeyedTask,
  nothingReplaced,
  oneRowEach,
  type TableEffects,
} from './key/keyed-task.ts';
import type { RowSlice } from './memory-shuffle.ts';
import { ChangeOutput, type ChangeTarget } from './output/change-output.ts';
import { type LoadedRow, RowBatch } from './row/row-batch.ts';
import { emptyTableCounters, type TableCounters } from './row-account.ts';
import type { TimeRuns } from './time-runs.ts';

export type ChangeTaskOptions = {
  readonly target: ChangeTarget;
  readonly merge: ChangeMerge;
  /** Of the history of one key. */
  readonly historyRowsMax: number;
  /** Bound of what is kept of keys that were touched lately, in bytes. */
  readonly cacheBytesMax: number;
  /** Told when each row was handed on. */
  readonly times?: TimeRuns | undefined;
};

/** What the task knows of one key: its entry in the state store, and what the open transaction made of it. */
class ChangedKey {
  readonly key: StateKey;
  /** undefined: to be read; null: nothing is known of it. */
  stored: Buffer | null | undefined;
  /** Transaction that touched it last. */
  touchedIn = -1;
  /** undefined: not looked at in this transaction. */
  changes: readonly Change[] | undefined;
  isChanged = false;

  constructor(key: StateKey) {
    this.key = key;
  }
}

/**
 * One partition of one AUTO CDC table, whichever flows write it. Invariant: what is kept of a key depends on the set of
 * changes that came, never on their order, their batches or how often they came; and at most one output record per
 * key and commit tells of it.
 */
export class ChangeTask implements KeyedTask {
  readonly #options: ChangeTaskOptions;
  readonly #output: ChangeOutput;
  readonly #cache: KeyCache<ChangedKey>;
  readonly #batch = new RowBatch();
  /** The key of each row of the batch; that of truncates is `#floor`. */
  readonly #states: ChangedKey[] = [];
  /** The last truncate: every change at or below its sequence is dead. */
  readonly #floor = new ChangedKey(truncateKey);
  #touched: ChangedKey[] = [];
  #asked: ChangedKey[] = [];
  #transaction = 0;
  #counters: TableCounters = emptyTableCounters();
  #entries: (Buffer | null)[] = [];
  #needsAllKeys = false;

  constructor(options: ChangeTaskOptions) {
    this.#options = options;
    this.#output = new ChangeOutput(options.target, options.merge);
    this.#cache = new KeyCache(options.cacheBytesMax, (key) => new ChangedKey(key));
  }

  get counters(): TableCounters {
    return this.#counters;
  }

  get keysHeld(): number {
    return this.#cache.size;
  }

  get needsAllKeys(): boolean {
    return this.#needsAllKeys;
  }

  startCounters(counters: TableCounters): void {
    this.#counters = { ...counters };
  }

  keysOf(slice: RowSlice): readonly StateKey[] {
    const batch = this.#batch;
    batch.load(slice, this.#options.target.table, this.#options.times);
    this.#asked = this.#floor.stored === undefined ? [this.#floor] : [];
    this.#needsAllKeys = false;
    for (let index = 0; index < batch.count; index += 1) {
      const row = batch.at(index);
      if ((row.flags & truncateFlag) !== 0) {
        this.#needsAllKeys = true;
        this.#states[index] = this.#floor;
        continue;
      }
      const state = this.#cache.get(row.key);
      if (this.#touch(state) && state.stored === undefined) this.#asked.push(state);
      this.#states[index] = state;
    }
    return this.#asked.map(({ key }) => key);
  }

  /** Whether it is the first time in this transaction. */
  #touch(state: ChangedKey): boolean {
    if (state.touchedIn === this.#transaction) return false;
    state.touchedIn = this.#transaction;
    this.#touched.push(state);
    return true;
  }

  takeKeys(entries: readonly (readonly [StateKey, Buffer])[]): void {
    for (const [key, entry] of entries) {
      // Beside the rows there are entries about the state itself: their keys are no JSON.
      if (!key.startsWith('{')) continue;
      const state = this.#cache.get(key);
      if (state.stored === undefined) {
        state.stored = entry;
        this.#cache.grow(entry.length);
      }
      this.#touch(state);
    }
  }

  process(entries: readonly (Buffer | undefined)[]): void {
    assert(entries.length === this.#asked.length, 'every key that was asked for is answered');
    for (let index = 0; index < entries.length; index += 1) {
      const entry = entries[index];
      (this.#asked[index] as ChangedKey).stored = entry ?? null;
      this.#cache.grow(entry?.length ?? 0);
    }
    this.#asked = [];
    const batch = this.#batch;
    if (this.#needsAllKeys) this.#truncate();
    const floor = this.#floorSequence();
    for (let index = 0; index < batch.count; index += 1) {
      const row = batch.at(index);
      if ((row.flags & truncateFlag) !== 0) continue;
      this.#count(row, this.#merge(this.#states[index] as ChangedKey, changeOf(row), floor));
    }
    batch.clear();
  }

  #count({ isReplayed }: LoadedRow, outcome: MergeOutcome): void {
    this.#counters.rows += 1;
    if (isReplayed) this.#counters.replayed += 1;
    this.#counters[outcome] += 1;
  }

  /** The truncates of the batch first, whatever stands before them: the order does not show in the result. */
  #truncate(): void {
    const batch = this.#batch;
    for (let index = 0; index < batch.count; index += 1) {
      const row = batch.at(index);
      if ((row.flags & truncateFlag) === 0) continue;
      const outcome = this.#raiseFloor(changeOf(row));
      // Every partition hears of a truncate, and one of them counts it.
      if (this.#options.target.partition === 0) this.#count(row, outcome);
    }
    const floor = this.#floorSequence();
    for (const state of this.#cache.values()) {
      if (state.stored === undefined || (state.stored === null && state.changes === undefined)) {
        continue;
      }
      this.#touch(state);
      this.#open(state, floor);
    }
  }

  #raiseFloor(change: Change): MergeOutcome {
    const present = this.#floorSequence();
    const order = present === undefined ? 1 : compareSpans(change.sequence, present);
    if (order < 0) return 'superseded';
    this.#touch(this.#floor);
    if (order === 0) return 'duplicate';
    this.#floor.changes = [change];
    this.#floor.isChanged = true;
    return present === undefined ? 'new' : 'replacing';
  }

  #floorSequence(): Span | undefined {
    const floor = this.#floor;
    floor.changes ??= decoded(floor.stored);
    return floor.changes[0]?.sequence;
  }

  /** What counts of a key, under the last truncate. */
  #open(state: ChangedKey, floor: Span | undefined): readonly Change[] {
    const known = state.changes ?? decoded(state.stored);
    const kept = this.#options.merge.keep(known, floor);
    if (kept !== known) state.isChanged = true;
    state.changes = kept;
    return kept;
  }

  #merge(state: ChangedKey, change: Change, floor: Span | undefined): MergeOutcome {
    const before = this.#open(state, floor);
    const merged = withChange(before, change);
    if (merged === before) {
      // Without transactions its level may stand where its tombstone was lost: it is written again.
      if (change.isDelete) state.isChanged = true;
      return 'duplicate';
    }
    const kept = this.#options.merge.keep(merged, floor);
    if (sameChanges(kept, before)) return 'superseded';
    state.changes = kept;
    state.isChanged = true;
    return before.length === 0 ? 'new' : 'replacing';
  }

  effects(sink: RecordSink, nowMs: number): TableEffects {
    const entries = new StateEntries();
    let outputRecords = 0;
    this.#entries = this.#touched.map((state) => {
      const { changes, isChanged, key } = state;
      if (!isChanged || changes === undefined) return state.stored ?? null;
      const entry = changes.length === 0 ? undefined : encodeChanges(changes);
      if (state === this.#floor) this.#output.floor(sink, changes, nowMs);
      else outputRecords += this.#write(sink, state, changes, nowMs);
      entries.addText(key, entry);
      return entry ?? null;
    });
    const setRows = oneRowEach(entries);
    this.#keepFloor(entries);
    return { entries, outputRecords, setRows, replaced: nothingReplaced };
  }

  /**
   * The last truncate goes along with whatever is written. Where it came without any row, the end of the output topic did
   * not move with it, so nothing was written then; and how far the levels topic is in the state must not tell more than
   * the state holds.
   */
  #keepFloor(entries: StateEntries): void {
    const { key, stored, isChanged } = this.#floor;
    if (entries.count === 0 || isChanged || stored === null || stored === undefined) return;
    entries.addText(key, stored);
  }

  /** Gives the number of output records. */
  #write(sink: RecordSink, state: ChangedKey, changes: readonly Change[], nowMs: number): number {
    const key = Buffer.from(state.key, 'latin1');
    const before = decoded(state.stored);
    const rows = this.#options.merge.rows(changes);
    this.#checkSize(state.key, rows.length);
    // A level stands in the levels topic exactly while the output topic has no rows of the key.
    if (rows.length === 0 && changes.length > 0) {
      this.#output.level(sink, key, changes, nowMs);
    } else if (before.length > 0 && before.every(({ isDelete }) => isDelete)) {
      this.#output.level(sink, key, undefined, nowMs);
    }
    const isFirst = before.length === 0;
    this.#output.rows(sink, key, { rows, changes, isFirst, nowMs });
    return 1;
  }

  #checkSize(key: StateKey, rows: number): void {
    const { historyRowsMax, target } = this.#options;
    if (rows <= historyRowsMax) return;
    throw new FlowError(
      'RECORD_TOO_LARGE',
      `the history of one key in table "${target.table}" has more than ${historyRowsMax} rows`,
      {
        detail: `Key ${Buffer.from(key, 'latin1').toString('utf8')} passed the bound max_row_set_rows.`,
        hint: 'Raise max_row_set_rows on the table, or track fewer columns with TRACK HISTORY ON.',
      },
    );
  }

  applied(): void {
    for (const [index, state] of this.#touched.entries()) {
      const entry = this.#entries[index] ?? null;
      if (state !== this.#floor && entry !== state.stored) {
        this.#cache.grow((entry?.length ?? 0) - (state.stored?.length ?? 0));
      }
      state.stored = entry;
      state.changes = undefined;
      state.isChanged = false;
    }
    this.#touched = [];
    this.#entries = [];
    this.#transaction += 1;
    this.#cache.turn();
  }
}

function decoded(stored: Buffer | null | undefined): readonly Change[] {
  if (stored === null || stored === undefined) return [];
  const changes = decodeChanges(stored);
  if (changes === undefined) throw unknownEntry();
  return changes;
}

function changeOf(row: LoadedRow): Change {
  const { bytes, sequenceStart, sequenceEnd, provenanceStart, rowStart, valueEnd, flags } = row;
  return new Change(
    { bytes, start: sequenceStart, end: sequenceEnd },
    (flags & (deleteFlag | truncateFlag)) !== 0,
    { bytes, start: provenanceStart, end: provenanceStart + provenanceSize },
    { bytes, start: rowStart, end: valueEnd },
  );
}

function sameChanges(left: readonly Change[], right: readonly Change[]): boolean {
  return left.length === right.length && left.every((change, at) => change === right[at]);
}

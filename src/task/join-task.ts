import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { decodeKeptRows, encodeKeptRows, type KeptRow } from '../data/kept-rows.ts';
import { provenanceSize } from '../data/provenance.ts';
import { type RowDecoder, rowDecoder } from '../data/row-decoder.ts';
import type { Column } from '../data/types.ts';
import type { Row } from '../data/value.ts';
import { compile } from '../expr/compile.ts';
import type { Evaluator, Frame } from '../expr/expression.ts';
import { pairsOf, withKeptRow } from '../operators/stream-join.ts';
import type { StreamJoinPlan } from '../plan/pipeline-plan.ts';
import type { RecordSink } from '../ports/log.ts';
import type { StateKey } from '../ports/state-store.ts';
import { JoinOutput, type JoinTarget } from './join-output.ts';
import { joinedProvenance } from './joined-provenance.ts';
import { KeyCache } from './key-cache.ts';
import { unknownEntry } from './key-state.ts';
import type { KeyedTask, TableEffects } from './keyed-task.ts';
import type { RowSlice } from './memory-shuffle.ts';
import { emptyTableCounters, type TableCounters } from './row-account.ts';
import { type LoadedRow, RowBatch } from './row-batch.ts';
import type { TimeRuns } from './time-runs.ts';

export type JoinTaskOptions = {
  readonly target: JoinTarget;
  readonly join: StreamJoinPlan;
  /** Of a joined row. */
  readonly columns: readonly Column[];
  readonly timeZone: string;
  /** Of the rows that are kept of one key. */
  readonly rowsMax: number;
  /** Bound of what is kept of keys that were touched lately, in bytes. */
  readonly cacheBytesMax: number;
  /** Told when each row was handed on. */
  readonly times?: TimeRuns | undefined;
};

/** What the task knows of one key: its entry in the state store, and what the open transaction made of it. */
class JoinedKey {
  readonly key: StateKey;
  /** undefined: to be read; null: nothing is kept of it. */
  stored: Buffer | null | undefined;
  /** Transaction that touched it last. */
  touchedIn = -1;
  /** undefined: not looked at in this transaction. */
  rows: readonly KeptRow[] | undefined;
  isChanged = false;

  constructor(key: StateKey) {
    this.key = key;
  }
}

/**
 * One partition of one join of two streams. Invariant: every pair that belongs together is given out in the transaction
 * that takes in the later one of its rows, and the kept rows stand in the changelog with it; so the pairs depend on the
 * rows that came, never on their order or their batches.
 */
export class JoinTask implements KeyedTask {
  readonly #options: JoinTaskOptions;
  readonly #output: JoinOutput;
  readonly #cache: KeyCache<JoinedKey>;
  readonly #batch = new RowBatch();
  readonly #states: JoinedKey[] = [];
  readonly #frame: Frame = { parameters: [], nowMicros: 0n };
  readonly #condition: Evaluator | undefined;
  readonly #decoders: Readonly<Record<KeptRow['side'], RowDecoder>>;
  #decoded = new WeakMap<KeptRow, Row>();
  #touched: JoinedKey[] = [];
  #asked: JoinedKey[] = [];
  #transaction = 0;
  #counters: TableCounters = emptyTableCounters();
  #entries: (Buffer | null)[] = [];
  #joinedRows = 0;

  constructor(options: JoinTaskOptions) {
    const { join, target, columns, timeZone, cacheBytesMax } = options;
    this.#options = options;
    this.#output = new JoinOutput(target, columns);
    this.#cache = new KeyCache(cacheBytesMax, (key) => new JoinedKey(key));
    this.#condition =
      join.condition === undefined ? undefined : compile(join.condition, { timeZone });
    this.#decoders = {
      left: rowDecoder(join.left.columns),
      right: rowDecoder(join.right.columns),
    };
  }

  get counters(): TableCounters {
    return this.#counters;
  }

  get keysHeld(): number {
    return this.#cache.size;
  }

  /** Each row concerns its own key alone. */
  readonly needsAllKeys = false;

  takeKeys(): void {}

  startCounters(counters: TableCounters): void {
    this.#counters = { ...counters };
  }

  keysOf(slice: RowSlice): readonly StateKey[] {
    const batch = this.#batch;
    batch.load(slice, this.#options.target.table, this.#options.times);
    this.#asked = [];
    for (let index = 0; index < batch.count; index += 1) {
      const state = this.#cache.get(batch.at(index).key);
      this.#states[index] = state;
      if (state.touchedIn === this.#transaction) continue;
      state.touchedIn = this.#transaction;
      this.#touched.push(state);
      if (state.stored === undefined) this.#asked.push(state);
    }
    return this.#asked.map(({ key }) => key);
  }

  process(entries: readonly (Buffer | undefined)[], sink: RecordSink, nowMs: number): void {
    assert(entries.length === this.#asked.length, 'every key that was asked for is answered');
    for (let index = 0; index < entries.length; index += 1) {
      const entry = entries[index];
      (this.#asked[index] as JoinedKey).stored = entry ?? null;
      this.#cache.grow(entry?.length ?? 0);
    }
    this.#asked = [];
    const batch = this.#batch;
    for (let index = 0; index < batch.count; index += 1) {
      this.#take(this.#states[index] as JoinedKey, batch.at(index), sink, nowMs);
    }
    batch.clear();
  }

  #take(state: JoinedKey, loaded: LoadedRow, sink: RecordSink, nowMs: number): void {
    const counters = this.#counters;
    const row = keptRow(loaded);
    const before = opened(state);
    const { rows, outcome } = withKeptRow(before, row);
    counters.rows += 1;
    if (loaded.isReplayed) counters.replayed += 1;
    counters[outcome] += 1;
    if (rows !== before) {
      state.rows = rows;
      state.isChanged = true;
      this.#checkCount(state.key, rows.length);
    }
    // Of a row that is there already, too: without transactions its pairs may be lost where it was kept.
    for (const [left, right] of pairsOf(rows, row)) this.#join(state.key, left, right, sink, nowMs);
  }

  #join(key: StateKey, left: KeptRow, right: KeptRow, sink: RecordSink, nowMs: number): void {
    const { join } = this.#options;
    const [ofLeft, ofRight] = [this.#decode(left), this.#decode(right)];
    if (this.#condition !== undefined) {
      if (this.#condition([...ofLeft, ...ofRight], this.#frame) !== true) return;
    }
    const row: Row = [
      ...join.left.given.map((position) => ofLeft[position] ?? null),
      ...join.right.given.map((position) => ofRight[position] ?? null),
    ];
    const provenance = joinedProvenance(left.provenance, right.provenance);
    this.#output.joined(sink, Buffer.from(key, 'latin1'), row, provenance, nowMs);
    this.#joinedRows += 1;
  }

  #decode(kept: KeptRow): Row {
    let row = this.#decoded.get(kept);
    if (row === undefined) {
      row = this.#decoders[kept.side](kept.row);
      this.#decoded.set(kept, row);
    }
    return row;
  }

  #checkCount(key: StateKey, count: number): void {
    const { rowsMax, target } = this.#options;
    if (count <= rowsMax) return;
    throw new FlowError(
      'RECORD_TOO_LARGE',
      `flow "${target.table}" keeps more than ${rowsMax} rows of one key`,
      {
        detail: `Key ${Buffer.from(key, 'latin1').toString('utf8')} passed the bound max_row_set_rows.`,
        hint: 'Raise max_row_set_rows on the table that the join goes to, or compare more values by =.',
      },
    );
  }

  effects(sink: RecordSink, nowMs: number): TableEffects {
    const keys: StateKey[] = [];
    const entries: (Buffer | undefined)[] = [];
    this.#entries = this.#touched.map(({ key, rows, stored, isChanged }) => {
      if (!isChanged || rows === undefined) return stored ?? null;
      const entry = encodeKeptRows(rows);
      this.#output.kept(sink, key, entry, nowMs);
      keys.push(key);
      entries.push(entry);
      return entry;
    });
    const outputRecords = this.#joinedRows;
    this.#joinedRows = 0;
    return { keys, entries, outputRecords };
  }

  applied(): void {
    for (const [index, state] of this.#touched.entries()) {
      const entry = this.#entries[index] ?? null;
      if (entry !== state.stored) {
        this.#cache.grow((entry?.length ?? 0) - (state.stored?.length ?? 0));
      }
      state.stored = entry;
      state.rows = undefined;
      state.isChanged = false;
    }
    this.#touched = [];
    this.#entries = [];
    this.#decoded = new WeakMap();
    this.#transaction += 1;
    this.#cache.turn();
  }
}

function keptRow(row: LoadedRow): KeptRow {
  const { bytes, sequenceStart, provenanceStart, rowStart, valueEnd } = row;
  return {
    side: bytes[sequenceStart] === rightSide ? 'right' : 'left',
    provenance: { bytes, start: provenanceStart, end: provenanceStart + provenanceSize },
    row: { bytes, start: rowStart, end: valueEnd },
  };
}

/** What stands for the sequence of a row on its way to a join. */
export const rightSide = 1;

function opened(state: JoinedKey): readonly KeptRow[] {
  if (state.rows === undefined) {
    const { stored } = state;
    const rows = stored === null || stored === undefined ? [] : decodeKeptRows(stored);
    if (rows === undefined) throw unknownEntry();
    state.rows = rows;
  }
  return state.rows;
}

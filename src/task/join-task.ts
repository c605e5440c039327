import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { decodeKeptRows, encodeKeptRows, type KeptRow } from '../data/kept-rows.ts';
import { provenanceSize } from '../data/provenance.ts';
import { type RowDecoder, rowDecoder } from '../data/row-decoder.ts';
import { timeFlag } from '../data/row-envelope.ts';
import { StateEntries } from '../data/state-entries.ts';
import type { Column } from '../data/types.ts';
import type { Row } from '../data/value.ts';
import { compile } from '../expr/compile.ts';
import type { Evaluator, Frame } from '../expr/expression.ts';
import { type JoinOutcome, pairsOf, withKeptRow, withMatches } from '../operators/stream-join.ts';
import type { StreamJoinPlan, StreamSidePlan } from '../plan/pipeline-plan.ts';
import type { RecordSink } from '../ports/log.ts';
import type { StateKey } from '../ports/state-store.ts';
import { type JoinPlaces, JoinTimes, placeOf, timesKey } from './join-times.ts';
import { joinedProvenance } from './joined-provenance.ts';
import { DueKeys } from './key/due-keys.ts';
import { KeyCache } from './key/key-cache.ts';
import { unknownEntry } from './key/key-state.ts';
import {
  type KeyedTask,
  nothingReplaced,
  oneRowEach,
  type TableEffects,
} from './key/keyed-task.ts';
import type { RowSlice } from './memory-shuffle.ts';
import { JoinOutput, type JoinTarget } from './output/join-output.ts';
import { type LoadedRow, RowBatch } from './row/row-batch.ts';
import { emptyTableCounters, type TableCounters } from './row-account.ts';
import type { TimeRuns } from './time-runs.ts';

export type JoinTaskOptions = {
  readonly target: JoinTarget;
  readonly join: StreamJoinPlan;
  /** Where the rows of each side come from. */
  readonly places: JoinPlaces;
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
  /** The key of each row of the batch; undefined: it is no row. */
  readonly #states: (JoinedKey | undefined)[] = [];
  readonly #frame: Frame = { parameters: [], nowMicros: 0n };
  readonly #condition: Evaluator | undefined;
  readonly #decoders: Readonly<Record<KeptRow['side'], RowDecoder>>;
  #decoded = new WeakMap<KeptRow, Row>();
  /** Keys of the open transaction. */
  #open: JoinedKey[] = [];
  #dueStates: readonly JoinedKey[] = [];
  /** undefined: every row is kept for ever. */
  readonly #times: JoinTimes | undefined;
  readonly #due = { left: new DueKeys(), right: new DueKeys() };
  /** The watermarks up to which rows were let go. */
  readonly #released: { left: bigint | undefined; right: bigint | undefined } = {
    left: undefined,
    right: undefined,
  };
  #isIndexed = false;
  #sink: RecordSink | undefined;
  #nowMs = 0;
  #asked: JoinedKey[] = [];
  #transaction = 0;
  #counters: TableCounters = emptyTableCounters();
  #entries: (Buffer | null)[] = [];
  #joinedRows = 0;

  constructor(options: JoinTaskOptions) {
    const { join, target, columns, timeZone, cacheBytesMax } = options;
    this.#options = options;
    this.#times = join.times === undefined ? undefined : new JoinTimes(join.times, options.places);
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

  startCounters(counters: TableCounters): void {
    this.#counters = { ...counters };
  }

  get needsAllKeys(): boolean {
    return this.#times !== undefined && !this.#isIndexed;
  }

  /** Only where rows are let go by their times: which are due when has to be known of all of them. */
  takeKeys(entries: readonly (readonly [StateKey, Buffer])[]): void {
    for (const [key, entry] of entries) {
      if (key === timesKey) this.#times?.take(entry);
      else for (const row of decoded(entry)) this.#remember(key, row);
    }
  }

  keysOf(slice: RowSlice): readonly StateKey[] {
    const batch = this.#batch;
    batch.load(slice, this.#options.target.table, this.#options.times);
    this.#asked = [];
    for (let index = 0; index < batch.count; index += 1) {
      const row = batch.at(index);
      this.#states[index] = isTime(row) ? undefined : this.#touched(row.key);
    }
    return this.#asked.map(({ key }) => key);
  }

  /** The key as part of the open transaction; asked for where its entry is not known. */
  #touched(key: StateKey): JoinedKey {
    const state = this.#cache.get(key);
    if (state.touchedIn !== this.#transaction) {
      state.touchedIn = this.#transaction;
      this.#open.push(state);
      if (state.stored === undefined) this.#asked.push(state);
    }
    return state;
  }

  #answer(entries: readonly (Buffer | undefined)[]): void {
    assert(entries.length === this.#asked.length, 'every key that was asked for is answered');
    for (let index = 0; index < entries.length; index += 1) {
      const entry = entries[index];
      (this.#asked[index] as JoinedKey).stored = entry ?? null;
      this.#cache.grow(entry?.length ?? 0);
    }
    this.#asked = [];
  }

  process(entries: readonly (Buffer | undefined)[], sink: RecordSink, nowMs: number): void {
    this.#isIndexed = true;
    this.#answer(entries);
    this.#sink = sink;
    this.#nowMs = nowMs;
    const batch = this.#batch;
    for (let index = 0; index < batch.count; index += 1) {
      const row = batch.at(index);
      const state = this.#states[index];
      if (state === undefined) this.#reach(row);
      else this.#count(row, this.#take(state, keptRow(row)));
    }
    batch.clear();
  }

  #reach({ bytes, provenanceStart, sequenceStart, sequenceEnd }: LoadedRow): void {
    const place = placeOf({ bytes, start: provenanceStart, end: provenanceStart + provenanceSize });
    this.#times?.reach(place, Number(bytes.toString('latin1', sequenceStart, sequenceEnd)));
  }

  #count({ isReplayed }: LoadedRow, outcome: JoinOutcome | 'superseded'): void {
    this.#counters.rows += 1;
    if (isReplayed) this.#counters.replayed += 1;
    this.#counters[outcome] += 1;
  }

  /** Joins a row with those that are there. One that comes after those it may have gone with is left out. */
  #take(state: JoinedKey, row: KeptRow): JoinOutcome | 'superseded' {
    const time = this.#timeOf(row);
    if (!this.#canMatch(row, time)) {
      if (!this.#isPreserved(row)) return 'superseded';
      this.#giveAlone(state.key, row);
      return 'new';
    }
    if (time !== undefined && this.#times?.isLate(row.side, time) === true) return 'superseded';
    const before = opened(state);
    const { rows, outcome } = withKeptRow(before, row);
    const matches = new Set<KeptRow>();
    // Of a row that is there already, too: without transactions its pairs may be lost where it was kept.
    for (const [left, right, other] of pairsOf(rows, row)) {
      if (this.#join(state.key, left, right)) matches.add(other);
    }
    const { kind } = this.#options.join;
    this.#keep(state, kind === 'inner' ? rows : withMatches(rows, row, matches));
    if (time === undefined || this.#times?.isOver(row.side, time) !== true) {
      this.#remember(state.key, row);
    } else {
      this.#release(state);
    }
    return outcome;
  }

  /** Whether it may have a partner at all: NULL is neither equal nor before or after anything. */
  #canMatch(row: KeptRow, time: bigint | undefined): boolean {
    const { join } = this.#options;
    if (join.kind === 'inner' && this.#times === undefined) return true;
    if (this.#times !== undefined && time === undefined) return false;
    const values = this.#decode(row);
    return join[row.side].keys.every(({ isNullSafe }, at) => isNullSafe || values[at] !== null);
  }

  #timeOf(row: KeptRow): bigint | undefined {
    const { times } = this.#options.join;
    const time = times === undefined ? undefined : this.#decode(row)[times[row.side]];
    return typeof time === 'bigint' ? time : undefined;
  }

  #isPreserved({ side }: KeptRow): boolean {
    const { kind } = this.#options.join;
    return kind === side || kind === 'full';
  }

  #keep(state: JoinedKey, rows: readonly KeptRow[]): void {
    if (rows === opened(state)) return;
    state.rows = rows;
    state.isChanged = true;
    this.#checkCount(state.key, rows.length);
  }

  #remember(key: StateKey, row: KeptRow): void {
    const time = this.#timeOf(row);
    const last = time === undefined ? undefined : this.#times?.lastPartner(row.side, time);
    if (last !== undefined) this.#due[row.side].add(key, last);
  }

  keysDue(): readonly StateKey[] {
    const times = this.#times;
    if (times === undefined) return [];
    const due = new Set<StateKey>();
    for (const side of ['left', 'right'] as const) {
      const watermark = times.watermark(side === 'left' ? 'right' : 'left');
      if (watermark === undefined || this.#released[side] === watermark) continue;
      this.#released[side] = watermark;
      for (const key of this.#due[side].take(watermark)) due.add(key);
    }
    this.#dueStates = [...due].map((key) => this.#touched(key));
    return this.#asked.map(({ key }) => key);
  }

  release(entries: readonly (Buffer | undefined)[], sink: RecordSink, nowMs: number): void {
    this.#answer(entries);
    this.#sink = sink;
    this.#nowMs = nowMs;
    for (const state of this.#dueStates) this.#release(state);
    this.#dueStates = [];
  }

  /** Lets go the rows of a key whose partners have all come; those that had none and are given out are given out. */
  #release(state: JoinedKey): void {
    const rows = opened(state);
    const kept = rows.filter((row) => {
      const time = this.#timeOf(row);
      if (time === undefined || this.#times?.isOver(row.side, time) !== true) {
        this.#remember(state.key, row);
        return true;
      }
      if (!row.isMatched && this.#isPreserved(row)) this.#giveAlone(state.key, row);
      return false;
    });
    if (kept.length < rows.length) this.#keep(state, kept);
  }

  /** Gives a pair out, if it belongs together. */
  #join(key: StateKey, left: KeptRow, right: KeptRow): boolean {
    if (this.#condition !== undefined) {
      const both = [...this.#decode(left), ...this.#decode(right)];
      if (this.#condition(both, this.#frame) !== true) return false;
    }
    this.#give(key, left, right);
    return true;
  }

  #giveAlone(key: StateKey, row: KeptRow): void {
    if (row.side === 'left') this.#give(key, row, undefined);
    else this.#give(key, undefined, row);
  }

  #give(key: StateKey, left: KeptRow | undefined, right: KeptRow | undefined): void {
    const { join } = this.#options;
    const valuesOf = (row: KeptRow | undefined, { given }: StreamSidePlan): Row => {
      const values = row === undefined ? undefined : this.#decode(row);
      return given.map((position) => values?.[position] ?? null);
    };
    const row = [...valuesOf(left, join.left), ...valuesOf(right, join.right)];
    const provenance = joinedProvenance(left?.provenance, right?.provenance);
    assert(this.#sink !== undefined, 'rows are given out while rows come in');
    this.#output.joined(this.#sink, Buffer.from(key, 'latin1'), row, provenance, this.#nowMs);
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
    const entries = new StateEntries();
    this.#entries = this.#open.map(({ key, rows, stored, isChanged }) => {
      if (!isChanged || rows === undefined) return stored ?? null;
      const entry = rows.length === 0 ? undefined : encodeKeptRows(rows);
      this.#output.kept(sink, key, entry, nowMs);
      entries.addText(key, entry);
      return entry ?? null;
    });
    if (this.#times?.isChanged === true) {
      const entry = this.#times.entry();
      this.#output.kept(sink, timesKey, entry, nowMs);
      entries.addText(timesKey, entry);
    }
    const outputRecords = this.#joinedRows;
    this.#joinedRows = 0;
    return { entries, outputRecords, setRows: oneRowEach(entries), replaced: nothingReplaced };
  }

  applied(): void {
    for (const [index, state] of this.#open.entries()) {
      const entry = this.#entries[index] ?? null;
      if (entry !== state.stored) {
        this.#cache.grow((entry?.length ?? 0) - (state.stored?.length ?? 0));
      }
      state.stored = entry;
      state.rows = undefined;
      state.isChanged = false;
    }
    this.#open = [];
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
    isMatched: false,
    provenance: { bytes, start: provenanceStart, end: provenanceStart + provenanceSize },
    row: { bytes, start: rowStart, end: valueEnd },
  };
}

/** What stands for the sequence of a row on its way to a join. */
export const rightSide = 1;

function opened(state: JoinedKey): readonly KeptRow[] {
  if (state.rows === undefined) {
    const { stored } = state;
    state.rows = stored === null || stored === undefined ? [] : decoded(stored);
  }
  return state.rows;
}

function decoded(entry: Buffer): readonly KeptRow[] {
  const rows = decodeKeptRows(entry);
  if (rows === undefined) throw unknownEntry();
  return rows;
}

function isTime({ flags }: LoadedRow): boolean {
  return (flags & timeFlag) !== 0;
}

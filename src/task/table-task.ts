import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { compareSpans } from '../data/bytes.ts';
import { provenanceSize } from '../data/provenance.ts';
import { type EnvelopeParts, readEnvelope } from '../data/row-envelope.ts';
import { decodeRowSet, encodeRowSet, type RowSet } from '../data/row-set.ts';
import { KeyRowSet } from '../operators/replace-using.ts';
import type { OutputMode } from '../plan/pipeline-plan.ts';
import type { RecordSink, Slice } from '../ports/log.ts';
import type { StateKey } from '../ports/state-store.ts';
import { EntryCache } from './entry-cache.ts';
import { type OutputTarget, OutputWriter } from './output-record.ts';
import { emptyTableCounters, type TableCounters } from './row-account.ts';

export type TableTaskOptions = {
  readonly target: OutputTarget;
  readonly output: OutputMode;
  readonly rowSetRowsMax: number;
  /** Bound of the entry cache, in bytes. */
  readonly cacheBytesMax: number;
};

/** What one commit asks of the state store, once the transaction stands. */
export type TableEffects = {
  readonly keys: readonly StateKey[];
  readonly entries: readonly Buffer[];
  readonly outputRecords: number;
};

/** A key that the open transaction touched. */
type TouchedKey = {
  readonly key: StateKey;
  /** undefined: to be read; null: never seen. */
  stored: Buffer | null | undefined;
  /** Made when a row gets past the stored sequence. */
  rowSet: KeyRowSet | undefined;
  storedRows: number;
};

/**
 * One partition of one REPLACE USING table: a slice of the repartition topic and the prefetched state
 * in, records and state writes out. It reads nothing by itself and waits for nothing.
 *
 * Turn: `keysOf(slice)` → the runtime reads those keys → `process(entries)`, any number of times, then
 * `effects(sink)` once per commit, then `applied()` when the transaction stands. A task whose transaction does
 * not stand is thrown away.
 *
 * Invariant: at most one output record (or one set of numbered records) per key and commit, always of
 * the key's final row-set in that commit.
 */
export class TableTask {
  readonly #options: TableTaskOptions;
  readonly #writer: OutputWriter;
  readonly #cache: EntryCache;
  readonly #touched = new Map<StateKey, TouchedKey>();
  readonly #batch = new RowBatch();
  #asked: TouchedKey[] = [];
  #counters: TableCounters = emptyTableCounters();
  #written: readonly (readonly [StateKey, Buffer])[] = [];

  constructor(options: TableTaskOptions) {
    this.#options = options;
    this.#writer = new OutputWriter(options.target);
    this.#cache = new EntryCache(options.cacheBytesMax);
  }

  /** The account, the open transaction included. */
  get counters(): TableCounters {
    return this.#counters;
  }

  /** Takes over the counters that stand with the checkpoint. */
  startCounters(counters: TableCounters): void {
    this.#counters = { ...counters };
  }

  get touchedKeys(): number {
    return this.#touched.size;
  }

  /** Loads a slice and gives the keys whose entries `process` needs: all of them, and no others. */
  keysOf(slice: Slice): readonly StateKey[] {
    const batch = this.#batch;
    batch.load(slice, this.#options.target.table);
    this.#asked = [];
    for (let index = 0; index < batch.count; index += 1) {
      const key = batch.keyOf(index);
      let touched = this.#touched.get(key);
      if (touched === undefined) {
        touched = { key, stored: this.#cache.get(key), rowSet: undefined, storedRows: 0 };
        this.#touched.set(key, touched);
        if (touched.stored === undefined) this.#asked.push(touched);
      }
      batch.touched[index] = touched;
    }
    return this.#asked.map(({ key }) => key);
  }

  /** Merges the loaded slice. `entries` answers the keys of `keysOf`, by position. */
  process(entries: readonly (Buffer | undefined)[]): void {
    assert(entries.length === this.#asked.length, 'every key that was asked for is answered');
    for (const [index, touched] of this.#asked.entries()) {
      touched.stored = entries[index] ?? null;
    }
    this.#asked = [];
    const batch = this.#batch;
    const counters = this.#counters;
    for (let index = 0; index < batch.count; index += 1) {
      const touched = batch.touched[index] as TouchedKey;
      counters.rows += 1;
      if (touched.rowSet === undefined) {
        if (this.#isSuperseded(touched, index)) {
          counters.superseded += 1;
          continue;
        }
        this.#openRowSet(touched);
      }
      counters[(touched.rowSet as KeyRowSet).merge(batch.input(index))] += 1;
      this.#checkSize(touched);
    }
    batch.clear();
  }

  /** Most late rows end here: the stored entry is compared as it lies, nothing is built. */
  #isSuperseded(touched: TouchedKey, index: number): boolean {
    const { stored } = touched;
    if (stored === null || stored === undefined) return false;
    let start = 2;
    let length = stored[1] ?? 0;
    if (length === 255) {
      length = stored.readUInt32BE(2);
      start = 6;
    }
    const { bytes, sequenceStart, sequenceEnd } = this.#batch.at(index);
    return (
      compareSpans(
        { bytes, start: sequenceStart, end: sequenceEnd },
        { bytes: stored, start, end: start + length },
      ) < 0
    );
  }

  #openRowSet(touched: TouchedKey): void {
    let rowSet: RowSet | undefined;
    if (touched.stored !== null && touched.stored !== undefined) {
      rowSet = decodeRowSet(touched.stored);
      if (rowSet === undefined) {
        throw new FlowError('TASK_CORRUPTED', 'a state entry is of an unknown version');
      }
    }
    touched.storedRows = rowSet?.rows.length ?? 0;
    const order = this.#options.output === 'rows' ? 'arrival' : 'provenance';
    touched.rowSet = new KeyRowSet(rowSet, { order, distinct: this.#options.target.distinct });
  }

  #checkSize({ key, rowSet }: TouchedKey): void {
    const { rowSetRowsMax, target, output } = this.#options;
    if (output === 'rows' || rowSet === undefined || rowSet.rowCount <= rowSetRowsMax) return;
    throw new FlowError(
      'RECORD_TOO_LARGE',
      `the row-set of one key in table "${target.table}" has more than ${rowSetRowsMax} rows`,
      {
        detail: `Key ${Buffer.from(key, 'latin1').toString('utf8')} passed the bound max_row_set_rows.`,
        hint: "Raise max_row_set_rows on the table, or set output = 'rows', so that each row is a record of its own.",
      },
    );
  }

  /** Appends the records of everything that changed since the last commit. */
  effects(sink: RecordSink, nowMs: number): TableEffects {
    const keys: StateKey[] = [];
    const entries: Buffer[] = [];
    const written: (readonly [StateKey, Buffer])[] = [];
    let outputRecords = 0;
    for (const touched of this.#touched.values()) {
      const { rowSet } = touched;
      if (rowSet === undefined || !rowSet.changed || rowSet.rowSet === undefined) continue;
      outputRecords += this.#emit(sink, touched, rowSet.rowSet, nowMs);
      const entry = encodeRowSet(
        this.#options.output === 'rows' ? withoutRows(rowSet.rowSet) : rowSet.rowSet,
      );
      keys.push(touched.key);
      entries.push(entry);
      written.push([touched.key, entry]);
    }
    this.#written = written;
    return { keys, entries, outputRecords };
  }

  #emit(sink: RecordSink, touched: TouchedKey, rowSet: RowSet, nowMs: number): number {
    const key = Buffer.from(touched.key, 'latin1');
    if (this.#options.output === 'row_set') {
      this.#writer.rowSet(sink, key, rowSet, nowMs);
      return 1;
    }
    let records = 0;
    for (const [position, { row }] of rowSet.rows.entries()) {
      // Rows that were there before have no bytes in the state: their records stand as they are.
      if (row.end === row.start) continue;
      this.#writer.row(sink, key, rowSet, position, nowMs);
      records += 1;
    }
    for (let position = rowSet.rows.length; position < touched.storedRows; position += 1) {
      this.#writer.tombstone(sink, key, position, nowMs);
      records += 1;
    }
    return records;
  }

  /** The transaction stands. */
  applied(): void {
    for (const touched of this.#touched.values()) {
      // Keys that were only looked at stay known, too.
      if (touched.stored !== undefined && touched.rowSet?.changed !== true) {
        this.#cache.set(touched.key, touched.stored);
      }
    }
    for (const [key, entry] of this.#written) this.#cache.set(key, entry);
    this.#touched.clear();
    this.#written = [];
  }
}

const nothing = Buffer.alloc(0);

/** In mode `rows` the state keeps where the rows came from, not the rows. */
function withoutRows(rowSet: RowSet): RowSet {
  const row = { bytes: nothing, start: 0, end: 0 };
  return {
    sequence: rowSet.sequence,
    rows: rowSet.rows.map(({ provenance }) => ({ provenance, row })),
  };
}

type LoadedRow = EnvelopeParts & {
  bytes: Buffer;
  keyStart: number;
  keyEnd: number;
  valueEnd: number;
};

/** The records of one slice as spans; the objects are used again for the next slice. */
class RowBatch {
  count = 0;
  readonly touched: (TouchedKey | undefined)[] = [];
  readonly #rows: LoadedRow[] = [];

  load(slice: Slice, table: string): void {
    const { records } = slice;
    this.count = 0;
    while (records.next()) {
      const row = this.#next();
      row.bytes = records.bytes;
      row.keyStart = records.keyStart;
      row.keyEnd = records.keyEnd;
      row.valueEnd = records.valueEnd;
      if (
        records.keyEnd < 0 ||
        records.valueEnd < 0 ||
        !readEnvelope(records.bytes, records.valueStart, records.valueEnd, row)
      ) {
        throw new FlowError(
          'RECORD_CORRUPT',
          `a record between the stages of table "${table}" is not one of ours`,
          {
            detail: `Topic "${slice.topic}", partition ${slice.partition}, offset ${records.offset}.`,
            hint: 'Nothing but Tidemark may write to a repartition topic; find out what else does, or run the version that wrote the record.',
          },
        );
      }
      this.count += 1;
    }
  }

  #next(): LoadedRow {
    let row = this.#rows[this.count];
    if (row === undefined) {
      row = {
        bytes: nothing,
        keyStart: 0,
        keyEnd: 0,
        valueEnd: 0,
        flags: 0,
        provenanceStart: 0,
        sequenceStart: 0,
        sequenceEnd: 0,
        rowStart: 0,
      };
      this.#rows.push(row);
    }
    return row;
  }

  at(index: number): LoadedRow {
    return this.#rows[index] as LoadedRow;
  }

  keyOf(index: number): StateKey {
    const { bytes, keyStart, keyEnd } = this.at(index);
    return bytes.toString('latin1', keyStart, keyEnd);
  }

  input(index: number): Parameters<KeyRowSet['merge']>[0] {
    const { bytes, provenanceStart, sequenceStart, sequenceEnd, rowStart, valueEnd } =
      this.at(index);
    return {
      sequence: { bytes, start: sequenceStart, end: sequenceEnd },
      provenance: { bytes, start: provenanceStart, end: provenanceStart + provenanceSize },
      row: { bytes, start: rowStart, end: valueEnd },
    };
  }

  /** Lets go of the fetched bytes. */
  clear(): void {
    for (let index = 0; index < this.count; index += 1) {
      this.at(index).bytes = nothing;
      this.touched[index] = undefined;
    }
    this.count = 0;
  }
}

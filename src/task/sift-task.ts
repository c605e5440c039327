import { assert } from '../base/assert.ts';
import { StateEntries } from '../data/state-entries.ts';
import { sha2 } from '../expr/digest/sha2.ts';
import type { RecordSink } from '../ports/log.ts';
import type { StateKey } from '../ports/state-store.ts';
import { KeyCache } from './key/key-cache.ts';
import {
  type KeyedTask,
  nothingReplaced,
  oneRowEach,
  type TableEffects,
} from './key/keyed-task.ts';
import type { RowSlice } from './memory-shuffle.ts';
import { SiftOutput, type SiftTarget } from './output/sift-output.ts';
import { type LoadedRow, RowBatch } from './row/row-batch.ts';
import { emptyTableCounters, type TableCounters } from './row-account.ts';
import type { TimeRuns } from './time-runs.ts';

export type SiftTaskOptions = {
  readonly target: SiftTarget;
  /** Of equal rows the first is let through alone. */
  readonly distinct: boolean;
  /** Rows that are let through over the life of the checkpoint; undefined: all. */
  readonly limit: number | undefined;
  /** Bound of what is kept of keys that were touched lately, in bytes. */
  readonly cacheBytesMax: number;
  /** Told when each row was handed on. */
  readonly times?: TimeRuns | undefined;
};

/** What the state has of a row that was let through; of any other row it has nothing. */
export const letThrough = Buffer.from([1]);

class SiftedRow {
  readonly key: StateKey;
  /** undefined: to be read; null: no such row was let through. */
  stored: Buffer | null | undefined;

  constructor(key: StateKey) {
    this.key = key;
  }
}

/**
 * One partition of DISTINCT and LIMIT before an append flow. Invariant: a row is let through in the transaction in which
 * the state, the account and the source offsets know of it, so no crash lets an equal one, or one more, through.
 */
export class SiftTask implements KeyedTask {
  readonly #options: SiftTaskOptions;
  readonly #output: SiftOutput;
  readonly #cache: KeyCache<SiftedRow>;
  readonly #batch = new RowBatch();
  /** By position in the batch; none without DISTINCT. */
  readonly #rows: SiftedRow[] = [];
  #asked: SiftedRow[] = [];
  /** Let through in the open transaction. */
  #open: SiftedRow[] = [];
  #outputRecords = 0;
  #counters: TableCounters = emptyTableCounters();

  constructor(options: SiftTaskOptions) {
    this.#options = options;
    this.#output = new SiftOutput(options.target);
    this.#cache = new KeyCache(options.cacheBytesMax, (key) => new SiftedRow(key));
  }

  readonly needsAllKeys = false;

  takeKeys(): void {}

  get counters(): TableCounters {
    return this.#counters;
  }

  get keysHeld(): number {
    return this.#cache.size;
  }

  startCounters(counters: TableCounters): void {
    this.#counters = { ...counters };
  }

  keysOf(slice: RowSlice): readonly StateKey[] {
    const { target, times, distinct } = this.#options;
    const batch = this.#batch;
    batch.load(slice, target.table, times);
    this.#asked = [];
    if (!distinct) return [];
    const asked = new Set<SiftedRow>();
    for (let index = 0; index < batch.count; index += 1) {
      const row = this.#cache.get(digestKey(batch.at(index)));
      this.#rows[index] = row;
      if (row.stored === undefined) asked.add(row);
    }
    this.#asked = [...asked];
    return this.#asked.map(({ key }) => key);
  }

  process(entries: readonly (Buffer | undefined)[], sink: RecordSink, nowMs: number): void {
    assert(entries.length === this.#asked.length, 'every key that was asked for is answered');
    for (const [index, entry] of entries.entries()) {
      (this.#asked[index] as SiftedRow).stored = entry ?? null;
    }
    const batch = this.#batch;
    for (let index = 0; index < batch.count; index += 1) {
      this.#take(batch.at(index), this.#rows[index], sink, nowMs);
    }
    batch.clear();
    this.#rows.length = 0;
  }

  #take(row: LoadedRow, known: SiftedRow | undefined, sink: RecordSink, nowMs: number): void {
    const counters = this.#counters;
    const { limit } = this.#options;
    counters.rows += 1;
    if (row.isReplayed) counters.replayed += 1;
    if (known?.stored != null) {
      counters.distinct += 1;
    } else if (limit !== undefined && counters.new >= limit) {
      counters.limited += 1;
    } else {
      counters.new += 1;
      this.#outputRecords += 1;
      this.#output.row(sink, row, known?.key, nowMs);
      if (known === undefined) return;
      known.stored = letThrough;
      this.#open.push(known);
    }
  }

  effects(): TableEffects {
    const entries = StateEntries.of(this.#open.map(({ key }) => [key, letThrough] as const));
    const outputRecords = this.#outputRecords;
    this.#outputRecords = 0;
    return { entries, outputRecords, setRows: oneRowEach(entries), replaced: nothingReplaced };
  }

  applied(): void {
    this.#open = [];
    this.#cache.turn();
  }
}

/** Rows may be long, and nothing but their equality matters. It is also the key of their record. */
function digestKey({ bytes, keyStart, keyEnd }: LoadedRow): StateKey {
  const digest = sha2(bytes.subarray(keyStart, keyEnd), 256) ?? '';
  return `{"_hash":"${digest.slice(0, 40)}"}`;
}

import { type Span, wholeSpan } from '../../data/bytes.ts';
import type { Change } from '../../data/change.ts';
import { truncateKey } from '../../data/row-envelope.ts';
import type { SetRow } from '../../data/row-set.ts';
import { sequenceCodec } from '../../data/sequence.ts';
import type { LogProducer } from '../../ports/log.ts';
import type { JoinSet } from '../../refresh/row-join.ts';
import { ChangeOutput } from '../../task/output/change-output.ts';
import { OutputWriter } from '../../task/output/output-record.ts';
import { CommitPace } from './commit-pace.ts';
import { copyOf, type Differences, type RecordCopy } from './refresh-differences.ts';
import type { RawRecord } from './refresh-fold.ts';
import { eachSliceOf, type SwapOptions, type SwapResult } from './refresh-swap-options.ts';

/** Of one transaction; keys are never divided between two. */
const transactionRecordsMax = 2_000;

/** A key that is not swapped record by record; undefined: it stays as it is. */
export type Settlement = { readonly write: ((writer: SwapWriter) => void) | undefined };

export type Settlements = ReadonlyMap<string, Settlement>;

/** What has to be done about some keys of one partition. */
export type SwapWork = {
  readonly output: Differences;
  readonly levels: Differences;
  readonly settled: Settlements;
};

export type SwapTarget = {
  readonly options: SwapOptions;
  readonly producer: LogProducer;
  readonly partition: number;
  /** Keys that have rows in what takes the place of the table. */
  readonly freshKeys: ReadonlySet<string>;
  /** Counts what is written. */
  readonly result: SwapResult;
};

/**
 * Writes the differences between two generations into the live topics. Invariant: what becomes visible together leaves each
 * of its keys whole, with its former row-set or its fresh one, and never without both rows and level.
 */
export class SwapWriter {
  readonly #options: SwapOptions;
  readonly #producer: LogProducer;
  readonly #pace: CommitPace;
  readonly #partition: number;
  readonly #freshKeys: ReadonlySet<string>;
  readonly #result: SwapResult;
  readonly #rows: OutputWriter;
  readonly #changes: ChangeOutput | undefined;
  #pendingRecords = 0;

  constructor({ options, producer, partition, freshKeys, result }: SwapTarget) {
    this.#options = options;
    this.#producer = producer;
    this.#pace = new CommitPace(producer, options.clock);
    this.#partition = partition;
    this.#freshKeys = freshKeys;
    this.#result = result;
    const { changes, sequenceType, live, distinct, generation, recordBytesMax } = options;
    const topic = live.output ?? '';
    const target = { table: options.table, topic, partition, generation, recordBytesMax };
    const writeSequence = sequenceCodec(sequenceType).writeText;
    this.#rows = new OutputWriter({ ...target, writeSequence, distinct, levelsTopic: live.levels });
    if (changes === undefined) return;
    const { merge, historyNames } = changes;
    const levelsTopic = live.levels ?? '';
    this.#changes = new ChangeOutput({ ...target, levelsTopic, sequenceType, historyNames }, merge);
  }

  async write({ output, levels, settled }: SwapWork): Promise<void> {
    const { live, fresh } = this.#options;
    const isOpen = ({ key }: RawRecord): boolean => !settled.has(key);
    const buried = output.buried.filter(isOpen);
    // Levels before rows are taken away, and after rows have come: a key is never without both.
    await this.#copy(fresh?.levels, live.levels, levels, isOpen);
    if (live.isNumbered) {
      await this.#copyNumbered(fresh?.output, output, isOpen);
    } else {
      await this.#copy(fresh?.output, live.output, output, isOpen);
      for (const record of buried) {
        this.#bury(record);
        await this.#commitIfLarge();
      }
    }
    for (const { write } of settled.values()) {
      write?.(this);
      await this.#commitIfLarge();
    }
    await this.#buryLevels(levels, isOpen);
    await this.#commit();
  }

  /** A row-set that is neither the former nor the fresh one. */
  set(key: string, set: JoinSet, positions: readonly number[]): void {
    const { clock, live, distinct } = this.#options;
    const producer = this.#producer;
    const bytes = spanOfKey(key);
    const nowMs = clock.now();
    const rowsOf = ({ json, sources }: JoinSet['rows'][number]): SetRow[] =>
      (distinct ? sources : sources.slice(0, 1)).map((source) => ({
        provenance: { bytes: source, start: 0, end: source.length },
        row: { bytes: json, start: 0, end: json.length },
      }));
    const sequence = { bytes: set.sequence, start: 0, end: set.sequence.length };
    if (live.isNumbered) {
      for (const [position, row] of set.rows.entries()) {
        this.#rows.row(producer, bytes, { sequence, rows: rowsOf(row), position }, nowMs);
        this.#result.published += 1;
        this.#pendingRecords += 1;
      }
      for (const position of [...positions].reverse()) {
        if (position >= set.rows.length) this.#bury({ key, position });
      }
      return;
    }
    const rows = set.rows
      .flatMap(rowsOf)
      .sort((left, right) => left.provenance.bytes.compare(right.provenance.bytes));
    this.#rows.rowSet(producer, bytes, { sequence, rows }, nowMs);
    this.#result.published += 1;
    this.#pendingRecords += 1;
  }

  /** A key of an AUTO CDC table that is neither what it was nor what was computed anew. */
  changes(key: string, changes: readonly Change[], before: readonly Change[]): void {
    const { clock, changes: form } = this.#options;
    const producer = this.#producer;
    const writer = this.#changes;
    if (writer === undefined || form === undefined) return;
    const bytes = Buffer.from(key, 'latin1');
    const rows = form.merge.rows(changes);
    const nowMs = clock.now();
    if (rows.length === 0 && changes.length > 0) writer.level(producer, bytes, changes, nowMs);
    else if (form.merge.rows(before).length === 0) writer.level(producer, bytes, undefined, nowMs);
    writer.rows(producer, bytes, { rows, changes, isFirst: false, nowMs });
    if (rows.length > 0) this.#result.published += 1;
    else this.#result.buried += 1;
    this.#pendingRecords += 2;
  }

  /**
   * Levels that are gone, or lower than they were. The tombstone that a marker left in the output tells its level, too,
   * so another one takes its place.
   */
  async #buryLevels(
    { published, buried }: Differences,
    isOpen: (record: RawRecord) => boolean,
  ): Promise<void> {
    const { clock, live } = this.#options;
    const position = live.isNumbered ? 0 : undefined;
    const before = this.#result.buried;
    for (const { key } of buried.filter(isOpen)) {
      this.#rows.level(this.#producer, spanOfKey(key), undefined, clock.now());
      this.#noteBuried();
      if (this.#isWithoutRows(key)) this.#bury({ key, position });
      await this.#commitIfLarge();
    }
    for (const record of published.values()) {
      if (!isOpen(record) || !this.#isWithoutRows(record.key)) continue;
      this.#bury({ key: record.key, position });
      await this.#commitIfLarge();
    }
    this.#result.buriedLevels += this.#result.buried - before;
  }

  /** A key whose level is all that there is of it. A truncate has a level, and is no key of the table. */
  #isWithoutRows(key: string): boolean {
    return !this.#freshKeys.has(key) && key !== truncateKey;
  }

  /** Records that are each a key of their own go over as they come. */
  async #copy(
    from: string | undefined,
    to: string | undefined,
    { published }: Differences,
    isOpen: (record: RawRecord) => boolean,
  ): Promise<void> {
    if (to === undefined || published.size === 0) return;
    await eachSliceOf(this.#options, from, this.#partition, async ({ records }) => {
      while (records.next()) {
        const raw = records.bytes.toString('latin1', records.keyStart, records.keyEnd);
        const record = published.get(raw);
        if (record === undefined || record.offset !== records.offset || !isOpen(record)) continue;
        this.#append(to, copyOf(records));
        await this.#commitIfLarge();
      }
      await this.#commitIfLarge();
    });
  }

  /** The rows of a key are several records: they become visible together, with the tombstones of those that are gone. */
  async #copyNumbered(
    from: string | undefined,
    { published, buried }: Differences,
    isOpen: (record: RawRecord) => boolean,
  ): Promise<void> {
    const { live } = this.#options;
    if (live.output === undefined) return;
    const byKey = new Map<string, { copies: RecordCopy[]; buried: RawRecord[] }>();
    const partOf = (key: string) => {
      const part = byKey.get(key) ?? { copies: [], buried: [] };
      byKey.set(key, part);
      return part;
    };
    for (const record of buried) if (isOpen(record)) partOf(record.key).buried.push(record);
    if (published.size > 0) {
      await eachSliceOf(this.#options, from, this.#partition, ({ records }) => {
        while (records.next()) {
          const raw = records.bytes.toString('latin1', records.keyStart, records.keyEnd);
          const record = published.get(raw);
          if (record?.offset !== records.offset || !isOpen(record)) continue;
          partOf(record.key).copies.push(copyOf(records));
        }
      });
    }
    for (const { copies, buried: gone } of byKey.values()) {
      for (const copy of copies) this.#append(live.output, copy);
      // From the last number down, as the table task does: the others may still have a record.
      gone.sort((left, right) => (right.position ?? 0) - (left.position ?? 0));
      for (const record of gone) this.#bury(record);
      await this.#commitIfLarge();
    }
  }

  #append(topic: string, { key, value, headers }: RecordCopy): void {
    const { clock } = this.#options;
    this.#producer.append(topic, this.#partition, {
      key,
      keyStart: 0,
      keyEnd: key.length,
      value,
      valueStart: 0,
      valueEnd: value.length,
      headers,
      headersStart: 0,
      headersEnd: headers.length,
      timestampMs: clock.now(),
    });
    this.#result.published += 1;
    this.#pendingRecords += 1;
  }

  #bury({ key, position }: Pick<RawRecord, 'key' | 'position'>): void {
    const { clock } = this.#options;
    this.#rows.tombstone(this.#producer, spanOfKey(key), position, clock.now());
    this.#noteBuried();
  }

  #noteBuried(): void {
    this.#result.buried += 1;
    this.#pendingRecords += 1;
  }

  /** Between two keys. */
  async #commitIfLarge(): Promise<void> {
    if (this.#pendingRecords === 0) return;
    if (this.#pendingRecords >= transactionRecordsMax) await this.#commit();
    else if (await this.#pace.turn()) this.#pendingRecords = 0;
  }

  async #commit(): Promise<void> {
    if (this.#pendingRecords === 0) return;
    await this.#pace.commit();
    this.#pendingRecords = 0;
  }
}

function spanOfKey(key: string): Span {
  return wholeSpan(Buffer.from(key, 'latin1'));
}

import { FlowError } from '../base/errors.ts';
import { type Span, wholeSpan } from '../data/bytes.ts';
import type { Change } from '../data/change.ts';
import { readProvenance } from '../data/provenance.ts';
import { truncateKey } from '../data/row-envelope.ts';
import type { SetRow } from '../data/row-set.ts';
import { type SequenceCodec, sequenceCodec } from '../data/sequence.ts';
import type { DataType } from '../data/types.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log, LogProducer, OffsetRange } from '../ports/log.ts';
import { rowLoss } from '../refresh/loss.ts';
import { LostKeys } from '../refresh/lost-keys.ts';
import type { SourceBounds } from '../refresh/retention.ts';
import { isSameSet, type JoinSet, joinKept, lostRows } from '../refresh/row-join.ts';
import { ChangeOutput } from '../task/change-output.ts';
import { OutputWriter } from '../task/output-record.ts';
import type { SwapRange } from './flow-facts.ts';
import { generationStart } from './generation.ts';
import { halves, isInShare, type KeyShare, shareBitsMax, wholeShare } from './key-share.ts';
import type { ReadProgress } from './read-partition.ts';
import {
  ChangeFold,
  type ChangeForm,
  type ChangeSets,
  ChangeSettling,
  isSame,
} from './refresh-changes.ts';
import {
  bytesOf,
  copyOf,
  type Differences,
  differences,
  type Fold,
  keysOf,
  type RecordCopy,
  sizeOf,
} from './refresh-differences.ts';
import { eachSlice, RawFold, type RawRecord, SetFold } from './refresh-fold.ts';

/** The topics of one generation of a table. */
export type GenerationTopics = {
  readonly output: string | undefined;
  readonly levels: string | undefined;
  /** Whether each row is a record of its own. */
  readonly isNumbered: boolean;
  /** What earlier refreshes wrote into the output. */
  readonly swaps: readonly SwapRange[];
};

export type SwapOptions = {
  readonly log: Log;
  readonly clock: Clock;
  readonly table: string;
  readonly partitions: number;
  readonly distinct: boolean;
  /** Of what is there. */
  readonly sequenceType: DataType;
  /** Set of a table that AUTO CDC flows write. */
  readonly changes: ChangeForm | undefined;
  readonly recordBytesMax: number;
  readonly live: GenerationTopics;
  /** What takes its place; undefined: nothing does. */
  readonly fresh: GenerationTopics | undefined;
  readonly generation: number;
  readonly bounds: SourceBounds;
  /** Whether what is not ours goes like everything else, or is an error. */
  readonly takesAll: boolean;
  /** Rows that can't be read again are inputs of the merge. */
  readonly keeps: boolean;
  /** undefined: it is only measured what would be written and lost. */
  readonly producer: LogProducer | undefined;
  readonly heldBytesMax?: number | undefined;
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
};

export type SwapResult = {
  /** Records that take the place of others, or are new. */
  published: number;
  /** Tombstones. */
  buried: number;
  /** Rows and levels that nothing takes the place of, and that can't be read again. */
  readonly lost: { keys: number; rows: number; levels: number };
};

const heldBytesDefault = 256 * 1024 * 1024;
/** Bounds of one transaction; keys are never divided between two. */
const transactionRecordsMax = 2_000;
const transactionBytesMax = 8 * 1024 * 1024;

/**
 * Makes the table what the fresh generation is, by its differences alone. Invariant: at every point each key of the table
 * has a whole row-set, the former or the fresh one; done twice, the second time writes nothing.
 *
 * Nobody else may write either generation meanwhile.
 */
export async function swapTable(options: SwapOptions): Promise<SwapResult> {
  const result: SwapResult = { published: 0, buried: 0, lost: { keys: 0, rows: 0, levels: 0 } };
  if (options.live.output === undefined && options.fresh?.output === undefined) return result;
  for (let partition = 0; partition < options.partitions; partition += 1) {
    const shares: KeyShare[] = [wholeShare];
    for (let share = shares.shift(); share !== undefined; share = shares.shift()) {
      const swap = new ShareSwap(options, partition, share, result);
      if (await swap.run()) continue;
      shares.unshift(...halves(share));
    }
    options.onProgress?.({
      partition,
      partitions: options.partitions,
      position: partition + 1,
      end: options.partitions,
    });
  }
  return result;
}

/** The keys of one share of one partition. */
class ShareSwap {
  readonly #options: SwapOptions;
  readonly #partition: number;
  readonly #share: KeyShare;
  readonly #result: SwapResult;
  readonly #codec: SequenceCodec;
  readonly #lostKeys: LostKeys;
  readonly #writer: OutputWriter;
  readonly #changeWriter: ChangeOutput | undefined;
  /** Keys that have rows in what takes the place of the table. */
  #freshKeys: ReadonlySet<string> = new Set();
  #pendingRecords = 0;

  constructor(options: SwapOptions, partition: number, share: KeyShare, result: SwapResult) {
    this.#options = options;
    this.#partition = partition;
    this.#share = share;
    this.#result = result;
    const codec = sequenceCodec(options.sequenceType);
    this.#codec = codec;
    this.#lostKeys = new LostKeys();
    const target = {
      table: options.table,
      topic: options.live.output ?? '',
      partition,
      generation: options.generation,
      recordBytesMax: options.recordBytesMax,
    };
    this.#writer = new OutputWriter({
      ...target,
      writeSequence: codec.writeText,
      distinct: options.distinct,
      levelsTopic: options.live.levels,
    });
    const { changes, sequenceType, live } = options;
    if (changes === undefined) return;
    const { merge, historyNames } = changes;
    const levelsTopic = live.levels ?? '';
    this.#changeWriter = new ChangeOutput(
      { ...target, levelsTopic, sequenceType, historyNames },
      merge,
    );
  }

  /** False: these keys are too many for the memory they may take, and nothing was done. */
  async run(): Promise<boolean> {
    const { live, fresh } = this.#options;
    const liveRaw = await this.#fold(live, true);
    const freshRaw = fresh === undefined ? undefined : await this.#fold(fresh, false);
    this.#freshKeys = new Set([...(freshRaw?.output.records.values() ?? [])].map(({ key }) => key));
    const output = differences(liveRaw.output, freshRaw?.output);
    const levels = differences(liveRaw.levels, freshRaw?.levels);
    const heldBytes =
      sizeOf(liveRaw) +
      (freshRaw === undefined ? 0 : sizeOf(freshRaw)) +
      this.#lostKeys.heldBytes * 2 +
      (live.isNumbered ? output.publishedBytes : 0);
    if (this.#isTooLarge(heldBytes)) return false;
    const settled = await this.#settle(liveRaw, freshRaw);
    if (settled === undefined) return false;
    if (this.#options.producer === undefined) {
      this.#count(output, settled);
      this.#count(levels, settled);
      return true;
    }
    await this.#write(output, levels, settled);
    await this.#commit();
    return true;
  }

  async #fold(topics: GenerationTopics, isLive: boolean): Promise<Fold> {
    const output = new RawFold('output', topics.isNumbered);
    const levels = new RawFold('levels', false);
    const isWanted = (key: string): boolean => isInShare(key, this.#share);
    const { bounds, changes, takesAll } = this.#options;
    const form = changes === undefined ? 'rows' : 'changes';
    const lost = isLive ? ({ keys: this.#lostKeys, bounds, form, takesAll } as const) : undefined;
    await this.#each(topics.output, (slice) => output.take(slice, { isWanted, lost }));
    await this.#each(topics.levels, (slice) => levels.take(slice, { isWanted, lost }));
    return { output, levels };
  }

  async #each(topic: string | undefined, take: Parameters<typeof eachSlice>[3]): Promise<void> {
    if (topic === undefined) return;
    const range = await this.#range(topic);
    if (range === undefined) return;
    const { live } = this.#options;
    const first = topic === live.output ? generationStart(live.swaps, this.#partition) : 0;
    const from = Math.max(range.start, first);
    const place = { partition: this.#partition, from, to: range.stable };
    await eachSlice(this.#options.log, topic, place, take);
  }

  async #range(topic: string): Promise<OffsetRange | undefined> {
    return (await this.#options.log.offsetRanges(topic, [this.#partition])).get(this.#partition);
  }

  /** Decides about the keys of which something can't be read again; undefined: they are too many for their memory. */
  async #settle(liveRaw: Fold, freshRaw: Fold | undefined): Promise<Settlements | undefined> {
    const keys = new Set([...this.#lostKeys.losses()].map(({ key }) => key));
    const { changes, takesAll } = this.#options;
    if (changes === undefined) return keys.size === 0 ? new Map() : this.#settleRows(keys);
    try {
      return await this.#settleChanges(keys, changes, { liveRaw, freshRaw });
    } catch (error) {
      // Changes are put together from all records of a key, so what is lost is known of ours alone.
      const isForeign = error instanceof FlowError && error.code === 'RECORD_CORRUPT';
      if (isForeign && takesAll) return new Map();
      throw error;
    }
  }

  async #settleRows(keys: ReadonlySet<string>): Promise<Settlements> {
    const { live, fresh, keeps } = this.#options;
    const liveSets = await this.#sets(live, keys);
    const freshSets = fresh === undefined ? undefined : await this.#sets(fresh, keys);
    const settled = new Map<string, Settlement>();
    for (const key of keys) {
      const before = liveSets.set(key);
      if (before === undefined) continue;
      const unreadable = this.#unreadable(before);
      if (unreadable.rows.length === 0 && unreadable.levelSource === undefined) continue;
      const after = freshSets?.set(key);
      if (!keeps) {
        this.#countLost(unreadable, after);
        continue;
      }
      const { stands, set } = joinKept(after, unreadable);
      if (stands === 'fresh' || set === undefined) continue;
      const positions = liveSets.positions(key);
      const write = isSameSet(set, before) ? undefined : () => this.#writeSet(key, set, positions);
      settled.set(key, { write });
    }
    return settled;
  }

  async #settleChanges(
    lostKeys: ReadonlySet<string>,
    form: ChangeForm,
    { liveRaw, freshRaw }: { readonly liveRaw: Fold; readonly freshRaw: Fold | undefined },
  ): Promise<Settlements | undefined> {
    const { live, fresh, keeps, bounds } = this.#options;
    const settling = new ChangeSettling(form, bounds, keeps);
    const floors = await this.#changes(live, fresh, new Set([truncateKey]), form);
    const lostFloor = settling.lostFloor(floors);
    const settled = new Map<string, Settlement>();
    const keys = new Set([...lostKeys].filter((key) => key !== truncateKey));
    if (lostFloor !== undefined) {
      if (keeps) {
        // What lies below a truncate that is kept is dead, whichever keys it is of; and the truncate stays as it is.
        settled.set(truncateKey, { write: undefined });
        for (const key of keysOf(freshRaw)) keys.add(key);
        if (freshRaw !== undefined && this.#isTooLarge(sizeOf(liveRaw) + bytesOf(freshRaw))) {
          return undefined;
        }
      } else if (this.#partition === 0 && isInShare(truncateKey, this.#share)) {
        this.#noteLost(0, 1);
      }
    }
    if (keys.size === 0) return settled;
    const sets = await this.#changes(live, fresh, new Set([...keys, truncateKey]), form);
    for (const key of keys) {
      const { lostRows, isHiddenLost, kept, before } = settling.settle(key, sets);
      if (!keeps) this.#noteLost(lostRows, isHiddenLost ? 1 : 0);
      if (kept === undefined) continue;
      const write = isSame(kept, before) ? undefined : () => this.#writeChanges(key, kept, before);
      settled.set(key, { write });
    }
    return settled;
  }

  async #changes(
    live: GenerationTopics,
    fresh: GenerationTopics | undefined,
    keys: ReadonlySet<string>,
    { merge }: ChangeForm,
  ): Promise<ChangeSets> {
    const fold = async (topics: GenerationTopics): Promise<ChangeFold> => {
      const changes = new ChangeFold(keys, merge, this.#codec.parse);
      const isFloorOnly = keys.size === 1 && keys.has(truncateKey);
      if (!isFloorOnly) await this.#each(topics.output, (slice) => changes.takeOutput(slice));
      await this.#each(topics.levels, (slice) => changes.takeLevels(slice));
      return changes;
    };
    return {
      live: await fold(live),
      fresh: fresh === undefined ? undefined : await fold(fresh),
    };
  }

  #isTooLarge(heldBytes: number): boolean {
    const heldBytesMax = this.#options.heldBytesMax ?? heldBytesDefault;
    return heldBytes > heldBytesMax && this.#share.bits < shareBitsMax;
  }

  #noteLost(rows: number, levels: number): void {
    if (rows + levels === 0) return;
    const { lost } = this.#result;
    lost.keys += 1;
    lost.rows += rows;
    lost.levels += levels;
  }

  /** A key of an AUTO CDC table that is neither what it was nor what was computed anew. */
  #writeChanges(key: string, changes: readonly Change[], before: readonly Change[]): void {
    const { producer, clock, changes: form } = this.#options;
    const writer = this.#changeWriter;
    if (producer === undefined || writer === undefined || form === undefined) return;
    const bytes = Buffer.from(key, 'latin1');
    const rows = form.merge.rows(changes);
    const nowMs = clock.now();
    if (rows.length === 0 && changes.length > 0) writer.level(producer, bytes, changes, nowMs);
    else if (form.merge.rows(before).length === 0) writer.level(producer, bytes, undefined, nowMs);
    writer.rows(producer, bytes, { rows, changes, nowMs });
    if (rows.length > 0) this.#result.published += 1;
    else this.#result.buried += 1;
    this.#pendingRecords += 2;
  }

  async #sets(topics: GenerationTopics, keys: ReadonlySet<string>): Promise<SetFold> {
    const { takesAll } = this.#options;
    const sets = new SetFold(keys, { ...topics, parse: this.#codec.parse, takesAll });
    await this.#each(topics.output, (slice) => sets.takeOutput(slice));
    await this.#each(topics.levels, (slice) => sets.takeLevels(slice));
    return sets;
  }

  #unreadable(set: JoinSet): JoinSet {
    const { bounds } = this.#options;
    return {
      ...set,
      rows: set.rows.filter(
        ({ sources }) =>
          rowLoss(
            bounds,
            sources.map((source) => readProvenance(source, 0)),
          ) !== undefined,
      ),
    };
  }

  #countLost(unreadable: JoinSet, after: JoinSet | undefined): void {
    const isLevel = unreadable.levelSource !== undefined;
    const isBehind = after === undefined || unreadable.sequence.compare(after.sequence) > 0;
    const rows = lostRows(after, unreadable).length;
    const levels = isLevel && isBehind ? 1 : 0;
    this.#noteLost(rows, levels);
  }

  #count({ published, buried }: Differences, settled: Settlements): void {
    const isOpen = ({ key }: RawRecord): boolean => !settled.has(key);
    this.#result.published += [...published.values()].filter(isOpen).length;
    this.#result.buried += buried.filter(isOpen).length;
  }

  // ---------------------------------------------------------------- writing

  async #write(output: Differences, levels: Differences, settled: Settlements): Promise<void> {
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
      write?.();
      await this.#commitIfLarge();
    }
    await this.#buryLevels(levels, isOpen);
  }

  /**
   * Levels that are gone, or lower than they were. The tombstone that a marker left in the output tells its level, too,
   * so another one takes its place.
   */
  async #buryLevels(
    { published, buried }: Differences,
    isOpen: (record: RawRecord) => boolean,
  ): Promise<void> {
    const { producer, clock, live } = this.#options;
    if (producer === undefined) return;
    const position = live.isNumbered ? 0 : undefined;
    for (const { key } of buried.filter(isOpen)) {
      this.#writer.level(producer, spanOfKey(key), undefined, clock.now());
      this.#noteBuried();
      if (!this.#freshKeys.has(key)) this.#bury({ key, position });
      await this.#commitIfLarge();
    }
    for (const record of published.values()) {
      if (!isOpen(record) || this.#freshKeys.has(record.key)) continue;
      this.#bury({ key: record.key, position });
      await this.#commitIfLarge();
    }
  }

  /** Records that are each a key of their own go over as they come. */
  async #copy(
    from: string | undefined,
    to: string | undefined,
    { published }: Differences,
    isOpen: (record: RawRecord) => boolean,
  ): Promise<void> {
    if (to === undefined || published.size === 0) return;
    await this.#each(from, async ({ records }) => {
      while (records.next()) {
        const raw = records.bytes.toString('latin1', records.keyStart, records.keyEnd);
        const record = published.get(raw);
        if (record === undefined || record.offset !== records.offset || !isOpen(record)) continue;
        this.#append(to, copyOf(records));
        await this.#commitIfLarge();
      }
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
      await this.#each(from, ({ records }) => {
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
    const { producer, clock } = this.#options;
    producer?.append(topic, this.#partition, {
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
    const { producer, clock } = this.#options;
    if (producer === undefined) return;
    this.#writer.tombstone(producer, spanOfKey(key), position, clock.now());
    this.#noteBuried();
  }

  #noteBuried(): void {
    this.#result.buried += 1;
    this.#pendingRecords += 1;
  }

  /** A row-set that is neither the former nor the fresh one. */
  #writeSet(key: string, set: JoinSet, positions: readonly number[]): void {
    const { producer, clock, live, distinct } = this.#options;
    if (producer === undefined) return;
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
        this.#writer.row(producer, bytes, { sequence, rows: rowsOf(row), position }, nowMs);
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
    this.#writer.rowSet(producer, bytes, { sequence, rows }, nowMs);
    this.#result.published += 1;
    this.#pendingRecords += 1;
  }

  async #commitIfLarge(): Promise<void> {
    const { producer } = this.#options;
    if (producer === undefined) return;
    const isLarge =
      this.#pendingRecords >= transactionRecordsMax || producer.pendingBytes > transactionBytesMax;
    if (isLarge) await this.#commit();
  }

  async #commit(): Promise<void> {
    if (this.#pendingRecords === 0) return;
    await this.#options.producer?.commit([]);
    this.#pendingRecords = 0;
  }
}

/** A key that is not swapped record by record; undefined: it stays as it is. */
type Settlement = { readonly write: (() => void) | undefined };

type Settlements = ReadonlyMap<string, Settlement>;

function spanOfKey(key: string): Span {
  return wholeSpan(Buffer.from(key, 'latin1'));
}

import { FlowError } from '../../base/errors.ts';
import { readProvenance } from '../../data/provenance.ts';
import { truncateKey } from '../../data/row-envelope.ts';
import { type SequenceCodec, sequenceCodec } from '../../data/sequence.ts';
import { rowLoss } from '../../refresh/loss.ts';
import { LostKeys } from '../../refresh/lost-keys.ts';
import { isSameSet, type JoinSet, joinKept, lostRows } from '../../refresh/row-join.ts';
import { halves, isInShare, type KeyShare, shareBitsMax, wholeShare } from '../worker/key-share.ts';
import {
  ChangeFold,
  type ChangeForm,
  type ChangeSets,
  ChangeSettling,
  isSame,
} from './refresh-changes.ts';
import {
  bytesOf,
  type Differences,
  differences,
  type Fold,
  keysOf,
  sizeOf,
} from './refresh-differences.ts';
import { RawFold, type RawRecord, SetFold } from './refresh-fold.ts';
import {
  eachSliceOf,
  type GenerationTopics,
  noSwapResult,
  type SwapOptions,
  type SwapResult,
} from './refresh-swap-options.ts';
import { type Settlement, type Settlements, SwapWriter } from './refresh-swap-writer.ts';

const heldBytesDefault = 256 * 1024 * 1024;

/**
 * Makes the table what the fresh generation is, by its differences alone. Invariant: at every point each key of the table
 * has a whole row-set, the former or the fresh one; done twice, the second time writes nothing.
 *
 * Nobody else may write either generation meanwhile.
 */
export async function swapTable(options: SwapOptions): Promise<SwapResult> {
  const result = noSwapResult();
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

  constructor(options: SwapOptions, partition: number, share: KeyShare, result: SwapResult) {
    this.#options = options;
    this.#partition = partition;
    this.#share = share;
    this.#result = result;
    this.#codec = sequenceCodec(options.sequenceType);
    this.#lostKeys = new LostKeys();
  }

  /** False: these keys are too many for the memory they may take, and nothing was done. */
  async run(): Promise<boolean> {
    const { live, fresh } = this.#options;
    const liveRaw = await this.#fold(live, true);
    const freshRaw = fresh === undefined ? undefined : await this.#fold(fresh, false);
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
    const { producer } = this.#options;
    if (producer === undefined) {
      this.#count(output, settled);
      this.#result.buriedLevels += this.#count(levels, settled);
      return true;
    }
    const writer = new SwapWriter({
      options: this.#options,
      producer,
      partition: this.#partition,
      freshKeys: new Set([...(freshRaw?.output.records.values() ?? [])].map(({ key }) => key)),
      result: this.#result,
    });
    await writer.write({ output, levels, settled });
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

  #each(topic: string | undefined, take: Parameters<typeof eachSliceOf>[3]): Promise<void> {
    return eachSliceOf(this.#options, topic, this.#partition, take);
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
      this.#note(unreadable, after);
      if (!keeps) continue;
      const { stands, set } = joinKept(after, unreadable);
      if (stands === 'fresh' || set === undefined) continue;
      const positions = liveSets.positions(key);
      const write = isSameSet(set, before)
        ? undefined
        : (writer: SwapWriter) => writer.set(key, set, positions);
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
      }
      if (this.#partition === 0 && isInShare(truncateKey, this.#share)) this.#noteGone(0, 1);
    }
    if (keys.size === 0) return settled;
    const sets = await this.#changes(live, fresh, new Set([...keys, truncateKey]), form);
    for (const key of keys) {
      const { lostRows, isHiddenLost, kept, before } = settling.settle(key, sets);
      this.#noteGone(lostRows, isHiddenLost ? 1 : 0);
      if (kept === undefined) continue;
      const write = isSame(kept, before)
        ? undefined
        : (writer: SwapWriter) => writer.changes(key, kept, before);
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

  /** What can't be read again of a key, and nothing takes the place of: it goes, or it stays. */
  #noteGone(rows: number, levels: number): void {
    if (rows + levels === 0) return;
    const { lost, kept } = this.#result;
    const counts = this.#options.keeps ? kept : lost;
    counts.keys += 1;
    counts.rows += rows;
    counts.levels += levels;
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

  #note(unreadable: JoinSet, after: JoinSet | undefined): void {
    const isLevel = unreadable.levelSource !== undefined;
    const isBehind = after === undefined || unreadable.sequence.compare(after.sequence) > 0;
    const rows = lostRows(after, unreadable).length;
    const levels = isLevel && isBehind ? 1 : 0;
    this.#noteGone(rows, levels);
  }

  /** Gives how many are taken away. */
  #count({ published, buried }: Differences, settled: Settlements): number {
    const isOpen = ({ key }: RawRecord): boolean => !settled.has(key);
    this.#result.published += [...published.values()].filter(isOpen).length;
    const taken = buried.filter(isOpen).length;
    this.#result.buried += taken;
    return taken;
  }
}

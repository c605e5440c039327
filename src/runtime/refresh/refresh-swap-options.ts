import type { DataType } from '../../data/types.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, LogProducer } from '../../ports/log.ts';
import type { SourceBounds } from '../../refresh/retention.ts';
import type { SwapRange } from '../inspect/flow-facts.ts';
import { generationStart } from '../takeover/generation.ts';
import type { ReadProgress } from '../worker/read-partition.ts';
import type { ChangeForm } from './refresh-changes.ts';
import { eachSlice } from './refresh-fold.ts';

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
  /** Those of them that are about the level of a key without rows. */
  buriedLevels: number;
  /** Rows and levels that nothing takes the place of, and that can't be read again. */
  readonly lost: { keys: number; rows: number; levels: number };
  /** The same where they stay. */
  readonly kept: { keys: number; rows: number; levels: number };
};

export function noSwapResult(): SwapResult {
  return {
    published: 0,
    buried: 0,
    buriedLevels: 0,
    lost: { keys: 0, rows: 0, levels: 0 },
    kept: { keys: 0, rows: 0, levels: 0 },
  };
}

/** What counts of one partition of a generation's topic, slice by slice; undefined: there is no such topic. */
export async function eachSliceOf(
  { log, live }: SwapOptions,
  topic: string | undefined,
  partition: number,
  take: Parameters<typeof eachSlice>[3],
): Promise<void> {
  if (topic === undefined) return;
  const range = (await log.offsetRanges(topic, [partition])).get(partition);
  if (range === undefined) return;
  const first = topic === live.output ? generationStart(live.swaps, partition) : 0;
  const place = { partition, from: Math.max(range.start, first), to: range.stable };
  await eachSlice(log, topic, place, take);
}

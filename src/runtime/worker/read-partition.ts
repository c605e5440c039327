import { FlowError } from '../../base/errors.ts';
import type { Log, Slice } from '../../ports/log.ts';

export type ReadProgress = {
  readonly partition: number;
  readonly partitions: number;
  readonly position: number;
  readonly end: number;
};

export type PartitionToRead = {
  readonly log: Log;
  readonly topic: string;
  readonly partition: number;
  readonly partitions: number;
  /** Nothing before it is read; absent: all that is there. */
  readonly from?: number;
  /** Whether records that go while it is read are of no more use, since somebody has taken them in. */
  readonly mayGo?: boolean;
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
};

/** Later rounds only follow what was written meanwhile, so they are short. */
const roundsMax = 6;

/**
 * Reads one partition of a compacted topic to its last stable offset. What was written meanwhile is followed: compaction
 * may have taken away a record for the sake of one that lies behind the end as it stood at the start.
 */
export async function readPartition(
  { log, topic, partition, partitions, from = 0, mayGo = false, onProgress }: PartitionToRead,
  take: (slice: Slice) => Promise<void> | void,
): Promise<void> {
  const rangeNow = async (): Promise<{ start: number; stable: number }> => {
    const range = (await log.offsetRanges(topic, [partition])).get(partition);
    if (range !== undefined) return range;
    throw new FlowError('TOPIC_MISSING', `topic "${topic}" has no partition ${partition}`);
  };
  let range = await rangeNow();
  let position = Math.max(range.start, from);
  const reader = log.openReader();
  const goOn = async (error: unknown): Promise<readonly Slice[]> => {
    const isGone = error instanceof FlowError && error.code === 'OFFSET_OUT_OF_RANGE';
    const { start } = await rangeNow();
    if (!mayGo || !isGone || start <= position) throw error;
    position = start;
    reader.unassign(topic, partition);
    reader.assign(topic, partition, position);
    return [];
  };
  try {
    reader.assign(topic, partition, position);
    for (let round = 0; round < roundsMax && position < range.stable; round += 1) {
      while (position < range.stable) {
        const slices = await reader.poll(500).catch(goOn);
        for (const slice of slices) {
          await take(slice);
          position = slice.nextOffset;
          onProgress?.({ partition, partitions, position, end: range.stable });
        }
      }
      range = await rangeNow();
    }
  } finally {
    await reader.close();
  }
}

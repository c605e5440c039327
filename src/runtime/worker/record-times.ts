import { FlowError } from '../../base/errors.ts';
import type { Log, LogReader, OffsetRange } from '../../ports/log.ts';

type PartitionRange = Pick<OffsetRange, 'start' | 'stable'> & { readonly partition: number };

export type EdgeTimes = { readonly fromMs: number | undefined; readonly toMs: number | undefined };

/** Timestamp of the first record from the given offsets on, where there is one. */
export async function firstTimes(
  log: Log,
  topic: string,
  partitions: readonly PartitionRange[],
): Promise<ReadonlyMap<number, number>> {
  const times = new Map<number, number>();
  const reader = log.openReader();
  try {
    for (const { partition, start: from, stable: to } of partitions) {
      try {
        const time = await timeIn(reader, topic, { partition, from, to, at: 'first' });
        if (time !== undefined) times.set(partition, time);
      } catch (error) {
        // Retention was there first: what is left is looked at the next time.
        const isGone = error instanceof FlowError && error.code === 'OFFSET_OUT_OF_RANGE';
        if (!isGone) throw error;
        reader.unassign(topic, partition);
      }
    }
  } finally {
    await reader.close();
  }
  return times;
}

/** How far before the end the last record is looked for: control records and gaps may follow it. */
const lookBack = [1, 16, 1024, 65_536];

/** Timestamps of the first and the last record of partitions of a topic. */
export async function edgeTimes(
  log: Log,
  topic: string,
  partitions: readonly PartitionRange[],
): Promise<ReadonlyMap<number, EdgeTimes>> {
  const times = new Map<number, EdgeTimes>();
  const reader = log.openReader();
  try {
    for (const { partition, start, stable } of partitions) {
      if (start >= stable) continue;
      const fromMs = await timeIn(reader, topic, {
        partition,
        from: start,
        to: stable,
        at: 'first',
      });
      let toMs: number | undefined;
      for (const back of lookBack) {
        if (fromMs === undefined || toMs !== undefined) break;
        const from = Math.max(start, stable - back);
        toMs = await timeIn(reader, topic, { partition, from, to: stable, at: 'last' });
      }
      times.set(partition, { fromMs, toMs: toMs ?? fromMs });
    }
  } finally {
    await reader.close();
  }
  return times;
}

type Span = {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly at: 'first' | 'last';
};

/** Timestamp of the first or the last record between two offsets; undefined: there is none. */
async function timeIn(
  reader: LogReader,
  topic: string,
  { partition, from, to, at }: Span,
): Promise<number | undefined> {
  let found: number | undefined;
  reader.assign(topic, partition, from);
  for (let position = from; position < to; ) {
    for (const { records, nextOffset } of await reader.poll(500)) {
      while (records.next()) {
        if (records.offset >= to) break;
        found = records.timestampMs;
        if (at === 'first') break;
      }
      position = nextOffset;
    }
    if (at === 'first' && found !== undefined) break;
  }
  reader.unassign(topic, partition);
  return found;
}

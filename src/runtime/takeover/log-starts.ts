import { FlowError } from '../../base/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { TopicFacts } from '../inspect/flow-facts.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import type { Catalog } from '../topics/catalog.ts';

/** What a topic entry of the catalog tells of log starts: nothing where each partition still has its first offset. */
export type LogStarts = { readonly starts?: readonly number[] };

/** Where the partitions of a topic start now. */
export async function logStarts(log: Log, topic: string, partitions: number): Promise<LogStarts> {
  const numbers = numbersTo(partitions);
  const ranges = await log.offsetRanges(topic, numbers);
  const starts = numbers.map((partition) => ranges.get(partition)?.start ?? 0);
  return starts.some((start) => start > 0) ? { starts } : {};
}

/**
 * Refuses a topic that holds a table where its log starts later than when the catalog took note of it: compaction never
 * moves the start, and the service deletes nothing there but in a refresh, which takes note of it anew. Invariant: no
 * state is restored from, and no row written to, a table whose first records somebody has deleted.
 */
export function refuseMovedStart(
  catalog: Catalog,
  place: {
    readonly flow: string;
    readonly table: string;
    readonly topic: TopicFacts;
    readonly partition: number;
    readonly start: number;
  },
): void {
  const { flow, table, topic, partition, start } = place;
  if (start === 0) return;
  const entry = catalog.get('topic', topic.topic)?.value;
  if (entry?.['topicId'] !== topic.topicId) return;
  const { starts } = entry as LogStarts;
  const known = starts?.[partition] ?? 0;
  if (start <= known) return;
  throw new FlowError(
    'OFFSET_OUT_OF_RANGE',
    `flow "${flow}" cannot go on: topic "${topic.topic}" has lost its first records`,
    {
      detail: `Partition ${partition} starts at offset ${start}, and it started at ${known}: rows of table "${table}" that stood before are gone, by a delete policy or by DeleteRecords.`,
      hint: `Nothing was written since. See what can still be computed: tidemark refresh ${table} --plan. Then compute the table anew: tidemark refresh ${table} --in-place`,
      place: { topic: topic.topic, partition, offset: start },
    },
  );
}

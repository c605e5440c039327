import { FlowError } from '../../base/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { FlowFacts, TopicFacts } from '../inspect/flow-facts.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import type { KnownCatalog } from '../topics/catalog.ts';

/** What a topic entry of the catalog tells of log starts: nothing where each partition still has its first offset. */
export type LogStarts = { readonly starts?: readonly number[] };

/** A partition of a table's topic that starts later than the catalog knows. */
export type MovedStart = {
  readonly partition: number;
  readonly known: number;
  readonly start: number;
};

/** Where the partitions of a topic start now. */
export async function logStarts(log: Log, topic: string, partitions: number): Promise<LogStarts> {
  const numbers = numbersTo(partitions);
  const ranges = await log.offsetRanges(topic, numbers);
  const starts = numbers.map((partition) => ranges.get(partition)?.start ?? 0);
  return starts.some((start) => start > 0) ? { starts } : {};
}

/**
 * Where a topic that holds a table starts later than when the catalog took note of it: compaction never moves the start,
 * and the service deletes nothing there but in a refresh, which takes note of it anew.
 */
export async function movedStarts(
  log: Log,
  catalog: KnownCatalog,
  topic: TopicFacts,
): Promise<readonly MovedStart[]> {
  const { starts = [] } = await logStarts(log, topic.topic, topic.partitions);
  return starts.flatMap((start, partition) => movedStart(catalog, topic, partition, start) ?? []);
}

/** The same of one partition, whose start is known. */
export function movedStart(
  catalog: KnownCatalog,
  { topic, topicId }: TopicFacts,
  partition: number,
  start: number,
): MovedStart | undefined {
  if (start === 0) return undefined;
  const entry = catalog.get('topic', topic)?.value;
  if (entry?.['topicId'] !== topicId) return undefined;
  const { starts } = entry as LogStarts;
  const known = starts?.[partition] ?? 0;
  return start <= known ? undefined : { partition, known, start };
}

/**
 * Refuses a table whose topic starts later than it did. Invariant: no state is restored from, and no row written to, a
 * table whose first records somebody has deleted.
 */
export function refuseMovedStarts(
  { flow, table }: Pick<FlowFacts, 'flow' | 'table'>,
  { topic }: Pick<TopicFacts, 'topic'>,
  [moved]: readonly MovedStart[],
): void {
  if (moved === undefined) return;
  throw lostRecords({ flow: flow.name, table: table.name, topic }, moved);
}

/** What is said of a table's topic that has lost its first records. */
export function lostRecords(
  { flow, table, topic }: { readonly flow: string; readonly table: string; readonly topic: string },
  { partition, known, start }: MovedStart,
): FlowError {
  return new FlowError(
    'OFFSET_OUT_OF_RANGE',
    `flow "${flow}" cannot go on: topic "${topic}" has lost its first records`,
    {
      detail: `Partition ${partition} starts at offset ${start}, and it started at ${known}: rows of table "${table}" that stood before are gone, by a delete policy or by DeleteRecords.`,
      hint: `Nothing was written since. See what can still be computed: tidemark refresh ${table} --plan. Then compute the table anew: tidemark refresh ${table} --in-place`,
      place: { topic, partition, offset: start },
    },
  );
}

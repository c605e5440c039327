import type { Log, RecordCursor } from '../../ports/log.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import { readPartition } from './read-partition.ts';

/** A topic between two stages of a flow. */
export type WaitingTopic = { readonly topic: string; readonly partitions: number };

/** Every record that a group has yet to take from a topic, as it stands now. Invariant: none is behind the group's checkpoint. */
export async function eachWaiting(
  log: Log,
  group: string,
  { topic, partitions }: WaitingTopic,
  take: (records: RecordCursor) => void,
): Promise<void> {
  const committed = await log.committedOffsets(group, topic, numbersTo(partitions));
  for (const partition of numbersTo(partitions)) {
    const from = committed.get(partition)?.offset ?? 0;
    // What is deleted meanwhile lies behind the checkpoint by then (simulation seed 500688 with refreshes).
    const place = { log, topic, partition, partitions, from, mayGo: true };
    await readPartition(place, ({ records }) => {
      while (records.next()) take(records);
    });
  }
}

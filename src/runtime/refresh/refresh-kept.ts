import type { Clock } from '../../ports/clock.ts';
import type { Log, LogProducer } from '../../ports/log.ts';
import { emptyOutgoingRecord } from '../../task/output/outgoing-record.ts';
import { CommitPace } from './commit-pace.ts';
import { numbersTo } from './refresh-facts.ts';
import { eachSlice } from './refresh-fold.ts';

/**
 * Writes a tombstone for every key that the changelog of a join knows, up to where it ends now. Invariant: done again
 * after a crash it does no more; what the former generation kept counts for nobody even before.
 */
export async function buryKept(
  log: Log,
  topic: string,
  producer: LogProducer,
  clock: Clock,
): Promise<void> {
  const found = (await log.describeTopics([topic])).get(topic);
  if (found === undefined) return;
  const ranges = await log.offsetRanges(topic, numbersTo(found.partitions));
  const pace = new CommitPace(producer, clock);
  const record = emptyOutgoingRecord();
  record.valueEnd = -1;
  for (const [partition, { start, stable }] of ranges) {
    await eachSlice(log, topic, { partition, from: start, to: stable }, async ({ records }) => {
      while (records.next()) {
        if (records.offset >= stable || records.valueEnd < 0) continue;
        record.key = records.bytes;
        record.keyStart = records.keyStart;
        record.keyEnd = records.keyEnd;
        record.timestampMs = clock.now();
        producer.append(topic, partition, record);
      }
      await pace.turn();
    });
  }
  await pace.commit();
}

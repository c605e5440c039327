import type { Log, LogProducer, TopicDescription } from '../../ports/log.ts';
import { appendCopy } from './append-copy.ts';

const copiedSettings = ['cleanup.policy', 'retention.ms', 'retention.bytes', 'max.message.bytes'];
const pendingBytesMax = 8 * 1024 * 1024;

/** The settings that the copy of a topic has to have, too. */
export function copiedConfigs({ configs }: TopicDescription): Record<string, string> {
  return Object.fromEntries(
    copiedSettings.flatMap((name) => {
      const value = configs.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

type Copied = {
  readonly from: string;
  readonly to: string;
  /** Partition → the offsets to be copied: from `start`, below `end`. */
  readonly ranges: Iterable<readonly [number, { readonly start: number; readonly end: number }]>;
};

/** Appends records of one topic to another, each to the partition of its number. The caller commits. */
export async function copyRecords(
  log: Log,
  producer: LogProducer,
  { from, to, ranges }: Copied,
): Promise<void> {
  const reader = log.openReader();
  try {
    for (const [partition, { start, end }] of ranges) {
      if (start >= end) continue;
      reader.assign(from, partition, start);
      for (let position = start; position < end; ) {
        for (const { records, nextOffset } of await reader.poll(500)) {
          while (records.next()) appendCopy(producer, to, partition, records);
          position = nextOffset;
        }
        if (producer.pendingBytes > pendingBytesMax) await producer.drain(pendingBytesMax / 2);
      }
      reader.unassign(from, partition);
    }
  } finally {
    await reader.close();
  }
}

import type { RequestWriter } from './request-writer.ts';
import type { ResponseReader } from './response-reader.ts';

/**
 * Kafka nests partitions in topics nearly everywhere; our requests and replies are flat lists whose
 * items name their topic. These functions convert.
 * Invariant: the order of items of one topic is kept, and each topic is written once.
 */
export type TopicPartition = { readonly topic: string; readonly partition: number };

export type PartitionResult = TopicPartition & { readonly errorCode: number };

/** Writes an array of topics, each with an array of its items; `writePartition` writes one whole item without tags. */
export function writeByTopic<Item extends { readonly topic: string }>(
  writer: RequestWriter,
  items: readonly Item[],
  writePartition: (item: Item) => void,
  writeTopic: (first: Item) => void = (first) => writer.string(first.topic),
): void {
  writer.array([...groupByTopic(items).values()], (group) => {
    const [first] = group;
    if (first !== undefined) writeTopic(first);
    writer.array(group, (item) => {
      writePartition(item);
      writer.tags();
    });
    writer.tags();
  });
}

/** The same for arrays of bare partition numbers, which have no tags of their own. */
export function writePartitionsByTopic(
  writer: RequestWriter,
  items: readonly TopicPartition[],
): void {
  writer.array([...groupByTopic(items)], ([topic, group]) => {
    writer.string(topic);
    writer.int32Array(group.map((item) => item.partition));
    writer.tags();
  });
}

/** Reads topics of partitions into one list; `readPartition` reads one item without tags. */
export function readByTopic<Item>(
  reader: ResponseReader,
  readPartition: (topic: string) => Item,
  readTopic: () => string = () => reader.string(),
): Item[] {
  return reader
    .array(() => {
      const topic = readTopic();
      const items = reader.array(() => {
        const item = readPartition(topic);
        reader.tags();
        return item;
      });
      reader.tags();
      return items;
    })
    .flat();
}

/** The common reply: an error code for each partition. */
export function readPartitionResults(reader: ResponseReader): PartitionResult[] {
  return readByTopic(reader, (topic) => ({
    topic,
    partition: reader.int32(),
    errorCode: reader.int16(),
  }));
}

function groupByTopic<Item extends { readonly topic: string }>(
  items: readonly Item[],
): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(item.topic);
    if (group === undefined) groups.set(item.topic, [item]);
    else group.push(item);
  }
  return groups;
}

import { RequestWriter } from './request-writer.ts';
import { ResponseReader } from './response-reader.ts';
import { readByTopic, type TopicPartition, writePartitionsByTopic } from './topic-partitions.ts';

/**
 * What members of a consumer group tell each other through JoinGroup and SyncGroup; the broker only
 * carries it. Newer versions only add fields at the end, so that any version can be read.
 */
export type Subscription = {
  readonly topics: readonly string[];
  readonly userData: Buffer | null;
  readonly ownedPartitions: readonly TopicPartition[];
  /** The generation in which the owned partitions were assigned; -1: none. */
  readonly generation: number;
};

export type ConsumerAssignment = {
  readonly partitions: readonly TopicPartition[];
  readonly userData: Buffer | null;
};

const SUBSCRIPTION_VERSION = 2;
const ASSIGNMENT_VERSION = 0;

export function encodeSubscription(subscription: Subscription): Buffer {
  const writer = new RequestWriter(false);
  writer.int16(SUBSCRIPTION_VERSION);
  writer.stringArray(subscription.topics);
  writer.nullableBytes(subscription.userData);
  writePartitionsByTopic(writer, subscription.ownedPartitions);
  writer.int32(subscription.generation);
  return Buffer.concat(writer.finish());
}

export function decodeSubscription(bytes: Buffer): Subscription {
  const reader = new ResponseReader(bytes, false);
  const version = reader.int16();
  return {
    topics: reader.stringArray(),
    userData: reader.nullableSlice(),
    ownedPartitions: version >= 1 ? readPartitions(reader) : [],
    generation: version >= 2 ? reader.int32() : -1,
  };
}

export function encodeAssignment(assignment: ConsumerAssignment): Buffer {
  const writer = new RequestWriter(false);
  writer.int16(ASSIGNMENT_VERSION);
  writePartitionsByTopic(writer, assignment.partitions);
  writer.nullableBytes(assignment.userData);
  return Buffer.concat(writer.finish());
}

/** An empty buffer is what a member without partitions may be handed. */
export function decodeAssignment(bytes: Buffer): ConsumerAssignment {
  if (bytes.length === 0) return { partitions: [], userData: null };
  const reader = new ResponseReader(bytes, false);
  reader.int16();
  return { partitions: readPartitions(reader), userData: reader.nullableSlice() };
}

function readPartitions(reader: ResponseReader): TopicPartition[] {
  return readByTopic(reader, (topic) => ({ topic, partition: reader.int32() }));
}

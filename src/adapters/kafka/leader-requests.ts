import type { FlowError } from '../../base/errors.ts';
import type { KafkaCluster } from './cluster.ts';
import { actionOf, brokerError } from './kafka-errors.ts';
import type { Isolation } from './wire/fetch.ts';
import { listOffsets } from './wire/list-offsets.ts';
import type { RequestCodec } from './wire/request-codec.ts';
import type { TopicPartition } from './wire/topic-partitions.ts';

/** Sends each partition's part of a request to its leader, again and again for those whose leader has moved. */
export async function requestLeaders<
  Item extends TopicPartition,
  Request,
  Answer extends TopicPartition & { readonly errorCode: number },
>(
  cluster: KafkaCluster,
  codec: RequestCodec<Request, { readonly partitions: readonly Answer[] }>,
  items: readonly Item[],
  requestOf: (items: readonly Item[]) => Request,
): Promise<readonly Answer[]> {
  const done: Answer[] = [];
  const open = new Map(items.map((item) => [keyOf(item), item]));
  await cluster.retry(cluster.settings.retryMs, async () => {
    const topics = [...new Set([...open.values()].map((item) => item.topic))];
    let failure: FlowError | undefined;
    for (const [leader, part] of await byLeader(cluster, [...open.values()])) {
      const request = requestOf(part);
      const response = await cluster.control.request(leader, codec, request).catch(refreshed);
      for (const answer of response.partitions) {
        if (answer.errorCode === 0) {
          done.push(answer);
          open.delete(keyOf(answer));
        } else {
          failure = brokerError(answer.errorCode, nameOf(answer));
          if (actionOf(answer.errorCode) === 'metadata') await cluster.refreshTopics(topics);
        }
      }
    }
    if (failure !== undefined) throw failure;

    /** A leader that does not answer may have a successor already. */
    async function refreshed(error: unknown): Promise<never> {
      await cluster.refreshTopics(topics);
      throw error;
    }
  });
  return done;
}

async function byLeader<Item extends TopicPartition>(
  cluster: KafkaCluster,
  items: readonly Item[],
): Promise<ReadonlyMap<number, readonly Item[]>> {
  const groups = new Map<number, Item[]>();
  for (const item of items) {
    const leader = await cluster.leader(item.topic, item.partition);
    groups.set(leader, [...(groups.get(leader) ?? []), item]);
  }
  return groups;
}

/** Partition → offset at a timestamp, or at one of the ends (`LATEST_OFFSET`, `EARLIEST_OFFSET`). */
export async function offsetsAt(
  cluster: KafkaCluster,
  topic: string,
  partitions: readonly number[],
  point: { readonly timestamp: number; readonly isolation: Isolation },
): Promise<ReadonlyMap<number, number>> {
  const items = partitions.map((partition) => ({
    topic,
    partition,
    leaderEpoch: -1,
    timestamp: point.timestamp,
  }));
  const answers = await requestLeaders(cluster, listOffsets, items, (part) => ({
    isolation: point.isolation,
    partitions: part,
  }));
  return new Map(answers.map((answer) => [answer.partition, answer.offset]));
}

function keyOf(item: TopicPartition): string {
  return `${item.topic}/${item.partition}`;
}

function nameOf(item: TopicPartition): string {
  return `topic "${item.topic}" partition ${item.partition}`;
}

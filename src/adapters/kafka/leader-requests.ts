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
  let open = items;
  await cluster.retry(cluster.settings.retryMs, async () => {
    const topics = [...new Set(open.map((item) => item.topic))];
    const byLeader = new Map<number, Item[]>();
    for (const item of open) {
      const leader = await cluster.leader(item.topic, item.partition);
      byLeader.set(leader, [...(byLeader.get(leader) ?? []), item]);
    }
    let failure: FlowError | undefined;
    const failed = new Set<string>();
    for (const [leader, part] of byLeader) {
      const response = await askLeader(cluster, leader, codec, requestOf(part), topics);
      for (const answer of response.partitions) {
        if (answer.errorCode === 0) {
          done.push(answer);
          continue;
        }
        failure = brokerError(
          answer.errorCode,
          `topic "${answer.topic}" partition ${answer.partition}`,
        );
        failed.add(`${answer.topic}/${answer.partition}`);
        if (actionOf(answer.errorCode) === 'metadata') await cluster.refreshTopics(topics);
      }
      const answered = new Set(part);
      open = open.filter(
        (item) => !answered.has(item) || failed.has(`${item.topic}/${item.partition}`),
      );
    }
    if (failure !== undefined) throw failure;
  });
  return done;
}

async function askLeader<Request, Response>(
  cluster: KafkaCluster,
  leader: number,
  codec: RequestCodec<Request, Response>,
  request: Request,
  topics: readonly string[],
): Promise<Response> {
  try {
    return await cluster.control.request(leader, codec, request);
  } catch (error) {
    // Its successor may lead already.
    await cluster.refreshTopics(topics);
    throw error;
  }
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

import { KafkaCluster } from '../../src/adapters/kafka/cluster.ts';
import { fetch } from '../../src/adapters/kafka/wire/fetch.ts';

/** Where a batch has its length, and the epoch of its producer. */
const lengthAt = 8;
const epochAt = 51;
const CONTROL = 0x20;

/** Of each data batch of a partition, in order, the epoch under which it was produced. */
export async function producerEpochs(
  brokers: string,
  topic: string,
  partition: number,
): Promise<number[]> {
  const cluster = new KafkaCluster({
    brokers: brokers.split(','),
    clientId: 'epochs',
    connectTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    retryMs: 10_000,
  });
  try {
    await cluster.connect();
    await cluster.refreshTopics([topic]);
    const found = cluster.knownTopic(topic);
    const nodeId = found?.partitions[partition]?.leaderId ?? -1;
    const { partitions } = await cluster.control.request(nodeId, fetch, {
      maxWaitMs: 100,
      minBytes: 1,
      maxBytes: 1 << 20,
      isolation: 'read_uncommitted',
      partitions: [
        {
          topic,
          topicId: found?.topicId ?? '',
          partition,
          offset: 0,
          leaderEpoch: -1,
          maxBytes: 1 << 20,
        },
      ],
    });
    return epochsOf(partitions[0]?.records ?? Buffer.alloc(0));
  } finally {
    cluster.close();
  }
}

function epochsOf(records: Buffer): number[] {
  const epochs: number[] = [];
  for (let at = 0; at + epochAt + 2 <= records.length; ) {
    const isControl = (records.readInt16BE(at + 21) & CONTROL) !== 0;
    if (!isControl) epochs.push(records.readInt16BE(at + epochAt));
    at += lengthAt + 4 + records.readInt32BE(at + lengthAt);
  }
  return epochs;
}

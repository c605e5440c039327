import { KafkaCluster } from '../../src/adapters/kafka/cluster.ts';
import { offsetCommit } from '../../src/adapters/kafka/wire/offset-commit.ts';

/**
 * Overwrites a checkpoint from outside, as an operator's tool can while nobody is in the group: without a member, which
 * the product itself never does.
 */
export async function overwriteCheckpoint(
  brokers: string,
  group: string,
  offset: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: number;
    readonly metadata: string;
  },
): Promise<void> {
  const cluster = new KafkaCluster({
    brokers: brokers.split(','),
    clientId: 'operator',
    connectTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    retryMs: 10_000,
  });
  try {
    await cluster.connect();
    const nodeId = await cluster.coordinator('group', group);
    const { partitions } = await cluster.control.request(nodeId, offsetCommit, {
      group,
      generation: -1,
      memberId: '',
      instanceId: null,
      offsets: [offset],
    });
    const refused = partitions.find(({ errorCode }) => errorCode !== 0);
    if (refused !== undefined) throw new Error(`refused with error ${refused.errorCode}`);
  } finally {
    cluster.close();
  }
}

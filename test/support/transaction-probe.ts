import { KafkaCluster } from '../../src/adapters/kafka/cluster.ts';
import { offsetFetch } from '../../src/adapters/kafka/wire/offset-fetch.ts';
import type { Log } from '../../src/ports/log.ts';
import { type ServiceProcess, sleep } from './service-process.ts';

const UNSTABLE_OFFSET_COMMIT = 88;

/** Whether an open transaction holds offsets of the group: sent, and neither committed nor aborted. */
export async function hasPendingOffsets(
  brokers: string,
  group: string,
  topic: string,
  partitions: readonly number[],
): Promise<boolean> {
  const cluster = new KafkaCluster({
    brokers: brokers.split(','),
    clientId: 'probe',
    connectTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    retryMs: 10_000,
  });
  try {
    await cluster.connect();
    const nodeId = await cluster.coordinator('group', group);
    const { groups } = await cluster.control.request(nodeId, offsetFetch, {
      groups: [{ group, partitions: partitions.map((partition) => ({ topic, partition })) }],
      requireStable: true,
    });
    return groups.some(
      (answered) =>
        answered.errorCode === UNSTABLE_OFFSET_COMMIT ||
        answered.partitions.some(({ errorCode }) => errorCode === UNSTABLE_OFFSET_COMMIT),
    );
  } finally {
    cluster.close();
  }
}

/** Whether readers of one of the partitions are held up by an open transaction. */
export async function hasOpenTransaction(
  log: Log,
  topic: string,
  partitions: readonly number[],
): Promise<boolean> {
  const ranges = await log.offsetRanges(topic, partitions);
  return [...ranges.values()].some(({ stable, end }) => stable < end);
}

/**
 * Stops a process (SIGSTOP) at a moment of which `isWanted` holds, and goes on holding: the requests that were on
 * their way have arrived. Gives up after a while with an error.
 */
export async function stopWhen(
  service: ServiceProcess,
  isWanted: () => Promise<boolean>,
  tries = 300,
): Promise<void> {
  for (let attempt = 0; attempt < tries; attempt += 1) {
    await sleep(5 + Math.random() * 30);
    service.signal('SIGSTOP');
    await sleep(10);
    if (await isWanted()) {
      await sleep(200);
      if (await isWanted()) return;
    }
    service.signal('SIGCONT');
  }
  throw new Error(`never stopped at the wanted moment\n${service.tail()}`);
}

import { inject } from 'vitest';
import { type KafkaLogOptions, openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import { recreateTopic, withAdmin } from './kafka-admin.ts';
import type { LogHarness } from './log-contract.ts';

/** The cluster of the test run, for the contract of the log port. */
export function openKafkaHarness(options: Partial<KafkaLogOptions> = {}): Promise<LogHarness> {
  const brokers = inject('kafkaBrokers');
  return Promise.resolve({
    connect: () =>
      openKafkaLog({
        brokers: brokers.split(','),
        clientId: 'contract',
        heartbeatIntervalMs: 200,
        topicCheckMs: 500,
        fetchWaitMs: 100,
        ...options,
      }),
    recreateTopic: (topic, partitions) => recreateTopic(brokers, topic, partitions),
    addPartitions: (topic, total) =>
      withAdmin(brokers, async (admin) => {
        await admin.createPartitions({ topicPartitions: [{ topic, count: total }] });
      }),
    sessionTimeoutMs: 6_000,
    rebalanceTimeoutMs: 3_000,
    patienceMs: 20_000,
    close: () => Promise.resolve(),
  });
}

import { openKafkaHarness } from '../support/kafka-harness.ts';
import { describeLogContract } from '../support/log-contract.ts';

// What is used with brokers before 4.0 (transactions) and 3.1 (fetches by topic name).
describeLogContract('kafka as an older broker offers it', false, () =>
  openKafkaHarness({ transactionsV2: false, fetchByTopicId: false }),
);

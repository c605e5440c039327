import { openKafkaHarness } from '../support/kafka-harness.ts';
import { describeLogContract } from '../support/log-contract.ts';

describeLogContract('kafka', false, () => openKafkaHarness());

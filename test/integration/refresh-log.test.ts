import { inject } from 'vitest';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import { describeOutsideContract } from '../support/outside-contract.ts';

describeOutsideContract('kafka', () =>
  openKafkaLog({ brokers: inject('kafkaBrokers').split(','), clientId: 'outside-test' }),
);

import { MemoryClient } from '../../../src/adapters/memory/memory-client.ts';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { describeLogContract } from '../../support/log-contract.ts';

describeLogContract('memory', true, () => {
  const log = new MemoryLog();
  return Promise.resolve({
    connect: () => Promise.resolve(log.connect()),
    recreateTopic: (name, partitions) => {
      log.deleteTopic(name);
      log.createTopic(name, partitions);
      return Promise.resolve();
    },
    addPartitions: (name, total) => {
      log.addPartitions(name, total);
      return Promise.resolve();
    },
    stall: (client) => {
      if (client instanceof MemoryClient) client.stall();
    },
    resume: (client) => {
      if (client instanceof MemoryClient) client.resume();
    },
    sessionTimeoutMs: 100,
    rebalanceTimeoutMs: 200,
    patienceMs: 2000,
    close: () => Promise.resolve(),
  });
});

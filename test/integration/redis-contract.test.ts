import { Redis } from 'ioredis';
import { afterAll, beforeAll, inject } from 'vitest';
import { openRedisStateStore } from '../../src/adapters/redis/redis-state-store.ts';
import { describeStateStore } from '../support/state-store-contract.ts';

let client: Redis;

beforeAll(() => {
  client = new Redis(inject('redisUrl'), { db: 9 });
});

afterAll(() => {
  client.disconnect();
});

/** The hash of a task whose names need no escaping. */
function hashOf(task: { pipeline: string; flow: string; generation: number; partition: number }) {
  return `tidemark:{${task.pipeline}.${task.flow}.${task.generation}.${task.partition}}`;
}

describeStateStore(
  'redis',
  async () => {
    await client.flushdb();
    return {
      open: () => openRedisStateStore({ url: `${inject('redisUrl')}/9` }),
      faults: {
        flush: async () => {
          await client.flushdb();
        },
        image: async (task) => {
          const dump = await client.dumpBuffer(hashOf(task));
          return async () => {
            await client.restore(hashOf(task), 0, dump, 'REPLACE');
          };
        },
      },
      survivesClose: true,
      stop: async () => {
        await client.flushdb();
      },
    };
  },
  { hasFaults: true, survivesClose: true },
);

import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { sleep } from '../support/service-process.ts';
import { ServiceWorld } from '../support/service-world.ts';
import { type PrivateKafka, startPrivateKafka } from '../support/services.ts';
import { workload } from '../support/workload.ts';

/** Ids of producers that write nothing are forgotten after seconds, as others are after a week. */
const forgetful = {
  'transactional.id.expiration.ms': '3000',
  'transaction.remove.expired.transaction.cleanup.interval.ms': '500',
  'producer.id.expiration.ms': '3000',
  'producer.id.expiration.check.interval.ms': '500',
};

describe('the broker fails under a running service', () => {
  let kafka: PrivateKafka;
  let world: ServiceWorld;

  beforeAll(async () => {
    kafka = await startPrivateKafka({ settings: forgetful });
  });

  afterEach(() => world.close());

  afterAll(() => kafka.stop());

  test.each(['rows'] as const)(
    'P087 killed and started again: the work goes on within 60 s and without a hand, %s',
    async (output) => {
      world = await ServiceWorld.open({
        brokers: kafka.brokers,
        redisUrl: inject('redisUrl'),
        output,
        options: { 'commit.intervalMs': 20 },
      });
      const services = ['worker-1', 'worker-2'].map((name) => world.service(name).start());
      for (const service of services) {
        await service.isAssigned();
      }
      const records = workload({ seed: 87, records: 4_000, partitions: 4, keys: 200 });
      const producing = world.producePaced(records, { durationMs: 4_000 });
      await sleep(1_500);
      await kafka.kill();
      await sleep(2_000);
      await kafka.restart();
      await producing;
      await world.produce(workload({ seed: 88, records: 1_000, partitions: 4, keys: 200 }));
      await world.caughtUp(60_000);
      for (const service of services) {
        expect(await service.end(), service.tail()).toEqual({ code: 0, signal: null });
      }
      expect((await world.check()).differences.slice(0, 20), world.tails()).toEqual([]);
    },
  );

  test('P087 silent for longer than every session, then there again', async () => {
    world = await ServiceWorld.open({ brokers: kafka.brokers, redisUrl: inject('redisUrl') });
    const service = world.service('worker-1').start();
    await world.produce(workload({ seed: 1, records: 1_000, partitions: 4 }));
    await world.caughtUp();
    const producing = world.producePaced(workload({ seed: 2, records: 1_000, partitions: 4 }), {
      durationMs: 2_000,
    });
    await sleep(500);
    kafka.pause();
    await sleep(12_000);
    kafka.resume();
    await producing;
    await world.caughtUp(60_000);
    expect(await service.end(), service.tail()).toEqual({ code: 0, signal: null });
    expect((await world.check()).differences.slice(0, 20), world.tails()).toEqual([]);
  });

  test('P129 the brokers have forgotten the producer of a quiet pipeline: it goes on by itself, and is exact', async () => {
    world = await ServiceWorld.open({ brokers: kafka.brokers, redisUrl: inject('redisUrl') });
    const service = world.service('worker-1').start();
    await world.produce(workload({ seed: 5, records: 300, partitions: 4 }));
    await world.caughtUp();
    // Until its transactional id has expired, and its producer id in every partition.
    await sleep(5_000);
    await world.produce(workload({ seed: 6, records: 300, partitions: 4 }));
    await world.caughtUp(15_000);
    const told = service.lines().filter(({ level }) => level !== 'info');
    expect(told.map(({ level, code }) => [level, code])).toEqual([['warn', 'TRANSACTION_ABORTED']]);
    expect(String(told[0]?.['error'])).toContain('the transactional id has expired');
    expect(await service.end(), service.tail()).toEqual({ code: 0, signal: null });
    expect((await world.check()).differences.slice(0, 20), world.tails()).toEqual([]);
  });

  test('SIGTERM while the broker is away ends the service in bounded time', async () => {
    world = await ServiceWorld.open({ brokers: kafka.brokers, redisUrl: inject('redisUrl') });
    const service = world.service('worker-1').start();
    await world.produce(workload({ seed: 3, records: 500, partitions: 4 }));
    await world.caughtUp();
    await kafka.kill();
    await sleep(1_000);
    const startedAt = Date.now();
    await service.end('SIGTERM', 90_000);
    expect(Date.now() - startedAt, service.tail()).toBeLessThan(30_000);
    await kafka.restart();
    service.start();
    await world.produce(workload({ seed: 4, records: 500, partitions: 4 }));
    await world.caughtUp(60_000);
    expect((await world.check()).differences.slice(0, 20), world.tails()).toEqual([]);
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { sleep } from '../support/service-process.ts';
import { ServiceWorld } from '../support/service-world.ts';
import { type PrivateKafka, startPrivateKafka } from '../support/services.ts';
import { workload } from '../support/workload.ts';

describe('the broker fails under a running service', () => {
  let kafka: PrivateKafka;
  let world: ServiceWorld;

  beforeAll(async () => {
    kafka = await startPrivateKafka();
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

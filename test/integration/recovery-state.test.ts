import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { imageOf, restoreImage } from '../support/redis-image.ts';
import { sleep } from '../support/service-process.ts';
import { ServiceWorld, type WorldOptions } from '../support/service-world.ts';
import { type PrivateRedis, startPrivateRedis } from '../support/services.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { workload } from '../support/workload.ts';

describe('Redis fails under a running service', () => {
  let redis: PrivateRedis;
  let client: Redis;
  let world: ServiceWorld;

  beforeAll(async () => {
    redis = await startPrivateRedis(['--busy-reply-threshold', '500']);
    client = new Redis(redis.url, { maxRetriesPerRequest: null });
    // It is restarted under this client.
    client.on('error', () => undefined);
  });

  afterEach(() => world.close());

  afterAll(async () => {
    client.disconnect();
    await redis.stop();
  });

  async function openWorld(options: Partial<WorldOptions> = {}): Promise<ServiceWorld> {
    world = await ServiceWorld.open({
      brokers: inject('kafkaBrokers'),
      redisUrl: redis.url,
      ...options,
    });
    return world;
  }

  async function expectExact(): Promise<void> {
    const report = await world.check();
    expect(report.differences.slice(0, 20), world.tails()).toEqual([]);
  }

  test('P099 Redis comes back empty while the service runs: no key looks new', async () => {
    await openWorld();
    const service = world.service('worker-1').start();
    await world.rows(0, ['EU', 'a', 1, 9]);
    await world.caughtUp();
    await redis.restart();
    await world.rows(0, ['EU', 'b', 1, 5], ['EU', 'c', 1, 9]);
    await world.caughtUp();
    await expectExact();
    expect(await service.end(), service.tail()).toEqual({ code: 0, signal: null });
  });

  test.each(['row_set', 'rows'] as const)(
    'P099 emptied and restarted again and again under load, %s',
    async (output) => {
      await openWorld({
        output,
        options: { 'commit.intervalMs': 20, 'state.cacheBytes': 1_048_576 },
      });
      const service = world.service('worker-1').start();
      const records = workload({
        seed: 99,
        records: 8_000,
        partitions: 4,
        keys: 3_000,
        itemLength: 800,
      });
      const producing = world.producePaced(records, { durationMs: 8_000 });
      for (let round = 0; round < 6; round += 1) {
        await sleep(700);
        if (round % 2 === 0) await client.flushall();
        else await redis.restart();
      }
      await producing;
      await world.caughtUp();
      expect(service.isRunning, service.tail()).toBe(true);
      await expectExact();
    },
  );

  test('P101 an older image of the state is recognised, and brought up to date', async () => {
    await openWorld();
    const service = world.service('worker-1').start();
    await world.rows(0, ['EU', 'a', 1, 1]);
    await world.caughtUp();
    expect((await service.end()).code).toBe(0);
    const image = await imageOf(client, world.pipeline);
    expect(image.length).toBeGreaterThan(0);
    service.start();
    await world.rows(0, ['EU', 'b', 1, 1]);
    await world.caughtUp();
    expect((await service.end()).code).toBe(0);
    await client.flushall();
    await restoreImage(client, image);
    service.start();
    await world.rows(0, ['EU', 'c', 1, 1]);
    await world.caughtUp();
    await expectExact();
  });

  test('P101 older images come back while the service runs', async () => {
    await openWorld({ options: { 'commit.intervalMs': 20, 'state.cacheBytes': 1_048_576 } });
    const service = world.service('worker-1').start();
    const records = workload({
      seed: 101,
      records: 8_000,
      partitions: 4,
      keys: 3_000,
      itemLength: 800,
    });
    const producing = world.producePaced(records, { durationMs: 8_000 });
    for (let round = 0; round < 6; round += 1) {
      const image = await imageOf(client, world.pipeline);
      await sleep(1_000);
      await restoreImage(client, image);
    }
    await producing;
    await world.caughtUp();
    expect(service.isRunning, service.tail()).toBe(true);
    await expectExact();
  });

  test('P103 Redis takes commands and answers nothing: each has a deadline, and the work goes on afterwards', async () => {
    const proxy = await startTcpProxy(Number(new URL(redis.url).port));
    try {
      await openWorld({
        redisUrl: `redis://127.0.0.1:${proxy.port}`,
        options: { 'redis.commandTimeoutMs': 2_000 },
      });
      const service = world.service('worker-1').start();
      await world.produce(workload({ seed: 103, records: 1_000, partitions: 4 }));
      await world.caughtUp();
      proxy.blackhole();
      const producing = world.producePaced(workload({ seed: 104, records: 1_000, partitions: 4 }), {
        durationMs: 8_000,
      });
      await service.sees('that Redis is away', ({ code }) => code === 'STATE_UNAVAILABLE', 20_000);
      await producing;
      proxy.heal();
      await world.caughtUp(30_000);
      await expectExact();
      expect(await service.end(), service.tail()).toEqual({ code: 0, signal: null });
    } finally {
      await proxy.close();
    }
  });

  test('P105 a script of somebody else makes Redis busy for 8 s: waited out, never taken for a missing key', async () => {
    await openWorld({ options: { 'redis.commandTimeoutMs': 2_000 } });
    const service = world.service('worker-1').start();
    await world.produce(workload({ seed: 105, records: 1_000, partitions: 4 }));
    await world.caughtUp();
    const other = new Redis(redis.url, { maxRetriesPerRequest: null });
    const busy = other.eval(
      `local start = redis.call('TIME')[1]
       while redis.call('TIME')[1] - start < 8 do end
       return 1`,
      0,
    );
    await world.produce(workload({ seed: 106, records: 1_000, partitions: 4 }));
    await busy;
    other.disconnect();
    await world.caughtUp(30_000);
    await expectExact();
    expect(await service.end(), service.tail()).toEqual({ code: 0, signal: null });
  });

  test('P099 Redis is away at the end: the service still ends cleanly, and goes on from there', async () => {
    await openWorld({ options: { 'redis.commandTimeoutMs': 2_000 } });
    const service = world.service('worker-1').start();
    await world.produce(workload({ seed: 107, records: 500, partitions: 4 }));
    await world.caughtUp();
    redis.pause();
    try {
      await world.produce(workload({ seed: 108, records: 500, partitions: 4 }));
      await sleep(500);
      expect((await service.end('SIGTERM', 30_000)).code, service.tail()).toBe(0);
    } finally {
      redis.resume();
    }
    service.start();
    await world.caughtUp();
    await expectExact();
  });
});

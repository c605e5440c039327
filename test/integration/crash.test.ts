import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { sleep } from '../support/service-process.ts';
import { ServiceWorld } from '../support/service-world.ts';
import { type PrivateRedis, startPrivateRedis } from '../support/services.ts';
import { workload } from '../support/workload.ts';

/** `npm run crash -- --kills 200 --seed 7` sets these. */
const kills = Number(process.env['CRASH_KILLS'] ?? 12);
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

describe('killed at any moment', () => {
  let world: ServiceWorld | undefined;
  /** Its own: it is flushed. */
  let redisServer: PrivateRedis;

  beforeAll(async () => {
    redisServer = await startPrivateRedis();
  });

  afterAll(() => redisServer.stop());

  afterEach(async () => {
    await world?.close();
    world = undefined;
  });

  test.each([
    { output: 'row_set' as const, isStatic: true, share: 0.5 },
    { output: 'rows' as const, isStatic: true, share: 0.5 },
  ])(
    `P079 kill -9 and restart, the state lost on the way: the output is exact, $output (seed ${seed})`,
    { timeout: 120_000 + kills * 15_000 },
    async ({ output, isStatic, share }) => {
      const random = new Random(seed);
      const redis = new Redis(redisServer.url);
      world = await ServiceWorld.open({
        brokers: inject('kafkaBrokers'),
        redisUrl: redisServer.url,
        output,
        options: {
          'group.static': isStatic,
          'commit.intervalMs': 50,
          'state.cacheBytes': 1_048_576,
        },
      });
      const service = world.service('worker-1');
      const records = workload({
        seed,
        records: 4_000 + kills * 400,
        partitions: 4,
        keys: 3_000,
        itemLength: 800,
      });
      let isDone = false;
      const producing = world
        .producePaced(records, { durationMs: kills * share * 2_500, isStopped: () => isDone })
        .finally(() => {
          isDone = true;
        });
      const count = Math.ceil(kills * share);
      for (let kill = 0; kill < count; kill += 1) {
        service.start();
        // From the first connection to well into the work.
        await sleep(random.chance(300) ? random.below(1_000) : 800 + random.below(2_000));
        if (kill % 5 === 3) await redis.flushall();
        expect(service.isRunning, service.tail()).toBe(true);
        await service.end('SIGKILL');
      }
      service.start();
      await producing;
      await sleep(random.below(500));
      await redis.flushall();
      await world.caughtUp(90_000);
      expect(await service.end('SIGTERM'), service.tail()).toEqual({ code: 0, signal: null });
      redis.disconnect();
      const report = await world.check();
      expect(report.differences.slice(0, 20), service.tail()).toEqual([]);
      expect(report.sourceRecords).toBe(records.length);
      expect(report.keys).toBeGreaterThan(1_000);
    },
  );
});

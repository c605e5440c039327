import { describe, expect, inject, test } from 'vitest';
import { sleep, until } from '../support/service-process.ts';
import { inWorld, type WorldOptions } from '../support/service-world.ts';
import { hasOpenTransaction, stopWhen } from '../support/transaction-probe.ts';
import { workload } from '../support/workload.ts';

const all = [0, 1, 2, 3];

function services(options: Partial<WorldOptions> = {}): WorldOptions {
  return { brokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl'), ...options };
}

describe.concurrent('who comes back from the dead', () => {
  test.each([
    ['row_set' as const, false],
    ['rows' as const, true],
  ])(
    'P065 one of two instances is stopped past its session and resumed: no wrong and no repeated row, %s, static %s',
    async (output, isStatic) => {
      await inWorld(
        services({
          output,
          options: { 'group.static': isStatic, 'commit.intervalMs': 20, 'flow.shuffle': 'topic' },
        }),
        async (world) => {
          const { log, repartition } = world;
          const [one, two] = [world.service('worker-1'), world.service('worker-2')];
          one.start();
          two.start();
          for (const service of [one, two]) {
            await service.isAssigned();
          }
          const records = workload({ seed: 65, records: 12_000, partitions: 4, keys: 300 });
          const producing = world.producePaced(records, { durationMs: 18_000 });
          await sleep(1_000);
          // In the middle of a transaction, so that it would like to go on when it wakes up.
          await stopWhen(one, () => hasOpenTransaction(log, repartition, all));
          // Past its session, and long enough for the other one to take over and go on.
          await sleep(11_000);
          one.signal('SIGCONT');
          await producing;
          await world.caughtUp();
          expect(await one.end(), one.tail()).toEqual({ code: 0, signal: null });
          expect(await two.end(), two.tail()).toEqual({ code: 0, signal: null });
          const report = await world.check();
          expect(report.differences.slice(0, 20), world.tails()).toEqual([]);
          expect(report.sourceRecords).toBe(records.length);
        },
      );
    },
  );

  test('P069 stopped for longer than its transaction lives, it goes on by itself from the last commit', async () => {
    await inWorld(
      services({
        options: {
          'kafka.transactionTimeoutMs': 5_000,
          'commit.intervalMs': 20,
          'flow.shuffle': 'topic',
        },
      }),
      async (world) => {
        const { log, repartition } = world;
        const service = world.service('worker-1').start();
        await service.isAssigned();
        const records = workload({ seed: 69, records: 5_000, partitions: 4 });
        const producing = world.producePaced(records, { durationMs: 4_000 });
        await stopWhen(service, () => hasOpenTransaction(log, repartition, all));
        await producing;
        await sleep(18_000);
        service.signal('SIGCONT');
        await world.caughtUp(30_000);
        expect(await service.end(), service.tail()).toEqual({ code: 0, signal: null });
        expect((await world.check()).differences.slice(0, 20), service.tail()).toEqual([]);
      },
    );
  });

  test('P129 a producer that was fenced from outside is replaced, and the work goes on within 15 s', async () => {
    await inWorld(services({}), async (world) => {
      const { log } = world;
      const service = world.service('worker-1').start();
      await world.rows(0, ['EU', 'a', 1, 1]);
      await world.caughtUp();
      await log.fence(`${world.pipeline}-worker-1`);
      await world.rows(0, ['EU', 'b', 1, 2]);
      await world.caughtUp(15_000);
      const fenced = service.lines().filter(({ code }) => code === 'PRODUCER_FENCED');
      expect(fenced.length, service.tail()).toBe(1);
      expect(await service.end(), service.tail()).toEqual({ code: 0, signal: null });
      expect((await world.check()).differences).toEqual([]);
    });
  });

  test('P129 fenced again and again, it still moves on', async () => {
    await inWorld(services({ options: { 'commit.intervalMs': 20 } }), async (world) => {
      const { log } = world;
      const service = world.service('worker-1').start();
      const records = workload({ seed: 129, records: 6_000, partitions: 4 });
      let isDone = false;
      const producing = world.producePaced(records, { durationMs: 6_000 }).finally(() => {
        isDone = true;
      });
      while (!isDone) {
        await log.fence(`${world.pipeline}-worker-1`);
        await sleep(Math.random() * 300);
      }
      await producing;
      await world.caughtUp();
      expect(service.isRunning, service.tail()).toBe(true);
      expect((await world.check()).differences.slice(0, 20), service.tail()).toEqual([]);
    });
  });

  test('P085 a group that gives the name to somebody else, whom the catalog does not know: the only process goes on', async () => {
    await inWorld(services({ options: { 'group.static': true } }), async (world) => {
      const service = world.service('worker-1').start();
      await world.produce(workload({ seed: 3, records: 500, partitions: 4 }));
      await world.caughtUp();
      const stranger = world.log.joinGroup({
        group: world.group,
        topics: [world.source, world.repartition],
        instanceId: 'worker-1',
        sessionTimeoutMs: 6_000,
        rebalanceTimeoutMs: 6_000,
      });
      await stranger.rejoin();
      await world.produce(workload({ seed: 4, records: 500, partitions: 4 }));
      await world.caughtUp(30_000);
      // It hears of it with its next heartbeat.
      await until('the stranger is out', () => Promise.resolve(stranger.status !== 'stable'), {
        withinMs: 10_000,
        onFailure: () => world.tails(),
      });
      expect(service.isRunning, service.tail()).toBe(true);
      expect((await world.check()).differences.slice(0, 20), world.tails()).toEqual([]);
    });
  });

  test.each(['exactly_once', 'at_least_once'])(
    'P085 two processes of one instance name, %s: the later one works, the earlier one ends or stands by',
    async (delivery) => {
      const options = { 'group.static': true, delivery };
      await inWorld(services({ options }), async (world) => {
        const first = world.service('worker-1').start();
        await world.produce(workload({ seed: 1, records: 500, partitions: 4 }));
        await world.caughtUp();
        const second = world.service('worker-1').start();
        await second.isAssigned();
        await world.produce(workload({ seed: 2, records: 500, partitions: 4 }));
        await until('the first one gave up', () => Promise.resolve(!first.isRunning), {
          withinMs: 30_000,
          onFailure: () => world.tails(),
        });
        expect((await first.exited()).code).not.toBe(0);
        await world.caughtUp(30_000);
        expect((await world.check()).differences.slice(0, 20), world.tails()).toEqual([]);
      });
    },
  );
});

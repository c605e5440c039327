import { afterEach, describe, expect, inject, test } from 'vitest';
import { type ServiceProcess, sleep, until } from '../support/service-process.ts';
import { ServiceWorld } from '../support/service-world.ts';
import { hasOpenTransaction, hasPendingOffsets, stopWhen } from '../support/transaction-probe.ts';
import { workload } from '../support/workload.ts';

const all = [0, 1, 2, 3];

describe('several instances', () => {
  let world: ServiceWorld;

  afterEach(() => world.close());

  async function openWorld(
    options: Readonly<Record<string, string | number | boolean>>,
    output: 'row_set' | 'rows' = 'row_set',
  ): Promise<ServiceWorld> {
    world = await ServiceWorld.open({
      brokers: inject('kafkaBrokers'),
      redisUrl: inject('redisUrl'),
      output,
      options,
    });
    return world;
  }

  async function startAll(names: readonly string[]): Promise<ServiceProcess[]> {
    const services = names.map((name) => world.service(name).start());
    for (const service of services) {
      await service.isAssigned();
    }
    return services;
  }

  /** Of the output: where committed readers stop. */
  async function stableOffsets(): Promise<number[]> {
    const ranges = await world.log.offsetRanges(world.target, all);
    return all.map((partition) => ranges.get(partition)?.stable ?? 0);
  }

  test.each([false])(
    'P071 three instances die at once in the middle of transactions, one comes back: readers go on within 10 s, static %s',
    async (isStatic) => {
      const { log, repartition } = await openWorld({
        'group.static': isStatic,
        'commit.intervalMs': 20,
        'flow.shuffle': 'topic',
      });
      const services = await startAll(['worker-1', 'worker-2', 'worker-3']);
      const records = workload({ seed: 71, records: 20_000, partitions: 4, keys: 400 });
      const producing = world.producePaced(records, { durationMs: 15_000 });
      await sleep(2_000);
      const isOpen = () => hasOpenTransaction(log, repartition, all);
      await stopWhen(services[1] as ServiceProcess, isOpen);
      for (const service of services) await service.end('SIGKILL');
      const before = await stableOffsets();
      const startedAt = Date.now();
      services[0]?.start();
      await until(
        'every output partition shows new rows',
        async () => (await stableOffsets()).every((offset, index) => offset > (before[index] ?? 0)),
        { withinMs: 20_000, onFailure: () => world.tails() },
      );
      expect(Date.now() - startedAt, world.tails()).toBeLessThan(10_000);
      await producing;
      await world.caughtUp();
      expect((await world.check()).differences.slice(0, 20), world.tails()).toEqual([]);
    },
  );

  test('P071 one of two instances dies for good in the middle of a transaction: readers of every partition go on within 10 s', async () => {
    const { log, repartition } = await openWorld({ 'commit.intervalMs': 20 });
    const [one, two] = await startAll(['worker-1', 'worker-2']);
    const records = workload({ seed: 72, records: 15_000, partitions: 4, keys: 400 });
    const producing = world.producePaced(records, { durationMs: 14_000 });
    await sleep(1_500);
    await stopWhen(one as ServiceProcess, () => hasOpenTransaction(log, repartition, all));
    await one?.end('SIGKILL');
    const before = await stableOffsets();
    const diedAt = Date.now();
    await until(
      'every output partition shows new rows',
      async () => (await stableOffsets()).every((offset, index) => offset > (before[index] ?? 0)),
      { withinMs: 20_000, onFailure: () => world.tails() },
    );
    expect(Date.now() - diedAt, world.tails()).toBeLessThan(10_000);
    await producing;
    await world.caughtUp();
    expect((await two?.end())?.code, two?.tail()).toBe(0);
    expect((await world.check()).differences.slice(0, 20), world.tails()).toEqual([]);
  });

  test('P089 with group.leaveOnStop = false a rolling restart moves nothing: who is back within its session finds its partitions', async () => {
    const options = {
      'group.static': true,
      'group.leaveOnStop': false,
      'group.sessionTimeoutMs': 30_000,
      'commit.intervalMs': 20,
    };
    const { log, group } = await openWorld(options);
    const [one, two] = await startAll(['worker-1', 'worker-2']);
    if (one === undefined || two === undefined) throw new Error('two were started');
    await world.produce(workload({ seed: 73, records: 2_000, partitions: 4, keys: 400 }));
    await world.caughtUp();
    const members = async () => (await log.groupMembers(group)).map(({ instanceId }) => instanceId);
    // The one that leads the group, too.
    for (const [index, [restarted, other]] of [
      [two, one] as const,
      [one, two] as const,
    ].entries()) {
      const assignments = () => other.stderr.split('partitions assigned').length;
      const before = assignments();
      expect((await restarted.end('SIGTERM')).code).toBe(0);
      expect((await members()).toSorted()).toEqual(['worker-1', 'worker-2']);
      restarted.start();
      await restarted.isAssigned();
      await world.produce(workload({ seed: 74 + index, records: 2_000, partitions: 4, keys: 400 }));
      await world.caughtUp();
      expect(assignments()).toBe(before);
    }
    expect((await world.check()).differences.slice(0, 20), world.tails()).toEqual([]);
  });

  test.each([
    ['the same instance', 'worker-1'],
    ['another instance', 'worker-2'],
  ])(
    'P079 killed with offsets sent and not committed: %s reads on within 10 s',
    async (_, successor) => {
      await openWorld({ 'group.static': true, 'commit.intervalMs': 5 });
      const [first] = await startAll(['worker-1']);
      const records = workload({ seed: 79, records: 12_000, partitions: 4, keys: 400 });
      let isStopped = false;
      const producing = world.producePaced(records, {
        durationMs: 12_000,
        isStopped: () => isStopped,
      });
      const brokers = inject('kafkaBrokers');
      await stopWhen(first as ServiceProcess, () =>
        hasPendingOffsets(brokers, world.group, world.source, all),
      );
      await first?.end('SIGKILL');
      isStopped = true;
      await producing;
      const before = await stableOffsets();
      await world.produce(workload({ seed: 80, records: 2_000, partitions: 4, keys: 400 }));
      const next = successor === 'worker-1' ? first : world.service(successor);
      const startedAt = Date.now();
      next?.start();
      await until(
        'new rows are shown',
        async () => (await stableOffsets()).some((offset, index) => offset > (before[index] ?? 0)),
        { withinMs: 30_000, onFailure: () => world.tails() },
      );
      expect(Date.now() - startedAt, world.tails()).toBeLessThan(10_000);
      await world.caughtUp();
      expect((await world.check()).differences.slice(0, 20), world.tails()).toEqual([]);
    },
  );

  test.each([['rows' as const, true]])(
    'P081 P089 a rolling restart loses nothing and repeats nothing, no partition stands still for 15 s, %s, static %s',
    async (output, isStatic) => {
      // So long that whoever has to wait for the end of one shows.
      await openWorld({ 'group.static': isStatic, 'group.sessionTimeoutMs': 30_000 }, output);
      const services = await startAll(['worker-1', 'worker-2', 'worker-3']);
      const records = workload({ seed: 89, records: 15_000, partitions: 4, keys: 400 });
      let isDone = false;
      const producing = world.producePaced(records, { durationMs: 20_000 }).finally(() => {
        isDone = true;
      });
      const watching = longestStandstill(() => isDone);
      await sleep(2_000);
      for (const service of services) {
        expect(await service.end('SIGTERM', 30_000), service.tail()).toEqual({
          code: 0,
          signal: null,
        });
        service.start();
        await sleep(3_500);
      }
      await producing;
      expect(await watching, world.tails()).toBeLessThan(15_000);
      await world.caughtUp();
      for (const service of services) {
        expect((await service.end()).code, service.tail()).toBe(0);
      }
      expect((await world.check()).differences.slice(0, 20), world.tails()).toEqual([]);
    },
  );

  /** Milliseconds for which an output partition showed nothing new while records came all the time. */
  async function longestStandstill(isDone: () => boolean): Promise<number> {
    let last = await stableOffsets();
    const since = all.map(() => Date.now());
    let longest = 0;
    while (!isDone()) {
      await sleep(200);
      const now = await stableOffsets();
      for (const partition of all) {
        if (now[partition] !== last[partition]) since[partition] = Date.now();
        longest = Math.max(longest, Date.now() - (since[partition] ?? 0));
      }
      last = now;
    }
    return longest;
  }
});

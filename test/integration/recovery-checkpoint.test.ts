import { describe, expect, inject, test } from 'vitest';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import { movedMetadata } from '../../src/task/row-account.ts';
import { Random } from '../../src/testing/random.ts';
import { readCommitted } from '../support/check-output.ts';
import { overwriteCheckpoint } from '../support/checkpoint-tools.ts';
import { recreateTopic, withAdmin } from '../support/kafka-admin.ts';
import { textRecord } from '../support/log-worker.ts';
import { type ServiceProcess, until } from '../support/service-process.ts';
import { inWorld, type ServiceWorld, type WorldOptions } from '../support/service-world.ts';
import { produce, workload } from '../support/workload.ts';

const all = [0, 1, 2, 3];

function services(options: Partial<WorldOptions> = {}): WorldOptions {
  return { brokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl'), ...options };
}

describe.concurrent('checkpoints, and logs that change under them', () => {
  async function expectExact(world: ServiceWorld): Promise<void> {
    const report = await world.check();
    expect(report.differences.slice(0, 20), world.tails()).toEqual([]);
  }

  /** What the service said when it gave up. */
  async function failure(service: ServiceProcess, withinMs = 30_000): Promise<string> {
    const { code } = await service.exited(withinMs);
    expect(code, service.tail()).toBeGreaterThan(0);
    return service.stderr;
  }

  /** The rows of the table, by item. */
  async function items(world: ServiceWorld): Promise<string[]> {
    const records = await readCommitted(world.log, world.target);
    const last = new Map(records.map(({ key, value }) => [`${key}`, value]));
    return [...last.values()]
      .flatMap((value) => (value === null ? [] : (JSON.parse(`${value}`) as { item: string }[])))
      .map(({ item }) => item)
      .sort();
  }

  async function outputEnd(world: ServiceWorld): Promise<number> {
    const ranges = await world.log.offsetRanges(world.target, all);
    return [...ranges.values()].reduce((sum, { end }) => sum + end, 0);
  }

  test('P067 ten restarts change nothing, and the checkpoint is the end of the log', async () => {
    await inWorld(services({ options: { 'group.static': true } }), async (world) => {
      const service = world.service('worker-1').start();
      await world.rows(0, ['EU', 'a', 1, 1]);
      await world.rows(1, ['EU', 'b', 1, 1]);
      await world.caughtUp();
      const end = await outputEnd(world);
      for (let round = 0; round < 10; round += 1) {
        expect((await service.end()).code, service.tail()).toBe(0);
        await service.start().isAssigned();
      }
      await world.caughtUp();
      expect(await outputEnd(world)).toBe(end);
      expect(await items(world)).toEqual(['a', 'b']);
      await expectExact(world);
    });
  });

  test('P075 rows that change nothing move the checkpoint; nothing is read again', async () => {
    await inWorld(services(), async (world) => {
      const service = world.service('worker-1').start();
      await world.rows(0, ['EU', 'a', 1, 9]);
      await world.caughtUp();
      const end = await outputEnd(world);
      await world.rows(
        0,
        ['EU', 'b1', 1, 1],
        ['EU', 'b2', 1, 2],
        ['EU', 'b3', 1, 3],
        ['EU', 'b4', 1, 4],
        ['EU', 'b5', 1, 5],
      );
      await world.caughtUp();
      expect((await service.end()).code, service.tail()).toBe(0);
      const again = world.service('worker-2', { once: true }).start();
      expect((await again.exited()).code, again.tail()).toBe(0);
      expect(again.stdout).toMatch(/\b0 records/);
      expect(await outputEnd(world)).toBe(end);
      expect(await items(world)).toEqual(['a']);
      await expectExact(world);
    });
  });

  test('P073 a foreign transaction is open on the output: the state is restored past it, never short of it', async () => {
    await inWorld(services(), async (world) => {
      const { log, target, pipeline } = world;
      const service = world.service('worker-1').start();
      await service.isAssigned();
      const foreignLog = await openKafkaLog({
        brokers: inject('kafkaBrokers').split(','),
        clientId: 'foreign',
        transactionTimeoutMs: 60_000,
      });
      const foreign = await foreignLog.openProducer(`${pipeline}-foreign`);
      for (const partition of all) foreign.append(target, partition, textRecord('ZZ', 'ZZ'));
      await foreign.drain(0);
      await world.rows(0, ['EU', 'a', 1, 5]);
      await world.caughtUp();
      await service.end('SIGKILL');
      const { Redis } = await import('ioredis');
      const redis = new Redis(inject('redisUrl'));
      // Others use the server, too.
      await redis.unlink(await redis.keys(`*${pipeline}*`));
      redis.disconnect();
      await world.rows(0, ['EU', 'b', 1, 4], ['EU', 'c', 1, 5]);
      service.start();
      const line = await service.sees(
        'what it waits for',
        ({ msg, reason }) => msg === 'restoring state' && /open transaction/.test(String(reason)),
      );
      expect(String(line['reason'])).toContain(target);
      const ranges = await log.offsetRanges(target, all);
      expect([...ranges.values()].some(({ stable, end }) => stable < end)).toBe(true);
      await foreign.abort();
      await world.caughtUp();
      expect(await items(world)).toEqual(['a', 'c']);
      await expectExact(world);
      await foreignLog.close();
    });
  });

  test('P047 the checkpoint lies before the start of the log: it stops, and names what is lost', async () => {
    await inWorld(services(), async (world) => {
      const { log, source } = world;
      const service = world.service('worker-1').start();
      await world.rows(0, ['EU', 'i1', 1, 1], ['EU', 'i2', 2, 2]);
      await world.caughtUp();
      expect((await service.end()).code).toBe(0);
      await world.rows(
        0,
        ['EU', 'i3', 3, 3],
        ['EU', 'i4', 4, 4],
        ['EU', 'i5', 5, 5],
        ['EU', 'i6', 6, 6],
      );
      await log.deleteRecords(source, new Map([[0, 4]]));
      service.start();
      const text = await failure(service);
      expect(text).toContain('OFFSET_OUT_OF_RANGE');
      expect(text).toMatch(
        new RegExp(`${source}\\W+partition 0 is offset 2, and the log starts at 4: 2 records`),
      );
      expect(await items(world)).toEqual(['i2']);
      const committed = await log.committedOffsets(world.group, source, [0]);
      expect(committed.get(0)?.offset).toBe(2);
    });
  });

  test('P049 the log is cut above the position while it runs: it stops with the lost range', async () => {
    await inWorld(services(), async (world) => {
      const { log, source } = world;
      const service = world.service('worker-1').start();
      await world.produce(workload({ seed: 49, records: 400, partitions: 4 }));
      await world.caughtUp();
      service.signal('SIGSTOP');
      // The fetches that wait at the broker are answered with these; what comes after them nobody has asked for.
      await world.produce(workload({ seed: 51, records: 80, partitions: 4 }));
      const records = workload({ seed: 50, records: 60_000, partitions: 4 });
      await world.produce(records);
      const ends = await log.offsetRanges(source, all);
      await log.deleteRecords(
        source,
        new Map([...ends].map(([partition, { end }]) => [partition, end - 10])),
      );
      service.signal('SIGCONT');
      const text = await failure(service);
      expect(text).toContain('OFFSET_OUT_OF_RANGE');
      expect(text).toContain(source);
      expect(text).toMatch(/\d+ records (were deleted|are gone)/);
    });
  });

  test('P115 a checkpoint inside of the log is good, although the log begins later than it did', async () => {
    await inWorld(services(), async (world) => {
      const { log, source } = world;
      const service = world.service('worker-1').start();
      await world.rows(
        0,
        ['R0', 'i0', 0, 0],
        ['R1', 'i1', 1, 1],
        ['R2', 'i2', 2, 2],
        ['R3', 'i3', 3, 3],
        ['R4', 'i4', 4, 4],
        ['R5', 'i5', 5, 5],
      );
      await world.caughtUp();
      expect((await service.end()).code).toBe(0);
      await log.deleteRecords(source, new Map([[0, 3]]));
      await world.rows(0, ['R6', 'i6', 6, 6], ['R7', 'i7', 7, 7]);
      service.start();
      await world.caughtUp();
      expect(await items(world)).toEqual(['i0', 'i1', 'i2', 'i3', 'i4', 'i5', 'i6', 'i7']);
      const records = await readCommitted(log, world.target);
      expect(records.length).toBe(8);
    });
  });

  test('P053 the source is deleted and created again while it runs: it stops, and takes nothing for granted', async () => {
    await inWorld(services(), async (world) => {
      const { source } = world;
      const service = world.service('worker-1').start();
      await world.rows(0, ['EU', 'old', 1, 50]);
      await world.caughtUp();
      await recreateTopic(inject('kafkaBrokers'), source, 4);
      await world.rows(0, ['EU', 'new', 2, 1], ['US', 'new2', 2, 1]);
      const text = await failure(service, 40_000);
      expect(text).toContain('recreated');
      expect(text).toContain(source);
      // Started again it is the same: the checkpoint speaks of the old topic.
      service.start();
      expect(await failure(service)).toContain('recreated');
      expect(await items(world)).toEqual(['old']);
    });
  });

  test('P053 the catalog is deleted and created again while it runs: it ends, and says what is gone', async () => {
    await inWorld(services(), async (world) => {
      const catalog = `${world.pipeline}.catalog`;
      const service = world.service('worker-1').start();
      await world.rows(0, ['EU', 'old', 1, 50]);
      await world.caughtUp();
      await recreateTopic(inject('kafkaBrokers'), catalog, 1);
      const text = await failure(service, 40_000);
      expect(text).toContain('DEFINITION_MISSING');
      expect(text).toContain(catalog);
      await world.rows(0, ['EU', 'new', 2, 51]);
      service.start();
      await failure(service);
      expect(await items(world)).toEqual(['old']);
    });
  });

  test('P053 the source was deleted and created again while nobody looked', async () => {
    await inWorld(services(), async (world) => {
      const { source } = world;
      const service = world.service('worker-1').start();
      await world.rows(0, ['EU', 'old', 1, 50]);
      await world.caughtUp();
      expect((await service.end()).code).toBe(0);
      await recreateTopic(inject('kafkaBrokers'), source, 4);
      await world.rows(0, ['EU', 'new', 2, 1], ['US', 'new2', 2, 1]);
      service.start();
      const text = await failure(service, 40_000);
      expect(text).toContain('recreated');
      expect(text).toContain(source);
      expect(await items(world)).toEqual(['old']);
    });
  });

  test('P051 the checkpoints are gone and the table is not: refused, or exact', async () => {
    await inWorld(services(), async (world) => {
      const service = world.service('worker-1').start();
      await world.produce(workload({ seed: 51, records: 300, partitions: 4 }));
      await world.caughtUp();
      expect((await service.end()).code).toBe(0);
      await withAdmin(inject('kafkaBrokers'), (admin) => admin.deleteGroups([world.group]));
      await world.rows(0, ['EU', 'new', 9, 9]);
      service.start();
      const text = await failure(service);
      expect(text).toContain('CHECKPOINT_MISSING');
      expect(text).toContain(world.group);
    });
  });

  test('P113 damaged metadata of a checkpoint: refused with the repair, which is exact', async () => {
    await inWorld(services(), async (world) => {
      const { log, source, group } = world;
      const service = world.service('worker-1').start();
      await world.produce(workload({ seed: 113, records: 1_000, partitions: 4 }));
      await world.caughtUp();
      expect((await service.end()).code).toBe(0);
      const offset = (await log.committedOffsets(group, source, [2])).get(2)?.offset ?? -1;
      const checkpoint = { topic: source, partition: 2, offset };
      const brokers = inject('kafkaBrokers');
      await overwriteCheckpoint(brokers, group, { ...checkpoint, metadata: '{garbage' });
      await world.produce(workload({ seed: 114, records: 500, partitions: 4 }));
      service.start();
      const text = await failure(service);
      expect(text).toContain('CHECKPOINT_DAMAGED');
      expect(text).toContain(source);
      expect(text.toLowerCase()).toContain('repair');
      // What the repair does: the same offset, without an account.
      await overwriteCheckpoint(brokers, group, { ...checkpoint, metadata: movedMetadata });
      service.start();
      await world.caughtUp();
      await expectExact(world);
    });
  });

  test('P093 every codec of a producer is read', async () => {
    await inWorld(services(), async (world) => {
      const { source } = world;
      const service = world.service('worker-1').start();
      const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;
      for (const [index, compression] of codecs.entries()) {
        const log = await openKafkaLog({
          brokers: inject('kafkaBrokers').split(','),
          clientId: compression,
          compression,
        });
        const records = workload({ seed: 93, records: 200, partitions: 4 });
        await produce(log, source, [
          ...records,
          {
            partition: 0,
            value: JSON.stringify({ region: 'EU', item: compression, qty: 1, seq: index }),
          },
        ]);
        await log.close();
      }
      await world.caughtUp();
      expect(await items(world)).toContain('zstd');
      await expectExact(world);
      expect((await service.end()).code, service.tail()).toBe(0);
    });
  });

  test('P097 the output takes no large records any more: nothing is half written, and nothing is lost', async () => {
    await inWorld(services(), async (world) => {
      const { target } = world;
      const service = world.service('worker-1').start();
      await world.rows(0, ['US', 'small', 1, 1]);
      await world.caughtUp();
      await limitRecords(target, 10_240);
      const large = incompressible();
      await world.rows(0, ['EU', large, 1, 1], ['EU', 'b', 1, 1]);
      for (const when of ['while it runs', 'at its start']) {
        const text = await failure(service);
        expect(text, when).toContain('RECORD_TOO_LARGE');
        expect(text, when).toMatch(/Key \S*EU/);
        if (when === 'while it runs') service.start();
      }
      await limitRecords(target, 1_048_588);
      service.start();
      await world.caughtUp();
      expect(await items(world)).toEqual(['b', 'small', large].sort());
      await expectExact(world);
    });
  });

  test('P097 one of two outputs takes no large records any more: that flow stops by name, the other goes on', async () => {
    await inWorld(services(), async (world) => {
      const { target, pipeline } = world;
      const other = `${pipeline}-other`;
      const sql = `${world.sql}
CREATE STREAMING TABLE other WITH (topic = '${other}') FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, qty, seq FROM STREAM(orders);`;
      const service = world.service('worker-1', { sql }).start();
      await world.rows(0, ['US', 'small', 1, 1]);
      await world.caughtUp();
      await limitRecords(target, 10_240);
      await world.rows(0, ['EU', incompressible(), 1, 1]);
      await until('the flow has stopped', () => Promise.resolve(stopOf(service) !== undefined));
      expect(JSON.stringify(stopOf(service))).toContain('RECORD_TOO_LARGE');
      await world.rows(0, ['DE', 'c', 7, 1]);
      await until('the other table goes on', async () => {
        const records = await readCommitted(world.log, other);
        return records.some(({ value }) => `${value}`.includes('"DE"'));
      });
      expect(service.isRunning, service.tail()).toBe(true);
      expect(await items(world)).toEqual(['small']);
      await service.end();
    });
  });

  /** Of the flow whose output takes no large records. */
  function stopOf(service: ServiceProcess): Readonly<Record<string, unknown>> | undefined {
    return service.lines().find(({ flow, level }) => flow === 'cur' && level === 'error');
  }

  /** The broker's limit counts what is sent. */
  function incompressible(): string {
    const random = new Random(97);
    return Array.from({ length: 20_000 }, () => random.below(36).toString(36)).join('');
  }

  async function limitRecords(topic: string, bytes: number): Promise<void> {
    await withAdmin(inject('kafkaBrokers'), (admin) =>
      admin.alterConfigs({
        validateOnly: false,
        resources: [
          {
            type: 2,
            name: topic,
            configEntries: [
              { name: 'cleanup.policy', value: 'compact' },
              { name: 'retention.ms', value: '-1' },
              { name: 'max.message.bytes', value: String(bytes) },
            ],
          },
        ],
      }),
    );
  }
});

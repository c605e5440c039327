import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type KafkaLogOptions, openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { Log } from '../../src/ports/log.ts';
import { CopyWorker, fillTopic, readTopic, textRecord } from '../support/log-worker.ts';
import { type PrivateKafka, startPrivateKafka } from '../support/services.ts';

describe('Kafka that fails', () => {
  let kafka: PrivateKafka;
  const logs: Log[] = [];
  let names = 0;

  beforeAll(async () => {
    kafka = await startPrivateKafka();
  });

  afterAll(async () => {
    await Promise.allSettled(logs.map((log) => log.close()));
    await kafka.stop();
  });

  async function connect(options: Partial<KafkaLogOptions> = {}): Promise<Log> {
    const log = await openKafkaLog({
      brokers: [kafka.brokers],
      clientId: 'faults',
      heartbeatIntervalMs: 200,
      ...options,
    });
    logs.push(log);
    return log;
  }

  async function makeTopics(log: Log, partitions: number) {
    names += 1;
    const source = `source-${names}`;
    const target = `target-${names}`;
    await log.createTopics(
      [source, target].map((name) => ({ name, partitions, replicationFactor: -1, configs: {} })),
    );
    return { source, target, group: `group-${names}`, transactionalId: `tx-${names}` };
  }

  function values(count: number, prefix = 'v'): string[] {
    return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
  }

  async function until(what: string, condition: () => Promise<boolean> | boolean): Promise<void> {
    const deadline = Date.now() + 90_000;
    while (!(await condition())) {
      if (Date.now() > deadline) throw new Error(`never came: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async function isCopied(log: Log, names: { group: string; source: string }, count: number) {
    const partitions = [0, 1, 2, 3];
    const offsets = await log.committedOffsets(names.group, names.source, partitions);
    const sum = [...offsets.values()].reduce((total, { offset }) => total + offset, 0);
    return sum >= count;
  }

  test.each([
    ['transactions V2', {}],
    ['transactions before V2', { transactionsV2: false }],
  ])(
    'P087 a broker that is killed and comes back: all goes on by itself, each record once (%s)',
    async (_, options) => {
      const log = await connect(options);
      const names = await makeTopics(log, 4);
      await fillTopic(log, names.source, 4, values(500, 'a'));
      const worker = new CopyWorker(log, names);
      const running = worker.run();
      await until('the first half', () => isCopied(log, names, 500));
      await kafka.kill();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await kafka.restart();
      await fillTopic(log, names.source, 4, values(500, 'b'));
      await until('the second half', () => isCopied(log, names, 1_000));
      worker.stop();
      await running;
      const copied = await readTopic(log, names.target, 4);
      expect(copied.sort()).toEqual([...values(500, 'a'), ...values(500, 'b')].sort());
    },
  );

  test('P087 a broker killed in the middle of a stream of commits: each record once', async () => {
    const log = await connect();
    const names = await makeTopics(log, 4);
    const worker = new CopyWorker(log, names);
    const running = worker.run();
    const filler = await log.openProducer(undefined);
    let written = 0;
    const write = async (count: number) => {
      for (let index = 0; index < count; index += 1) {
        const value = `v${written}`;
        filler.append(names.source, written % 4, textRecord(value, value));
        written += 1;
      }
      await filler.commit([]);
    };
    await write(100);
    await until('the start', () => isCopied(log, names, 100));
    let isRestarted = false;
    const restarting = (async () => {
      await kafka.kill();
      await kafka.restart();
      isRestarted = true;
    })();
    while (!isRestarted) await write(20);
    await restarting;
    await write(100);
    await until('the end', () => isCopied(log, names, written));
    worker.stop();
    await running;
    const copied = await readTopic(log, names.target, 4);
    expect(copied.sort()).toEqual(values(written).sort());
  });

  test('a broker that hangs is given up on, and used again when it answers', async () => {
    const timeouts = { requestTimeoutMs: 2_000, connectTimeoutMs: 2_000 };
    const log = await connect(timeouts);
    const impatient = await connect({ ...timeouts, retryMs: 4_000 });
    const names = await makeTopics(log, 4);
    const worker = new CopyWorker(log, { ...names, sessionTimeoutMs: 6_000 });
    const running = worker.run();
    await fillTopic(log, names.source, 4, values(100, 'a'));
    await until('the first half', () => isCopied(log, names, 100));
    kafka.pause();
    await expect(impatient.offsetRanges(names.source, [0])).rejects.toMatchObject({
      remedy: 'retry',
    });
    kafka.resume();
    await fillTopic(log, names.source, 4, values(100, 'b'));
    await until('the second half', () => isCopied(log, names, 200));
    worker.stop();
    await running;
    const copied = await readTopic(log, names.target, 4);
    expect(copied.sort()).toEqual([...values(100, 'a'), ...values(100, 'b')].sort());
  });

  test('P079 a process killed in its transaction: once its id is fenced, its successor reads its position at once', async () => {
    const log = await connect();
    const names = await makeTopics(log, 4);
    const crashed = await connect();
    const member = crashed.joinGroup({
      group: names.group,
      topics: [names.source],
      instanceId: 'pod-0',
      sessionTimeoutMs: 30_000,
      rebalanceTimeoutMs: 10_000,
    });
    const { identity } = await member.rejoin();
    const offsets = (offset: number) => [
      { member: identity, offsets: [{ topic: names.source, partition: 0, offset, metadata: '' }] },
    ];
    const producer = await crashed.openProducer(names.transactionalId);
    await producer.commit(offsets(1));
    producer.append(names.target, 0, textRecord('half', 'half'));
    await producer.drain(0);
    const committing = producer.commit(offsets(2)).catch((error: unknown) => error);
    // Somewhere between the offsets and the end of the transaction the process is gone.
    await new Promise((resolve) => setTimeout(resolve, 1));
    kafka.pause();
    const closing = crashed.close();
    await new Promise((resolve) => setTimeout(resolve, 100));
    kafka.resume();
    await Promise.all([closing, committing]);
    await log.fence(names.transactionalId);
    const found = await log.committedOffsets(names.group, names.source, [0, 1, 2, 3]);
    const copied = await readTopic(log, names.target, 4);
    // Whether or not the end came through: records and offsets agree.
    const isCommitted = found.get(0)?.offset === 2;
    expect([found.get(0)?.offset, copied]).toEqual(isCommitted ? [2, ['half']] : [1, []]);
  });
});

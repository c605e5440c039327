import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type KafkaLogOptions, openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { Log, MemberIdentity } from '../../src/ports/log.ts';
import { producerEpochs } from '../support/batch-epochs.ts';
import { CopyWorker, fillTopic, readTopic, textRecord } from '../support/log-worker.ts';

describe('who was taken over commits nothing', () => {
  const logs: Log[] = [];
  const run = `${process.pid}-${Date.now()}`;
  let log: Log;
  let names = 0;

  beforeAll(async () => {
    log = await connect();
  });

  afterAll(async () => {
    await Promise.allSettled(logs.map((client) => client.close()));
  });

  async function connect(options: Partial<KafkaLogOptions> = {}): Promise<Log> {
    const client = await openKafkaLog({
      brokers: inject('kafkaBrokers').split(','),
      clientId: 'zombie',
      heartbeatIntervalMs: 200,
      ...options,
    });
    logs.push(client);
    return client;
  }

  async function makeTopics(partitions: number) {
    names += 1;
    const source = `source-${run}-${names}`;
    const target = `target-${run}-${names}`;
    await log.createTopics(
      [source, target].map((name) => ({ name, partitions, replicationFactor: -1, configs: {} })),
    );
    return {
      source,
      target,
      group: `group-${run}-${names}`,
      transactionalId: `tx-${run}-${names}`,
    };
  }

  function offsets(member: MemberIdentity, topic: string, offset: number) {
    return [{ member, offsets: [{ topic, partition: 0, offset, metadata: '' }] }];
  }

  test.each([
    ['v2', 'in a transaction V2'],
    ['v1', 'in a transaction before V2'],
  ])(
    'P065 a process that was stopped past its session is refused with its records (%s)',
    async (version) => {
      const { source, target, group, transactionalId } = await makeTopics(2);
      const script = resolve(import.meta.dirname, '../support/zombie-process.ts');
      const args = [inject('kafkaBrokers'), source, target, group, transactionalId, version];
      const zombie = spawn(process.execPath, ['--import', 'tsx', script, ...args], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      const lines = createInterface({ input: zombie.stdout })[Symbol.asyncIterator]();
      expect((await lines.next()).value).toBe('ready');
      zombie.kill('SIGSTOP');
      const other = log.joinGroup({
        group,
        topics: [source],
        instanceId: undefined,
        sessionTimeoutMs: 10_000,
        rebalanceTimeoutMs: 20_000,
      });
      const taken = await other.rejoin();
      expect(taken.partitions.get(source)).toEqual([0, 1]);
      zombie.kill('SIGCONT');
      zombie.stdin.write('commit\n');
      expect((await lines.next()).value).toBe('TASK_MIGRATED');
      // The transaction was ended at once: readers do not wait for the zombie.
      expect(await readTopic(log, target, 2)).toEqual([]);
      expect(await log.committedOffsets(group, source, [0, 1])).toEqual(new Map());
      await other.leave();
      expect((await lines.next()).value).toBe('done');
      expect(await readTopic(log, target, 2)).toEqual(['member']);
    },
  );

  test('P065 without transactions, the offsets of a stale member are refused', async () => {
    const { source, group } = await makeTopics(1);
    const member = log.joinGroup({
      group,
      topics: [source],
      instanceId: undefined,
      sessionTimeoutMs: 6_000,
      rebalanceTimeoutMs: 3_000,
    });
    const { identity } = await member.rejoin();
    const producer = await log.openProducer(undefined);
    const stale = { ...identity, generation: identity.generation - 1 };
    await expect(producer.commit(offsets(stale, source, 3))).rejects.toMatchObject({
      code: 'TASK_MIGRATED',
    });
    await producer.abort();
    await producer.commit(offsets(identity, source, 4));
    expect((await log.committedOffsets(group, source, [0])).get(0)?.offset).toBe(4);
    await member.leave();
  });

  test('P069 a transaction that timed out on the broker: the commit fails, a new producer goes on', async () => {
    const { target, transactionalId } = await makeTopics(1);
    const frozen = await connect({ transactionTimeoutMs: 1_000 });
    const producer = await frozen.openProducer(transactionalId);
    producer.append(target, 0, textRecord('late', 'late'));
    await producer.drain(0);
    // The broker looks for such transactions every ten seconds.
    expect(await readTopic(log, target, 1)).toEqual([]);
    await expect(producer.commit([])).rejects.toMatchObject({ remedy: 'rejoin' });
    await producer.close();
    const next = await frozen.openProducer(transactionalId);
    next.append(target, 0, textRecord('again', 'again'));
    await next.commit([]);
    expect(await readTopic(log, target, 1)).toEqual(['again']);
  });

  test('a second member of the same static instance takes over; the first one is told, and joins again only when it is asked to', async () => {
    const { source, group } = await makeTopics(1);
    const options = {
      group,
      topics: [source],
      instanceId: 'pod-0',
      sessionTimeoutMs: 6_000,
      rebalanceTimeoutMs: 3_000,
    };
    const first = log.joinGroup(options);
    await first.rejoin();
    const second = (await connect()).joinGroup(options);
    await second.rejoin();
    await new Promise<void>((resolve) => first.onStatus(resolve));
    expect(first.status).toBe('lost');
    expect(second.status).toBe('stable');
    const told = new Promise<void>((resolve) => second.onStatus(resolve));
    const { partitions } = await first.rejoin();
    expect(partitions.get(source)).toEqual([0]);
    await told;
    expect(second.status).toBe('lost');
    await first.leave();
  });

  test('P067 P075 P131 a hundred transactions back to back, with records and with offsets alone', async () => {
    const { source, target, group, transactionalId } = await makeTopics(1);
    const member = log.joinGroup({
      group,
      topics: [source],
      instanceId: undefined,
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 10_000,
    });
    const { identity } = await member.rejoin();
    const producer = await log.openProducer(transactionalId);
    for (let index = 1; index <= 100; index += 1) {
      if (index % 3 !== 0) producer.append(target, 0, textRecord(null, `v${index}`));
      await producer.commit(offsets(identity, source, index));
    }
    expect((await log.committedOffsets(group, source, [0])).get(0)?.offset).toBe(100);
    expect(await readTopic(log, target, 1)).toHaveLength(67);
    await member.leave();
  });

  test.each([
    [true, [1, 2, 3]],
    [false, [1, 1, 1]],
  ])(
    'P065 transactions V2 %s: every end of a transaction brings a new epoch just there, so that nothing late reaches the next one',
    async (transactionsV2, steps) => {
      const { target, transactionalId } = await makeTopics(1);
      const producer = await (await connect({ transactionsV2 })).openProducer(transactionalId);
      for (const value of ['a', 'b', 'c']) {
        producer.append(target, 0, textRecord(null, value));
        await producer.commit([]);
      }
      await producer.close();
      const epochs = await producerEpochs(inject('kafkaBrokers'), target, 0);
      const first = epochs[0] ?? Number.NaN;
      expect(epochs.map((epoch) => epoch - first + 1)).toEqual(steps);
    },
  );

  test.each([
    [true, [1, 2, 3, 4]],
    [false, [1, 1, 1, 2]],
  ])(
    'P131 transactions V2 %s: an abort of nothing right after a commit costs no epoch, and one of something just one',
    async (transactionsV2, steps) => {
      const { target, transactionalId } = await makeTopics(1);
      const producer = await (await connect({ transactionsV2 })).openProducer(transactionalId);
      producer.append(target, 0, textRecord(null, 'a'));
      await producer.commit([]);
      for (let round = 0; round < 3; round += 1) await producer.abort();
      producer.append(target, 0, textRecord(null, 'b'));
      await producer.commit([]);
      await producer.abort();
      producer.append(target, 0, textRecord(null, 'dropped'));
      await producer.drain(0);
      await producer.abort();
      await producer.abort();
      producer.append(target, 0, textRecord(null, 'c'));
      await producer.commit([]);
      await producer.close();
      const epochs = await producerEpochs(inject('kafkaBrokers'), target, 0);
      const first = epochs[0] ?? Number.NaN;
      expect(epochs.map((epoch) => epoch - first + 1)).toEqual(steps);
      expect(await readTopic(log, target, 1)).toEqual(['a', 'b', 'c']);
    },
  );

  test('P081 workers come and go: each record once, and every partition has one owner', async () => {
    const names = await makeTopics(4);
    const values = Array.from({ length: 8_000 }, (_, index) => `v${index}`);
    const worker = async (name: string) =>
      new CopyWorker(await connect(), {
        ...names,
        transactionalId: `${names.transactionalId}-${name}`,
      });
    const isDone = async (): Promise<boolean> => {
      const found = await log.committedOffsets(names.group, names.source, [0, 1, 2, 3]);
      return [...found.values()].reduce((sum, { offset }) => sum + offset, 0) === values.length;
    };
    const first = await worker('a');
    const runs = [first.run()];
    const filling = (async () => {
      for (let at = 0; at < values.length; at += 500) {
        await fillTopic(log, names.source, 4, values.slice(at, at + 500));
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    })();
    for (const name of ['b', 'c', 'd']) {
      const second = await worker(name);
      const running = second.run();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      second.stop();
      await running;
    }
    await filling;
    while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 50));
    first.stop();
    await Promise.all(runs);
    const copied = await readTopic(log, names.target, 4);
    expect(copied).toHaveLength(values.length);
    expect(new Set(copied).size).toBe(values.length);
  });
});

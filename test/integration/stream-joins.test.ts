import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { Log } from '../../src/ports/log.ts';
import { textRecord } from '../support/log-worker.ts';
import { CliFolder, runCli } from '../support/run-cli.ts';
import { ServiceProcess } from '../support/service-process.ts';
import { type PrivateRedis, startPrivateRedis } from '../support/services.ts';

const brokers = inject('kafkaBrokers');
const name = `joins-${Date.now().toString(36)}`;
const folder = new CliFolder();
/** Its own: it is flushed. */
let redis: PrivateRedis;
let client: Redis;
let log: Log;

const sql = `CREATE SOURCE orders (id INT, seq INT) WITH (topic = '${name}-orders');
CREATE SOURCE payments (id INT, amount INT) WITH (topic = '${name}-payments');
CREATE STREAMING TABLE added WITH (topic = '${name}-added') AS
SELECT o.id, o.seq, p.amount FROM STREAM(orders) o JOIN STREAM(payments) p ON o.id = p.id;
CREATE STREAMING TABLE current WITH (topic = '${name}-current')
FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME
SELECT o.id, o.seq, p.amount FROM STREAM(orders) o JOIN STREAM(payments) p ON o.id = p.id;`;

beforeAll(async () => {
  redis = await startPrivateRedis();
  client = new Redis(redis.url, { maxRetriesPerRequest: null });
  log = await openKafkaLog({ brokers: brokers.split(','), clientId: 'joins-test' });
  await log.createTopics(
    ['orders', 'payments'].map((topic) => ({
      name: `${name}-${topic}`,
      partitions: 2,
      replicationFactor: -1,
      configs: {},
    })),
  );
});

afterAll(async () => {
  client.disconnect();
  await redis.stop();
  await log.close();
  folder.remove();
});

const ids = 50;

/** Each id gets an order and a payment, both with the number of the round. */
async function produce(round: number): Promise<void> {
  const producer = await log.openProducer(undefined);
  for (let id = 0; id < ids; id += 1) {
    const order = JSON.stringify({ id, seq: round });
    producer.append(`${name}-orders`, id % 2, textRecord(String(id), order));
    const payment = JSON.stringify({ id, amount: round });
    producer.append(`${name}-payments`, (id + round) % 2, textRecord(String(id), payment));
  }
  await producer.commit([]);
  await producer.close();
}

async function dumped(table: string): Promise<string[]> {
  const file = folder.write('pipeline.sql', sql);
  const { code, out, err } = await runCli(
    ['dump', table, '--pipeline', file, '--kafka.brokers', brokers, '--pipeline.name', name],
    { TIDEMARK_REDIS_URL: redis.url },
  );
  expect(err).toBe('');
  expect(code).toBe(0);
  return out.trim().split('\n');
}

test('OP-10 every pair comes once, through kill -9 and an emptied Redis', async () => {
  const options = { brokers, redisUrl: redis.url, pipeline: name, instance: 'pod-0', sql };
  const rounds = 4;
  const service = new ServiceProcess(options);
  for (let round = 0; round < rounds; round += 1) {
    await produce(round);
    service.start();
    await sleep(1_300 + round * 230);
    service.signal('SIGKILL');
    await service.exited();
    if (round % 2 === 0) await client.flushall();
  }
  const last = new ServiceProcess({ ...options, once: true }).start();
  expect(await last.exited(), last.tail()).toEqual({ code: 0, signal: null });
  const numbers = Array.from({ length: rounds }, (_, number) => number);
  const pairs = Array.from({ length: ids }, (_, id) => id).flatMap((id) =>
    numbers.flatMap((seq) => numbers.map((amount) => JSON.stringify({ id, seq, amount }))),
  );
  expect((await dumped('added')).sort()).toEqual(pairs.sort());
  const newest = pairs.filter((pair) => pair.includes(`"seq":${rounds - 1},`));
  expect((await dumped('current')).sort()).toEqual(newest.sort());
}, 120_000);

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { Log } from '../../src/ports/log.ts';
import { textRecord } from '../support/log-worker.ts';
import { CliFolder, runCli } from '../support/run-cli.ts';
import { ServiceProcess } from '../support/service-process.ts';

const brokers = inject('kafkaBrokers');
const redisUrl = inject('redisUrl');
const name = `replaced-${Date.now().toString(36)}`;
const folder = new CliFolder();
const partitions = [0, 1, 2, 3];
const regions = 40;
let log: Log;
let file = '';

const sql = `CREATE SOURCE orders (region STRING, item STRING, qty INT, seq BIGINT) WITH (topic = '${name}-orders');
CREATE STREAMING TABLE cur WITH (topic = '${name}-cur')
FLOW REPLACE USING (region) SEQUENCE BY seq APPLY AS EMPTY WHEN (item IS NULL) BY NAME
SELECT region, item, qty, seq FROM STREAM(orders);
CREATE STREAMING TABLE down WITH (topic = '${name}-down', output = 'rows', partitions = 3)
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, qty, seq FROM STREAM(cur) WHERE qty <> 1;`;

const serviceOptions = {
  brokers,
  redisUrl,
  pipeline: name,
  instance: 'pod-0',
  sql,
  // A refresh waits for the sessions of whoever was killed.
  options: { 'group.sessionTimeoutMs': 6_000 },
};

beforeAll(async () => {
  log = await openKafkaLog({ brokers: brokers.split(','), clientId: 'replaced-test' });
  await log.createTopics([
    { name: `${name}-orders`, partitions: 4, replicationFactor: -1, configs: {} },
  ]);
  file = folder.write('pipeline.sql', sql);
});

afterAll(async () => {
  await log.close();
  folder.remove();
});

type Order = {
  readonly region: string;
  readonly item: string | null;
  readonly qty: number;
  readonly seq: number;
};

/** A version of three rows for each region; in every fifth round of a region it has none. */
function version(region: number, seq: number): readonly Order[] {
  const isEmpty = (region + seq) % 5 === 0;
  return [0, 1, 2].map((at) => ({
    region: `r${region}`,
    item: isEmpty ? null : `i${at}`,
    qty: (region * seq + at) % 3,
    seq,
  }));
}

async function produce(orders: readonly Order[], partitionOf: (at: number) => number) {
  const producer = await log.openProducer(undefined);
  for (const [at, order] of orders.entries()) {
    producer.append(`${name}-orders`, partitionOf(at), textRecord(null, JSON.stringify(order)));
  }
  await producer.commit([]);
  await producer.close();
}

async function cli(...args: readonly string[]) {
  const deployment = ['--pipeline', file, '--kafka.brokers', brokers, '--pipeline.name', name];
  return runCli([...args, ...deployment], { TIDEMARK_REDIS_URL: redisUrl });
}

/** The command in a process of its own, killed as soon as it says that. */
async function killedOnce(says: RegExp, args: readonly string[]): Promise<void> {
  const main =
    process.env['TEST_SERVICE_MAIN'] ?? resolve(import.meta.dirname, '../../dist/main.js');
  const deployment = ['--pipeline', file, '--kafka.brokers', brokers, '--pipeline.name', name];
  const child = spawn(process.execPath, [main, ...args, ...deployment], {
    env: { ...process.env, TIDEMARK_REDIS_URL: redisUrl },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let err = '';
  child.stderr.on('data', (bytes: Buffer) => {
    err += bytes.toString('utf8');
    if (says.test(err)) child.kill('SIGKILL');
  });
  const [, signal] = (await once(child, 'close')) as [number | null, string | null];
  expect([signal, err]).toEqual(['SIGKILL', expect.stringMatching(says)]);
}

/** Whatever the source has is deleted, as retention would. */
async function forgetOrders(): Promise<void> {
  const ranges = await log.offsetRanges(`${name}-orders`, partitions);
  await log.deleteRecords(`${name}-orders`, new Map([...ranges].map(([at, { end }]) => [at, end])));
}

/** One triggered update, to its end. */
async function update(): Promise<void> {
  const last = new ServiceProcess({ ...serviceOptions, once: true });
  expect(await last.start().exited()).toEqual({ code: 0, signal: null });
}

async function rows(table: string): Promise<string[]> {
  const { code, out } = await cli('dump', table);
  expect(code).toBe(0);
  return out
    .split('\n')
    .filter((line) => line !== '')
    .sort();
}

function below(orders: readonly Order[]): string[] {
  return orders
    .filter(({ item, qty }) => item !== null && qty !== 1)
    .map(({ region, qty, seq }) => JSON.stringify({ region, qty, seq }))
    .sort();
}

async function endOf(topic: string): Promise<number> {
  const found = (await log.describeTopics([topic])).get(topic);
  if (found === undefined) return 0;
  const numbers = partitions.slice(0, found.partitions);
  const ranges = await log.offsetRanges(topic, numbers);
  return [...ranges.values()].reduce((sum, { end }) => sum + end, 0);
}

test('P111 FR-08 a table over a table of replaced rows through kill -9, and a refresh of both', async () => {
  const ids = Array.from({ length: regions }, (_, region) => region);
  const service = new ServiceProcess(serviceOptions);
  for (const round of [0, 1, 2]) {
    const seqs = [1, 2, 3, 4].map((seq) => round * 4 + seq);
    const orders = seqs.flatMap((seq) => ids.flatMap((region) => version(region, seq)));
    // Late versions come between newer ones, and rows of one version by all partitions.
    const before = await endOf(`${name}-down`);
    await produce(round === 1 ? orders.toReversed() : orders, (at) => at % 4);
    service.start();
    while ((await endOf(`${name}-down`)) <= before + round * 20) await sleep(20);
    service.signal('SIGKILL');
    await service.exited();
  }
  await update();
  const last = ids.flatMap((region) => version(region, 12));
  expect(await rows('down')).toEqual(below(last));
  expect(await rows('cur')).toHaveLength(last.filter(({ item }) => item !== null).length);
  const configs = (await log.describeTopics([`${name}-cur`])).get(`${name}-cur`)?.configs;
  expect(configs?.get('delete.retention.ms')).toBe('3155760000000');
  expect((await cli('verify', 'down')).code).toBe(0);

  // Half of the regions are gone from the source, and come back at a lower sequence than they had.
  await forgetOrders();
  const left = ids.filter((region) => region % 2 === 0).flatMap((region) => version(region, 3));
  await produce(left, (at) => at % 4);
  const alone = await cli('refresh', 'cur', '--in-place', '--allow-loss', '--yes');
  expect(alone.code).not.toBe(0);
  expect(alone.err).toContain('down');
  const both = await cli('refresh', 'cur', '--cascade', '--in-place', '--allow-loss', '--yes');
  expect(both.err).not.toContain('error');
  expect(both.code).toBe(0);
  await update();
  expect(await rows('down')).toEqual(below(left));

  // The same once more beside the live tables; kill -9 while the lower of them is built from what the upper one is now.
  await forgetOrders();
  const least = ids.filter((region) => region % 3 === 0).flatMap((region) => version(region, 2));
  await produce(least, (at) => at % 4);
  const cascade = ['refresh', 'cur', '--cascade', '--allow-loss', '--yes'];
  await killedOnce(/down: building generation/, cascade);
  expect(await rows('cur')).toHaveLength(least.filter(({ item }) => item !== null).length);
  expect(await rows('down')).toEqual(below(left));
  const held = await cli('run', '--once');
  expect([held.code === 0, held.err]).toEqual([false, expect.stringContaining('TABLE_LOCKED')]);
  const resumed = await cli(...cascade);
  expect([resumed.code, resumed.code === 0 ? '' : resumed.err]).toEqual([0, '']);
  expect(resumed.out).toMatch(/^table down is in generation 2: .*; lost: keys: /);
  expect(await rows('down')).toEqual(below(least));
  await update();
  expect(await rows('down')).toEqual(below(least));
}, 180_000);

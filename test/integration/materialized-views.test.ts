import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { Log } from '../../src/ports/log.ts';
import { textRecord } from '../support/log-worker.ts';
import { CliFolder, type CliResult, runCli } from '../support/run-cli.ts';

const brokers = inject('kafkaBrokers');
const redisUrl = inject('redisUrl');
const name = `views-${Date.now().toString(36)}`;
const folder = new CliFolder();
let log: Log;

const program = `import { aggregates, from, pipeline, stream } from 'tidemark';

const p = pipeline();
const orders = p.source('orders', {
  topic: '${name}-orders',
  columns: { region: 'INT', qty: 'INT', seq: 'BIGINT' },
});
const newest = p.table({
  name: 'newest',
  topic: '${name}-newest',
  replaceUsing: ['region'],
  sequenceBy: 'seq',
  query: stream(orders),
});
p.materializedView({
  name: 'totals',
  topic: '${name}-totals',
  query: from(newest)
    .groupBy('region')
    .aggregate((row) => ({ n: aggregates.count(), qty: aggregates.sum(row.qty) })),
});
const large = p.sink('large', { topic: '${name}-large' });
p.appendFlow({ name: 'large_orders', target: large, query: stream(orders).where('qty >= 99') });
export default p;
`;

let file: string;

beforeAll(async () => {
  file = folder.write('orders.ts', program);
  log = await openKafkaLog({ brokers: brokers.split(','), clientId: 'views-test' });
  const base = { replicationFactor: -1, configs: {} };
  await log.createTopics([
    { ...base, name: `${name}-orders`, partitions: 2 },
    { ...base, name: `${name}-large`, partitions: 3 },
  ]);
});

afterAll(async () => {
  await log.close();
  folder.remove();
});

/** `count` orders of ten regions from a sequence on; those of one region and sequence come one by one. */
async function produce(from: number, count: number): Promise<void> {
  const producer = await log.openProducer(undefined);
  for (let number = from; number < from + count; number += 1) {
    const order = { region: number % 10, qty: number % 100, seq: Math.floor(number / 100) };
    producer.append(
      `${name}-orders`,
      number % 2,
      textRecord(String(number), JSON.stringify(order)),
    );
  }
  await producer.commit([]);
  await producer.close();
}

function cli(...args: readonly string[]): Promise<CliResult> {
  return runCli([...args, '--kafka.brokers', brokers, '--pipeline.name', name], {
    TIDEMARK_REDIS_URL: redisUrl,
  });
}

async function recordsOf(topic: string): Promise<number> {
  const ranges = await log.offsetRanges(topic, [0, 1]);
  return [...ranges.values()].reduce((sum, { end }) => sum + end, 0);
}

test('FL-03 FL-04 FL-05 FL-28 FL-29 a program on Kafka: table, then view, sink beside them', async () => {
  await produce(0, 3000);
  const first = await cli('run', file, '--once', '--json', '--instance.name', 'pod-0');
  expect(first.code, first.err).toBe(0);
  const summary = JSON.parse(first.out) as {
    flows: { flow: string; records: number; new: number }[];
    views: { view: string; rows: number }[];
  };
  expect(summary.flows.find(({ flow }) => flow === 'large_orders')).toMatchObject({
    records: 3000,
    new: 30,
  });
  expect(summary.views).toMatchObject([{ view: 'totals', rows: 10 }]);
  const dumped = await cli('dump', 'totals', '--pipeline', file);
  const expected = Array.from({ length: 10 }, (_, region) => {
    // The last sequence has a hundred orders, ten of each region.
    const qty = Array.from({ length: 10 }, (__, at) => at * 10 + region);
    return JSON.stringify({ region, n: 10, qty: qty.reduce((sum, one) => sum + one, 0) });
  });
  expect(dumped.out.trim().split('\n').sort()).toEqual(expected.sort());
  const before = await recordsOf(`${name}-totals`);
  const second = await cli('run', file, '--once', '--json', '--instance.name', 'pod-0');
  expect(JSON.parse(second.out)).toMatchObject({ records: 0, views: [{ changed: 0 }] });
  expect(await recordsOf(`${name}-totals`)).toBe(before);
  const status = await cli('status', '--pipeline', file, '--json');
  expect(JSON.parse(status.out)).toMatchObject({
    lag: 0,
    views: [{ view: 'totals', state: 'current', last: { rows: 10 } }],
  });
  const topics = await log.describeTopics([`${name}-large`, `${name}-totals`]);
  expect(topics.get(`${name}-large`)?.partitions).toBe(3);
  expect(topics.get(`${name}-totals`)?.configs.get('cleanup.policy')).toBe('compact');
}, 120_000);

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { Log } from '../../src/ports/log.ts';
import { textRecord } from '../support/log-worker.ts';
import { CliFolder, runCli } from '../support/run-cli.ts';
import { ServiceProcess } from '../support/service-process.ts';

const brokers = inject('kafkaBrokers');
const redisUrl = inject('redisUrl');
const name = `append-${Date.now().toString(36)}`;
const regions = ['west', 'east', 'north'];
const folder = new CliFolder();
let log: Log;

const sql = `${regions
  .map(
    (region) => `CREATE SOURCE ${region} (id INT, seq INT) WITH (topic = '${name}-${region}');
CREATE FLOW append_${region} AS INSERT INTO customers BY NAME
SELECT id, seq, '${region}' AS region FROM STREAM(${region});`,
  )
  .join('\n')}
CREATE STREAMING TABLE customers WITH (topic = '${name}-customers');
CREATE STREAMING TABLE current WITH (topic = '${name}-current')
FLOW REPLACE USING (region, id) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(customers);
CREATE STREAMING TABLE ids WITH (topic = '${name}-ids') AS SELECT DISTINCT id FROM STREAM(customers);
CREATE STREAMING TABLE few WITH (topic = '${name}-few') AS SELECT id, seq FROM STREAM(west) LIMIT 3500;`;

beforeAll(async () => {
  log = await openKafkaLog({ brokers: brokers.split(','), clientId: 'append-test' });
  await log.createTopics(
    regions.map((region) => ({
      name: `${name}-${region}`,
      partitions: 2,
      replicationFactor: -1,
      configs: {},
    })),
  );
});

afterAll(async () => {
  await log.close();
  folder.remove();
});

/** `count` records into each source, sequences from `from` on, 100 ids. */
async function produce(from: number, count: number): Promise<void> {
  const producer = await log.openProducer(undefined);
  for (const region of regions) {
    for (let seq = from; seq < from + count; seq += 1) {
      const id = seq % 100;
      const record = textRecord(String(id), JSON.stringify({ id, seq }));
      producer.append(`${name}-${region}`, id % 2, record);
    }
  }
  await producer.commit([]);
  await producer.close();
}

async function dumped(table: string): Promise<string[]> {
  const file = folder.write('pipeline.sql', sql);
  const { code, out, err } = await runCli(
    ['dump', table, '--pipeline', file, '--kafka.brokers', brokers, '--pipeline.name', name],
    { TIDEMARK_REDIS_URL: redisUrl },
  );
  expect(err).toBe('');
  expect(code).toBe(0);
  return out.trim().split('\n');
}

test('FL-10, FL-13, FL-27, OP-04, OP-05, P083 three topics into one table and tables over it, DISTINCT and LIMIT too, through kill -9', async () => {
  const service = new ServiceProcess({ brokers, redisUrl, pipeline: name, instance: 'pod-0', sql });
  for (let round = 0; round < 5; round += 1) {
    await produce(round * 1000, 1000);
    service.start();
    await sleep(1_200 + round * 170);
    service.signal('SIGKILL');
    await service.exited();
  }
  const last = new ServiceProcess({
    brokers,
    redisUrl,
    pipeline: name,
    instance: 'pod-0',
    sql,
    once: true,
  }).start();
  expect(await last.exited()).toEqual({ code: 0, signal: null });
  const rows = await dumped('customers');
  expect(new Set(rows).size).toBe(15_000);
  expect(rows).toHaveLength(15_000);
  const newest = await dumped('current');
  const expected = regions.flatMap((region) =>
    Array.from({ length: 100 }, (_, id) => JSON.stringify({ id, seq: 4900 + id, region })),
  );
  expect(newest.sort()).toEqual(expected.sort());
  const ids = Array.from({ length: 100 }, (_, id) => JSON.stringify({ id }));
  expect((await dumped('ids')).sort()).toEqual(ids.sort());
  const few = await dumped('few');
  expect([few.length, new Set(few).size]).toEqual([3500, 3500]);
  const topics = await log.describeTopics([`${name}-customers`]);
  const configs = topics.get(`${name}-customers`)?.configs;
  expect(configs?.get('cleanup.policy')).toBe('delete');
  expect(configs?.get('retention.ms')).toBe('-1');
  for (const region of regions) {
    const source = `${name}-${region}`;
    const ends = await log.offsetRanges(source, [0, 1]);
    const committed = await log.committedOffsets(`${name}.append_${region}`, source, [0, 1]);
    for (const [partition, { end }] of ends) expect(committed.get(partition)?.offset).toBe(end);
  }
}, 120_000);

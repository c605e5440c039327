import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { Log } from '../../src/ports/log.ts';
import { textRecord } from '../support/log-worker.ts';
import { CliFolder, type CliResult, runCli } from '../support/run-cli.ts';
import { ServiceProcess } from '../support/service-process.ts';

const brokers = inject('kafkaBrokers');
const redisUrl = inject('redisUrl');
const name = `batches-${Date.now().toString(36)}`;
const archived = 400;
const folder = new CliFolder();
let log: Log;

/** A once flow of rows and one of groups beside a flow that goes on, a sink, a view, and a part that is replaced. */
const sql = `CREATE SOURCE archive (id INT, seq INT) WITH (topic = '${name}-archive');
CREATE SOURCE live (id INT, seq INT) WITH (topic = '${name}-live');
CREATE STREAMING TABLE events WITH (topic = '${name}-events');
CREATE FLOW backfill AS INSERT INTO ONCE events BY NAME SELECT id, seq FROM archive WHERE id IS NOT NULL;
CREATE FLOW going_on AS INSERT INTO events BY NAME SELECT id, seq FROM STREAM(live);
CREATE STREAMING TABLE groups (id INT, n BIGINT) WITH (topic = '${name}-groups');
CREATE FLOW grouped AS INSERT INTO ONCE groups BY NAME SELECT id, count(*) AS n FROM archive GROUP BY id;
CREATE SINK outside WITH (topic = '${name}-outside');
CREATE FLOW handed_over AS INSERT INTO outside BY NAME SELECT id, seq FROM STREAM(live) WHERE seq % 2 = 0;
CREATE MATERIALIZED VIEW totals WITH (topic = '${name}-totals', refresh_every = '100 milliseconds') AS
SELECT id, count(*) AS n, max(seq) AS newest FROM events GROUP BY id;
CREATE STREAMING TABLE slice (id INT, n BIGINT) WITH (topic = '${name}-slice', refresh_every = '100 milliseconds')
FLOW REPLACE WHERE id < 5 BY NAME SELECT id, count(*) AS n FROM events WHERE id < 5 GROUP BY id;`;

beforeAll(async () => {
  folder.write('pipeline.sql', sql);
  log = await openKafkaLog({ brokers: brokers.split(','), clientId: 'batches-test' });
  const base = { replicationFactor: -1, configs: {}, partitions: 2 };
  await log.createTopics([
    { ...base, name: `${name}-archive` },
    { ...base, name: `${name}-live` },
    { ...base, name: `${name}-outside` },
  ]);
  await produce('archive', 0, archived);
});

afterAll(async () => {
  await log.close();
  folder.remove();
});

/** Sequences from `from` on, of ten ids. */
async function produce(source: string, from: number, count: number): Promise<void> {
  const producer = await log.openProducer(undefined);
  for (let seq = from; seq < from + count; seq += 1) {
    const id = seq % 10;
    const record = textRecord(String(id), JSON.stringify({ id, seq }));
    producer.append(`${name}-${source}`, id % 2, record);
  }
  await producer.commit([]);
  await producer.close();
}

function cli(...args: readonly string[]): Promise<CliResult> {
  const pipeline = ['--pipeline', folder.write('pipeline.sql', sql)];
  const where = ['--kafka.brokers', brokers, '--pipeline.name', name];
  return runCli([...args, ...pipeline, ...where], { TIDEMARK_REDIS_URL: redisUrl });
}

async function dumped(table: string): Promise<string[]> {
  const { code, out, err } = await cli('dump', table);
  expect(code, err).toBe(0);
  return out.trim().split('\n').sort();
}

/** The committed values of a topic that is nobody's table. */
async function valuesOf(topic: string): Promise<string[]> {
  const reader = log.openReader();
  const found: string[] = [];
  let left = 0;
  for (const [partition, { start, stable }] of await log.offsetRanges(topic, [0, 1])) {
    if (stable === start) continue;
    reader.assign(topic, partition, start);
    left += 1;
    while (left > 0) {
      for (const { records, nextOffset } of await reader.poll(1_000)) {
        while (records.next()) {
          found.push(records.bytes.toString('utf8', records.valueStart, records.valueEnd));
        }
        if (nextOffset >= stable) left -= 1;
      }
    }
    reader.unassign(topic, partition);
  }
  await reader.close();
  return found.sort();
}

test('FL-16 FL-17 FL-28 FL-29 CH-03 once flows, a sink, a view and REPLACE WHERE lose and repeat nothing through kill -9', async () => {
  const options = { brokers, redisUrl, pipeline: name, instance: 'pod-0', sql };
  const service = new ServiceProcess(options);
  const rounds = 5;
  for (let round = 0; round < rounds; round += 1) {
    await produce('live', round * 300, 300);
    service.start();
    await sleep(900 + round * 190);
    service.signal('SIGKILL');
    await service.exited();
  }
  const last = new ServiceProcess({ ...options, once: true }).start();
  expect(await last.exited()).toEqual({ code: 0, signal: null });
  const row = (seq: number): string => JSON.stringify({ id: seq % 10, seq });
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
  const live = numbers(rounds * 300);
  expect(await dumped('events')).toEqual([...numbers(archived), ...live].map(row).sort());
  const each = archived / 10;
  expect(await dumped('groups')).toEqual(numbers(10).map((id) => JSON.stringify({ id, n: each })));
  const even = live.filter((seq) => seq % 2 === 0).map(row);
  expect(await valuesOf(`${name}-outside`)).toEqual(even.sort());
  const n = each + live.length / 10;
  expect(await dumped('totals')).toEqual(
    numbers(10).map((id) => JSON.stringify({ id, n, newest: live.length - 10 + id })),
  );
  expect(await dumped('slice')).toEqual(numbers(5).map((id) => JSON.stringify({ id, n })));
}, 120_000);

test('FL-18 FR-05 a refresh of the replaced part: told, refused where rows would go, and done by the next update', async () => {
  const plan = await cli('refresh', 'slice', '--plan', '--json');
  expect(JSON.parse(plan.out)).toMatchObject({
    ...{ table: 'slice', generation: 0, lossless: true, lost: { keys: 0, rows: 0 } },
    ...{ rows: 5, downstream: [] },
  });
  const narrower = sql.replaceAll('id < 5', 'id < 2');
  const file = folder.write('narrower.sql', narrower);
  const where = ['--kafka.brokers', brokers, '--pipeline.name', name, '--pipeline', file];
  const run = (...args: readonly string[]): Promise<CliResult> =>
    runCli([...args, ...where], { TIDEMARK_REDIS_URL: redisUrl });
  const refused = await run('refresh', 'slice');
  expect(refused.code).toBe(4);
  expect(refused.err).toContain('would lose 3 of its 5 rows');
  const done = await run('refresh', 'slice', '--allow-loss', '--json');
  expect(JSON.parse(done.out)).toMatchObject({ generation: 1, lost: { rows: 3 } });
  const updated = await run('run', '--once', '--table', 'slice', '--instance.name', 'pod-0');
  expect(updated.code, updated.err).toBe(0);
  expect(updated.out).toContain('REPLACE WHERE flow slice, table slice');
  expect(await dumped('slice')).toHaveLength(2);
  expect(await dumped('totals')).toHaveLength(10);
}, 60_000);

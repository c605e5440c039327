import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { Log } from '../../src/ports/log.ts';
import { textRecord } from '../support/log-worker.ts';
import { CliFolder, runCli } from '../support/run-cli.ts';
import { ServiceProcess } from '../support/service-process.ts';

const brokers = inject('kafkaBrokers');
const redisUrl = inject('redisUrl');
const name = `cdc-${Date.now().toString(36)}`;
const folder = new CliFolder();
let log: Log;

const columns = 'op STRING, id INT, v STRING, lsn BIGINT';
const clauses = (scd: number) =>
  `KEYS (id) APPLY AS DELETE WHEN op = 'd' ${scd === 1 ? "APPLY AS TRUNCATE WHEN op = 't'" : ''}
   SEQUENCE BY lsn COLUMNS * EXCEPT (op, lsn) STORED AS SCD TYPE ${scd}`;
const sql = `
CREATE SOURCE live (${columns}) WITH (topic = '${name}-live');
CREATE SOURCE archive (${columns}) WITH (topic = '${name}-archive');
CREATE STREAMING TABLE people WITH (topic = '${name}-people');
CREATE STREAMING TABLE history WITH (topic = '${name}-history');
CREATE FLOW people_live AS AUTO CDC INTO people FROM STREAM(live) ${clauses(1)};
CREATE FLOW people_once AS AUTO CDC ONCE INTO people FROM STREAM(archive) ${clauses(1)};
CREATE FLOW history_live AS AUTO CDC INTO history
FROM (SELECT * FROM STREAM(live) WHERE op <> 't') ${clauses(2)};`;

type Change = {
  readonly op: string;
  readonly id: number;
  readonly v: string;
  readonly lsn: number;
};

beforeAll(async () => {
  log = await openKafkaLog({ brokers: brokers.split(','), clientId: 'cdc-test' });
  await log.createTopics(
    ['live', 'archive'].map((topic) => ({
      name: `${name}-${topic}`,
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

async function produce(topic: string, changes: readonly Change[]): Promise<void> {
  const producer = await log.openProducer(undefined);
  for (const change of changes) {
    const record = textRecord(String(change.id), JSON.stringify(change));
    producer.append(`${name}-${topic}`, change.lsn % 2, record);
  }
  await producer.commit([]);
  await producer.close();
}

async function dumped(table: string): Promise<Record<string, unknown>[]> {
  const file = folder.write('pipeline.sql', sql);
  const { code, out, err } = await runCli(
    ['dump', table, '--pipeline', file, '--kafka.brokers', brokers, '--pipeline.name', name],
    { TIDEMARK_REDIS_URL: redisUrl },
  );
  expect(err).toBe('');
  expect(code).toBe(0);
  return out
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** 40 keys, in no order of their sequences; every seventh change is a delete. */
function changesOf(from: number, count: number): Change[] {
  return Array.from({ length: count }, (_, at) => {
    const lsn = ((from + at) * 7919) % 100_003;
    return { op: lsn % 7 === 0 ? 'd' : 'u', id: lsn % 40, v: `v${lsn % 5}`, lsn };
  });
}

function current(changes: readonly Change[], floor: number): string[] {
  const newest = new Map<number, Change>();
  for (const change of changes) {
    if (change.lsn <= floor || change.op === 't') continue;
    const known = newest.get(change.id);
    if (known === undefined || change.lsn > known.lsn) newest.set(change.id, change);
  }
  return [...newest.values()]
    .filter(({ op }) => op !== 'd')
    .map(({ id, v }) => JSON.stringify({ id, v }))
    .sort();
}

test('FL-25, FL-16, P117 a change feed, its archive and its history through kill -9', async () => {
  const archived = changesOf(50_000, 500);
  await produce('archive', archived);
  const all: Change[] = [];
  const service = new ServiceProcess({ brokers, redisUrl, pipeline: name, instance: 'pod-0', sql });
  for (let round = 0; round < 3; round += 1) {
    const changes = changesOf(round * 1000, 1000);
    if (round === 1) changes.push({ op: 't', id: 0, v: '', lsn: 20_000 });
    all.push(...changes);
    await produce('live', changes);
    service.start();
    await sleep(1_500 + round * 230);
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
  const people = (await dumped('people')).map((row) => JSON.stringify(row)).sort();
  expect(people).toEqual(current([...all, ...archived], 20_000));
  const history = await dumped('history');
  const open = history.filter((row) => row['__END_AT'] === null);
  const now = open.map(({ id, v }) => JSON.stringify({ id, v })).sort();
  expect(now).toEqual(current(all, -1));
  expect(new Set(history.map((row) => JSON.stringify(row))).size).toBe(history.length);
}, 120_000);

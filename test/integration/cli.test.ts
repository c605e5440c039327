import { spawn } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { Log } from '../../src/ports/log.ts';
import { withAdmin } from '../support/kafka-admin.ts';
import { textRecord } from '../support/log-worker.ts';
import { CliFolder } from '../support/run-cli.ts';
import { ServiceProcess } from '../support/service-process.ts';
import { freePort } from '../support/services.ts';

const main = process.env['TEST_SERVICE_MAIN'] ?? resolve(import.meta.dirname, '../../dist/main.js');

type Answer = {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly seconds: number;
};

const brokers = inject('kafkaBrokers');
const redisUrl = inject('redisUrl');
const run = Date.now().toString(36);
const folder = new CliFolder();
let log: Log;
let names = 0;

beforeAll(async () => {
  log = await openKafkaLog({ brokers: brokers.split(','), clientId: 'cli-test' });
});

afterAll(async () => {
  await log.close();
  folder.remove();
});

/** A pipeline of its own: `orders` into `cur`, as in the pitfalls, with names that nobody else uses. */
class Orders {
  readonly pipeline: string;
  readonly source: string;
  readonly target: string;
  readonly file: string;
  readonly sql: string;

  constructor(output = 'row_set') {
    names += 1;
    this.pipeline = `cli-${run}-${names}`;
    this.source = `${this.pipeline}-orders`;
    this.target = `${this.pipeline}-cur`;
    this.sql = `CREATE SOURCE orders (region STRING, item STRING, qty INT, seq BIGINT) WITH (topic = '${this.source}');
CREATE STREAMING TABLE cur (CONSTRAINT positive EXPECT (qty > 0) ON VIOLATION DROP ROW)
WITH (topic = '${this.target}', output = '${output}')
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, item, qty, seq FROM STREAM(orders);`;
    this.file = folder.write(`${this.pipeline}.sql`, this.sql);
  }

  async create(partitions = 4): Promise<this> {
    await log.createTopics([{ name: this.source, partitions, replicationFactor: -1, configs: {} }]);
    return this;
  }

  /** Rows as `[region, item, qty, seq]`, to the partitions in turn. */
  async produce(...rows: readonly (readonly [string | null, string, number, number])[]) {
    const producer = await log.openProducer(undefined);
    for (const [at, [region, item, qty, seq]] of rows.entries()) {
      producer.append(
        this.source,
        at % 4,
        textRecord(null, JSON.stringify({ region, item, qty, seq })),
      );
    }
    await producer.commit([]);
    await producer.close();
  }

  environment(): Record<string, string> {
    return {
      TIDEMARK_PIPELINE_NAME: this.pipeline,
      TIDEMARK_PIPELINE_FILES: this.file,
      TIDEMARK_KAFKA_BROKERS: brokers,
      TIDEMARK_STATE_KIND: 'redis',
      TIDEMARK_REDIS_URL: redisUrl,
      TIDEMARK_INSTANCE_NAME: 'one',
      TIDEMARK_LOG_LEVEL: 'warn',
    };
  }

  cli(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return cli(args, { ...this.environment(), ...more });
  }
}

function cli(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Answer> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (bytes: Buffer) => {
    out += bytes.toString('utf8');
  });
  child.stderr.on('data', (bytes: Buffer) => {
    err += bytes.toString('utf8');
  });
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) =>
      done({ code, out, err, seconds: (performance.now() - startedMs) / 1000 }),
    );
  });
}

type Partition = { stage: string; committed: number | null; lag: number; records: number | null };
type Status = {
  lag: number;
  flows: { group: string; partitions: Partition[]; account?: Record<string, unknown> }[];
};

describe.each(['row_set', 'rows'])(
  'run --once, then the table from the log alone: output = %s',
  (output) => {
    const orders = new Orders(output);
    // Whatever reads must do without the state store.
    const noState = { TIDEMARK_REDIS_URL: 'redis://127.0.0.1:1', TIDEMARK_STATE_KIND: 'redis' };

    test('status before the first run: all of it is lag', async () => {
      await orders.create();
      await orders.produce(
        ['EU', 'a', 1, 5],
        ['EU', 'b', 2, 5],
        [null, 'n', 1, 1],
        ['US', 'c', 1, 2],
      );
      await orders.produce(['US', 'late', 1, 1], ['EU', 'dropped', 0, 9], ['', 'e', 1, 1]);
      const { code, out } = await orders.cli(['status', '--json'], noState);
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({
        pipeline: orders.pipeline,
        lag: 7,
        flows: [
          { flow: 'cur', table: 'cur', missingTopics: [`${orders.pipeline}.cur.repartition`] },
        ],
      });
    });

    test('get and dump before the first run say what is missing: exit 1', async () => {
      const { code, err } = await orders.cli(['get', 'cur', 'EU'], noState);
      expect(code).toBe(1);
      expect(err).toContain(`output topic "${orders.target}" of table "cur" does not exist`);
      expect(err).toContain('Run the pipeline once');
    });

    test('run --once reads what is there and ends with exit 0; the next one reads nothing', async () => {
      const first = await orders.cli(['run', '--once', '--json']);
      expect([first.code, first.err]).toEqual([0, '']);
      expect(JSON.parse(first.out)).toMatchObject({
        records: 7,
        flows: [
          {
            flow: 'cur',
            records: 7,
            dropped: 1,
            new: 4,
            tied: 1,
            expectations: { positive: { passed: 6, failed: 1 } },
          },
        ],
      });
      const second = await orders.cli(['run', '--once', '--json']);
      expect([second.code, (JSON.parse(second.out) as { records: number }).records]).toEqual([
        0, 0,
      ]);
    });

    test('get: the rows of a key with their sequence and sources', async () => {
      const { code, out, err } = await orders.cli(['get', 'cur', 'EU', '--json'], noState);
      expect([code, err]).toEqual([0, '']);
      const answer = JSON.parse(out) as { sources: object[]; rows: object[] };
      expect(answer).toMatchObject({ key: { region: 'EU' }, sequence: 5 });
      expect(answer.rows).toHaveLength(2);
      // Rows of one sequence are a set: those of two partitions stand in the order in which they were read.
      expect(answer.sources).toHaveLength(2);
      expect(answer.sources).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ topic: orders.source, partition: 0, offset: 0 }),
          expect.objectContaining({ topic: orders.source, partition: 1, offset: 0 }),
        ]),
      );
      expect(answer.sources).toMatchObject([{ row: 0 }, { row: 1 }]);
      const people = await orders.cli(['get', 'cur', '{"region":null}', ''], noState);
      expect(people.code).toBe(0);
      expect(people.out).toContain('key {"region":null}, sequence 1,');
      expect(people.out).toContain('key {"region":""}, sequence 1,');
      expect(people.out).toContain(`${orders.source}/2@0`);
    });

    test('get of a key without rows: exit 1, and the others are shown', async () => {
      const { code, out, err } = await orders.cli(['get', 'cur', 'NULL', 'US', '--json'], noState);
      expect(code).toBe(1);
      expect(err).toBe('table "cur" has no rows for key {"region":"NULL"}\n');
      const lines = out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);
      expect(lines).toMatchObject([
        { key: { region: 'NULL' }, sequence: null, rows: [], sources: [] },
        { key: { region: 'US' }, rows: [{ region: 'US', item: 'c', qty: 1, seq: 2 }] },
      ]);
    });

    test('get and verify say where the files are not what is deployed, and verify compares with the files', async () => {
      const same = await orders.cli(['verify', 'cur', '--json'], noState);
      expect(same.code).toBe(0);
      expect(JSON.parse(same.out)).not.toHaveProperty('note');
      const sql = orders.sql.replace('SELECT region, item,', 'SELECT region, upper(item) AS item,');
      const files = {
        ...noState,
        TIDEMARK_PIPELINE_FILES: folder.write(`${output}-other.sql`, sql),
      };
      const note = 'the files differ from what is deployed of flow "cur": ';
      const got = await orders.cli(['get', 'cur', 'EU', '--json'], files);
      expect([got.code, got.err.startsWith(`note: ${note}`)]).toEqual([0, true]);
      const text = await orders.cli(['verify', 'cur'], files);
      expect([text.code, text.out.startsWith(`note: ${note}`)]).toEqual([1, true]);
      const json = await orders.cli(['verify', 'cur', '--json'], files);
      expect(json.out).toMatch(/^\{\s*"note":/);
      expect(JSON.parse(json.out)).toMatchObject({
        note: expect.stringContaining(note),
        right: false,
        differences: 4,
      });
    });

    test('FR-19 every verb that reads the table says where the files have another output mode', async () => {
      const other = output === 'rows' ? 'row_set' : 'rows';
      const sql = orders.sql.replace(`output = '${output}'`, `output = '${other}'`);
      const files = {
        ...noState,
        TIDEMARK_PIPELINE_FILES: folder.write(`${output}-mode.sql`, sql),
      };
      for (const verb of [
        ['dump', 'cur'],
        ['verify', 'cur'],
        ['get', 'cur', 'EU'],
        ['why', 'cur', 'EU'],
      ]) {
        const { code, out, err } = await orders.cli(verb, files);
        expect([code, out]).toEqual([1, '']);
        expect(err).toContain(
          `table "cur" was written in output mode ${output}, and the files say ${other}`,
        );
      }
    });

    test('dump: every row, as JSON lines and as CSV', async () => {
      const { code, out } = await orders.cli(['dump', 'cur'], noState);
      expect(code).toBe(0);
      expect(out.trimEnd().split('\n').sort()).toEqual([
        '{"region":"","item":"e","qty":1,"seq":1}',
        '{"region":"EU","item":"a","qty":1,"seq":5}',
        '{"region":"EU","item":"b","qty":2,"seq":5}',
        '{"region":"US","item":"c","qty":1,"seq":2}',
        '{"region":null,"item":"n","qty":1,"seq":1}',
      ]);
      const csv = await orders.cli(['dump', 'cur', '--format', 'csv'], noState);
      const [header, ...rows] = csv.out.trimEnd().split('\n');
      expect(header).toBe('region,item,qty,seq');
      expect(rows.sort()).toEqual(['"",e,1,1', ',n,1,1', 'EU,a,1,5', 'EU,b,2,5', 'US,c,1,2']);
    });

    test('FL-05 status afterwards: no lag, the account of the rows, the consumer group', async () => {
      const { code, out } = await orders.cli(['status', '--json'], noState);
      expect(code).toBe(0);
      const status = JSON.parse(out) as Status;
      expect(status.lag).toBe(0);
      const [flow] = status.flows;
      expect(flow?.group).toBe(`${orders.pipeline}.cur`);
      const records = flow?.partitions
        .filter(({ stage }) => stage === 'source')
        .reduce((sum, one) => sum + (one.records ?? 0), 0);
      expect(records).toBe(7);
      expect(flow?.account).toMatchObject({ rows: 7, dropped: 1, tied: 1 });
      // The two of US lie in two partitions: which one is read first decides whether the late one was there before.
      const { superseded, replacing } = flow?.account ?? {};
      expect([superseded, replacing].sort()).toEqual([0, 1]);
      const people = await orders.cli(['status'], noState);
      expect(people.out).toContain(`pipeline ${orders.pipeline}: total lag 0`);
    });
  },
);

describe('services that are away at the start', () => {
  const quick = { TIDEMARK_RETRY_START_TIMEOUT_MS: '2500', TIDEMARK_RETRY_DELAY_MIN_MS: '200' };

  test.each([
    ['run', ['run', '--once']],
    ['status', ['status']],
    ['get', ['get', 'cur', 'EU']],
  ])('Kafka: %s says which, tries again, and gives up with exit 1', async (_, args) => {
    const orders = new Orders();
    const port = await freePort();
    const { code, out, err, seconds } = await orders.cli(args, {
      ...quick,
      TIDEMARK_KAFKA_BROKERS: `127.0.0.1:${port}`,
    });
    expect([code, out]).toEqual([1, '']);
    expect(err.match(/Kafka at 127\.0\.0\.1:\d+ does not answer yet/g)?.length).toBeGreaterThan(1);
    expect(err).toContain('error BROKER_UNAVAILABLE: Kafka at');
    expect(err).toContain('hint: Check kafka.brokers');
    expect(err).toContain(`127.0.0.1:${port}`);
    expect(seconds).toBeGreaterThan(1);
  });

  test('Redis: run says which, tries again, and gives up with exit 1; the log stays as it was', async () => {
    const orders = await new Orders().create();
    await orders.produce(['EU', 'a', 1, 1]);
    const port = await freePort();
    const { code, err, seconds } = await orders.cli(['run', '--once'], {
      ...quick,
      TIDEMARK_REDIS_URL: `redis://:hunter2@127.0.0.1:${port}`,
      TIDEMARK_REDIS_COMMAND_TIMEOUT_MS: '300',
    });
    expect(code).toBe(1);
    expect(err.match(/Redis does not answer yet/g)?.length).toBeGreaterThan(1);
    expect(err).toContain('error STATE_UNAVAILABLE: Redis did not answer within');
    expect(err).toContain('hint: Check that the server runs');
    expect(err).not.toContain('hunter2');
    expect(seconds).toBeGreaterThan(1);
    expect((await log.describeTopics([orders.target])).size).toBe(0);
  });
});

describe('topics that are not as they must be: exit 1, before a record is read', () => {
  test('a source topic that does not exist', async () => {
    const orders = new Orders();
    const { code, err } = await orders.cli(['run', '--once']);
    expect(code).toBe(1);
    expect(err).toContain(`error TOPIC_MISSING: source topic "${orders.source}" does not exist`);
    expect(err).toContain('hint: Create the topic');
  });

  test('P061 an output topic that also deletes by time is refused, the setting named', async () => {
    const orders = await new Orders().create();
    await log.createTopics([
      {
        name: orders.target,
        partitions: 4,
        replicationFactor: -1,
        configs: { 'cleanup.policy': 'compact,delete', 'retention.ms': '1000' },
      },
    ]);
    const { code, err } = await orders.cli(['run', '--once']);
    expect(code).toBe(1);
    expect(err).toContain('error TOPIC_CONFIG');
    expect(err).toContain(
      `"${orders.target}" has cleanup.policy=compact,delete, and needs compact`,
    );
    expect(err).toContain('hint: Set cleanup.policy=compact');
  });

  test('P091 an output topic with another partition count is refused with both counts', async () => {
    const orders = await new Orders().create();
    await orders.produce(['R1', 'a', 1, 1]);
    expect((await orders.cli(['run', '--once'])).code).toBe(0);
    await withAdmin(brokers, (admin) =>
      admin.createPartitions({ topicPartitions: [{ topic: orders.target, count: 8 }] }),
    );
    const { code, err } = await orders.cli(['run', '--once']);
    expect(code).toBe(1);
    expect(err).toContain('error TOPIC_PARTITIONS');
    expect(err).toContain(`"${orders.target}" has 8 partitions, expected 4`);
    expect(err).toContain('hint: ');
  });

  test('an output topic that somebody else filled is never written', async () => {
    const orders = await new Orders().create();
    await log.createTopics([
      {
        name: orders.target,
        partitions: 4,
        replicationFactor: -1,
        configs: { 'cleanup.policy': 'compact' },
      },
    ]);
    const producer = await log.openProducer(undefined);
    producer.append(orders.target, 0, textRecord('theirs', '{}'));
    await producer.commit([]);
    await producer.close();
    const { code, err } = await orders.cli(['run', '--once']);
    expect(code).toBe(1);
    expect(err).toContain('holds records and is not this pipeline');
    const ranges = await log.offsetRanges(orders.target, [0]);
    expect(ranges.get(0)?.end).toBe(1);
  });
});

test('a bad row: exit 1 with topic, partition and offset, and again at the next start', async () => {
  const orders = await new Orders().create();
  const producer = await log.openProducer(undefined);
  producer.append(orders.source, 2, textRecord(null, '{"region":"EU","item":"a","qty":1,"seq":1}'));
  producer.append(orders.source, 2, textRecord(null, 'not json{'));
  await producer.commit([]);
  await producer.close();
  for (let start = 0; start < 2; start += 1) {
    const { code, err } = await orders.cli(['run', '--once']);
    expect(code).toBe(1);
    expect(err).toContain('error BAD_ROW');
    expect(err).toContain(`topic "${orders.source}", partition 2, offset 1`);
  }
});

test('SIGTERM ends a continuous run with exit 0 within the transaction timeout, all committed', async () => {
  const orders = await new Orders().create();
  await orders.produce(['EU', 'a', 1, 1], ['US', 'b', 1, 1]);
  const timeoutMs = 15_000;
  const service = new ServiceProcess({
    brokers,
    redisUrl,
    pipeline: orders.pipeline,
    instance: 'one',
    sql: orders.sql,
    options: { 'kafka.transactionTimeoutMs': timeoutMs, 'commit.intervalMs': 2000 },
  });
  try {
    service.start();
    await service.sees('its partitions', ({ msg }) => msg === 'partitions assigned');
    await orders.produce(['EU', 'c', 1, 2]);
    const startedMs = performance.now();
    expect(await service.end('SIGTERM', timeoutMs)).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedMs).toBeLessThan(timeoutMs);
    await service.sees('its last word', ({ msg }) => msg === 'stopped');
  } finally {
    await service.dispose();
  }
  // What it had read is committed, and nothing holds up the next one.
  expect((await orders.cli(['run', '--once'])).code).toBe(0);
  const { out } = await orders.cli(['get', 'cur', 'EU', '--json']);
  expect(JSON.parse(out)).toMatchObject({ sequence: 2, rows: [{ item: 'c' }] });
});

test('SIGTERM while Kafka is waited for ends the run with exit 0', async () => {
  const orders = new Orders();
  const service = new ServiceProcess({
    brokers: `127.0.0.1:${await freePort()}`,
    redisUrl,
    pipeline: orders.pipeline,
    instance: 'one',
    sql: orders.sql,
  });
  try {
    service.start();
    await service.sees('the outage', ({ msg }) => msg?.includes('does not answer yet') === true);
    expect(await service.end('SIGTERM', 15_000)).toEqual({ code: 0, signal: null });
  } finally {
    await service.dispose();
  }
});

test('status --watch repeats until SIGTERM, and ends with exit 0', async () => {
  const orders = await new Orders().create();
  await orders.produce(['EU', 'a', 1, 1]);
  const child = spawn(process.execPath, [main, 'status', '--watch', '--json'], {
    env: { ...process.env, ...orders.environment() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  const twice = new Promise<void>((done) => {
    child.stdout.on('data', (bytes: Buffer) => {
      out += bytes.toString('utf8');
      if (out.split('\n').length > 2) done();
    });
  });
  const ended = new Promise<number | null>((done) => child.once('close', done));
  await twice;
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  const rounds = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Status);
  expect(rounds.map(({ lag }) => lag)).toEqual(rounds.map(() => 1));
});

test('the built program is packed: it loads a handful of its own files, and shares its classes with a module', async () => {
  const own = pathToFileURL(dirname(main)).href;
  const hooks = `export async function load(url, context, next) {
  if (url.startsWith('${own}')) (await import('node:fs')).writeSync(2, 'loaded ' + url + '\\n');
  return next(url, context);
}`;
  const register = folder.write(
    'register.mjs',
    `import { register } from 'node:module';
register('data:text/javascript,${encodeURIComponent(hooks).replaceAll("'", '%27')}');
`,
  );
  const module = folder.write(
    'faulty.ts',
    `import { pipeline } from 'tidemark';
const made = pipeline();
made.source('orders', {} as never);
export default made;
`,
  );
  const { code, err } = await cli(['validate', module], { NODE_OPTIONS: `--import ${register}` });
  expect(code).toBe(3);
  expect(err).toContain(`${module}:3:6: error SOURCE_UNDECLARED`);
  const files = err.split('\n').filter((line) => line.startsWith('loaded '));
  expect(files.length).toBeGreaterThan(1);
  expect(files.length).toBeLessThan(8);
});

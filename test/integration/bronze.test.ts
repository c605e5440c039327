import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import { textRecord } from '../support/log-worker.ts';
import { CliFolder, runCli } from '../support/run-cli.ts';

const folder = new CliFolder();

afterEach(() => folder.remove());

test('FR-37 what init --bronze writes keeps all that its source forgets, through every refresh', async () => {
  const prefix = `bronze${process.pid}-${Date.now().toString(36)}`;
  const directory = join(folder.path, 'orders');
  expect((await runCli(['init', directory, '--bronze'])).code).toBe(0);
  // Names of its own on a shared cluster; everything else is as it was written.
  const file = join(directory, 'pipeline.sql');
  const sql = readFileSync(file, 'utf8').replaceAll("topic = 'orders", `topic = '${prefix}`);
  writeFileSync(file, sql);
  const environment = {
    TIDEMARK_PIPELINE_NAME: prefix,
    TIDEMARK_PIPELINE_FILES: file,
    TIDEMARK_KAFKA_BROKERS: inject('kafkaBrokers'),
    TIDEMARK_STATE_KIND: 'embedded',
    TIDEMARK_STATE_DIRECTORY: join(directory, 'state'),
    TIDEMARK_LOG_LEVEL: 'error',
  };
  const tidemark = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await runCli(args, environment);
    expect([args.join(' '), code, code === 0 ? '' : err]).toEqual([args.join(' '), 0, '']);
    return out;
  };
  const rows = async (): Promise<Record<string, unknown>[]> =>
    (await tidemark('dump', 'orders_current'))
      .split('\n')
      .filter(Boolean)
      .sort()
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  const log = await openKafkaLog({
    brokers: inject('kafkaBrokers').split(','),
    clientId: 'bronze',
  });
  try {
    await log.createTopics([{ name: prefix, partitions: 1, replicationFactor: -1, configs: {} }]);
    const producer = await log.openProducer(undefined);
    const records = readFileSync(join(directory, 'orders.jsonl'), 'utf8')
      .split('\n')
      .filter(Boolean);
    for (const record of records) producer.append(prefix, 0, textRecord(null, record));
    await producer.commit([]);
    await producer.close();
    await tidemark('run', '--once');
    const before = await rows();
    expect(before.map(({ status }) => status)).toEqual(['PAID', 'CREATED']);
    // The source forgets everything.
    const { end } = (await log.offsetRanges(prefix, [0])).get(0) ?? { end: 0 };
    await log.deleteRecords(prefix, new Map([[0, end]]));
    const plan = JSON.parse(
      await tidemark('refresh', 'orders_current', '--plan', '--json'),
    ) as object;
    expect(plan).toMatchObject({ lossless: true, lost: { keys: 0, rows: 0 }, downstream: [] });
    await tidemark('refresh', 'orders_current', '--yes');
    expect(await rows()).toEqual(before);
    // Another column for all rows, those that have expired included; in place as well.
    writeFileSync(
      file,
      sql.replace('SELECT o.order_id,', 'SELECT upper(o.customer) AS name, o.order_id,'),
    );
    await tidemark('refresh', 'orders_current', '--yes');
    expect((await rows()).map(({ name }) => name).sort()).toEqual(['ADA', 'GRACE']);
    await tidemark('refresh', 'orders_current', '--in-place', '--yes');
    expect(await rows()).toEqual([]);
    await tidemark('run', '--once');
    expect((await rows()).map(({ name }) => name).sort()).toEqual(['ADA', 'GRACE']);
    // Of the raw table itself all would be lost, however it is done; or it is kept, and what reads it with it.
    for (const how of [['--in-place'], []]) {
      const refused = await runCli(['refresh', 'orders_raw', '--cascade', ...how], environment);
      expect([refused.code, refused.err.includes('DATA_LOSS_REFUSED')]).toEqual([4, true]);
    }
    const whole = await rows();
    expect(whole.length).toBe(2);
    await tidemark('refresh', 'orders_raw', '--cascade', '--keep-unrecoverable', '--yes');
    expect(await rows()).toEqual(whole);
    await tidemark('run', '--once');
    expect(await rows()).toEqual(whole);
  } finally {
    await log.close();
  }
});

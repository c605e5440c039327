import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { openKafkaLog } from '../src/adapters/kafka/kafka-log.ts';
import { checkOutput } from './check-output.ts';
import { benchSource, PaymentGenerator } from './generate.ts';
import { measuredRun } from './measured-run.ts';
import { type BenchOptions, benchOptions, usage } from './options.ts';
import { writeSource } from './write-source.ts';

/** Writing the source leaves a load of its own behind. */
const quietLoad = 2.5;

/**
 * The benchmark of the whole service: the source is written first, then `run --once` is timed as a process of its
 * own, then every key of the output topic is checked against the reference of the generator.
 * Invariant: a figure is printed only together with the differences of the same run.
 */
async function bench(options: BenchOptions): Promise<number> {
  const { work, records, seed, output, partitions } = options;
  const name = `bench-${work}-${Date.now().toString(36)}`;
  const folder = resolve(import.meta.dirname, '../.services/bench', name);
  mkdirSync(folder, { recursive: true });
  const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:19092').split(',');
  const log = await openKafkaLog({ brokers, clientId: 'tidemark-bench', compression: 'lz4' });
  try {
    const source = `${name}.payments`;
    const target = `${name}.payments_current`;
    await log.createTopics([
      { name: source, partitions, replicationFactor: -1, configs: { 'retention.ms': '-1' } },
    ]);
    const generator = new PaymentGenerator({ work, records, keys: options.keys, seed });
    tell(`writing ${records} records to ${source}`);
    await writeSource(log, source, partitions, generator);
    const file = join(folder, 'payments.sql');
    writeFileSync(file, pipelineSql(source, target, output));
    const [load = 0] = loadavg();
    if (load > quietLoad) {
      tell(`the machine is busy (load ${load.toFixed(1)}): the times of this run say little`);
    }
    tell('running the service');
    const run = await measuredRun(['run', file], environmentOf(name, folder, options), folder);
    tell('checking every key');
    const { differences, keys } = await checkOutput(log, target, output, generator);
    report(options, {
      work,
      records,
      seconds: round(run.seconds, 2),
      startSeconds: round(run.startSeconds, 2),
      recordsPerSecond: Math.round(records / run.seconds),
      cpuSecondsPerMillion: round((run.cpuSeconds / records) * 1e6, 2),
      peakRssMb: Math.round(run.peakRssMb),
      outputRecords: run.outputRecords,
      differences: differences + (run.records === records ? 0 : 1),
      keys,
      commits: run.commits,
      output,
      state: options.state,
      delivery: options.delivery,
      commitMs: options.commitMs,
      partitions,
      loadBefore: round(load, 1),
    });
    return differences === 0 && run.records === records ? 0 : 1;
  } finally {
    await log.close();
    if (!options.keep) await cleanUp(name, folder, brokers);
  }
}

function pipelineSql(source: string, target: string, output: BenchOptions['output']): string {
  const columns = benchSource.split(', ').map((column) => column.split(' ')[0]);
  return `CREATE SOURCE payments (${benchSource}) WITH (topic = '${source}');
CREATE STREAMING TABLE payments_current WITH (topic = '${target}', output = '${output}')
FLOW REPLACE USING (payment_id) SEQUENCE BY seq BY NAME
SELECT ${columns.join(', ')} FROM STREAM(payments);
`;
}

function environmentOf(
  name: string,
  folder: string,
  { state, commitMs, delivery }: BenchOptions,
): Record<string, string> {
  return {
    TIDEMARK_PIPELINE_NAME: name,
    TIDEMARK_KAFKA_BROKERS: process.env['KAFKA_BROKERS'] ?? '127.0.0.1:19092',
    TIDEMARK_STATE_KIND: state,
    TIDEMARK_STATE_DIRECTORY: join(folder, 'state'),
    TIDEMARK_REDIS_URL: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:16379',
    TIDEMARK_DELIVERY: delivery,
    TIDEMARK_COMMIT_INTERVAL_MS: String(commitMs),
    // Commits go by time here, as far as commit.bytesMax allows.
    TIDEMARK_COMMIT_RECORDS_MAX: '10000000',
    TIDEMARK_LOG_LEVEL: 'info',
  };
}

type Report = Readonly<Record<string, string | number>> & { readonly differences: number };

function report({ json }: BenchOptions, result: Report): void {
  const text = json
    ? JSON.stringify(result)
    : Object.entries(result)
        .map(([name, value]) => `${name.padEnd(22)} ${value}`)
        .join('\n');
  process.stdout.write(`${text}\n`);
}

/** Topics, group and state of this run only. */
async function cleanUp(name: string, folder: string, brokers: string[]): Promise<void> {
  const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${name}.`));
  await admin.deleteTopics({ topics });
  await admin.deleteGroups([`${name}.payments_current`]).catch(() => undefined);
  await admin.disconnect();
  const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:16379');
  for await (const keys of redis.scanStream({ match: `*${name}*`, count: 1000 })) {
    if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]));
  }
  redis.disconnect();
  rmSync(folder, { recursive: true, force: true });
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

if (process.argv.includes('--help')) {
  process.stdout.write(usage);
} else {
  try {
    process.exitCode = await bench(benchOptions(process.argv.slice(2)));
  } catch (error) {
    tell(`bench failed: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

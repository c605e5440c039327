import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import { topicIdHex } from '../../src/data/provenance.ts';
import type { Log } from '../../src/ports/log.ts';
import { textRecord } from './log-worker.ts';
import type { KnownRecord, SourceRow } from './refresh-world.ts';
import { CliFolder, type CliResult, runCli } from './run-cli.ts';

export type RefreshCliOptions = {
  readonly brokers: string;
  readonly redisUrl: string;
  /** Names of sources, each a topic of its own. */
  readonly sources: readonly string[];
  readonly partitions?: number;
};

let worlds = 0;

/** The same verb in a process of its own. */
async function runMain(
  main: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<CliResult> {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[CliResult['code']]>,
  ]);
  return { code, out, err };
}

/** A pipeline on a real cluster, driven through the command line, and every record that was produced to it. */
export class RefreshCli {
  readonly pipeline: string;
  readonly log: Log;
  readonly folder = new CliFolder();
  readonly produced: KnownRecord[] = [];
  readonly partitions: number;
  readonly #options: RefreshCliOptions;
  readonly #topicIds = new Map<string, string>();
  #file = '';

  private constructor(options: RefreshCliOptions, log: Log) {
    worlds += 1;
    this.pipeline = `r${process.pid}-${Date.now().toString(36)}-${worlds}`;
    this.log = log;
    this.partitions = options.partitions ?? 2;
    this.#options = options;
  }

  static async open(options: RefreshCliOptions): Promise<RefreshCli> {
    const log = await openKafkaLog({ brokers: options.brokers.split(','), clientId: 'refresh' });
    const world = new RefreshCli(options, log);
    for (const source of options.sources) await world.createSource(source);
    return world;
  }

  topic(source: string): string {
    return `${this.pipeline}-${source}`;
  }

  async createSource(source: string): Promise<void> {
    const { partitions } = this;
    const topic = { name: this.topic(source), partitions, replicationFactor: -1, configs: {} };
    await this.log.createTopics([{ ...topic, configs: { 'retention.ms': '-1' } }]);
    const found = (await this.log.describeTopics([topic.name])).get(topic.name);
    this.#topicIds.set(source, topicIdHex(found?.topicId ?? ''));
  }

  async recreate(source: string): Promise<void> {
    await this.log.deleteTopics([this.topic(source)]);
    await this.createSource(source);
  }

  /** The statements after the declarations of the sources; `@name` stands for a topic of this pipeline. */
  define(sql: string): void {
    const declarations = this.#options.sources.map(
      (source) =>
        `CREATE SOURCE ${source} (k STRING, seq BIGINT, v STRING, gone BOOLEAN) WITH (topic = '${this.topic(source)}');`,
    );
    const text = `${declarations.join('\n')}\n${sql.replaceAll('@', `${this.pipeline}-`)}`;
    this.#file = this.folder.write('pipeline.sql', text);
  }

  /** Rows to the partitions of a source in turn. */
  async produce(source: string, rows: readonly SourceRow[]): Promise<void> {
    const topic = this.topic(source);
    const topicId = this.#topicIds.get(source) ?? '';
    const numbers = Array.from({ length: this.partitions }, (_, partition) => partition);
    const ends = new Map(
      [...(await this.log.offsetRanges(topic, numbers))].map(([at, { end }]) => [at, end]),
    );
    const producer = await this.log.openProducer(undefined);
    for (const [at, row] of rows.entries()) {
      const partition = at % this.partitions;
      const offset = ends.get(partition) ?? 0;
      ends.set(partition, offset + 1);
      producer.append(topic, partition, textRecord(null, JSON.stringify(row)));
      this.produced.push({ ...row, topic: source, topicId, partition, offset });
      if (producer.pendingBytes > 8_000_000) await producer.drain(1_000_000);
    }
    await producer.commit([]);
    await producer.close();
  }

  /** Deletes the older part of every partition of a source, as retention does. */
  async expire(source: string, share: number): Promise<void> {
    const numbers = Array.from({ length: this.partitions }, (_, partition) => partition);
    const ranges = await this.log.offsetRanges(this.topic(source), numbers);
    const before = [...ranges].map(
      ([partition, { end }]) => [partition, Math.floor(end * share)] as const,
    );
    await this.log.deleteRecords(this.topic(source), new Map(before));
  }

  async readable(): Promise<(record: KnownRecord) => boolean> {
    const starts = new Map<string, number>();
    const numbers = Array.from({ length: this.partitions }, (_, partition) => partition);
    for (const [source, topicId] of this.#topicIds) {
      for (const [partition, { start }] of await this.log.offsetRanges(
        this.topic(source),
        numbers,
      )) {
        starts.set(`${topicId}/${partition}`, start);
      }
    }
    return ({ topicId, partition, offset }) =>
      offset >= (starts.get(`${topicId}/${partition}`) ?? Number.POSITIVE_INFINITY);
  }

  environment(): Record<string, string> {
    return {
      TIDEMARK_PIPELINE_NAME: this.pipeline,
      TIDEMARK_PIPELINE_FILES: this.#file,
      TIDEMARK_KAFKA_BROKERS: this.#options.brokers,
      TIDEMARK_STATE_KIND: 'redis',
      TIDEMARK_REDIS_URL: this.#options.redisUrl,
      TIDEMARK_INSTANCE_NAME: 'one',
      TIDEMARK_LOG_LEVEL: 'error',
      TIDEMARK_GROUP_SESSION_TIMEOUT_MS: '6000',
    };
  }

  async cli(...args: readonly string[]): Promise<CliResult> {
    const startedMs = Date.now();
    // Over many records the built program is faster than one that a test runner has loaded.
    const main = process.env['REFRESH_MAIN'];
    const environment = this.environment();
    const result =
      main === undefined ? await runCli(args, environment) : await runMain(main, args, environment);
    if (process.env['REFRESH_TIMES'] === '1') {
      const seconds = ((Date.now() - startedMs) / 1000).toFixed(1);
      process.stderr.write(`${args.slice(0, 2).join(' ')}: ${seconds} s\n`);
    }
    return result;
  }

  /** One triggered update, with whatever gaps it finds accepted where the test says so. */
  async update(options: { readonly acceptsGaps?: boolean } = {}): Promise<void> {
    let accepted: string[] = [];
    for (let attempt = 0; ; attempt += 1) {
      const { code, err } = await this.cli(
        'run',
        '--once',
        ...accepted.flatMap((id) => ['--accept-gap', id]),
      );
      if (code === 0) return;
      const fresh = [...err.matchAll(/--accept-gap ([^\s"]+)/g)].map(([, id]) => id ?? '');
      if (options.acceptsGaps !== true || fresh.length === 0 || attempt > 3) throw new Error(err);
      accepted = [...new Set([...accepted, ...fresh])];
    }
  }

  async close(): Promise<void> {
    this.folder.remove();
    await this.log.close();
  }
}

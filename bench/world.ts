import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { openKafkaLog } from '../src/adapters/kafka/kafka-log.ts';
import type { Log } from '../src/ports/log.ts';
import { benchSource } from './generate.ts';
import type { BenchOptions } from './options.ts';

/**
 * Topics, group, state and folder of one run. Invariant: nothing of it is shared with another run, and `close` leaves
 * nothing behind but where `--keep` asks for it.
 */
export class BenchWorld {
  readonly name: string;
  readonly folder: string;
  readonly log: Log;
  readonly source: string;
  readonly target: string;
  readonly #brokers: string[];
  readonly #options: BenchOptions;

  private constructor(options: BenchOptions, name: string, brokers: string[], log: Log) {
    this.#options = options;
    this.#brokers = brokers;
    this.name = name;
    this.log = log;
    this.source = `${name}.payments`;
    this.target = `${name}.payments_current`;
    this.folder = resolve(import.meta.dirname, '../.services/bench', name);
  }

  static async open(options: BenchOptions): Promise<BenchWorld> {
    const name = `bench-${options.work}-${Date.now().toString(36)}`;
    const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:19092').split(',');
    const log = await openKafkaLog({ brokers, clientId: 'tidemark-bench', compression: 'lz4' });
    const world = new BenchWorld(options, name, brokers, log);
    mkdirSync(world.folder, { recursive: true });
    await log.createTopics([
      {
        name: world.source,
        partitions: options.partitions,
        replicationFactor: -1,
        configs: { 'retention.ms': '-1' },
      },
    ]);
    return world;
  }

  /** Writes the pipeline; by default all columns pass through. */
  pipelineFile(query: PipelineQuery = passThrough): string {
    const file = join(this.folder, 'payments.sql');
    const { output } = this.#options;
    const text = `CREATE SOURCE payments (${benchSource}) WITH (topic = '${this.source}');
CREATE STREAMING TABLE payments_current ${query.expectations}WITH (topic = '${this.target}', output = '${output}')
FLOW REPLACE USING (payment_id) SEQUENCE BY seq BY NAME
SELECT ${query.select} FROM STREAM(payments);
`;
    writeFileSync(file, text);
    return file;
  }

  environment(instance = 'bench'): Record<string, string> {
    const { state, commitMs, delivery, shuffle } = this.#options;
    return {
      TIDEMARK_PIPELINE_NAME: this.name,
      TIDEMARK_INSTANCE_NAME: instance,
      TIDEMARK_KAFKA_BROKERS: this.#brokers.join(','),
      TIDEMARK_STATE_KIND: state,
      TIDEMARK_STATE_DIRECTORY: join(this.folder, 'state'),
      TIDEMARK_REDIS_URL: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:16379',
      TIDEMARK_DELIVERY: delivery,
      TIDEMARK_FLOW_SHUFFLE: shuffle,
      TIDEMARK_COMMIT_INTERVAL_MS: String(commitMs),
      // Commits go by time here, as far as commit.bytesMax allows.
      TIDEMARK_COMMIT_RECORDS_MAX: '10000000',
      TIDEMARK_HTTP_ENABLED: 'false',
      TIDEMARK_LOG_LEVEL: 'info',
    };
  }

  /** The state is lost: whoever starts next rebuilds it from the output topic. */
  async wipeState(): Promise<void> {
    rmSync(join(this.folder, 'state'), { recursive: true, force: true });
    const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:16379');
    for await (const keys of redis.scanStream({ match: `*${this.name}*`, count: 1000 })) {
      if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]));
    }
    redis.disconnect();
  }

  async close(): Promise<void> {
    await this.log.close();
    if (this.#options.keep) return;
    const admin = new Kafka({ brokers: this.#brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const topics = (await admin.listTopics()).filter((one) => one.startsWith(`${this.name}.`));
    await admin.deleteTopics({ topics });
    await admin.deleteGroups([`${this.name}.payments_current`]).catch(() => undefined);
    await admin.disconnect();
    await this.wipeState();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export type PipelineQuery = { readonly select: string; readonly expectations: string };

const columns = benchSource.split(', ').map((column) => column.split(' ')[0]);

export const passThrough: PipelineQuery = { select: columns.join(', '), expectations: '' };

/** Ten expressions of all sorts and two expectations over the same columns; `readOutputRow` knows what they give. */
export const mixedExpressions: PipelineQuery = {
  select: `payment_id, seq,
  CAST(amount * 2 / 2 AS DECIMAL(10,2)) AS amount,
  lower(upper(currency)) AS currency_lower,
  upper(currency) AS currency,
  concat(status, '') AS status,
  coalesce(updated_at, current_timestamp()) AS updated_at,
  CASE WHEN status = 'FAILED' THEN trim(note) ELSE note END AS note,
  length(note) AS note_length,
  amount > 500 AS is_large,
  year(updated_at) AS updated_year,
  substring(note, 7, 5) AS order_number`,
  expectations: `(CONSTRAINT has_amount EXPECT (amount >= 0),
  CONSTRAINT has_status EXPECT (status IS NOT NULL) ON VIOLATION DROP ROW) `,
};

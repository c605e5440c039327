import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { OutputMode } from '../../src/plan/pipeline-plan.ts';
import type { Log } from '../../src/ports/log.ts';
import { type CheckReport, checkOutput, untilCaughtUp } from './check-output.ts';
import { type ServiceOptions, ServiceProcess } from './service-process.ts';
import { ordersPipeline, produce, producePaced, type SourceRecord } from './workload.ts';

/** Of tables whose rows replace each other. */
type ReplacingMode = Exclude<OutputMode, 'append'>;

export type WorldOptions = {
  readonly brokers: string;
  readonly redisUrl: string;
  readonly output?: ReplacingMode;
  readonly partitions?: number;
  readonly options?: ServiceOptions['options'];
};

let worlds = 0;

/** Runs a test in a world of its own and closes it, whatever becomes of it. */
export async function inWorld(
  options: WorldOptions,
  deed: (world: ServiceWorld) => Promise<void>,
): Promise<void> {
  const world = await ServiceWorld.open(options);
  try {
    await deed(world);
  } finally {
    await world.close();
  }
}

/**
 * A source topic, a pipeline over it and the processes that run it: topics and groups of its own on brokers that others
 * may use too.
 */
export class ServiceWorld {
  readonly pipeline: string;
  readonly source: string;
  readonly target: string;
  readonly output: ReplacingMode;
  readonly partitions: number;
  readonly log: Log;
  readonly #options: WorldOptions;
  readonly #services: ServiceProcess[] = [];

  private constructor(options: WorldOptions, log: Log) {
    worlds += 1;
    this.pipeline = `p${process.pid}-${Date.now()}-${worlds}`;
    this.source = `${this.pipeline}-orders`;
    this.target = `${this.pipeline}-cur`;
    this.output = options.output ?? 'row_set';
    this.partitions = options.partitions ?? 4;
    this.log = log;
    this.#options = options;
  }

  static async open(options: WorldOptions): Promise<ServiceWorld> {
    const log = await openKafkaLog({ brokers: options.brokers.split(','), clientId: 'world' });
    const world = new ServiceWorld(options, log);
    await log.createTopics([
      {
        name: world.source,
        partitions: world.partitions,
        replicationFactor: -1,
        configs: { 'retention.ms': '-1' },
      },
    ]);
    return world;
  }

  get group(): string {
    return `${this.pipeline}.cur`;
  }

  get repartition(): string {
    return `${this.group}.repartition`;
  }

  get sql(): string {
    return ordersPipeline(this.source, this.target, this.output);
  }

  /** A process that is not started yet. */
  service(instance: string, options: Partial<ServiceOptions> = {}): ServiceProcess {
    const { brokers, redisUrl } = this.#options;
    const service = new ServiceProcess({
      brokers,
      redisUrl,
      pipeline: this.pipeline,
      instance,
      sql: this.sql,
      ...options,
      options: { ...this.#options.options, ...options.options },
    });
    this.#services.push(service);
    return service;
  }

  produce(records: readonly SourceRecord[]): Promise<void> {
    return produce(this.log, this.source, records);
  }

  producePaced(
    records: readonly SourceRecord[],
    options: { readonly durationMs: number; readonly isStopped?: () => boolean },
  ): Promise<void> {
    return producePaced(this.log, this.source, records, options);
  }

  /** Rows of one partition, without a record key. */
  rows(
    partition: number,
    ...rows: readonly (readonly [string | null, string, number, number])[]
  ): Promise<void> {
    return this.produce(
      rows.map(([region, item, qty, seq]) => ({
        partition,
        value: JSON.stringify({ region, item, qty, seq }),
      })),
    );
  }

  caughtUp(withinMs?: number): Promise<void> {
    return untilCaughtUp(this.log, this, withinMs, () => this.tails());
  }

  check(): Promise<CheckReport> {
    const { source, target, output, pipeline } = this;
    return checkOutput({ brokers: this.#options.brokers, source, target, output, pipeline });
  }

  /** The ends of the logs of all processes, for a failure's message. */
  tails(): string {
    return this.#services
      .map((service) => `— ${service.options.instance}\n${service.tail()}`)
      .join('\n');
  }

  async close(): Promise<void> {
    for (const service of this.#services) await service.dispose();
    await this.log.close();
  }
}

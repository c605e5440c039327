import { Redis } from 'ioredis';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { Log } from '../../src/ports/log.ts';
import { Random } from '../../src/testing/random.ts';
import { checkOutput, readCommitted, untilCaughtUp } from './check-output.ts';
import { imageOf, type RedisImage, restoreImage } from './redis-image.ts';
import { ServiceProcess, sleep } from './service-process.ts';
import {
  type PrivateKafka,
  type PrivateRedis,
  startPrivateKafka,
  startPrivateRedis,
} from './services.ts';
import { type OrderRow, producePaced, type SourceRecord, workload } from './workload.ts';

export type ChaosOptions = {
  readonly minutes: number;
  readonly seed: number;
  readonly instances: number;
  readonly say: (text: string) => void;
};

type Fault = {
  readonly name: string;
  readonly weight: number;
  readonly strike: () => Promise<void>;
};

const pipeline = 'chaos';
const source = 'orders';
const partitions = 4;
const tables = [
  { flow: 'cur', target: 'cur', output: 'row_set' },
  { flow: 'each', target: 'each', output: 'rows' },
] as const;

const sql = `
CREATE SOURCE orders (region STRING, item STRING, qty INT, seq BIGINT) WITH (topic = 'orders');
${tables
  .map(
    ({ target, output }) => `
CREATE STREAMING TABLE ${target} WITH (topic = '${target}', output = '${output}')
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, item, qty, seq FROM STREAM(orders);`,
  )
  .join('\n')}
`;

const stormMs = 75_000;
/** How long the world may take to become right once nothing fails any more. */
const recoveryMsMax = 120_000;

/**
 * One pipeline of two tables under a storm of faults. Invariant: what is said in the end comes from the logs alone, and a
 * world that does not come to rest is a difference, too.
 */
export class Chaos {
  readonly #options: ChaosOptions;
  readonly #random: Random;
  readonly #counts = new Map<string, number>();
  readonly #services: ServiceProcess[] = [];
  /** Instances that a fault is at work on: the next one takes another. */
  readonly #busy = new Set<ServiceProcess>();
  readonly #healing = new Set<Promise<void>>();
  #kafka: PrivateKafka | undefined;
  #redis: PrivateRedis | undefined;
  #client: Redis | undefined;
  #log: Log | undefined;
  #isBrokerBusy = false;
  #isRedisBusy = false;
  #image: RedisImage = [];
  #isOver = false;
  #isStorming = false;
  #rounds = 0;

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  /** Ends the storm early; what happened until then is judged. */
  stop(): void {
    this.#isOver = true;
  }

  /** The number of differences. */
  async run(): Promise<number> {
    const { say, seed, minutes, instances } = this.#options;
    say(`chaos: seed ${seed}, ${minutes} minutes, ${instances} instances`);
    let differences: readonly string[] = ['the run did not end'];
    try {
      await this.#open();
      differences = await this.#storms();
      if (differences.length === 0) differences = await this.#judge();
    } finally {
      await this.#close(differences.length > 0);
    }
    const counts = [...this.#counts].map(([name, count]) => `${name} ${count}`).join(', ');
    say(`faults: ${counts}`);
    for (const difference of differences.slice(0, 50)) say(`  ${difference}`);
    say(`differences: ${differences.length}`);
    return differences.length;
  }

  async #open(): Promise<void> {
    const [kafka, redis] = await Promise.all([startPrivateKafka(), startPrivateRedis()]);
    this.#kafka = kafka;
    this.#redis = redis;
    this.#client = new Redis(redis.url, { maxRetriesPerRequest: null });
    this.#client.on('error', () => undefined);
    this.#log = await openKafkaLog({ brokers: [kafka.brokers], clientId: 'chaos' });
    const configs = { 'retention.ms': '-1' };
    await this.#log.createTopics([{ name: source, partitions, replicationFactor: -1, configs }]);
    for (let index = 1; index <= this.#options.instances; index += 1) {
      this.#services.push(
        new ServiceProcess({
          brokers: kafka.brokers,
          redisUrl: redis.url,
          pipeline,
          instance: `worker-${index}`,
          sql,
          options: {
            // One of them has no fixed place in the group.
            'group.static': index !== this.#options.instances,
            'commit.intervalMs': 20 * index,
            // Far less than the keys need, so that the state is read all the time.
            'state.cacheBytes': 1_048_576,
            'kafka.transactionTimeoutMs': 10_000,
            'redis.commandTimeoutMs': 2_000,
            'http.enabled': 'false',
          },
        }).start(),
      );
    }
    for (const service of this.#services) await service.isAssigned();
  }

  /** Storms, and calms in which everything has to be caught up with. */
  async #storms(): Promise<string[]> {
    const { minutes, say } = this.#options;
    const endAt = Date.now() + minutes * 60_000;
    while (!this.#isOver && Date.now() < endAt) {
      await this.#storm(Math.min(endAt, Date.now() + stormMs));
      const startedAt = Date.now();
      const late = await this.#settle();
      if (late.length > 0) return late;
      const seconds = Math.round((Date.now() - startedAt) / 100) / 10;
      say(
        `${Math.max(0, Math.round((endAt - Date.now()) / 6_000)) / 10} minutes left; caught up ${seconds} s after the last fault`,
      );
    }
    return [];
  }

  async #storm(endAt: number): Promise<void> {
    this.#isStorming = true;
    this.#rounds += 1;
    const seed = this.#options.seed * 1_000 + this.#rounds * 2;
    const producing = Promise.all([this.#produce(seed), this.#produce(seed + 1)]);
    while (!this.#isOver && Date.now() < endAt) {
      await sleep(300 + this.#random.below(this.#random.chance(300) ? 1_000 : 8_000));
      this.#strike();
      await this.#raiseTheDead();
    }
    this.#isStorming = false;
    await Promise.all(this.#healing);
    await producing;
    await this.#raiseTheDead();
  }

  async #produce(seed: number): Promise<void> {
    const levelStart = this.#rounds * 100;
    for (let part = 0; this.#isStorming; part += 1) {
      const of = seed * 100 + part;
      const records = workload({
        seed: of,
        records: 2_000,
        partitions,
        keys: 3_000,
        itemLength: 800,
        levelStart,
      });
      await producePaced(this.#use(this.#log), source, records, {
        durationMs: 10_000,
        isStopped: () => !this.#isStorming,
      });
    }
  }

  #strike(): void {
    const faults = this.#faults();
    let drawn = this.#random.below(faults.reduce((sum, { weight }) => sum + weight, 0));
    for (const { name, weight, strike } of faults) {
      drawn -= weight;
      if (drawn >= 0) continue;
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
      const healing = strike().finally(() => this.#healing.delete(healing));
      this.#healing.add(healing);
      return;
    }
  }

  #faults(): Fault[] {
    const idle = this.#services.filter((service) => service.isRunning && !this.#busy.has(service));
    const victim = idle[this.#random.below(Math.max(1, idle.length))];
    const faults: Fault[] = [];
    if (victim !== undefined) {
      faults.push(
        { name: 'kill -9', weight: 30, strike: () => this.#kill(victim) },
        { name: 'SIGSTOP', weight: 20, strike: () => this.#freeze(victim) },
        { name: 'SIGTERM', weight: 10, strike: () => this.#end(victim) },
        { name: 'fenced', weight: 5, strike: () => this.#fence(victim) },
      );
    }
    if (idle.length === this.#services.length) {
      faults.push({ name: 'all killed', weight: 3, strike: () => this.#killAll() });
    }
    if (!this.#isRedisBusy) {
      faults.push(
        { name: 'FLUSHALL', weight: 10, strike: () => this.#flush() },
        { name: 'Redis restarted', weight: 5, strike: () => this.#restartRedis() },
        { name: 'Redis stopped', weight: 5, strike: () => this.#pauseRedis() },
        { name: 'Redis rolled back', weight: 8, strike: () => this.#rollBackRedis() },
      );
    }
    if (!this.#isBrokerBusy) {
      faults.push(
        { name: 'broker killed', weight: 2, strike: () => this.#restartBroker() },
        { name: 'broker stopped', weight: 3, strike: () => this.#pauseBroker() },
      );
    }
    return faults;
  }

  async #on(service: ServiceProcess, deed: () => Promise<void>): Promise<void> {
    this.#busy.add(service);
    try {
      await deed();
    } finally {
      this.#busy.delete(service);
    }
  }

  async #kill(service: ServiceProcess): Promise<void> {
    const pauseMs = this.#random.chance(500) ? 0 : this.#random.below(9_000);
    await this.#on(service, async () => {
      await service.end('SIGKILL');
      await sleep(pauseMs);
      service.start();
    });
  }

  async #killAll(): Promise<void> {
    await Promise.all(this.#services.map((service) => this.#kill(service)));
  }

  async #freeze(service: ServiceProcess): Promise<void> {
    const pauseMs = this.#random.below(this.#random.chance(500) ? 2_000 : 20_000);
    await this.#on(service, async () => {
      service.signal('SIGSTOP');
      await sleep(pauseMs);
      service.signal('SIGCONT');
    });
  }

  async #end(service: ServiceProcess): Promise<void> {
    await this.#on(service, async () => {
      service.signal('SIGTERM');
      await service.exited(60_000);
      service.start();
    });
  }

  async #fence(service: ServiceProcess): Promise<void> {
    const id = `${pipeline}-${service.options.instance}`;
    await this.#use(this.#log)
      .fence(id)
      .catch(() => undefined);
  }

  async #flush(): Promise<void> {
    await this.#onRedis((client) => client.flushall());
  }

  async #restartRedis(): Promise<void> {
    await this.#onRedis(() => this.#use(this.#redis).restart());
  }

  async #pauseRedis(): Promise<void> {
    const pauseMs = this.#random.below(6_000);
    await this.#onRedis(async () => {
      this.#use(this.#redis).pause();
      await sleep(pauseMs);
      this.#use(this.#redis).resume();
    });
  }

  /** An image of some time ago comes back, as after a failover to a replica that lagged; then a new one is taken. */
  async #rollBackRedis(): Promise<void> {
    await this.#onRedis(async (client) => {
      const image = this.#image;
      this.#image = await imageOf(client, pipeline);
      await restoreImage(client, image);
    });
  }

  async #onRedis(deed: (client: Redis) => Promise<unknown>): Promise<void> {
    this.#isRedisBusy = true;
    try {
      await deed(this.#use(this.#client));
    } finally {
      this.#isRedisBusy = false;
    }
  }

  async #restartBroker(): Promise<void> {
    const pauseMs = this.#random.below(4_000);
    await this.#onBroker(async (kafka) => {
      await kafka.kill();
      await sleep(pauseMs);
      await kafka.restart();
    });
  }

  async #pauseBroker(): Promise<void> {
    const pauseMs = this.#random.below(12_000);
    await this.#onBroker(async (kafka) => {
      kafka.pause();
      await sleep(pauseMs);
      kafka.resume();
    });
  }

  async #onBroker(deed: (kafka: PrivateKafka) => Promise<void>): Promise<void> {
    this.#isBrokerBusy = true;
    try {
      await deed(this.#use(this.#kafka));
    } finally {
      this.#isBrokerBusy = false;
    }
  }

  /** What an orchestrator does. A process that ended by itself is counted: it should have gone on. */
  async #raiseTheDead(): Promise<void> {
    for (const service of this.#services) {
      if (service.isRunning || this.#busy.has(service)) continue;
      const { code, signal } = await service.exited();
      const name = `ended by itself (${code ?? signal})`;
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
      this.#options.say(`${service.options.instance} ${name}:\n${service.tail(5)}`);
      service.start();
    }
  }

  async #judge(): Promise<string[]> {
    const differences = await this.#check('after the storm');
    // The state has to be right as well: rows at, above and below the level of each key ask for all of it.
    await producePaced(this.#use(this.#log), source, await this.#probes(), { durationMs: 2_000 });
    differences.push(...(await this.#settle()));
    return [...differences, ...(await this.#check('after the probes'))];
  }

  async #settle(): Promise<string[]> {
    for (const { flow } of tables) {
      try {
        await untilCaughtUp(this.#use(this.#log), { source, pipeline, flow }, recoveryMsMax);
      } catch (error) {
        return [String(error instanceof Error ? error.message : error)];
      }
    }
    return [];
  }

  async #check(when: string): Promise<string[]> {
    const { brokers } = this.#use(this.#kafka);
    const all: string[] = [];
    for (const { flow, target, output } of tables) {
      const report = await checkOutput({ brokers, source, target, output, pipeline, flow });
      const { sourceRecords, outputRecords, keys, rows, transactions, differences } = report;
      this.#options.say(
        `${when}: ${target} from ${sourceRecords} records: ${keys} keys, ${rows} rows, ${outputRecords} output records, transactions ${transactions.committed} committed and ${transactions.aborted} aborted, ${differences.length} differences`,
      );
      // What judges nothing must not look like what found nothing.
      if (sourceRecords === 0 || outputRecords === 0 || keys === 0) {
        all.push(`${when}, ${target}: nothing was judged`);
      }
      all.push(...differences.map((difference) => `${when}, ${target}: ${difference}`));
    }
    return all;
  }

  async #probes(): Promise<SourceRecord[]> {
    const levels = new Map<string | null, number>();
    for (const { value } of await readCommitted(this.#use(this.#log), source)) {
      if (value === null) continue;
      const { region, seq } = JSON.parse(value.toString('utf8')) as OrderRow;
      levels.set(region, Math.max(seq, levels.get(region) ?? seq));
    }
    return [...levels].flatMap(([region, level]) =>
      [level, level - 1, ...(this.#random.chance(300) ? [level + 1] : [])].map((seq) => ({
        partition: this.#random.below(partitions),
        value: JSON.stringify({ region, item: 'probe', qty: 0, seq }),
      })),
    );
  }

  async #close(isKept: boolean): Promise<void> {
    for (const service of this.#services) {
      if (isKept) this.#options.say(`log of ${service.options.instance}: ${service.logFile}`);
      await service.dispose({ isKept });
    }
    await this.#log?.close();
    this.#client?.disconnect();
    await Promise.all([this.#kafka?.stop(), this.#redis?.stop()]);
  }

  #use<T>(part: T | undefined): T {
    if (part === undefined) throw new Error('the world is not open');
    return part;
  }
}

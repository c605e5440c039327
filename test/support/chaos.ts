import type { Redis } from 'ioredis';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import { FlowError } from '../../src/base/errors.ts';
import { planPipeline } from '../../src/plan/plan-pipeline.ts';
import type { Log } from '../../src/ports/log.ts';
import { Random } from '../../src/testing/random.ts';
import { ChaosJudge, type TableVerdict } from './chaos-judge.ts';
import { partitionsOf, untilCaughtUp } from './check-output.ts';
import { imageOf, type RedisImage, restoreImage } from './redis-image.ts';
import { RedisPair } from './redis-pair.ts';
import { ServiceProcess, sleep, until } from './service-process.ts';
import { type PrivateKafka, startPrivateKafka } from './services.ts';
import { producePaced, type SourceRecord, workload } from './workload.ts';

export type ChaosOptions = {
  readonly minutes: number;
  readonly seed: number;
  readonly instances: number;
  readonly say: (text: string) => void;
};

export type ChaosReport = {
  readonly seed: number;
  readonly minutes: number;
  readonly faults: Readonly<Record<string, number>>;
  /** As they stood when the tables were judged last. */
  readonly tables: readonly Omit<TableVerdict, 'differences'>[];
  /** How often everything was judged. */
  readonly verdicts: number;
  readonly differences: readonly string[];
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

const stormMs = 60_000;
const lookIntervalMs = 5_000;
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
  #redis: RedisPair | undefined;
  #log: Log | undefined;
  #judge: ChaosJudge | undefined;
  #verdicts = 0;
  #tables: readonly TableVerdict[] = [];
  #isBrokerBusy = false;
  #isRedisBusy = false;
  #image: RedisImage = [];
  /** What no reader should have seen. */
  readonly #seen: string[] = [];
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

  async run(): Promise<ChaosReport> {
    const { say, seed, minutes, instances } = this.#options;
    say(`chaos: seed ${seed}, ${minutes} minutes, ${instances} instances`);
    const startedAt = Date.now();
    let differences: readonly string[] = ['the run did not end'];
    try {
      await this.#open();
      differences = await this.#storms();
      if (differences.length === 0) differences = await this.#probe();
    } catch (error) {
      differences = [`the run broke off: ${error instanceof Error ? error.stack : String(error)}`];
    } finally {
      await this.#close(differences.length > 0);
    }
    return {
      seed,
      minutes: Math.round((Date.now() - startedAt) / 6_000) / 10,
      faults: Object.fromEntries(this.#counts),
      tables: this.#tables.map(({ differences: _, ...table }) => table),
      verdicts: this.#verdicts,
      differences:
        this.#verdicts === 0 && differences.length === 0 ? ['nothing was judged'] : differences,
    };
  }

  async #open(): Promise<void> {
    const [kafka, redis] = await Promise.all([startPrivateKafka(), RedisPair.start()]);
    this.#kafka = kafka;
    this.#redis = redis;
    const log = await openKafkaLog({ brokers: [kafka.brokers], clientId: 'chaos' });
    this.#log = log;
    const configs = { 'retention.ms': '-1' };
    await log.createTopics([{ name: source, partitions, replicationFactor: -1, configs }]);
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
    const { plan } = planPipeline([{ file: 'chaos.sql', text: sql }]);
    if (plan === undefined) throw new Error('the pipeline has no plan');
    const { brokers } = kafka;
    this.#judge = await ChaosJudge.open({ brokers, log, source, pipeline, plan, tables });
  }

  /** Storms, and calms in which everything has to be caught up with. */
  async #storms(): Promise<readonly string[]> {
    const { minutes, say } = this.#options;
    const endAt = Date.now() + minutes * 60_000;
    while (!this.#isOver && Date.now() < endAt) {
      await this.#storm(Math.min(endAt, Date.now() + stormMs));
      const startedAt = Date.now();
      const late = await this.#settle();
      if (late.length > 0) return late;
      const differences = await this.#verdict(`after storm ${this.#rounds}`);
      if (differences.length > 0) return differences;
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
    const watching = this.#watch();
    while (!this.#isOver && Date.now() < endAt) {
      await sleep(300 + this.#random.below(this.#random.chance(300) ? 1_000 : 8_000));
      this.#strike();
      await this.#raiseTheDead();
    }
    this.#isStorming = false;
    await watching;
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
        keys: 12_000,
        itemLength: 100,
        levelStart,
      });
      await producePaced(this.#use(this.#log), source, records, {
        durationMs: 10_000,
        isStopped: () => !this.#isStorming,
      });
    }
  }

  /** Looks at what readers see while it storms. What brokers keep from being seen now is seen later. */
  async #watch(): Promise<void> {
    while (this.#isStorming) {
      await sleep(lookIntervalMs);
      try {
        this.#seen.push(...(await this.#use(this.#judge).look()));
      } catch (error) {
        this.#options.say(`nothing to be seen: ${error instanceof Error ? error.message : error}`);
      }
      if (this.#seen.length > 0) this.#isOver = true;
    }
  }

  #strike(): void {
    const faults = this.#faults();
    let drawn = this.#random.below(faults.reduce((sum, { weight }) => sum + weight, 0));
    for (const { name, weight, strike } of faults) {
      drawn -= weight;
      if (drawn >= 0) continue;
      this.#counted(name);
      const healing = strike()
        .catch((error: unknown) => this.#failedToStrike(name, error))
        .finally(() => this.#healing.delete(healing));
      this.#healing.add(healing);
      return;
    }
  }

  /** A fault that meets a broker which is away does nothing; anything else is a difference. */
  #failedToStrike(name: string, error: unknown): void {
    if (error instanceof FlowError && error.remedy !== 'fix-input' && error.remedy !== 'stop') {
      return;
    }
    this.#seen.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
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
      if (!this.#isBrokerBusy) {
        faults.push({
          name: 'log cut ahead of the checkpoints',
          weight: 6,
          strike: () => this.#cutAhead(),
        });
      }
    }
    if (!this.#isRedisBusy) {
      faults.push(
        { name: 'FLUSHALL', weight: 10, strike: () => this.#flush() },
        { name: 'Redis restarted', weight: 5, strike: () => this.#restartRedis() },
        { name: 'Redis stopped', weight: 5, strike: () => this.#pauseRedis() },
        { name: 'Redis rolled back', weight: 8, strike: () => this.#rollBackRedis() },
        { name: 'Redis failed over', weight: 8, strike: () => this.#failOverRedis() },
      );
    }
    if (!this.#isBrokerBusy) {
      faults.push(
        { name: 'broker killed', weight: 2, strike: () => this.#restartBroker() },
        { name: 'broker stopped', weight: 3, strike: () => this.#pauseBroker() },
        {
          name: 'log cut behind the checkpoints',
          weight: 8,
          strike: () => this.#onBroker(() => this.#cutBehind()),
        },
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

  async #failOverRedis(): Promise<void> {
    const lagMs = this.#random.below(3_000);
    await this.#onRedis(() => this.#use(this.#redis).failOver(lagMs));
  }

  async #onRedis(deed: (client: Redis) => Promise<unknown>): Promise<void> {
    this.#isRedisBusy = true;
    try {
      await deed(this.#use(this.#redis).client);
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

  /** Where the flows stand in a source partition. */
  async #checkpoints(partition: number): Promise<(number | undefined)[]> {
    const all: (number | undefined)[] = [];
    for (const { flow } of tables) {
      const group = `${pipeline}.${flow}`;
      const found = await this.#use(this.#log).committedOffsets(group, source, [partition]);
      all.push(found.get(partition)?.offset);
    }
    return all;
  }

  /** Retention takes what every flow has read: nobody may notice. */
  async #cutBehind(): Promise<void> {
    const partition = this.#random.below(partitions);
    const behind = Math.min(...(await this.#checkpoints(partition)).map((offset) => offset ?? 0));
    const seen = this.#use(this.#judge).reached(partition);
    const before = new Map([[partition, Math.min(behind, seen)]]);
    await this.#use(this.#log).deleteRecords(source, before);
  }

  /**
   * Retention overtakes the checkpoints: every flow that has not read the records has to stop at the gap, in whichever
   * process, until somebody accepts it. Which records that are is what the flows have recorded, and nothing else may be
   * missing.
   */
  async #cutAhead(): Promise<void> {
    const partition = this.#random.below(partitions);
    for (const service of this.#services) this.#busy.add(service);
    this.#isBrokerBusy = true;
    try {
      // A flow that has no checkpoint yet begins with what is there.
      if ((await this.#checkpoints(partition)).includes(undefined)) return;
      for (const service of this.#services) service.signal('SIGSTOP');
      // So that there is something which nobody has read.
      await sleep(1_000 + this.#random.below(1_500));
      await this.#use(this.#judge).look();
      const to = this.#use(this.#judge).reached(partition) - this.#random.below(20);
      await this.#use(this.#log).deleteRecords(source, new Map([[partition, Math.max(0, to)]]));
      for (const service of this.#services) service.signal('SIGCONT');
      await this.#acceptGaps(partition, to);
    } finally {
      for (const service of this.#services) {
        service.signal('SIGCONT');
        this.#busy.delete(service);
      }
      this.#isBrokerBusy = false;
    }
  }

  async #acceptGaps(partition: number, to: number): Promise<void> {
    let open: readonly string[] = [];
    await until(
      'every flow is past the records that are gone, or has found its gap',
      async () => {
        const gaps = await this.#use(this.#judge).gaps();
        open = gaps.flatMap(({ id, acceptedAtMs }) => (acceptedAtMs === undefined ? [id] : []));
        const stopped = new Set(
          gaps.flatMap((gap) => (gap.acceptedAtMs === undefined ? [gap.flow] : [])),
        );
        const checkpoints = await this.#checkpoints(partition);
        return tables.every(
          ({ flow }, index) => stopped.has(flow) || (checkpoints[index] ?? 0) >= to,
        );
      },
      { withinMs: recoveryMsMax, everyMs: 500, onFailure: () => this.#tails() },
    );
    if (open.length === 0) return;
    for (const id of open) this.#counted(`gap accepted (${id.slice(0, id.indexOf('/'))})`);
    await Promise.all(this.#services.map((service) => service.end('SIGTERM')));
    const accept = open.flatMap((id) => ['--accept-gap', id]);
    for (const service of this.#services) service.start(accept);
  }

  #tails(): string {
    return this.#services.map((service) => service.tail(5)).join('\n');
  }

  #counted(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** What an orchestrator does. A process that ended by itself is counted: it should have gone on. */
  async #raiseTheDead(): Promise<void> {
    for (const service of this.#services) {
      if (service.isRunning || this.#busy.has(service)) continue;
      const { code, signal } = await service.exited();
      const name = `ended by itself (${code ?? signal})`;
      this.#counted(name);
      this.#options.say(`${service.options.instance} ${name}:\n${service.tail(5)}`);
      service.start();
    }
  }

  /** The state has to be right as well: rows at, above and below the level of each key ask for all of it. */
  async #probe(): Promise<readonly string[]> {
    await producePaced(this.#use(this.#log), source, this.#probes(), { durationMs: 2_000 });
    const late = await this.#settle();
    return late.length > 0 ? late : await this.#verdict('after the probes');
  }

  async #settle(): Promise<string[]> {
    for (const { flow } of tables) {
      try {
        await untilCaughtUp(this.#use(this.#log), { source, pipeline, flow }, recoveryMsMax);
      } catch (error) {
        return [String(error instanceof Error ? error.message : error)];
      }
    }
    try {
      await until('readers see all that was committed', () => this.#isReadable(), {
        withinMs: recoveryMsMax,
        everyMs: 200,
        onFailure: () => this.#tails(),
      });
    } catch (error) {
      return [String(error instanceof Error ? error.message : error)];
    }
    return [];
  }

  /** Whether no transaction that somebody left open keeps readers from what is committed. */
  async #isReadable(): Promise<boolean> {
    const log = this.#use(this.#log);
    for (const { target } of tables) {
      const ranges = await log.offsetRanges(target, await partitionsOf(log, target));
      if ([...ranges.values()].some(({ stable, end }) => stable < end)) return false;
    }
    return true;
  }

  async #verdict(when: string): Promise<readonly string[]> {
    this.#tables = await this.#use(this.#judge).verdict();
    this.#verdicts += 1;
    for (const table of this.#tables) {
      const { target, sourceRecords, lostRecords, outputRecords, keys, rows, differences } = table;
      const { committed, aborted } = table.transactions;
      this.#options.say(
        `${when}: ${target} from ${sourceRecords} records (${lostRecords} lost by accepted gaps): ${keys} keys, ${rows} rows, ${outputRecords} output records, transactions ${committed} committed and ${aborted} aborted, ${differences.length} differences`,
      );
    }
    return [
      ...this.#seen,
      ...this.#tables.flatMap(({ target, differences }) =>
        differences.map((difference) => `${when}, ${target}: ${difference}`),
      ),
    ];
  }

  #probes(): SourceRecord[] {
    return [...this.#use(this.#judge).levels()].flatMap(([key, level]) => {
      const { region } = JSON.parse(key) as { region: string | null };
      return [level, level - 1, ...(this.#random.chance(300) ? [level + 1] : [])].map((seq) => ({
        partition: this.#random.below(partitions),
        value: JSON.stringify({ region, item: 'probe', qty: 0, seq }),
      }));
    });
  }

  async #close(isKept: boolean): Promise<void> {
    for (const service of this.#services) {
      if (isKept) this.#options.say(`log of ${service.options.instance}: ${service.logFile}`);
      await service.dispose({ isKept });
    }
    await this.#judge?.close();
    await this.#log?.close();
    await Promise.all([this.#kafka?.stop(), this.#redis?.stop()]);
  }

  #use<T>(part: T | undefined): T {
    if (part === undefined) throw new Error('the world is not open');
    return part;
  }
}

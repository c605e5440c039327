import { MemoryLog } from '../adapters/memory/memory-log.ts';
import { FlowError } from '../base/errors.ts';
import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import type { WorkerSettings } from '../runtime/worker.ts';
import { checkMonotone } from './check-monotone.ts';
import { checkResult } from './check-result.ts';
import { drawFaultRates, type FaultRates, Faults } from './faults.ts';
import { sourceText } from './fold-output.ts';
import { FragileState } from './fragile-state.ts';
import { LeapingClock } from './leaping-clock.ts';
import type { PipelineUnderTest } from './pipeline-runner.ts';
import { Random } from './random.ts';
import { readAccount } from './read-account.ts';
import { type ReferenceRow, reference } from './reference.ts';
import { SimulatedLog } from './simulated-log.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { SimulatedStateStore } from './simulated-state-store.ts';
import { pipelineStarter } from './start-pipeline.ts';

export type SimulationReport = {
  readonly seed: number;
  readonly records: number;
  /** Processes that were started. */
  readonly processes: number;
  readonly crashes: number;
  /** What went wrong, one line each; none: the seed passed. */
  readonly faults: readonly string[];
};

type Running = {
  readonly process: SimulatedProcess;
  readonly pipeline: PipelineUnderTest;
  readonly instance: string;
  /** Never rejects: a process that could not start has ended. */
  readonly started: Promise<void>;
};

const pipelineName = 'sim';
const sessionTimeoutMs = 10_000;
const processesMax = 3;
/** Of virtual time, once nothing fails any more. */
const patienceMs = 1_800_000;

/**
 * One world from a seed: records arrive while processes start, crash, stall and lose their state, and in
 * the end nothing fails any more. Then the output must be what the definition says, and every state that a reader
 * could have seen on the way must have been right. Invariant: the seed decides everything.
 *
 * The plan reads `src` (k INT, seq BIGINT, v STRING) into `t`, row by row, keyed by k, sequenced by seq.
 */
export function simulatePipeline(plan: PipelinePlan, seed: number): Promise<SimulationReport> {
  return new Simulation(plan, seed).run();
}

class Simulation {
  readonly #plan: PipelinePlan;
  readonly #seed: number;
  readonly #random: Random;
  readonly #faults: Faults;
  readonly #clock = new LeapingClock();
  readonly #log: MemoryLog;
  readonly #state: FragileState;
  readonly #settings: Partial<WorkerSettings>;
  readonly #delivery: 'exactly_once' | 'at_least_once';
  readonly #partitions: number;
  readonly #sliceRecordsMax: number;
  readonly #rows: ReferenceRow<bigint>[] = [];
  readonly #complaints: string[] = [];
  #topicId = '';
  #running: Running[] = [];
  #started = 0;
  #crashes = 0;

  constructor(plan: PipelinePlan, seed: number) {
    const random = new Random(seed);
    this.#plan = plan;
    this.#seed = seed;
    this.#random = random;
    this.#delivery = random.chance(250) ? 'at_least_once' : 'exactly_once';
    this.#faults = new Faults(random, ratesOf(this.#delivery, random));
    this.#log = new MemoryLog({ clock: this.#clock, transactionTimeoutMs: 15_000 });
    this.#state = new FragileState(this.#faults);
    this.#partitions = 1 + random.below(4);
    this.#sliceRecordsMax = 1 + random.below(8);
    this.#settings = {
      delivery: this.#delivery,
      commitIntervalMs: 1 + random.below(200),
      commitRecordsMax: 1 + random.below(20),
      cacheBytesMax: random.below(4) * 300,
      retryDelayMinMs: 10,
      retriesMax: Number.POSITIVE_INFINITY,
      staticMembership: random.chance(500),
      sessionTimeoutMs,
      rebalanceTimeoutMs: 2 * sessionTimeoutMs,
    };
  }

  async run(): Promise<SimulationReport> {
    this.#log.createTopic('src', this.#partitions);
    const description = (await this.#log.describeTopics(['src'])).get('src');
    this.#topicId = description?.topicId.replaceAll('-', '') ?? '';
    try {
      const rounds = 3 + this.#random.below(8);
      for (let round = 0; round < rounds; round += 1) await this.#round();
      this.#faults.calm();
      await this.#settle();
      await this.#check();
    } finally {
      this.#clock.stop();
    }
    return {
      seed: this.#seed,
      records: this.#rows.length,
      processes: this.#started,
      crashes: this.#crashes,
      faults: this.#complaints,
    };
  }

  async #round(): Promise<void> {
    const random = this.#random;
    await this.#produce(random.below(20));
    this.#running = this.#running.filter(({ process }) => !process.isCrashed);
    const isAlone = this.#running.length === 0;
    if (isAlone || (this.#running.length < processesMax && random.chance(400))) this.#begin();
    if (random.chance(150)) random.pick(this.#running)?.process.crash();
    if (random.chance(150)) this.#end(random.pick(this.#running));
    await this.#clock.sleep(random.below(random.chance(200) ? 40_000 : 2_000));
  }

  /** Some of what is written is aborted: offsets are left out, and nothing of it may show. */
  async #produce(count: number): Promise<void> {
    const random = this.#random;
    for (let made = 0; made < count; made += 1) {
      const partition = random.below(this.#partitions);
      const k = random.chance(100) ? null : random.below(5);
      const seq = random.below(8);
      const row = `{"k":${k},"seq":${seq},"v":"v${this.#rows.length}"}`;
      if (random.chance(50)) await this.#abortOne(partition);
      const offset = this.#log.produce('src', partition, { value: row });
      const place = { topicId: this.#topicId, partition, offset, branch: 0, index: 0 };
      this.#rows.push({
        key: `{"k":${k}}`,
        sequence: BigInt(seq),
        provenance: sourceText(place),
        row,
      });
    }
  }

  async #abortOne(partition: number): Promise<void> {
    const producer = await this.#log.openProducer('foreign');
    const value = Buffer.from('{"k":1,"seq":99,"v":"aborted"}');
    producer.append('src', partition, {
      key: value,
      keyStart: 0,
      keyEnd: -1,
      value,
      valueStart: 0,
      valueEnd: value.length,
      headers: value,
      headersStart: 0,
      headersEnd: 0,
      timestampMs: 0,
    });
    await producer.abort();
  }

  #begin(): Running {
    this.#started += 1;
    const process = new SimulatedProcess({
      clock: this.#clock,
      faults: this.#faults,
      stallMsMax: 2 * sessionTimeoutMs,
    });
    const log = new SimulatedLog(this.#log, process, this.#sliceRecordsMax);
    const state = new SimulatedStateStore(this.#state, process);
    // A pod that comes back has the name of the one before it, which may still be a zombie.
    const taken = this.#running.map((running) => running.instance);
    const free = ['pod-0', 'pod-1', 'pod-2'].filter((name) => !taken.includes(name));
    const instance = (this.#random.chance(50) ? 'pod-0' : this.#random.pick(free)) ?? 'pod-0';
    const start = pipelineStarter(this.#settings);
    const pipeline = start(this.#plan, log, state, {
      pipeline: pipelineName,
      instance,
      clock: process.clock,
    });
    void process.crashed.then(() => {
      this.#crashes += 1;
    });
    const started = pipeline.start().catch((error: unknown) => this.#died(process, error));
    const running = { process, pipeline, instance, started };
    this.#running.push(running);
    return running;
  }

  #end(running: Running | undefined): void {
    if (running === undefined) return;
    this.#running = this.#running.filter((one) => one !== running);
    running.pipeline.stop().catch((error: unknown) => this.#died(running.process, error));
  }

  /** Faults of the world end a process; anything else is a fault of ours. */
  #died(process: SimulatedProcess, error: unknown): void {
    const isOfTheWorld =
      error instanceof FlowError && error.remedy !== 'stop' && error.remedy !== 'fix-input';
    if (!isOfTheWorld) this.#complaints.push(textOf(error));
    process.crash();
  }

  async #settle(): Promise<void> {
    this.#running = this.#running.filter(({ process }) => !process.isCrashed);
    this.#begin();
    const late = this.#clock.sleep(patienceMs).then(() => 'late' as const);
    const outcomes = this.#running.map(async (running) => {
      await running.started;
      if (running.process.isCrashed) return;
      try {
        await running.pipeline.untilCaughtUp();
      } catch (error) {
        this.#died(running.process, error);
      }
    });
    const outcome = await Promise.race([Promise.all(outcomes), late]);
    if (outcome === 'late') this.#complaints.push('it never caught up, though nothing failed');
    const alive = this.#running.filter(({ process }) => !process.isCrashed);
    if (alive.length === 0) this.#complaints.push('no process was left, though nothing failed');
    const stopped = alive.map(({ pipeline }) => pipeline.stop().catch(() => undefined));
    if ((await Promise.race([Promise.all(stopped), late])) === 'late') {
      this.#complaints.push('it did not stop, though nothing failed');
    }
  }

  async #check(): Promise<void> {
    const [table] = this.#plan.tables;
    if (table === undefined) return;
    const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);
    const records = this.#log.readCommitted(table.topic);
    const expected = reference(this.#rows, compare);
    this.#complaints.push(...checkResult(records, table.output, expected));
    const isExact = this.#delivery === 'exactly_once';
    // Without transactions the rows of a key become visible one by one.
    if (isExact || table.output === 'row_set') {
      this.#complaints.push(...checkMonotone(records, table.output, BigInt, compare));
    }
    if (isExact) await this.#checkAccount();
  }

  /** However often a record was read, it is counted once. */
  async #checkAccount(): Promise<void> {
    for (const flow of this.#plan.flows) {
      const { source, table } = await readAccount(this.#log, this.#plan, pipelineName, flow);
      const counts = [source.records, source.decoded, source.handedOn, table.rows];
      if (counts.some((count) => count !== this.#rows.length)) {
        this.#complaints.push(`of ${this.#rows.length} records it counted ${counts.join(', ')}`);
      }
      const { rows, ...outcomes } = table;
      const sum = Object.values(outcomes).reduce((total, count) => total + count, 0);
      if (sum !== rows) this.#complaints.push(`of ${rows} rows it knows what became of ${sum}`);
    }
  }
}

/** Without transactions nothing fences what a process that stalled still sends: it is not simulated. */
function ratesOf(delivery: WorkerSettings['delivery'], random: Random): FaultRates {
  const rates = drawFaultRates(random);
  return delivery === 'exactly_once' ? rates : { ...rates, stall: 0 };
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof FlowError) return `${error.code}: ${error.message} (${error.detail ?? ''})`;
  return error.stack ?? error.message;
}

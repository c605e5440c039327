import type { CommittedRecord, NewRecord } from '../../src/adapters/memory/memory-log.ts';
import type { PipelinePlan } from '../../src/plan/pipeline-plan.ts';
import { planPipeline } from '../../src/plan/plan-pipeline.ts';
import type { AccountOfFlow } from '../../src/testing/check/read-account.ts';
import type { StartPipeline } from '../../src/testing/pipeline/pipeline-runner.ts';
import { PipelineWorld, type WorldProcess } from '../../src/testing/pipeline/pipeline-world.ts';
import { pipelineStarter } from '../../src/testing/pipeline/start-pipeline.ts';
import type { Random } from '../../src/testing/random.ts';

/** The plan of a pipeline's text; its errors where it has any. */
export function planOf(sql: string): PipelinePlan {
  const { plan, faults } = planPipeline([{ file: 'pipeline.sql', text: sql }]);
  if (plan !== undefined) return plan;
  const errors = faults.filter(({ severity }) => severity === 'error');
  throw new Error(errors.map(({ code, message }) => `${code}: ${message}`).join('\n'));
}

/** A record as a test writes it: its value as text, or an object to be written as JSON. */
export type Given = {
  readonly topic?: string;
  readonly value: string | object | null;
  readonly key?: string | null;
  readonly partition?: number;
  readonly timestampMs?: number;
};

export type ScenarioOptions = {
  readonly partitions?: number;
  /** Most records of one fetch; one of them is what a task handles at a time. */
  readonly batchRecordsMax?: number;
  readonly start?: StartPipeline;
};

/**
 * One pipeline in a world of its own, told step by step: records come, the process catches up, stops, dies, loses
 * its state. Invariant: `rows` and the other questions see what a committed reader sees, never the inside.
 */
export class Scenario {
  readonly world: PipelineWorld;
  readonly plan: PipelinePlan;
  readonly #partitions: number;
  #processes: WorldProcess[] = [];
  #workers: readonly string[] = ['worker-1'];

  constructor(sql: string | PipelinePlan, options: ScenarioOptions = {}) {
    const { partitions = 1, batchRecordsMax, start = pipelineStarter() } = options;
    this.plan = typeof sql === 'string' ? planOf(sql) : sql;
    this.#partitions = partitions;
    this.world = new PipelineWorld({
      plan: this.plan,
      partitions,
      sliceRecordsMax: batchRecordsMax,
      start,
    });
  }

  produce(...records: readonly Given[]): void {
    const [first = ''] = this.world.sourceTopics();
    for (const { topic = first, value, key, partition, timestampMs } of records) {
      const record: NewRecord = {
        value: typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
        ...(key === undefined ? {} : { key }),
        ...(timestampMs === undefined ? {} : { timestampMs }),
      };
      const to = partition === undefined ? undefined : partition % this.#partitions;
      this.world.produce(topic, record, to);
    }
  }

  async start(...workers: readonly string[]): Promise<void> {
    if (workers.length > 0) this.#workers = workers;
    this.#processes = await Promise.all(
      this.#workers.map((worker) => this.world.startProcess(worker)),
    );
  }

  /** Every record that is in the sources is committed; starts the process where none runs. */
  async settle(...records: readonly Given[]): Promise<void> {
    this.produce(...records);
    if (this.#processes.length === 0) await this.start();
    await this.world.untilCaughtUp(...this.#processes);
  }

  async stop(): Promise<void> {
    const processes = this.#processes;
    this.#processes = [];
    await this.world.stop(...processes);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** The processes vanish in the middle of whatever they do, and new ones come under their names. */
  async crash(afterMs = 10): Promise<void> {
    await this.world.clock.sleep(afterMs);
    for (const process of this.#processes) this.world.kill(process);
    await this.start();
  }

  /** Another process takes the tasks over, and the state with them. */
  async handOver(): Promise<void> {
    const processes = this.#processes;
    this.#workers = this.#workers.map((worker) => `${worker}-next`);
    await this.start();
    await this.world.stop(...processes);
  }

  /** The state store is emptied and the output compacted: what the log holds has to be enough. */
  async loseState(): Promise<void> {
    await this.stop();
    this.world.state.flush();
    for (const topic of this.changelogs()) this.world.log.compact(topic, { dropTombstones: true });
    await this.start();
  }

  /** The state store is emptied while the process runs. */
  flushState(): void {
    this.world.state.flush();
  }

  changelogs(): string[] {
    return [
      // Appended rows are kept whole: nothing is compacted there.
      ...this.plan.tables.flatMap(({ topic, output }) => (output === 'append' ? [] : [topic])),
      ...this.plan.flows.map(({ name }) => `test.${name}.levels`),
    ];
  }

  /** What the flow cannot get over; undefined when it caught up. */
  async failure(...records: readonly Given[]): Promise<Record<string, unknown> | undefined> {
    try {
      await this.settle(...records);
      return undefined;
    } catch (error) {
      return error as Record<string, unknown>;
    }
  }

  /** The rows of a table as JSON texts, sorted. */
  rows(name?: string): string[] {
    const table = this.world.table(name ?? this.plan.tables[0]?.name ?? '');
    if (table === undefined) throw new Error(`there is no table ${name}`);
    return this.world
      .rows(table)
      .map(({ row }) => row.bytes.toString('utf8', row.start, row.end))
      .sort();
  }

  output(name?: string): readonly CommittedRecord[] {
    const table = this.world.table(name ?? this.plan.tables[0]?.name ?? '');
    return this.world.log.readCommitted(table?.topic ?? '');
  }

  /** The error class and value of every dead letter, in order. */
  deadLetters(): string[] {
    return this.world.deadLetters().map(({ headers, value }) => {
      const header = headers.find(({ key }) => key === 'tm-error-class');
      return `${header?.value?.toString('utf8')} ${value?.toString('utf8')}`;
    });
  }

  account(name?: string): Promise<AccountOfFlow> {
    const flow = this.plan.flows.find((one) => one.name === (name ?? this.plan.flows[0]?.name));
    if (flow === undefined) throw new Error(`there is no flow ${name}`);
    return this.world.account(flow);
  }

  /** Stops what runs, and time with it. */
  async end(): Promise<void> {
    try {
      if (this.#processes.length > 0) await this.stop();
    } finally {
      this.world.close();
    }
  }
}

/** Runs a scenario and ends it, whatever it comes to. */
export async function scenario<Result>(
  sql: string | PipelinePlan,
  options: ScenarioOptions,
  play: (told: Scenario) => Promise<Result>,
): Promise<Result> {
  const told = new Scenario(sql, options);
  try {
    return await play(told);
  } finally {
    // What ran into an error has told it already.
    await told.end().catch(() => undefined);
  }
}

/** One way to let the same records arrive. */
export type Way = ScenarioOptions & {
  readonly name: string;
  /** Into how many commits the records are cut. */
  readonly commits: number;
  readonly between: 'nothing' | 'restart' | 'crash' | 'hand-over' | 'state-lost' | 'state-flushed';
};

/** The schedules that a row of the acceptance list asks for, as `batches, restart, rebuild, partitions`. */
export const ways: readonly Way[] = [
  { name: 'in one batch', commits: 1, between: 'nothing' },
  { name: 'one record a batch', batchRecordsMax: 1, commits: 1, between: 'nothing' },
  { name: 'one record a commit', commits: 1_000, between: 'nothing' },
  { name: 'over 4 partitions', partitions: 4, batchRecordsMax: 2, commits: 2, between: 'nothing' },
  { name: 'across restarts', partitions: 2, commits: 3, between: 'restart' },
  { name: 'across crashes', partitions: 2, batchRecordsMax: 2, commits: 3, between: 'crash' },
  { name: 'across takeovers', partitions: 2, commits: 3, between: 'hand-over' },
  { name: 'with the state lost in between', commits: 1_000, between: 'state-lost' },
  { name: 'with the state lost while it runs', commits: 3, between: 'state-flushed' },
];

/** Plays the records in one way to their end. */
export async function playWay(
  told: Scenario,
  records: readonly Given[],
  { commits, between }: Way,
): Promise<void> {
  const size = Math.max(1, Math.ceil(records.length / commits));
  for (let at = 0; at < records.length; at += size) {
    const part = records.slice(at, at + size);
    if (at > 0) {
      if (between === 'restart') await told.restart();
      else if (between === 'hand-over') await told.handOver();
      else if (between === 'state-lost') await told.loseState();
      else if (between === 'state-flushed') told.flushState();
      else if (between === 'crash') {
        told.produce(...part);
        await told.crash();
        await told.settle();
        continue;
      }
    }
    await told.settle(...part);
  }
}

/** Runs the records in every way; `check` looks at each end. */
export async function everyWay(
  sql: string,
  records: readonly Given[],
  check: (told: Scenario, way: Way) => Promise<void> | void,
): Promise<void> {
  const plan = planOf(sql);
  for (const way of ways) {
    await scenario(plan, way, async (told) => {
      await playWay(told, records, way);
      await check(told, way);
    });
  }
}

/** Lets the records arrive in pieces, with a crash, a takeover or a loss of the state after most of them. */
export async function arriveWithTrouble(
  told: Scenario,
  records: readonly Given[],
  random: Random,
): Promise<void> {
  await told.start();
  for (let at = 0; at < records.length; ) {
    const size = 1 + random.below(25);
    told.produce(...records.slice(at, at + size));
    at += size;
    switch (random.below(5)) {
      case 0:
        await told.crash(random.below(60));
        break;
      case 1:
        await told.settle();
        await told.loseState();
        break;
      case 2:
        await told.handOver();
        break;
      case 3:
        told.flushState();
        break;
      default:
        await told.settle();
    }
  }
  await told.settle();
}

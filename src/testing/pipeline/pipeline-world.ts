import type { MemoryClient } from '../../adapters/memory/memory-client.ts';
import {
  type CommittedRecord,
  MemoryLog,
  type NewRecord,
} from '../../adapters/memory/memory-log.ts';
import { MemoryStateStore } from '../../adapters/memory/memory-state-store.ts';
import { FlowError } from '../../base/errors.ts';
import { partitionOf } from '../../data/murmur2.ts';
import {
  type FlowPlan,
  isOutside,
  type PipelinePlan,
  type TablePlan,
} from '../../plan/pipeline-plan.ts';
import { foldOutput, type OutputRow } from '../check/fold-output.ts';
import { type AccountOfFlow, readAccount } from '../check/read-account.ts';
import { LeapingClock } from '../simulation/leaping-clock.ts';
import type { PipelineUnderTest, StartPipeline } from './pipeline-runner.ts';

export type PipelineWorldOptions = {
  readonly plan: PipelinePlan;
  readonly partitions: number;
  /** Most records of a slice; undefined: no bound. */
  readonly sliceRecordsMax: number | undefined;
  readonly start: StartPipeline;
};

/** One running process of a world. */
export type WorldProcess = {
  readonly pipeline: PipelineUnderTest;
  readonly client: MemoryClient;
};

/** Of virtual time: whatever takes longer hangs. */
const patienceMs = 3_600_000;

const pipelineName = 'test';

/**
 * A log, a state store and a clock of their own for one pipeline, and the processes that run it. Invariant:
 * nothing of it is shared with another world, so that the same inputs give the same run.
 */
export class PipelineWorld {
  readonly log: MemoryLog;
  readonly state = new MemoryStateStore();
  readonly clock = new LeapingClock();
  readonly #plan: PipelinePlan;
  readonly #partitions: number;
  readonly #start: StartPipeline;
  /** Topic → records produced without a partition or a key. */
  readonly #produced = new Map<string, number>();

  constructor({ plan, partitions, sliceRecordsMax, start }: PipelineWorldOptions) {
    this.#plan = plan;
    this.#partitions = partitions;
    this.#start = start;
    this.log = new MemoryLog({
      clock: this.clock,
      ...(sliceRecordsMax === undefined ? {} : { sliceRecordsMax }),
    });
    for (const topic of this.sourceTopics()) this.log.createTopic(topic, partitions);
  }

  sourceTopics(): readonly string[] {
    const sources = this.#plan.sources.filter(isOutside);
    return [...new Set(sources.map(({ topic }) => topic))];
  }

  /** To the given partition, else by the key, else to the partitions in turn. */
  produce(topic: string, record: NewRecord, partition?: number): void {
    const count = this.#produced.get(topic) ?? 0;
    const { key } = record;
    let target = partition;
    if (target === undefined && key !== undefined && key !== null) {
      const bytes = Buffer.from(key);
      target = partitionOf(bytes, 0, bytes.length, this.#partitions);
    }
    if (target === undefined) {
      target = count % this.#partitions;
      this.#produced.set(topic, count + 1);
    }
    this.log.produce(topic, target, record);
  }

  /** `plan`: what is deployed from now on, where it is not the world's own. */
  async startProcess(instance: string, plan: PipelinePlan = this.#plan): Promise<WorldProcess> {
    const client = this.log.connect();
    const options = { pipeline: pipelineName, instance, clock: this.clock };
    const pipeline = this.#start(plan, client, this.state, options);
    await this.#inTime('start', pipeline.start());
    return { pipeline, client };
  }

  async untilCaughtUp(...processes: readonly WorldProcess[]): Promise<void> {
    const caughtUp = processes.map(({ pipeline }) => pipeline.untilCaughtUp());
    await this.#inTime('catch up', Promise.all(caughtUp));
  }

  async stop(...processes: readonly WorldProcess[]): Promise<void> {
    const stopped = processes.map(({ pipeline }) => pipeline.stop());
    await this.#inTime('stop', Promise.all(stopped));
  }

  kill({ pipeline, client }: WorldProcess): void {
    client.kill();
    pipeline.kill();
  }

  /** Ends time, so that nothing that was left behind goes on. */
  close(): void {
    this.clock.stop();
  }

  table(name: string): TablePlan | undefined {
    return this.#plan.tables.find((table) => table.name.toLowerCase() === name.toLowerCase());
  }

  /** What a reader of the table has, key by key. */
  rows(table: TablePlan): readonly OutputRow[] {
    return foldOutput(this.log.readCommitted(table.topic), table.output).rows();
  }

  compactOutputs(): void {
    for (const { topic, output } of this.#plan.tables) {
      if (output !== 'append') this.log.compact(topic);
    }
  }

  deadLetters(): readonly CommittedRecord[] {
    const topics = new Set(this.#plan.tables.map(({ deadLetterTopic }) => deadLetterTopic));
    return [...topics].flatMap((topic) =>
      topic === undefined ? [] : this.log.readCommitted(topic),
    );
  }

  /** What was counted, as it stands in the checkpoints. */
  account(flow: FlowPlan): Promise<AccountOfFlow> {
    return readAccount(this.log, this.#plan, pipelineName, flow);
  }

  async #inTime<T>(what: string, work: Promise<T>): Promise<T> {
    const late = this.clock.sleep(patienceMs).then((): never => {
      throw new FlowError('BROKER_TIMEOUT', `the pipeline did not ${what} within an hour`);
    });
    // The race is over long before: what becomes of the loser is nobody's business.
    late.catch(() => undefined);
    return Promise.race([work, late]);
  }
}

import { MemoryLog } from '../../src/adapters/memory/memory-log.ts';
import { MemoryStateStore } from '../../src/adapters/memory/memory-state-store.ts';
import { systemClock } from '../../src/adapters/system/system-clock.ts';
import { topicIdHex } from '../../src/data/provenance.ts';
import { parseColumnsText } from '../../src/data/type-text.ts';
import { isKeyed, type PipelinePlan } from '../../src/plan/pipeline-plan.ts';
import { planPipeline } from '../../src/plan/plan-pipeline.ts';
import type { Log } from '../../src/ports/log.ts';
import type { KeyLoss } from '../../src/refresh/loss.ts';
import { type CommittedSet, readTable } from '../../src/runtime/inspect/read-table.ts';
import type { BesideOptions } from '../../src/runtime/refresh/refresh-beside.ts';
import type { CancelOptions } from '../../src/runtime/refresh/refresh-cancel.ts';
import type { OutsideOptions } from '../../src/runtime/refresh/refresh-checkpoints.ts';
import {
  flowsOf,
  gatherFacts,
  type RefreshFacts,
} from '../../src/runtime/refresh/refresh-facts.ts';
import { type Preview, previewRefresh } from '../../src/runtime/refresh/refresh-preview.ts';
import type { RefreshRunOptions } from '../../src/runtime/refresh/refresh-run.ts';
import { Catalog, openCatalog } from '../../src/runtime/topics/catalog.ts';
import { defaultWorkerSettings, startWorker } from '../../src/runtime/worker/start-worker.ts';
import type { WorkerProgress } from '../../src/runtime/worker/worker-progress.ts';

/** A row of a source of these tests; `gone` is the marker of an empty snapshot. */
export type SourceRow = {
  readonly k: string;
  readonly seq: number;
  readonly v: string;
  readonly gone?: boolean;
};

export type KnownRecord = SourceRow & {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly offset: number;
};

export const sourceColumns = 'k STRING, seq BIGINT, v STRING, gone BOOLEAN';

/** A pipeline on the log in memory, run update by update, and everything that was ever produced to it. */
export class RefreshWorld {
  readonly log: MemoryLog;
  /** May be that of another world. */
  state = new MemoryStateStore();
  /** Every record, with where it lies: what a brute-force recomputation starts from. */
  readonly produced: KnownRecord[] = [];
  pipeline = 'p';
  sql: string;
  readonly #partitions: number;

  constructor(
    sql: string,
    topics: readonly string[],
    partitions = 2,
    log = new MemoryLog({ clock: systemClock }),
  ) {
    this.sql = sql;
    this.log = log;
    this.#partitions = partitions;
    for (const topic of topics) this.log.createTopic(topic, partitions);
  }

  get plan(): PipelinePlan {
    const schemas = new Map(
      ['a', 'b', 'c'].map((topic) => [topic, parseColumnsText(sourceColumns)]),
    );
    const { plan, faults } = planPipeline([{ file: 'p.sql', text: this.sql }], { schemas });
    if (plan === undefined) throw new Error(JSON.stringify(faults));
    return plan;
  }

  async topicId(topic: string): Promise<string> {
    const found = (await this.log.describeTopics([topic])).get(topic);
    return found === undefined ? '' : topicIdHex(found.topicId);
  }

  async produce(topic: string, partition: number, ...rows: readonly SourceRow[]): Promise<void> {
    const topicId = await this.topicId(topic);
    for (const row of rows) {
      const offset = this.log.produce(topic, partition, { value: JSON.stringify(row) });
      this.produced.push({ ...row, topic, topicId, partition, offset });
    }
  }

  recreate(topic: string): void {
    this.log.deleteTopic(topic);
    this.log.createTopic(topic, this.#partitions);
  }

  /**
   * One triggered update; gaps that it stops at are accepted where the test says so. Gives the source records that it read.
   */
  async update(options: { readonly acceptsGaps?: boolean } = {}): Promise<number> {
    try {
      return await this.#update([]);
    } catch (error) {
      const hint = (error as { hint?: string }).hint ?? '';
      const ids = [...hint.matchAll(/--accept-gap (\S+)/g)].map(([, id]) => id ?? '');
      if (options.acceptsGaps !== true || ids.length === 0) throw error;
      return await this.#update(ids);
    }
  }

  async #update(acceptGaps: readonly string[]): Promise<number> {
    const log = this.log.connect();
    try {
      const worker = await startWorker({
        plan: this.plan,
        log,
        state: this.state,
        clock: systemClock,
        listener: () => undefined,
        replicationFactor: -1,
        acceptGaps,
        settings: {
          ...defaultWorkerSettings,
          pipeline: this.pipeline,
          instance: '0',
          token: '0',
          once: true,
          commitIntervalMs: 5,
          retryDelayMinMs: 1,
          retriesMax: 5,
        },
      });
      await worker.run();
      return worker.progress().records;
    } finally {
      await log.close();
    }
  }

  /** A service that goes on until it is stopped, on any view of the log. */
  async service(
    instance = 'service',
    log: Log = this.log.connect(),
  ): Promise<{
    readonly stop: () => Promise<void>;
    readonly ended: Promise<void>;
    readonly progress: () => WorkerProgress;
  }> {
    const worker = await startWorker({
      plan: this.plan,
      log,
      state: this.state,
      clock: systemClock,
      listener: () => undefined,
      replicationFactor: -1,
      settings: {
        ...defaultWorkerSettings,
        pipeline: this.pipeline,
        instance,
        token: instance,
        commitIntervalMs: 5,
        retryDelayMinMs: 1,
      },
    });
    const running = worker.run();
    running.catch(() => undefined);
    return {
      ended: running,
      progress: () => worker.progress(),
      stop: async () => {
        worker.stop();
        try {
          await running;
        } finally {
          await log.close();
        }
      },
    };
  }

  async facts(table: string, log: Log = this.log): Promise<RefreshFacts> {
    const { plan, pipeline } = this;
    const found = plan.tables.find(({ name }) => name === table);
    if (found === undefined) throw new Error(`no table ${table}`);
    const catalog = await openCatalog(log, `${pipeline}.catalog`);
    try {
      return await gatherFacts({ log, catalog, pipeline, plan, table: found });
    } finally {
      await catalog?.close();
    }
  }

  async preview(table: string): Promise<Preview & { readonly losses: readonly KeyLoss[] }> {
    const losses: KeyLoss[] = [];
    const preview = await previewRefresh({
      log: this.log,
      plan: this.plan,
      facts: await this.facts(table),
      onLoss: (loss) => {
        losses.push(loss);
      },
    });
    return { ...preview, losses };
  }

  /** What the commands that change something from outside work with, on any view of the log. */
  async outside(log: Log = this.log): Promise<OutsideOptions> {
    const catalog = new Catalog(log, `${this.pipeline}.catalog`);
    await catalog.read();
    return {
      log,
      catalog,
      clock: systemClock,
      pipeline: this.pipeline,
      plan: this.plan,
      listener: () => undefined,
      command: 'test',
      token: `test-${Math.random()}`,
    };
  }

  async runOptions(
    name: string,
    flags: { readonly allowLoss?: boolean; readonly keepUnrecoverable?: boolean } = {},
    log: Log = this.log,
  ): Promise<RefreshRunOptions> {
    const { plan } = this;
    const table = plan.tables.find((one) => one.name === name);
    if (table === undefined) throw new Error(`no table ${name}`);
    const [flow] = flowsOf(plan, table);
    const { allowLoss = false, keepUnrecoverable = false } = flags;
    return { ...(await this.outside(log)), table, flow, allowLoss, keepUnrecoverable };
  }

  async cancelOptions(
    name: string,
    flags: { readonly allowLoss?: boolean; readonly keepUnrecoverable?: boolean } = {},
  ): Promise<CancelOptions> {
    const { state, ...options } = await this.besideOptions(name, flags);
    return { ...options, openState: () => Promise.resolve(state) };
  }

  async besideOptions(
    name: string,
    flags: { readonly allowLoss?: boolean; readonly keepUnrecoverable?: boolean } = {},
    log: Log = this.log,
  ): Promise<BesideOptions> {
    const options = await this.runOptions(name, flags, log);
    return {
      ...options,
      state: this.state,
      replicationFactor: -1,
      waitMs: 300,
      settings: {
        ...defaultWorkerSettings,
        pipeline: this.pipeline,
        instance: 'refresh',
        token: 'refresh',
        commitIntervalMs: 5,
        retryDelayMinMs: 1,
        retriesMax: 2,
        sessionTimeoutMs: 20,
      },
    };
  }

  async table(name: string): Promise<ReadonlyMap<string, CommittedSet>> {
    const table = this.plan.tables.find((one) => one.name === name);
    const flow = this.plan.flows.find(({ target }) => target === name);
    if (table === undefined || flow === undefined || !isKeyed(flow)) {
      throw new Error(`no table ${name} with keys`);
    }
    const sets = new Map<string, CommittedSet>();
    for await (const set of readTable({ log: this.log, table, flow })) sets.set(set.key, set);
    return sets;
  }
}

/** Keys with values, in order, as text that a test compares. */
export function tableText(sets: ReadonlyMap<string, CommittedSet>): string[] {
  return [...sets.values()].flatMap(({ rows }) => rows.map(({ json }) => json)).sort();
}

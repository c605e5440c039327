import { assert } from '../../base/assert.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CommitResult, LogProducer, OffsetCommit } from '../../ports/log.ts';
import type { Tracer } from '../../ports/tracer.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import { RunnerError } from './blame.ts';
import type { FlowRunner } from './flow-runner.ts';
import type { StageTimes } from './stage-times.ts';
import type { WorkerSettings } from './worker-settings.ts';

export type OpenTransactionOptions = {
  readonly settings: Pick<
    WorkerSettings,
    'commitIntervalMs' | 'commitRecordsMax' | 'commitBytesMax' | 'pendingBytesMax'
  >;
  readonly clock: Clock;
  readonly stages: StageTimes;
  readonly listener: RuntimeListener;
  readonly tracer?: Tracer | undefined;
  readonly openProducer: () => Promise<LogProducer>;
  /** Told of each commit that stands. */
  readonly onCommitted: () => void;
};

/** What was processed since the last commit was begun. */
export type Processed = {
  readonly records: number;
  /** Of them from source topics, rather than from between the stages. */
  readonly sourceRecords: number;
  readonly bytes: number;
};

/**
 * The transaction that is filled, and the one before it that is being committed. Invariant: at most one commit runs at a
 * time, and what became of it is told exactly once: to whoever settles or checks first.
 */
export class OpenTransaction {
  readonly #options: OpenTransactionOptions;
  #producer: LogProducer | undefined;
  /** The commit that runs; at most one does. */
  #committing: Promise<void> | undefined;
  #commitFailure: { readonly error: unknown } | undefined;
  #dirtySinceMs: number | undefined;
  #pending: Processed = nothing;
  #records = 0;
  #outputRecords = 0;
  #commits = 0;

  constructor(options: OpenTransactionOptions) {
    this.#options = options;
  }

  /** Of the source topics, committed by this process. */
  get records(): number {
    return this.#records;
  }

  get outputRecords(): number {
    return this.#outputRecords;
  }

  get commits(): number {
    return this.#commits;
  }

  /** Whether there is something to commit. */
  get isDirty(): boolean {
    return this.#dirtySinceMs !== undefined;
  }

  get isDue(): boolean {
    const { commitRecordsMax, commitBytesMax } = this.#options.settings;
    return (
      this.isDirty &&
      (this.#pending.records >= commitRecordsMax ||
        this.#pending.bytes >= commitBytesMax ||
        this.dueInMs === 0)
    );
  }

  /** Until the next commit is due by the clock; Infinity: there is nothing to commit. */
  get dueInMs(): number {
    if (this.#dirtySinceMs === undefined) return Number.POSITIVE_INFINITY;
    const passedMs = this.#options.clock.monotonic() - this.#dirtySinceMs;
    return Math.max(0, this.#options.settings.commitIntervalMs - passedMs);
  }

  /** There is one from `open` on, until it is closed. */
  get producer(): LogProducer {
    assert(this.#producer !== undefined, 'the producer is open');
    return this.#producer;
  }

  async open(): Promise<void> {
    this.#producer ??= await this.#options.openProducer();
  }

  /** Counts what was processed with the producer, and waits where too much is not acknowledged. */
  async add({ records, sourceRecords, bytes }: Processed): Promise<void> {
    this.#pending = {
      records: this.#pending.records + records,
      sourceRecords: this.#pending.sourceRecords + sourceRecords,
      bytes: this.#pending.bytes + bytes,
    };
    this.#dirtySinceMs ??= this.#options.clock.monotonic();
    const { pendingBytesMax } = this.#options.settings;
    const { producer } = this;
    if (producer.pendingBytes <= pendingBytesMax) return;
    await this.#options.stages.wait('wait_sink', () => producer.drain(pendingBytesMax));
  }

  /** A partition that was taken over without a checkpoint has one to commit, even where no record comes. */
  notice(runners: readonly FlowRunner[]): void {
    if (this.isDirty || !runners.some(({ isDirty }) => isDirty)) return;
    this.#dirtySinceMs = this.#options.clock.monotonic();
  }

  /**
   * Begins a commit, once the one before it is over. Meanwhile the next slices are processed: a transaction waits
   * for the broker for most of its time.
   */
  async commit(runners: readonly FlowRunner[]): Promise<void> {
    const { clock, stages, tracer } = this.#options;
    await stages.wait('wait_sink', () => this.settle());
    const producer = this.#producer;
    if (!this.isDirty || producer === undefined) return;
    const startedMs = clock.monotonic();
    const commits: OffsetCommit[] = [];
    for (const runner of runners) {
      // The state writes of the commit before: no more than one of them is ever behind the log.
      await stages.wait('store', () => runner.settle());
      try {
        const commit = runner.commits(producer, clock.now());
        if (commit !== undefined) commits.push(commit);
      } catch (error) {
        throw new RunnerError(runner, error);
      }
    }
    const records = this.#pending.sourceRecords;
    this.forget();
    // A transaction without offsets is one that no group fences: it is never ended.
    if (commits.length === 0) return;
    tracer?.commitBegins();
    this.#committing = producer
      .commit(commits)
      .then((result) => this.#committed(runners, result, { records, startedMs }))
      .catch((error: unknown) => {
        this.#commitFailure = { error };
        // Even where no record comes any more, somebody has to look at it.
        for (const runner of runners) runner.wake();
      });
  }

  async #committed(
    runners: readonly FlowRunner[],
    { ends, phases }: CommitResult,
    { records, startedMs }: { readonly records: number; readonly startedMs: number },
  ): Promise<void> {
    const { clock, listener, onCommitted } = this.#options;
    let outputRecords = 0;
    for (const runner of runners) outputRecords += runner.applied(ends);
    for (const runner of runners) await runner.recordCheckpoints();
    this.#records += records;
    this.#outputRecords += outputRecords;
    this.#commits += 1;
    onCommitted();
    const durationMs = clock.monotonic() - startedMs;
    const flows = runners.flatMap((runner) => runner.takeFigures() ?? []);
    listener({ event: 'committed', records, outputRecords, durationMs, phases, flows });
  }

  /** Waits for the commit that runs, and throws what became of it. */
  async settle(): Promise<void> {
    await this.#committing;
    this.#committing = undefined;
    this.check();
  }

  /** Throws, once, why the last commit failed. */
  check(): void {
    const failure = this.#commitFailure;
    this.#commitFailure = undefined;
    if (failure !== undefined) throw failure.error;
  }

  /** Nothing is uncommitted any more: it is being committed, or it will be read again. */
  forget(): void {
    this.#pending = nothing;
    this.#dirtySinceMs = undefined;
  }

  /** Whoever opens a producer under the same id again ends for good what this one has open. */
  async close(): Promise<void> {
    const producer = this.#producer;
    this.#producer = undefined;
    await producer?.close().catch(() => undefined);
  }

  /** Ends the open transaction at once, so that readers are not held up until its time-out. */
  async abort(): Promise<void> {
    await this.#producer?.abort().catch(() => undefined);
    await this.close();
  }

  /**
   * A process of the same name may have died with a transaction open under the id of both, which holds up this one as
   * well (simulation seed 5011019). Where something is open here, the commit shows whose the id is.
   */
  async renew(): Promise<void> {
    if (this.isDirty) return;
    await this.settle();
    if (this.#producer === undefined) return;
    await this.close();
    await this.open();
  }
}

const nothing: Processed = { records: 0, sourceRecords: 0, bytes: 0 };

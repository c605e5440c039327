import { assert } from '../base/assert.ts';
import { FlowError } from '../base/errors.ts';
import { StateMachine } from '../base/state-machine.ts';
import type { Clock } from '../ports/clock.ts';
import type { CommitResult, Log, LogProducer, OffsetCommit, Slice } from '../ports/log.ts';
import type { StateStore } from '../ports/state-store.ts';
import type { Tracer } from '../ports/tracer.ts';
import type { Catalog } from './catalog.ts';
import { type FlowFacts, feedOf } from './flow-facts.ts';
import { FlowRunner, type PartitionProgress } from './flow-runner.ts';
import { inPresentGeneration } from './generation.ts';
import { isSettledWithin } from './is-settled-within.ts';
import { lockOf } from './locks.ts';
import { OwnId } from './own-id.ts';
import { RepartitionPurge } from './repartition-purge.ts';
import type { RuntimeListener } from './runtime-events.ts';
import { type Stage, StageTimes } from './stage-times.ts';
import { recordStop } from './stops.ts';
import { StuckPartitions } from './stuck-partitions.ts';
import type { StoredEntry } from './table-slot.ts';
import { TriggeredUpdate } from './triggered-update.ts';
import type { ViewFacts } from './view-runner.ts';
import type { ViewProgress, ViewUpdates } from './view-updates.ts';
import { type WorkerState, workerTransitions } from './worker-states.ts';

export type WorkerSettings = {
  readonly pipeline: string;
  /** Stable name of this process within the pipeline; part of its transactional id. */
  readonly instance: string;
  readonly delivery: 'exactly_once' | 'at_least_once';
  /** Ends at the offsets that stand at the start. */
  readonly once: boolean;
  readonly commitIntervalMs: number;
  /** How long a materialized view rests after it was computed, where it does not say itself. */
  readonly viewIntervalMs: number;
  /** Records processed since the last commit that force the next one. */
  readonly commitRecordsMax: number;
  /** Bytes fetched, and of rows in memory, since the last commit that force the next one: what a transaction keeps in memory. */
  readonly commitBytesMax: number;
  /** Bytes appended and not yet acknowledged, above which processing waits. */
  readonly pendingBytesMax: number;
  readonly cacheBytesMax: number;
  /** How rows reach the table partitions that this process has. */
  readonly shuffle: 'memory' | 'topic';
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly staticMembership: boolean;
  readonly retryDelayMinMs: number;
  readonly retryDelayMaxMs: number;
  /** Failures in a row that are retried before the worker gives up; Infinity in a service. */
  readonly retriesMax: number;
};

export type WorkerOptions = {
  /** The materialized views of the pipeline; undefined: it has none. */
  readonly views?: ViewUpdates | undefined;
  readonly settings: WorkerSettings;
  readonly flows: readonly FlowFacts[];
  readonly catalog: Catalog;
  readonly log: Log;
  readonly state: StateStore;
  readonly clock: Clock;
  readonly listener: RuntimeListener;
  readonly tracer?: Tracer | undefined;
};

export type WorkerProgress = {
  readonly state: WorkerState;
  /** Of the source topics, read and committed by this process. */
  readonly records: number;
  readonly outputRecords: number;
  readonly commits: number;
  readonly fencings: number;
  /** Steps that the loop has begun: whoever lives, turns. */
  readonly turns: number;
  readonly stageMs: Readonly<Record<Stage, number>>;
  readonly flows: readonly FlowProgress[];
  readonly views?: readonly ViewProgress[];
};

export type FlowProgress = {
  readonly flow: string;
  readonly group: string;
  readonly failed: FlowError | undefined;
  /** Somebody has it stand still. */
  readonly isPaused?: boolean;
  /** It runs once, and had run before this process began: nothing of it is read, nor counted, again. */
  readonly isDone?: boolean;
  /** Its rows go straight to the output topic. */
  readonly appends?: boolean;
  /** Written and committed by this process. */
  readonly outputRecords: number;
  /** Of a flow with a watermark: the event time that all of its partitions here have reached. */
  readonly eventTimeMs?: number | undefined;
  readonly partitions: readonly PartitionProgress[];
};

/** Longest wait for records in one turn; member statuses are looked at in between. */
const pollMaxMs = 500;
/** A triggered update has its end to look for. */
const pollMaxOnceMs = 50;
/** How often a service looks whether a command asks for one of its flows. */
const lockLookMs = 1_000;
/** How often the groups are looked at while one is waited for: another one may call. */
const joinLookMs = 50;
/**
 * After this long a stop no longer waits for the open transaction, and after that for the groups to be left: brokers
 * or a store that do not answer hold up no shutdown, and whoever comes next reads again what was not committed.
 */
const finishMsMax = 12_000;
const releaseMsMax = 5_000;

/**
 * One process's share of a pipeline: fetch → prefetch → process → commit → apply, for all of its flows
 * in one transaction after another.
 *
 * Invariants: at most one transaction ends while the next one is filled; each holds the effects of whole slices only; partitions are let
 * go only when nothing of them is uncommitted; after any doubt about an outcome all tasks are taken over anew
 * from what the log says. So a crash between any two steps costs a replay, and provenance makes it harmless.
 */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #machine = new StateMachine('worker', workerTransitions, 'created');
  readonly #runners: FlowRunner[] = [];
  readonly #failed = new Map<string, FlowError>();
  /** Flows that a command has asked for, such as the swap of a refresh. */
  readonly #held = new Map<string, FlowFacts>();
  #nextLockLookMs = 0;
  readonly #own: OwnId | undefined;
  readonly #purge: RepartitionPurge;
  readonly #stuck: StuckPartitions;
  readonly #stages: StageTimes;
  #producer: LogProducer | undefined;
  /** The commit that runs; at most one does. */
  #committing: Promise<void> | undefined;
  #commitFailure: { readonly error: unknown } | undefined;
  #isStopping = false;
  /** Flows that stand still: members with their partitions, whose records are not read. */
  #paused: ReadonlySet<string> = new Set();
  #dirtySinceMs: number | undefined;
  #recordsSinceCommit = 0;
  #sourceRecordsSinceCommit = 0;
  #bytesSinceCommit = 0;
  /** The last progress before the tasks were let go. */
  #lastProgress: WorkerProgress | undefined;
  /** Set after any doubt: every partition is taken over anew before anything else. */
  #isInDoubt = false;
  /** Set where the group may have gone on without this member, whatever it still believes itself. */
  #isOusted = false;
  #records = 0;
  #outputRecords = 0;
  #commits = 0;
  #fencings = 0;
  #turns = 0;
  #failuresInRow = 0;
  #stopWatch: Promise<void> | undefined;
  #reportStopIsLate: () => void = () => undefined;
  #reportEnd: () => void = () => undefined;
  readonly #stopIsLate = new Promise<void>((resolve) => {
    this.#reportStopIsLate = resolve;
  });

  constructor(options: WorkerOptions) {
    const count = options.flows.length + (options.views?.facts.length ?? 0);
    assert(count > 0, 'a worker has at least one flow or view');
    this.#options = options;
    const { pipeline, instance, delivery } = options.settings;
    const transactionalId = `${pipeline}-${instance}`;
    const renew = (): Promise<void> => this.#renewProducer();
    this.#own =
      delivery === 'exactly_once' ? new OwnId(transactionalId, instance, renew) : undefined;
    this.#stages = new StageTimes(options.clock);
    this.#purge = new RepartitionPurge(options.log, options.clock);
    this.#stuck = new StuckPartitions({
      ...options,
      own: this.#own,
      commitIntervalMs: options.settings.commitIntervalMs,
    });
  }

  /** Runs until `stop`, until the triggered update is done, or until no flow can go on. */
  async run(): Promise<void> {
    this.#machine.transition('starting');
    try {
      this.#start();
      const looping = this.#loop();
      // A turn that waits for brokers which do not answer is left to itself once a stop has waited for long.
      const isOver = await Promise.race([
        looping.then(() => true),
        this.#stopIsLate.then(() => false),
      ]);
      looping.catch(() => undefined);
      await this.#shutDown(isOver);
    } catch (error) {
      // Stopped in good order, it still tells which of its flows failed (simulation seed 647).
      if (this.#machine.state !== 'stopped') {
        if (this.#machine.state !== 'failed') this.#machine.transition('failed');
        await this.#release();
      }
      throw error;
    }
  }

  get viewFacts(): readonly ViewFacts[] {
    return this.#options.views?.facts ?? [];
  }

  /** What this process knows of the catalog; it is read about every second. */
  get catalog(): Catalog {
    return this.#options.catalog;
  }

  get facts(): readonly FlowFacts[] {
    return this.#options.flows;
  }

  /** Has exactly these flows stand still from the next turn on. What they have read already is committed. */
  setPaused(flows: ReadonlySet<string>): void {
    this.#paused = flows;
    this.#options.views?.setPaused(flows);
    for (const runner of this.#runners) runner.wake();
  }

  /** Asks for a clean end: the open transaction is finished, the groups are left. */
  stop(): void {
    this.#isStopping = true;
    this.#watchStop();
    for (const runner of this.#runners) runner.wake();
  }

  /** From here on the end has a deadline. */
  #watchStop(): void {
    if (this.#stopWatch !== undefined) return;
    const ended = new Promise<void>((resolve) => {
      this.#reportEnd = resolve;
    });
    this.#stopWatch = isSettledWithin(this.#options.clock, finishMsMax, ended).then(() => {
      this.#reportStopIsLate();
    });
  }

  progress(): WorkerProgress {
    const last = this.#lastProgress;
    if (last !== undefined) return { ...last, state: this.#machine.state };
    return {
      state: this.#machine.state,
      records: this.#records,
      outputRecords: this.#outputRecords,
      commits: this.#commits,
      fencings: this.#fencings,
      turns: this.#turns,
      stageMs: this.#stages.spentMs,
      flows: this.#options.flows.map((facts) => {
        const runner = this.#runners.find((one) => one.facts.flow.name === facts.flow.name);
        return {
          flow: facts.flow.name,
          group: facts.group,
          failed: this.#failed.get(facts.flow.name),
          isPaused: this.#paused.has(facts.flow.name),
          isDone: facts.once?.isDone === true,
          appends: feedOf(facts) === undefined,
          outputRecords: runner?.outputRecords ?? 0,
          eventTimeMs: runner?.eventTimeMs,
          partitions: runner?.progress() ?? [],
        };
      }),
      views: this.#options.views?.progress() ?? [],
    };
  }

  /** Flow → keys that the state of its partitions on this instance holds. */
  async keyCounts(): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    for (const runner of this.#activeRunners()) {
      counts.set(runner.facts.flow.name, await runner.keyCount());
    }
    return counts;
  }

  /** What the state has of a key of a flow's table; undefined: its partition is not here. */
  peek(flow: string, key: Buffer): Promise<StoredEntry> | undefined {
    return this.#activeRunners()
      .find(({ facts }) => facts.flow.name === flow)
      ?.peek(key);
  }

  #start(): void {
    for (const facts of this.#options.flows) this.#runners.push(this.#newRunner(facts));
    this.#options.views?.start();
  }

  #newRunner(facts: FlowFacts): FlowRunner {
    const { log, settings } = this.#options;
    const member = log.joinGroup({
      group: facts.group,
      topics: [
        ...facts.sources,
        ...(facts.repartition === undefined ? [] : [facts.repartition]),
      ].map(({ topic }) => topic),
      instanceId: settings.staticMembership ? settings.instance : undefined,
      sessionTimeoutMs: settings.sessionTimeoutMs,
      rebalanceTimeoutMs: settings.rebalanceTimeoutMs,
    });
    const runner = new FlowRunner({
      ...this.#options,
      pipeline: settings.pipeline,
      instance: settings.instance,
      cacheBytesMax: settings.cacheBytesMax,
      shuffle: settings.shuffle,
      facts,
      own: this.#own,
      stages: this.#stages,
      member,
      isStopping: () => this.#isStopping,
    });
    member.onStatus(() => runner.wake());
    return runner;
  }

  async #loop(): Promise<void> {
    const { settings, flows, log, clock } = this.#options;
    const update = settings.once ? new TriggeredUpdate(flows, log, clock) : undefined;
    if (update !== undefined) await this.#guard(() => update.start());
    while (!this.#isStopping) {
      await this.#guard(() => this.#turn());
      if (update === undefined || this.#machine.state !== 'running') continue;
      const isDone = await this.#guard(() => this.#isUpdateDone(update));
      if (isDone === true && this.#areViewsDone()) return;
    }
  }

  /** What views read stands once all flows are done. */
  #areViewsDone(): boolean {
    const { views } = this.#options;
    views?.release();
    return views?.isDone ?? true;
  }

  /** Until the next record comes there is time to wait for the commit. */
  async #isUpdateDone(update: TriggeredUpdate): Promise<boolean> {
    if (this.#dirtySinceMs === undefined) await this.#settleCommit();
    return update.isDone(this.#activeRunners());
  }

  #activeRunners(): FlowRunner[] {
    return this.#runners.filter(({ facts }) => !this.#failed.has(facts.flow.name));
  }

  /** Runs one step; an error that has a remedy is handled here and ends the step. */
  async #guard<Result>(step: () => Promise<Result>): Promise<Result | undefined> {
    this.#turns += 1;
    try {
      const result = await step();
      if (this.#machine.state !== 'running') this.#machine.transition('running');
      return result;
    } catch (error) {
      await this.#recover(error);
      return undefined;
    }
  }

  async #turn(): Promise<void> {
    this.#checkCommit();
    this.#producer ??= await this.#openProducer();
    if (this.#isInDoubt) {
      for (const runner of this.#activeRunners()) {
        await blame(runner, () => runner.retake(this.#isOusted));
      }
      this.#isInDoubt = false;
      this.#isOusted = false;
    }
    await this.#stages.wait('takeover', () => this.#keepMembership());
    await this.#heedLocks();
    for (const runner of this.#activeRunners()) await blame(runner, () => runner.refreshStatics());
    for (const runner of this.#activeRunners()) runner.checkState();
    for (const runner of this.#activeRunners())
      runner.tellTimes(this.#producer, this.#options.clock.now());
    this.#noticeDirt();
    const slices = await this.#poll();
    for (const [runner, slice] of slices) {
      await this.#process(runner, slice);
      if (this.#isCommitDue()) await this.#commit();
    }
    if (this.#isCommitDue()) await this.#commit();
    await this.#purge.turn(this.#activeRunners());
    await this.#stuck.turn(this.#activeRunners());
  }

  /**
   * Follows the groups: whoever has to rejoin does so with nothing uncommitted. The groups are waited for together, and one
   * that calls meanwhile is answered: other instances may wait there for this one.
   */
  async #keepMembership(): Promise<void> {
    for (;;) {
      const waiting: Promise<void>[] = [];
      for (const runner of this.#activeRunners()) {
        if (runner.hasJoined) await blame(runner, () => runner.takeJoined());
        // One after the other for the first time: a flow has its checkpoint before the next one is waited for.
        const isFirst = runner.member.status === 'joining' && !runner.isJoining;
        if (isFirst && waiting.length > 0) continue;
        if (await this.#mustJoin(runner)) waiting.push(runner.join());
      }
      if (waiting.length === 0) return;
      await Promise.race([...waiting, this.#options.clock.sleep(joinLookMs)]);
    }
  }

  async #mustJoin(runner: FlowRunner): Promise<boolean> {
    if (runner.isJoining) return true;
    const { status } = runner.member;
    if (status === 'lost') {
      throw new FlowError('TASK_MIGRATED', 'the group went on without this member');
    }
    if (status !== 'rebalancing' && status !== 'joining') return false;
    // What was taken over first has a position to commit before anything else: joining may take its time, and
    // records that retention takes meanwhile would be missed by nobody.
    if (status === 'joining') this.#noticeDirt();
    // A table that it reads may be in the open transaction: the takeover waits until that is over.
    await this.#commit();
    await this.#settleCommit();
    await runner.settle();
    return true;
  }

  /** Lets go of flows that a command asks for, and takes them up again in the generation that it left them in. */
  async #heedLocks(): Promise<void> {
    const { clock, catalog, settings } = this.#options;
    if (settings.once || clock.monotonic() < this.#nextLockLookMs) return;
    this.#nextLockLookMs = clock.monotonic() + lockLookMs;
    await catalog.read();
    for (const runner of this.#activeRunners()) {
      if (lockOf(catalog, runner.facts.flow.name, clock.now()) === undefined) continue;
      await this.#commit();
      await this.#settleCommit();
      await runner.settle();
      await this.#hold(runner);
    }
    for (const [name, facts] of this.#held) {
      if (lockOf(catalog, name, clock.now()) === undefined) this.#resume(name, facts);
    }
  }

  async #hold(runner: FlowRunner): Promise<void> {
    const { facts } = runner;
    this.#runners.splice(this.#runners.indexOf(runner), 1);
    this.#held.set(facts.flow.name, facts);
    this.#options.listener({ event: 'held', flow: facts.flow.name });
    await runner.close(true).catch(() => undefined);
  }

  #resume(name: string, facts: FlowFacts): void {
    const { catalog, listener } = this.#options;
    this.#held.delete(name);
    const now = inPresentGeneration(catalog, facts);
    if (now instanceof FlowError) {
      this.#failed.set(name, now);
      listener({ event: 'flow_failed', flow: name, error: now });
      if (this.#activeRunners().length === 0 && this.#held.size === 0) throw now;
      return;
    }
    this.#runners.push(this.#newRunner(now));
    listener({ event: 'released', flow: name });
  }

  async #poll(): Promise<(readonly [FlowRunner, Slice])[]> {
    const maxWaitMs = this.#waitMs();
    const runners = this.#activeRunners().filter(({ facts }) => !this.#paused.has(facts.flow.name));
    const polls = runners.map((runner) => runner.poll(maxWaitMs));
    // Where nobody reads, the memberships are looked after all the same.
    if (polls.length === 0) await this.#options.clock.sleep(maxWaitMs);
    else await this.#stages.wait('wait_source', () => Promise.race(polls));
    return runners.flatMap((runner) => {
      try {
        return runner.take().map((slice) => [runner, slice] as const);
      } catch (error) {
        throw new RunnerError(runner, error);
      }
    });
  }

  #waitMs(): number {
    const { settings, clock } = this.#options;
    const maxMs = settings.once ? pollMaxOnceMs : pollMaxMs;
    if (this.#dirtySinceMs === undefined) return maxMs;
    const passedMs = clock.monotonic() - this.#dirtySinceMs;
    return Math.max(0, Math.min(maxMs, settings.commitIntervalMs - passedMs));
  }

  async #process(runner: FlowRunner, slice: Slice): Promise<void> {
    const { clock, settings } = this.#options;
    const producer = this.#producer as LogProducer;
    let heldBytes: number | undefined;
    try {
      heldBytes = await runner.process(slice, producer, clock.now());
    } catch (error) {
      throw new RunnerError(runner, error);
    }
    if (heldBytes === undefined) return;
    this.#recordsSinceCommit += slice.recordCountMax;
    if (slice.topic !== runner.facts.repartition?.topic) {
      this.#sourceRecordsSinceCommit += slice.recordCountMax;
    }
    this.#bytesSinceCommit += heldBytes;
    this.#dirtySinceMs ??= clock.monotonic();
    if (producer.pendingBytes > settings.pendingBytesMax) {
      await this.#stages.wait('wait_sink', () => producer.drain(settings.pendingBytesMax));
    }
  }

  /** A partition that was taken over without a checkpoint has one to commit, even where no record comes. */
  #noticeDirt(): void {
    if (this.#dirtySinceMs !== undefined) return;
    if (this.#activeRunners().some(({ isDirty }) => isDirty)) {
      this.#dirtySinceMs = this.#options.clock.monotonic();
    }
  }

  #isCommitDue(): boolean {
    const { settings, clock } = this.#options;
    if (this.#dirtySinceMs === undefined) return false;
    return (
      this.#recordsSinceCommit >= settings.commitRecordsMax ||
      this.#bytesSinceCommit >= settings.commitBytesMax ||
      clock.monotonic() - this.#dirtySinceMs >= settings.commitIntervalMs
    );
  }

  /**
   * Begins a commit, once the one before it is over. Meanwhile the next slices are processed: a transaction waits
   * for the broker for most of its time.
   */
  async #commit(): Promise<void> {
    await this.#stages.wait('wait_sink', () => this.#settleCommit());
    if (this.#dirtySinceMs === undefined || this.#producer === undefined) return;
    const { clock } = this.#options;
    const startedMs = clock.monotonic();
    const producer = this.#producer;
    const runners = this.#activeRunners();
    const commits: OffsetCommit[] = [];
    for (const runner of runners) {
      // The state writes of the commit before: no more than one of them is ever behind the log.
      await this.#stages.wait('store', () => runner.settle());
      try {
        const commit = runner.commits(producer, clock.now());
        if (commit !== undefined) commits.push(commit);
      } catch (error) {
        throw new RunnerError(runner, error);
      }
    }
    const records = this.#sourceRecordsSinceCommit;
    this.#forget();
    // A transaction without offsets is one that no group fences: it is never ended.
    if (commits.length === 0) return;
    this.#options.tracer?.commitBegins();
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
    const { clock, listener } = this.#options;
    let outputRecords = 0;
    for (const runner of runners) outputRecords += runner.applied(ends);
    for (const runner of runners) await runner.recordCheckpoints();
    this.#records += records;
    this.#outputRecords += outputRecords;
    this.#commits += 1;
    this.#failuresInRow = 0;
    const durationMs = clock.monotonic() - startedMs;
    const flows = runners.flatMap((runner) => runner.takeFigures() ?? []);
    listener({ event: 'committed', records, outputRecords, durationMs, phases, flows });
  }

  /** Waits for the commit that runs, and throws what became of it. */
  async #settleCommit(): Promise<void> {
    await this.#committing;
    this.#committing = undefined;
    this.#checkCommit();
  }

  /** Throws, once, why the last commit failed. */
  #checkCommit(): void {
    const failure = this.#commitFailure;
    this.#commitFailure = undefined;
    if (failure !== undefined) throw failure.error;
  }

  /** Nothing is uncommitted any more: it is being committed, or it will be read again. */
  #forget(): void {
    this.#recordsSinceCommit = 0;
    this.#sourceRecordsSinceCommit = 0;
    this.#bytesSinceCommit = 0;
    this.#dirtySinceMs = undefined;
  }

  async #closeProducer(): Promise<void> {
    const producer = this.#producer;
    this.#producer = undefined;
    await producer?.close().catch(() => undefined);
  }

  /**
   * A process of the same name may have died with a transaction open under the id of both, which holds up this one as
   * well (simulation seed 5011019). Where something is open here, the commit shows whose the id is.
   */
  async #renewProducer(): Promise<void> {
    if (this.#dirtySinceMs !== undefined) return;
    await this.#settleCommit();
    if (this.#producer === undefined) return;
    await this.#closeProducer();
    this.#producer = await this.#openProducer();
  }

  #openProducer(): Promise<LogProducer> {
    return this.#options.log.openProducer(this.#own?.transactionalId, () =>
      this.#activeRunners().every(({ member }) => member.status === 'joining' || member.isInTouch),
    );
  }

  /** Ends the open transaction at once, so that readers are not held up until its time-out. */
  async #abortProducer(): Promise<void> {
    await this.#producer?.abort().catch(() => undefined);
    await this.#closeProducer();
  }

  async #recover(thrown: unknown): Promise<void> {
    const { clock, listener, settings } = this.#options;
    let error = thrown;
    let blamed: FlowRunner | undefined;
    if (error instanceof RunnerError) {
      blamed = error.runner;
      error = error.cause;
    }
    if (!(error instanceof FlowError)) throw error;
    // Whatever becomes of it, it has to be over before its producer is closed and its tasks are dropped.
    await this.#settleCommit().catch(() => undefined);
    const { remedy, code } = error;
    if (code === 'TABLE_LOCKED' && blamed !== undefined && !settings.once) {
      this.#forget();
      this.#isInDoubt = true;
      await this.#abortProducer();
      await this.#hold(blamed);
      if (this.#machine.state !== 'recovering') this.#machine.transition('recovering');
      return;
    }
    // What a reader runs into is looked at once more in the takeover, which knows the checkpoint and records the gap.
    const isGap = code === 'OFFSET_OUT_OF_RANGE' || code === 'TOPIC_RECREATED';
    const isKnownGap = isGap && this.#isInDoubt;
    if ((remedy === 'fix-input' || remedy === 'stop') && (!isGap || isKnownGap)) {
      await this.#fail(error, blamed);
      return;
    }
    if (code === 'PRODUCER_FENCED') await this.#giveWay();
    if (this.#machine.state !== 'recovering') this.#machine.transition('recovering');
    this.#failuresInRow += 1;
    if (this.#failuresInRow > settings.retriesMax) throw error;
    if (error.code === 'PRODUCER_FENCED') this.#fencings += 1;
    if (error.code === 'TASK_MIGRATED') this.#isOusted = true;
    const delayMs = this.#retryDelayMs(remedy === 'retry');
    listener({ event: 'recovering', error, attempt: this.#failuresInRow, delayMs });
    this.#forget();
    this.#isInDoubt = true;
    // Opened again under the same id, it ends the transaction for good.
    await this.#closeProducer();
    await clock.sleep(delayMs);
  }

  /** Ends this process where a later one of its name is why it was fenced. */
  async #giveWay(): Promise<void> {
    const { catalog } = this.#options;
    try {
      await catalog.read();
    } catch (error) {
      // Asked for again with the next fence.
      if (!(error instanceof FlowError)) throw error;
      return;
    }
    this.#own?.refuseOvertaken(catalog);
  }

  #retryDelayMs(isOutage: boolean): number {
    const { retryDelayMinMs, retryDelayMaxMs } = this.#options.settings;
    const doublings = Math.min(this.#failuresInRow - 1, 16);
    if (!isOutage && doublings < 3) return 0;
    return Math.min(retryDelayMaxMs, retryDelayMinMs * 2 ** doublings);
  }

  /** A flow that cannot go on leaves; the others replay at once without it. */
  async #fail(error: FlowError, blamed: FlowRunner | undefined): Promise<void> {
    const runner =
      blamed ?? (this.#activeRunners().length === 1 ? this.#activeRunners()[0] : undefined);
    if (runner === undefined) throw error;
    const { name } = runner.facts.flow;
    this.#failed.set(name, error);
    this.#options.listener({ event: 'flow_failed', flow: name, error });
    this.#forget();
    this.#isInDoubt = true;
    await this.#abortProducer();
    await runner.close(true).catch(() => undefined);
    await this.#recordStop(name, error);
    // A table stage without sources has nothing to do once nobody feeds it any more.
    const isIdle = this.#activeRunners().every(({ facts }) => facts.sources.length === 0);
    if (isIdle && this.#held.size === 0) throw error;
    if (this.#machine.state !== 'recovering') this.#machine.transition('recovering');
  }

  #recordStop(flow: string, error: FlowError): Promise<void> {
    const { catalog, clock, settings } = this.#options;
    return recordStop({ catalog, clock, instance: settings.instance }, flow, error);
  }

  /**
   * What is open is finished only where no turn runs any more: next to one, the records of the one could be committed
   * with the offsets of neither (simulation seed 2677).
   */
  async #shutDown(isLoopOver: boolean): Promise<void> {
    this.#machine.transition('stopping');
    this.#watchStop();
    const finishing = isLoopOver ? this.#finish() : Promise.reject(stillTurning());
    const isFinished = finishing.then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof FlowError) && !(error instanceof RunnerError)) throw error;
        return false;
      },
    );
    if (!(await Promise.race([isFinished, this.#stopIsLate]))) {
      // What was not committed is read again by whoever comes next.
      await isSettledWithin(this.#options.clock, releaseMsMax, this.#abortProducer());
    }
    await this.#release();
    this.#machine.transition('stopped');
    const failed = [...this.#failed.values()][0] ?? this.#options.views?.failed;
    if (failed !== undefined) throw failed;
  }

  async #finish(): Promise<void> {
    await this.#commit();
    await this.#settleCommit();
    for (const runner of this.#activeRunners()) await runner.settle();
    await this.#purge.finish(this.#activeRunners());
    await this.#signOff();
  }

  /** An instance that ends with nothing open needs no fencing any more. */
  async #signOff(): Promise<void> {
    const name = this.#own?.transactionalId;
    if (name === undefined) return;
    const { catalog, clock, log } = this.#options;
    await catalog.write([{ kind: 'instance', name, value: undefined }], clock.now());
    // Nobody would look for what a process of the same name has open: if it lives, it enters itself once more.
    await log.fence(name);
  }

  async #release(): Promise<void> {
    this.#reportEnd();
    this.#lastProgress = this.progress();
    await isSettledWithin(this.#options.clock, releaseMsMax, this.#closeAll());
  }

  async #closeAll(): Promise<void> {
    await this.#closeProducer();
    await this.#options.views?.stop();
    for (const runner of this.#activeRunners()) {
      await runner.close(true).catch(() => undefined);
    }
    await this.#options.catalog.close().catch(() => undefined);
  }
}

function stillTurning(): FlowError {
  return new FlowError('BROKER_TIMEOUT', 'a turn of the worker did not end in time');
}

/** Runs a step of one flow, so that its failure ends that flow alone. */
async function blame(runner: FlowRunner, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    throw new RunnerError(runner, error);
  }
}

/** An error with the flow that it belongs to, on its way to `#recover`. */
class RunnerError extends Error {
  readonly runner: FlowRunner;

  constructor(runner: FlowRunner, cause: unknown) {
    super('a flow failed', { cause });
    this.runner = runner;
  }
}

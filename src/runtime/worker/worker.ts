import { assert } from '../../base/assert.ts';
import { FlowError } from '../../base/errors.ts';
import { StateMachine } from '../../base/state-machine.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, LogProducer, Slice } from '../../ports/log.ts';
import { RefusedRecordError } from '../../ports/refused-record.ts';
import type { StateStore } from '../../ports/state-store.ts';
import type { Tracer } from '../../ports/tracer.ts';
import { type FlowFacts, feedOf, writtenBy } from '../inspect/flow-facts.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import { inPresentGeneration } from '../takeover/generation.ts';
import { StuckPartitions } from '../takeover/stuck-partitions.ts';
import type { Catalog } from '../topics/catalog.ts';
import { lockOf } from '../topics/locks.ts';
import { RepartitionPurge } from '../topics/repartition-purge.ts';
import { TopicWatch } from '../topics/topic-watch.ts';
import type { ViewFacts } from '../views/view-facts.ts';
import type { ViewUpdates } from '../views/view-updates.ts';
import { blame, RunnerError } from './blame.ts';
import { FlowRunner } from './flow-runner.ts';
import { isSettledWithin } from './is-settled-within.ts';
import { OpenTransaction } from './open-transaction.ts';
import { OwnId } from './own-id.ts';
import { StageTimes } from './stage-times.ts';
import { recordStop } from './stops.ts';
import type { StoredEntry } from './table-slot.ts';
import { TriggeredUpdate } from './triggered-update.ts';
import type { WorkerProgress } from './worker-progress.ts';
import type { WorkerSettings } from './worker-settings.ts';
import { workerTransitions } from './worker-states.ts';

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
  readonly #own: OwnId;
  #hasEntered = false;
  readonly #purge: RepartitionPurge;
  readonly #stuck: StuckPartitions;
  readonly #topics: TopicWatch;
  readonly #stages: StageTimes;
  readonly #transaction: OpenTransaction;
  #isStopping = false;
  #isUpdateOver = false;
  /** Flows that stand still: members with their partitions, whose records are not read. */
  #paused: ReadonlySet<string> = new Set();
  /** The last progress before the tasks were let go. */
  #lastProgress: WorkerProgress | undefined;
  /** Set after any doubt: every partition is taken over anew before anything else. */
  #isInDoubt = false;
  /** Set where the group may have gone on without this member, whatever it still believes itself. */
  #isOusted = false;
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
    const { pipeline, instance, token, delivery } = options.settings;
    this.#own = new OwnId({
      name: `${pipeline}-${instance}`,
      instance,
      token,
      isTransactional: delivery === 'exactly_once',
      renew: () => this.#transaction.renew(),
    });
    this.#stages = new StageTimes(options.clock);
    this.#transaction = new OpenTransaction({
      settings: options.settings,
      clock: options.clock,
      listener: options.listener,
      tracer: options.tracer,
      stages: this.#stages,
      openProducer: () => this.#openProducer(),
      onCommitted: () => {
        this.#failuresInRow = 0;
      },
    });
    this.#purge = new RepartitionPurge(options.log, options.clock);
    this.#topics = new TopicWatch(options);
    this.#stuck = new StuckPartitions({
      log: options.log,
      catalog: options.catalog,
      clock: options.clock,
      listener: options.listener,
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
      records: this.#transaction.records,
      outputRecords: this.#transaction.outputRecords,
      commits: this.#transaction.commits,
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
    const options = this.#options;
    const { log, settings } = options;
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
      log,
      state: options.state,
      catalog: options.catalog,
      clock: options.clock,
      listener: options.listener,
      tracer: options.tracer,
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

  /** Whether a triggered update has come to its end: one that was told to stop has not. */
  get isUpdateOver(): boolean {
    return this.#isUpdateOver;
  }

  async #loop(): Promise<void> {
    const { settings, flows, log, clock, listener } = this.#options;
    const update = settings.once ? new TriggeredUpdate(flows, log, clock, listener) : undefined;
    // Without its goals an update would be done before it has read anything (simulation seed 613526 of over_table_once).
    let isBegun = update === undefined;
    while (!isBegun && !this.#isStopping) {
      isBegun = (await this.#guard(() => this.#begin(update))) === true;
    }
    while (!this.#isStopping) {
      this.#options.views?.check();
      await this.#guard(() => this.#turn());
      if (update === undefined || this.#machine.state !== 'running') continue;
      const isDone = await this.#guard(() => this.#isUpdateDone(update));
      if (isDone === true && this.#areViewsDone()) {
        this.#isUpdateOver = true;
        return;
      }
    }
  }

  /** Takes the goals of an update. */
  async #begin(update: TriggeredUpdate | undefined): Promise<true> {
    await update?.start();
    return true;
  }

  /** What views read stands once all flows are done. */
  #areViewsDone(): boolean {
    const { views } = this.#options;
    views?.release();
    return views?.isDone ?? true;
  }

  /** Until the next record comes there is time to wait for the commit. */
  async #isUpdateDone(update: TriggeredUpdate): Promise<boolean> {
    if (!this.#transaction.isDirty) await this.#transaction.settle();
    return update.isDone(this.#activeRunners());
  }

  #activeRunners(): readonly FlowRunner[] {
    if (this.#failed.size === 0) return this.#runners;
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
    this.#transaction.check();
    await this.#transaction.open();
    await this.#enter();
    if (this.#isInDoubt) {
      for (const runner of this.#activeRunners()) {
        await blame(runner, () => runner.membership.retake(this.#isOusted));
      }
      this.#isInDoubt = false;
      this.#isOusted = false;
    }
    await this.#stages.wait('takeover', () => this.#keepMembership());
    await this.#heedLocks();
    for (const runner of this.#activeRunners()) await blame(runner, () => runner.refreshStatics());
    for (const runner of this.#activeRunners()) runner.checkState();
    for (const runner of this.#activeRunners())
      runner.tellTimes(this.#transaction.producer, this.#options.clock.now());
    this.#transaction.notice(this.#activeRunners());
    const slices = await this.#poll();
    for (const [runner, slice] of slices) {
      await this.#process(runner, slice);
      if (this.#transaction.isDue) await this.#transaction.commit(this.#activeRunners());
    }
    if (this.#transaction.isDue) await this.#transaction.commit(this.#activeRunners());
    await this.#purge.turn(this.#activeRunners());
    await this.#stuck.turn(this.#activeRunners());
    this.#topics.turn(this.#activeRunners());
  }

  /** Before a group hears of this process: whoever has its name, and is thrown out for it, can tell that a later one came. */
  async #enter(): Promise<void> {
    if (this.#hasEntered) return;
    const { catalog, clock } = this.#options;
    await catalog.read();
    await catalog.write([this.#own.entry(catalog, clock.now())], clock.now());
    this.#hasEntered = true;
  }

  /**
   * Follows the groups: whoever has to rejoin does so with nothing uncommitted. The groups are waited for together, and one
   * that calls meanwhile is answered: other instances may wait there for this one.
   */
  async #keepMembership(): Promise<void> {
    for (;;) {
      const waiting: Promise<void>[] = [];
      const runners = this.#activeRunners();
      for (const runner of runners) {
        if (runner.membership.hasJoined) await blame(runner, () => runner.membership.takeJoined());
        // One after the other for the first time: a flow has its checkpoint before the next one is waited for.
        const isFirst = runner.member.status === 'joining' && !runner.membership.isJoining;
        if (isFirst && waiting.length > 0) continue;
        if (await this.#mustJoin(runner)) waiting.push(runner.membership.join());
      }
      if (waiting.length === 0) return;
      // Where all of them are waited for, none is left that could call.
      const isLastToJoin = waiting.length === runners.length;
      const looks = isLastToJoin ? [] : [this.#options.clock.sleep(joinLookMs)];
      await Promise.race([...waiting, ...looks]);
    }
  }

  async #mustJoin(runner: FlowRunner): Promise<boolean> {
    if (runner.membership.isJoining) return true;
    const { status } = runner.member;
    if (status === 'lost') {
      throw new FlowError('TASK_MIGRATED', 'the group went on without this member');
    }
    if (status !== 'rebalancing' && status !== 'joining') return false;
    // What was taken over first has a position to commit before anything else: joining may take its time, and
    // records that retention takes meanwhile would be missed by nobody.
    if (status === 'joining') this.#transaction.notice(this.#activeRunners());
    // A table that it reads may be in the open transaction: the takeover waits until that is over.
    await this.#transaction.commit(this.#activeRunners());
    await this.#transaction.settle();
    await runner.settle();
    return true;
  }

  /** Lets go of flows that a command asks for, and takes them up again in the generation that it left them in. */
  async #heedLocks(): Promise<void> {
    const { clock, catalog, settings } = this.#options;
    if (settings.once || clock.monotonic() < this.#nextLockLookMs) return;
    this.#nextLockLookMs = clock.monotonic() + lockLookMs;
    await catalog.follow();
    for (const runner of this.#activeRunners()) {
      if (lockOf(catalog, runner.facts.flow.name, clock.now()) === undefined) continue;
      await this.#transaction.commit(this.#activeRunners());
      await this.#transaction.settle();
      await runner.settle();
      await this.#hold(runner);
    }
    for (const [name, facts] of this.#held) {
      if (lockOf(catalog, name, clock.now()) === undefined) await this.#resume(name, facts);
    }
  }

  async #hold(runner: FlowRunner): Promise<void> {
    const { facts } = runner;
    this.#runners.splice(this.#runners.indexOf(runner), 1);
    this.#held.set(facts.flow.name, facts);
    this.#options.listener({ event: 'held', flow: facts.flow.name });
    await runner.close(true).catch(() => undefined);
  }

  async #resume(name: string, facts: FlowFacts): Promise<void> {
    const { catalog, listener } = this.#options;
    this.#held.delete(name);
    const now = inPresentGeneration(catalog, facts);
    if (now instanceof FlowError) {
      this.#failed.set(name, now);
      listener({ event: 'flow_failed', flow: name, error: now });
      await this.#recordStop(name, now);
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
    const maxMs = this.#options.settings.once ? pollMaxOnceMs : pollMaxMs;
    return Math.min(maxMs, this.#transaction.dueInMs);
  }

  async #process(runner: FlowRunner, slice: Slice): Promise<void> {
    const { producer } = this.#transaction;
    let bytes: number | undefined;
    try {
      bytes = await runner.process(slice, producer, this.#options.clock.now());
    } catch (error) {
      throw new RunnerError(runner, error);
    }
    if (bytes === undefined) return;
    const records = slice.recordCountMax;
    const isOfSource = slice.topic !== runner.facts.repartition?.topic;
    await this.#transaction.add({ records, sourceRecords: isOfSource ? records : 0, bytes });
  }

  #openProducer(): Promise<LogProducer> {
    return this.#options.log.openProducer(this.#own.transactionalId, () =>
      this.#activeRunners().every(({ member }) => member.status === 'joining' || member.isInTouch),
    );
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
    if (error instanceof RefusedRecordError) blamed ??= this.#onlyWriterOf(error.topic);
    // Whatever becomes of it, it has to be over before its producer is closed and its tasks are dropped.
    await this.#transaction.settle().catch(() => undefined);
    const { remedy, code } = error;
    if (code === 'TABLE_LOCKED' && blamed !== undefined && !settings.once) {
      this.#transaction.forget();
      this.#isInDoubt = true;
      await this.#transaction.abort();
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
    if (code === 'PRODUCER_FENCED' || code === 'TASK_MIGRATED') await this.#giveWay();
    if (this.#machine.state !== 'recovering') this.#machine.transition('recovering');
    this.#failuresInRow += 1;
    if (this.#failuresInRow > settings.retriesMax) throw error;
    if (error.code === 'PRODUCER_FENCED') this.#fencings += 1;
    if (error.code === 'TASK_MIGRATED') this.#isOusted = true;
    const delayMs = this.#retryDelayMs(remedy === 'retry');
    listener({ event: 'recovering', error, attempt: this.#failuresInRow, delayMs });
    this.#transaction.forget();
    this.#isInDoubt = true;
    // Opened again under the same id, it ends the transaction for good.
    await this.#transaction.close();
    await clock.sleep(delayMs);
  }

  /** A commit is of all flows; undefined: several write the topic. */
  #onlyWriterOf(topic: string): FlowRunner | undefined {
    const writers = this.#activeRunners().filter(({ facts }) => writtenBy(facts).includes(topic));
    return writers.length === 1 ? writers[0] : undefined;
  }

  /** Ends this process where a later one of its name is why it was fenced, or thrown out of its group. */
  async #giveWay(): Promise<void> {
    const { catalog } = this.#options;
    try {
      await catalog.read();
    } catch (error) {
      // Asked for again with the next fence.
      if (!(error instanceof FlowError)) throw error;
      return;
    }
    this.#own.refuseOvertaken(catalog);
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
    this.#transaction.forget();
    this.#isInDoubt = true;
    await this.#transaction.abort();
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
      await isSettledWithin(this.#options.clock, releaseMsMax, this.#transaction.abort());
    }
    await this.#release();
    this.#machine.transition('stopped');
    const failed = [...this.#failed.values()][0] ?? this.#options.views?.failed;
    if (failed !== undefined) throw failed;
  }

  async #finish(): Promise<void> {
    await this.#transaction.commit(this.#activeRunners());
    await this.#transaction.settle();
    for (const runner of this.#activeRunners()) await runner.settle();
    await this.#purge.finish(this.#activeRunners());
    await this.#signOff();
  }

  /** An instance that ends with nothing open needs no fencing any more. */
  async #signOff(): Promise<void> {
    const { name, transactionalId } = this.#own;
    const { catalog, clock, log } = this.#options;
    await catalog.write([{ kind: 'instance', name, value: undefined }], clock.now());
    // Nobody would look for what a process of the same name has open: if it lives, it enters itself once more.
    if (transactionalId !== undefined) await log.fence(transactionalId);
  }

  /** As in a rolling restart: its places in the groups wait for it. */
  get #isExpectedBack(): boolean {
    const { staticMembership, leavesOnStop, once } = this.#options.settings;
    return this.#isStopping && staticMembership && !leavesOnStop && !once;
  }

  async #release(): Promise<void> {
    this.#reportEnd();
    this.#lastProgress = this.progress();
    await isSettledWithin(this.#options.clock, releaseMsMax, this.#closeAll());
  }

  async #closeAll(): Promise<void> {
    const isLeaving = !this.#isExpectedBack;
    await this.#transaction.close();
    await this.#options.views?.stop(isLeaving);
    for (const runner of this.#activeRunners()) {
      await runner.close(isLeaving).catch(() => undefined);
    }
    await this.#options.catalog.close().catch(() => undefined);
  }
}

function stillTurning(): FlowError {
  return new FlowError('BROKER_TIMEOUT', 'a turn of the worker did not end in time');
}

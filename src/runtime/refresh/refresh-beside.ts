import { type ErrorCode, FlowError } from '../../base/errors.ts';
import { builtFlowOf } from '../../plan/bind/names.ts';
import { groupOf } from '../../plan/topology.ts';
import type { Log } from '../../ports/log.ts';
import type { StateStore } from '../../ports/state-store.ts';
import { progressText } from '../../refresh/refresh-progress.ts';
import { isUntouched, type RefreshState } from '../../refresh/refresh-states.ts';
import { recordedGaps } from '../takeover/gaps.ts';
import { type LockFacts, lockFlows, lockName, lockOf, unlockFlows } from '../topics/locks.ts';
import { isSettledWithin } from '../worker/is-settled-within.ts';
import { startWorker } from '../worker/start-worker.ts';
import type { Worker } from '../worker/worker.ts';
import type { WorkerSettings } from '../worker/worker-settings.ts';
import { refuseComputed, refuseNothing, refuseUnreadable } from './refresh-beside-refusals.ts';
import { BuiltGeneration } from './refresh-built.ts';
import { awaitNobody } from './refresh-checkpoints.ts';
import { endedLog } from './refresh-drain.ts';
import { flowsOf, gatherFacts, type RefreshFacts } from './refresh-facts.ts';
import { refuseLossOf, refuseUnwanted } from './refresh-refusals.ts';
import {
  beginRun,
  endsOf,
  forgetSwapProducer,
  locksOf,
  type RefreshOutcome,
  type RefreshRun,
  type RefreshRunOptions,
  settleRead,
  settleTable,
  swap,
  swapAll,
} from './refresh-run.ts';
import { scanPending } from './refresh-scan.ts';
import { noSwapResult, type SwapResult } from './refresh-swap-options.ts';
import { throttledLog } from './refresh-throttle.ts';

export type BesideOptions = RefreshRunOptions & {
  readonly state: StateStore;
  /** Those of a worker of the pipeline; the refresh has an instance name of its own. */
  readonly settings: WorkerSettings;
  readonly replicationFactor: number;
  /** Bound on the records that are read again in a second; undefined: as fast as it goes. */
  readonly recordsPerSecondMax?: number | undefined;
  /** Registers what ends the refresh early, in good order. */
  readonly onStop?: (listener: () => void) => void;
};

/** Longer than a session usually lasts: an attempt that was killed is a member until then. */
const waitMsDefault = 60_000;
const pollMs = 200;
const tellIntervalMs = 2_000;
/** As far as the new generation catches up while the old one goes on; the rest is read while the flow is held. */
const lagRecordsMax = 20_000;
const catchUpRoundsMax = 20;
const gapAttemptsMax = 3;
const otherSourceCodes: readonly ErrorCode[] = [
  'TOPIC_RECREATED',
  'CHECKPOINT_MISSING',
  'SOURCE_REFRESHED',
];
/** How long the claim of a command that was killed stands in the way of others. */
export const claimMs = 60_000;

/**
 * Computes a table anew beside the one that is there, and swaps it in by its differences. Invariant: until the swap the
 * table and its flow are as they were, and the refresh can be given up; in the swap each key goes from its former
 * row-set to the new one in one step; after a crash at any point the same command goes on and ends the same.
 */
export async function refreshBeside(options: BesideOptions): Promise<RefreshOutcome> {
  refuseComputed(options);
  await options.catalog.read();
  const run = beginRun(options, 'beside');
  const beside = new Beside(options, run);
  return beside.whileAlone(async () => {
    if (isUntouched(run.progress.state)) await beside.build();
    return beside.swapIn();
  });
}

/** Whether a flow that is built cannot go on from where it stands, and can from the beginning. */
function isOfOtherSource(error: unknown): error is FlowError {
  return error instanceof FlowError && otherSourceCodes.includes(error.code);
}

const fenceCodes: ReadonlySet<ErrorCode> = new Set(['PRODUCER_FENCED', 'TASK_MIGRATED']);
const goneCodes: ReadonlySet<ErrorCode> = new Set([
  'TOPIC_MISSING',
  'TOPIC_RECREATED',
  'DEFINITION_MISSING',
]);

/** Records that were read by some time, by the clock that only goes forward. */
type Reading = { readonly read: number; readonly atMs: number };

class Beside {
  readonly #options: BesideOptions;
  readonly #run: RefreshRun;
  readonly #built: BuiltGeneration;
  #worker: Worker | undefined;
  #isStopped = false;
  /** What somebody else has made of the refresh meanwhile. */
  #overtaken: RefreshState | undefined;
  #untold: RefreshFacts['untold'];

  constructor(options: BesideOptions, run: RefreshRun) {
    this.#options = options;
    this.#run = run;
    this.#built = new BuiltGeneration(options, run);
    options.onStop?.(() => {
      this.#isStopped = true;
      this.#worker?.stop();
    });
  }

  // ---------------------------------------------------------------- building

  async build(): Promise<void> {
    const { catalog, clock, onStep } = this.#options;
    // Nobody may be at work that would end what a dead instance has left open.
    await settleRead(this.#options);
    const facts = await gatherFacts(this.#options);
    await refuseNothing(this.#run, facts);
    const toRead = await refuseLossOf(this.#run, facts);
    await this.#refuseOvertaken();
    // What an attempt with another definition has built is of no use.
    if (!this.#built.mayGoOn()) await this.#built.cleanUp();
    await this.#run.progress.enter('building', clock.now(), { toRead });
    await this.#built.prepare();
    // What an attempt that was killed has left.
    const claim = { flow: this.#built.name, token: 'swap' };
    if (catalog.get('lock', lockName(claim)) !== undefined) {
      await unlockFlows(catalog, [claim], clock.now());
    }
    onStep?.(`building generation ${this.#run.progress.record.generation} beside the table`);
    let before = Number.POSITIVE_INFINITY;
    for (let round = 0; round < catchUpRoundsMax; round += 1) {
      await this.#updateOrAnew();
      await catalog.read();
      const lag = await this.#built.lag();
      if (lag <= lagRecordsMax) break;
      if (lag >= before) onStep?.(this.#fallingBehind(lag));
      before = lag;
    }
  }

  /** What was built from a topic that is no more is not what the sources give now. */
  async #updateOrAnew(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#update(this.#throttledLog());
      } catch (error) {
        const why = isOfOtherSource(error)
          ? 'a source is not what it was'
          : this.#isDisturbed(error)
            ? 'another command that refreshes the table was in the way'
            : undefined;
        if (why === undefined || attempt > gapAttemptsMax) throw error;
        this.#options.onStep?.(`${why}: what was built goes, to build it anew`);
        await this.#built.cleanUp();
        await this.#built.prepare();
      }
    }
  }

  /**
   * Whether two commands that began at once fell over each other: only refreshes of the table write under the names that it
   * is built under. The one that entered itself first stops by the catalog, and this one has the names for itself then.
   */
  #isDisturbed(error: unknown): boolean {
    if (!(error instanceof FlowError) || this.#isStopped) return false;
    const { code, message } = error;
    return fenceCodes.has(code) || (goneCodes.has(code) && message.includes(this.#built.name));
  }

  /** Says so where another command was in the way to the end. */
  async whileAlone<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!this.#isDisturbed(error)) throw error;
      await this.#refuseOvertaken();
      const { table } = this.#options;
      throw new FlowError('TABLE_LOCKED', `another command refreshes table "${table.name}"`, {
        hint: 'Start this one once more when the other one is over.',
        cause: error,
      });
    }
  }

  #fallingBehind(lag: number): string {
    const { recordsPerSecondMax } = this.#options;
    const reason =
      recordsPerSecondMax === undefined ? 'it reads them' : `--rate ${recordsPerSecondMax} lets it`;
    return `it does not come nearer: ${lag} records are left, and they come as fast as ${reason}`;
  }

  #partitions: number | undefined;

  /** One triggered update of the new generation, to the ends as they stand at its start. */
  async #update(sourceLog: Log): Promise<void> {
    const { log, table } = this.#options;
    this.#partitions ??= (await log.describeTopics([table.topic])).get(table.topic)?.partitions;
    let acceptGaps: readonly string[] = [];
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#runWorker(sourceLog, acceptGaps);
      } catch (error) {
        // What expires while it is read again is counted before the swap, with all else that is lost.
        const isGap = error instanceof FlowError && error.code === 'OFFSET_OUT_OF_RANGE';
        if (!isGap || attempt > gapAttemptsMax) {
          // Whoever was first has removed what both were building.
          await this.#refuseOvertaken();
          throw this.#inNamesOfThePipeline(error);
        }
        await this.#options.catalog.read();
        acceptGaps = recordedGaps(this.#options.catalog).flatMap((gap) =>
          this.#built.has(gap.flow) && gap.acceptedAtMs === undefined ? [gap.id] : [],
        );
      }
    }
  }

  /** What an error tells to do is about the flow that somebody has written: no command knows those that are built. */
  #inNamesOfThePipeline(error: unknown): unknown {
    if (!(error instanceof FlowError) || error.hint === undefined) return error;
    const { code, message, detail, logDetail, place, cause } = error;
    const { plan, table } = this.#options;
    let { hint } = error;
    for (const { name } of flowsOf(plan, table)) hint = hint.replaceAll(builtFlowOf(name), name);
    const known = { detail, logDetail, place };
    const given = Object.fromEntries(
      Object.entries(known).filter(([, value]) => value !== undefined),
    );
    return new FlowError(code, message, { ...given, hint, cause });
  }

  async #runWorker(sourceLog: Log, acceptGaps: readonly string[]): Promise<void> {
    const { clock, state, settings, listener, flow, replicationFactor } = this.#options;
    this.#refuseStopped();
    const worker = await startWorker({
      plan: this.#built.plan(this.#partitions),
      log: sourceLog,
      state,
      clock,
      listener,
      replicationFactor,
      acceptGaps,
      settings: {
        ...settings,
        instance: `refresh.${flow.name}`,
        once: true,
        delivery: 'exactly_once',
        staticMembership: false,
      },
    });
    this.#worker = worker;
    const running = worker.run();
    const telling = this.#tell(worker, running);
    try {
      await running;
    } finally {
      this.#worker = undefined;
      await telling;
    }
    this.#refuseStopped();
  }

  /** Whether somebody gave it up, or went on with it, since this attempt looked last. */
  async #refuseOvertaken(): Promise<void> {
    const { catalog, clock } = this.#options;
    await catalog.read();
    const claim = lockOf(catalog, this.#built.name, clock.now());
    this.#overtaken ??=
      claim?.value['token'] === 'cancel' ? 'cancelled' : this.#run.progress.overtaken();
    this.#refuseStopped();
  }

  #refuseStopped(): void {
    const { table } = this.#options;
    if (this.#overtaken === 'cancelled') {
      throw new FlowError('TABLE_LOCKED', `the refresh of table "${table.name}" was cancelled`, {
        detail: 'The table and its flow are as they were.',
      });
    }
    if (this.#overtaken !== undefined) {
      throw new FlowError('TABLE_LOCKED', `another command refreshes table "${table.name}"`, {
        detail: 'It went on from where this one stood.',
      });
    }
    if (!this.#isStopped) return;
    throw new FlowError('TASK_MIGRATED', `the refresh of table "${table.name}" was interrupted`, {
      hint: `Start the same command once more: it goes on where it stood. Give it up with: tidemark refresh ${table.name} --cancel`,
    });
  }

  #throttledLog(): Log {
    const { log, clock, recordsPerSecondMax } = this.#options;
    if (recordsPerSecondMax === undefined) return log;
    const topics = this.#built.sourceTopics;
    return throttledLog(log, clock, { recordsPerSecond: recordsPerSecondMax, topics });
  }

  /** Keeps the catalog's figures up to date for whoever asks how far it is, and heeds whoever gives it up. */
  async #tell(worker: Worker, running: Promise<void>): Promise<void> {
    const { clock } = this.#options;
    let toldMs = clock.monotonic();
    let first: Reading | undefined;
    while (!(await isSettledWithin(clock, pollMs, running))) {
      // As soon as it is known where the flows stand: what an attempt before has read says nothing of the rate.
      if (first === undefined) {
        const { read, toRead } = this.#figures(worker);
        if (toRead > 0) first = { read, atMs: clock.monotonic() };
      }
      if (clock.monotonic() - toldMs < tellIntervalMs) continue;
      toldMs = clock.monotonic();
      // What keeps the figures from the catalog for a while keeps nobody from building, and is asked for once more.
      await this.#tellOnce(worker, first).catch(() => undefined);
      if (this.#overtaken !== undefined) return;
    }
  }

  async #tellOnce(worker: Worker, first: Reading | undefined): Promise<void> {
    const { clock, catalog } = this.#options;
    await catalog.read();
    const isClaimed = lockOf(catalog, this.#built.name, clock.now()) !== undefined;
    this.#overtaken = isClaimed ? 'cancelled' : this.#run.progress.overtaken();
    if (this.#overtaken !== undefined) return worker.stop();
    if (this.#run.progress.state !== 'building') return;
    const { read, toRead } = this.#figures(worker);
    const recordsPerSecond = first && this.#rateSince(first, read);
    await this.#run.progress.enter('building', clock.now(), { read, toRead, recordsPerSecond });
    this.#options.onStep?.(progressText(this.#run.progress.record));
  }

  /** What comes at once, before the first wait, is no faster than it will be allowed to go on. */
  #rateSince(first: Reading, read: number): number {
    const { clock, recordsPerSecondMax = Number.POSITIVE_INFINITY } = this.#options;
    const tookMs = Math.max(1, clock.monotonic() - first.atMs);
    return Math.min(recordsPerSecondMax, Math.round(((read - first.read) * 1000) / tookMs));
  }

  /** Of the sources, from the first record that is there. */
  #figures(worker: Worker): { readonly read: number; readonly toRead: number } {
    const sources = this.#built.sourceTopics;
    let read = 0;
    let toRead = 0;
    for (const { topic, committed, stable, logStart } of worker
      .progress()
      .flows.flatMap(({ partitions }) => partitions)) {
      if (!sources.has(topic) || logStart === undefined) continue;
      read += Math.max(0, committed - logStart);
      toRead += Math.max(0, stable - logStart);
    }
    return { read, toRead };
  }

  // ---------------------------------------------------------------- swap

  async swapIn(): Promise<RefreshOutcome> {
    const { catalog, clock, pipeline, onStep, below = [], isHeld = false } = this.#options;
    const { progress } = this.#run;
    const locks = locksOf(this.#options);
    const all = [...locks, ...below.flatMap(locksOf)];
    const released = isHeld ? [] : all;
    await lockFlows(catalog, all, clock.now());
    let isTouched = !isUntouched(progress.state);
    try {
      for (const { flow } of all) await this.#awaitEmpty(groupOf(pipeline, flow));
      this.#refuseStopped();
      await settleTable(this.#run);
      let lost = { keys: 0, rows: 0, levels: 0 };
      let deadLetters = 0;
      let result = noSwapResult();
      if (progress.state === 'building') {
        onStep?.('reading what has come meanwhile');
        // The flow is held until it is done, so nothing slows it down.
        await this.#updateHeld();
        deadLetters = await refuseUnreadable(this.#run, this.#built);
        const measured = await this.#refuseLoss();
        lost = measured.lost;
        if (this.#options.isShadow === true) {
          await unlockFlows(catalog, released, clock.now());
          await this.#built.cleanUp();
          await progress.close('cancelled', clock.now(), []);
          return { ...this.#outcome({ ...measured, deadLetters }), isShadow: true };
        }
        await this.#built.makeLevels(this.#partitions ?? 1);
        const facts = await gatherFacts(this.#options);
        await this.#beginSwap(endsOf(facts));
        isTouched = true;
      }
      if (progress.state === 'swapping') {
        onStep?.('swapping in the differences');
        const built = await this.#built.topics();
        result = await progress.whileTold(clock, () => swapAll(this.#run, built));
        await progress.enter('switching', clock.now());
      }
      await this.#built.handOver();
      await forgetSwapProducer(this.#options);
      await this.#built.cleanUp();
      await progress.close('done', clock.now(), locks);
      return this.#outcome({ ...result, lost, deadLetters });
    } catch (error) {
      if (!isTouched) await unlockFlows(catalog, released, clock.now());
      throw error;
    }
  }

  /**
   * What came while the update ran may have been read, and be between the stages still: nobody takes it in after the swap, and
   * the sources are not read again. So such rows are merged first, with nothing read beside them.
   */
  async #updateHeld(): Promise<void> {
    const { log, table } = this.#options;
    try {
      if (this.#built.isPinnedBefore()) {
        await this.#built.cleanUp();
        await this.#built.prepare();
      }
      await this.#update(log);
      if (!(await this.#built.hasWaiting())) return;
      await this.#update(endedLog(log, await this.#built.ends()));
      if (!(await this.#built.hasWaiting())) return;
      throw new FlowError('TASK_MIGRATED', `rows of table "${table.name}" are still on their way`, {
        detail:
          'They were read for its new generation, and are not in it yet. The table is as it was.',
        hint: 'Start the same command once more: it goes on where it stood.',
      });
    } catch (error) {
      if (!isOfOtherSource(error)) throw error;
      // A topic of the new generation itself: only another command makes that anew.
      const own = `${groupOf(this.#options.pipeline, this.#built.name)}.`;
      if (error.message.includes(own)) throw error;
      const { code, detail } = error;
      const text = `a source of table "${this.#options.table.name}" is not what it was when the new generation was built`;
      throw new FlowError(code, text, {
        ...(detail === undefined ? {} : { detail }),
        hint: 'The table is as it was. Start the same command once more: it builds the new generation anew.',
      });
    }
  }

  #outcome({
    published,
    buried,
    buriedLevels,
    kept,
    lost,
    deadLetters,
  }: SwapResult & { readonly deadLetters: number }): RefreshOutcome {
    const { table, generation, allowLoss, keepUnrecoverable } = this.#run.progress.record;
    const isLost = allowLoss && !keepUnrecoverable;
    return {
      table,
      generation,
      mode: 'beside',
      published,
      buried,
      buriedLevels,
      kept,
      lost: isLost ? lost : { keys: 0, rows: 0, levels: 0 },
      ...(this.#untold === undefined ? {} : { untold: this.#untold }),
      deadLetters,
    };
  }

  /** From here on there is no way back: of this and a cancellation the one that came first has its way. */
  async #beginSwap(from: readonly number[]): Promise<void> {
    const { catalog, clock, command } = this.#options;
    const untilMs = clock.now() + claimMs;
    const claim: LockFacts = { flow: this.#built.name, command, token: 'swap', untilMs };
    await lockFlows(catalog, [claim], clock.now());
    try {
      await this.#refuseOvertaken();
      await this.#run.progress.enter('swapping', clock.now(), { from });
    } finally {
      await unlockFlows(catalog, [claim], clock.now());
    }
  }

  async #awaitEmpty(group: string): Promise<void> {
    const { log, clock, onStep, waitMs } = this.#options;
    const onWait = (members: number): void =>
      onStep?.(
        `waiting until ${members === 1 ? 'one instance lets' : `${members} instances let`} go of the flow`,
      );
    await awaitNobody({ log, clock, waitMs: waitMs ?? waitMsDefault, onWait }, group);
  }

  /** What retention took away meanwhile counts as what it took before. */
  async #refuseLoss(): Promise<SwapResult> {
    const { log } = this.#options;
    const facts = await gatherFacts(this.#options);
    const measured = await swap(this.#run, facts, await this.#built.topics(), true);
    const { lost } = measured;
    this.#untold = facts.untold;
    const pending = await scanPending({ log, facts });
    refuseUnwanted(this.#run, {
      lost,
      pendingLost: pending.lost,
      partitions: facts.output?.partitions.length,
    });
    return measured;
  }
}

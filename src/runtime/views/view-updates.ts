import { FlowError } from '../../base/errors.ts';
import { type BatchKind, batchKind } from '../../plan/flows/batch-kind.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import { generationOf } from '../takeover/generation.ts';
import type { Catalog } from '../topics/catalog.ts';
import { isSettledWithin } from '../worker/is-settled-within.ts';
import { PendingAnswer } from '../worker/pending-answer.ts';
import { clearStop, recordStop } from '../worker/stops.ts';
import type { ViewFacts } from './view-facts.ts';
import { type InputEnds, type ViewRun, ViewRunner, type ViewState } from './view-runner.ts';
import { ViewTopics } from './view-topics.ts';

export type ViewSettings = {
  readonly instance: string;
  readonly delivery: 'exactly_once' | 'at_least_once';
  /** Each view is brought up to date one time, once `release` says that its inputs are. */
  readonly once: boolean;
  /** How long a view rests after it was computed, where it does not say itself. */
  readonly viewIntervalMs: number;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly staticMembership: boolean;
  readonly retryDelayMaxMs: number;
  readonly retriesMax: number;
};

export type ViewUpdatesOptions = {
  /** Those that others read come first. */
  readonly views: readonly ViewFacts[];
  readonly log: Log;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly listener: RuntimeListener;
  readonly settings: ViewSettings;
};

export type ViewProgress = {
  readonly view: string;
  readonly kind: BatchKind;
  readonly table: string;
  readonly isPaused: boolean;
  readonly failed: FlowError | undefined;
  /** undefined: it was not computed yet, as far as this process knows. */
  readonly last: ViewRun | undefined;
  /** What this process wrote of it since it started. */
  readonly changed: number;
};

/** How often inputs and groups are looked at. */
const lookIntervalMs = 200;
const lookIntervalOnceMs = 25;
/** A view that is up to date, where its inputs go on. */
const lookAgainMs = 1_000;
const closeMsMax = 5_000;
/** What the answer about a view of another instance is waited for. */
const lookMsMax = 1_000;

type Slot = {
  readonly runner: ViewRunner;
  /** No sooner than then is it computed again. */
  restsUntilMs: number;
  /** In a triggered update: nothing more is to be done for it. */
  isDone: boolean;
  failed: FlowError | undefined;
  failuresInRow: number;
  changed: number;
  /** How another owner's view stands, while the answer is on its way. */
  readonly state: PendingAnswer<ViewState>;
  /** Whether another owner has read as far as this update, while the answer is on its way. */
  readonly reading: PendingAnswer<boolean>;
  /** In a triggered update: where its inputs ended when the flows were done. */
  goal: InputEnds | undefined;
};

/**
 * Keeps the materialized views of a pipeline up to date, one after another, beside the flows of a worker. Invariant: a
 * view is computed by the one member that owns it; in a triggered update it is done only when it was brought up to date
 * after its inputs were, by whichever process.
 */
export class ViewUpdates {
  readonly #options: ViewUpdatesOptions;
  #slots: readonly Slot[] = [];
  #isReleased: boolean;
  #paused: ReadonlySet<string> = new Set();
  #isStopping = false;
  #running: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(options: ViewUpdatesOptions) {
    this.#options = options;
    this.#isReleased = !options.settings.once;
  }

  get facts(): readonly ViewFacts[] {
    return this.#options.views;
  }

  start(): void {
    this.#slots = this.#options.views.map((facts) => this.#join(facts));
    this.#running = this.#loop().catch((error: unknown) => {
      this.#failure = { error };
    });
  }

  #join(facts: ViewFacts): Slot {
    const { settings, log, clock, catalog } = this.#options;
    const { name, replaceWhere } = facts.view;
    const generation = async (): Promise<number> => {
      // A materialized view is never refreshed: each update computes all of it.
      if (replaceWhere === undefined) return 0;
      await catalog.read();
      return generationOf(catalog, name);
    };
    const member = log.joinGroup({
      group: facts.group,
      topics: [facts.catalogTopic],
      instanceId: settings.staticMembership ? settings.instance : undefined,
      sessionTimeoutMs: settings.sessionTimeoutMs,
      rebalanceTimeoutMs: settings.rebalanceTimeoutMs,
    });
    const transactionalId = settings.delivery === 'exactly_once' ? facts.group : undefined;
    return {
      runner: new ViewRunner({
        facts,
        log,
        clock,
        member,
        topics: new ViewTopics({ facts, log, catalog, clock }),
        transactionalId,
        generation,
        isComputedOnce: settings.once,
      }),
      restsUntilMs: 0,
      isDone: false,
      failed: undefined,
      failuresInRow: 0,
      changed: 0,
      state: new PendingAnswer(),
      reading: new PendingAnswer(),
      goal: undefined,
    };
  }

  /** Has exactly these stand still: none of them is computed from now on. */
  setPaused(names: ReadonlySet<string>): void {
    this.#paused = names;
  }

  /** All flows of the triggered update are done: what the views read stands. */
  release(): void {
    this.#isReleased = true;
  }

  /** Throws where something failed that no view is to blame for: from then on none of them is computed. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  get isDone(): boolean {
    this.check();
    return this.#slots.every(({ isDone, failed }) => isDone || failed !== undefined);
  }

  /** Of the first view that cannot go on. */
  get failed(): FlowError | undefined {
    return this.#slots.find(({ failed }) => failed !== undefined)?.failed;
  }

  progress(): readonly ViewProgress[] {
    return this.#slots.map(({ runner, failed, changed }) => ({
      view: runner.facts.view.name,
      kind: batchKind(runner.facts.view),
      table: runner.facts.view.table,
      isPaused: this.#paused.has(runner.facts.view.name),
      failed,
      last: runner.last,
      changed,
    }));
  }

  async stop(isLeaving: boolean): Promise<void> {
    this.#isStopping = true;
    const closing = async (): Promise<void> => {
      await this.#running;
      for (const { runner, failed } of this.#slots) {
        if (failed === undefined) await runner.close(isLeaving);
      }
    };
    await isSettledWithin(this.#options.clock, closeMsMax, closing());
  }

  async #loop(): Promise<void> {
    const { clock, settings } = this.#options;
    while (!this.#isStopping) {
      for (const slot of this.#slots) {
        if (this.#isStopping || slot.failed !== undefined) continue;
        await this.#guard(slot, () => this.#turn(slot));
        // What reads a view that is not done has to wait for it.
        if (settings.once && this.#isReleased && !slot.isDone && slot.failed === undefined) break;
      }
      await clock.sleep(settings.once ? lookIntervalOnceMs : lookIntervalMs);
    }
  }

  async #turn(slot: Slot): Promise<void> {
    const { clock, settings, listener } = this.#options;
    const { runner } = slot;
    const { view } = runner.facts;
    if (!(await runner.keepMembership()) || this.#paused.has(view.name)) return;
    if (!this.#isReleased || slot.isDone || clock.monotonic() < slot.restsUntilMs) return;
    const state = runner.isOwner ? await runner.state() : await this.#stateOfOther(slot);
    if (settings.once && (await this.#isLeft(slot, state))) return;
    const isDue = view.isVolatile && view.replaceWhere?.once !== true && runner.isOwner;
    if (state === 'current' && !isDue) {
      slot.isDone = settings.once;
      slot.restsUntilMs = clock.monotonic() + lookAgainMs;
      return;
    }
    if (!runner.isOwner) return;
    const startedMs = clock.monotonic();
    const { run, rows, changed, removed } = await runner.compute();
    await clearStop(this.#options, view.name, { move: 'committed', offsetOf: () => Infinity });
    const durationMs = clock.monotonic() - startedMs;
    slot.failuresInRow = 0;
    slot.changed += changed;
    slot.isDone = settings.once;
    const restMs =
      view.refreshMicros === undefined
        ? settings.viewIntervalMs
        : Number(view.refreshMicros / 1_000n);
    slot.restsUntilMs = clock.monotonic() + restMs;
    const figures = { run, rows, changed, removed, durationMs };
    listener({ event: 'view_computed', view: view.name, kind: batchKind(view), ...figures });
  }

  /**
   * Whether an update has nothing to do here, now or ever. What it has to read are the inputs as they stood when the flows
   * were done. What was open there is being ended by whoever took their tables over; beside an instance that goes on something
   * is always open behind it.
   */
  async #isLeft(slot: Slot, state: ViewState): Promise<boolean> {
    const { runner } = slot;
    slot.goal ??= await runner.inputEnds();
    if (state === 'current') return false;
    if (runner.isOwner) return state === 'unsettled' && !(await runner.isReadable(slot.goal));
    slot.isDone = await this.#isReadByOther(slot, slot.goal);
    return true;
  }

  async #isReadByOther(slot: Slot, goal: InputEnds): Promise<boolean> {
    const { runner, reading } = slot;
    return (
      (await reading.within(this.#options.clock, lookMsMax, () => runner.hasRead(goal))) ?? false
    );
  }

  /**
   * The log does not answer while the owner is in its commit. One that died there is another's to end, and whoever waited
   * for it could not become that other (simulation seed 447).
   */
  async #stateOfOther(slot: Slot): Promise<ViewState> {
    const { runner, state } = slot;
    return (
      (await state.within(this.#options.clock, lookMsMax, () => runner.state())) ?? 'unsettled'
    );
  }

  async #guard(slot: Slot, step: () => Promise<void>): Promise<void> {
    const { clock, listener, settings } = this.#options;
    try {
      await step();
    } catch (error) {
      if (!(error instanceof FlowError)) throw error;
      await slot.runner.drop();
      slot.failuresInRow += 1;
      const isLasting = error.remedy === 'fix-input' || error.remedy === 'stop';
      if (isLasting || slot.failuresInRow > settings.retriesMax) {
        const { name } = slot.runner.facts.view;
        listener({ event: 'flow_failed', flow: name, error });
        await recordStop({ ...this.#options, instance: settings.instance }, name, error);
        // Another one may be able to compute it, and gets it only once it is let go (simulation seed 91807552).
        await isSettledWithin(clock, closeMsMax, slot.runner.close(true));
        // Last of all: an update ends when it sees that nothing more is to be done.
        slot.failed = error;
        return;
      }
      const delayMs = Math.min(
        settings.retryDelayMaxMs,
        50 * 2 ** Math.min(slot.failuresInRow, 10),
      );
      listener({ event: 'recovering', error, attempt: slot.failuresInRow, delayMs });
      await clock.sleep(delayMs);
    }
  }
}

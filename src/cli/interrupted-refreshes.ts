import { FlowError } from '../base/errors.ts';
import { builtFlowOf } from '../plan/bind/names.ts';
import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import type { Clock } from '../ports/clock.ts';
import { isOver, isUntouched } from '../refresh/refresh-states.ts';
import { flowsOf } from '../runtime/refresh/refresh-facts.ts';
import {
  definitionDigest,
  openRefresh,
  type RefreshRecord,
} from '../runtime/refresh/refresh-record.ts';
import type { Catalog } from '../runtime/topics/catalog.ts';
import { type LockFacts, lockFlows, unlockFlows } from '../runtime/topics/locks.ts';
import type { StartVerb, VerbOutcome } from './verb-process.ts';

export type InterruptedRefreshesOptions = {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly plan: PipelinePlan;
  readonly instance: string;
  readonly start: StartVerb;
  readonly say: (fields: Readonly<Record<string, unknown>>, text: string) => void;
};

/** Whoever replaces records tells every ten seconds that it goes on. */
const silentMs = 60_000;
/** How long the claim of an instance that was killed meanwhile stands in the way of others. */
const claimMs = 120_000;
const pauseMs = 60_000;

/**
 * Finishes refreshes whose command was killed after it had begun to replace records: until they are at their end their
 * flows stand still, and there is no way back. Invariants: none is begun, and none that could still be given up; only one
 * of the definition that this instance runs; and of several instances one does it.
 */
export class InterruptedRefreshes {
  readonly #options: InterruptedRefreshesOptions;
  /** Flow → when it is looked at again. */
  readonly #notBefore = new Map<string, number>();
  #isBusy = false;
  #isClosed = false;

  constructor(options: InterruptedRefreshesOptions) {
    this.#options = options;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** One look at what the catalog tells. */
  async look(records: readonly RefreshRecord[]): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (const record of records)
        if (!this.#isClosed && this.#isDue(record)) await this.#finish(record);
    } finally {
      this.#isBusy = false;
    }
  }

  #isDue(record: RefreshRecord): boolean {
    const nowMs = this.#options.clock.now();
    return (
      nowMs >= (this.#notBefore.get(record.flow) ?? 0) &&
      isInterrupted(record, nowMs) &&
      this.#isOwn(record)
    );
  }

  /** With another definition the table would be taken for what it is not. */
  #isOwn({ table, definition }: RefreshRecord): boolean {
    const { plan } = this.#options;
    const found = plan.tables.find(({ name }) => name === table);
    return (
      found !== undefined &&
      plan.flows.some(({ target }) => target === table) &&
      definition === definitionDigest(flowsOf(plan, found), found)
    );
  }

  async #finish({ flow, table, mode }: RefreshRecord): Promise<void> {
    const { catalog, clock, instance, start, say } = this.#options;
    const args = ['refresh', table, '--yes', ...(mode === 'in_place' ? ['--in-place'] : [])];
    const claim: LockFacts = {
      flow: builtFlowOf(flow),
      command: `tidemark ${args.join(' ')}`,
      token: `finish ${instance}`,
      untilMs: clock.now() + claimMs,
    };
    try {
      await lockFlows(catalog, [claim], clock.now());
    } catch (error) {
      // Another instance was first.
      if (error instanceof FlowError && error.code === 'TABLE_LOCKED') return;
      throw error;
    }
    this.#notBefore.set(flow, clock.now() + pauseMs);
    try {
      // The claim has read the catalog: somebody may have gone on with it.
      const record = openRefresh(catalog, flow);
      if (record === undefined || !isInterrupted(record, clock.now())) return;
      say({ table, mode }, 'an interrupted refresh is finished');
      const outcome = await start(args).ended;
      say({ table, ...outcomeFields(outcome) }, 'the interrupted refresh has come to an end');
    } finally {
      await unlockFlows(catalog, [claim], clock.now());
    }
  }
}

function isInterrupted({ state, changedAtMs }: RefreshRecord, nowMs: number): boolean {
  return !isOver(state) && !isUntouched(state) && nowMs - changedAtMs >= silentMs;
}

function outcomeFields({ exitCode, error }: VerbOutcome): Readonly<Record<string, unknown>> {
  return error === undefined ? { exitCode } : { exitCode, code: error.code, error: error.message };
}

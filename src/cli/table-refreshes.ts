import { HttpProblem } from '../adapters/http/http-problem.ts';
import type { JsonObject, RefreshAction } from '../adapters/http/service-api.ts';
import type { Clock } from '../ports/clock.ts';
import {
  outcomeWithin,
  printed,
  type StartVerb,
  type VerbOutcome,
  type VerbRun,
} from './verb-process.ts';

export type TableRefreshesOptions = {
  readonly start: StartVerb;
  readonly clock: Clock;
  /** How long an answer waits for the end of what was asked. */
  readonly patienceMs: number;
};

type Known = {
  readonly startedAtMs: number;
  endedAtMs: number | undefined;
  outcome: VerbOutcome | undefined;
};

export type RefreshAnswer = { readonly isOver: boolean; readonly body: JsonObject };

/**
 * Full refreshes that were asked for over HTTP. Invariants: at most one a table is started from here at a time, and none
 * where the verb `refresh` would refuse it; one that takes long goes on when nobody waits for it any more.
 */
export class TableRefreshes {
  readonly #options: TableRefreshesOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: TableRefreshesOptions) {
    this.#options = options;
  }

  async act(table: string, request: RefreshAction): Promise<RefreshAnswer> {
    const flags = [
      ...(request.inPlace === true ? ['--in-place'] : []),
      ...(request.allowLoss === true ? ['--allow-loss'] : []),
      ...(request.keepUnrecoverable === true ? ['--keep-unrecoverable'] : []),
    ];
    switch (request.action) {
      case 'plan':
        return this.#wait(this.#options.start(['refresh', table, '--plan', ...flags]), 'stop');
      case 'cancel':
        await this.#wait(this.#options.start(['refresh', table, '--cancel', '--yes']), 'stop');
        return { isOver: true, body: { table, state: 'cancelled' } };
      case 'start':
        return this.#start(table, flags);
    }
  }

  #start(table: string, flags: readonly string[]): Promise<RefreshAnswer> {
    const { start, clock } = this.#options;
    const before = this.#known.get(table);
    if (before !== undefined && before.endedAtMs === undefined) {
      throw new HttpProblem('CONFLICT', `a refresh of table "${table}" is under way`, {
        hint: 'Give it up with {"action": "cancel"}, or wait for it.',
      });
    }
    const run = start(['refresh', table, '--yes', ...flags]);
    const known: Known = { startedAtMs: clock.now(), endedAtMs: undefined, outcome: undefined };
    this.#known.set(table, known);
    const ended = run.ended.then((outcome) => {
      known.endedAtMs = clock.now();
      known.outcome = outcome;
      return outcome;
    });
    const started = { isOver: false, body: { table, ...this.of(table) } };
    return this.#wait({ ...run, ended }, started);
  }

  /** The answer of what was asked, or what to say when it takes too long. */
  async #wait(run: VerbRun, otherwise: RefreshAnswer | 'stop'): Promise<RefreshAnswer> {
    if (otherwise === 'stop') {
      const outcome = await outcomeWithin(run, this.#options);
      return { isOver: true, body: JSON.parse(printed(outcome)) as JsonObject };
    }
    const { clock, patienceMs } = this.#options;
    const late = clock.sleep(patienceMs).then(() => undefined);
    const outcome = await Promise.race([run.ended, late]);
    if (outcome === undefined) return otherwise;
    return { isOver: true, body: JSON.parse(printed(outcome)) as JsonObject };
  }

  /** The refresh of a table that was asked for last from here; undefined: none was. */
  of(table: string): JsonObject | undefined {
    const known = this.#known.get(table);
    if (known === undefined) return undefined;
    const { startedAtMs, endedAtMs, outcome } = known;
    const isDone = outcome?.exitCode === 0;
    return {
      state: outcome === undefined ? 'running' : isDone ? 'done' : 'failed',
      startedAt: new Date(startedAtMs).toISOString(),
      endedAt: endedAtMs === undefined ? null : new Date(endedAtMs).toISOString(),
      error: outcome === undefined || isDone ? null : (outcome.error?.message ?? 'it ended'),
    };
  }
}

import { FlowError } from '../../base/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { RunnerError } from '../worker/blame.ts';
import type { FlowRunner } from '../worker/flow-runner.ts';
import { refuseRecreated } from './refuse-recreated.ts';

const askIntervalMs = 5_000;

/**
 * Watches whether the topics of tables are still those that their flows started with: to write to a topic its name is
 * enough, so nobody else would notice that a new one has taken its place. Invariant: no turn waits for the answer.
 */
export class RecreatedTables {
  readonly #log: Log;
  readonly #clock: Clock;
  #nextMs: number;
  #isAsking = false;
  #found: RunnerError | undefined;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
    this.#nextMs = clock.monotonic() + askIntervalMs;
  }

  /** Throws, once, what was found since the last turn. */
  turn(runners: readonly FlowRunner[]): void {
    const found = this.#found;
    this.#found = undefined;
    if (found !== undefined && runners.includes(found.runner)) throw found;
    if (this.#isAsking || this.#clock.monotonic() < this.#nextMs) return;
    this.#nextMs = this.#clock.monotonic() + askIntervalMs;
    void this.#ask(runners);
  }

  async #ask(runners: readonly FlowRunner[]): Promise<void> {
    this.#isAsking = true;
    for (const runner of runners) {
      try {
        await refuseRecreated(this.#log, runner.facts);
      } catch (error) {
        // A broker that does not answer is told elsewhere.
        if (isRecreated(error)) this.#found ??= new RunnerError(runner, error);
      }
    }
    this.#isAsking = false;
  }
}

function isRecreated(error: unknown): boolean {
  return error instanceof FlowError && error.code === 'TOPIC_RECREATED';
}

import type { MemoryClient } from '../adapters/memory/memory-client.ts';
import { type ErrorCode, FlowError } from '../base/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Faults } from './faults.ts';

export type SimulatedProcessOptions = {
  readonly clock: Clock;
  readonly faults: Faults;
  /** How long a stall lasts at most; longer than a session, so that some end in being thrown out. */
  readonly stallMsMax: number;
};

/**
 * One process of a simulated world: every call it makes to the outside may be slow, fail, stop the
 * process for a while or be its last. Invariant: after a crash none of its calls is ever answered and
 * none has an effect, so its code stands still for ever, as that of a process that is gone.
 */
export class SimulatedProcess {
  readonly clock: Clock;
  readonly #clock: Clock;
  readonly #faults: Faults;
  readonly #stallMsMax: number;
  #client: MemoryClient | undefined;
  #isCrashed = false;
  #stalled: Promise<void> | undefined;
  #reportCrash: () => void = () => undefined;
  /** Resolves when the process crashes. */
  readonly crashed: Promise<void>;

  constructor({ clock, faults, stallMsMax }: SimulatedProcessOptions) {
    this.#clock = clock;
    this.#faults = faults;
    this.#stallMsMax = stallMsMax;
    this.crashed = new Promise((resolve) => {
      this.#reportCrash = resolve;
    });
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      sleep: async (ms) => {
        await clock.sleep(ms);
        await this.#alive();
      },
    };
  }

  get isCrashed(): boolean {
    return this.#isCrashed;
  }

  /** The connection that dies with this process. */
  attach(client: MemoryClient): void {
    this.#client = client;
  }

  crash(): void {
    this.#isCrashed = true;
    this.#client?.kill();
    this.#reportCrash();
  }

  /** One call to the outside: misfortunes before it, in its answer and after it. */
  async call<T>(unavailable: ErrorCode, lost: ErrorCode, work: () => Promise<T>): Promise<T> {
    await this.step();
    if (this.#faults.strikes('refuse')) {
      throw new FlowError(unavailable, 'the simulated service is away');
    }
    try {
      const answer = await work();
      if (this.#faults.strikes('loseAnswer')) {
        throw new FlowError(lost, 'the simulated answer was lost');
      }
      return answer;
    } finally {
      await this.step();
    }
  }

  /** A point at which the others may run, and this process may stop or end. */
  async step(): Promise<void> {
    await this.#alive();
    if (this.#faults.strikes('delay')) await this.#clock.sleep(this.#faults.below(50));
    if (this.#faults.strikes('stall')) this.#stall(this.#faults.below(this.#stallMsMax));
    if (this.#faults.strikes('crash')) this.crash();
    await this.#alive();
  }

  #stall(ms: number): void {
    if (this.#stalled !== undefined) return;
    this.#client?.stall();
    this.#stalled = this.#clock.sleep(ms).then(() => {
      this.#stalled = undefined;
      this.#client?.resume();
    });
  }

  /** Passes at once while the process runs, waits while it is stopped, and never passes after its end. */
  async #alive(): Promise<void> {
    while (this.#stalled !== undefined) await this.#stalled;
    if (this.#isCrashed) await new Promise(() => {});
  }
}

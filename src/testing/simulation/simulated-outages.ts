import type { Clock } from '../../ports/clock.ts';

/** Times in which a whole service of a simulated world is away for everybody, as while it restarts. */
export class Outages {
  brokerUntilMs = 0;
  stateUntilMs = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isBrokerAway(): boolean {
    return this.brokerUntilMs > this.#clock.monotonic();
  }

  get isStateAway(): boolean {
    return this.stateUntilMs > this.#clock.monotonic();
  }

  end(): void {
    this.brokerUntilMs = 0;
    this.stateUntilMs = 0;
  }
}

import type { Clock } from '../../ports/clock.ts';

/**
 * Times in which a whole service of a simulated world is away for everybody, as while it restarts, or gives nothing of one
 * partition.
 */
export class Outages {
  brokerUntilMs = 0;
  stateUntilMs = 0;
  readonly #clock: Clock;
  /** "topic/partition" → until when it is read by nobody. */
  readonly #silent = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isBrokerAway(): boolean {
    return this.brokerUntilMs > this.#clock.monotonic();
  }

  get isStateAway(): boolean {
    return this.stateUntilMs > this.#clock.monotonic();
  }

  silence(topic: string, partition: number, ms: number): void {
    this.#silent.set(`${topic}/${partition}`, this.#clock.monotonic() + ms);
  }

  isSilent(topic: string, partition: number): boolean {
    if (this.#silent.size === 0) return false;
    return (this.#silent.get(`${topic}/${partition}`) ?? 0) > this.#clock.monotonic();
  }

  end(): void {
    this.#silent.clear();
    this.brokerUntilMs = 0;
    this.stateUntilMs = 0;
  }
}

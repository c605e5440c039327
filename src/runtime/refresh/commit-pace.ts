import type { Clock } from '../../ports/clock.ts';
import type { LogProducer } from '../../ports/log.ts';

const pendingBytesMax = 4 * 1024 * 1024;
/** A small part of the time after which a broker ends a transaction by itself. */
const openMsMax = 1_000;

/**
 * Commits what a long copy has written every so often. Invariant: between two turns lies no more than what is read at once, so
 * that no transaction is open for as long as the whole copy takes, which the broker would end (simulation seed 711988 with
 * refreshes).
 */
export class CommitPace {
  readonly #producer: LogProducer;
  readonly #clock: Clock;
  #sinceMs: number;

  constructor(producer: LogProducer, clock: Clock) {
    this.#producer = producer;
    this.#clock = clock;
    this.#sinceMs = clock.monotonic();
  }

  /** To be called where what was written may become visible. True: it has. */
  async turn(): Promise<boolean> {
    const isLarge = this.#producer.pendingBytes > pendingBytesMax;
    if (!isLarge && this.#clock.monotonic() - this.#sinceMs < openMsMax) return false;
    await this.commit();
    return true;
  }

  async commit(): Promise<void> {
    await this.#producer.commit([]);
    this.#sinceMs = this.#clock.monotonic();
  }
}

import type { LogReader, Slice } from '../../ports/log.ts';

/**
 * What a reader brings, one poll at a time. Invariant: a slice that the reader gave is handed on once, however many
 * wait for the poll, and what went wrong before everything was dropped is nobody's any more.
 */
export class SlicePolls {
  readonly #reader: LogReader;
  #polling: Promise<void> | undefined;
  readonly #ready: Slice[] = [];
  #pollError: { readonly error: unknown } | undefined;
  /** Grows with each `drop`. */
  #drops = 0;

  constructor(reader: LogReader) {
    this.#reader = reader;
  }

  /**
   * Resolves when slices (or an error) are there to `take`, or after the wait. The same promise until it is
   * settled, so that several flows can be waited for at once and no slice is lost to the slower ones.
   */
  poll(maxWaitMs: number): Promise<void> {
    if (this.#ready.length > 0 || this.#pollError !== undefined) return Promise.resolve();
    const drops = this.#drops;
    this.#polling ??= this.#reader
      .poll(maxWaitMs)
      .then(
        (slices) => {
          // Even where everything was dropped meanwhile: the reader gives nothing of before, and what it gives now it
          // gives once (simulation seed 8752).
          this.#ready.push(...slices);
        },
        (error: unknown) => {
          if (drops === this.#drops) this.#pollError = { error };
        },
      )
      .finally(() => {
        this.#polling = undefined;
      });
    return this.#polling;
  }

  /** What the polls have brought since the last call. */
  take(): readonly Slice[] {
    const failed = this.#pollError;
    this.#pollError = undefined;
    if (failed !== undefined) throw failed.error;
    return this.#ready.splice(0);
  }

  /** What is here is of no more use: the tasks that it was read for are gone. */
  drop(): void {
    this.#drops += 1;
    this.#ready.length = 0;
    this.#pollError = undefined;
  }
}

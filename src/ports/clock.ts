/** Time as the runtime sees it, so that a simulation can turn it by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonic(): number;
  sleep(ms: number): Promise<void>;
}

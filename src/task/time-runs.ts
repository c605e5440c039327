/** One commit's records by their timestamps: `count` records in a row of one time. */
export type TimeRun = { readonly timestampMs: number; count: number };

/** Runs that are kept of one commit; what comes after them joins the last one. */
const runsMax = 100_000;

/**
 * When the records of a commit were made. Invariant: every record is in exactly one run; neighbours of one time, which
 * is nearly all of them while a flow keeps up, cost no memory.
 */
export class TimeRuns {
  #runs: TimeRun[] = [];

  add(timestampMs: number): void {
    const last = this.#runs.at(-1);
    if (last !== undefined && (last.timestampMs === timestampMs || this.#runs.length >= runsMax)) {
      last.count += 1;
    } else {
      this.#runs.push({ timestampMs, count: 1 });
    }
  }

  /** Everything since the last call. */
  take(): readonly TimeRun[] {
    const runs = this.#runs;
    this.#runs = [];
    return runs;
  }
}

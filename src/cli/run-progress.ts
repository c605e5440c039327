import type { WorkerProgress } from '../runtime/worker/worker-progress.ts';

/** How far a worker is, in the numbers that people ask for. */
export type ProgressFigures = {
  readonly state: string;
  /** Records of the source topics that were read and committed, since the start of this process. */
  readonly records: number;
  readonly outputRecords: number;
  /** Records of the partitions of this process that are not committed yet; control records never count. */
  readonly lag: number;
  readonly recordsPerSecond: number;
};

/** Derives figures from snapshots. Invariant: lag is never negative. */
export class ProgressMeter {
  #recordsBefore = 0;
  #atMs: number;

  constructor(startMs: number) {
    this.#atMs = startMs;
  }

  take(progress: WorkerProgress, nowMs: number): ProgressFigures {
    const seconds = Math.max((nowMs - this.#atMs) / 1000, 0.001);
    const rate = (progress.records - this.#recordsBefore) / seconds;
    this.#recordsBefore = progress.records;
    this.#atMs = nowMs;
    return {
      state: progress.state,
      records: progress.records,
      outputRecords: progress.outputRecords,
      lag: lagOf(progress),
      recordsPerSecond: Math.round(rate),
    };
  }
}

export function lagOf(progress: WorkerProgress): number {
  let lag = 0;
  for (const { partitions } of progress.flows) {
    for (const { committed, stable } of partitions) lag += Math.max(0, stable - committed);
  }
  return lag;
}

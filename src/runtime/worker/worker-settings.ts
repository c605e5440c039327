export type WorkerSettings = {
  readonly pipeline: string;
  /** Stable name of this process within the pipeline; part of its transactional id. */
  readonly instance: string;
  /** Tells this process from every other one, also of its name. */
  readonly token: string;
  readonly delivery: 'exactly_once' | 'at_least_once';
  /** Ends at the offsets that stand at the start. */
  readonly once: boolean;
  readonly commitIntervalMs: number;
  /** How long a materialized view rests after it was computed, where it does not say itself. */
  readonly viewIntervalMs: number;
  /** Records processed since the last commit that force the next one. */
  readonly commitRecordsMax: number;
  /** Bytes fetched, and of rows in memory, since the last commit that force the next one: what a transaction keeps in memory. */
  readonly commitBytesMax: number;
  /** Bytes appended and not yet acknowledged, above which processing waits. */
  readonly pendingBytesMax: number;
  readonly cacheBytesMax: number;
  /** How rows reach the table partitions that this process has. */
  readonly shuffle: 'memory' | 'topic';
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly staticMembership: boolean;
  /** Whether a stop that was asked for gives a static member's place up at once. */
  readonly leavesOnStop: boolean;
  readonly retryDelayMinMs: number;
  readonly retryDelayMaxMs: number;
  /** Failures in a row that are retried before the worker gives up; Infinity in a service. */
  readonly retriesMax: number;
};

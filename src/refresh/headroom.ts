import { isCompactedPolicy } from './retention.ts';

/** What decides how long the oldest record that a flow has not read yet will still be there. */
export type HeadroomFacts = {
  /** undefined: time takes nothing away. */
  readonly retentionMs: number | undefined;
  /** How long compaction leaves a record alone; undefined: it takes none that counts. */
  readonly compactionMs?: number | undefined;
  /** Timestamp of the oldest record that waits; undefined: none does. */
  readonly oldestMs: number | undefined;
  readonly nowMs: number;
  /** undefined: the flow has no checkpoint, and starts at the log start. */
  readonly committed: number | undefined;
  readonly logStart: number;
  /** How fast the log start moved lately, in offsets a second; undefined or 0: it does not, as far as anybody has seen. */
  readonly logStartPerSecond?: number | undefined;
};

export type Headroom = {
  /** Time until retention may take the oldest record that waits; Infinity: never. Negative: it may be gone any moment. */
  readonly seconds: number;
  /**
   * Time until compaction may take the oldest record that waits, where a newer one has its record key; Infinity: never, or none waits.
   * That is no loss of a key, but of a version, which need not be the one that counts.
   */
  readonly compactionSeconds: number;
  /** Offsets between the log start and the checkpoint. */
  readonly records: number;
  /** Offsets that were taken away before the flow had read them. */
  readonly lost: number;
};

/**
 * The smaller of what time and what size leave. Size shows in nothing but a log start that moves: at its present pace it
 * reaches the checkpoint after so many seconds. Invariant: without anything that waits the whole retention time is left.
 */
export function headroom(facts: HeadroomFacts): Headroom {
  const { retentionMs, compactionMs, oldestMs, nowMs, logStart, logStartPerSecond = 0 } = facts;
  const committed = facts.committed ?? logStart;
  const records = Math.max(0, committed - logStart);
  const ageMs = oldestMs === undefined ? 0 : Math.max(0, nowMs - oldestMs);
  const byTime =
    retentionMs === undefined ? Number.POSITIVE_INFINITY : (retentionMs - ageMs) / 1000;
  const isMoving = logStartPerSecond > 0 && oldestMs !== undefined;
  const bySize = isMoving ? records / logStartPerSecond : Number.POSITIVE_INFINITY;
  return {
    seconds: Math.min(byTime, bySize),
    compactionSeconds:
      compactionMs === undefined || oldestMs === undefined
        ? Number.POSITIVE_INFINITY
        : Math.max(0, (compactionMs - ageMs) / 1000),
    records,
    lost: Math.max(0, logStart - committed),
  };
}

/** retention.ms of a topic that deletes by time; undefined: it keeps its records, or only compacts. */
export function deletionMs(configs: ReadonlyMap<string, string>): number | undefined {
  const isDeleting = (configs.get('cleanup.policy') ?? 'delete').includes('delete');
  const retentionMs = Number(configs.get('retention.ms') ?? '-1');
  return isDeleting && Number.isFinite(retentionMs) && retentionMs >= 0 ? retentionMs : undefined;
}

/** min.compaction.lag.ms of a topic that is compacted; undefined: it is not. */
export function compactionMs(configs: ReadonlyMap<string, string>): number | undefined {
  if (!isCompactedPolicy(configs.get('cleanup.policy'))) return undefined;
  const lagMs = Number(configs.get('min.compaction.lag.ms') ?? '0');
  return Number.isFinite(lagMs) ? Math.max(0, lagMs) : 0;
}

/** How long that is, for a person. */
export function durationText(seconds: number): string {
  if (seconds === Number.POSITIVE_INFINITY) return 'for ever';
  if (seconds <= 0) return 'none';
  const parts: readonly (readonly [string, number])[] = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ];
  const at = parts.findIndex(([, size]) => seconds >= size);
  const [unit, size] = parts[at] ?? ['s', 1];
  const [nextUnit, nextSize] = parts[at + 1] ?? ['s', 1];
  const rest = Math.floor((seconds % size) / nextSize);
  const whole = `${Math.floor(seconds / size)} ${unit}`;
  return size > 1 && rest > 0 ? `${whole} ${rest} ${nextUnit}` : whole;
}

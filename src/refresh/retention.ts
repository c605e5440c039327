import type { Provenance } from '../data/provenance.ts';

/** What the log has of one partition of a topic that a flow reads: facts, as of one moment. */
export type SourcePartitionFacts = {
  /** Name of the source in the pipeline; several sources may read one topic. */
  readonly source: string;
  readonly topic: string;
  /** 32 hexadecimal digits, as provenance has it. */
  readonly topicId: string;
  readonly partition: number;
  /** First available offset. */
  readonly logStart: number;
  /** Where a committed reader stops. */
  readonly end: number;
  /** undefined: the flow has no checkpoint here. */
  readonly committed: number | undefined;
  /** Timestamps of the first and the last record that are there, in milliseconds; undefined: there is none. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  /** Whether compaction may take away any record but the newest of its record key. */
  readonly isCompacted: boolean;
  /** retention.ms and retention.bytes; undefined: without limit. */
  readonly retentionMs: number | undefined;
  readonly retentionBytes: number | undefined;
};

/**
 * Whether a record can be read again.
 *
 * - `readable`: it is there.
 * - `at_risk`: its topic is compacted, so it may be gone now or any time later, and a record of a lower sequence
 *   may be what is left of its key.
 * - `expired`: it lies before the log start.
 * - `truncated`: it lies behind the end; the log lost what it had.
 * - `elsewhere`: it was in a topic that was deleted, created anew, or is no longer read.
 */
export type Readability = 'readable' | 'at_risk' | 'expired' | 'truncated' | 'elsewhere';

/** The bounds of a partition, as far as they decide. */
export type PartitionBounds = Pick<SourcePartitionFacts, 'logStart' | 'end' | 'isCompacted'>;

/**
 * Decides of single records whether they can be read again. Invariant: only what is certainly there is `readable`;
 * a partition that the facts do not name holds nothing.
 */
export class SourceBounds {
  readonly #partitions = new Map<string, Map<number, PartitionBounds>>();

  constructor(facts: readonly SourcePartitionFacts[]) {
    for (const { topicId, partition, logStart, end, isCompacted } of facts) {
      const topic = this.#partitions.get(topicId) ?? new Map<number, PartitionBounds>();
      topic.set(partition, { logStart, end, isCompacted });
      this.#partitions.set(topicId, topic);
    }
  }

  readability({
    topicId,
    partition,
    offset,
  }: Pick<Provenance, 'topicId' | 'partition' | 'offset'>): Readability {
    const bounds = this.#partitions.get(topicId)?.get(partition);
    if (bounds === undefined) return 'elsewhere';
    if (offset < bounds.logStart) return 'expired';
    if (offset >= bounds.end) return 'truncated';
    return bounds.isCompacted ? 'at_risk' : 'readable';
  }
}

/** Whether a topic with these settings may lose any record that is not the newest of its key. */
export function isCompactedPolicy(cleanupPolicy: string | undefined): boolean {
  return (cleanupPolicy ?? 'delete').split(',').some((one) => one.trim() === 'compact');
}

/** A limit as Kafka writes it: negative means none. */
export function retentionLimit(text: string | undefined): number | undefined {
  const limit = Number(text ?? '-1');
  return Number.isFinite(limit) && limit >= 0 ? limit : undefined;
}

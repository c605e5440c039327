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
  /** The topic is the output of a table of the pipeline: what its rows came from lies further back. */
  readonly isTable?: boolean;
};

/**
 * Whether a record can be read again.
 *
 * - `readable`: it is there.
 * - `at_risk`: its topic is compacted, so it may be gone now or any time later, and a record of a lower sequence
 *   may be what is left of its key; or it came through a table that no longer holds everything.
 * - `expired`: it lies before the log start.
 * - `truncated`: it lies behind the end; the log lost what it had.
 * - `elsewhere`: it was in a topic that was deleted, created anew, or is no longer read.
 */
export type Readability = 'readable' | 'at_risk' | 'expired' | 'truncated' | 'elsewhere';

/** The bounds of a partition, as far as they decide. */
export type PartitionBounds = Pick<SourcePartitionFacts, 'logStart' | 'end' | 'isCompacted'>;

/** What a side of a query reads, by the name of its source; a table has the branches of its own rows beside it. */
export type BranchFacts = { readonly source: string };

/** Sides of a union that provenance has room for beside those of the tables it reads (`task/chained-source.ts`). */
const chainedBranches = 16;

/**
 * Decides of single records whether they can be read again. Invariant: only what is certainly there is `readable`;
 * a partition that the facts do not name holds nothing.
 */
export class SourceBounds {
  readonly #partitions = new Map<string, Map<number, PartitionBounds>>();
  /** One a branch: set where it reads a table, to what holds for each of its rows. */
  readonly #tables: readonly (Readability | undefined)[];

  constructor(facts: readonly SourcePartitionFacts[], branches: readonly BranchFacts[] = []) {
    for (const { topicId, partition, logStart, end, isCompacted, isTable } of facts) {
      if (isTable === true) continue;
      const topic = this.#partitions.get(topicId) ?? new Map<number, PartitionBounds>();
      topic.set(partition, { logStart, end, isCompacted });
      this.#partitions.set(topicId, topic);
    }
    this.#tables = branches.map(({ source }) => {
      const parts = facts.filter((one) => one.source === source && one.isTable === true);
      return parts.length === 0 ? undefined : tableReadability(parts);
    });
  }

  readability({
    topicId,
    partition,
    offset,
    branch,
  }: Pick<Provenance, 'topicId' | 'partition' | 'offset' | 'branch'>): Readability {
    const throughTable = this.#throughTable(branch);
    if (throughTable !== undefined) return throughTable;
    const bounds = this.#partitions.get(topicId)?.get(partition);
    if (bounds === undefined) return 'elsewhere';
    if (offset < bounds.logStart) return 'expired';
    if (offset >= bounds.end) return 'truncated';
    return bounds.isCompacted ? 'at_risk' : 'readable';
  }

  #throughTable(branch: number): Readability | undefined {
    const isChained = this.#tables.some((table) => table !== undefined);
    if (!isChained) return undefined;
    const side = this.#tables.length > 1 ? Math.floor(branch / chainedBranches) : 0;
    return this.#tables[side];
  }
}

/** A table that keeps everything and never lost a record gives every row again, whatever became of its own sources. */
function tableReadability(parts: readonly SourcePartitionFacts[]): Readability {
  const isWhole = parts.every(({ logStart, isCompacted }) => logStart === 0 && !isCompacted);
  return isWhole ? 'readable' : 'at_risk';
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

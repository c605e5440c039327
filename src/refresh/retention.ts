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
  /** Where the flow began to read; undefined: it did not, or nobody knows. */
  readonly firstRead?: number | undefined;
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
  /** The checkpoint is of another topic, which had this name before. */
  readonly isAnew?: boolean;
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

/** Sides of a union that provenance has room for beside those of the tables it reads (`task/row/chained-source.ts`). */
const chainedBranches = 16;

/** Records of first sources whose rows a table that is read has still, where the table does not keep everything. */
export type HeldRecords = {
  has(place: Pick<Provenance, 'topicId' | 'partition' | 'offset'>): boolean;
};

/**
 * Decides of single records whether they can be read again. Invariant: only what is certainly there is `readable`;
 * a partition that the facts do not name holds nothing.
 */
export class SourceBounds {
  readonly #partitions = new Map<string, Map<number, PartitionBounds>>();
  /** One a branch: the partitions of the table that it reads; undefined: it reads none. */
  readonly #tables: readonly (readonly SourcePartitionFacts[] | undefined)[];
  readonly #allTables: readonly SourcePartitionFacts[];
  readonly #held: HeldRecords | undefined;
  readonly #joined: Readability | undefined;

  /** `joined`: the rows are those of a join, which do not say where their two rows are; all of them are readable, or none certainly. */
  constructor(
    facts: readonly SourcePartitionFacts[],
    branches: readonly BranchFacts[] = [],
    held?: HeldRecords,
    joined?: Extract<Readability, 'readable' | 'at_risk'>,
  ) {
    this.#joined = joined;
    for (const { topicId, partition, logStart, end, isCompacted, isTable } of facts) {
      if (isTable === true) continue;
      const topic = this.#partitions.get(topicId) ?? new Map<number, PartitionBounds>();
      topic.set(partition, { logStart, end, isCompacted });
      this.#partitions.set(topicId, topic);
    }
    this.#allTables = facts.filter(({ isTable }) => isTable === true);
    this.#tables = branches.map(({ source }) => {
      const parts = this.#allTables.filter((one) => one.source === source);
      return parts.length === 0 ? undefined : parts;
    });
    this.#held = held;
  }

  readability(place: Pick<Provenance, 'topicId' | 'partition' | 'offset' | 'branch'>): Readability {
    if (this.#joined !== undefined) return this.#joined;
    const table = this.#tableOf(place.branch);
    if (table !== undefined) return this.#throughTable(table, place);
    const { topicId, partition, offset } = place;
    const bounds = this.#partitions.get(topicId)?.get(partition);
    if (bounds === undefined) {
      // Several flows write the table, and each numbers its own branches: what none of them reads itself came through one.
      const isThrough = this.#tables.length === 0 && this.#allTables.length > 0;
      return isThrough ? this.#throughTable(this.#allTables, place) : 'elsewhere';
    }
    if (offset < bounds.logStart) return 'expired';
    if (offset >= bounds.end) return 'truncated';
    return bounds.isCompacted ? 'at_risk' : 'readable';
  }

  #tableOf(branch: number): readonly SourcePartitionFacts[] | undefined {
    return this.#tables[sideOf(branch, this.#tables)];
  }

  /** A table that keeps everything and never lost a record gives every row again, whatever became of its own sources. */
  #throughTable(
    parts: readonly SourcePartitionFacts[],
    place: Pick<Provenance, 'topicId' | 'partition' | 'offset'>,
  ): Readability {
    if (isWholeTable(parts)) return 'readable';
    if (this.#held === undefined) return 'at_risk';
    return this.#held.has(place) ? 'readable' : 'expired';
  }
}

/** The side of a query that a row came from; `tables` has one entry a side, undefined where it reads no table. */
export function sideOf(branch: number, tables: readonly unknown[]): number {
  const isChained = tables.some((table) => table !== undefined);
  if (!isChained) return branch;
  return tables.length > 1 ? Math.floor(branch / chainedBranches) : 0;
}

/** Whether the topic of a table has every record that was ever written to it. */
export function isWholeTable(parts: readonly SourcePartitionFacts[]): boolean {
  return parts.every(({ logStart, isCompacted }) => logStart === 0 && !isCompacted);
}

/** Whether each record that was read of these partitions is there still. */
export function isAllThere(parts: readonly SourcePartitionFacts[]): boolean {
  return (
    isWholeTable(parts) &&
    parts.every(({ isAnew, committed = 0, end }) => isAnew !== true && committed <= end)
  );
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

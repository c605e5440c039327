/**
 * What a flow does, in parts that can be compared one by one: whoever has to say what changed between
 * two definitions starts here. Invariant: equal parts, equal behaviour; how the SQL was spelled, what
 * relations are called, comments and places leave no trace.
 */
export type FlowDefinition = {
  /** Of an append flow, a join and a sift everything about keys and sequence is empty. */
  readonly kind: 'replace_using' | 'append' | 'auto_cdc' | 'join' | 'sift';
  /** It reads what its sources hold when it starts first; absent: it goes on. */
  readonly once?: true;
  readonly timeZone: string;
  readonly keys: readonly string[];
  readonly sequence: string;
  /** The same with the columns by their names, whatever their order. */
  readonly sequenceValue: string;
  /** The columns that it reads, in lower case. */
  readonly sequenceColumns: readonly string[];
  readonly sequenceType: string;
  readonly emptyWhen: string | undefined;
  readonly emptyWhenValue: string | undefined;
  readonly distinct: boolean;
  /** Of an AUTO CDC flow: what its table stores, and what becomes of a change. */
  readonly changes?: ChangeDefinition;
  /** Of a join of two streams: which rows of its sides go together. */
  readonly join?: string;
  /** Absent: no LIMIT. */
  readonly limit?: number | undefined;
  /** `name type`, in the order of the target. */
  readonly columns: readonly string[];
  readonly branches: readonly BranchDefinition[];
};

export type BranchDefinition = {
  readonly topic: string;
  readonly format: string;
  readonly tombstones: string;
  /** The columns of the source that the flow reads, by name. */
  readonly reads: readonly string[];
  readonly steps: readonly string[];
  /** How each column of the target is computed, over the source's columns by name. */
  readonly values: readonly string[];
  readonly filters: readonly string[];
  /** EXPLODE and its kin, in order: they decide how many rows a record gives, and their numbers. */
  readonly generators: readonly string[];
};

export type ChangeDefinition = {
  readonly scdType: 1 | 2;
  readonly tracked: readonly string[];
  readonly ignoreNull: readonly string[];
  readonly deleteWhen: string;
  readonly truncateWhen: string;
};

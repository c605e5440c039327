import type { ChangeDefinition } from '../flows/flow-definition.ts';
import type { RowStep } from '../pipeline-plan.ts';

/** A pipeline as it will run, for `explain --json`. */
export type ExplainedPipeline = {
  readonly pipeline: string;
  readonly timeZone: string;
  readonly catalogTopic: string;
  readonly flows: readonly ExplainedFlow[];
  readonly materializedViews: readonly ExplainedView[];
  /** Tables that no flow writes. */
  readonly idleTables: readonly string[];
};

export type ExplainedFlow = {
  readonly flow: string;
  readonly kind: string;
  readonly target: string;
  readonly targetKind: 'streaming table' | 'sink';
  readonly branches: readonly ExplainedBranch[];
  readonly distinct: boolean;
  readonly expectations: readonly {
    readonly name: string;
    readonly action: string;
    readonly condition: string;
  }[];
  readonly columns: readonly ExplainedColumn[];
  /** None of an append flow, which has no sequence and no way between stages either. */
  readonly keys: readonly ExplainedColumn[];
  readonly sequence: { readonly value: string; readonly type: string } | undefined;
  /** Of an AUTO CDC flow: what its table stores, and what becomes of a change. */
  readonly changes: ChangeDefinition | undefined;
  readonly emptyWhen: string | undefined;
  /** Of a join of two streams: what it compares. */
  readonly join: string | undefined;
  readonly output: string;
  readonly group: string;
  readonly stages: readonly ExplainedStage[];
  readonly repartition: { readonly topic: string; readonly reason: string } | undefined;
  readonly topics: readonly {
    readonly topic: string;
    readonly role: string;
    readonly partitions: number | undefined;
  }[];
  readonly state: string;
  /** Calls that make the result depend on the clock or on chance. */
  readonly nondeterministic: readonly string[];
};

export type ExplainedView = {
  readonly view: string;
  readonly table: string;
  /** It replaces some rows of its table; undefined: a materialized view. */
  readonly replaceWhere: { readonly sql: string; readonly once: boolean } | undefined;
  readonly inputs: readonly string[];
  readonly columns: readonly ExplainedColumn[];
  /** The columns that make the record key; undefined: a digest of the row. */
  readonly keys: readonly ExplainedColumn[] | undefined;
  readonly topic: string;
  readonly partitions: number | undefined;
  readonly group: string;
  /** Of its own; undefined: as the configuration says. */
  readonly refreshEverySeconds: number | undefined;
  readonly isVolatile: boolean;
  /** `groups` and `records`: only those that something came to are computed again while their owner holds the view. */
  readonly changing: 'whole' | 'groups' | 'records';
  /** Why it is `whole`; undefined: it is not. */
  readonly wholeReason: string | undefined;
};

export type ExplainedColumn = { readonly name: string; readonly type: string };

export type ExplainedBranch = {
  readonly source: string;
  readonly topic: string;
  readonly format: string;
  readonly steps: readonly ExplainedStep[];
};

export type ExplainedStep = {
  readonly step: RowStep['step'];
  /** Condition, generator, or `name = expression` for each column. */
  readonly text: readonly string[];
  /** Types of the columns that the step gives; empty for a filter. */
  readonly types: readonly string[];
};

export type ExplainedStage = {
  readonly stage: 'flow' | 'table';
  readonly does: string;
  /** What there is one task for each partition of. */
  readonly over: readonly string[];
  readonly tasks: number | undefined;
};

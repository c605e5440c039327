import type { Fault, Place } from '../base/place.ts';
import type { Column, DataType } from '../data/types.ts';
import type { Expression } from '../expr/expression.ts';
import type { FlowDefinition } from './flow-definition.ts';

/**
 * What a pipeline is, after every rule was checked: the one input of everything that runs. The same
 * definition gives the same plan whatever the spelling (short or long SQL form, TypeScript).
 */
export type PipelinePlan = {
  readonly sources: readonly SourcePlan[];
  readonly tables: readonly TablePlan[];
  readonly flows: readonly FlowPlan[];
  /** IANA name; UTC unless the pipeline sets it. */
  readonly timeZone: string;
  readonly warnings: readonly Fault[];
};

export type SourceFormat = 'json' | 'string' | 'bytes';

export type SourcePlan = {
  readonly name: string;
  readonly topic: string;
  readonly format: SourceFormat;
  /** Declared columns, then the hidden ones (`hiddenColumns`). */
  readonly columns: readonly Column[];
  /** What a record with a null value is: `skip` (counted) or `bad` (a bad row). */
  readonly tombstones: 'skip' | 'bad';
  /** Set: it is the output topic of this table of the pipeline, and each row's provenance is in its headers. */
  readonly table?: string;
};

/** The hidden columns of each source, after the declared ones, in this order. */
export const hiddenColumns: readonly Column[] = [
  { name: '_topic', type: { kind: 'string' } },
  { name: '_partition', type: { kind: 'int' } },
  { name: '_offset', type: { kind: 'bigint' } },
  { name: '_timestamp', type: { kind: 'timestamp' } },
  { name: '_key', type: { kind: 'binary' } },
  {
    name: '_headers',
    type: {
      kind: 'array',
      element: {
        kind: 'struct',
        fields: [
          { name: 'key', type: { kind: 'string' } },
          { name: 'value', type: { kind: 'binary' } },
        ],
      },
    },
  },
];

/** `append`: rows of append flows, each a record of its own that nothing replaces. */
export type OutputMode = 'row_set' | 'rows' | 'append';

export type TablePlan = {
  readonly name: string;
  readonly topic: string;
  readonly columns: readonly Column[];
  readonly expectations: readonly ExpectationPlan[];
  readonly output: OutputMode;
  /** undefined: as many as its source topic with the most has. */
  readonly partitions: number | undefined;
  readonly deadLetterTopic: string | undefined;
  /** The share of a thousand records of a source partition that may be dead letters; 1: no bound. */
  readonly deadLetterShareMax: number;
  readonly rowSetRowsMax: number;
  /** max_sequence_ahead in microseconds; max_sequence as text in the sequence's type. */
  readonly sequenceAheadMaxMicros: bigint | undefined;
  readonly sequenceMax: string | undefined;
  /** How long the level of an empty key is kept; absent or undefined: for ever. */
  readonly tombstoneRetentionMicros?: bigint | undefined;
  readonly place: Place;
};

export type ExpectationPlan = {
  readonly name: string;
  /** Over the target's columns. A row violates it unless it is TRUE. */
  readonly condition: Expression;
  readonly action: 'warn' | 'drop' | 'fail';
  readonly sql: string;
};

export type FlowPlan = ReplaceUsingFlowPlan | AppendFlowPlan;

/** Rows of the query go to the target as they come; any number of such flows may write one target. */
export type AppendFlowPlan = {
  readonly kind: 'append';
  /** Also the name of its checkpoint. */
  readonly name: string;
  readonly target: string;
  /** One for each side of a UNION ALL, in order; the position is part of a row's provenance. */
  readonly branches: readonly BranchPlan[];
  /** The canonical text of the definition; equal text, equal plan. */
  readonly fingerprint: string;
  readonly definition: FlowDefinition;
  readonly place: Place;
};

export type ReplaceUsingFlowPlan = {
  readonly kind: 'replace_using';
  /** Also the name of its checkpoint. */
  readonly name: string;
  readonly target: string;
  /** One for each side of a UNION ALL, in order; the position is part of a row's provenance. */
  readonly branches: readonly BranchPlan[];
  /** SELECT DISTINCT over the whole result. */
  readonly distinct: boolean;
  /** Positions in the target's columns, in the order of the USING clause. */
  readonly keys: readonly number[];
  /** Over the target's columns. */
  readonly sequence: Expression;
  readonly sequenceType: DataType;
  /** APPLY AS EMPTY WHEN, over the target's columns. */
  readonly emptyWhen: Expression | undefined;
  /** The canonical text of the definition; equal text, equal plan. */
  readonly fingerprint: string;
  /** The same in parts, for whoever has to say what changed. */
  readonly definition: FlowDefinition;
  readonly place: Place;
};

export type BranchPlan = {
  /** Name of the source. */
  readonly source: string;
  /** The last step is always a `project` that gives the target's columns in their order and types. */
  readonly steps: readonly RowStep[];
};

/** A row is a list of values by position; the first step sees the source's columns. */
export type RowStep =
  | { readonly step: 'filter'; readonly condition: Expression }
  | { readonly step: 'project'; readonly columns: readonly ProjectedColumn[] }
  | ExplodeStep;

export type ProjectedColumn = { readonly name: string; readonly value: Expression };

/** EXPLODE, POSEXPLODE, INLINE: appends columns to the row, one row an element. */
export type ExplodeStep = {
  readonly step: 'explode';
  readonly value: Expression;
  readonly form: 'explode' | 'posexplode' | 'inline';
  readonly outer: boolean;
  readonly columns: readonly Column[];
};

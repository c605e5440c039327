import type { Fault, Place } from '../base/place.ts';
import type { Column, DataType } from '../data/types.ts';
import type { Expression } from '../expr/expression.ts';
import type { BatchInput, BatchPlan } from './batch/batch-plan.ts';
import type { FlowDefinition } from './flows/flow-definition.ts';

/**
 * What a pipeline is, after every rule was checked: the one input of everything that runs. The same
 * definition gives the same plan whatever the spelling (short or long SQL form, TypeScript).
 */
export type PipelinePlan = {
  readonly sources: readonly SourcePlan[];
  readonly tables: readonly TablePlan[];
  readonly flows: readonly FlowPlan[];
  /** Those that others read come first; each has a table of its name. */
  readonly materializedViews: readonly MaterializedViewPlan[];
  /** IANA name; UTC unless the pipeline sets it. */
  readonly timeZone: string;
  readonly warnings: readonly Fault[];
};

/** `csv`: of files only, whose records are JSON objects of texts. */
export type SourceFormat = 'json' | 'string' | 'bytes' | 'debezium-json' | 'csv';

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
  /** Set: the rows of that table are replaced, and its records are versions of a key. */
  readonly replaced?: ReplacedSource;
  /** Set: its topic is the pipeline's own, and holds the rows of a batch query that was computed one time. */
  readonly batch?: BatchSource;
  /** Full refreshes of that table are not minded: whoever reads it goes on from its checkpoint (skipChangeCommits). */
  readonly skipsChanges?: true;
  /** Set: the rows of that table are replaced, and of each key its first version alone is read; how its records are written. */
  readonly firstVersions?: 'row_set' | 'rows';
  /** Set: it is this file and no topic, so that only joins read it, as their static side. */
  readonly file?: string;
  /** How often new records are looked for where it is the static side of a join; absent: the default. */
  readonly refreshIntervalMicros?: bigint | undefined;
};

/** Whether the topic of a source is somebody else's: neither a table of the pipeline nor a result that it computed. */
export function isOutside({ table, batch }: SourcePlan): boolean {
  return table === undefined && batch === undefined;
}

/** The result of a batch query, which a once flow reads like any source. */
export type BatchSource = {
  readonly query: BatchPlan;
  /** Sources, each once. */
  readonly inputs: readonly BatchInput[];
  /** Equal text, equal query. */
  readonly digest: string;
};

/**
 * How a table is written whose rows are replaced. Whoever streams it sees some versions of a key and misses others, so
 * that what it makes of them may depend on the last one only.
 */
export type ReplacedSource = {
  /** The flow that replaces them. */
  readonly flow: string;
  /** `row_set`: a record is a version with all of its rows; `rows`: a record is a row. */
  readonly output: 'row_set' | 'rows';
  /** Positions of the source's columns that are the keys of the table. */
  readonly keys: readonly number[];
  /** Over the source's columns. */
  readonly sequence: Expression;
  /** Of equal rows one stands for all. */
  readonly distinct: boolean;
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
  /** The topic is somebody else's: its settings and its other records are no business of ours. */
  readonly isSink?: boolean;
  readonly topic: string;
  readonly columns: readonly Column[];
  readonly expectations: readonly ExpectationPlan[];
  readonly output: OutputMode;
  /** Its records tell which version of a key is the first: some flow reads no other (skipChangeCommits). */
  readonly marksFirst?: boolean;
  /** undefined: as many as its source topic with the most has. */
  readonly partitions: number | undefined;
  readonly deadLetterTopic: string | undefined;
  /** The share of a thousand records of a source partition that may be dead letters; 1: no bound. */
  readonly deadLetterShareMax: number;
  readonly rowSetRowsMax: number;
  /** max_sequence_ahead in microseconds; max_sequence as text in the sequence's type. */
  readonly sequenceAheadMaxMicros: bigint | undefined;
  readonly sequenceMax: string | undefined;
  /** max_event_time_ahead in microseconds: how far a time of a watermark may be after its record. */
  readonly eventTimeAheadMaxMicros?: bigint | undefined;
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

/**
 * A batch query whose result is kept in a table: computed anew, and only what differs is written. A REPLACE WHERE flow is
 * one as well, of which the rows of its table that do not meet the condition are a part.
 */
export type MaterializedViewPlan = {
  /** Also the name of its checkpoint. */
  readonly name: string;
  /** The table that holds the result; that of a materialized view has its name. */
  readonly table: string;
  /** undefined: it is a materialized view. */
  readonly replaceWhere: ReplaceWherePlan | undefined;
  readonly query: BatchPlan;
  /** Without the table itself, whose rows are a REPLACE WHERE flow's own. */
  readonly inputs: readonly BatchInput[];
  /** Positions of the columns that are the groups of the result; undefined: a row is known by all of its values. */
  readonly keys: readonly number[] | undefined;
  /** Its result depends on the clock or on chance, whatever its inputs are. */
  readonly isVolatile: boolean;
  /** How long it rests after it was computed; undefined: as the configuration says. */
  readonly refreshMicros: bigint | undefined;
  /** Equal text, equal view. */
  readonly fingerprint: string;
  readonly place: Place;
};

export type ReplaceWherePlan = {
  /** The rows of the table that are replaced, as people read it. */
  readonly sql: string;
  /** Gives those that are not, over the table itself. */
  readonly stays: BatchPlan;
  /** It runs one time, and again only after a full refresh of its table. */
  readonly once: boolean;
};

export type FlowPlan =
  | ReplaceUsingFlowPlan
  | AppendFlowPlan
  | AutoCdcFlowPlan
  | JoinFlowPlan
  | SiftFlowPlan;

/** A flow whose target keeps rows by their key. */
export type KeyedFlowPlan = ReplaceUsingFlowPlan | AutoCdcFlowPlan;

export function isKeyed(flow: FlowPlan): flow is KeyedFlowPlan {
  return flow.kind === 'replace_using' || flow.kind === 'auto_cdc';
}

/** Rows of the query go to the target as they come; any number of such flows may write one target. */
export type AppendFlowPlan = {
  readonly kind: 'append';
  /** Also the name of its checkpoint. */
  readonly name: string;
  readonly target: string;
  /** It reads what its sources hold when it starts first, and no more (INSERT INTO ONCE). */
  readonly once?: boolean;
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
  /** It reads what its sources hold when it starts first, and no more (INSERT INTO ONCE … REPLACE USING). */
  readonly once?: boolean;
  /** One for each side of a UNION ALL, in order; the position is part of a row's provenance. */
  readonly branches: readonly BranchPlan[];
  /** SELECT DISTINCT over the whole result. */
  readonly distinct: boolean;
  /** Rows that are let through over the life of the checkpoint; absent: all. */
  readonly limit?: number | undefined;
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

/**
 * Changes of a feed go to the target, by key and sequence; any number of such flows may write one target. All of them
 * send their changes to one stage, that of the flow which has the name of the target. Where no flow of the pipeline has
 * that name, there is one without branches: the table merges under its own name, whichever flows come and go.
 */
export type AutoCdcFlowPlan = {
  readonly kind: 'auto_cdc';
  /** Also the name of its checkpoint. */
  readonly name: string;
  readonly target: string;
  /** It reads what its sources hold when it starts first, and no more (AUTO CDC ONCE). */
  readonly once: boolean;
  /**
   * One for each side of a UNION ALL. They end in the target's columns without those of the history, and behind them
   * the values that the expressions below look at.
   */
  readonly branches: readonly BranchPlan[];
  /** Positions in the target's columns. */
  readonly keys: readonly number[];
  readonly sequence: Expression;
  readonly sequenceType: DataType;
  readonly deleteWhen: Expression | undefined;
  readonly truncateWhen: Expression | undefined;
  /** Columns whose NULL leaves what was there. */
  readonly ignoreNull: readonly number[];
  /** SCD type 2: the columns of which a change makes a new row of the history; undefined: SCD type 1. */
  readonly tracked: readonly number[] | undefined;
  /** The canonical text of the definition; equal text, equal plan. */
  readonly fingerprint: string;
  readonly definition: FlowDefinition;
  readonly place: Place;
};

/**
 * A join of two streams, which keeps the rows of both sides by the values that must be equal. Its rows go to a table
 * of its name, which nobody declared and which the flow with the join in its query streams.
 */
export type JoinFlowPlan = {
  readonly kind: 'join';
  /** Also the name of its checkpoint, and of its table. */
  readonly name: string;
  readonly target: string;
  readonly once?: boolean;
  /** Those of the left side come first. Each ends in the columns of its side. */
  readonly branches: readonly BranchPlan[];
  readonly leftBranches: number;
  readonly join: StreamJoinPlan;
  /** The canonical text of the definition; equal text, equal plan. */
  readonly fingerprint: string;
  readonly definition: FlowDefinition;
  readonly place: Place;
};

/**
 * DISTINCT or LIMIT of an append flow: of equal rows the first is let through, of all rows the first few. Its rows go to
 * a table of its name, which nobody declared and which the append flow streams.
 */
export type SiftFlowPlan = {
  readonly kind: 'sift';
  /** Also the name of its checkpoint, and of its table. */
  readonly name: string;
  readonly target: string;
  readonly once?: boolean;
  readonly branches: readonly BranchPlan[];
  readonly distinct: boolean;
  /** Rows that are let through over the life of the checkpoint; undefined: all. */
  readonly limit: number | undefined;
  /** The canonical text of the definition; equal text, equal plan. */
  readonly fingerprint: string;
  readonly definition: FlowDefinition;
  readonly place: Place;
};

/** Whether a flow works for another one, which nobody but that one reads and nobody declared. */
export function isHelping(flow: FlowPlan): flow is JoinFlowPlan | SiftFlowPlan {
  return flow.kind === 'join' || flow.kind === 'sift';
}

export type StreamJoinKind = 'inner' | 'left' | 'right' | 'full';

/**
 * The times by which rows of a join go together: the right one less the left one lies between `low` and `high`. A side
 * whose bound is undefined keeps its rows for ever.
 */
export type StreamTimes = {
  /** Positions of the times. */
  readonly left: number;
  readonly right: number;
  readonly lowMicros: bigint | undefined;
  readonly highMicros: bigint | undefined;
  /** Of the watermarks. */
  readonly leftDelayMicros: bigint;
  readonly rightDelayMicros: bigint;
};

export type StreamJoinPlan = {
  readonly kind: StreamJoinKind;
  /** Over the columns that are kept of each side; undefined: every row is kept for ever. */
  readonly times: StreamTimes | undefined;
  readonly left: StreamSidePlan;
  readonly right: StreamSidePlan;
  /** The rest of the condition, over a row of the left side and one of the right side behind it. */
  readonly condition: Expression | undefined;
};

export type StreamSidePlan = {
  /** What is kept of a row: first the values that must be equal, then those that something reads. */
  readonly columns: readonly Column[];
  /** Positions of the values that a joined row has. */
  readonly given: readonly number[];
  readonly keys: readonly StreamKey[];
};

export type StreamKey = { readonly isNullSafe: boolean };

export type BranchPlan = {
  /** Name of the source. */
  readonly source: string;
  /** The last step is always a `project` that gives the target's columns in their order and types (AUTO CDC: and more). */
  readonly steps: readonly RowStep[];
  /** Its source is a table whose rows are replaced: the source's columns that are the keys of the flow, in their order. */
  readonly versionKeys?: readonly number[];
};

/** A row is a list of values by position; the first step sees the source's columns. */
export type RowStep =
  | { readonly step: 'filter'; readonly condition: Expression }
  | { readonly step: 'project'; readonly columns: readonly ProjectedColumn[] }
  | ExplodeStep
  | JoinStep
  | ExpectStep
  | WatermarkStep;

export type ProjectedColumn = { readonly name: string; readonly value: Expression };

/** The expectations of a view, where its rows go by. Their conditions are over the row. */
export type ExpectStep = {
  readonly step: 'expect';
  readonly view: string;
  /** The columns of the view, where somebody may have to show a row. */
  readonly columns: readonly ProjectedColumn[];
  readonly expectations: readonly ExpectationPlan[];
};

/** EXPLODE, POSEXPLODE, INLINE: appends columns to the row, one row an element. */
export type ExplodeStep = {
  readonly step: 'explode';
  readonly value: Expression;
  readonly form: 'explode' | 'posexplode' | 'inline';
  readonly outer: boolean;
  readonly columns: readonly Column[];
};

/**
 * A join with static data: each row is looked up in the rows that the side has now. Inner and left joins
 * append the columns of the side, one row a partner; left semi and left anti joins only choose rows.
 */
export type JoinStep = {
  readonly step: 'join';
  readonly kind: StaticJoinKind;
  readonly side: StaticSidePlan;
  /** Values that must be equal: the left ones over the row, the right ones over a row of the side. */
  readonly keys: readonly JoinKey[];
  /** The rest of the condition, over the row and the columns of the side behind it. */
  readonly condition: Expression | undefined;
  readonly place: Place;
};

export type StaticJoinKind = 'inner' | 'left' | 'left_semi' | 'left_anti';

export type JoinKey = {
  readonly left: Expression;
  readonly right: Expression;
  /** Whether NULL equals NULL. */
  readonly nullSafe: boolean;
};

/** What is looked up in: the latest record of each key of its sources, through the steps of a query. */
export type StaticSidePlan = {
  /** What messages call it. */
  readonly name: string;
  readonly columns: readonly Column[];
  readonly branches: readonly StaticBranch[];
};

export type StaticBranch = {
  readonly source: SourcePlan;
  /** The last step is a `project` that gives the columns of the side. */
  readonly steps: readonly RowStep[];
};

/** The columns that a join puts behind the row. */
export function joinedColumns({ kind, side }: JoinStep): readonly Column[] {
  return kind === 'inner' || kind === 'left' ? side.columns : [];
}

/** What the joins of a branch look up, by source; one may come several times. */
export function staticSources(steps: readonly RowStep[]): readonly SourcePlan[] {
  return steps.flatMap((step) =>
    step.step === 'join' ? step.side.branches.map(({ source }) => source) : [],
  );
}

/** Rows whose time lies further behind than the delay are counted as late; none is taken away unless it says so. */
export type WatermarkStep = {
  readonly step: 'watermark';
  readonly time: Expression;
  readonly delayMicros: bigint;
  /** Rows that are late within their own partition are left out: whoever reads them has forgotten what they belong to. */
  readonly leavesOut?: true;
};

import type { Column, DataType } from '../../data/types.ts';
import type { Row } from '../../data/value.ts';
import type { AggregateNode, SortKey } from '../../expr/aggregate.ts';
import type { CallNode, Expression, Operation } from '../../expr/expression.ts';
import type { BoundGenerator } from '../../expr/generator.ts';
import type { BoundColumn } from '../bind/bound-column.ts';

/**
 * What a query over tables does, as a tree of steps that give rows. Invariant: each expression reads the
 * rows of its step's input by position (of a join: those of the left side, then those of the right).
 */
export type BatchPlan =
  | { readonly node: 'values'; readonly rows: readonly (readonly Expression[])[] }
  | { readonly node: 'table'; readonly name: string }
  | {
      readonly node: 'range';
      readonly start: bigint;
      readonly end: bigint;
      readonly step: bigint;
    }
  | {
      readonly node: 'project';
      readonly input: BatchPlan;
      readonly values: readonly Expression[];
    }
  | { readonly node: 'filter'; readonly input: BatchPlan; readonly condition: Expression }
  /** Rows are judged; those that an expectation drops end here. */
  | {
      readonly node: 'expect';
      readonly input: BatchPlan;
      /** Whose they are, as messages say it, and how they are counted. */
      readonly owner: string;
      readonly prefix: string;
      readonly columns: readonly Column[];
      readonly expectations: readonly BatchExpectation[];
    }
  /** What a REPLACE WHERE flow brings: a row that does not meet its condition fails the query. */
  | {
      readonly node: 'require';
      readonly input: BatchPlan;
      readonly flow: string;
      readonly table: string;
      readonly columns: readonly Column[];
      readonly condition: Expression;
      readonly sql: string;
    }
  /** Appends the columns of the generator to each row. */
  | {
      readonly node: 'generate';
      readonly input: BatchPlan;
      readonly generator: BoundGenerator;
      readonly outer: boolean;
      readonly place: Expression['place'];
    }
  /** Joins the sessions in the last column of rows that meet and have the same keys. */
  | {
      readonly node: 'sessions';
      readonly input: BatchPlan;
      readonly session: number;
      readonly keys: readonly Expression[];
    }
  | BatchJoin
  /** For each row of the left side the rows that the right side then has. */
  | {
      readonly node: 'lateral';
      readonly kind: 'inner' | 'left';
      readonly left: BatchPlan;
      readonly right: Subplan;
      readonly rightWidth: number;
      readonly condition: Expression | undefined;
    }
  /**
   * One row a group: its keys, then its aggregates. With `sets` there is one grouping for each set of
   * positions of keys, the other keys are NULL, and the number of the grouping stands behind all.
   */
  | {
      readonly node: 'aggregate';
      readonly input: BatchPlan;
      readonly keys: readonly Expression[];
      readonly aggregates: readonly AggregateNode[];
      readonly sets: readonly GroupingSet[] | undefined;
    }
  /** Appends one column for each window function. */
  | {
      readonly node: 'window';
      readonly input: BatchPlan;
      readonly functions: readonly WindowNode[];
    }
  | { readonly node: 'distinct'; readonly input: BatchPlan; readonly types: readonly DataType[] }
  | {
      readonly node: 'set';
      readonly operator: 'union' | 'intersect' | 'except';
      readonly all: boolean;
      readonly left: BatchPlan;
      readonly right: BatchPlan;
      readonly types: readonly DataType[];
    }
  | { readonly node: 'sort'; readonly input: BatchPlan; readonly keys: readonly SortKey[] }
  | {
      readonly node: 'limit';
      readonly input: BatchPlan;
      readonly limit: number | undefined;
      readonly offset: number;
    }
  /** The rows of `anchor`, then those of `step` over the rows of the round before, at most so many rounds. */
  | {
      readonly node: 'recursion';
      readonly anchor: BatchPlan;
      readonly step: BatchPlan;
      readonly cell: { rows: readonly Row[] };
      readonly levels: number;
    }
  /** What the round before of a recursion gave. */
  | { readonly node: 'round'; readonly cell: { readonly rows: readonly Row[] } }
  /** A common table expression: `uses` counts how often it is read. */
  | { readonly node: 'shared'; readonly input: BatchPlan; readonly cell: { uses: number } };

export type BatchJoin = {
  readonly node: 'join';
  readonly kind: 'inner' | 'left' | 'right' | 'full' | 'left_semi' | 'left_anti';
  readonly left: BatchPlan;
  readonly right: BatchPlan;
  readonly leftWidth: number;
  readonly rightWidth: number;
  /** Pairs that must be equal, each over its own side. */
  readonly equal: readonly {
    readonly left: Expression;
    readonly right: Expression;
    /** NULL equals NULL. */
    readonly nullSafe: boolean;
  }[];
  /** What else must hold, over both sides. */
  readonly condition: Expression | undefined;
};

export type GroupingSet = {
  /** Positions of the keys that are not NULL in it. */
  readonly keys: readonly number[];
  /** Spark's number of the grouping: a bit for each key that is left out, the first one highest. */
  readonly id: bigint;
};

/** A query inside a query, with what it takes from outside. */
export type Subplan = {
  readonly plan: BatchPlan;
  readonly columns: readonly BoundColumn[];
  /** Values of the rows outside, by the parameter that stands for each inside. */
  readonly captures: readonly { readonly slot: number; readonly value: Expression }[];
};

/** A query as it was bound. */
export type BoundBatch = { readonly plan: BatchPlan; readonly columns: readonly BoundColumn[] };

/** A window function as a leaf of a bound tree, until a column stands in its place. */
export type WindowOperation = Operation & { readonly window: WindowCall };
export type WindowNode = CallNode & { readonly operation: WindowOperation };

/**
 * What a window function does. Its expressions are the arguments of its node, in this order: those of the
 * function, those of PARTITION BY, those of ORDER BY, those of the bounds of the frame.
 */
export type WindowCall = {
  readonly function: WindowFunction;
  readonly argumentCount: number;
  readonly partitionCount: number;
  readonly order: readonly { readonly descending: boolean; readonly nullsFirst: boolean }[];
  readonly frame: WindowFrame;
};

export type WindowFunction =
  /** The arguments are those of the aggregate's node. */
  | { readonly kind: 'aggregate'; readonly aggregate: AggregateNode }
  | {
      readonly kind: 'rank';
      readonly name: 'row_number' | 'rank' | 'dense_rank' | 'percent_rank' | 'cume_dist';
    }
  | { readonly kind: 'ntile'; readonly buckets: number }
  /** Arguments: the value, and what stands for it beyond the partition; `by` counts towards the end. */
  | { readonly kind: 'shift'; readonly by: number; readonly ignoreNulls: boolean }
  /** Argument: the value; `n` counts from 1. */
  | { readonly kind: 'nth'; readonly n: number; readonly ignoreNulls: boolean };

/** Bounds of the rows that a window function sees. */
export type WindowFrame = {
  readonly unit: 'rows' | 'range';
  readonly from: FrameBound;
  readonly to: FrameBound;
};

/** `rows`: so many towards the end; `value`: the order of the row must not pass the n-th expression of the bounds. */
export type FrameBound =
  | { readonly at: 'start' | 'current' | 'end' }
  | { readonly at: 'rows'; readonly offset: number }
  | { readonly at: 'value'; readonly index: number };

export function isWindowNode(expression: Expression): expression is WindowNode {
  return expression.node === 'call' && 'window' in expression.operation;
}

export type WindowParts = {
  readonly arguments: readonly Expression[];
  readonly partitionBy: readonly Expression[];
  readonly orderBy: readonly SortKey[];
  readonly limits: readonly Expression[];
};

/** The expressions of a window function, as they stand in its node. */
export function windowParts(node: WindowNode): WindowParts {
  const { argumentCount, partitionCount, order } = node.operation.window;
  const orderFrom = argumentCount + partitionCount;
  const limitsFrom = orderFrom + order.length;
  return {
    arguments: node.arguments.slice(0, argumentCount),
    partitionBy: node.arguments.slice(argumentCount, orderFrom),
    orderBy: node.arguments
      .slice(orderFrom, limitsFrom)
      .map((value, i) => ({ value, ...(order[i] ?? { descending: false, nullsFirst: true }) })),
    limits: node.arguments.slice(limitsFrom),
  };
}

/** An expectation over the rows of a query. */
export type BatchExpectation = {
  readonly name: string;
  readonly condition: Expression;
  readonly action: 'warn' | 'drop' | 'fail';
  readonly sql: string;
};

/** A dataset whose rows a query reads as they stand, by the name that its `table` node has. */
export type BatchInput = { readonly kind: 'source' | 'table'; readonly name: string };

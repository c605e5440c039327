import type { Place } from '../base/place.ts';
import type { DataType } from '../data/types.ts';
import type { Row, Value } from '../data/value.ts';

/**
 * A typed expression over the columns of one row. Invariant: every coercion that Spark makes without
 * being asked stands in the tree as a node of its own, so evaluation never looks at types again.
 */
export type Expression =
  | {
      readonly node: 'literal';
      readonly type: DataType;
      readonly value: Value;
      readonly place: Place;
    }
  | {
      readonly node: 'column';
      readonly type: DataType;
      readonly index: number;
      readonly name: string;
      readonly place: Place;
    }
  /** A parameter of an enclosing lambda, by position of its binding (outermost first). */
  | {
      readonly node: 'parameter';
      readonly type: DataType;
      readonly index: number;
      readonly name: string;
      readonly place: Place;
    }
  | {
      readonly node: 'lambda';
      /** Type of the body. */
      readonly type: DataType;
      /** Indexes of its parameters. */
      readonly parameters: readonly number[];
      readonly body: Expression;
      readonly place: Place;
    }
  /** Everything else: operators, functions, casts, CASE, AND/OR. `operation` names the implementation. */
  | {
      readonly node: 'call';
      readonly type: DataType;
      readonly operation: Operation;
      readonly arguments: readonly Expression[];
      readonly place: Place;
    };

/** How a call is evaluated: given its compiled arguments, a closure over the row. */
export type Operation = {
  /** Stable name for fingerprints and `explain`, such as `add(int,int)` or `cast(string,bigint)`. */
  readonly name: string;
  readonly deterministic: boolean;
  readonly compile: (args: readonly Evaluator[], context: OperationContext) => Evaluator;
  /** Set on the operations of coercions, so that casts can be told from calls. */
  readonly cast?: true;
  /** Of a subquery: how many of its first arguments are values of the rows around it. */
  readonly captures?: number;
  /** NULL as soon as an argument is NULL. */
  readonly strict?: true;
  /** Of a struct or array as it is made, the argument that is asked for. */
  readonly picks?: (value: CallNode, others: readonly Expression[]) => Expression | undefined;
};

/** A call as a type of its own. */
export type CallNode = Extract<Expression, { node: 'call' }>;
export type LiteralNode = Extract<Expression, { node: 'literal' }>;
export type LambdaNode = Extract<Expression, { node: 'lambda' }>;

export type Evaluator = (row: Row, frame: Frame) => Value;

/** What lambda parameters are bound to while a row is evaluated, and what is fixed for one update. */
export type Frame = {
  readonly parameters: Value[];
  nowMicros: bigint;
  /** The rows of a subquery, for the parameters as they are; always the same when it `isFixed`. Absent where none can stand. */
  readonly rowsOf?: (query: object, isFixed: boolean) => readonly Row[];
  /** What lambdas have cost so far in the call of a function that is being evaluated; see `lambda-cost.ts`. */
  lambdas?: { depth: number; cost: number };
};

/** `timeZone` is the session's: an IANA name or an offset. */
export type CompileContext = { readonly timeZone: string };

/** What one call is compiled with; `place` is its own, for the errors it raises on rows. */
export type OperationContext = CompileContext & { readonly place: Place };

import type { Place } from '../base/place.ts';
import type { DataType } from '../data/types.ts';
import type { Value } from '../data/value.ts';
import type {
  CallNode,
  Evaluator,
  Expression,
  LiteralNode,
  Operation,
  OperationContext,
} from './expression.ts';
import { ExpressionError } from './expression-error.ts';

/** A function of values that are not NULL. */
export type StrictFunction = (...values: readonly never[]) => Value;

export type StrictCall = {
  readonly name: string;
  readonly type: DataType;
  readonly arguments: readonly Expression[];
  readonly place: Place;
  /** Called once for each compilation: what it returns runs on each row. */
  readonly prepare: (context: OperationContext) => StrictFunction;
  readonly picks?: NonNullable<Operation['picks']>;
};

export function literal(value: Value, type: DataType, place: Place): LiteralNode {
  return { node: 'literal', type, value, place };
}

export function call(
  operation: Operation,
  type: DataType,
  args: readonly Expression[],
  place: Place,
): CallNode {
  return { node: 'call', type, operation, arguments: args, place };
}

/**
 * A call that is NULL as soon as an argument is NULL; the arguments behind the first NULL are not
 * evaluated, as in Spark. Errors that its function throws without a place get the call's.
 */
export function strictCall(options: StrictCall): CallNode {
  const operation: Operation = {
    name: options.name,
    deterministic: true,
    strict: true,
    ...(options.picks !== undefined && { picks: options.picks }),
    compile: (args, context) => compileStrict(args, options.prepare(context), context.place),
  };
  return call(operation, options.type, options.arguments, options.place);
}

function compileStrict(
  args: readonly Evaluator[],
  prepared: StrictFunction,
  place: Place,
): Evaluator {
  const apply = prepared as (...values: readonly Value[]) => Value;
  const [first, second, third] = args;
  if (first !== undefined && args.length === 1) return strict1(first, apply, place);
  if (first !== undefined && second !== undefined && args.length === 2) {
    return strict2(first, second, apply, place);
  }
  if (first !== undefined && second !== undefined && third !== undefined && args.length === 3) {
    return strict3(first, second, third, { apply, place });
  }
  return (row, frame) => {
    const values: Value[] = [];
    for (const arg of args) {
      const value = arg(row, frame);
      if (value === null) return null;
      values.push(value);
    }
    try {
      return apply(...values);
    } catch (error) {
      throw located(error, place);
    }
  };
}

type Apply = (...values: readonly Value[]) => Value;

function strict1(first: Evaluator, apply: Apply, place: Place): Evaluator {
  return (row, frame) => {
    const a = first(row, frame);
    if (a === null) return null;
    try {
      return apply(a);
    } catch (error) {
      throw located(error, place);
    }
  };
}

function strict2(first: Evaluator, second: Evaluator, apply: Apply, place: Place): Evaluator {
  return (row, frame) => {
    const a = first(row, frame);
    if (a === null) return null;
    const b = second(row, frame);
    if (b === null) return null;
    try {
      return apply(a, b);
    } catch (error) {
      throw located(error, place);
    }
  };
}

function strict3(
  first: Evaluator,
  second: Evaluator,
  third: Evaluator,
  rest: { apply: Apply; place: Place },
): Evaluator {
  const { apply, place } = rest;
  return (row, frame) => {
    const a = first(row, frame);
    if (a === null) return null;
    const b = second(row, frame);
    if (b === null) return null;
    const c = third(row, frame);
    if (c === null) return null;
    try {
      return apply(a, b, c);
    } catch (error) {
      throw located(error, place);
    }
  };
}

/** The same error with a place, when it has none yet; the innermost call wins. */
export function located(error: unknown, place: Place): unknown {
  // The engine's word for text and arrays beyond its limits.
  if (error instanceof RangeError) {
    return new ExpressionError(
      'COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION',
      'the result is too large',
      place,
    );
  }
  if (error instanceof ExpressionError && error.place === undefined) {
    return new ExpressionError(error.errorClass, error.message, place);
  }
  return error;
}

import type { DataType } from '../data/types.ts';
import type { Row, Value } from '../data/value.ts';
import { located } from './call.ts';
import { constantValue, isConstant } from './compile.ts';
import type { CallNode, Expression, Operation, OperationContext } from './expression.ts';
import { fault, mismatch } from './faults.ts';
import { coerceArgument, type FunctionCall } from './function.ts';
import type { Parameter } from './parameter.ts';

/**
 * How an aggregate function is registered: by its names, and by a `bind` that coerces the arguments
 * and says how the values of one group become one. Each file of `aggregates/` exports an array of
 * definitions, and `aggregate-registry.ts` joins them.
 */
export type AggregateDefinition = {
  /** Lower case; the first one stands in messages. */
  readonly names: readonly string[];
  readonly arity: readonly [least: number, most: number];
  readonly parameterNames?: readonly string[];
  /** Whether the call may have IGNORE NULLS. */
  readonly ignoresNulls?: true;
  /** Whether the call may have WITHIN GROUP; `required` where it must. */
  readonly withinGroup?: 'allowed' | 'required';
  /** Whether it is only there inside OVER. */
  readonly windowOnly?: true;
  readonly bind: (call: AggregateCall) => BoundAggregate;
};

/** A call whose number of arguments was checked. */
export type AggregateCall = Omit<FunctionCall, 'lambdas'> & {
  readonly distinct: boolean;
  readonly ignoreNulls: boolean;
  /** The order of WITHIN GROUP; empty without it. */
  readonly orderBy: readonly SortKey[];
};

/** The parts of an aggregate, as they stand in its node. */
export function aggregateParts(node: AggregateNode): {
  readonly arguments: readonly Expression[];
  readonly order: readonly SortKey[];
  readonly filter: Expression | undefined;
} {
  const { aggregate, hasFilter } = node.operation;
  const count = aggregate.arguments.length;
  return {
    arguments: node.arguments.slice(0, count),
    order: (aggregate.orderBy ?? []).map((key, i) => ({
      ...key,
      value: node.arguments[count + i] ?? key.value,
    })),
    filter: hasFilter ? node.arguments.at(-1) : undefined,
  };
}

/** A value to sort by. */
export type SortKey = {
  readonly value: Expression;
  readonly descending: boolean;
  readonly nullsFirst: boolean;
};

export type BoundAggregate = {
  /** Stable name with the types. */
  readonly name: string;
  readonly type: DataType;
  /** What each row is asked for. */
  readonly arguments: readonly Expression[];
  /** Rows are added in this order; in any where it is missing. */
  readonly orderBy?: readonly SortKey[];
  /** Called once for each compilation: what it returns begins a group. */
  readonly prepare: (context: OperationContext) => () => Accumulator;
};

/** What is known of the rows of one group. */
export type Accumulator = {
  readonly add: (values: Row) => void;
  readonly result: () => Value;
};

/** An aggregate as a leaf of a bound tree, until it is computed and a column stands in its place. */
export type AggregateOperation = Operation & {
  /** Its own expressions are not looked at again: those of the node are, which a rewrite may have changed. */
  readonly aggregate: BoundAggregate;
  readonly distinct: boolean;
  /** Whether the last argument of the node is the condition of FILTER. */
  readonly hasFilter: boolean;
};

export type AggregateNode = CallNode & { readonly operation: AggregateOperation };

export function aggregateNode(
  aggregate: BoundAggregate,
  options: { readonly distinct: boolean; readonly filter: Expression | undefined },
  place: Expression['place'],
): AggregateNode {
  const { distinct, filter } = options;
  const order = aggregate.orderBy ?? [];
  const direction = order.map((key) => `${key.descending}${key.nullsFirst}`).join();
  return {
    node: 'call',
    type: aggregate.type,
    place,
    // Everything that tells two aggregates apart is a part of the name or an argument.
    arguments: [
      ...aggregate.arguments,
      ...order.map((key) => key.value),
      ...(filter === undefined ? [] : [filter]),
    ],
    operation: {
      name: `${aggregate.name}${distinct ? ' distinct' : ''}${direction}${filter === undefined ? '' : ' filter'}`,
      deterministic: false,
      aggregate,
      distinct,
      hasFilter: filter !== undefined,
      compile: () => {
        throw new TypeError(`${aggregate.name} has no value for one row`);
      },
    },
  };
}

export function isAggregateNode(expression: Expression): expression is AggregateNode {
  return expression.node === 'call' && 'aggregate' in expression.operation;
}

type Parameters = readonly Parameter<Value>[];

export type SimpleAggregate = {
  readonly names: readonly string[];
  readonly parameters: Parameters;
  readonly returns: DataType | ((args: readonly Expression[]) => DataType);
  /** Begins a group, chosen by the types of the coerced arguments. Rows with a NULL are left out. */
  readonly start: (types: readonly DataType[], returns: DataType) => () => Accumulator;
};

/** An aggregate of values that are not NULL. */
export function strictAggregate(definition: SimpleAggregate): AggregateDefinition {
  const count = definition.parameters.length;
  return {
    names: definition.names,
    arity: [count, count],
    bind: (call) => {
      const args = call.arguments.map((argument, i) => {
        const parameter = definition.parameters[i];
        return parameter === undefined
          ? argument
          : coerceArgument(call.name, argument, i, parameter);
      });
      const type =
        typeof definition.returns === 'function' ? definition.returns(args) : definition.returns;
      const argumentTypes = args.map((argument) => argument.type);
      return {
        name: aggregateName(call.name, args),
        type,
        arguments: args,
        prepare: (context) => {
          const start = definition.start(argumentTypes, type);
          return () => withPlace(skippingNulls(start()), context.place);
        },
      };
    },
  };
}

export function aggregateName(name: string, args: readonly Expression[]): string {
  return `${name}(${args.map((argument) => JSON.stringify(argument.type)).join(',')})`;
}

export function skippingNulls(inner: Accumulator): Accumulator {
  return {
    add: (values) => {
      if (!values.includes(null)) inner.add(values);
    },
    result: inner.result,
  };
}

/** The errors of an accumulator get the place of the call. */
export function withPlace(inner: Accumulator, place: Expression['place']): Accumulator {
  return {
    add: (values) => {
      try {
        inner.add(values);
      } catch (error) {
        throw located(error, place);
      }
    },
    result: () => {
      try {
        return inner.result();
      } catch (error) {
        throw located(error, place);
      }
    },
  };
}

/** An argument that must be constant; its value. */
export function constantArgument(
  call: AggregateCall,
  index: number,
  parameter: Parameter<Value>,
  name: string,
): Value {
  const given = call.arguments[index];
  if (given === undefined) {
    throw fault('WRONG_NUM_ARGS.WITHOUT_SUGGESTION', `${call.name} lacks an argument`, call.place);
  }
  const argument = coerceArgument(call.name, given, index, parameter);
  if (!isConstant(argument)) {
    throw mismatch(
      'NON_FOLDABLE_INPUT',
      `the ${name} of ${call.name} must be constant`,
      argument.place,
    );
  }
  return constantValue(argument, call.timeZone);
}

/** An accumulator that folds two values into one, from the first on. */
export function folding(fold: (sum: Value, value: Value) => Value): Accumulator {
  let sum: Value = null;
  return {
    add: ([value = null]) => {
      sum = sum === null ? value : fold(sum, value);
    },
    result: () => sum,
  };
}

import { comparator } from '../../data/compare.ts';
import { fitsPrecision, powerOfTen } from '../../data/decimal.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import {
  type Accumulator,
  type AggregateCall,
  type AggregateDefinition,
  aggregateName,
  type BoundAggregate,
  folding,
  strictAggregate,
  withPlace,
} from '../aggregate.ts';
import { argumentAt } from '../arguments.ts';
import { castTo } from '../coerce.ts';
import { constantValue, isConstant } from '../compile.ts';
import { divideHalfUp } from '../divide-half-up.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import { coerceArgument } from '../function.ts';
import { requireOrderable } from '../operators/comparison.ts';
import { exactly, type Parameter, parameter } from '../parameter.ts';
import {
  arrayOf,
  type DecimalType,
  dayTime,
  decimal,
  isAnsiInterval,
  isIntegral,
  isNumeric,
  types,
  yearMonth,
} from '../types.ts';

/** NULL counts as an int. */
const bits: typeof parameter.integral = {
  ...parameter.integral,
  coerce: (argument) =>
    argument.type.kind === 'void'
      ? castTo(argument, types.int)
      : exactly(parameter.integral).coerce(argument),
};

/** Counting, sums, extremes and choices. */
export const basicAggregates: readonly AggregateDefinition[] = [
  { names: ['count'], arity: [0, Infinity], bind: count },
  strictAggregate({
    names: ['count_if'],
    parameters: [parameter.boolean],
    returns: types.bigint,
    start: () => () => {
      let n = 0n;
      return {
        add: ([value]) => {
          if (value === true) n += 1n;
        },
        result: () => n,
      };
    },
  }),
  { names: ['sum'], arity: [1, 1], bind: (c) => sum(c, false) },
  { names: ['try_sum'], arity: [1, 1], bind: (c) => sum(c, true) },
  { names: ['avg', 'mean'], arity: [1, 1], bind: (c) => average(c, false) },
  { names: ['try_avg'], arity: [1, 1], bind: (c) => average(c, true) },
  { names: ['min'], arity: [1, 1], bind: (c) => extreme(c, -1) },
  { names: ['max'], arity: [1, 1], bind: (c) => extreme(c, 1) },
  { names: ['min_by'], arity: [2, 3], bind: (c) => extremeBy(c, -1) },
  { names: ['max_by'], arity: [2, 3], bind: (c) => extremeBy(c, 1) },
  {
    names: ['first', 'first_value'],
    arity: [1, 2],
    ignoresNulls: true,
    bind: (c) => choice(c, 'first'),
  },
  { names: ['any_value'], arity: [1, 2], ignoresNulls: true, bind: (c) => choice(c, 'first') },
  {
    names: ['last', 'last_value'],
    arity: [1, 2],
    ignoresNulls: true,
    bind: (c) => choice(c, 'last'),
  },
  booleanFold(['bool_and', 'every'], (a, b) => a && b),
  booleanFold(['bool_or', 'some', 'any'], (a, b) => a || b),
  bitFold('bit_and', (a, b) => a & b),
  bitFold('bit_or', (a, b) => a | b),
  bitFold('bit_xor', (a, b) => a ^ b),
];

function booleanFold(
  names: readonly string[],
  fold: (a: boolean, b: boolean) => boolean,
): AggregateDefinition {
  return strictAggregate({
    names,
    parameters: [parameter.boolean],
    returns: types.boolean,
    start: () => () => folding((a, b) => fold(a as boolean, b as boolean)),
  });
}

function bitFold(name: string, fold: (a: bigint, b: bigint) => bigint): AggregateDefinition {
  return strictAggregate({
    names: [name],
    parameters: [bits],
    returns: ([argument]) => argument?.type ?? types.int,
    start:
      ([type]) =>
      () =>
        type?.kind === 'bigint'
          ? folding((a, b) => fold(a as bigint, b as bigint))
          : folding((a, b) => Number(fold(BigInt(a as number), BigInt(b as number)))),
  });
}

// ---------------------------------------------------------------- count

function count(c: AggregateCall): BoundAggregate {
  if (c.arguments.length === 0) {
    throw fault(
      'WRONG_NUM_ARGS.WITH_SUGGESTION',
      'count takes 1 or more arguments, not 0',
      c.place,
      'Write count(*) to count rows.',
    );
  }
  return {
    name: aggregateName('count', c.arguments),
    type: types.bigint,
    arguments: c.arguments,
    prepare: () => () => {
      let n = 0n;
      return {
        add: (values) => {
          if (!values.includes(null)) n += 1n;
        },
        result: () => n,
      };
    },
  };
}

// ---------------------------------------------------------------- sum and average

/** A number or an interval; strings and timestamps become doubles. */
const summable: Parameter<Value> = {
  text: 'a number or an interval',
  accepts: (type) => isNumeric(type) || isAnsiInterval(type),
  coerce: (argument) => {
    const { type } = argument;
    if (isNumeric(type) || isAnsiInterval(type)) return argument;
    const becomesDouble =
      type.kind === 'void' || type.kind === 'string' || type.kind === 'timestamp';
    return becomesDouble ? castTo(argument, types.double) : undefined;
  },
};

function sumType(type: DataType): DataType {
  if (isIntegral(type)) return types.bigint;
  if (type.kind === 'float') return types.double;
  if (type.kind === 'decimal') {
    return decimal(Math.min(38, type.precision + 10), type.scale);
  }
  return type;
}

type Sum = { readonly add: (value: Value) => void; readonly value: () => Value };

/** Invariant: `value` is NULL as long as nothing was added; it throws when the sum left its type. */
function summing(type: DataType, result: DataType): Sum {
  if (type.kind === 'float' || type.kind === 'double') {
    let total: number | undefined;
    return {
      add: (value) => {
        total = (total ?? 0) + (value as number);
      },
      value: () => total ?? null,
    };
  }
  if (type.kind === 'interval_year_month') {
    let months: number | undefined;
    return {
      add: (value) => {
        months = (months ?? 0) + (value as number);
        if (months !== (months | 0)) throw overflow(formatType(result));
      },
      value: () => months ?? null,
    };
  }
  let total: bigint | undefined;
  const isDecimal = result.kind === 'decimal';
  return {
    add: (value) => {
      total = (total ?? 0n) + BigInt(value as number | bigint);
      if (!isDecimal && BigInt.asIntN(64, total) !== total) throw overflow(formatType(result));
    },
    value: () => {
      if (total !== undefined && isDecimal && !fitsPrecision(total, result.precision)) {
        throw new ExpressionError(
          'NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION',
          `the sum does not fit ${formatType(result)}`,
        );
      }
      return total ?? null;
    },
  };
}

function overflow(type: string): ExpressionError {
  return new ExpressionError('ARITHMETIC_OVERFLOW', `the sum does not fit ${type}`);
}

/** An overflow makes the result NULL, whatever is added afterwards. */
function forgiving(inner: Accumulator): Accumulator {
  let failed = false;
  const attempt = <T>(work: () => T): T | null => {
    if (failed) return null;
    try {
      return work();
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      failed = true;
      return null;
    }
  };
  return {
    add: (values) => void attempt(() => inner.add(values)),
    result: () => attempt(() => inner.result()),
  };
}

function sum(c: AggregateCall, isTry: boolean): BoundAggregate {
  const argument = coerceArgument(c.name, argumentAt(c, 0), 0, summable);
  const type = sumType(argument.type);
  return {
    name: aggregateName(c.name, [argument]),
    type,
    arguments: [argument],
    prepare: (context) => () => {
      const total = summing(argument.type, type);
      const plain: Accumulator = {
        add: ([value = null]) => {
          if (value !== null) total.add(value);
        },
        result: total.value,
      };
      return isTry ? forgiving(plain) : withPlace(plain, context.place);
    },
  };
}

function averageType(type: DataType): DataType {
  switch (type.kind) {
    case 'decimal': {
      const scale = type.scale + 4;
      const precision = type.precision + 4;
      return decimal(Math.min(38, precision), Math.min(38, scale));
    }
    case 'interval_year_month':
      return yearMonth('year', 'month');
    case 'interval_day_time':
      return dayTime('day', 'second');
    default:
      return types.double;
  }
}

export function average(c: AggregateCall, isTry: boolean): BoundAggregate {
  const given = coerceArgument(c.name, argumentAt(c, 0), 0, summable);
  const { type } = given;
  const isExact = type.kind === 'decimal' || isAnsiInterval(type);
  const argument = isExact ? given : castTo(given, types.double);
  const returns = averageType(type);
  return {
    name: aggregateName(c.name, [argument]),
    type: returns,
    arguments: [argument],
    prepare: (context) => () => {
      let n = 0;
      const total = summing(argument.type, sumType(argument.type));
      const plain: Accumulator = {
        add: ([value = null]) => {
          if (value === null) return;
          n += 1;
          total.add(value);
        },
        result: () => (n === 0 ? null : quotient(total.value(), n, argument.type, returns)),
      };
      return isTry ? forgiving(plain) : withPlace(plain, context.place);
    },
  };
}

function quotient(total: Value, n: number, type: DataType, returns: DataType): Value {
  switch (type.kind) {
    case 'decimal': {
      const shift = (returns as DecimalType).scale - type.scale;
      const value = divideHalfUp((total as bigint) * powerOfTen(Math.max(0, shift)), BigInt(n));
      if (!fitsPrecision(value, (returns as DecimalType).precision)) {
        throw new ExpressionError(
          'NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION',
          `the average does not fit ${formatType(returns)}`,
        );
      }
      return value;
    }
    case 'interval_year_month':
      return Number(divideHalfUp(BigInt(total as number), BigInt(n)));
    case 'interval_day_time':
      return divideHalfUp(total as bigint, BigInt(n));
    default:
      return (total as number) / n;
  }
}

// ---------------------------------------------------------------- extremes and choices

function extreme(c: AggregateCall, sign: 1 | -1): BoundAggregate {
  const argument = argumentAt(c, 0);
  requireOrderable(c.name, argument.type, c.place);
  const compare = comparator(argument.type);
  return {
    name: aggregateName(c.name, [argument]),
    type: argument.type,
    arguments: [argument],
    prepare: () => () => {
      let best: Value = null;
      return {
        add: ([value = null]) => {
          if (value !== null && (best === null || compare(value, best) * sign > 0)) best = value;
        },
        result: () => best,
      };
    },
  };
}

/** Of equal orders the last value counts for both, as in Spark. */
function extremeBy(c: AggregateCall, sign: 1 | -1): BoundAggregate {
  const [value, order] = [argumentAt(c, 0), argumentAt(c, 1)];
  requireOrderable(c.name, order.type, c.place);
  const compare = comparator(order.type);
  const count = c.arguments[2];
  if (count !== undefined) return extremesBy(c, sign, countOf(c, count));
  return {
    name: aggregateName(c.name, [value, order]),
    type: value.type,
    arguments: [value, order],
    prepare: () => () => {
      let best: Value = null;
      let found: Value = null;
      return {
        add: ([candidate = null, by = null]) => {
          if (by === null || (best !== null && compare(by, best) * sign < 0)) return;
          best = by;
          found = candidate;
        },
        result: () => found,
      };
    },
  };
}

function countOf(c: AggregateCall, argument: Expression): number {
  const count = isConstant(argument)
    ? constantValue(coerceArgument(c.name, argument, 2, parameter.int), 'UTC')
    : undefined;
  if (typeof count === 'number' && count > 0) return count;
  throw mismatch(
    count === undefined ? 'NON_FOLDABLE_INPUT' : 'VALUE_OUT_OF_RANGE',
    `${c.name} takes a constant number of values above 0`,
    argument.place,
  );
}

/** The values of the so many extreme rows, the most extreme first. */
function extremesBy(c: AggregateCall, sign: 1 | -1, count: number): BoundAggregate {
  const [value, order] = [argumentAt(c, 0), argumentAt(c, 1)];
  const compare = comparator(order.type);
  return {
    name: aggregateName(`${c.name}/${count}`, [value, order]),
    type: arrayOf(value.type),
    arguments: [value, order],
    prepare: () => () => {
      const kept: { readonly value: Value; readonly by: Value }[] = [];
      return {
        add: ([candidate = null, by = null]) => {
          if (by === null) return;
          const at = kept.findIndex((one) => compare(by, one.by) * sign > 0);
          kept.splice(at < 0 ? kept.length : at, 0, { value: candidate, by });
          kept.length = Math.min(kept.length, count);
        },
        result: () => kept.map((one) => one.value),
      };
    },
  };
}

function ignoresNulls(c: AggregateCall): boolean {
  const given = c.arguments[1];
  if (given === undefined) return c.ignoreNulls;
  if (given.node !== 'literal' || given.type.kind !== 'boolean') {
    throw fault(
      '_LEGACY_ERROR_TEMP_1210',
      `the second argument of ${c.name} must be TRUE or FALSE`,
      given.place,
    );
  }
  return given.value === true || c.ignoreNulls;
}

function choice(c: AggregateCall, which: 'first' | 'last'): BoundAggregate {
  const argument = argumentAt(c, 0);
  const skips = ignoresNulls(c);
  return {
    name: `${aggregateName(c.name, [argument])}${skips}`,
    type: argument.type,
    arguments: [argument],
    prepare: () => () => {
      let isKnown = false;
      let found: Value = null;
      return {
        add: ([value = null]) => {
          if ((skips && value === null) || (isKnown && which === 'first')) return;
          isKnown = true;
          found = value;
        },
        result: () => found,
      };
    },
  };
}

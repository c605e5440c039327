import { comparator } from '../../data/compare.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import {
  type Accumulator,
  type AggregateCall,
  type AggregateDefinition,
  aggregateName,
  type BoundAggregate,
  constantArgument,
  skippingNulls,
  withPlace,
} from '../aggregate.ts';
import { argumentAt } from '../arguments.ts';
import { castTo } from '../coerce.ts';
import { constantValue, isConstant } from '../compile.ts';
import { murmurInt } from '../digest/murmur3.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import { coerceArgument } from '../function.ts';
import { javaHashCode } from '../java-text.ts';
import { requireOrderable } from '../operators/comparison.ts';
import { type Parameter, parameter } from '../parameter.ts';
import {
  arrayOf,
  dayTime,
  isAnsiInterval,
  isNumeric,
  structOf,
  types,
  yearMonth,
} from '../types.ts';
import { lookupKey, normalZero } from '../value-set.ts';

/** Where values stand among the others of their group. Invariant: NULL takes no part. */
export const percentileAggregates: readonly AggregateDefinition[] = [
  { names: ['median'], arity: [1, 1], bind: (c) => percentile(c, argumentAt(c, 0), 0.5) },
  { names: ['percentile'], arity: [2, 3], bind: (c) => plainPercentile(c) },
  {
    names: ['percentile_cont'],
    arity: [1, 1],
    withinGroup: 'required',
    bind: (c) => orderedPercentile(c, false),
  },
  {
    names: ['percentile_disc'],
    arity: [1, 1],
    withinGroup: 'required',
    bind: (c) => orderedPercentile(c, true),
  },
  { names: ['percentile_approx', 'approx_percentile'], arity: [2, 3], bind: approximate },
  { names: ['mode'], arity: [0, 2], withinGroup: 'allowed', bind: mode },
  { names: ['histogram_numeric'], arity: [2, 2], bind: histogram },
];

/** Numbers become doubles, and intervals stay what they are. */
const measurable: Parameter<Value> = {
  text: 'a number or an interval',
  accepts: (type) => type.kind === 'double' || isAnsiInterval(type),
  coerce: (argument) => {
    const { type } = argument;
    if (isAnsiInterval(type)) return argument;
    return isNumeric(type) || type.kind === 'void' || type.kind === 'string'
      ? castTo(argument, types.double)
      : undefined;
  },
};

type Ranks = { readonly ranks: readonly number[]; readonly isArray: boolean };

function ranksOf(c: AggregateCall, index: number): Ranks {
  const given = argumentAt(c, index);
  const isArray = given.type.kind === 'array';
  const wanted = isArray ? arrayOf(types.double) : types.double;
  if (!isConstant(given)) {
    throw mismatch('NON_FOLDABLE_INPUT', 'the percentage must be constant', given.place);
  }
  const value = constantValue(castTo(given, wanted), c.timeZone);
  const ranks = (isArray ? value : [value]) as readonly (number | null)[] | null;
  if (ranks === null || ranks.some((rank) => rank === null)) {
    throw mismatch('UNEXPECTED_NULL', 'the percentage is NULL', given.place);
  }
  if (ranks.some((rank) => rank === null || !(rank >= 0 && rank <= 1))) {
    throw mismatch('VALUE_OUT_OF_RANGE', 'the percentage must be from 0 to 1', given.place);
  }
  return { ranks: ranks as readonly number[], isArray };
}

function plainPercentile(c: AggregateCall): BoundAggregate {
  const { ranks, isArray } = ranksOf(c, 1);
  const weight = c.arguments[2];
  return interpolated(c, argumentAt(c, 0), { ranks, isArray }, { weight });
}

function percentile(c: AggregateCall, value: Expression, rank: number): BoundAggregate {
  return interpolated(c, value, { ranks: [rank], isArray: false }, {});
}

function orderedPercentile(c: AggregateCall, isDiscrete: boolean): BoundAggregate {
  const [order] = c.orderBy;
  if (order === undefined || c.orderBy.length > 1) {
    throw fault(
      'INVALID_WITHIN_GROUP_EXPRESSION.WRONG_NUM_ORDERINGS',
      `${c.name} is ordered by one value`,
      c.place,
    );
  }
  const isReversed = order.descending;
  return interpolated(c, order.value, ranksOf(c, 0), { isDiscrete, isReversed });
}

type Choices = {
  readonly weight?: Expression | undefined;
  readonly isDiscrete?: boolean;
  readonly isReversed?: boolean;
};

function interpolated(
  c: AggregateCall,
  given: Expression,
  { ranks, isArray }: Ranks,
  { weight, isDiscrete = false, isReversed = false }: Choices,
): BoundAggregate {
  const value = coerceArgument(c.name, given, 0, measurable);
  const weights =
    weight === undefined ? [] : [coerceArgument(c.name, weight, 2, parameter.integral)];
  const { type } = value;
  const whole = wholeInterval(type);
  const compare = comparator(type);
  return {
    name: `${aggregateName(c.name, [value])}${ranks.join()}${isDiscrete}${isReversed}`,
    type: isArray ? arrayOf(whole) : whole,
    arguments: [value, ...weights],
    prepare: (context) => () => {
      const values: { value: Value; weight: number }[] = [];
      const inner: Accumulator = {
        add: ([v = null, w = 1]) => {
          if (Number(w) < 0) {
            throw new ExpressionError(
              'NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION',
              'a frequency is negative',
            );
          }
          if (Number(w) > 0) values.push({ value: v, weight: Number(w) });
        },
        result: () => {
          if (values.length === 0) return null;
          values.sort((a, b) => compare(a.value, b.value) * (isReversed ? -1 : 1));
          const found = ranks.map((rank) => valueAt(values, rank, type, isDiscrete));
          return isArray ? found : (found[0] ?? null);
        },
      };
      return withPlace(skippingNulls(inner), context.place);
    },
  };
}

/** What lies between two intervals may need all their fields. */
function wholeInterval(type: DataType): DataType {
  if (type.kind === 'interval_year_month') return yearMonth('year', 'month');
  return type.kind === 'interval_day_time' ? dayTime('day', 'second') : type;
}

type Weighted = { readonly value: Value; readonly weight: number };

function valueAt(
  sorted: readonly Weighted[],
  rank: number,
  type: DataType,
  isDiscrete: boolean,
): Value {
  const total = sorted.reduce((sum, { weight }) => sum + weight, 0);
  const at = (position: number): Value => {
    let before = 0;
    for (const { value, weight } of sorted) {
      before += weight;
      if (position < before) return value;
    }
    return sorted.at(-1)?.value ?? null;
  };
  if (isDiscrete) return at(Math.max(0, Math.ceil(rank * total) - 1));
  const position = (total - 1) * rank;
  const lower = Math.floor(position);
  const [low, high] = [at(lower), at(Math.ceil(position))];
  if (low === high || position === lower) return low;
  const share = position - lower;
  const between = Number(low) * (1 - share) + Number(high) * share;
  if (type.kind === 'double') return between;
  return type.kind === 'interval_day_time' ? BigInt(Math.trunc(between)) : Math.trunc(between);
}

// ---------------------------------------------------------------- approximate ones

const rankable: Parameter<Value> = {
  text: 'a number, a date, a timestamp or an interval',
  accepts: (type) =>
    isNumeric(type) ||
    isAnsiInterval(type) ||
    ['date', 'timestamp', 'timestamp_ntz'].includes(type.kind),
  coerce: (argument) => {
    if (rankable.accepts(argument.type)) return argument;
    const { kind } = argument.type;
    return kind === 'string' || kind === 'void' ? castTo(argument, types.double) : undefined;
  },
};

/** Exact, which is within every accuracy. */
function approximate(c: AggregateCall): BoundAggregate {
  const value = coerceArgument(c.name, argumentAt(c, 0), 0, rankable);
  const { ranks, isArray } = ranksOf(c, 1);
  if (c.arguments.length > 2) {
    const accuracy = constantArgument(c, 2, parameter.bigint, 'accuracy') as bigint | null;
    if (accuracy === null) {
      throw mismatch('UNEXPECTED_NULL', 'the accuracy is NULL', argumentAt(c, 2).place);
    }
    if (accuracy <= 0n || accuracy > 2_147_483_647n) {
      throw mismatch('VALUE_OUT_OF_RANGE', 'the accuracy must be above 0', argumentAt(c, 2).place);
    }
  }
  const compare = comparator(value.type);
  return {
    name: `${aggregateName('percentile_approx', [value])}${ranks.join()}`,
    type: isArray ? arrayOf(value.type) : value.type,
    arguments: [value],
    prepare: () => () => {
      const values: Value[] = [];
      return skippingNulls({
        add: ([v = null]) => void values.push(v),
        result: () => {
          if (values.length === 0) return null;
          values.sort(compare);
          const found = ranks.map(
            (rank) => values[Math.max(0, Math.ceil(rank * values.length) - 1)] ?? null,
          );
          return isArray ? found : (found[0] ?? null);
        },
      });
    },
  };
}

/** Where a value stands in the table that Spark counts in: of equally frequent ones it takes the first there. */
function tablePlace(type: DataType, value: Value, count: number): number {
  const hash = javaHashCode(type, value);
  if (hash === undefined) return 0;
  let size = 64;
  while (count > size * 0.7) size *= 2;
  return murmurInt(hash, 0) & (size - 1);
}

/**
 * Of values that are equally frequent: by an order the first in it; where `mode(value, true)` asks for it the least; else the one
 * that Spark comes upon first.
 */
function mode(c: AggregateCall): BoundAggregate {
  const [order] = c.orderBy;
  const value = order?.value ?? argumentAt(c, 0);
  if (value.type.kind === 'map' || value.type.kind === 'variant') {
    throw mismatch('UNSUPPORTED_INPUT_TYPE', 'mode takes no maps', value.place);
  }
  const keyOf = lookupKey(value.type);
  requireOrderable(c.name, value.type, c.place);
  const normal = normalZero(value.type);
  const compare = comparator(value.type);
  const sign = order?.descending === true ? -1 : 1;
  const [, least] = c.arguments;
  const isLeast =
    least !== undefined && isConstant(least) && constantValue(least, c.timeZone) === true;
  const isBefore = (a: Value, b: Value, count: number): boolean => {
    if (order === undefined && !isLeast) {
      const [x, y] = [a, b].map((one) => tablePlace(value.type, one, count));
      if (x !== y) return (x ?? 0) < (y ?? 0);
    }
    return compare(a, b) * sign < 0;
  };
  return {
    name: `${aggregateName(c.name, [value])}${sign}${isLeast ? ' least' : ''}`,
    type: value.type,
    arguments: [value],
    prepare: () => () => {
      const counts = new Map<Value, { value: Value; n: number }>();
      return skippingNulls({
        add: ([v = null]) => {
          const key = keyOf(v);
          const known = counts.get(key);
          if (known === undefined) counts.set(key, { value: normal(v), n: 1 });
          else known.n += 1;
        },
        result: () => {
          let best: { value: Value; n: number } | undefined;
          for (const found of counts.values()) {
            const isBetter =
              best === undefined ||
              found.n > best.n ||
              (found.n === best.n && isBefore(found.value, best.value, counts.size));
            if (isBetter) best = found;
          }
          return best?.value ?? null;
        },
      });
    },
  };
}

type Bin = { x: number; y: number };

/** The two nearest bins are merged as often as there are too many. */
function histogram(c: AggregateCall): BoundAggregate {
  const value = coerceArgument(c.name, argumentAt(c, 0), 0, rankable);
  const bins = constantArgument(c, 1, parameter.int, 'number of bins') as number | null;
  if (bins === null) throw mismatch('UNEXPECTED_NULL', 'the number of bins is NULL', c.place);
  if (bins < 2) throw mismatch('VALUE_OUT_OF_RANGE', 'there must be 2 bins at least', c.place);
  const { type } = value;
  const scale = type.kind === 'decimal' ? 10 ** type.scale : 1;
  const back = (x: number): Value => {
    if (type.kind === 'decimal') return BigInt(Math.round(x * scale));
    if (type.kind === 'double') return x;
    if (type.kind === 'float') return Math.fround(x);
    const isBig = ['bigint', 'timestamp', 'timestamp_ntz', 'interval_day_time'].includes(type.kind);
    return isBig ? BigInt(Math.trunc(x)) : Math.trunc(x);
  };
  return {
    name: `${aggregateName(c.name, [value])}${bins}`,
    type: arrayOf(
      structOf([
        ['x', type],
        ['y', types.double],
      ]),
    ),
    arguments: [value],
    prepare: () => () => {
      const found: Bin[] = [];
      return skippingNulls({
        add: ([v = null]) => addTo(found, Number(v) / scale, bins),
        result: () => (found.length === 0 ? null : found.map(({ x, y }) => [back(x), y])),
      });
    },
  };
}

function addTo(bins: Bin[], x: number, most: number): void {
  const at = bins.findIndex((bin) => bin.x >= x);
  const bin = bins[at];
  if (bin?.x === x) {
    bin.y += 1;
    return;
  }
  bins.splice(at < 0 ? bins.length : at, 0, { x, y: 1 });
  if (bins.length <= most) return;
  let nearest = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i + 1 < bins.length; i += 1) {
    const gap = (bins[i + 1]?.x ?? 0) - (bins[i]?.x ?? 0);
    if (gap <= least) [nearest, least] = [i, gap];
  }
  const [one, two] = [bins[nearest], bins[nearest + 1]];
  if (one === undefined || two === undefined) return;
  const y = one.y + two.y;
  bins.splice(nearest, 2, { x: (one.x * one.y + two.x * two.y) / y, y });
}

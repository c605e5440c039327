import { formatType } from '../../data/type-text.ts';
import type { Value } from '../../data/value.ts';
import {
  type Accumulator,
  type AggregateCall,
  type AggregateDefinition,
  type BoundAggregate,
  strictAggregate,
} from '../aggregate.ts';
import { argumentAt } from '../arguments.ts';
import { strictCall } from '../call.ts';
import { parameter } from '../parameter.ts';
import { types } from '../types.ts';
import { average } from './basic.ts';

/** Moments of one series, and of two. Invariant: a division by zero gives NULL, as in Spark. */
export const statisticsAggregates: readonly AggregateDefinition[] = [
  moments(['stddev_samp', 'stddev', 'std'], ({ n, m2 }) => ratio(Math.sqrt, m2, n - 1)),
  moments(['stddev_pop'], ({ n, m2 }) => ratio(Math.sqrt, m2, n)),
  moments(['var_samp', 'variance'], ({ n, m2 }) => ratio(same, m2, n - 1)),
  moments(['var_pop'], ({ n, m2 }) => ratio(same, m2, n)),
  moments(['skewness'], ({ n, m2, m3 }) =>
    m2 === 0 ? null : (Math.sqrt(n) * m3) / Math.sqrt(m2 ** 3),
  ),
  moments(['kurtosis'], ({ n, m2, m4 }) => (m2 === 0 ? null : (n * m4) / (m2 * m2) - 3)),
  pairs(['covar_pop'], ({ n, c }) => c / n),
  pairs(['covar_samp'], ({ n, c }) => (n === 1 ? null : c / (n - 1))),
  pairs(['corr'], ({ n, c, xx, yy }) => (n === 1 || xx * yy === 0 ? null : c / Math.sqrt(xx * yy))),
  // Of (y, x): the dependent series stands first.
  { names: ['regr_avgx'], arity: [2, 2], bind: (c) => meanOfPairs(c, 1) },
  { names: ['regr_avgy'], arity: [2, 2], bind: (c) => meanOfPairs(c, 0) },
  pairs(['regr_r2'], ({ c, xx, yy }) => {
    if (yy === 0) return null;
    return xx === 0 ? 1 : (c * c) / (xx * yy);
  }),
  pairs(['regr_sxx'], ({ yy }) => yy),
  pairs(['regr_syy'], ({ xx }) => xx),
  pairs(['regr_sxy'], ({ c }) => c),
  pairs(['regr_slope'], ({ c, yy }) => (yy === 0 ? null : c / yy)),
  pairs(['regr_intercept'], ({ c, yy, x, y }) => (yy === 0 ? null : x - (c / yy) * y)),
  strictAggregate({
    names: ['regr_count'],
    parameters: [parameter.double, parameter.double],
    returns: types.bigint,
    start: () => () => {
      let n = 0n;
      return {
        add: () => {
          n += 1n;
        },
        result: () => n,
      };
    },
  }),
];

function same(value: number): number {
  return value;
}

function ratio(then: (value: number) => number, a: number, b: number): number | null {
  return b === 0 ? null : then(a / b);
}

type Moments = { n: number; mean: number; m2: number; m3: number; m4: number };

function moments(
  names: readonly string[],
  result: (moments: Moments) => number | null,
): AggregateDefinition {
  return strictAggregate({
    names,
    parameters: [parameter.double],
    returns: types.double,
    start: () => () => momentsOf(result),
  });
}

/** By the updating formulas, so that no precision is lost to large sums. */
function momentsOf(result: (moments: Moments) => number | null): Accumulator {
  const m: Moments = { n: 0, mean: 0, m2: 0, m3: 0, m4: 0 };
  return {
    add: ([value]) => {
      m.n += 1;
      const delta = (value as number) - m.mean;
      const step = delta / m.n;
      m.mean += step;
      m.m2 += delta * (delta - step);
      m.m3 += -3 * step * m.m2 + delta * (delta * delta - step * step);
      m.m4 +=
        -4 * step * m.m3 -
        6 * step * step * m.m2 +
        delta * (delta * delta * delta - step * step * step);
    },
    result: () => (m.n === 0 ? null : result(m)),
  };
}

/** Means, sums of squares and of products around the means; x is the first argument, y the second. */
type Pairs = { n: number; x: number; y: number; xx: number; yy: number; c: number };

function pairs(
  names: readonly string[],
  result: (pairs: Pairs) => number | null,
): AggregateDefinition {
  return strictAggregate({
    names,
    parameters: [parameter.double, parameter.double],
    returns: types.double,
    start: () => () => pairsOf(result),
  });
}

function pairsOf(result: (pairs: Pairs) => number | null): Accumulator {
  const p: Pairs = { n: 0, x: 0, y: 0, xx: 0, yy: 0, c: 0 };
  return {
    add: (values: readonly Value[]) => {
      const [x, y] = values as readonly number[] as readonly [number, number];
      p.n += 1;
      const [dx, dy] = [x - p.x, y - p.y];
      p.x += dx / p.n;
      p.y += dy / p.n;
      p.c += dx * (y - p.y);
      p.xx += dx * (x - p.x);
      p.yy += dy * (y - p.y);
    },
    result: () => (p.n === 0 ? null : result(p)),
  };
}

/** The mean of one side, in its own type, over the rows that have both. */
function meanOfPairs(c: AggregateCall, side: 0 | 1): BoundAggregate {
  const [left, right] = [argumentAt(c, 0), argumentAt(c, 1)];
  const meant = side === 0 ? left : right;
  const paired = strictCall({
    name: `paired(${side},${formatType(left.type)},${formatType(right.type)})`,
    type: meant.type,
    arguments: [left, right],
    place: meant.place,
    prepare: () => (a: Value, b: Value) => (side === 0 ? a : b),
  });
  return average({ ...c, arguments: [paired] }, false);
}

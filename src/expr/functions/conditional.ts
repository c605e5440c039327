import { argumentAt } from '../arguments.ts';
import { call, literal } from '../call.ts';
import type { Expression, Operation } from '../expression.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import { between, nullSafeEqual } from '../operators/comparison.ts';
import {
  caseWhen,
  choose,
  coalesce,
  extreme,
  ifNotNull,
  nullIf,
} from '../operators/conditional.ts';
import { isNull } from '../operators/logic.ts';
import { oneOf, parameter } from '../parameter.ts';
import { types } from '../types.ts';

/** Choices, and what treats NULL and NaN in ways of its own. */
export const conditionalFunctions: readonly FunctionDefinition[] = [
  {
    names: ['if'],
    arity: [3, 3],
    bind: (c) => choose(argumentAt(c, 0), argumentAt(c, 1), argumentAt(c, 2), c.place),
  },
  { names: ['when'], arity: [2, Infinity], bind: when },
  { names: ['coalesce'], arity: [1, Infinity], bind: (c) => coalesce(c.arguments, c.place) },
  { names: ['nvl', 'ifnull'], arity: [2, 2], bind: (c) => coalesce(c.arguments, c.place) },
  {
    names: ['nvl2'],
    arity: [3, 3],
    bind: (c) => ifNotNull(argumentAt(c, 0), argumentAt(c, 1), argumentAt(c, 2), c.place),
  },
  {
    names: ['nullif'],
    arity: [2, 2],
    bind: (c) => nullIf(argumentAt(c, 0), argumentAt(c, 1), c.place),
  },
  {
    names: ['nullifzero'],
    arity: [1, 1],
    bind: (c) => nullIf(argumentAt(c, 0), literal(0, types.int, c.place), c.place),
  },
  {
    names: ['zeroifnull'],
    arity: [1, 1],
    bind: (c) => coalesce([argumentAt(c, 0), literal(0, types.int, c.place)], c.place),
  },
  {
    names: ['greatest'],
    arity: [2, Infinity],
    bind: (c) => extreme('greatest', c.arguments, c.place),
  },
  { names: ['least'], arity: [2, Infinity], bind: (c) => extreme('least', c.arguments, c.place) },
  { names: ['isnull'], arity: [1, 1], bind: (c) => isNull(argumentAt(c, 0), false, c.place) },
  { names: ['isnotnull'], arity: [1, 1], bind: (c) => isNull(argumentAt(c, 0), true, c.place) },
  {
    names: ['equal_null'],
    arity: [2, 2],
    bind: (c) => nullSafeEqual(argumentAt(c, 0), argumentAt(c, 1), c.place),
  },
  {
    names: ['isnan'],
    arity: [1, 1],
    bind: (c) => {
      const value = coerceArgument(
        c.name,
        argumentAt(c, 0),
        0,
        oneOf([parameter.double, parameter.float]),
      );
      return call(isNanOperation, types.boolean, [value], c.place);
    },
  },
  {
    names: ['nanvl'],
    arity: [2, 2],
    bind: (c) => {
      const rule = oneOf([parameter.double, parameter.float]);
      let value = coerceArgument(c.name, argumentAt(c, 0), 0, rule);
      let other = coerceArgument(c.name, argumentAt(c, 1), 1, rule);
      if (value.type.kind !== other.type.kind) {
        value = coerceArgument(c.name, value, 0, parameter.double);
        other = coerceArgument(c.name, other, 1, parameter.double);
      }
      return call(nanvlOperation, value.type, [value, other], c.place);
    },
  },
  {
    names: ['between'],
    arity: [3, 3],
    bind: (c) => between(argumentAt(c, 0), argumentAt(c, 1), argumentAt(c, 2), c.place),
  },
];

/** Conditions and values in turn, and perhaps one value more: CASE as a function. */
function when(c: FunctionCall): Expression {
  const branches = [];
  for (let i = 0; i + 1 < c.arguments.length; i += 2) {
    branches.push({ when: argumentAt(c, i), result: argumentAt(c, i + 1) });
  }
  const otherwise = c.arguments.length % 2 === 1 ? c.arguments.at(-1) : undefined;
  return caseWhen(branches, otherwise, c.place);
}

const isNanOperation: Operation = {
  name: 'isnan',
  deterministic: true,
  compile:
    ([arg = () => null]) =>
    (row, frame) =>
      Number.isNaN(arg(row, frame)),
};

const nanvlOperation: Operation = {
  name: 'nanvl',
  deterministic: true,
  compile:
    ([value = () => null, other = () => null]) =>
    (row, frame) => {
      const v = value(row, frame);
      return Number.isNaN(v) ? other(row, frame) : v;
    },
};

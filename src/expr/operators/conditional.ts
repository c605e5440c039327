import type { Place } from '../../base/place.ts';
import { comparator } from '../../data/compare.ts';
import { formatType } from '../../data/type-text.ts';
import { call, literal } from '../call.ts';
import { castTo, commonTypeWithoutStrings, unify } from '../coerce.ts';
import type { Evaluator, Expression, Operation } from '../expression.ts';
import { mismatch } from '../faults.ts';
import { types } from '../types.ts';
import { comparison, requireOrderable } from './comparison.ts';
import { isNull } from './logic.ts';

/** Choices between values. Invariant: only the branch that is chosen is evaluated, for its error's sake. */
export type Branch = { readonly when: Expression; readonly result: Expression };

export function caseWhen(
  branches: readonly Branch[],
  otherwise: Expression | undefined,
  place: Place,
): Expression {
  const results = branches.map((branch) => branch.result);
  if (otherwise !== undefined) results.push(otherwise);
  const { type, expressions } = unify(results, 'CASE', place);
  for (const { when } of branches) {
    if (when.type.kind !== 'boolean') {
      throw mismatch(
        'UNEXPECTED_INPUT_TYPE',
        `WHEN needs a boolean, not ${formatType(when.type)}`,
        when.place,
      );
    }
  }
  const args: Expression[] = [];
  for (const [i, expression] of expressions.entries()) {
    const condition = branches[i]?.when;
    if (condition !== undefined) args.push(condition);
    args.push(expression);
  }
  return call(caseOperation, type, args, place);
}

/** `if(condition, then, otherwise)`. */
export function choose(
  condition: Expression,
  then: Expression,
  otherwise: Expression,
  place: Place,
): Expression {
  const test =
    condition.type.kind === 'void' ? literal(null, types.boolean, condition.place) : condition;
  if (test.type.kind !== 'boolean') {
    throw mismatch(
      'UNEXPECTED_INPUT_TYPE',
      `the condition of if must be a boolean, not ${formatType(test.type)}`,
      test.place,
    );
  }
  const { type, expressions } = unify([then, otherwise], 'if', place);
  return call(caseOperation, type, [test, ...expressions], place);
}

export function coalesce(values: readonly Expression[], place: Place): Expression {
  const { type, expressions } = unify(values, 'coalesce', place);
  return call(coalesceOperation, type, expressions, place);
}

/** NULL when both are equal, else the first, in its own type. */
export function nullIf(value: Expression, other: Expression, place: Place): Expression {
  const nothingOfType = literal(null, value.type, place);
  return call(
    caseOperation,
    value.type,
    [comparison('=', value, other, place), nothingOfType, value],
    place,
  );
}

/** `nvl2(test, then, otherwise)`. */
export function ifNotNull(
  test: Expression,
  then: Expression,
  otherwise: Expression,
  place: Place,
): Expression {
  return choose(isNull(test, true, place), then, otherwise, place);
}

/** The greatest or least value that is not NULL. */
export function extreme(
  which: 'greatest' | 'least',
  values: readonly Expression[],
  place: Place,
): Expression {
  const { type, expressions } = unify(values, which, place, commonTypeWithoutStrings);
  requireOrderable(which, type, place);
  const compare = comparator(type);
  const sign = which === 'greatest' ? 1 : -1;
  const operation: Operation = {
    name: `${which}(${formatType(type)})`,
    deterministic: true,
    compile: (args) => (row, frame) => {
      let best: ReturnType<Evaluator> = null;
      for (const arg of args) {
        const value = arg(row, frame);
        if (value !== null && (best === null || compare(value, best) * sign > 0)) best = value;
      }
      return best;
    },
  };
  return call(
    operation,
    type,
    expressions.map((e) => castTo(e, type)),
    place,
  );
}

/** Arguments: condition, value, condition, value, … and perhaps one value more. */
const caseOperation: Operation = {
  name: 'case',
  deterministic: true,
  compile: (args) => {
    const nothing: Evaluator = () => null;
    const [test = nothing, then = nothing, otherwise = nothing] = args;
    if (args.length <= 3) {
      return (row, frame) => (test(row, frame) === true ? then(row, frame) : otherwise(row, frame));
    }
    const last = args.length % 2 === 1 ? (args[args.length - 1] ?? nothing) : nothing;
    const branches: (readonly [Evaluator, Evaluator])[] = [];
    for (let i = 0; i + 1 < args.length; i += 2) {
      branches.push([args[i] ?? nothing, args[i + 1] ?? nothing]);
    }
    return (row, frame) => {
      for (const [condition, value] of branches) {
        if (condition(row, frame) === true) return value(row, frame);
      }
      return last(row, frame);
    };
  },
};

const coalesceOperation: Operation = {
  name: 'coalesce',
  deterministic: true,
  compile: (args) => (row, frame) => {
    for (const arg of args) {
      const value = arg(row, frame);
      if (value !== null) return value;
    }
    return null;
  },
};

import type { Place } from '../../base/place.ts';
import { call } from '../call.ts';
import type { Evaluator, Expression, Operation } from '../expression.ts';
import { mismatch } from '../faults.ts';
import { types } from '../types.ts';
import { booleanOperand, booleanPair } from './operand.ts';

/**
 * Three-valued logic. Invariant: the right side is evaluated only where the left one does not decide,
 * so `FALSE AND 1/0 > 1` is FALSE.
 */
export function and(left: Expression, right: Expression, place: Place): Expression {
  return call(andOperation, types.boolean, booleanPair('AND', left, right, place), place);
}

export function or(left: Expression, right: Expression, place: Place): Expression {
  return call(orOperation, types.boolean, booleanPair('OR', left, right, place), place);
}

export function not(value: Expression, place: Place): Expression {
  return call(notOperation, types.boolean, [booleanOperand('NOT', value)], place);
}

/** `IS [NOT] NULL`. */
export function isNull(value: Expression, negated: boolean, place: Place): Expression {
  return call(negated ? isNotNullOperation : isNullOperation, types.boolean, [value], place);
}

/** `IS [NOT] TRUE | FALSE`; UNKNOWN is NULL of a boolean. */
export function isTruth(
  value: Expression,
  test: 'true' | 'false' | 'unknown',
  negated: boolean,
  place: Place,
): Expression {
  if (test === 'unknown') {
    // Only a literal is looked at: of all else it is asked whether it is NULL, whatever its type.
    const isBoolean = value.type.kind === 'boolean' || value.type.kind === 'void';
    if (value.node === 'literal' && value.value !== null && !isBoolean) {
      throw mismatch('UNEXPECTED_INPUT_TYPE', 'IS UNKNOWN needs a boolean', value.place);
    }
    return isNull(value, negated, place);
  }
  const operand = booleanOperand(`IS ${test.toUpperCase()}`, value, 'BINARY_OP_DIFF_TYPES');
  const wanted = test === 'true';
  const operation: Operation = {
    name: `is_${negated ? 'not_' : ''}${test}`,
    deterministic: true,
    compile: ([arg = nothing]) =>
      negated
        ? (row, frame) => arg(row, frame) !== wanted
        : (row, frame) => arg(row, frame) === wanted,
  };
  return call(operation, types.boolean, [operand], place);
}

const nothing: Evaluator = () => null;

const andOperation: Operation = {
  name: 'and',
  deterministic: true,
  compile:
    ([left = nothing, right = nothing]) =>
    (row, frame) => {
      const a = left(row, frame);
      if (a === false) return false;
      const b = right(row, frame);
      if (b === false) return false;
      return a === null || b === null ? null : true;
    },
};

const orOperation: Operation = {
  name: 'or',
  deterministic: true,
  compile:
    ([left = nothing, right = nothing]) =>
    (row, frame) => {
      const a = left(row, frame);
      if (a === true) return true;
      const b = right(row, frame);
      if (b === true) return true;
      return a === null || b === null ? null : false;
    },
};

const notOperation: Operation = {
  name: 'not',
  deterministic: true,
  compile:
    ([arg = nothing]) =>
    (row, frame) => {
      const value = arg(row, frame);
      return value === null ? null : !value;
    },
};

const isNullOperation: Operation = {
  name: 'is_null',
  deterministic: true,
  compile:
    ([arg = nothing]) =>
    (row, frame) =>
      arg(row, frame) === null,
};

const isNotNullOperation: Operation = {
  name: 'is_not_null',
  deterministic: true,
  compile:
    ([arg = nothing]) =>
    (row, frame) =>
      arg(row, frame) !== null,
};

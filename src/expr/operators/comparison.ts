import type { Place } from '../../base/place.ts';
import { comparator, isOrderable } from '../../data/compare.ts';
import { formatType, sameType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { call, strictCall } from '../call.ts';
import { castTo, commonTypeOf } from '../coerce.ts';
import type { Evaluator, Expression, Operation } from '../expression.ts';
import { mismatch } from '../faults.ts';
import { types } from '../types.ts';
import { and } from './logic.ts';
import { comparisonPair, requireSame } from './operand.ts';

export type ComparisonOperator = '=' | '<>' | '<' | '<=' | '>' | '>=';

/** Comparisons. Invariant: the order is the one of `data/compare.ts`, for every type and operator. */
export function comparison(
  operator: ComparisonOperator,
  left: Expression,
  right: Expression,
  place: Place,
): Expression {
  const [a, b] = comparable(operator, left, right, place);
  return strictCall({
    name: `${operator}(${formatType(a.type)})`,
    type: types.boolean,
    arguments: [a, b],
    place,
    prepare: () => comparisonKernel(operator, a.type),
  });
}

/** A struct of the same types under the names of another: in lists only the places of fields count. */
function namedAs(type: DataType, value: Expression): Expression {
  if (type.kind !== 'struct' || value.type.kind !== 'struct') return value;
  const given = value.type.fields;
  const isSame =
    type.fields.length === given.length &&
    type.fields.every((field, i) => sameType(field.type, given[i]?.type ?? types.void));
  if (!isSame) return value;
  const fields = value.type.fields.map((field, i) => ({
    ...field,
    name: type.fields[i]?.name ?? field.name,
  }));
  return castTo(value, { kind: 'struct', fields });
}

/** `<=>`, where NULL equals NULL. */
export function nullSafeEqual(left: Expression, right: Expression, place: Place): Expression {
  const [a, b] = comparable('<=>', left, right, place);
  const compare = comparator(a.type);
  const operation: Operation = {
    name: `<=>(${formatType(a.type)})`,
    deterministic: true,
    compile:
      ([first = nothing, second = nothing]) =>
      (row, frame) =>
        compare(first(row, frame), second(row, frame)) === 0,
  };
  return call(operation, types.boolean, [a, b], place);
}

/** `low <= value AND value <= high`. */
export function between(
  value: Expression,
  low: Expression,
  high: Expression,
  place: Place,
): Expression {
  return and(comparison('>=', value, low, place), comparison('<=', value, high, place), place);
}

/**
 * `value IN (list)`: TRUE at a match, else NULL when the value or an element is NULL, else FALSE.
 * An element behind the match is not evaluated.
 */
export function isIn(value: Expression, given: readonly Expression[], place: Place): Expression {
  const list = given.map((one) => namedAs(value.type, one));
  const type = commonTypeOf([value, ...list].map((e) => e.type));
  if (type === undefined) {
    throw mismatch(
      'DATA_DIFF_TYPES',
      `IN needs values of one type, not ${[...new Set([value, ...list].map((e) => formatType(e.type)))].join(' and ')}`,
      place,
    );
  }
  requireOrderable('IN', type, place);
  const compare = comparator(type);
  const operation: Operation = {
    name: `in(${formatType(type)})`,
    deterministic: true,
    compile: ([subject = nothing, ...elements]) => inEvaluator(subject, elements, compare),
  };
  return call(
    operation,
    types.boolean,
    [value, ...list].map((e) => castTo(e, type)),
    place,
  );
}

function inEvaluator(
  subject: Evaluator,
  elements: readonly Evaluator[],
  compare: (a: Value, b: Value) => number,
): Evaluator {
  return (row, frame) => {
    const value = subject(row, frame);
    if (value === null) return null;
    let sawNull = false;
    for (const element of elements) {
      const candidate = element(row, frame);
      if (candidate === null) sawNull = true;
      else if (compare(value, candidate) === 0) return true;
    }
    return sawNull ? null : false;
  };
}

const nothing: Evaluator = () => null;

function comparable(
  operator: string,
  left: Expression,
  right: Expression,
  place: Place,
): readonly [Expression, Expression] {
  const [a, b] = comparisonPair(left, right);
  requireSame(operator, [a, b], place);
  requireOrderable(operator, a.type, place);
  return [a, b];
}

export function requireOrderable(what: string, type: DataType, place: Place): void {
  if (isOrderable(type)) return;
  throw mismatch(
    'INVALID_ORDERING_TYPE',
    `${what} needs values that have an order, ${formatType(type)} has none`,
    place,
  );
}

type Test = (a: never, b: never) => boolean;

function comparisonKernel(operator: ComparisonOperator, type: DataType): Test {
  switch (type.kind) {
    case 'boolean':
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'date':
    case 'interval_year_month':
    case 'bigint':
    case 'decimal':
    case 'timestamp':
    case 'timestamp_ntz':
    case 'time':
    case 'interval_day_time':
      return directKernel(operator);
    case 'string':
      if (operator === '=' || operator === '<>') return directKernel(operator);
      return orderKernel(operator, comparator(type));
    default:
      return orderKernel(operator, comparator(type));
  }
}

/** Where the order of the representation is the order of the type. */
function directKernel(operator: ComparisonOperator): Test {
  const test = (f: (a: number, b: number) => boolean): Test => f;
  switch (operator) {
    case '=':
      return test((a, b) => a === b);
    case '<>':
      return test((a, b) => a !== b);
    case '<':
      return test((a, b) => a < b);
    case '<=':
      return test((a, b) => a <= b);
    case '>':
      return test((a, b) => a > b);
    case '>=':
      return test((a, b) => a >= b);
  }
}

function orderKernel(operator: ComparisonOperator, compare: (a: Value, b: Value) => number): Test {
  const test = (f: (a: Value, b: Value) => boolean): Test => f;
  switch (operator) {
    case '=':
      return test((a, b) => compare(a, b) === 0);
    case '<>':
      return test((a, b) => compare(a, b) !== 0);
    case '<':
      return test((a, b) => compare(a, b) < 0);
    case '<=':
      return test((a, b) => compare(a, b) <= 0);
    case '>':
      return test((a, b) => compare(a, b) > 0);
    case '>=':
      return test((a, b) => compare(a, b) >= 0);
  }
}

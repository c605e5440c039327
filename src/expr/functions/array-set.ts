import { comparator } from '../../data/compare.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { call, located, type StrictFunction, strictCall } from '../call.ts';
import { castTo, commonTypeWithoutStrings, tightestCommonType } from '../coerce.ts';
import type { Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { mismatch } from '../faults.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import { requireOrderable } from '../operators/comparison.ts';
import { exactly, type Parameter, parameter } from '../parameter.ts';
import { arrayLengthMax, indexOfZero, tooLarge } from '../row-errors.ts';
import { arrayOf, structOf, types } from '../types.ts';
import { distinctValues, lookupKey } from '../value-set.ts';
import { arrayAndElement, elementType } from './array.ts';
import { boundLambda, parametersOf } from './higher-order.ts';

/** Arrays as sets, sorted, and with elements added and removed. */
export const arraySetFunctions: readonly FunctionDefinition[] = [
  arrayChange('array_distinct', true, distinctValues),
  arrayChange('array_compact', false, () => (values) => values.filter((value) => value !== null)),
  { names: ['array_union'], arity: [2, 2], bind: (c) => setCall(c, union) },
  { names: ['array_intersect'], arity: [2, 2], bind: (c) => setCall(c, intersect) },
  { names: ['array_except'], arity: [2, 2], bind: (c) => setCall(c, except) },
  { names: ['arrays_overlap'], arity: [2, 2], bind: arraysOverlap },
  { names: ['array_remove'], arity: [2, 2], bind: arrayRemove },
  { names: ['array_append'], arity: [2, 2], bind: (c) => arrayAdd(c, false) },
  { names: ['array_prepend'], arity: [2, 2], bind: (c) => arrayAdd(c, true) },
  { names: ['array_insert'], arity: [3, 3], bind: arrayInsert },
  { names: ['array_repeat'], arity: [2, 2], bind: arrayRepeat },
  { names: ['arrays_zip'], arity: [0, Infinity], bind: arraysZip },
  { names: ['sort_array'], arity: [1, 2], bind: sortArray },
  { names: ['array_sort'], arity: [1, 2], lambdas: 1, bind: arraySort },
];

/** The longest array that a function makes out of a few values. */

function arrayChange(
  name: string,
  isOrdered: boolean,
  make: (element: DataType) => (values: readonly Value[]) => readonly Value[],
): FunctionDefinition {
  return strictFunction({
    names: [name],
    parameters: [parameter.array],
    returns: ([array]) => {
      if (isOrdered && array !== undefined) requireOrderable(name, elementType(array), array.place);
      return array?.type ?? arrayOf(types.void);
    },
    prepare: ({ arguments: [array] }) => make(elementType(array)),
  });
}

type SetOperation = (
  left: readonly Value[],
  right: readonly Value[],
  keyOf: (value: Value) => Value,
) => readonly Value[];

const union: SetOperation = (left, right) => [...left, ...right];

const intersect: SetOperation = (left, right, keyOf) => {
  const keys = new Set(right.map(keyOf));
  return left.filter((value) => keys.has(keyOf(value)));
};

const except: SetOperation = (left, right, keyOf) => {
  const keys = new Set(right.map(keyOf));
  return left.filter((value) => !keys.has(keyOf(value)));
};

/** Two arrays with elements of one type, without reading strings as numbers. */
function arrayPair(c: FunctionCall): { arrays: readonly Expression[]; element: DataType } {
  const [left, right] = [argumentAt(c, 0), argumentAt(c, 1)];
  const hasVoid = left.type.kind === 'void' || right.type.kind === 'void';
  const common = hasVoid ? undefined : commonTypeWithoutStrings(left.type, right.type);
  if (common?.kind !== 'array') {
    throw mismatch(
      'BINARY_ARRAY_DIFF_TYPES',
      `${c.name} needs two arrays of one type, not ${formatType(left.type)} and ${formatType(right.type)}`,
      c.place,
    );
  }
  requireOrderable(c.name, common.element, c.place);
  return { arrays: [castTo(left, common), castTo(right, common)], element: common.element };
}

function setCall(c: FunctionCall, operation: SetOperation): Expression {
  const { arrays, element } = arrayPair(c);
  const keyOf = lookupKey(element);
  const distinct = distinctValues(element);
  return strictCall({
    name: `${c.name}(${formatType(element)})`,
    type: arrayOf(element),
    arguments: arrays,
    place: c.place,
    prepare: () => (left: readonly Value[], right: readonly Value[]) =>
      distinct(operation(left, right, keyOf)),
  });
}

/** NULL when nothing is common but a NULL might have been. */
function arraysOverlap(c: FunctionCall): Expression {
  const { arrays, element } = arrayPair(c);
  const keyOf = lookupKey(element);
  return strictCall({
    name: `arrays_overlap(${formatType(element)})`,
    type: types.boolean,
    arguments: arrays,
    place: c.place,
    prepare: () => (left: readonly Value[], right: readonly Value[]) => {
      const keys = new Set(right.filter((value) => value !== null).map(keyOf));
      if (left.some((value) => value !== null && keys.has(keyOf(value)))) return true;
      const isUnsure = left.includes(null) || right.includes(null);
      return isUnsure && left.length > 0 && right.length > 0 ? null : false;
    },
  });
}

function arrayRemove(c: FunctionCall): Expression {
  if (argumentAt(c, 0).type.kind === 'void') {
    throw mismatch('NULL_TYPE', `${c.name} can't look into NULL`, c.place);
  }
  const { array, element, type } = arrayAndElement(c);
  requireOrderable(c.name, type, c.place);
  const compare = comparator(type);
  return strictCall({
    name: `array_remove(${formatType(type)})`,
    type: arrayOf(type),
    arguments: [array, element],
    place: c.place,
    prepare: () => (values: readonly Value[], unwanted: Value) =>
      values.filter((value) => value === null || compare(value, unwanted) !== 0),
  });
}

/** A call that is NULL only when its array is. */
function arrayCall(
  c: FunctionCall,
  type: DataType,
  args: readonly Expression[],
  apply: (array: readonly Value[], ...rest: readonly Value[]) => Value,
): Expression {
  const operation: Operation = {
    name: `${c.name}(${formatType(type)})`,
    deterministic: true,
    compile:
      ([array = () => null, ...rest], context) =>
      (row, frame) => {
        const values = array(row, frame);
        if (values === null) return null;
        try {
          return apply(values as readonly Value[], ...rest.map((arg) => arg(row, frame)));
        } catch (error) {
          throw located(error, context.place);
        }
      },
  };
  return call(operation, type, args, c.place);
}

function arrayAdd(c: FunctionCall, atStart: boolean): Expression {
  if (argumentAt(c, 0).type.kind !== 'array') {
    throw mismatch('UNEXPECTED_INPUT_TYPE', `argument 1 of ${c.name} must be an array`, c.place);
  }
  const { array, element, type } = arrayAndElement(c);
  return arrayCall(c, arrayOf(type), [array, element], (values, added = null) =>
    atStart ? [added, ...values] : [...values, added],
  );
}

/** A position is an integer by itself: neither a text nor NULL nor a bigint is read as one. */
const exactPosition: Parameter<number> = {
  ...parameter.int,
  coerce: (argument) => {
    const { kind } = argument.type;
    return kind === 'int' || kind === 'smallint' || kind === 'tinyint'
      ? castTo(argument, types.int)
      : undefined;
  },
};

/** Positions count from 1, and from the end when negative; a gap is filled with NULL. */
function arrayInsert(c: FunctionCall): Expression {
  const [array, position, item] = [argumentAt(c, 0), argumentAt(c, 1), argumentAt(c, 2)];
  const element =
    array.type.kind === 'array' ? tightestCommonType(array.type.element, item.type) : undefined;
  const at = coerceArgument(c.name, position, 1, exactPosition);
  if (element === undefined) {
    throw mismatch(
      'ARRAY_FUNCTION_DIFF_TYPES',
      `array_insert can't put ${formatType(item.type)} into ${formatType(array.type)}`,
      c.place,
    );
  }
  const args = [castTo(array, arrayOf(element)), at, castTo(item, element)];
  return arrayCall(c, arrayOf(element), args, (values, where = null, added = null) =>
    where === null ? null : inserted(values, where as number, added),
  );
}

function inserted(values: readonly Value[], position: number, item: Value): readonly Value[] {
  if (position === 0) throw indexOfZero();
  if (Math.abs(position) > arrayLengthMax) throw tooLarge('array_insert');
  if (position > 0) {
    const gap = new Array<Value>(Math.max(position - 1 - values.length, 0)).fill(null);
    return [...values.slice(0, position - 1), ...gap, item, ...values.slice(position - 1)];
  }
  const at = values.length + position + 1;
  if (at >= 0) return [...values.slice(0, at), item, ...values.slice(at)];
  return [item, ...new Array<Value>(-at).fill(null), ...values];
}

function arrayRepeat(c: FunctionCall): Expression {
  const item = argumentAt(c, 0);
  const count = coerceArgument(c.name, argumentAt(c, 1), 1, exactly(parameter.int));
  const operation: Operation = {
    name: `array_repeat(${formatType(item.type)})`,
    deterministic: true,
    compile:
      ([value = () => null, times = () => null], context) =>
      (row, frame) => {
        const n = times(row, frame);
        if (n === null) return null;
        if ((n as number) > arrayLengthMax) throw located(tooLarge(c.name), context.place);
        return new Array<Value>(Math.max(n as number, 0)).fill(value(row, frame));
      },
  };
  return call(operation, arrayOf(item.type), [item, count], c.place);
}

/** Structs of the elements at one position; shorter arrays are filled up with NULL. */
function arraysZip(c: FunctionCall): Expression {
  const arrays = c.arguments.map((a, i) => coerceArgument(c.name, a, i, parameter.array));
  const fields = arrays.map((array, i) => [c.names[i] ?? String(i), elementType(array)] as const);
  return strictCall({
    name: `arrays_zip(${fields.map(([, type]) => formatType(type)).join(',')})`,
    type: arrayOf(structOf(fields)),
    arguments: arrays,
    place: c.place,
    prepare:
      () =>
      (...values: readonly (readonly Value[])[]) => {
        const length = Math.max(0, ...values.map((value) => value.length));
        return Array.from({ length }, (_, i) => values.map((value) => value[i] ?? null));
      },
  });
}

/** NULL elements come first in ascending order, last in descending order. */
function sortArray(c: FunctionCall): Expression {
  const array = coerceArgument(c.name, argumentAt(c, 0), 0, parameter.array);
  const written = c.arguments[1];
  const args = [array];
  if (written !== undefined)
    args.push(coerceArgument(c.name, written, 1, exactly(parameter.boolean)));
  const type = elementType(array);
  requireOrderable(c.name, type, c.place);
  const compare = comparator(type);
  return strictCall({
    name: `sort_array(${formatType(type)})`,
    type: array.type,
    arguments: args,
    place: c.place,
    prepare:
      () =>
      (values: readonly Value[], ascending = true) =>
        values.toSorted(ascending ? compare : (a, b) => compare(b, a)),
  });
}

/** NULL elements come last; a lambda may give the order. */
function arraySort(c: FunctionCall): Expression {
  const array = coerceArgument(c.name, argumentAt(c, 0), 0, parameter.array);
  const type = elementType(array);
  if (c.lambdas.length > 0) return sortedByLambda(c, array, type);
  requireOrderable(c.name, type, c.place);
  const compare = comparator(type);
  const nullsLast = (a: Value, b: Value): number =>
    a === null || b === null ? Number(a === null) - Number(b === null) : compare(a, b);
  return strictCall({
    name: `array_sort(${formatType(type)})`,
    type: array.type,
    arguments: [array],
    place: c.place,
    prepare: (): StrictFunction => (values: readonly Value[]) => values.toSorted(nullsLast),
  });
}

function sortedByLambda(c: FunctionCall, array: Expression, type: DataType): Expression {
  const lambda = boundLambda(c, 0, [type, type]);
  if (lambda.type.kind !== 'int') {
    throw mismatch(
      'UNEXPECTED_RETURN_TYPE',
      `the lambda of array_sort must give an int, not ${formatType(lambda.type)}`,
      lambda.place,
    );
  }
  const { set, restoring } = parametersOf([lambda], c.place);
  const operation: Operation = {
    name: 'array_sort',
    deterministic: true,
    compile:
      ([values = () => null, body = () => null]) =>
      (row, frame) => {
        const elements = values(row, frame) as readonly Value[] | null;
        if (elements === null) return null;
        return restoring(frame, () =>
          elements.toSorted((a, b) => {
            set(frame, a, b);
            const order = body(row, frame);
            if (order === null) {
              throw new ExpressionError(
                'COMPARATOR_RETURNS_NULL',
                'the lambda of array_sort gave NULL',
              );
            }
            return order as number;
          }),
        );
      },
  };
  return call(operation, array.type, [array, lambda], c.place);
}

import { comparator } from '../../data/compare.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { MapValue, Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { call, literal, type StrictFunction, strictCall } from '../call.ts';
import {
  castTo,
  commonTypeWithoutStrings,
  tightestCommonType,
  tightestType,
  unify,
} from '../coerce.ts';
import type { Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { mismatch } from '../faults.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import { mapFinder } from '../operators/access.ts';
import { requireOrderable } from '../operators/comparison.ts';
import { exactly, oneOf, type Parameter, parameter, parameterOf } from '../parameter.ts';
import { arrayLengthMax, indexOfZero, textLength, tooLarge } from '../row-errors.ts';
import { characters } from '../text.ts';
import { type ArrayType, arrayOf, types } from '../types.ts';

/** Not even NULL stands for an array here, for its elements would have no type. */
export const onlyArray: Parameter<readonly Value[]> = {
  ...parameter.array,
  coerce: (argument) => (argument.type.kind === 'array' ? argument : undefined),
};

/** Arrays: made, read, and changed one by one. */
export const arrayFunctions: readonly FunctionDefinition[] = [
  { names: ['array'], arity: [0, Infinity], bind: makeArray },
  { names: ['concat'], arity: [0, Infinity], bind: concat },
  strictFunction({
    names: ['size', 'cardinality'],
    parameters: [oneOf<Value>([parameter.array, parameter.map])],
    returns: types.int,
    prepare: ({ types: [type] }) =>
      type?.kind === 'map'
        ? (map) => (map as MapValue).entries.length
        : (array) => (array as readonly Value[]).length,
  }),
  strictFunction({
    names: ['array_size'],
    parameters: [parameter.array],
    returns: types.int,
    evaluate: (array) => array.length,
  }),
  { names: ['array_join'], arity: [2, 3], bind: arrayJoin },
  { names: ['element_at'], arity: [2, 2], bind: (c) => elementAt(c, 'ansi') },
  { names: ['try_element_at'], arity: [2, 2], bind: (c) => elementAt(c, 'try') },
  strictFunction({
    names: ['get'],
    parameters: [onlyArray, parameter.int],
    returns: ([array]) => elementType(array),
    evaluate: (array, index) => array[index] ?? null,
  }),
  { names: ['array_contains'], arity: [2, 2], bind: arrayContains },
  { names: ['array_position'], arity: [2, 2], bind: arrayPosition },
  { names: ['reverse'], arity: [1, 1], bind: reverse },
  {
    names: ['array_max'],
    arity: [1, 1],
    bind: (c) => arrayExtreme(c, 1),
  },
  {
    names: ['array_min'],
    arity: [1, 1],
    bind: (c) => arrayExtreme(c, -1),
  },
  strictFunction({
    names: ['slice'],
    parameters: [parameter.array, parameter.int, parameter.int],
    returns: ([array]) => array?.type ?? arrayOf(types.void),
    evaluate: slice,
  }),
  { names: ['flatten'], arity: [1, 1], bind: flatten },
];

export function elementType(array: Expression | undefined): DataType {
  return array?.type.kind === 'array' ? array.type.element : types.void;
}

function makeArray(c: FunctionCall): Expression {
  const { type, expressions } = unify(c.arguments, 'array', c.place);
  return call(arrayOperation, arrayOf(type), expressions, c.place);
}

const arrayOperation: Operation = {
  name: 'array',
  deterministic: true,
  compile: (args) => (row, frame) => args.map((arg) => arg(row, frame)),
};

/** Arrays end to end, or binary, or else the texts of all arguments. */
function concat(c: FunctionCall): Expression {
  if (c.arguments.length > 0 && c.arguments.every((a) => a.type.kind === 'array')) {
    const { type, expressions } = unify(c.arguments, 'concat', c.place);
    return joined(c, type, expressions, (...parts: readonly (readonly Value[])[]) => {
      if (lengthOf(parts) > arrayLengthMax) throw tooLarge(c.name);
      return parts.flat(1);
    });
  }
  if (c.arguments.length > 0 && c.arguments.every((a) => a.type.kind === 'binary')) {
    return joined(c, types.binary, c.arguments, (...parts: readonly Uint8Array[]) => {
      textLength(lengthOf(parts), c.name);
      return Buffer.concat(parts);
    });
  }
  const isText = ({ kind }: DataType): boolean => kind !== 'map' && kind !== 'struct';
  if (
    c.arguments.some((a) => a.type.kind === 'array') &&
    c.arguments.every((a) => isText(a.type))
  ) {
    throw mismatch('DATA_DIFF_TYPES', 'concat takes arrays only, or none', c.place);
  }
  const texts = c.arguments.map((a, i) => coerceArgument(c.name, a, i, parameter.string));
  return joined(c, types.string, texts, (...parts: readonly string[]) => {
    textLength(lengthOf(parts), c.name);
    return parts.join('');
  });
}

function lengthOf(parts: readonly { readonly length: number }[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

function joined(
  c: FunctionCall,
  type: DataType,
  args: readonly Expression[],
  join: StrictFunction,
): Expression {
  return strictCall({
    name: `concat(${formatType(type)})`,
    type,
    arguments: args,
    place: c.place,
    prepare: () => join,
  });
}

/** NULL elements are left out, or written as the third argument. */
function arrayJoin(c: FunctionCall): Expression {
  const texts = parameterOf<readonly Value[]>(arrayOf(types.string));
  const rules = [texts, exactly(parameter.string), exactly(parameter.string)];
  const args = c.arguments.map((a, i) =>
    coerceArgument(c.name, a, i, oneOf<Value>([rules[i] ?? exactly(parameter.string)])),
  );
  return strictCall({
    name: `array_join/${args.length}`,
    type: types.string,
    arguments: args,
    place: c.place,
    prepare: () => (array: readonly (string | null)[], separator: string, missing?: string) =>
      array
        .map((element) => element ?? missing)
        .filter((element) => element !== undefined)
        .join(separator),
  });
}

/** An element by position from 1 (from the end when negative), or the value of a key. */
function elementAt(c: FunctionCall, mode: 'ansi' | 'try'): Expression {
  const base = argumentAt(c, 0);
  const key = argumentAt(c, 1);
  if (base.type.kind === 'array') {
    const isPosition = ['int', 'smallint', 'tinyint', 'void'].includes(key.type.kind);
    if (!isPosition) throw wrongArgument(c, 1, 'an int', key);
    return strictCall({
      name: `${c.name}(${formatType(base.type)})`,
      type: base.type.element,
      arguments: [base, castTo(key, types.int)],
      place: c.place,
      prepare: () => (array: readonly Value[], position: number) => at(array, position, mode),
    });
  }
  if (base.type.kind !== 'map') throw wrongArgument(c, 0, 'an array or a map', base);
  const common = tightestType(base.type.key, key.type);
  if (common === undefined) {
    throw mismatch(
      'MAP_FUNCTION_DIFF_TYPES',
      `the key must be of type ${formatType(base.type.key)}, not ${formatType(key.type)}`,
      key.place,
    );
  }
  requireOrderable(c.name, common, c.place);
  const find = mapFinder(common);
  return strictCall({
    name: `${c.name}(${formatType(base.type)})`,
    type: base.type.value,
    arguments: [castTo(base, { ...base.type, key: common }), castTo(key, common)],
    place: c.place,
    prepare: () => (map: MapValue, wanted: Value) => find(map, wanted) ?? null,
  });
}

function at(array: readonly Value[], position: number, mode: 'ansi' | 'try'): Value {
  if (position === 0) throw indexOfZero();
  if (Math.abs(position) > array.length) {
    if (mode === 'try') return null;
    throw new ExpressionError(
      'INVALID_ARRAY_INDEX_IN_ELEMENT_AT',
      `the position ${position} is outside of an array of ${array.length}`,
    );
  }
  return array[position > 0 ? position - 1 : array.length + position] ?? null;
}

function wrongArgument(c: FunctionCall, index: number, wanted: string, given: Expression): Error {
  return mismatch(
    'UNEXPECTED_INPUT_TYPE',
    `argument ${index + 1} of ${c.name} must be ${wanted}, not ${formatType(given.type)}`,
    given.place,
  );
}

/** An array and a value brought to one element type, without reading strings as numbers. */
export function arrayAndElement(c: FunctionCall): {
  readonly array: Expression;
  readonly element: Expression;
  readonly type: DataType;
} {
  const given = argumentAt(c, 0);
  const element = argumentAt(c, 1);
  const isArray = given.type.kind === 'array' || given.type.kind === 'void';
  if (!isArray && c.name === 'array_remove') throw elementMismatch(c, given, element);
  const array = coerceArgument(c.name, given, 0, parameter.array);
  const of = elementType(array);
  const isDecimal = of.kind === 'decimal' || element.type.kind === 'decimal';
  // Only a search brings decimals and other numbers together.
  const type =
    isDecimal && c.name !== 'array_contains'
      ? tightestCommonType(of, element.type)
      : commonTypeWithoutStrings(of, element.type);
  if (type === undefined) throw elementMismatch(c, array, element);
  return { array: castTo(array, arrayOf(type)), element: castTo(element, type), type };
}

function elementMismatch(c: FunctionCall, array: Expression, element: Expression): Error {
  return mismatch(
    'ARRAY_FUNCTION_DIFF_TYPES',
    `${c.name} can't look for ${formatType(element.type)} in ${formatType(array.type)}`,
    c.place,
  );
}

function searched(c: FunctionCall): ReturnType<typeof arrayAndElement> {
  if (c.arguments.some((argument) => argument.type.kind === 'void')) {
    throw mismatch('NULL_TYPE', `${c.name} can't look for NULL`, c.place);
  }
  const found = arrayAndElement(c);
  requireOrderable(c.name, found.type, c.place);
  return found;
}

/** NULL when nothing is found but an element is NULL. */
function arrayContains(c: FunctionCall): Expression {
  const { array, element, type } = searched(c);
  const compare = comparator(type);
  return strictCall({
    name: `array_contains(${formatType(type)})`,
    type: types.boolean,
    arguments: [array, element],
    place: c.place,
    prepare: () => (values: readonly Value[], wanted: Value) => {
      let sawNull = false;
      for (const value of values) {
        if (value === null) sawNull = true;
        else if (compare(value, wanted) === 0) return true;
      }
      return sawNull ? null : false;
    },
  });
}

function arrayPosition(c: FunctionCall): Expression {
  const { array, element, type } = searched(c);
  const compare = comparator(type);
  return strictCall({
    name: `array_position(${formatType(type)})`,
    type: types.bigint,
    arguments: [array, element],
    place: c.place,
    prepare: () => (values: readonly Value[], wanted: Value) =>
      BigInt(values.findIndex((value) => value !== null && compare(value, wanted) === 0) + 1),
  });
}

function reverse(c: FunctionCall): Expression {
  const value = argumentAt(c, 0);
  if (value.type.kind === 'array') {
    return strictCall({
      name: 'reverse(array)',
      type: value.type,
      arguments: [value],
      place: c.place,
      prepare: () => (array: readonly Value[]) => [...array].reverse(),
    });
  }
  if (value.type.kind === 'binary') {
    return strictCall({
      name: 'reverse(binary)',
      type: value.type,
      arguments: [value],
      place: c.place,
      prepare: () => (bytes: Uint8Array) => Uint8Array.from(bytes).reverse(),
    });
  }
  const text = coerceArgument(c.name, value, 0, parameter.string);
  return strictCall({
    name: 'reverse(string)',
    type: types.string,
    arguments: [text],
    place: c.place,
    prepare: () => (s: string) => characters(s).reverse().join(''),
  });
}

function arrayExtreme(c: FunctionCall, sign: 1 | -1): Expression {
  const array = coerceArgument(c.name, argumentAt(c, 0), 0, parameter.array);
  const type = elementType(array);
  requireOrderable(c.name, type, c.place);
  const compare = comparator(type);
  return strictCall({
    name: `${c.name}(${formatType(type)})`,
    type,
    arguments: [array],
    place: c.place,
    prepare: () => (values: readonly Value[]) => {
      let best: Value = null;
      for (const value of values) {
        if (value !== null && (best === null || compare(value, best) * sign > 0)) best = value;
      }
      return best;
    },
  });
}

function slice(array: readonly Value[], start: number, length: number): readonly Value[] {
  if (start === 0) {
    throw new ExpressionError('INVALID_PARAMETER_VALUE.START', 'positions of slice count from 1');
  }
  if (length < 0) {
    throw new ExpressionError(
      'INVALID_PARAMETER_VALUE.LENGTH',
      'the length of a slice is negative',
    );
  }
  const from = start > 0 ? start - 1 : array.length + start;
  return from < 0 || from >= array.length ? [] : array.slice(from, from + length);
}

function flatten(c: FunctionCall): Expression {
  const value = argumentAt(c, 0);
  const { type } = value;
  if (type.kind === 'void') return literal(null, types.void, c.place);
  if (type.kind !== 'array' || type.element.kind !== 'array') {
    throw wrongArgument(c, 0, 'an array of arrays', value);
  }
  const inner: ArrayType = type.element;
  return strictCall({
    name: `flatten(${formatType(type)})`,
    type: inner,
    arguments: [value],
    place: c.place,
    prepare: () => (arrays: readonly (readonly Value[] | null)[]) => {
      const out: Value[] = [];
      for (const array of arrays) {
        if (array === null) return null;
        for (const element of array) out.push(element);
      }
      return out;
    },
  });
}

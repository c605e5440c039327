import { nearestNames } from '../../base/nearest-name.ts';
import type { Place } from '../../base/place.ts';
import { comparator, isOrderable } from '../../data/compare.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { MapValue, Value } from '../../data/value.ts';
import { call, literal, strictCall } from '../call.ts';
import { castTo } from '../coerce.ts';
import type { Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import { parameterOf } from '../parameter.ts';
import { arrayOf, isIntegral, type StructType, types } from '../types.ts';

/**
 * `value.name`: a field of a struct, the fields of an array of structs, or the value of a map under
 * that key. Names of fields are found in any case.
 */
export function field(value: Expression, name: string, place: Place): Expression {
  const { type } = value;
  switch (type.kind) {
    case 'struct':
      return structField(value, fieldPosition(type, name, place), type, place);
    case 'array':
      if (type.element.kind !== 'struct') {
        throw mismatch(
          'UNEXPECTED_INPUT_TYPE',
          `the elements of ${formatType(type)} have no field ${name}`,
          place,
        );
      }
      return fieldOfEach(value, name, type.element, place);
    case 'map':
      return mapValue(value, literal(name, types.string, place), type, place);
    case 'void':
      return value;
    default:
      break;
  }
  throw fault(
    'INVALID_EXTRACT_BASE_FIELD_TYPE',
    `${formatType(type)} has no field ${name}`,
    place,
    'Only structs, arrays of structs and maps have fields.',
  );
}

/** `value[index]`: an element by position from 0, the value of a key, or a field by its name. */
export function subscript(value: Expression, index: Expression, place: Place): Expression {
  const { type } = value;
  switch (type.kind) {
    case 'array':
      if (index.type.kind === 'string' && type.element.kind === 'struct' && isLiteral(index)) {
        return field(value, String(index.value), place);
      }
      return element(value, index, type.element, place);
    case 'map':
      return mapValue(value, index, type, place);
    case 'struct':
      if (index.node === 'literal' && typeof index.value === 'string') {
        return field(value, index.value, place);
      }
      throw fault('INVALID_EXTRACT_FIELD_TYPE', 'a field is named by a string literal', place);
    case 'void':
      return value;
    default:
      throw fault(
        'INVALID_EXTRACT_BASE_FIELD_TYPE',
        `${formatType(type)} has no elements`,
        place,
        'Only arrays, maps and structs have.',
      );
  }
}

function isLiteral(e: Expression): e is Extract<Expression, { node: 'literal' }> {
  return e.node === 'literal';
}

function fieldPosition(type: StructType, name: string, place: Place): number {
  const wanted = name.toLowerCase();
  const found: number[] = [];
  type.fields.forEach((f, i) => {
    if (f.name.toLowerCase() === wanted) found.push(i);
  });
  const [position] = found;
  if (position === undefined) {
    const near = nearestNames(
      name,
      type.fields.map((f) => f.name),
    );
    throw fault(
      'FIELD_NOT_FOUND',
      `no field ${name} in ${formatType(type)}`,
      place,
      near.length === 0 ? undefined : `Did you mean ${near.join(', ')}?`,
    );
  }
  if (found.length > 1) {
    throw fault('AMBIGUOUS_REFERENCE_TO_FIELDS', `${name} names ${found.length} fields`, place);
  }
  return position;
}

/** A field by its position. */
export function structField(
  value: Expression,
  position: number,
  type: StructType,
  place: Place,
): Expression {
  const found = type.fields[position];
  if (found === undefined) throw new RangeError(`no field ${position}`);
  return strictCall({
    name: `field(${position},${found.name})`,
    type: found.type,
    arguments: [value],
    place,
    prepare: () => (struct: readonly Value[]) => struct[position] ?? null,
    picks: ({ operation, arguments: made }) =>
      operation.name === 'struct' ? made[position] : undefined,
  });
}

function fieldOfEach(
  value: Expression,
  name: string,
  elementType: StructType,
  place: Place,
): Expression {
  const position = fieldPosition(elementType, name, place);
  const found = elementType.fields[position];
  return strictCall({
    name: `field_of_each(${position},${name})`,
    type: arrayOf(found?.type ?? types.void),
    arguments: [value],
    place,
    prepare: () => (array: readonly Value[]) =>
      array.map((struct) => (struct as readonly Value[] | null)?.[position] ?? null),
  });
}

function element(
  value: Expression,
  index: Expression,
  elementType: DataType,
  place: Place,
): Expression {
  if (!isIntegral(index.type) && index.type.kind !== 'void') {
    throw mismatch(
      'UNEXPECTED_INPUT_TYPE',
      `the position in an array must be an integer, not ${formatType(index.type)}`,
      index.place,
    );
  }
  const position = index.type.kind === 'void' ? castTo(index, types.int) : index;
  return strictCall({
    name: `element(${formatType(value.type)},${formatType(position.type)})`,
    type: elementType,
    arguments: [value, position],
    place,
    prepare: () => (array: readonly Value[], at: number | bigint) => {
      const i = Number(at);
      if (i < 0 || i >= array.length) {
        throw new ExpressionError(
          'INVALID_ARRAY_INDEX',
          `the position ${at} is outside of an array of ${array.length}`,
        );
      }
      return array[i] ?? null;
    },
    picks: ({ operation, arguments: made }, [at]) => {
      if (operation.name !== 'array' || at?.node !== 'literal' || at.value === null)
        return undefined;
      return made[Number(at.value)];
    },
  });
}

function mapValue(
  value: Expression,
  key: Expression,
  type: Extract<DataType, { kind: 'map' }>,
  place: Place,
): Expression {
  const wanted = castKey(key, type.key, place);
  return mapLookup(value, wanted, type, place);
}

function castKey(key: Expression, keyType: DataType, place: Place): Expression {
  const coerced = parameterOf(keyType).coerce(key);
  if (coerced === undefined) {
    throw mismatch(
      'UNEXPECTED_INPUT_TYPE',
      `the key must be of type ${formatType(keyType)}, not ${formatType(key.type)}`,
      place,
    );
  }
  return castTo(key, keyType);
}

/** The value under a key; NULL when it is missing. */
export function mapLookup(
  value: Expression,
  key: Expression,
  type: Extract<DataType, { kind: 'map' }>,
  place: Place,
): Expression {
  if (!isOrderable(type.key)) {
    throw mismatch(
      'INVALID_ORDERING_TYPE',
      `keys of type ${formatType(type.key)} can't be compared`,
      place,
    );
  }
  const find = mapFinder(type.key);
  const operation: Operation = {
    name: `map_value(${formatType(type)})`,
    deterministic: true,
    compile:
      ([map = () => null, wanted = () => null]) =>
      (row, frame) => {
        const entries = map(row, frame) as MapValue | null;
        if (entries === null) return null;
        const k = wanted(row, frame);
        return k === null ? null : (find(entries, k) ?? null);
      },
  };
  return call(operation, type.value, [value, key], place);
}

/** Looks a key up; undefined when the map lacks it. */
export function mapFinder(keyType: DataType): (map: MapValue, key: Value) => Value | undefined {
  if (keyType.kind === 'string' || keyType.kind === 'int' || keyType.kind === 'bigint') {
    return (map, key) => {
      for (const [k, v] of map.entries) if (k === key) return v;
      return undefined;
    };
  }
  const compare = comparator(keyType);
  return (map, key) => {
    for (const [k, v] of map.entries) if (compare(k, key) === 0) return v;
    return undefined;
  };
}

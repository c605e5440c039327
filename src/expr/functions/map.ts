import { formatType } from '../../data/type-text.ts';
import type { MapValue, Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { call, located, strictCall } from '../call.ts';
import { castTo, commonType, tightestType, unify } from '../coerce.ts';
import type { Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import { mapBuilder, requireMapKey } from '../map-builder.ts';
import { mapFinder } from '../operators/access.ts';
import { parameter } from '../parameter.ts';
import { arrayOf, isNumeric, type MapType, mapOf, structOf, types } from '../types.ts';

/** Maps. Invariant: keys keep the order in which they came. */
export const mapFunctions: readonly FunctionDefinition[] = [
  { names: ['map'], arity: [0, Infinity], bind: makeMap },
  { names: ['map_keys'], arity: [1, 1], bind: mapKeys },
  { names: ['map_values'], arity: [1, 1], bind: mapValues },
  { names: ['map_entries'], arity: [1, 1], bind: mapEntries },
  { names: ['map_contains_key'], arity: [2, 2], bind: mapContainsKey },
  { names: ['map_from_arrays'], arity: [2, 2], bind: mapFromArrays },
  { names: ['map_from_entries'], arity: [1, 1], bind: mapFromEntries },
  { names: ['map_concat'], arity: [0, Infinity], bind: mapConcat },
];

function makeMap(c: FunctionCall): Expression {
  if (c.arguments.length % 2 !== 0) {
    throw fault(
      'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
      `map takes keys and values in pairs, not ${c.arguments.length} arguments`,
      c.place,
    );
  }
  const keys = unify(
    c.arguments.filter((_, i) => i % 2 === 0),
    'map',
    c.place,
    commonType,
    'CREATE_MAP_KEY_DIFF_TYPES',
  );
  const values = unify(
    c.arguments.filter((_, i) => i % 2 === 1),
    'map',
    c.place,
    commonType,
    'CREATE_MAP_VALUE_DIFF_TYPES',
  );
  requireMapKey(keys.type, c.place);
  const build = mapBuilder(keys.type);
  const count = keys.expressions.length;
  const operation: Operation = {
    name: `map(${formatType(keys.type)})`,
    deterministic: true,
    compile: (args, context) => (row, frame) => {
      const entries: (readonly [Value, Value])[] = [];
      for (let i = 0; i < count; i += 1) {
        entries.push([args[i]?.(row, frame) ?? null, args[count + i]?.(row, frame) ?? null]);
      }
      try {
        return build(entries);
      } catch (error) {
        throw located(error, context.place);
      }
    },
  };
  const args = [...keys.expressions, ...values.expressions];
  return call(operation, mapOf(keys.type, values.type), args, c.place);
}

function mapArgument(c: FunctionCall, index = 0): { value: Expression; type: MapType } {
  const value = coerceArgument(c.name, argumentAt(c, index), index, parameter.map);
  const type = value.type.kind === 'map' ? value.type : mapOf(types.void, types.void);
  return { value, type };
}

function mapKeys(c: FunctionCall): Expression {
  const { value, type } = mapArgument(c);
  return strictCall({
    name: 'map_keys',
    type: arrayOf(type.key),
    arguments: [value],
    place: c.place,
    prepare: () => (map: MapValue) => map.entries.map(([key]) => key),
  });
}

function mapValues(c: FunctionCall): Expression {
  const { value, type } = mapArgument(c);
  return strictCall({
    name: 'map_values',
    type: arrayOf(type.value),
    arguments: [value],
    place: c.place,
    prepare: () => (map: MapValue) => map.entries.map(([, item]) => item),
  });
}

function mapEntries(c: FunctionCall): Expression {
  const { value, type } = mapArgument(c);
  return strictCall({
    name: 'map_entries',
    type: arrayOf(
      structOf([
        ['key', type.key],
        ['value', type.value],
      ]),
    ),
    arguments: [value],
    place: c.place,
    prepare: () => (map: MapValue) => map.entries,
  });
}

function mapContainsKey(c: FunctionCall): Expression {
  const key = argumentAt(c, 1);
  const given = argumentAt(c, 0);
  if (given.type.kind !== 'map') {
    throw mismatch(
      key.type.kind === 'void' ? 'NULL_TYPE' : 'MAP_FUNCTION_DIFF_TYPES',
      `map_contains_key looks into a map, not ${formatType(given.type)}`,
      c.place,
    );
  }
  const { value, type } = mapArgument(c);
  const isNumber = isNumeric(type.key) && isNumeric(key.type);
  const common = isNumber ? commonType(type.key, key.type) : tightestType(type.key, key.type);
  if (common === undefined || key.type.kind === 'void') {
    const kind = key.type.kind === 'void' ? 'NULL_TYPE' : 'MAP_FUNCTION_DIFF_TYPES';
    throw mismatch(
      kind,
      `map_contains_key can't look for ${formatType(key.type)} in ${formatType(type)}`,
      c.place,
    );
  }
  const find = mapFinder(common);
  return strictCall({
    name: `map_contains_key(${formatType(common)})`,
    type: types.boolean,
    arguments: [castTo(value, mapOf(common, type.value)), castTo(key, common)],
    place: c.place,
    prepare: () => (map: MapValue, wanted: Value) => find(map, wanted) !== undefined,
  });
}

function mapFromArrays(c: FunctionCall): Expression {
  const [keys, values] = [0, 1].map((i) =>
    coerceArgument(c.name, argumentAt(c, i), i, parameter.array),
  );
  const keyType = keys?.type.kind === 'array' ? keys.type.element : types.void;
  const valueType = values?.type.kind === 'array' ? values.type.element : types.void;
  requireMapKey(keyType, c.place);
  const build = mapBuilder(keyType);
  return strictCall({
    name: `map_from_arrays(${formatType(keyType)})`,
    type: mapOf(keyType, valueType),
    arguments: [keys, values].filter((e) => e !== undefined),
    place: c.place,
    prepare: () => (k: readonly Value[], v: readonly Value[]) => {
      if (k.length !== v.length) {
        throw new ExpressionError(
          '_LEGACY_ERROR_TEMP_2128',
          `${k.length} keys and ${v.length} values make no map`,
        );
      }
      return build(k.map((key, i) => [key, v[i] ?? null] as const));
    },
  });
}

function mapFromEntries(c: FunctionCall): Expression {
  const value = argumentAt(c, 0);
  const { type } = value;
  if (type.kind !== 'array' || type.element.kind !== 'struct') {
    throw mismatch(
      'UNEXPECTED_INPUT_TYPE',
      `map_from_entries takes an array of structs, not ${formatType(type)}`,
      value.place,
    );
  }
  const entry = type.element.fields;
  const [key, item] = entry;
  if (entry.length !== 2 || key === undefined || item === undefined) {
    throw mismatch(
      'MAP_FROM_ENTRIES_WRONG_TYPE',
      `map_from_entries takes an array of structs of two fields, not ${formatType(type)}`,
      value.place,
    );
  }
  const build = mapBuilder(key.type);
  return strictCall({
    name: `map_from_entries(${formatType(type)})`,
    type: mapOf(key.type, item.type),
    arguments: [value],
    place: c.place,
    prepare: () => (entries: readonly (readonly [Value, Value] | null)[]) => {
      const present: (readonly [Value, Value])[] = [];
      for (const pair of entries) {
        if (pair === null) return null;
        present.push(pair);
      }
      return build(present);
    },
  });
}

function mapConcat(c: FunctionCall): Expression {
  for (const argument of c.arguments) {
    if (argument.type.kind !== 'map') {
      throw mismatch(
        'MAP_CONCAT_DIFF_TYPES',
        `map_concat takes maps, not ${formatType(argument.type)}`,
        argument.place,
      );
    }
  }
  const { type, expressions } = unify(c.arguments, 'map_concat', c.place);
  const mapType = type.kind === 'map' ? type : mapOf(types.string, types.string);
  const build = mapBuilder(mapType.key);
  return strictCall({
    name: `map_concat(${formatType(mapType)})`,
    type: mapType,
    arguments: expressions,
    place: c.place,
    prepare:
      () =>
      (...maps: readonly MapValue[]) =>
        build(maps.flatMap((map) => map.entries)),
  });
}

import type { Value, Variant } from '../../data/value.ts';
import {
  type Accumulator,
  type AggregateCall,
  type AggregateDefinition,
  aggregateName,
  type BoundAggregate,
  constantArgument,
  skippingNulls,
} from '../aggregate.ts';
import { argumentAt } from '../arguments.ts';
import { fault, mismatch } from '../faults.ts';
import { coerceArgument } from '../function.ts';
import { exactly, parameter } from '../parameter.ts';
import { arrayOf, types } from '../types.ts';
import { lookupKey, normalZero } from '../value-set.ts';
import { mergedSchema, noSchema, schemaOf, schemaText } from '../variant/variant-schema.ts';

/** The values of a group as an array or as one text. */
export const collectAggregates: readonly AggregateDefinition[] = [
  { names: ['collect_list', 'array_agg'], arity: [1, 1], bind: collectList },
  { names: ['collect_set'], arity: [1, 1], bind: collectSet },
  {
    names: ['listagg', 'string_agg'],
    arity: [1, 2],
    withinGroup: 'allowed',
    bind: listagg,
  },
  {
    names: ['schema_of_variant_agg'],
    arity: [1, 1],
    bind: (c) => {
      const argument = coerceArgument(c.name, argumentAt(c, 0), 0, exactly(parameter.variant));
      return {
        name: aggregateName(c.name, [argument]),
        type: types.string,
        arguments: [argument],
        prepare: () => () => {
          let schema = noSchema;
          return skippingNulls({
            add: ([value = null]) => {
              schema = mergedSchema(schema, schemaOf((value as Variant).variant));
            },
            result: () => schemaText(schema),
          });
        },
      };
    },
  },
  {
    names: ['approx_count_distinct'],
    arity: [1, 2],
    bind: (c) => {
      const argument = argumentAt(c, 0);
      const keyOf = lookupKey(argument.type);
      return {
        name: aggregateName(c.name, [argument]),
        type: types.bigint,
        arguments: [argument],
        prepare: () => () => {
          const seen = new Set<Value>();
          return skippingNulls({
            add: ([value = null]) => void seen.add(keyOf(value)),
            result: () => BigInt(seen.size),
          });
        },
      };
    },
  },
];

function collectList(c: AggregateCall): BoundAggregate {
  const argument = argumentAt(c, 0);
  return {
    name: aggregateName('collect_list', [argument]),
    type: arrayOf(argument.type),
    arguments: [argument],
    prepare: () => () => {
      const values: Value[] = [];
      return skippingNulls({
        add: ([value = null]) => void values.push(value),
        result: () => values,
      });
    },
  };
}

function collectSet(c: AggregateCall): BoundAggregate {
  const argument = argumentAt(c, 0);
  if (argument.type.kind === 'map' || argument.type.kind === 'variant') {
    throw mismatch('UNSUPPORTED_INPUT_TYPE', 'collect_set takes no maps', argument.place);
  }
  const keyOf = lookupKey(argument.type);
  const normal = normalZero(argument.type);
  return {
    name: aggregateName('collect_set', [argument]),
    type: arrayOf(argument.type),
    arguments: [argument],
    prepare: () => (): Accumulator => {
      const seen = new Map<Value, Value>();
      return skippingNulls({
        add: ([value = null]) => {
          const key = keyOf(value);
          if (!seen.has(key)) seen.set(key, normal(value));
        },
        result: () => [...seen.values()],
      });
    },
  };
}

function listagg(c: AggregateCall): BoundAggregate {
  const argument = coerceArgument(c.name, argumentAt(c, 0), 0, parameter.stringOrBinary);
  const isBinary = argument.type.kind === 'binary';
  const separatorType = isBinary ? parameter.binary : parameter.string;
  const separator =
    c.arguments.length < 2 ? null : constantArgument(c, 1, separatorType, 'separator');
  const [order] = c.orderBy;
  if (c.distinct && order !== undefined && !isSame(order.value, c.arguments[0])) {
    throw fault(
      'INVALID_WITHIN_GROUP_EXPRESSION.MISMATCH_WITH_DISTINCT_INPUT',
      `${c.name} with DISTINCT is ordered by what it joins`,
      order.value.place,
    );
  }
  return {
    name: `${aggregateName('listagg', [argument])}${JSON.stringify(String(separator))}`,
    type: argument.type,
    arguments: [argument],
    ...(c.orderBy.length > 0 && { orderBy: c.orderBy }),
    prepare: () => () => {
      const parts: Value[] = [];
      return skippingNulls({
        add: ([value = null]) => void parts.push(value),
        result: () => {
          if (parts.length === 0) return null;
          if (!isBinary) return parts.join(separator === null ? '' : String(separator));
          const between =
            separator === null ? Buffer.alloc(0) : Buffer.from(separator as Uint8Array);
          return Buffer.concat(
            parts.flatMap((part, i) => [
              ...(i > 0 ? [between] : []),
              Buffer.from(part as Uint8Array),
            ]),
          );
        },
      });
    },
  };
}

function isSame(a: unknown, b: unknown): boolean {
  const shape = (_: string, value: unknown): unknown =>
    typeof value === 'bigint' ? `${value}n` : value;
  const strip = (key: string, value: unknown): unknown =>
    key === 'place' ? undefined : shape(key, value);
  return JSON.stringify(a, strip) === JSON.stringify(b, strip);
}

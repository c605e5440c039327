import { ByteWriter } from '../data/byte-writer.ts';
import { comparator } from '../data/compare.ts';
import { jsonEncoder } from '../data/json-encode.ts';
import type { DataType } from '../data/types.ts';
import type { CalendarInterval, MapValue, Value } from '../data/value.ts';
import { arrayOf, structOf } from './types.ts';

/**
 * What a value of a type is looked up by in a Set or a Map. Invariant: two values have one key exactly
 * when they are equal as keys are, so looking up never costs more than a hash.
 */
export function lookupKey(type: DataType): (value: Value) => Value {
  switch (type.kind) {
    case 'binary':
    case 'array':
    case 'struct': {
      const encode = jsonEncoder(type, 'merged');
      return (value) => {
        const out = new ByteWriter(64);
        encode(value, out);
        return out.buffer.toString('latin1', 0, out.length);
      };
    }
    case 'map': {
      const keyOf = comparator(type.key);
      const pairs = lookupKey(
        arrayOf(
          structOf([
            ['key', type.key],
            ['value', type.value],
          ]),
        ),
      );
      // Entries have no order.
      return (value) =>
        value === null
          ? null
          : pairs([...(value as MapValue).entries].sort(([a], [b]) => keyOf(a, b)));
    }
    case 'interval':
      return (value) => {
        if (value === null) return null;
        const { months, days, micros } = value as CalendarInterval;
        return `${months} ${days} ${micros}`;
      };
    default:
      return (value) => value;
  }
}

/** Elements without those that equal an earlier one; NULL counts as one value, -0.0 becomes 0.0. */
export function distinctValues(type: DataType): (values: readonly Value[]) => readonly Value[] {
  const keyOf = lookupKey(type);
  const normal = normalZero(type);
  return (values) => {
    const seen = new Set<Value>();
    return values.map(normal).filter((value) => {
      const { size } = seen;
      return seen.add(keyOf(value)).size > size;
    });
  };
}

export function normalZero(type: DataType): (value: Value) => Value {
  const isFloating = type.kind === 'double' || type.kind === 'float';
  return isFloating ? (value) => (value === 0 ? 0 : value) : (value) => value;
}

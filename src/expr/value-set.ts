import { ByteWriter } from '../data/byte-writer.ts';
import { jsonEncoder } from '../data/json-encode.ts';
import type { DataType } from '../data/types.ts';
import type { CalendarInterval, MapValue, Value } from '../data/value.ts';
import { structOf } from './types.ts';

/**
 * What a value of a type is looked up by in a Set or a Map. Invariant: two values have one key exactly
 * when they are equal as keys are, so looking up never costs more than a hash.
 */
export function lookupKey(type: DataType): (value: Value) => Value {
  switch (type.kind) {
    case 'array':
    case 'struct':
      if (holdsMap(type)) return nestedKey(type);
      return jsonKey(type);
    case 'binary':
      return jsonKey(type);
    case 'map': {
      const pairs = nestedKey(
        structOf([
          ['key', type.key],
          ['value', type.value],
        ]),
      );
      // Entries have no order.
      return (value) =>
        value === null ? null : (value as MapValue).entries.map(pairs).map(keyText).sort().join();
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

function jsonKey(type: DataType): (value: Value) => Value {
  const encode = jsonEncoder(type, 'merged');
  return (value) => {
    const out = new ByteWriter(64);
    encode(value, out);
    return out.buffer.toString('latin1', 0, out.length);
  };
}

function holdsMap(type: DataType): boolean {
  switch (type.kind) {
    case 'map':
      return true;
    case 'array':
      return holdsMap(type.element);
    case 'struct':
      return type.fields.some((field) => holdsMap(field.type));
    default:
      return false;
  }
}

/** The key of an array or struct, from the keys of what is in it. */
function nestedKey(type: DataType): (value: Value) => Value {
  const keys =
    type.kind === 'struct' ? type.fields.map((field) => lookupKey(field.type)) : undefined;
  const element = type.kind === 'array' ? lookupKey(type.element) : undefined;
  return (value) =>
    value === null
      ? null
      : (value as readonly Value[])
          .map((part, i) => keyText((keys?.[i] ?? element ?? jsonKey(type))(part)))
          .join();
}

/** A part of a key; its length stands before it, so that two lists of parts never read the same. */
function keyText(key: Value): string {
  if (key === null) return '-';
  const text = `${typeof key}:${typeof key === 'number' && key === 0 ? 0 : key}`;
  return `${text.length}:${text}`;
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

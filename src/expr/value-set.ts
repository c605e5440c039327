import { ByteWriter } from '../data/byte-writer.ts';
import { jsonEncoder } from '../data/json-encode.ts';
import type { DataType } from '../data/types.ts';
import type { Value } from '../data/value.ts';

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

import type { Place } from '../base/place.ts';
import { comparator, isOrderable } from '../data/compare.ts';
import { formatType } from '../data/type-text.ts';
import type { DataType } from '../data/types.ts';
import type { MapValue, Value } from '../data/value.ts';
import { ExpressionError } from './expression-error.ts';
import { mismatch } from './faults.ts';

/** Refuses types whose values can't be told apart as keys. */
export function requireMapKey(type: DataType, place: Place): void {
  if (isOrderable(type)) return;
  throw mismatch('INVALID_MAP_KEY_TYPE', `${formatType(type)} can't be the key of a map`, place);
}

/** Makes maps of one key type. Invariant: no key is NULL, and none stands twice. */
export function mapBuilder(
  keyType: DataType,
): (entries: readonly (readonly [Value, Value])[]) => MapValue {
  const find = keyFinder(keyType);
  return (entries) => {
    const seen = find();
    for (const [key] of entries) {
      if (key === null) throw new ExpressionError('NULL_MAP_KEY', 'a key of a map is NULL');
      if (seen(key)) {
        throw new ExpressionError(
          'DUPLICATED_MAP_KEY',
          `a key of type ${formatType(keyType)} stands twice in a map`,
        );
      }
    }
    return { entries };
  };
}

/** A fresh set of keys, which tells of each key whether it was there before. */
function keyFinder(keyType: DataType): () => (key: Value) => boolean {
  if (keyType.kind === 'string' || keyType.kind === 'int' || keyType.kind === 'bigint') {
    return () => {
      const seen = new Set<Value>();
      return (key) => {
        const size = seen.size;
        return seen.add(key).size === size;
      };
    };
  }
  const compare = comparator(keyType);
  return () => {
    const seen: Value[] = [];
    return (key) => {
      if (seen.some((known) => compare(known, key) === 0)) return true;
      seen.push(key);
      return false;
    };
  };
}

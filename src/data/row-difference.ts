import { canonicalJson, canonicalValue } from './canonical.ts';
import type { Column, DataType } from './types.ts';
import type { MapValue, Row, Value } from './value.ts';

/**
 * A text that two values of a type share exactly when a test case takes them for the same: the entries of a
 * map in any order, -0.0 other than 0.0, every NaN one.
 */
export function canonicalKey(type: DataType, value: Value): string {
  return canonicalJson(canonicalValue(type, withSortedMaps(type, value)));
}

export function canonicalEqual(type: DataType, left: Value, right: Value): boolean {
  return canonicalKey(type, left) === canonicalKey(type, right);
}

export type RowDifference = {
  /** Expected rows that are not there, as often as they lack. */
  readonly missing: readonly Row[];
  /** Rows that nobody expected. */
  readonly surplus: readonly Row[];
};

/** Compares two multisets of rows. Invariant: both lists are empty exactly when the multisets are equal. */
export function rowDifference(
  columns: readonly Column[],
  actual: readonly Row[],
  expected: readonly Row[],
): RowDifference {
  const type: DataType = { kind: 'struct', fields: columns };
  const open = new Map<string, Row[]>();
  for (const row of expected) {
    const key = canonicalKey(type, row);
    const rows = open.get(key);
    if (rows === undefined) open.set(key, [row]);
    else rows.push(row);
  }
  const surplus = actual.filter((row) => open.get(canonicalKey(type, row))?.pop() === undefined);
  return { missing: [...open.values()].flat(), surplus };
}

function withSortedMaps(type: DataType, value: Value): Value {
  if (value === null) return null;
  switch (type.kind) {
    case 'array':
      return (value as readonly Value[]).map((element) => withSortedMaps(type.element, element));
    case 'struct':
      return type.fields.map((field, index) =>
        withSortedMaps(field.type, (value as readonly Value[])[index] as Value),
      );
    case 'map': {
      const entries = (value as MapValue).entries.map(([key, entry]): readonly [Value, Value] => [
        withSortedMaps(type.key, key),
        withSortedMaps(type.value, entry),
      ]);
      const texts = new Map(
        entries.map((entry) => [entry, canonicalJson(canonicalValue(type.key, entry[0]))]),
      );
      const textOf = (entry: readonly [Value, Value]): string => texts.get(entry) ?? '';
      return { entries: entries.sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1)) };
    }
    default:
      return value;
  }
}

import { canonicalJson, canonicalValue } from '../../data/canonical.ts';
import type { DataType } from '../../data/types.ts';
import type { MapValue, Row, Value } from '../../data/value.ts';

/** One text for one row, its canonical JSON: equal rows, equal texts. Maps have no order. */
export function rowText(types: readonly DataType[], row: Row): string {
  return canonicalJson(
    types.map((type, index) => canonicalValue(type, sortMaps(type, row[index] ?? null))),
  );
}

function sortMaps(type: DataType, value: Value): Value {
  if (value === null) return null;
  switch (type.kind) {
    case 'map': {
      const entries = (value as MapValue).entries.map(
        ([key, entry]) => [sortMaps(type.key, key), sortMaps(type.value, entry)] as const,
      );
      const text = ([key]: readonly [Value, Value]) => canonicalJson(canonicalValue(type.key, key));
      return { entries: entries.sort((a, b) => (text(a) < text(b) ? -1 : 1)) };
    }
    case 'array':
      return (value as readonly Value[]).map((element) => sortMaps(type.element, element));
    case 'struct':
      return (value as readonly Value[]).map((field, index) =>
        sortMaps(type.fields[index]?.type ?? { kind: 'void' }, field),
      );
    default:
      return value;
  }
}

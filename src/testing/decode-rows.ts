import type { Span } from '../data/bytes.ts';
import { canonicalJson, canonicalValue } from '../data/canonical.ts';
import { type JsonDecoder, jsonDecoder } from '../data/json-decode.ts';
import type { JsonKind } from '../data/json-lex.ts';
import { JsonObjectScanner, scanOk } from '../data/json-scan.ts';
import { misfit } from '../data/misfit.ts';
import type { Column, DataType } from '../data/types.ts';
import type { MapValue, Row, Value } from '../data/value.ts';

export type RowDecoder = (json: Span) => Row;

/** Reads rows of an output topic back into values. Throws where one does not read back: our fault, never the data's. */
export function rowDecoder(columns: readonly Column[]): RowDecoder {
  const scanner = new JsonObjectScanner(columns.map(({ name }) => name));
  const decoders: readonly JsonDecoder[] = columns.map(({ type }) => jsonDecoder(type));
  return ({ bytes, start, end }) => {
    if (scanner.scan(bytes, start, end) !== scanOk) {
      throw new Error(`an output row is no JSON object: ${bytes.toString('utf8', start, end)}`);
    }
    return decoders.map((decode, index) => {
      const from = scanner.spans[index * 2] ?? 0;
      const to = scanner.spans[index * 2 + 1] ?? 0;
      const value = decode(bytes, from, to, (scanner.kinds[index] ?? 0) as JsonKind);
      if (value === misfit) {
        throw new Error(
          `column "${columns[index]?.name}" does not read back: ${bytes.toString('utf8', start, end)}`,
        );
      }
      return value;
    });
  };
}

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

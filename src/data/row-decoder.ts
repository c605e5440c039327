import type { Span } from './bytes.ts';
import { type JsonDecoder, jsonDecoder } from './json-decode.ts';
import type { JsonKind } from './json-lex.ts';
import { JsonObjectScanner, scanOk } from './json-scan.ts';
import { misfit } from './misfit.ts';
import type { Column } from './types.ts';
import type { Row } from './value.ts';

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

import { FlowError } from '../base/errors.ts';
import type { Span } from './bytes.ts';
import { type JsonDecoder, jsonDecoder } from './json-decode.ts';
import type { JsonKind } from './json-lex.ts';
import { JsonObjectScanner, scanOk } from './json-scan.ts';
import { misfit } from './misfit.ts';
import { formatType } from './type-text.ts';
import type { Column } from './types.ts';
import type { Row } from './value.ts';

export type RowDecoder = (json: Span) => Row;

/**
 * Reads rows of an output topic back into values. Where one does not read back, another definition or somebody else has
 * written it: RECORD_CORRUPT, to which whoever knows the record adds its place (`readAt`).
 */
export function rowDecoder(columns: readonly Column[]): RowDecoder {
  const scanner = new JsonObjectScanner(columns.map(({ name }) => name));
  const decoders: readonly JsonDecoder[] = columns.map(({ type }) => jsonDecoder(type));
  return ({ bytes, start, end }) => {
    if (scanner.scan(bytes, start, end) !== scanOk) {
      throw corrupt('a row is no JSON object', { bytes, start, end });
    }
    return decoders.map((decode, index) => {
      const from = scanner.spans[index * 2] ?? 0;
      const to = scanner.spans[index * 2 + 1] ?? 0;
      const value = decode(bytes, from, to, (scanner.kinds[index] ?? 0) as JsonKind);
      if (value === misfit) {
        const { name, type } = columns[index] as Column;
        const what = `column "${name}" is no ${formatType(type).toUpperCase()} in a row`;
        throw corrupt(what, { bytes, start, end });
      }
      return value;
    });
  };
}

function corrupt(what: string, { bytes, start, end }: Span): FlowError {
  return new FlowError('RECORD_CORRUPT', what, {
    detail: bytes.toString('utf8', start, end),
    // What a row holds stands in no log.
    logDetail: 'The error itself shows the row.',
  });
}

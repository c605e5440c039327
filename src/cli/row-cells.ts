import { FlowError } from '../base/errors.ts';
import type { JsonKind } from '../data/json-lex.ts';
import { kindAscii, kindMissing, kindNull, kindText } from '../data/json-lex.ts';
import { JsonObjectScanner, scanOk } from '../data/json-scan.ts';
import { decodeJsonString } from '../data/json-text.ts';

/** Reads the cells of a row; undefined is NULL. The array is new with each row. */
export type CellReader = (json: string) => (string | undefined)[];

/**
 * The values of an output row as text, by column. Invariant: strings come as their characters, everything
 * else as its JSON text stands, so that no digit is lost.
 */
export function cellReader(columns: readonly string[]): CellReader {
  const scanner = new JsonObjectScanner(columns);
  return (json) => {
    const bytes = Buffer.from(json, 'utf8');
    if (scanner.scan(bytes, 0, bytes.length) !== scanOk) {
      throw new FlowError('RECORD_CORRUPT', 'a row is no JSON object', { detail: json });
    }
    return columns.map((_, index) => {
      const kind = (scanner.kinds[index] ?? kindMissing) as JsonKind;
      if (kind === kindMissing || kind === kindNull) return undefined;
      const start = scanner.spans[index * 2] ?? 0;
      const end = scanner.spans[index * 2 + 1] ?? 0;
      return kind === kindText || kind === kindAscii
        ? (decodeJsonString(bytes, start, end) ?? '')
        : bytes.toString('utf8', start, end);
    });
  };
}

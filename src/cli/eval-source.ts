import { rowDecoder } from '../data/row-decoder.ts';
import { parseColumnsText } from '../data/type-text.ts';
import { usageError } from './command.ts';
import type { SourceTable } from './eval-query.ts';
import { readText } from './read-text.ts';

/** Reads `[NAME=]FILE`: a JSON document with the columns of a table and the texts of its records. */
export function readSourceTable(argument: string): SourceTable {
  const named = /^([A-Za-z_]\w*)=(.+)$/.exec(argument);
  const file = named?.[2] ?? argument;
  const { ddl, records } = documentOf(file);
  const columns = parseColumnsText(ddl);
  const decode = rowDecoder(columns);
  const rows = records.map((record) => {
    const bytes = Buffer.from(record);
    return decode({ bytes, start: 0, end: bytes.length });
  });
  return { name: named?.[1] ?? 'src', columns, rows };
}

function documentOf(file: string): { ddl: string; records: readonly string[] } {
  let json: unknown;
  try {
    json = JSON.parse(readText(file));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw usageError(`file "${file}" is no JSON`);
  }
  const members: Readonly<Record<string, unknown>> =
    typeof json === 'object' && json !== null ? { ...json } : {};
  const ddl = members['ddl'] ?? members['schema'];
  const records = members['records'];
  if (typeof ddl !== 'string' || !Array.isArray(records)) {
    throw usageError(
      `file "${file}" is no source`,
      'It needs "ddl", a text, and "records", a list of texts.',
    );
  }
  return {
    ddl,
    records: records.map((record) =>
      typeof record === 'string' ? record : JSON.stringify(record),
    ),
  };
}

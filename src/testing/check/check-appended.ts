import type { CommittedRecord } from '../../adapters/memory/memory-log.ts';
import { readProvenance } from '../../data/provenance.ts';
import { parseSources } from '../../task/output/output-record.ts';
import { minus } from './check-result.ts';
import { sourceText } from './fold-output.ts';

/**
 * Compares the records of a table that rows are appended to with the rows that its flows make. Returns every difference
 * as one line; none: each row is there with its text, exactly once, or at least once where nothing more is promised.
 */
export function checkAppended(
  records: readonly CommittedRecord[],
  expected: readonly { readonly provenance: string; readonly row: string | undefined }[],
  isExact: boolean,
): readonly string[] {
  const all = records.filter(isOurs).map((record) => {
    const { source, row } = appendedRow(record);
    return `${source} ${row}`;
  });
  const have = isExact ? all : [...new Set(all)];
  const rows = expected.map(({ provenance, row }) => `${provenance} ${row}`);
  // Two flows may append the same row of the same record.
  const want = isExact ? rows : [...new Set(rows)];
  return [
    ...minus(want, have).map((line) => `lacks ${line}`),
    ...minus(have, want).map((line) => `has ${line}`),
  ];
}

/** In a topic of somebody else there are records of others. */
export function isOurs({ headers }: CommittedRecord): boolean {
  return headers.some(({ key }) => key === 'tm-src');
}

/** A record of an append table: where its row comes from, and the row. */
export function appendedRow({ headers, value, offset }: CommittedRecord): {
  readonly source: string;
  readonly row: string;
} {
  const text = headers.find(({ key }) => key === 'tm-src')?.value?.toString('latin1') ?? '';
  const [bytes] = parseSources(text)?.[0] ?? [];
  if (bytes === undefined) throw new Error(`a record at offset ${offset} has no readable tm-src`);
  return { source: sourceText(readProvenance(bytes, 0)), row: value?.toString('utf8') ?? 'null' };
}

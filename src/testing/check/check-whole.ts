import type { WholeTable } from '../simulation/shape-parts.ts';
import { minus } from './check-result.ts';

/**
 * Compares the rows of a table with those that all records together give. Returns every difference as one line; none: each
 * row is there as often as it has to be, and no other. Not `isExact`: a row may be there more often.
 */
export function checkWhole(
  rows: readonly string[],
  { must, may, count }: WholeTable,
  isExact: boolean,
): string[] {
  const once = (texts: readonly string[]): readonly string[] =>
    isExact ? texts : [...new Set(texts)];
  const isCounted = isExact && count !== undefined && rows.length !== count;
  return [
    ...(isCounted ? [`has ${rows.length} rows for ${count}`] : []),
    ...minus(once(must), once(rows)).map((row) => `lacks ${row}`),
    ...minus(once(rows), once([...must, ...may])).map((row) => `has ${row}`),
  ];
}

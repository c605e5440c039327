import type { CommittedRecord } from '../../adapters/memory/memory-log.ts';

/**
 * Compares the records of an AUTO CDC table with the rows that its changes make, and follows them as a reader does.
 * Returns every difference as one line; none: each key has the rows of its changes, in their order, and no record of a
 * key was of a lower sequence than one before it, unless the table was emptied meanwhile.
 */
export function checkChanges(
  records: readonly CommittedRecord[],
  expected: ReadonlyMap<string, readonly string[]>,
  isEmptied = false,
): readonly string[] {
  const faults: string[] = [];
  const rows = new Map<string, string>();
  const levels = new Map<string, number>();
  for (const { partition, offset, key: keyBytes, value, headers } of records) {
    const key = keyBytes?.toString('utf8') ?? '';
    if (value === null) rows.delete(key);
    else rows.set(key, value.toString('utf8'));
    const text = headers.find((header) => header.key === 'tm-seq')?.value?.toString('utf8');
    const level = Number(text);
    const before = levels.get(key);
    if (text === undefined || text === '' || Number.isNaN(level)) continue;
    if (before !== undefined && level < before && !isEmptied) {
      faults.push(`${partition}@${offset} ${key}: falls from sequence ${before} to ${level}`);
    }
    levels.set(key, level);
  }
  for (const key of new Set([...expected.keys(), ...rows.keys()])) {
    const want = expected.get(key) ?? [];
    const wanted = want.length === 0 ? undefined : `[${want.join()}]`;
    const have = rows.get(key);
    if (have !== wanted) {
      faults.push(`${key}: has ${have ?? 'no rows'}, expected ${wanted ?? 'none'}`);
    }
  }
  return faults;
}

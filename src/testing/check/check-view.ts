import type { CommittedRecord } from '../../adapters/memory/memory-log.ts';

/**
 * Compares the records of a materialized view with the result of its query. Returns every difference as one line; none:
 * it is the query's result, and no record of a key was of an earlier run than one before it.
 */
export function checkView(
  records: readonly CommittedRecord[],
  expected: ReadonlyMap<string, string>,
): readonly string[] {
  const faults: string[] = [];
  const rows = new Map<string, string>();
  const runs = new Map<string, number>();
  for (const { partition, offset, key: keyBytes, value, headers } of records) {
    const key = keyBytes?.toString('utf8') ?? '';
    if (value === null) rows.delete(key);
    else rows.set(key, value.toString('utf8'));
    const text = headers.find((header) => header.key === 'tm-seq')?.value?.toString('utf8');
    if (text === undefined) continue;
    const run = Number(text);
    const before = runs.get(key) ?? 0;
    if (run < before)
      faults.push(`${partition}@${offset} ${key}: run ${run} comes after ${before}`);
    runs.set(key, run);
  }
  for (const key of new Set([...expected.keys(), ...rows.keys()])) {
    const row = expected.get(key);
    const want = row === undefined ? undefined : `[${row}]`;
    const have = rows.get(key);
    if (have !== want)
      faults.push(`${key}: has ${have ?? 'nothing'}, expected ${want ?? 'nothing'}`);
  }
  return faults;
}

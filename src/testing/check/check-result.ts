import type { CommittedRecord } from '../../adapters/memory/memory-log.ts';
import type { OutputMode } from '../../plan/pipeline-plan.ts';
import { foldOutput, OutputFold } from './fold-output.ts';
import type { ReferenceSet } from './reference.ts';

/**
 * Compares what a reader of the output topic has (its records, or what they were folded to) with the reference. Returns every difference as one
 * line; none: they are equal, row by row, sequence by sequence and source by source.
 */
export function checkResult<Sequence>(
  records: Iterable<CommittedRecord> | OutputFold,
  output: OutputMode,
  expected: ReadonlyMap<string, ReferenceSet<Sequence>>,
): readonly string[] {
  const fold = records instanceof OutputFold ? records : foldOutput(records, output);
  const faults: string[] = [];
  for (const key of new Set([...expected.keys(), ...fold.keys()])) {
    const want = expected.get(key);
    const have = fold.records(key);
    if (want === undefined) {
      faults.push(`${key}: has rows, expected none`);
      continue;
    }
    const wantRows = [...want.rows].map(([source, row]) => `${source} ${row}`);
    const haveRows = have.flatMap(({ rows }) =>
      rows.flatMap(({ row, sources }) =>
        sources.map((source) => `${source} ${row.bytes.toString('utf8', row.start, row.end)}`),
      ),
    );
    for (const line of minus(wantRows, haveRows)) faults.push(`${key}: lacks ${line}`);
    for (const line of minus(haveRows, wantRows)) faults.push(`${key}: has ${line}`);
    for (const { sequence } of have) {
      if (sequence !== String(want.sequence)) {
        faults.push(`${key}: has sequence ${sequence}, expected ${want.sequence}`);
      }
    }
  }
  return faults;
}

/** The items of a multiset that another lacks. */
export function minus(items: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const other of others) counts.set(other, (counts.get(other) ?? 0) + 1);
  return items.filter((item) => {
    const count = counts.get(item) ?? 0;
    if (count > 0) counts.set(item, count - 1);
    return count === 0;
  });
}

import { type ReferenceRow, reference } from '../../src/testing/check/reference.ts';
import type { KnownRecord } from './refresh-world.ts';

export type BruteForceOptions = {
  /** Topics in the order of the branches; a record of another one gives no row. */
  readonly branches: readonly string[];
  readonly distinct: boolean;
  readonly isReadable: (record: KnownRecord) => boolean;
};

/** The rows of the table that the records give, as a reader of its topic has them: one line each, in order. */
export function bruteForceRows(
  records: readonly KnownRecord[],
  { branches, distinct, isReadable }: BruteForceOptions,
): string[] {
  const sets = fold(records.filter(isReadable), branches, false);
  const values = new Map(
    records.flatMap((record) =>
      branches.map((_, branch) => [placeOf(record, branch), record.v] as const),
    ),
  );
  return [...sets]
    .flatMap(([key, { sequence, rows }]) => {
      const { k } = JSON.parse(key) as { k: string };
      const texts = [...rows].map((place) =>
        JSON.stringify({ k, seq: sequence, v: values.get(place), gone: false }),
      );
      return distinct ? [...new Set(texts)] : texts;
    })
    .sort();
}

function placeOf({ topicId, partition, offset }: KnownRecord, branch: number): string {
  return `${topicId}/${partition}@${offset}#${branch}`;
}

/** What a full recomputation would lose, found by doing it: keys whose rows or levels come out otherwise. */
export function bruteForceLoss(
  records: readonly KnownRecord[],
  { branches, distinct, isReadable }: BruteForceOptions,
): { readonly keys: readonly string[]; readonly rows: number; readonly levels: number } {
  const before = fold(records, branches, distinct);
  const after = fold(records.filter(isReadable), branches, distinct);
  const keys: string[] = [];
  let rows = 0;
  let levels = 0;
  for (const [key, state] of before) {
    const other = after.get(key);
    const lost =
      other?.sequence === state.sequence
        ? [...state.rows].filter((row) => !other.rows.has(row)).length
        : state.rows.size;
    const isLevelLost = state.rows.size === 0 && other?.sequence !== state.sequence;
    if (lost > 0 || isLevelLost) keys.push(key);
    rows += lost;
    levels += isLevelLost ? 1 : 0;
  }
  return { keys: keys.sort(), rows, levels };
}

function fold(records: readonly KnownRecord[], branches: readonly string[], distinct: boolean) {
  const rows = records.flatMap((record) =>
    branches.flatMap((topic, branch): ReferenceRow<number>[] => {
      if (topic !== record.topic) return [];
      const { k, seq, v, gone } = record;
      return [
        {
          key: JSON.stringify({ k }),
          sequence: seq,
          provenance: placeOf(record, branch),
          row: gone === true ? undefined : v,
        },
      ];
    }),
  );
  const sets = reference(rows, (left, right) => left - right);
  return new Map(
    [...sets].map(([key, { sequence, rows: found }]) => [
      key,
      { sequence, rows: new Set(distinct ? found.values() : found.keys()) },
    ]),
  );
}

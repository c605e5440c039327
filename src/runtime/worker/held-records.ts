import { readProvenance } from '../../data/provenance.ts';
import { readHeaders } from '../../data/record-headers.ts';
import type { Log, RecordCursor } from '../../ports/log.ts';
import {
  type HeldRecords,
  isWholeTable,
  type SourcePartitionFacts,
} from '../../refresh/retention.ts';
import { parseSources } from '../../task/output/output-record.ts';
import { eachSlice } from '../refresh/refresh-fold.ts';

/** What is held in memory of tables that lost a part; with more, their rows count as at risk. */
const recordsMax = 5_000_000;

/**
 * Which records of first sources the tables among the sources have rows of, where one of them does not keep everything.
 * Invariant: a table that compacts says nothing, since what it has now may be gone when it is read again.
 */
export async function readHeld(
  log: Log,
  sources: readonly SourcePartitionFacts[],
): Promise<HeldRecords | undefined> {
  const tables = sources.filter(({ isTable }) => isTable === true);
  if (isWholeTable(tables) || tables.some(({ isCompacted }) => isCompacted)) return undefined;
  const held = new Set<string>();
  for (const { topic, partition, logStart, end } of tables) {
    await eachSlice(log, topic, { partition, from: logStart, to: end }, ({ records }) => {
      while (held.size <= recordsMax && records.next()) {
        const place = sourceOf(records);
        if (place !== undefined) held.add(placeKey(readProvenance(place, 0)));
      }
    });
    if (held.size > recordsMax) return undefined;
  }
  return { has: (place) => held.has(placeKey(place)) };
}

/** Where the row of a record that append flows wrote came from, in bytes. */
export function sourceOf({ bytes, headersStart, headersEnd }: RecordCursor): Buffer | undefined {
  for (const { key, value } of readHeaders(bytes, headersStart, headersEnd)) {
    if (key === 'tm-src') return parseSources(value?.toString('latin1') ?? '')?.[0]?.[0];
  }
  return undefined;
}

function placeKey({
  topicId,
  partition,
  offset,
}: {
  readonly topicId: string;
  readonly partition: number;
  readonly offset: number;
}): string {
  return `${topicId}/${partition}@${offset}`;
}

import { readProvenance } from '../data/provenance.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log, LogProducer, RecordCursor } from '../ports/log.ts';
import { rowLoss } from '../refresh/loss.ts';
import { appendCopy } from './append-copy.ts';
import { sourceOf } from './held-records.ts';
import type { ReadProgress } from './read-partition.ts';
import type { RefreshFacts } from './refresh-facts.ts';
import { eachSlice } from './refresh-fold.ts';
import type { SwapResult } from './refresh-swap.ts';

const pendingBytesMax = 8 * 1024 * 1024;

/**
 * Empties the topic of a table that append flows write, up to where it ended when the refresh began. Rows that can't be
 * read again are written once more behind that end first, where that was asked for. Invariant: what is to stay is there,
 * committed, before the record that it was is deleted; done again after a crash, no row is written twice.
 */
export async function emptyAppended(options: EmptyOptions): Promise<SwapResult> {
  const { log, facts, from, producer, onProgress } = options;
  const result: SwapResult = { published: 0, buried: 0, lost: { keys: 0, rows: 0, levels: 0 } };
  const { output } = facts;
  if (output === undefined) return result;
  for (const { partition, start, stable } of output.partitions) {
    const end = from[partition] ?? start;
    const part = { topic: output.topic, partition, result };
    const kept =
      producer === undefined ? new Set<string>() : await sourcesIn(log, part, end, stable);
    await eachSlice(log, output.topic, { partition, from: start, to: end }, async ({ records }) => {
      while (records.next()) {
        if (records.offset < end) keepOrLose(options, part, records, kept);
      }
      if (producer !== undefined && producer.pendingBytes > pendingBytesMax) {
        await producer.commit([]);
      }
    });
    onProgress?.({ partition, partitions: output.partitions.length, position: end, end });
  }
  await producer?.commit([]);
  await log.deleteRecords(output.topic, new Map(from.entries()));
  return result;
}

export type EmptyOptions = {
  readonly log: Log;
  readonly clock: Clock;
  readonly facts: RefreshFacts;
  /** Where each partition ended when the refresh began. */
  readonly from: readonly number[];
  /** What writes the rows that stay; undefined: none do. */
  readonly producer: LogProducer | undefined;
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
};

type Part = {
  readonly topic: string;
  readonly partition: number;
  readonly result: SwapResult;
};

/** What an attempt that was interrupted has written behind the end already. */
async function sourcesIn(
  log: Log,
  { topic, partition }: Part,
  from: number,
  to: number,
): Promise<Set<string>> {
  const found = new Set<string>();
  await eachSlice(log, topic, { partition, from, to }, ({ records }) => {
    while (records.next()) found.add(sourceOf(records)?.toString('latin1') ?? '');
  });
  return found;
}

function keepOrLose(
  { clock, facts, producer }: EmptyOptions,
  { topic, partition, result }: Part,
  records: RecordCursor,
  kept: Set<string>,
): void {
  const source = sourceOf(records);
  const isLost =
    source !== undefined && rowLoss(facts.bounds, [readProvenance(source, 0)]) !== undefined;
  if (!isLost) {
    result.buried += 1;
    return;
  }
  if (producer === undefined) {
    result.buried += 1;
    result.lost.keys += 1;
    result.lost.rows += 1;
    return;
  }
  const name = source.toString('latin1');
  if (kept.has(name)) return;
  kept.add(name);
  appendCopy(producer, topic, partition, records, clock.now());
  result.published += 1;
}

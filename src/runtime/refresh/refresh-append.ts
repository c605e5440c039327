import { createHash } from 'node:crypto';
import { readProvenance } from '../../data/provenance.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, LogProducer, RecordCursor } from '../../ports/log.ts';
import { rowLoss } from '../../refresh/loss.ts';
import { sourceOf } from '../worker/held-records.ts';
import type { ReadProgress } from '../worker/read-partition.ts';
import { appendCopy } from './append-copy.ts';
import type { RefreshFacts } from './refresh-facts.ts';
import { eachSlice } from './refresh-fold.ts';
import type { SwapResult } from './refresh-swap-options.ts';

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
    const kept = new KeptRows();
    if (producer !== undefined) await kept.read(log, part, end, stable);
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

/**
 * Rows that an attempt which was interrupted has written behind the end already. Two flows may have made a row each of
 * one record, and even the same one: so they are counted.
 */
class KeptRows {
  readonly #written = new Map<string, number>();
  readonly #seen = new Map<string, number>();

  async read(log: Log, { topic, partition }: Part, from: number, to: number): Promise<void> {
    await eachSlice(log, topic, { partition, from, to }, ({ records }) => {
      while (records.next()) {
        const name = nameOf(records);
        this.#written.set(name, (this.#written.get(name) ?? 0) + 1);
      }
    });
  }

  /** Whether this row, the next one of its kind, is there already. */
  has(records: RecordCursor): boolean {
    const name = nameOf(records);
    const seen = (this.#seen.get(name) ?? 0) + 1;
    this.#seen.set(name, seen);
    return seen <= (this.#written.get(name) ?? 0);
  }
}

/** What two records have in common that say the same of the same. */
function nameOf(records: RecordCursor): string {
  const { bytes, valueStart, valueEnd } = records;
  return createHash('sha1')
    .update(sourceOf(records) ?? '')
    .update(bytes.subarray(valueStart, Math.max(valueStart, valueEnd)))
    .digest('base64');
}

function keepOrLose(
  { clock, facts, producer }: EmptyOptions,
  { topic, partition, result }: Part,
  records: RecordCursor,
  kept: KeptRows,
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
  if (kept.has(records)) return;
  appendCopy(producer, topic, partition, records, clock.now());
  result.published += 1;
}

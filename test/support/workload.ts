import { FlowError } from '../../src/base/errors.ts';
import type { Log } from '../../src/ports/log.ts';
import { Random } from '../../src/testing/random.ts';
import { textRecord } from './log-worker.ts';
import { sleep } from './service-process.ts';

/** A row of the source of these tests. */
export type OrderRow = {
  readonly region: string | null;
  readonly item: string;
  readonly qty: number;
  readonly seq: number;
};

export type SourceRecord = { readonly partition: number; readonly value: string | null };

export type WorkloadOptions = {
  readonly seed: number;
  readonly records: number;
  readonly partitions: number;
  readonly keys?: number;
  /** Of a thousand records: so many have the sequence of the record before them of that key. */
  readonly ties?: number;
  readonly late?: number;
  readonly duplicates?: number;
  readonly tombstones?: number;
  /** Length of some of the items: large ones fill caches. */
  readonly itemLength?: number;
  /** Sequences begin after it. */
  readonly levelStart?: number;
};

/**
 * What several careless producers send, decided by the seed alone: snapshots of keys with growing sequences; ties;
 * rows that come late; the same record sent once more as another record, in another partition too; tombstones;
 * NULL, the empty string and the text NULL among the keys. Neighbours are swapped over a window, so that order says nothing.
 */
export function workload(options: WorkloadOptions): SourceRecord[] {
  const { seed, records, partitions, keys = 60 } = options;
  const {
    ties = 80,
    late = 60,
    duplicates = 40,
    tombstones = 5,
    levelStart = 0,
    itemLength = 0,
  } = options;
  const random = new Random(seed);
  const names: (string | null)[] = [null, '', 'NULL'];
  while (names.length < keys) names.push(`R${names.length}`);
  const levels = new Map<string | null, number>();
  const made: SourceRecord[] = [];
  while (made.length < records) {
    const partition = random.below(partitions);
    if (random.chance(tombstones)) {
      made.push({ partition, value: null });
      continue;
    }
    // Half of them are of a few keys, so that there are ties and late rows however many keys there are.
    const choices = random.chance(500) ? names.slice(0, hotKeys) : names;
    const region = random.pick(choices) ?? null;
    const level = levels.get(region) ?? levelStart;
    let seq = level + 1;
    if (random.chance(ties) && level > levelStart) seq = level;
    else if (random.chance(late) && level > 1) seq = 1 + random.below(level - 1);
    else levels.set(region, seq);
    const row: OrderRow = {
      region,
      item: `i${made.length}`.padEnd(itemLength, '.'),
      qty: random.below(1000),
      seq,
    };
    const value = JSON.stringify(row);
    made.push({ partition, value });
    if (random.chance(duplicates)) made.push({ partition: random.below(partitions), value });
  }
  return shuffledNearby(made, random);
}

const windowSize = 50;
const hotKeys = 50;

function shuffledNearby(records: readonly SourceRecord[], random: Random): SourceRecord[] {
  const shuffled: SourceRecord[] = [];
  for (let start = 0; start < records.length; start += windowSize) {
    shuffled.push(...random.shuffled(records.slice(start, start + windowSize)));
  }
  return shuffled;
}

/** Writes records without keys, in their order a partition. */
export async function produce(
  log: Log,
  topic: string,
  records: readonly SourceRecord[],
): Promise<void> {
  const producer = await log.openProducer(undefined);
  try {
    for (const { partition, value } of records) {
      producer.append(topic, partition, textRecord(null, value));
    }
    await producer.commit([]);
  } finally {
    await producer.close();
  }
}

/** As `produce`, in pieces, so that it takes about `durationMs`. A piece that fails may be sent twice: those are rows like others. */
export async function producePaced(
  log: Log,
  topic: string,
  records: readonly SourceRecord[],
  options: { readonly durationMs: number; readonly isStopped?: () => boolean },
): Promise<void> {
  const pieceMs = 50;
  const pieces = Math.max(1, Math.round(options.durationMs / pieceMs));
  const size = Math.ceil(records.length / pieces);
  const startedAt = Date.now();
  for (let piece = 0; piece * size < records.length; piece += 1) {
    if (options.isStopped?.() === true) return;
    await producePatiently(log, topic, records.slice(piece * size, (piece + 1) * size));
    await sleep(Math.max(0, startedAt + (piece + 1) * pieceMs - Date.now()));
  }
}

/** Through outages of the broker. */
async function producePatiently(
  log: Log,
  topic: string,
  records: readonly SourceRecord[],
): Promise<void> {
  for (;;) {
    try {
      await produce(log, topic, records);
      return;
    } catch (error) {
      if (!(error instanceof FlowError) || error.remedy === 'fix-input') throw error;
      await sleep(200);
    }
  }
}

/** A source of these tests, and a table over it. `WITH` of the table may be added to. */
export function ordersPipeline(
  source: string,
  target: string,
  output: 'row_set' | 'rows' = 'row_set',
): string {
  return `
CREATE SOURCE orders (region STRING, item STRING, qty INT, seq BIGINT) WITH (topic = '${source}');
CREATE STREAMING TABLE cur WITH (topic = '${target}', output = '${output}')
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, item, qty, seq FROM STREAM(orders);
`;
}

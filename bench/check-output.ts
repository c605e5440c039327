import { splitJsonArray } from '../src/data/json-split.ts';
import type { Log, RecordCursor } from '../src/ports/log.ts';
import { type PaymentGenerator, readOutputRow } from './generate.ts';

export type OutputCheck = {
  /** Keys whose rows are not what the reference says: wrong, missing or of no input. */
  readonly differences: number;
  readonly keys: number;
};

/** What one record of the output topic holds. */
type Part = {
  readonly paymentId: number;
  readonly sequence: bigint;
  readonly rows: number;
  readonly hash: number;
};

/**
 * Reads the output topic from its start, read committed, and compares every key with the reference: its
 * sequence, its number of rows and their content. The last record of a record key counts.
 */
export async function checkOutput(
  log: Log,
  topic: string,
  output: 'row_set' | 'rows',
  generator: PaymentGenerator,
): Promise<OutputCheck> {
  const parts = new Map<string, Part>();
  await readAll(log, topic, (records) => {
    const { bytes, keyStart, keyEnd, valueStart, valueEnd } = records;
    const key = bytes.toString('latin1', keyStart, keyEnd);
    if (valueEnd < 0) parts.delete(key);
    else parts.set(key, readPart(bytes, valueStart, valueEnd, output));
  });
  const found = new Map<number, Part>();
  let differences = 0;
  for (const part of parts.values()) {
    const before = found.get(part.paymentId);
    if (before !== undefined && before.sequence !== part.sequence) differences += 1;
    found.set(part.paymentId, {
      ...part,
      rows: part.rows + (before?.rows ?? 0),
      hash: (part.hash + (before?.hash ?? 0)) >>> 0,
    });
  }
  let keys = 0;
  for (const [paymentId, { sequence, rows, hash }] of generator.expected()) {
    keys += 1;
    const actual = found.get(paymentId);
    found.delete(paymentId);
    if (actual?.sequence !== sequence || actual.rows !== rows || actual.hash !== hash) {
      differences += 1;
    }
  }
  return { differences: differences + found.size, keys };
}

function readPart(bytes: Buffer, start: number, end: number, output: 'row_set' | 'rows'): Part {
  const spans = output === 'rows' ? [{ bytes, start, end }] : splitJsonArray(bytes, start, end);
  const rows = (spans ?? []).map((span) =>
    readOutputRow(bytes.toString('utf8', span.start, span.end)),
  );
  const [first] = rows;
  const isMixed = rows.some(({ sequence }) => sequence !== first?.sequence);
  return {
    paymentId: first?.paymentId ?? -1,
    sequence: isMixed ? -1n : (first?.sequence ?? -1n),
    rows: rows.length,
    hash: rows.reduce((sum, { hash }) => (sum + hash) >>> 0, 0),
  };
}

async function readAll(
  log: Log,
  topic: string,
  take: (records: RecordCursor) => void,
): Promise<void> {
  const count = (await log.describeTopics([topic])).get(topic)?.partitions ?? 0;
  const numbers = Array.from({ length: count }, (_, partition) => partition);
  const ranges = await log.offsetRanges(topic, numbers);
  const reader = log.openReader();
  const left = new Map<number, number>();
  for (const [partition, { start, stable }] of ranges) {
    if (start === stable) continue;
    reader.assign(topic, partition, start);
    left.set(partition, stable);
  }
  while (left.size > 0) {
    for (const { partition, records, nextOffset } of await reader.poll(1000)) {
      while (records.next()) take(records);
      if (nextOffset >= (left.get(partition) ?? 0)) left.delete(partition);
    }
  }
  await reader.close();
}

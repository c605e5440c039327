import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import type { CommittedRecord } from '../../src/adapters/memory/memory-log.ts';
import { readHeaders } from '../../src/data/record-headers.ts';
import type { OutputMode } from '../../src/plan/pipeline-plan.ts';
import type { Log, RecordCursor } from '../../src/ports/log.ts';
import { checkMonotone } from '../../src/testing/check/check-monotone.ts';
import { foldOutput, type OutputFold } from '../../src/testing/check/fold-output.ts';
import { type ReferenceRow, reference } from '../../src/testing/check/reference.ts';
import { readTransactions } from './read-transactions.ts';
import { until } from './service-process.ts';
import type { OrderRow } from './workload.ts';

export type CheckOptions = {
  readonly brokers: string;
  readonly source: string;
  readonly target: string;
  readonly output: OutputMode;
  readonly pipeline: string;
  readonly flow?: string;
};

export type CheckReport = {
  /** One line for each difference and for each wrong thing that a reader could have seen. None: all is well. */
  readonly differences: readonly string[];
  readonly sourceRecords: number;
  readonly outputRecords: number;
  readonly keys: number;
  readonly rows: number;
  readonly transactions: { readonly committed: number; readonly aborted: number };
};

/**
 * Judges a finished run by the logs alone. The reference is computed from the source records as they lie in their topic,
 * each of them one row with a provenance of its own. The output is followed in its order, as a committed reader sees it.
 */
export async function checkOutput(options: CheckOptions): Promise<CheckReport> {
  const log = await openKafkaLog({ brokers: options.brokers.split(','), clientId: 'check' });
  try {
    return await checkOn(log, options);
  } finally {
    await log.close();
  }
}

async function checkOn(log: Log, options: CheckOptions): Promise<CheckReport> {
  const { brokers, source, target, output } = options;
  const description = (await log.describeTopics([source])).get(source);
  if (description === undefined) throw new Error(`topic "${source}" is missing`);
  const input = await readCommitted(log, source);
  const rows = input.flatMap((record) => rowOf(record, description.topicId));
  const expected = reference(rows, compareNumbers);
  const records = await readCommitted(log, target);
  const { numbered, complaints, transactions } = await numberTransactions(brokers, target, records);
  const bySource = new Map(rows.map((row) => [row.provenance, row]));
  const differences = [
    ...complaints,
    ...checkMonotone(numbered, output, Number, compareNumbers),
    ...checkEveryRecord(numbered, output, bySource),
    ...checkFinal(foldOutput(numbered, output), expected),
    ...(await checkCheckpoints(log, options)),
  ];
  return {
    differences,
    sourceRecords: input.length,
    outputRecords: records.length,
    keys: expected.size,
    rows: [...expected.values()].reduce((sum, set) => sum + set.rows.size, 0),
    transactions,
  };
}

/** Waits until the checkpoints of a flow are at the end of everything that it reads. */
export async function untilCaughtUp(
  log: Log,
  options: Omit<CheckOptions, 'brokers' | 'output' | 'target'>,
  withinMs = 60_000,
  onFailure?: () => string,
): Promise<void> {
  let behind: readonly string[] = [];
  await until(
    `flow caught up with ${options.source}`,
    async () => {
      behind = await checkCheckpoints(log, options);
      return behind.length === 0;
    },
    { withinMs, everyMs: 200, onFailure: () => `${behind.join('\n')}\n${onFailure?.() ?? ''}` },
  );
}

/** The checkpoint stands at the end of each source partition, and of each partition between the stages. */
export async function checkCheckpoints(
  log: Log,
  { source, pipeline, flow = 'cur' }: Omit<CheckOptions, 'brokers' | 'output' | 'target'>,
): Promise<string[]> {
  const group = `${pipeline}.${flow}`;
  const behind: string[] = [];
  for (const topic of [source, `${group}.repartition`]) {
    const partitions = await partitionsOf(log, topic);
    if (partitions.length === 0) behind.push(`topic "${topic}" is missing`);
    const ranges = await log.offsetRanges(topic, partitions);
    const committed = await log.committedOffsets(group, topic, partitions);
    for (const [partition, { start, stable, end }] of ranges) {
      const offset = committed.get(partition)?.offset ?? start;
      if (offset !== end) {
        behind.push(`${topic}/${partition}: checkpoint ${offset}, stable ${stable}, end ${end}`);
      }
    }
  }
  return behind;
}

export async function partitionsOf(log: Log, topic: string): Promise<number[]> {
  const found = (await log.describeTopics([topic])).get(topic);
  return Array.from({ length: found?.partitions ?? 0 }, (_, partition) => partition);
}

/** Every committed record of a topic, partition by partition, once no transaction is open in it. */
export async function readCommitted(log: Log, topic: string): Promise<CommittedRecord[]> {
  const partitions = await partitionsOf(log, topic);
  let ranges = await log.offsetRanges(topic, partitions);
  await until(
    `no transaction is open in topic "${topic}"`,
    async () => {
      ranges = await log.offsetRanges(topic, partitions);
      return [...ranges.values()].every(({ stable, end }) => stable === end);
    },
    { withinMs: 90_000 },
  );
  const read = new Map<number, CommittedRecord[]>(partitions.map((partition) => [partition, []]));
  const left = new Set<number>();
  const reader = log.openReader();
  for (const [partition, { start, end }] of ranges) {
    if (end === start) continue;
    left.add(partition);
    reader.assign(topic, partition, start);
  }
  while (left.size > 0) {
    for (const { partition, records, nextOffset } of await reader.poll(1_000)) {
      const list = read.get(partition);
      while (records.next()) {
        list?.push(recordAt(records, partition));
      }
      if (nextOffset >= (ranges.get(partition)?.end ?? 0)) left.delete(partition);
    }
  }
  await reader.close();
  return [...read.values()].flat();
}

/** A copy of the record that a cursor stands at. */
export function recordAt(records: RecordCursor, partition: number): CommittedRecord {
  const { bytes, offset, timestampMs } = records;
  const span = (start: number, end: number) =>
    end < 0 ? null : Buffer.from(bytes.subarray(start, end));
  return {
    partition,
    offset,
    timestampMs,
    key: span(records.keyStart, records.keyEnd),
    value: span(records.valueStart, records.valueEnd),
    headers: readHeaders(bytes, records.headersStart, records.headersEnd),
    transaction: 0,
  };
}

/** A source record as a row; a tombstone gives none. Decoded by other means than the product's. */
export function rowOf(
  { partition, offset, value }: CommittedRecord,
  topicId: string,
): (ReferenceRow<number> & { readonly sequence: number })[] {
  if (value === null) return [];
  const { region, item, qty, seq } = JSON.parse(value.toString('utf8')) as OrderRow;
  return [
    {
      key: JSON.stringify({ region }),
      sequence: seq,
      provenance: `${Buffer.from(topicId, 'base64url').toString('hex')}/${partition}@${offset}#0.0`,
      row: JSON.stringify({ region, item, qty, seq }),
    },
  ];
}

function compareNumbers(a: number, b: number): number {
  return a - b;
}

type Numbered = {
  readonly numbered: readonly CommittedRecord[];
  readonly complaints: readonly string[];
  readonly transactions: CheckReport['transactions'];
};

/** Tells which records became visible together, and whether the reader showed what was committed and nothing else. */
async function numberTransactions(
  brokers: string,
  topic: string,
  records: readonly CommittedRecord[],
): Promise<Numbered> {
  const complaints: string[] = [];
  const numbered: CommittedRecord[] = [];
  const transactions = { committed: 0, aborted: 0 };
  for (const partition of new Set(records.map((record) => record.partition))) {
    const batches = await readTransactions(brokers, topic, partition);
    const mine = records.filter((record) => record.partition === partition);
    let at = 0;
    for (const { baseOffset, lastOffset, transaction, outcome } of batches) {
      let seen = 0;
      for (; (mine[at]?.offset ?? Number.POSITIVE_INFINITY) <= lastOffset; at += 1) {
        numbered.push({ ...(mine[at] as CommittedRecord), transaction });
        seen += 1;
      }
      const wanted = outcome === 'committed' ? lastOffset - baseOffset + 1 : 0;
      if (seen !== wanted) {
        complaints.push(
          `${topic}/${partition}@${baseOffset}: ${seen} records seen of ${wanted}, ${outcome}`,
        );
      }
    }
    for (const outcome of ['committed', 'aborted'] as const) {
      transactions[outcome] += new Set(
        batches.filter((batch) => batch.outcome === outcome).map((batch) => batch.transaction),
      ).size;
    }
  }
  return { numbered, complaints, transactions };
}

/** Whatever was ever shown: each row is the row of its source record, of that key and that sequence, and is there once. */
export function checkEveryRecord(
  records: readonly CommittedRecord[],
  output: OutputMode,
  bySource: ReadonlyMap<string, ReferenceRow<number>>,
): string[] {
  const faults: string[] = [];
  for (const record of records) {
    for (const shown of shownRows(foldOutput([record], output))) {
      const where = `${record.partition}@${record.offset} ${shown.key}`;
      const want = bySource.get(shown.source);
      if (shown.isRepeated) faults.push(`${where}: row ${shown.source} twice`);
      if (want === undefined) faults.push(`${where}: row of nowhere, ${shown.source}`);
      else if (want.key !== shown.key || textOf(want) !== shown.text) {
        faults.push(`${where}: ${shown.text} instead of ${textOf(want)}`);
      }
    }
  }
  return faults;
}

type ShownRow = {
  readonly key: string;
  readonly source: string;
  readonly text: string;
  readonly isRepeated: boolean;
};

/** What a reader of these records has in the end. */
function shownRows(fold: OutputFold): ShownRow[] {
  const shown: ShownRow[] = [];
  for (const key of fold.keys()) {
    const seen = new Set<string>();
    for (const { sequence, rows } of fold.records(key)) {
      for (const { row, sources } of rows) {
        const text = `${sequence} ${canonical(row.bytes.toString('utf8', row.start, row.end))}`;
        for (const source of sources) {
          shown.push({ key, source, text, isRepeated: seen.has(source) });
          seen.add(source);
        }
      }
    }
  }
  return shown;
}

function textOf({ sequence, row }: ReferenceRow<number>): string {
  return `${sequence} ${row}`;
}

/** What a reader has in the end, against the reference. */
export function checkFinal(
  fold: OutputFold,
  expected: ReturnType<typeof reference<number>>,
): string[] {
  const faults: string[] = [];
  const missing = new Map<string, string>();
  for (const [key, { sequence, rows }] of expected) {
    for (const [source, row] of rows) missing.set(`${key} ${source}`, `${sequence} ${row}`);
  }
  for (const { key, source, text, isRepeated } of shownRows(fold)) {
    const want = missing.get(`${key} ${source}`);
    if (isRepeated) faults.push(`${key}: ${source} is there twice in the end`);
    else if (want !== text) faults.push(`${key}: ${source} is ${text}, expected ${want}`);
    missing.delete(`${key} ${source}`);
  }
  for (const [place, row] of missing) faults.push(`${place} is missing: ${row}`);
  return faults;
}

/** One text for one row, whatever the order and spacing of its members. */
function canonical(text: string): string {
  const { region = null, item, qty, seq } = JSON.parse(text) as OrderRow;
  return JSON.stringify({ region, item, qty, seq });
}

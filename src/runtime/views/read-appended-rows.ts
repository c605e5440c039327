import { FlowError } from '../../base/errors.ts';
import { readProvenance } from '../../data/provenance.ts';
import { readHeaders } from '../../data/record-headers.ts';
import type { TablePlan } from '../../plan/pipeline-plan.ts';
import type { Log, RecordCursor, Slice } from '../../ports/log.ts';
import { parseSources } from '../../task/output/output-record.ts';
import { foreignRecord } from '../../task/table-records.ts';
import type { CommittedRow } from '../inspect/read-table.ts';
import type { ReadProgress } from '../worker/read-partition.ts';

export type ReadAppendedOptions = {
  readonly log: Log;
  readonly table: TablePlan;
  readonly onProgress?: (progress: ReadProgress) => void;
};

/** Rows that were read together. */
export type AppendedRows = { readonly partition: number; readonly rows: readonly CommittedRow[] };

/**
 * Every committed row of a table that append flows write, by partition and offset. Invariant: each record is one
 * row, and no more than one slice of them is held at a time.
 */
export async function* readAppendedRows({
  log,
  table,
  onProgress,
}: ReadAppendedOptions): AsyncGenerator<AppendedRows> {
  const { topic } = table;
  const found = (await log.describeTopics([topic])).get(topic);
  if (found === undefined) {
    throw new FlowError(
      'TOPIC_MISSING',
      `output topic "${topic}" of table "${table.name}" does not exist`,
      {
        hint: 'Run the pipeline once: the first run creates the topic. If it ran before, tidemark plan tells what a start would refuse.',
      },
    );
  }
  const { partitions } = found;
  for (let partition = 0; partition < partitions; partition += 1) {
    const range = (await log.offsetRanges(topic, [partition])).get(partition);
    if (range === undefined) {
      throw new FlowError('TOPIC_MISSING', `topic "${topic}" has no partition ${partition}`);
    }
    const { start, stable: end } = range;
    const reader = log.openReader();
    try {
      let position = start;
      reader.assign(topic, partition, position);
      while (position < end) {
        for (const slice of await reader.poll(500)) {
          yield { partition, rows: readRows(slice, table) };
          position = slice.nextOffset;
          onProgress?.({ partition, partitions, position, end });
        }
      }
    } finally {
      await reader.close();
    }
  }
}

/** A slice may reach beyond the end: what was committed meanwhile is as good. */
function readRows({ records, partition }: Slice, table: TablePlan): readonly CommittedRow[] {
  const rows: CommittedRow[] = [];
  while (records.next()) rows.push(readRow(records, table, partition));
  return rows;
}

function readRow(records: RecordCursor, table: TablePlan, partition: number): CommittedRow {
  const { bytes, valueStart, valueEnd, headersStart, headersEnd, offset } = records;
  const source = readHeaders(bytes, headersStart, headersEnd).find(({ key }) => key === 'tm-src');
  const sources = parseSources(source?.value?.toString('latin1') ?? '');
  if (valueEnd < 0 || sources?.length !== 1) {
    const place = { topic: table.topic, partition };
    throw foreignRecord(place, offset, 'it is no row with its header tm-src');
  }
  return {
    json: bytes.toString('utf8', valueStart, valueEnd),
    sources: (sources[0] ?? []).map((one) => readProvenance(one, 0)),
    offset,
  };
}

import { FlowError } from '../../base/errors.ts';
import { rowDecoder } from '../../data/row-decoder.ts';
import type { DataType } from '../../data/types.ts';
import type { Row } from '../../data/value.ts';
import { hiddenColumns, type SourcePlan, type TablePlan } from '../../plan/pipeline-plan.ts';
import type { Log } from '../../ports/log.ts';
import { SourceReader } from '../../task/row/source-reader.ts';
import { readAt } from '../../task/table-records.ts';
import { type CommittedRow, readTable } from '../inspect/read-table.ts';
import { readPartition } from '../worker/read-partition.ts';
import { readAppendedRows } from './read-appended-rows.ts';

/** What a batch query reads under one name. */
export type InputFacts = {
  readonly name: string;
  readonly topic: string;
  readonly partitions: number;
} & (
  | { readonly kind: 'source'; readonly source: SourcePlan }
  | {
      readonly kind: 'table';
      readonly table: TablePlan;
      /** Of the flow that keeps the table. */
      readonly sequenceType: DataType;
      /** undefined: nobody minds which topic has the name. */
      readonly topicId?: string | undefined;
      /** The flows that write the table. */
      readonly writers?: readonly string[];
    }
);

/**
 * All rows of an input as they stand: those of every record of a source, or the committed rows of a table. Invariant: they
 * come by partition and offset, so that the same log gives the same rows in the same order.
 */
export async function readInputRows(
  log: Log,
  input: InputFacts,
  timeZone: string,
): Promise<readonly Row[]> {
  if (input.partitions === 0) return [];
  return input.kind === 'source' ? readSourceRows(log, input, timeZone) : readTableRows(log, input);
}

async function readSourceRows(
  log: Log,
  input: Extract<InputFacts, { kind: 'source' }>,
  timeZone: string,
): Promise<readonly Row[]> {
  const { source, topic, partitions } = input;
  const declared = source.columns.length - hiddenColumns.length;
  const used = new Set(Array.from({ length: declared }, (_, position) => position));
  const reader = new SourceReader({ source, used, located: new Set(), timeZone });
  const rows: Row[] = [];
  for (let partition = 0; partition < partitions; partition += 1) {
    await readPartition({ log, topic, partition, partitions }, ({ records }) => {
      while (records.next()) {
        const verdict = reader.read(records, { topic, partition });
        if (verdict === 'tombstone') continue;
        if (verdict !== undefined) {
          throw new FlowError('BAD_ROW', `a record of source "${input.name}" cannot be read`, {
            detail: `${verdict.errorClass}: ${verdict.message}. It is the record at topic "${topic}", partition ${partition}, offset ${records.offset}.`,
            hint: 'Read the source into a streaming table with a dead_letter_topic first, and query that table.',
            place: { topic, partition, offset: records.offset },
          });
        }
        rows.push(reader.row.slice(0, declared));
      }
    });
  }
  return rows;
}

async function readTableRows(
  log: Log,
  { table, sequenceType }: Extract<InputFacts, { kind: 'table' }>,
): Promise<readonly Row[]> {
  const decode = rowDecoder(table.columns);
  const read = (partition: number, { json, offset = 0 }: CommittedRow): Row => {
    const bytes = Buffer.from(json, 'utf8');
    const place = { topic: table.topic, partition };
    return readAt(place, offset, () => decode({ bytes, start: 0, end: bytes.length }));
  };
  const rows: Row[] = [];
  const sets =
    table.output === 'append'
      ? readAppendedRows({ log, table })
      : readTable({ log, table, flow: { sequenceType } });
  for await (const { partition, rows: some } of sets) {
    for (const row of some) rows.push(read(partition, row));
  }
  return rows;
}

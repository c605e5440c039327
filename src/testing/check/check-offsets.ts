import type { CommittedRecord } from '../../adapters/memory/memory-log.ts';
import { readProvenance } from '../../data/provenance.ts';
import { type EnvelopeParts, readEnvelope } from '../../data/row-envelope.ts';
import type { WorkloadRow } from '../simulation/simulation-workload.ts';
import type { OutputFold } from './fold-output.ts';
import { sourceText } from './fold-output.ts';

export type OffsetsCheck = {
  readonly flow: string;
  /** Every row that the flow has to make of its sources, as far as they were produced. */
  readonly rows: readonly WorkloadRow[];
  /** Rows of other flows that lie in the same repartition topic. */
  readonly others: readonly WorkloadRow[];
  /** At one sequence one of the rows of a key stands, whichever it is. */
  readonly isMerging: boolean;
  /** What a committed reader sees of the repartition topic. */
  readonly repartition: readonly CommittedRecord[];
  readonly output: OutputFold;
  /** Sources of the rows of a table that rows are appended to; undefined: rows replace each other. */
  readonly appended?: ReadonlySet<string> | undefined;
  /** Checkpoints of this moment; undefined: there is none. */
  readonly committed: (topic: string, partition: number) => number | undefined;
  readonly repartitionTopic: string;
  /** Markers may empty a key: a key without rows is past every row that it had. */
  readonly isEmptiable: boolean;
};

/**
 * The promise that a checkpoint is, at any moment whatever goes on: every row of a source record below it lies in
 * the repartition topic or is applied (or in the table, where rows are appended), and every row of the repartition topic below it is in the output, or superseded there.
 * Returns each row for which that does not hold.
 */
export function checkOffsets(check: OffsetsCheck): string[] {
  const { flow, rows, others, repartition, output, appended, committed, repartitionTopic } = check;
  const faults: string[] = [];
  const handedOn = new Set<string>();
  const bySource = new Map([...rows, ...others].map((row) => [row.provenance, row]));
  for (const record of repartition) {
    const source = envelopeSource(record);
    handedOn.add(source);
    const row = bySource.get(source);
    if (row === undefined) {
      faults.push(`flow "${flow}" handed on a row that no record gives: ${source}`);
    } else if (record.offset < (committed(repartitionTopic, record.partition) ?? 0)) {
      const at = `${record.partition}@${record.offset}`;
      if (!isApplied(output, row, check)) {
        faults.push(`flow "${flow}" is past ${at} between its stages, without row ${source}`);
      }
    }
  }
  for (const row of rows) {
    const { topic, partition, offset } = row.place;
    if (offset >= (committed(topic, partition) ?? 0) || handedOn.has(row.provenance)) continue;
    // What was applied may be deleted between the stages.
    const isThere =
      appended === undefined ? isApplied(output, row, check) : appended.has(row.provenance);
    if (isThere) continue;
    faults.push(
      `flow "${flow}" is past ${topic}/${partition}@${offset}, without row ${row.provenance}`,
    );
  }
  return faults;
}

function isApplied(
  output: OutputFold,
  { key, sequence, provenance, row, isTruncate }: WorkloadRow,
  { isEmptiable, isMerging }: Pick<OffsetsCheck, 'isEmptiable' | 'isMerging'>,
): boolean {
  // Of all keys; those that it did not reach show in the end.
  if (isTruncate === true) return true;
  const sets = output.records(key);
  const [first] = sets;
  if (first === undefined) return isEmptiable;
  const level = Number(first.sequence);
  if (level !== sequence) return level > sequence;
  return (
    row === undefined ||
    isMerging ||
    sets.some(({ rows }) => rows.some(({ sources }) => sources.includes(provenance)))
  );
}

const parts: EnvelopeParts = {
  flags: 0,
  provenanceStart: 0,
  sequenceStart: 0,
  sequenceEnd: 0,
  rowStart: 0,
};

function envelopeSource({ value }: CommittedRecord): string {
  if (value === null || !readEnvelope(value, 0, value.length, parts)) return 'nothing readable';
  return sourceText(readProvenance(value, parts.provenanceStart));
}

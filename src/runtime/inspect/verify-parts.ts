import { FlowError } from '../../base/errors.ts';
import { provenanceSize, readProvenance, topicIdHex } from '../../data/provenance.ts';
import { stepExpressions } from '../../plan/bind/step-expressions.ts';
import { chanceIn } from '../../plan/explain/chance.ts';
import type { FlowPlan, RowStep } from '../../plan/pipeline-plan.ts';
import { groupOf } from '../../plan/topology.ts';
import type { Log } from '../../ports/log.ts';
import { isCompactedPolicy } from '../../refresh/retention.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import type { FlowFacts } from './flow-facts.ts';
import type { CommittedSet } from './read-table.ts';
import { isVersioned, tableReadBy, type VerifiedSpan } from './verify-readability.ts';

/**
 * `missing`: the sources give the key, the table lacks it. `extra`: the other way round. `provenance`: the rows are the same,
 * and those of the table say that they came from other records.
 */
export type KeyDifference = {
  readonly key: string;
  readonly kind: 'missing' | 'extra' | 'sequence' | 'rows' | 'provenance';
  readonly expected: string;
  readonly found: string;
};

export type VerifyReport = {
  /** What was compared of the table; what was left out is not. */
  keys: number;
  rows: number;
  differences: number;
  /** Keys whose sources are gone in part: what can't be read again was taken from the table. */
  unreadableKeys: number;
  /** Keys whose rows came through a table of the pipeline that lacks a part: they were taken from the table, too. */
  unknownKeys: number;
  /** Those tables. */
  partTables: readonly string[];
  /** Keys that moved on while they were compared. */
  movedKeys: number;
  /** Records that give no row with the present definition. */
  badRecords: number;
};

export function newReport(): VerifyReport {
  const none = { keys: 0, rows: 0, differences: 0, unreadableKeys: 0, unknownKeys: 0 };
  return { ...none, partTables: [], movedKeys: 0, badRecords: 0 };
}

/** A place of a record as a key in memory. */
export function sourceKey(provenance: Buffer): string {
  return provenance.toString('latin1', 0, provenanceSize);
}

export function bytesOf(source: CommittedSet['rows'][number]['sources'][number]): Buffer {
  const bytes = Buffer.alloc(provenanceSize);
  bytes.write(source.topicId, 0, 'hex');
  bytes.writeUInt32BE(source.partition, 16);
  bytes.writeUInt32BE(Math.floor(source.offset / 0x1_0000_0000), 20);
  bytes.writeUInt32BE(source.offset >>> 0, 24);
  bytes[28] = source.branch;
  bytes.writeUIntBE(Math.floor(source.index / 0x1_0000_0000), 29, 3);
  bytes.writeUInt32BE(source.index >>> 0, 32);
  return bytes;
}

/** Where a record is, as people write it; a source that nothing is known of goes by its topic's id. */
export function placeText(provenance: Buffer, sources: FlowFacts['sources']): string {
  const { topicId, partition, offset, index } = readProvenance(provenance, 0);
  const topic = sources.find((one) => topicIdHex(one.topicId) === topicId)?.topic ?? topicId;
  return `${topic}/${partition}@${offset}${index === 0 ? '' : `#${index}`}`;
}

/** The sources up to the checkpoints. */
export async function readSpans(
  { log, pipeline }: { readonly log: Log; readonly pipeline: string },
  facts: FlowFacts,
): Promise<readonly VerifiedSpan[]> {
  const group = groupOf(pipeline, facts.flow.name);
  const spans: VerifiedSpan[] = [];
  const described = await log.describeTopics(facts.sources.map(({ topic }) => topic));
  for (const source of facts.sources) {
    const { topic, topicId, partitions } = source;
    const isVersions = isVersioned(source);
    const table = tableReadBy(source);
    if (!isVersions && isCompactedPolicy(described.get(topic)?.configs.get('cleanup.policy'))) {
      throw new FlowError('NOT_SUPPORTED', `table "${facts.table.name}" cannot be recomputed`, {
        detail: `Its source topic "${topic}" is compacted: records that it was computed from are gone.`,
      });
    }
    const numbers = numbersTo(partitions);
    const committed = await log.committedOffsets(group, topic, numbers);
    for (const [partition, { start }] of await log.offsetRanges(topic, numbers)) {
      const to = committed.get(partition)?.offset ?? start;
      spans.push({ topic, topicId, partition, from: start, to, isVersions, table });
    }
  }
  return spans;
}

/** To be asked before anything is looked up: other kinds of flow have other topics, or none. */
export function refuseUnverifiable(flow: FlowPlan, table: string): void {
  refuseOrderDependent(flow);
  if (flow.kind === 'replace_using' || flow.kind === 'append') return;
  const shadow = `tidemark refresh ${table} --shadow computes it anew beside the table and tells what differs, without a trace.`;
  const account =
    'tidemark status shows whether the account of its rows closes; tidemark state scrub compares state and output.';
  const [reason, hint] =
    flow.kind === 'auto_cdc'
      ? [
          'AUTO CDC flows write it, whose changes, deletes and truncates make up a row together: that takes a generation of its own',
          shadow,
        ]
      : flow.kind === 'join'
        ? [
            'A join of two streams writes it, and what a row gives depends on those it meets',
            account,
          ]
        : [
            'DISTINCT or LIMIT writes it, and what they let through depends on what came before',
            account,
          ];
  throw new FlowError('NOT_SUPPORTED', `table "${table}" cannot be recomputed row by row`, {
    detail: `${reason}; verify knows REPLACE USING and append flows.`,
    hint,
  });
}

const orderDependent: Readonly<Partial<Record<RowStep['step'], string>>> = {
  join: 'a join',
  watermark: 'a watermark',
};

/** What a row gives may depend on when it was read: recomputed, it may differ and be right both times. */
function refuseOrderDependent(flow: FlowPlan): void {
  const recomputable = ['filter', 'project', 'explode', 'expect'];
  for (const { steps } of flow.branches) {
    for (const step of steps) {
      const isPlain = recomputable.includes(step.step);
      if (isPlain && stepExpressions(step).every((one) => chanceIn(one) === undefined)) continue;
      throw new FlowError('NOT_SUPPORTED', `flow "${flow.name}" cannot be recomputed`, {
        detail: isPlain
          ? 'Its rows depend on the clock or on chance, so that they come out differently each time.'
          : `Its query has ${orderDependent[step.step]}, whose result depends on when and in which order its rows came.`,
        hint: 'tidemark status shows whether its account closes; tidemark state scrub compares state and output.',
      });
    }
  }
}

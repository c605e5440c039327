import { jsonText } from '../data/json-encode.ts';
import { topicIdHex } from '../data/provenance.ts';
import { sequenceCodec } from '../data/sequence.ts';
import type { KeyedFlowPlan, PipelinePlan, TablePlan } from '../plan/pipeline-plan.ts';
import type { Log } from '../ports/log.ts';
import { type CommittedSet, sequenceOfSet } from '../runtime/inspect/read-table.ts';
import { type RowOrigins, rowSourceJson, type TopicNames } from './row-source.ts';

export async function sourceTopicsById(plan: PipelinePlan, log: Log): Promise<TopicNames> {
  const names = [...new Set(plan.sources.map(({ topic }) => topic))];
  const described = await log.describeTopics(names);
  return new Map([...described].map(([name, { topicId }]) => [topicIdHex(topicId), name]));
}

export type RowSetToTell = {
  /** JSON object of the key columns. */
  readonly key: string;
  readonly set: CommittedSet | undefined;
  readonly table: Pick<TablePlan, 'topic'>;
  readonly flow: KeyedFlowPlan;
  readonly origins: RowOrigins;
};

/**
 * The row-set of a key as machines read it, on one line. Key, sequence and rows are put in as text, so that no digit is
 * lost on the way. `more`: members that come after them.
 */
export function rowSetJson(
  { key, set, table, flow, origins }: RowSetToTell,
  more: Readonly<Record<string, string>> = {},
): string {
  const rows = (set?.rows ?? []).map(({ json }) => json).join(',');
  const sources = (set?.rows ?? []).flatMap((row, index) =>
    row.sources.map((source) => ({ row: index, ...rowSourceJson(source, origins) })),
  );
  const sequence = set === undefined ? 'null' : sequenceJson(flow, set, table);
  const members = Object.entries(more).map(
    ([name, text]) => `,${JSON.stringify(name)}:${JSON.stringify(text)}`,
  );
  return `{"key":${key},"sequence":${sequence},"rows":[${rows}],"sources":${JSON.stringify(sources)}${members.join('')}}`;
}

function sequenceJson(
  { sequenceType }: KeyedFlowPlan,
  set: CommittedSet,
  table: RowSetToTell['table'],
): string {
  const codec = sequenceCodec(sequenceType);
  const bytes = sequenceOfSet(codec, set, table);
  return jsonText(sequenceType, codec.decode(bytes, 0, bytes.length));
}

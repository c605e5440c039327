import { countedExpectations } from '../../plan/counted-expectations.ts';
import type { FlowPlan, PipelinePlan } from '../../plan/pipeline-plan.ts';
import type { Log } from '../../ports/log.ts';
import {
  addFlowCounters,
  emptyFlowCounters,
  emptyTableCounters,
  type FlowCounters,
  parseFlowMetadata,
  parseTableMetadata,
  type TableCounters,
} from '../../task/row-account.ts';

export type AccountOfFlow = { readonly source: FlowCounters; readonly table: TableCounters };

/** What a flow has counted, as it stands in its checkpoints: exact whatever was replayed. */
export async function readAccount(
  log: Log,
  plan: PipelinePlan,
  pipeline: string,
  flow: FlowPlan,
): Promise<AccountOfFlow> {
  const group = `${pipeline}.${flow.name}`;
  const target = plan.tables.find(({ name }) => name === flow.target);
  const names = countedExpectations(flow, target);
  const source = emptyFlowCounters(names);
  const sources = new Set(flow.branches.map((branch) => branch.source));
  const topics = plan.sources.filter(({ name }) => sources.has(name)).map(({ topic }) => topic);
  for (const topic of new Set(topics)) {
    for (const metadata of await readMetadata(log, group, topic)) {
      addFlowCounters(source, parseFlowMetadata(metadata, names) ?? emptyFlowCounters(names));
    }
  }
  const table = emptyTableCounters();
  // The table stage of AUTO CDC counts what all flows into the table send.
  const stageGroup = flow.kind === 'auto_cdc' ? `${pipeline}.${flow.target}` : group;
  for (const metadata of await readMetadata(log, stageGroup, `${stageGroup}.repartition`)) {
    const counters = parseTableMetadata(metadata) ?? emptyTableCounters();
    for (const name of Object.keys(table) as (keyof TableCounters)[]) {
      table[name] += counters[name];
    }
  }
  if (flow.kind === 'append') {
    // Its rows are in the output as soon as they are handed on, each a new one.
    table.rows = source.handedOn;
    table.new = source.handedOn;
  }
  return { source, table };
}

async function readMetadata(log: Log, group: string, topic: string): Promise<readonly string[]> {
  const count = (await log.describeTopics([topic])).get(topic)?.partitions ?? 0;
  const partitions = Array.from({ length: count }, (_, partition) => partition);
  const offsets = await log.committedOffsets(group, topic, partitions);
  return [...offsets.values()].map(({ metadata }) => metadata);
}

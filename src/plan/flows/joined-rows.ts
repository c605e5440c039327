import type { FlowPlan, PipelinePlan } from '../pipeline-plan.ts';

/**
 * Whether rows of a flow may come from pairs of records: it reads a join of two streams, itself or by way of the tables
 * that it streams. Invariant: where it is false, the provenance of every row names a record.
 */
export function hasJoinedRows(
  plan: Pick<PipelinePlan, 'flows' | 'sources'>,
  flow: FlowPlan,
): boolean {
  const seen = new Set([flow]);
  for (const reader of seen) {
    if (reader.kind === 'join') return true;
    const names = new Set(reader.branches.map(({ source }) => source));
    const read = plan.sources.filter(({ name }) => names.has(name));
    const tables = new Set(read.flatMap(({ table }) => table ?? []));
    for (const writer of plan.flows) if (tables.has(writer.target)) seen.add(writer);
  }
  return false;
}

import { type FlowPlan, isHelping, type PipelinePlan } from '../plan/pipeline-plan.ts';
import { namedRows } from './pipeline-files.ts';

/**
 * The pipeline with what writes some tables or materialized views alone; names go without case, none means all. Invariant:
 * what is left out stands where it is, and what is left in reads of it what it holds.
 */
export function selectTables(plan: PipelinePlan, names: readonly string[]): PipelinePlan {
  if (names.length === 0) return plan;
  const targets = new Set(names.map((name) => namedRows(plan, name).table.name));
  return {
    ...plan,
    flows: plan.flows.filter((flow) => targets.has(flow.target) || isReadBy(plan, flow, targets)),
    materializedViews: plan.materializedViews.filter(({ table }) => targets.has(table)),
  };
}

/** A join of two streams, DISTINCT and LIMIT are a part of the flow with them in its query. */
function isReadBy(plan: PipelinePlan, flow: FlowPlan, targets: ReadonlySet<string>): boolean {
  if (!isHelping(flow)) return false;
  const isRead = ({ branches }: FlowPlan): boolean =>
    branches.some(
      ({ source }) => plan.sources.find(({ name }) => name === source)?.table === flow.target,
    );
  return plan.flows.some(
    (reader) => isRead(reader) && (targets.has(reader.target) || isReadBy(plan, reader, targets)),
  );
}

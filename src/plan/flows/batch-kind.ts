import type { MaterializedViewPlan } from '../pipeline-plan.ts';

/** What a batch query is in the pipeline: a view, or a flow into a table that others may write too. */
export type BatchKind = 'materialized_view' | 'replace_where';

export function batchKind({ replaceWhere }: Pick<MaterializedViewPlan, 'replaceWhere'>): BatchKind {
  return replaceWhere === undefined ? 'materialized_view' : 'replace_where';
}

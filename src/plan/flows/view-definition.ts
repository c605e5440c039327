import type { Column } from '../../data/types.ts';
import { expressionText } from '../../expr/print.ts';
import type { BatchPlan } from '../batch/batch-plan.ts';
import type { MaterializedViewPlan, TablePlan } from '../pipeline-plan.ts';

/** What a materialized view groups by, computes and joins, in parts, for whoever has to say what changed. */
export type ViewDefinition = {
  readonly groups: readonly string[];
  readonly aggregates: readonly string[];
  readonly joins: readonly string[];
  readonly fingerprint: string;
  /** Of a REPLACE WHERE flow: what the rows are that it keeps; absent: it keeps none. */
  readonly keeps?: { readonly table: string; readonly columns: readonly Column[] };
};

/** Invariant: equal fingerprints, equal parts. */
export function viewDefinition(
  { query, fingerprint, replaceWhere }: MaterializedViewPlan,
  { name, columns }: Pick<TablePlan, 'name' | 'columns'>,
): ViewDefinition {
  const found = { groups: [] as string[], aggregates: [] as string[], joins: [] as string[] };
  const open: BatchPlan[] = [query];
  for (let step = open.shift(); step !== undefined; step = open.shift()) {
    if (step.node === 'aggregate') {
      found.groups.push(...step.keys.map((key) => expressionText(key)));
      found.aggregates.push(...step.aggregates.map((one) => expressionText(one)));
    } else if (step.node === 'join') {
      const equal = step.equal.map(
        ({ left, right }) => `${expressionText(left)} = ${expressionText(right)}`,
      );
      const rest = step.condition === undefined ? [] : [expressionText(step.condition)];
      found.joins.push(`${step.kind} ${[...equal, ...rest].join(' and ')}`);
    }
    if ('input' in step) open.push(step.input);
    if (step.node === 'join' || step.node === 'set') open.push(step.left, step.right);
    if (step.node === 'lateral') open.push(step.left, step.right.plan);
  }
  const keeps = {
    table: name,
    columns: columns.map((column) => ({ name: column.name, type: column.type })),
  };
  return { ...found, fingerprint, ...(replaceWhere === undefined ? {} : { keeps }) };
}

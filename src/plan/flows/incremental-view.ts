import type { DataType } from '../../data/types.ts';
import type { Expression } from '../../expr/expression.ts';
import type { BatchPlan } from '../batch/batch-plan.ts';
import { chanceIn } from '../explain/chance.ts';
import type { MaterializedViewPlan } from '../pipeline-plan.ts';

/** What the rows of the parts of a view are called where the rest of its query reads them. */
export const partRows = ' part';

/**
 * A view whose rows fall into parts that know nothing of each other: the rows of one group, or those that one row of its
 * table gives. Invariant: `lower` over the rows of the table, divided into parts, and `upper` over each part by itself
 * give together what the query gives over all.
 */
export type IncrementalView = {
  /** From rows of the table to rows that are grouped. */
  readonly lower: BatchPlan;
  /** What makes a part; undefined: a record of the table. */
  readonly groups: PartKeys | undefined;
  /** From the rows of a part (table `partRows`) to rows of the view; undefined: they are the same. */
  readonly upper: BatchPlan | undefined;
};

/** `values` undefined: the row itself. */
export type PartKeys = {
  readonly types: readonly DataType[];
  readonly values: readonly Expression[] | undefined;
};

/** Divides the query of a view into parts; undefined where one changed row may change any row of the result. */
export function incrementalView(view: MaterializedViewPlan): IncrementalView | undefined {
  const { inputs, query, isVolatile, replaceWhere } = view;
  const [input, ...others] = inputs;
  if (isVolatile || replaceWhere !== undefined) return undefined;
  if (input?.kind !== 'table' || others.length > 0) return undefined;
  return divided(query);
}

/** Why all of a view has to be computed where one row has changed; only for those that `incrementalView` does not divide. */
export function wholeReason(view: MaterializedViewPlan): string {
  const { inputs, query, isVolatile, replaceWhere } = view;
  if (replaceWhere !== undefined) return 'REPLACE WHERE computes the rows of its condition anew';
  if (isVolatile) return 'its query depends on the clock or on chance';
  if (inputs.some(({ kind }) => kind === 'source')) {
    return 'it reads a source, whose records have no state that could be held; read that into a streaming table';
  }
  return reasonIn(query) ?? 'a changed row may change any of its rows';
}

const nodeReasons: Partial<Record<BatchPlan['node'], string>> = {
  join: 'it joins, or has a subquery in an expression',
  window: 'it has window functions',
  sort: 'it sorts',
  limit: 'it has a LIMIT',
  set: 'it has a set operation',
  lateral: 'it has a lateral subquery',
  sessions: 'it has session windows',
  recursion: 'it is recursive',
  values: 'it has rows of its own',
};

function reasonIn(plan: BatchPlan): string | undefined {
  if (plan.node === 'aggregate' && plan.sets !== undefined) return 'it groups by several sets';
  return nodeReasons[plan.node] ?? ('input' in plan ? reasonIn(plan.input) : undefined);
}

function divided(query: BatchPlan): IncrementalView | undefined {
  if (isRowWise(query)) return { lower: query, groups: undefined, upper: undefined };
  const groups = groupsOf(query);
  if (groups === undefined) {
    // What stands above the groups looks at one row of theirs after the other.
    if (!('input' in query) || !isStep(query)) return undefined;
    const inner = divided(query.input);
    if (inner?.upper === undefined) return undefined;
    return { ...inner, upper: { ...query, input: inner.upper } };
  }
  if (!('input' in query) || !isRowWise(query.input)) return undefined;
  const input: BatchPlan = { node: 'table', name: partRows };
  return { lower: query.input, groups, upper: { ...query, input } as BatchPlan };
}

function groupsOf(plan: BatchPlan): PartKeys | undefined {
  if (plan.node === 'distinct') return { types: plan.types, values: undefined };
  if (plan.node !== 'aggregate' || plan.sets !== undefined) return undefined;
  const read = plan.aggregates.flatMap((aggregate) => aggregate.arguments);
  const isFixed = plan.keys.every(isTold) && read.every(isTold);
  return isFixed ? { types: plan.keys.map(({ type }) => type), values: plan.keys } : undefined;
}

/** Whether each row of the plan comes from one row of its table. */
function isRowWise(plan: BatchPlan): boolean {
  if (plan.node === 'table') return true;
  return 'input' in plan && isStep(plan) && isRowWise(plan.input);
}

type Step = Extract<BatchPlan, { node: 'project' | 'filter' | 'expect' | 'generate' | 'shared' }>;

/** Whether a step looks at one row and at nothing else: no chance, and no query inside of it. */
function isStep(plan: BatchPlan): plan is Step {
  switch (plan.node) {
    case 'project':
      return plan.values.every(isTold);
    case 'filter':
      return isTold(plan.condition);
    case 'expect':
      return plan.expectations.every(({ condition }) => isTold(condition));
    case 'generate':
      return plan.generator.arguments.every(isTold);
    case 'shared':
      return plan.cell.uses < 2;
    default:
      return false;
  }
}

function isTold(expression: Expression): boolean {
  return chanceIn(expression) === undefined;
}

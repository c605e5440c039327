import { oncePerPair } from '../base/once-per.ts';
import type { FlowPlan, TablePlan } from './pipeline-plan.ts';

/** How an expectation of a view is counted: views of one flow may have expectations of one name. */
export function viewExpectationName(view: string, expectation: string): string {
  return `${view}.${expectation}`;
}

/**
 * The names under which a flow counts what its rows met: the expectations of its table, then those of the views on the
 * way. Invariant: they are the same for each branch, so that the counts of all branches can be added up by position.
 */
export function countedExpectations(flow: Counting, table: Expecting = noTable): readonly string[] {
  return namesOf(flow, table);
}

type Counting = Pick<FlowPlan, 'branches'>;
type Expecting = Pick<TablePlan, 'expectations'>;

const noTable: Expecting = { expectations: [] };

const namesOf = oncePerPair((flow: Counting, table: Expecting): readonly string[] => {
  const ofViews = flow.branches
    .flatMap(({ steps }) => steps)
    .flatMap((step) =>
      step.step === 'expect'
        ? step.expectations.map(({ name }) => viewExpectationName(step.view, name))
        : [],
    );
  const own = table.expectations.map(({ name }) => name);
  return [...new Set([...own, ...ofViews])];
});

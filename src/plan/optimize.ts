import { columnsOf, isDeterministic, rewriteColumns } from '../expr/columns.ts';
import type { Expression } from '../expr/expression.ts';
import { stepExpressions } from './bind/step-expressions.ts';
import { dissolveProjections } from './dissolve.ts';
import { operationName } from './explain/chance.ts';
import { moveColumns } from './flows/move-columns.ts';
import type { BranchPlan, JoinStep, ProjectedColumn, RowStep } from './pipeline-plan.ts';
import { pruneSides } from './prune-sides.ts';
import type { BoundBranch } from './relation.ts';
import { widthAfter } from './upstream.ts';

type Project = Extract<RowStep, { step: 'project' }>;
type Filter = Extract<RowStep, { step: 'filter' }>;
type Explode = Extract<RowStep, { step: 'explode' }>;

/**
 * The steps of a branch, made cheap: projections are merged, columns that nobody reads are not
 * computed, and filters stand as near to the source as they can. Invariant: a row that passes gives the
 * same row. As in Spark, an expression of an inner query fails only on rows that reach it: not where an
 * outer filter takes the row away, and not in a column that is never read.
 */
export function optimizeBranch(branch: BoundBranch): BranchPlan {
  const width = branch.source.columns.length;
  let steps = dissolveProjections(branch.steps, width);
  // Each round removes a projection, a column, or moves a filter down; none is ever undone.
  for (let next = improve(steps, width); next !== undefined; next = improve(steps, width)) {
    steps = next;
  }
  return { source: branch.source.name, steps: pruneSides(steps, width) };
}

/** One improvement, the first that is found from the source on. */
function improve(steps: readonly RowStep[], width: number): readonly RowStep[] | undefined {
  for (const [i, second] of steps.entries()) {
    const first = steps[i - 1];
    if (first === undefined) continue;
    const pair = improvePair(first, second, widthAfter(width, steps.slice(0, i - 1)));
    if (pair !== undefined) return [...steps.slice(0, i - 1), ...pair, ...steps.slice(i + 1)];
  }
  return undefined;
}

function improvePair(
  first: RowStep,
  second: RowStep,
  width: number,
): readonly RowStep[] | undefined {
  if (first.step === 'project' && second.step === 'project') {
    return mergeProjects(first, second) ?? pruneProject(first, second);
  }
  if (first.step === 'project' && second.step === 'filter') return pushBelowProject(first, second);
  if ((first.step === 'explode' || first.step === 'join') && second.step === 'filter') {
    return pushBelow(first, second, width);
  }
  return undefined;
}

// ---------------------------------------------------------------- projections

/** One projection for two, unless something expensive would be computed more than once. */
function mergeProjects(first: Project, second: Project): readonly RowStep[] | undefined {
  const uses = useCounts(second.columns.map(({ value }) => value));
  const isMergeable = first.columns.every(({ value }, index) => {
    const count = uses.get(index) ?? 0;
    return count === 0 || (isDeterministic(value) && (count === 1 || isCheap(value)));
  });
  // Chance in a column that is passed on as it is may move, since it is still drawn once a row.
  if (!isMergeable && !isPassed(first, second, uses)) return undefined;
  const columns = second.columns.map(({ name, value }) => ({
    name,
    value: rewriteColumns(value, (index) => first.columns[index]?.value),
  }));
  return [{ step: 'project', columns }];
}

function isPassed(first: Project, second: Project, uses: ReadonlyMap<number, number>): boolean {
  const isPlain = second.columns.every(
    ({ value }) => value.node === 'column' || value.node === 'literal',
  );
  return (
    isPlain && first.columns.every(({ value }, i) => (uses.get(i) ?? 0) <= 1 || isCheap(value))
  );
}

/** The first projection without the columns that the second does not read. */
function pruneProject(first: Project, second: Project): readonly RowStep[] | undefined {
  const used = new Set(second.columns.flatMap(({ value }) => [...columnsOf(value)]));
  if (used.size === first.columns.length) return undefined;
  const places = new Map<number, number>();
  const kept: ProjectedColumn[] = [];
  for (const [index, column] of first.columns.entries()) {
    if (!used.has(index)) continue;
    places.set(index, kept.length);
    kept.push(column);
  }
  const columns = second.columns.map(({ name, value }) => ({
    name,
    value: moveColumns(value, (index) => places.get(index) ?? index),
  }));
  return [
    { step: 'project', columns: kept },
    { step: 'project', columns },
  ];
}

function useCounts(expressions: readonly Expression[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  const count = (expression: Expression): void => {
    if (expression.node === 'column') {
      counts.set(expression.index, (counts.get(expression.index) ?? 0) + 1);
    } else if (expression.node === 'lambda') {
      // A body runs once for each element: what it reads must not be computed in it.
      count(expression.body);
      count(expression.body);
    } else if (expression.node === 'call') {
      for (const argument of expression.arguments) count(argument);
    }
  };
  for (const expression of expressions) count(expression);
  return counts;
}

/** Columns, constants and fields of structs cost nothing to repeat. */
function isCheap(expression: Expression): boolean {
  switch (expression.node) {
    case 'column':
    case 'literal':
      return true;
    case 'call':
      return operationName(expression) === 'field' && expression.arguments.every(isCheap);
    default:
      return false;
  }
}

// ---------------------------------------------------------------- filters

/** How many calls may be computed twice so that a filter can stand before a projection. */
const repeatedCallsMax = 8;

function pushBelowProject(project: Project, filter: Filter): readonly RowStep[] | undefined {
  if (!isDeterministic(filter.condition)) return undefined;
  if (!project.columns.every(({ value }) => isDeterministic(value))) return undefined;
  let repeated = 0;
  for (const index of columnsOf(filter.condition)) {
    const value = project.columns[index]?.value;
    if (value === undefined) return undefined;
    repeated += callCount(value);
  }
  if (repeated > repeatedCallsMax) return undefined;
  const condition = rewriteColumns(filter.condition, (index) => project.columns[index]?.value);
  return [{ step: 'filter', condition }, project];
}

/** Lambdas count as many calls, since they run once for each element. */
function callCount(expression: Expression): number {
  switch (expression.node) {
    case 'call':
      return expression.arguments.reduce((sum, argument) => sum + callCount(argument), 1);
    case 'lambda':
      return repeatedCallsMax + 1;
    default:
      return 0;
  }
}

/**
 * A filter on columns of the row that was exploded or joined holds for all rows that come of it or for none. It
 * must not fail, since it then sees rows too of which nothing comes.
 */
function pushBelow(
  first: Explode | JoinStep,
  filter: Filter,
  width: number,
): readonly RowStep[] | undefined {
  const isOfRow = [...columnsOf(filter.condition)].every((index) => index < width);
  const { condition } = filter;
  if (!isOfRow || !isDeterministic(condition) || !cannotFail(condition)) return undefined;
  return stepExpressions(first).every(isDeterministic) ? [filter, first] : undefined;
}

/** Operations that give a value for all arguments, by the name before their types. */
const totalOperations: ReadonlySet<string> = new Set([
  'and',
  'or',
  'not',
  'is_null',
  'is_not_null',
  '=',
  '<=>',
  '<>',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  'coalesce',
  'case',
  'if',
  'field',
]);

export function cannotFail(expression: Expression): boolean {
  switch (expression.node) {
    case 'column':
    case 'literal':
      return true;
    case 'call':
      return (
        totalOperations.has(operationName(expression)) && expression.arguments.every(cannotFail)
      );
    default:
      return false;
  }
}

/** Positions of the source's columns that the steps of a branch read: all that has to be decoded. */
export function sourceColumnsOf(steps: readonly RowStep[]): ReadonlySet<number> {
  const used = new Set<number>();
  for (const step of steps) {
    for (const expression of stepExpressions(step)) {
      for (const index of columnsOf(expression)) used.add(index);
    }
    if (step.step === 'project') return used;
  }
  return used;
}

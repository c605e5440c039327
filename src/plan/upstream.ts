import { columnsOf, rewriteColumns } from '../expr/columns.ts';
import type { Expression } from '../expr/expression.ts';
import { type JoinStep, joinedColumns, type RowStep } from './pipeline-plan.ts';
import type { BoundBranch } from './relation.ts';

/** An expression of a branch, and the steps that made the row that it reads. */
export type PlacedExpression = {
  readonly expression: Expression;
  readonly steps: readonly RowStep[];
  readonly sourceWidth: number;
  /** It is the array or map whose elements were asked about. */
  readonly isExploded?: boolean;
};

/** How many values a row has after these steps. */
export function widthAfter(sourceWidth: number, steps: readonly RowStep[]): number {
  let width = sourceWidth;
  for (const step of steps) {
    if (step.step === 'project') width = step.columns.length;
    else if (step.step === 'explode') width += step.columns.length;
    else if (step.step === 'join') width += joinedColumns(step).length;
  }
  return width;
}

/** The expression at the end of a branch, over the row that all its steps made. */
export function atEnd(branch: BoundBranch, expression: Expression): PlacedExpression {
  return { expression, steps: branch.steps, sourceWidth: branch.source.columns.length };
}

/** The expression of an earlier step that gave a column its value, or what else it came from. */
type Origin = PlacedExpression | { readonly side: JoinStep } | undefined;

/** What gave a column its value; undefined: it is a source's own. */
function originOf(at: PlacedExpression, index: number): Origin {
  const steps = [...at.steps];
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    const placed = { steps: [...steps], sourceWidth: at.sourceWidth };
    if (step.step === 'project') {
      const value = step.columns[index]?.value;
      return value === undefined ? undefined : { expression: value, ...placed };
    }
    if (step.step === 'explode' && index >= widthAfter(at.sourceWidth, steps)) {
      return { expression: step.value, ...placed, isExploded: true };
    }
    if (step.step === 'join' && index >= widthAfter(at.sourceWidth, steps)) return { side: step };
  }
  return undefined;
}

/** The expression and every earlier one that its value is made of, each once; joins whose columns it reads. */
export function* upstreamOf(at: PlacedExpression): Generator<Expression | { side: JoinStep }> {
  const seen = new Set<Expression>();
  const pending = [at];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (seen.has(next.expression)) continue;
    seen.add(next.expression);
    yield next.expression;
    for (const index of columnsOf(next.expression)) {
      const origin = originOf(next, index);
      if (origin === undefined) continue;
      if ('side' in origin) yield origin;
      else pending.push(origin);
    }
  }
}

/** The expression that computes a value: plain columns are followed to where they were made. */
export function rootOf(at: PlacedExpression): Expression {
  let current = at;
  while (current.expression.node === 'column') {
    const origin = originOf(current, current.expression.index);
    if (origin === undefined || 'side' in origin) return current.expression;
    if (origin.isExploded === true) return current.expression;
    current = origin;
  }
  return current.expression;
}

/** The expression over the source's own columns; undefined: a join or an EXPLODE gives it a value. */
export function overSource(at: PlacedExpression): Expression | undefined {
  const origins = new Map<number, Expression>();
  for (const index of columnsOf(at.expression)) {
    const origin = originOf(at, index);
    if (origin === undefined) continue;
    if ('side' in origin || origin.isExploded === true) return undefined;
    const found = overSource(origin);
    if (found === undefined) return undefined;
    origins.set(index, found);
  }
  if (origins.size === 0) return at.expression;
  return rewriteColumns(at.expression, (index) => origins.get(index));
}

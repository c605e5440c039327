import { literal } from '../expr/call.ts';
import { columnsOf } from '../expr/columns.ts';
import { type JoinStep, joinedColumns, type RowStep } from './pipeline-plan.ts';
import { stepExpressions } from './step-expressions.ts';
import { widthAfter } from './upstream.ts';

/** The steps of a branch in which static sides compute, and so keep, only columns that somebody reads. */
export function pruneSides(steps: readonly RowStep[], sourceWidth: number): readonly RowStep[] {
  if (steps.every(({ step }) => step !== 'join')) return steps;
  return steps.map((step, at) =>
    step.step === 'join'
      ? pruned(step, steps.slice(at + 1), widthAfter(sourceWidth, steps.slice(0, at)))
      : step,
  );
}

function pruned(join: JoinStep, after: readonly RowStep[], width: number): JoinStep {
  const { side } = join;
  const used = new Set<number>();
  const read = (index: number): void => {
    if (index >= width && index < width + side.columns.length) used.add(index - width);
  };
  if (join.condition !== undefined) for (const index of columnsOf(join.condition)) read(index);
  for (const { right } of join.keys) for (const index of columnsOf(right)) used.add(index);
  if (joinedColumns(join).length > 0) {
    for (const step of after) {
      for (const expression of stepExpressions(step)) columnsOf(expression).forEach(read);
      if (step.step === 'project') break;
    }
  }
  const branches = side.branches.map(({ source, steps }) => {
    const last = steps.at(-1);
    if (last?.step !== 'project') return { source, steps };
    const columns = last.columns.map((column, position) =>
      used.has(position)
        ? column
        : { ...column, value: literal(null, column.value.type, column.value.place) },
    );
    return { source, steps: [...steps.slice(0, -1), { step: 'project' as const, columns }] };
  });
  return { ...join, side: { ...side, branches } };
}

import { columnsOf } from '../expr/columns.ts';
import { moveStep, stepExpressions } from './bind/step-expressions.ts';
import { moveColumns } from './flows/move-columns.ts';
import {
  type JoinStep,
  joinedColumns,
  type RowStep,
  type StaticSidePlan,
} from './pipeline-plan.ts';
import { widthAfter } from './upstream.ts';

/** The steps of a branch in which static sides have only columns that somebody reads: they are kept in memory. */
export function pruneSides(steps: readonly RowStep[], sourceWidth: number): readonly RowStep[] {
  let result = [...steps];
  for (const at of steps.keys()) {
    const step = result[at];
    if (step?.step !== 'join') continue;
    const width = widthAfter(sourceWidth, result.slice(0, at));
    result = [...result.slice(0, at), ...pruned(step, result.slice(at + 1), width)];
  }
  return result;
}

function pruned(join: JoinStep, after: readonly RowStep[], width: number): readonly RowStep[] {
  const { side } = join;
  const count = side.columns.length;
  const used = usedColumns(join, after, width);
  if (used.length === count) return [join, ...after];
  const isGiven = joinedColumns(join).length > 0;
  const places = new Map(used.map((index, place) => [index, place]));
  const placeOf = (index: number): number => places.get(index) ?? 0;
  const moved = (index: number): number => {
    if (index < width) return index;
    return index < width + count ? width + placeOf(index - width) : index - count + used.length;
  };
  const moving = moveStep(join, moved) as JoinStep;
  const step: JoinStep = {
    ...moving,
    keys: moving.keys.map((key) => ({ ...key, right: moveColumns(key.right, placeOf) })),
    side: narrowed(side, used),
  };
  if (!isGiven) return [step, ...after];
  const next = after.findIndex((one) => one.step === 'project');
  const reading = next < 0 ? after.length : next + 1;
  return [
    step,
    ...after.slice(0, reading).map((one) => moveStep(one, moved)),
    ...after.slice(reading),
  ];
}

/** Positions in the side. */
function usedColumns(join: JoinStep, after: readonly RowStep[], width: number): readonly number[] {
  const count = join.side.columns.length;
  const used = new Set<number>();
  const read = (index: number): void => {
    if (index >= width && index < width + count) used.add(index - width);
  };
  if (join.condition !== undefined) columnsOf(join.condition).forEach(read);
  for (const { right } of join.keys) for (const index of columnsOf(right)) used.add(index);
  for (const step of joinedColumns(join).length === 0 ? [] : after) {
    for (const expression of stepExpressions(step)) columnsOf(expression).forEach(read);
    if (step.step === 'project') break;
  }
  return [...used].sort((a, b) => a - b);
}

function narrowed(side: StaticSidePlan, used: readonly number[]): StaticSidePlan {
  return {
    ...side,
    columns: used.flatMap((index) => side.columns[index] ?? []),
    branches: side.branches.map(({ source, steps }) => {
      const last = steps.at(-1);
      if (last?.step !== 'project') return { source, steps };
      const columns = used.flatMap((index) => last.columns[index] ?? []);
      return { source, steps: [...steps.slice(0, -1), { step: 'project', columns }] };
    }),
  };
}

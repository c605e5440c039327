import { moveStep } from './bind/step-expressions.ts';
import { moveColumns } from './flows/move-columns.ts';
import { joinedColumns, type RowStep } from './pipeline-plan.ts';

/**
 * The steps without projections that only rename, reorder or drop columns: what follows them reads the
 * row before instead. The last step stays, since it gives the columns of the target. Two spellings of a
 * query that differ in such projections only (a subquery, a CTE, a view) become equal.
 */
export function dissolveProjections(
  steps: readonly RowStep[],
  sourceWidth: number,
): readonly RowStep[] {
  const result: RowStep[] = [];
  let width = sourceWidth;
  /** Where the columns of the row as written stand in the row as it is; undefined: at the same place. */
  let places: number[] | undefined;
  const placeOf = (index: number): number => places?.[index] ?? index;
  for (const [i, step] of steps.entries()) {
    switch (step.step) {
      case 'filter':
      case 'watermark':
        result.push(moveStep(step, placeOf));
        break;
      case 'expect':
        result.push(moveStep(step, placeOf));
        break;
      case 'explode': {
        result.push({ ...step, value: moveColumns(step.value, placeOf) });
        if (places !== undefined) {
          places = [...places, ...step.columns.map((_, added) => width + added)];
        }
        width += step.columns.length;
        break;
      }
      case 'join': {
        const [before, shift] = [places?.length ?? width, width];
        const moved = (index: number): number =>
          index < before ? placeOf(index) : index - before + shift;
        result.push(moveStep(step, moved));
        const added = joinedColumns(step);
        if (places !== undefined) places = [...places, ...added.map((_, at) => shift + at)];
        width += added.length;
        break;
      }
      case 'project': {
        const columns = step.columns.map(({ name, value }) => ({
          name,
          value: moveColumns(value, placeOf),
        }));
        const indexes = columns.flatMap(({ value }) =>
          value.node === 'column' ? value.index : [],
        );
        if (i < steps.length - 1 && indexes.length === columns.length) {
          places = indexes;
          break;
        }
        result.push({ step: 'project', columns });
        places = undefined;
        width = columns.length;
      }
    }
  }
  return result;
}

import type { Expression } from '../../expr/expression.ts';
import { moveColumns } from '../flows/move-columns.ts';
import type { RowStep } from '../pipeline-plan.ts';

/**
 * The expressions of a step, over the row before it. What the condition of a join reads of its side stands
 * behind that row; what the steps of the side compute is not among them.
 */
export function stepExpressions(step: RowStep): readonly Expression[] {
  switch (step.step) {
    case 'filter':
      return [step.condition];
    case 'explode':
      return [step.value];
    case 'watermark':
      return [step.time];
    case 'project':
      return step.columns.map(({ value }) => value);
    case 'expect':
      return [
        ...step.expectations.map(({ condition }) => condition),
        ...step.columns.map(({ value }) => value),
      ];
    case 'join': {
      const keys = step.keys.map(({ left }) => left);
      return step.condition === undefined ? keys : [...keys, step.condition];
    }
  }
}

/** The step over a row in which the columns stand elsewhere. */
export function moveStep(step: RowStep, position: (index: number) => number): RowStep {
  const moved = (expression: Expression): Expression => moveColumns(expression, position);
  switch (step.step) {
    case 'filter':
      return { ...step, condition: moved(step.condition) };
    case 'explode':
      return { ...step, value: moved(step.value) };
    case 'expect':
      return {
        ...step,
        columns: step.columns.map(({ name, value }) => ({ name, value: moved(value) })),
        expectations: step.expectations.map((one) => ({
          ...one,
          condition: moved(one.condition),
        })),
      };
    case 'watermark':
      return { ...step, time: moved(step.time) };
    case 'project':
      return {
        ...step,
        columns: step.columns.map(({ name, value }) => ({ name, value: moved(value) })),
      };
    case 'join':
      return {
        ...step,
        keys: step.keys.map((key) => ({ ...key, left: moved(key.left) })),
        condition: step.condition === undefined ? undefined : moved(step.condition),
      };
  }
}

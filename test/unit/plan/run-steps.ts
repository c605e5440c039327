import type { MapValue, Row, Value } from '../../../src/data/value.ts';
import { compile } from '../../../src/expr/compile.ts';
import type { Expression } from '../../../src/expr/expression.ts';
import type { RowStep } from '../../../src/plan/pipeline-plan.ts';

function evaluate(expression: Expression, row: Row): Value {
  return compile(expression, { timeZone: 'UTC' })(row, { parameters: [], nowMicros: 0n });
}

/** The plainest way to run the steps of a branch on one row: what every faster way is compared with. */
export function runSteps(steps: readonly RowStep[], row: Row): Row[] {
  let rows: Row[] = [row];
  for (const step of steps) {
    switch (step.step) {
      case 'filter':
        rows = rows.filter((current) => evaluate(step.condition, current) === true);
        break;
      case 'project':
        rows = rows.map((current) => step.columns.map(({ value }) => evaluate(value, current)));
        break;
      case 'explode':
        rows = rows.flatMap((current) =>
          elements(step, evaluate(step.value, current)).map((added) => [...current, ...added]),
        );
    }
  }
  return rows;
}

function elements(step: Extract<RowStep, { step: 'explode' }>, value: Value): Value[][] {
  const list = value === null ? [] : listOf(value);
  const rows = list.map((element, position) => {
    if (step.form === 'inline') return (element as Value[] | null) ?? step.columns.map(() => null);
    const parts = step.value.type.kind === 'map' ? (element as Value[]) : [element];
    return step.form === 'posexplode' ? [position, ...parts] : parts;
  });
  return rows.length === 0 && step.outer ? [step.columns.map(() => null)] : rows;
}

function listOf(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value;
  return (value as MapValue).entries.map(([key, mapped]) => [key, mapped]);
}

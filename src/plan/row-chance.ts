import type { Expression } from '../expr/expression.ts';
import { chanceIn, operationName } from './chance.ts';
import { type FaultList, planWarning } from './faults.ts';
import type { BoundRelation } from './relation.ts';

/** Warns of every step of a query whose result depends on the clock or on chance. */
export function warnOfRowChance(relation: BoundRelation, faults: FaultList): void {
  for (const { steps } of relation.branches) {
    for (const step of steps) {
      switch (step.step) {
        case 'filter':
          warnOfChance(step.condition, faults);
          break;
        case 'project':
          for (const { value } of step.columns) warnOfChance(value, faults);
          break;
        case 'explode':
          warnOfChance(step.value, faults);
      }
    }
  }
}

function warnOfChance(expression: Expression, faults: FaultList): void {
  const call = chanceIn(expression);
  if (call === undefined) return;
  faults.add(
    planWarning('NONDETERMINISTIC', `the result depends on ${operationName(call)}`, call.place, {
      detail: 'A row that is computed again, as in a refresh, may come out differently.',
      hint: 'Prefer a value that the record carries, such as its _timestamp.',
    }),
  );
}

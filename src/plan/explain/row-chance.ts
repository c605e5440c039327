import type { Expression } from '../../expr/expression.ts';
import { stepExpressions } from '../bind/step-expressions.ts';
import { type FaultList, planWarning } from '../faults.ts';
import type { JoinStep } from '../pipeline-plan.ts';
import type { BoundRelation } from '../relation.ts';
import { chanceIn, operationName } from './chance.ts';

/** Warns of every step of a query whose result depends on the clock, on chance or on static data. */
export function warnOfRowChance(relation: BoundRelation, faults: FaultList): void {
  for (const { steps } of relation.branches) {
    for (const step of steps) {
      // Expectations are warned of where they stand.
      if (step.step === 'expect') continue;
      for (const expression of stepExpressions(step)) warnOfChance(expression, faults);
      if (step.step === 'join') warnOfStatic(step, faults);
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

function warnOfStatic({ side, place }: JoinStep, faults: FaultList): void {
  faults.add(
    planWarning('STATIC_SIDE', `the result depends on when "${side.name}" changes`, place, {
      detail:
        'Each row is joined with what the static side holds when the row is read; rows that were joined before stay as they are.',
      hint: 'Refresh the table fully where rows of before must see the static side as it is now.',
    }),
  );
}

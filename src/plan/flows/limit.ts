import { FaultError, type Place } from '../../base/place.ts';
import { formatType } from '../../data/type-text.ts';
import { constantValue, isConstant } from '../../expr/compile.ts';
import type { Expression } from '../../sql/ast.ts';
import type { BindContext } from '../bind/bind-context.ts';
import { bindExpression } from '../bind/bind-expression.ts';
import { type FaultList, planFault, planWarning } from '../faults.ts';
import type { BoundRelation, RowLimit } from '../relation.ts';

/** Which rows are within a limit is known only where all of them come together: at the end. */
export function refuseLimit({ limit }: BoundRelation, faults: FaultList): void {
  if (limit === undefined) return;
  const hint = 'Write LIMIT after the outermost query of the flow, or filter with WHERE.';
  faults.add(planFault('LIMIT_NESTED', 'LIMIT stands inside the query', limit.place, { hint }));
}

export function warnOfLimit({ place }: RowLimit, faults: FaultList): void {
  const message = 'which rows are within LIMIT depends on their order';
  faults.add(
    planWarning('NONDETERMINISTIC', message, place, {
      detail: 'The first rows that arrive are taken, over the life of the checkpoint.',
      hint: 'Filter with WHERE where the result must not depend on it.',
    }),
  );
}

/** How many rows LIMIT lets through. Throws what is no whole number of them. */
export function limitRows(node: Expression, context: BindContext): number {
  const bound = bindExpression(node, {
    timeZone: context.catalog.timeZone,
    resolve: (name) => {
      throw limitFault('a column', name.place);
    },
  });
  if (!isConstant(bound)) throw limitFault('what changes from row to row', node.place);
  if (
    bound.type.kind !== 'int' &&
    bound.type.kind !== 'smallint' &&
    bound.type.kind !== 'tinyint'
  ) {
    throw limitFault(`a value of type ${formatType(bound.type)}`, node.place);
  }
  const rows = constantValue(bound, context.catalog.timeZone);
  if (typeof rows === 'number' && rows >= 0) return rows;
  throw limitFault(rows === null ? 'NULL' : `${rows}`, node.place);
}

function limitFault(what: string, place: Place): FaultError {
  const hint = 'LIMIT takes a whole number of rows, 0 or more.';
  return new FaultError(planFault('LIMIT_VALUE', `LIMIT cannot be ${what}`, place, { hint }));
}

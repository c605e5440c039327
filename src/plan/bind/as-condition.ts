import { FaultError } from '../../base/place.ts';
import { formatType } from '../../data/type-text.ts';
import { castTo } from '../../expr/coerce.ts';
import type { Expression } from '../../expr/expression.ts';

/** A condition is a boolean, or NULL; throws where an expression is neither. */
export function asCondition(expression: Expression, clause: string): Expression {
  if (expression.type.kind === 'boolean') return expression;
  if (expression.type.kind === 'void') return castTo(expression, { kind: 'boolean' });
  throw new FaultError({
    severity: 'error',
    code: 'DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN',
    message: `${clause} needs a boolean, not ${formatType(expression.type)}`,
    hint: 'Compare the value with something, or cast it.',
    place: expression.place,
  });
}

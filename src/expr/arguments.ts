import { isConstant } from './compile.ts';
import type { Expression } from './expression.ts';
import { fault } from './faults.ts';
import type { FunctionCall } from './function.ts';

/** An argument that must be constant and of the very kind of type, or NULL. */
export function requireFoldable(
  c: Omit<FunctionCall, 'lambdas'>,
  index: number,
  kind: string,
): void {
  const found = argumentAt(c, index);
  if (isConstant(found) && (found.type.kind === kind || found.type.kind === 'void')) return;
  throw fault(
    'NON_FOLDABLE_ARGUMENT',
    `argument ${index + 1} of ${c.name} must be a constant ${kind}`,
    found.place,
  );
}

/** An argument by position. It may still be missing where a lambda stands in its place. */
export function argumentAt(call: Omit<FunctionCall, 'lambdas'>, index: number): Expression {
  const found = call.arguments[index];
  if (found !== undefined) return found;
  throw fault(
    'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
    `argument ${index + 1} of ${call.name} must be a value, not a lambda`,
    call.place,
  );
}

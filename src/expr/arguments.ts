import type { Expression } from './expression.ts';
import { fault } from './faults.ts';
import type { FunctionCall } from './function.ts';

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

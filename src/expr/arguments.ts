import { assert } from '../base/assert.ts';
import type { Expression } from './expression.ts';
import type { FunctionCall, LambdaArgument } from './function.ts';

/** An argument whose presence the arity has proved. */
export function argumentAt(call: FunctionCall, index: number): Expression {
  const found = call.arguments[index];
  assert(found !== undefined, `${call.name} has no argument ${index + 1}`);
  return found;
}

export function lambdaAt(call: FunctionCall, index: number): LambdaArgument | undefined {
  return call.lambdas[index];
}

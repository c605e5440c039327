import type { Value } from '../data/value.ts';
import type { Evaluator, Frame } from './expression.ts';
import { ExpressionError } from './expression-error.ts';

/** About a second of work; lambdas in lambdas multiply, and no row may hold up all others. */
const costMax = 10_000_000;

/**
 * The body of a lambda, which pays for each of its evaluations and for the size of what it gives.
 * Invariant: what one outermost call of a function with lambdas costs is bounded, whatever its arguments are.
 */
export function metered(body: Evaluator): Evaluator {
  return (row, frame) => {
    const value = body(row, frame);
    const meter = frame.lambdas;
    if (meter !== undefined) {
      meter.cost += 1 + sizeOf(value) / 4;
      if (meter.cost > costMax) throw tooCostly();
    }
    return value;
  };
}

function sizeOf(value: Value): number {
  return typeof value === 'string' || Array.isArray(value) ? value.length : 0;
}

function tooCostly(): ExpressionError {
  return new ExpressionError(
    'LAMBDA_STEP_LIMIT',
    'the lambdas of a function were evaluated too often, or made too much',
  );
}

/** Starts counting where no lambda is being evaluated yet; to be left with `leaveLambdas`. */
export function enterLambdas(frame: Frame): void {
  frame.lambdas ??= { depth: 0, cost: 0 };
  if (frame.lambdas.depth === 0) frame.lambdas.cost = 0;
  frame.lambdas.depth += 1;
}

export function leaveLambdas(frame: Frame): void {
  if (frame.lambdas !== undefined) frame.lambdas.depth -= 1;
}

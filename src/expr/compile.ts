import { assert } from '../base/assert.ts';
import type { CompileContext, Evaluator, Expression, Frame } from './expression.ts';

/**
 * Turns a typed expression into a closure over the row. Invariant: a call whose arguments are all
 * constant is evaluated at most once, when the first row needs it; an error in it is raised on every
 * row that reaches it and on no other, so that `IF(FALSE, 1/0, 1)` stays 1.
 */
export function compile(expression: Expression, context: CompileContext): Evaluator {
  switch (expression.node) {
    case 'literal': {
      const { value } = expression;
      return () => value;
    }
    case 'column': {
      const { index } = expression;
      return (row) => row[index] ?? null;
    }
    case 'parameter': {
      const { index } = expression;
      return (_, frame) => frame.parameters[index] ?? null;
    }
    case 'lambda':
      return compile(expression.body, context);
    case 'call':
      return compileCall(expression, context);
  }
}

function compileCall(
  expression: Extract<Expression, { node: 'call' }>,
  context: CompileContext,
): Evaluator {
  if (isSurelyNull(expression)) return () => null;
  const args = expression.arguments.map((argument) => compile(argument, context));
  const evaluate = expression.operation.compile(args, {
    timeZone: context.timeZone,
    place: expression.place,
  });
  return isConstant(expression) ? once(evaluate) : evaluate;
}

/** Whether NULL is written where it makes everything around it NULL; then nothing else is evaluated. */
export function isSurelyNull(expression: Expression): boolean {
  if (expression.node === 'literal') return expression.value === null;
  if (expression.node !== 'call' || expression.operation.strict !== true) return false;
  return expression.arguments.some(isSurelyNull);
}

function once(evaluate: Evaluator): Evaluator {
  let isKnown = false;
  let value: ReturnType<Evaluator> = null;
  return (row, frame) => {
    if (!isKnown) {
      value = evaluate(row, frame);
      isKnown = true;
    }
    return value;
  };
}

/** Whether a value needs no row: no column, no parameter, nothing that differs from row to row. */
export function isConstant(expression: Expression): boolean {
  switch (expression.node) {
    case 'literal':
      return true;
    case 'call':
      return expression.operation.deterministic && expression.arguments.every(isConstant);
    default:
      return false;
  }
}

/** The value of a constant expression; errors on rows are thrown as they are. */
export function constantValue(expression: Expression, timeZone: string): ReturnType<Evaluator> {
  assert(isConstant(expression), 'only a constant expression has a value without a row');
  return compile(expression, { timeZone })([], newFrame());
}

/** A frame for one task, or for one evaluation; the caller sets the clock. */
export function newFrame(nowMicros = 0n): Frame {
  return { parameters: [], nowMicros };
}

import { assert } from '../base/assert.ts';
import type { CallNode, CompileContext, Evaluator, Expression, Frame } from './expression.ts';
import { ExpressionError } from './expression-error.ts';
import { metered } from './lambda-cost.ts';

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
      return metered(compile(expression.body, context));
    case 'call':
      return compileCall(expression, context);
  }
}

function compileCall(
  expression: Extract<Expression, { node: 'call' }>,
  context: CompileContext,
): Evaluator {
  if (isSurelyNull(expression)) return () => null;
  const picked = pickedOf(expression);
  if (picked !== undefined) return compile(picked, context);
  const decided = decidedBy(expression, context);
  if (decided !== undefined) return () => decided;
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

/** A member of what is made right there: the others are not evaluated, as in Spark, which computes constants before, though. */
function pickedOf({ operation, arguments: args }: CallNode): Expression | undefined {
  const [made, ...others] = args;
  if (made !== undefined && isConstant(made)) return undefined;
  return made?.node === 'call' ? operation.picks?.(made, others) : undefined;
}

/** A constant that decides AND or OR: the other side is not evaluated then, on whichever side it stands. */
function decidedBy(
  { operation, arguments: args }: CallNode,
  context: CompileContext,
): boolean | undefined {
  if (operation.name !== 'and' && operation.name !== 'or') return undefined;
  if (args.every(isConstant)) return undefined;
  const deciding = operation.name === 'or';
  const isDecided = args.some((arg) => {
    if (arg.node === 'literal') return arg.value === deciding;
    if (arg.node !== 'call') return false;
    if (decidedBy(arg, context) === deciding) return true;
    return isConstant(arg) && quietValue(arg, context) === deciding;
  });
  return isDecided ? deciding : undefined;
}

/** The value of a constant; undefined where it fails. */
function quietValue(
  expression: CallNode,
  context: CompileContext,
): ReturnType<Evaluator> | undefined {
  try {
    return compile(expression, context)([], newFrame());
  } catch (error) {
    if (error instanceof ExpressionError) return undefined;
    throw error;
  }
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

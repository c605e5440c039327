import { assert } from '../base/assert.ts';
import type { Expression } from './expression.ts';

/** Positions of the columns that an expression reads. */
export function columnsOf(expression: Expression): ReadonlySet<number> {
  const columns = new Set<number>();
  visit(expression, (node) => {
    if (node.node === 'column') columns.add(node.index);
  });
  return columns;
}

/** Whether the same row always gives the same value: no clock, nothing random. */
export function isDeterministic(expression: Expression): boolean {
  let deterministic = true;
  visit(expression, (node) => {
    if (node.node === 'call' && !node.operation.deterministic) deterministic = false;
  });
  return deterministic;
}

/**
 * The expression with each column replaced by what `replacement` gives for its position, as when one
 * projection is merged into the next. Lambdas need no renaming: each one restores on its way out the
 * parameters that it set.
 */
export function rewriteColumns(
  expression: Expression,
  replacement: (index: number) => Expression | undefined,
): Expression {
  switch (expression.node) {
    case 'column': {
      const found = replacement(expression.index);
      assert(found !== undefined, `column ${expression.index} has no replacement`);
      return found;
    }
    case 'lambda':
      return { ...expression, body: rewriteColumns(expression.body, replacement) };
    case 'call':
      return {
        ...expression,
        arguments: expression.arguments.map((argument) => rewriteColumns(argument, replacement)),
      };
    default:
      return expression;
  }
}

function visit(expression: Expression, see: (node: Expression) => void): void {
  see(expression);
  if (expression.node === 'call') {
    for (const argument of expression.arguments) visit(argument, see);
  } else if (expression.node === 'lambda') {
    visit(expression.body, see);
  }
}

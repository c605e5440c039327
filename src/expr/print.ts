import { canonicalValue } from '../data/canonical.ts';
import { formatType } from '../data/type-text.ts';
import type { Expression, LiteralNode } from './expression.ts';

/**
 * An expression as text with its types and coercions, for `explain` and fingerprints. Invariant: equal
 * text, equal meaning; where in a file an expression stands does not matter.
 */
export function expressionText(
  expression: Expression,
  columnText: (column: ColumnNode) => string = placeText,
): string {
  switch (expression.node) {
    case 'literal':
      return `${literalText(expression)}:${formatType(expression.type)}`;
    case 'column':
      return columnText(expression);
    case 'parameter':
      return `λ${expression.index}:${formatType(expression.type)}`;
    case 'lambda': {
      const parameters = expression.parameters.map((index) => `λ${index}`).join(', ');
      return `(${parameters}) -> ${expressionText(expression.body, columnText)}`;
    }
    case 'call': {
      const args = expression.arguments.map((one) => expressionText(one, columnText)).join(', ');
      return `${expression.operation.name}[${args}]:${formatType(expression.type)}`;
    }
  }
}

type ColumnNode = Extract<Expression, { node: 'column' }>;

function placeText({ index, type }: ColumnNode): string {
  return `#${index}:${formatType(type)}`;
}

function literalText(literal: LiteralNode): string {
  const json = canonicalValue(literal.type, literal.value);
  return Object.is(json, -0) ? '-0.0' : JSON.stringify(json);
}

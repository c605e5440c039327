import type { Expression } from '../../sql/ast.ts';

/**
 * The name that Spark gives a column without an alias; undefined where it would be a text that nobody
 * writes as a name.
 */
export function autoName(expression: Expression): string | undefined {
  switch (expression.node) {
    case 'column':
      return expression.name.parts.at(-1)?.text;
    case 'field':
      return expression.field.text;
    case 'alias':
      return expression.name.text;
    case 'cast':
      return expression.value.node === 'column' ? autoName(expression.value) : undefined;
    default:
      return undefined;
  }
}

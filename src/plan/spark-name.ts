import type { Expression } from '../sql/ast.ts';
import { autoName } from './auto-name.ts';

/** The name that Spark gives a column without an alias. */
export function sparkName(expression: Expression): string {
  return autoName(expression) ?? 'expr';
}

import type { CallExpression, Expression } from '../../sql/ast.ts';

/** The direct parts of an expression that are evaluated for the same row; queries inside it are not. */
export function expressionChildren(expression: Expression): readonly Expression[] {
  switch (expression.node) {
    case 'null':
    case 'boolean':
    case 'number':
    case 'string':
    case 'typed':
    case 'column':
    case 'star':
    case 'exists':
    case 'scalar_query':
    case 'interval_range':
      return [];
    case 'unary':
      return [expression.operand];
    case 'binary':
    case 'is_distinct':
      return [expression.left, expression.right];
    case 'between':
      return [expression.value, expression.low, expression.high];
    case 'in':
      return [expression.value, ...expression.list];
    case 'like':
      return withOptional([expression.value, ...expression.patterns], expression.escape);
    case 'case':
      return caseChildren(expression);
    case 'call':
      return callChildren(expression);
    case 'lambda':
      return [expression.body];
    case 'subscript':
      return [expression.value, expression.index];
    case 'interval':
      return expression.units.map((unit) => unit.value);
    case 'trim':
      return withOptional([expression.value], expression.characters);
    case 'tuple':
      return expression.items;
    case 'in_query':
    case 'is':
    case 'cast':
    case 'field':
    case 'path':
    case 'extract':
    case 'collate':
    case 'alias':
      return [expression.value];
  }
}

function caseChildren(expression: Extract<Expression, { node: 'case' }>): readonly Expression[] {
  const branches = expression.branches.flatMap(({ when, then }) => [when, then]);
  return withOptional(withOptional(branches, expression.operand), expression.otherwise);
}

function callChildren(call: CallExpression): readonly Expression[] {
  const named = call.named.map(({ value }) => value);
  return withOptional([...call.arguments, ...named], call.filter);
}

function withOptional(
  list: readonly Expression[],
  optional: Expression | undefined,
): readonly Expression[] {
  return optional === undefined ? list : [...list, optional];
}

import type { BinaryOperator } from './ast.ts';

/**
 * How tightly operators bind, as in Spark: a larger number binds tighter. Invariant: the grammar and
 * the printer read this table, so that what is printed is read back as the same tree.
 */
export const binding = {
  or: 1,
  and: 2,
  not: 3,
  /** BETWEEN, IN, LIKE, IS: one of them on an operand, below the comparisons. */
  predicate: 4,
  comparison: 5,
  sign: 12,
  /** Whatever takes a `.`, `[…]`, `::` or `:` behind itself. */
  postfix: 13,
} as const;

export const binaryBinding: Readonly<Record<BinaryOperator, number>> = {
  or: binding.or,
  and: binding.and,
  '=': binding.comparison,
  '<=>': binding.comparison,
  '<>': binding.comparison,
  '<': binding.comparison,
  '<=': binding.comparison,
  '>': binding.comparison,
  '>=': binding.comparison,
  '|': 6,
  '^': 7,
  '&': 8,
  '<<': 9,
  '>>': 9,
  '>>>': 9,
  '+': 10,
  '-': 10,
  '||': 10,
  '*': 11,
  '/': 11,
  '%': 11,
  div: 11,
};

const spellings: Readonly<Record<string, BinaryOperator>> = {
  ...(Object.fromEntries(
    Object.keys(binaryBinding).map((operator) => [operator, operator]),
  ) as Record<string, BinaryOperator>),
  '==': '=',
  '!=': '<>',
  '!>': '<=',
  '!<': '>=',
};

/** The operator that is spelled so, in any case. */
export function operatorSpelled(spelling: string): BinaryOperator | undefined {
  return spellings[spelling.toLowerCase()];
}

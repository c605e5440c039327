import { isAggregateNode } from '../../expr/aggregate.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import type { ColumnNode } from '../flows/move-columns.ts';
import { contains } from './batch-call.ts';

/** Columns from here on stand for earlier items of the select list. */
export const aliasBase = 2_000_000;

/** Expressions grow when aliases are used again and again; beyond this they are refused. */
const sizeMax = 200_000;

/** Aliases replaced by what they stand for. */
export function inlinedAliases(
  expression: Expression,
  values: readonly Expression[],
  isResult = false,
): Expression {
  if (values.length === 0) return expression;
  let size = 0;
  // Of the result an aggregate may read what is none itself: it is the column of the input by another name.
  const isRefused = (node: Expression): boolean => {
    if (node.node !== 'column' || node.index < aliasBase) return false;
    const value = values[node.index - aliasBase];
    return !isResult || value === undefined || contains(value, isAggregateNode);
  };
  const visit = (node: Expression): Expression => {
    size += 1;
    if (size > sizeMax) {
      throw fault('NOT_SUPPORTED', 'the aliases make too large an expression', node.place);
    }
    switch (node.node) {
      case 'column':
        return node.index < aliasBase ? node : visit(values[node.index - aliasBase] ?? node);
      case 'lambda':
        return { ...node, body: visit(node.body) };
      case 'call': {
        if (isAggregateNode(node) && node.arguments.some((one) => contains(one, isRefused))) {
          throw fault(
            'UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_AGGREGATE_FUNC',
            'an aggregate reads an alias of the same select list',
            node.place,
          );
        }
        return { ...node, arguments: node.arguments.map(visit) };
      }
      default:
        return node;
    }
  };
  return visit(expression);
}

export function isAliasColumn(node: Expression): node is ColumnNode {
  return node.node === 'column' && node.index >= aliasBase;
}

import { isAggregateNode } from '../../expr/aggregate.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import { sameExpression } from '../bind/same-expression.ts';
import { aliasBase } from './batch-alias.ts';
import { contains } from './batch-call.ts';
import { isWindowNode } from './batch-plan.ts';

/** An order knows no windows of its own, and aggregates only where rows are grouped and nothing stands between. */
export function requireSortable(
  value: Expression,
  values: readonly Expression[],
  grouped: boolean,
): void {
  const hasAggregate = contains(value, isAggregateNode);
  const isOfGroups = grouped || values.some((item) => contains(item, isAggregateNode));
  if (contains(value, isWindowNode) || (hasAggregate && !isOfGroups)) {
    throw fault(
      'UNSUPPORTED_EXPR_FOR_OPERATOR',
      'ORDER BY has a window function, or an aggregate without groups',
      value.place,
      'Select it, and order by its name.',
    );
  }
  if (!hasAggregate || !values.some((item) => contains(item, isWindowNode))) return;
  throw fault(
    'UNRESOLVED_COLUMN.WITH_SUGGESTION',
    'behind a window function ORDER BY sees the result alone',
    value.place,
    'Select the aggregate, and order by its name.',
  );
}

/** Whether an expression over the groups reads what is no column of the result. */
export function readsMore(value: Expression, values: readonly Expression[]): boolean {
  if (values.some((item) => sameExpression(item, value))) return false;
  if (value.node === 'column' || isAggregateNode(value)) return true;
  if (value.node === 'lambda') return readsMore(value.body, values);
  return value.node === 'call' && value.arguments.some((part) => readsMore(part, values));
}

/** Behind such a HAVING, ORDER BY sees the result and the columns that are grouped by, and no aggregates. */
export function requireKept(value: Expression, keys: readonly Expression[]): void {
  const isLost = (node: Expression): boolean =>
    node.node === 'column' &&
    node.index < aliasBase &&
    !keys.some((key) => sameExpression(key, node));
  if (contains(value, isLost)) {
    throw fault(
      'UNRESOLVED_COLUMN.WITH_SUGGESTION',
      'behind HAVING a column is neither of the result nor grouped by',
      value.place,
      'Select it, and order by its name.',
    );
  }
  if (contains(value, isAggregateNode)) {
    throw fault(
      'UNSUPPORTED_EXPR_FOR_OPERATOR',
      'behind HAVING an aggregate of ORDER BY is none of the result',
      value.place,
      'Select it, and order by its name.',
    );
  }
}

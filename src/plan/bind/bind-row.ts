import type { Expression as BoundExpression } from '../../expr/expression.ts';
import type { Expression } from '../../sql/ast.ts';
import { columnNode } from '../flows/move-columns.ts';
import type { BindContext } from './bind-context.ts';
import { bindExpression, type ExpressionScope } from './bind-expression.ts';
import { type RowScope, resolveColumn } from './scope.ts';
import { expandStar } from './star.ts';

/** Binds an expression over one row; undefined, with the fault in the list, where that is not possible. */
export function bindRow(
  node: Expression,
  scope: RowScope,
  context: Pick<BindContext, 'catalog' | 'faults'>,
): BoundExpression | undefined {
  const names: ExpressionScope = {
    timeZone: context.catalog.timeZone,
    resolve: (name) => resolveColumn(name, scope),
    call: (call) => {
      const column = scope.callOf?.(call);
      return column === undefined ? undefined : columnNode(column);
    },
    star: (star) =>
      expandStar(star, scope.columns).map((found) => {
        if (found.kind === 'column') {
          return { name: found.column.name ?? '', column: columnNode(found.column) };
        }
        return { name: found.name, column: bindExpression(found.value, names) };
      }),
  };
  return context.faults.attempt(() => bindExpression(node, names));
}

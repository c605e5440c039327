import type { Place } from '../../base/place.ts';
import type { Expression } from '../../expr/expression.ts';
import { comparison } from '../../expr/operators/comparison.ts';
import { coalesce } from '../../expr/operators/conditional.ts';
import { and } from '../../expr/operators/logic.ts';
import { types } from '../../expr/types.ts';
import type * as ast from '../../sql/ast.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { shifted, splitCondition, usingColumn } from '../flows/join-parts.ts';
import { columnNode } from '../flows/move-columns.ts';
import { widthOf } from './batch-columns.ts';
import type { BatchRelation } from './batch-context.ts';
import { checkJoinCondition } from './batch-correlation.ts';
import type { BatchJoin } from './batch-plan.ts';

/** Two relations side by side; what their columns are called says how they were joined. */
export function joined(
  kind: BatchJoin['kind'],
  left: BatchRelation,
  right: BatchRelation,
  on: Expression | undefined,
): BatchRelation {
  const isHalf = kind === 'left_semi' || kind === 'left_anti';
  return {
    plan: joinPlan(kind, left, right, on),
    columns: isHalf ? left.columns : [...left.columns, ...shifted(right.columns, widthOf(left))],
  };
}

function joinPlan(
  kind: BatchJoin['kind'],
  left: BatchRelation,
  right: BatchRelation,
  on: Expression | undefined,
): BatchJoin {
  const leftWidth = widthOf(left);
  checkJoinCondition(on, leftWidth);
  const { equal, condition } = splitCondition(on, leftWidth);
  const [leftPlan, rightPlan] = [left.plan, right.plan];
  const rightWidth = widthOf(right);
  return {
    node: 'join',
    kind,
    left: leftPlan,
    right: rightPlan,
    leftWidth,
    rightWidth,
    equal,
    condition,
  };
}

/** The joined columns come first and once; those of the other side can still be named with their table. */
export function joinedUsing(
  kind: BatchJoin['kind'],
  left: BatchRelation,
  right: BatchRelation,
  { names, place }: { readonly names: readonly ast.Identifier[]; readonly place: Place },
): BatchRelation {
  const leftWidth = widthOf(left);
  const rightColumns = shifted(right.columns, leftWidth);
  const pairs = names.map((name) => ({
    left: usingColumn(name, left.columns, 'left'),
    right: usingColumn(name, rightColumns, 'right'),
  }));
  const conditions = pairs.map((pair) =>
    comparison('=', columnNode(pair.left), columnNode(pair.right), place),
  );
  const on = conditions.length === 0 ? undefined : conditions.reduce((a, b) => and(a, b, place));
  const join = joined(kind, left, right, on);
  if (kind === 'left_semi' || kind === 'left_anti') {
    const keys = pairs.map((pair) => pair.left);
    return {
      ...join,
      columns: [...keys, ...left.columns.filter((column) => !keys.includes(column))],
    };
  }
  const isJoined = (column: BoundColumn): boolean =>
    pairs.some((pair) => pair.left.index === column.index || pair.right.index === column.index);
  const rest = [...left.columns, ...rightColumns].filter((column) => !isJoined(column));
  if (kind !== 'full') {
    const keys = pairs.map((pair) => (kind === 'right' ? pair.right : pair.left));
    const others = pairs.map((pair) => (kind === 'right' ? pair.left : pair.right));
    return {
      ...join,
      columns: [...keys, ...rest, ...others.map((column) => ({ ...column, hidden: true }))],
    };
  }
  // Of a full join neither side has all keys.
  const width = leftWidth + widthOf(right);
  const merged = pairs.map((pair) =>
    coalesce([columnNode(pair.left), columnNode(pair.right)], place),
  );
  const all = Array.from({ length: width }, (_, index) => {
    const column = [...left.columns, ...rightColumns].find((c) => c.index === index);
    return columnNode(column ?? { name: undefined, type: types.void, index, place });
  });
  const keys = pairs.map(
    (pair, i): BoundColumn => ({
      ...pair.left,
      index: width + i,
      type: merged[i]?.type ?? pair.left.type,
      qualifier: [],
    }),
  );
  const hidden = pairs.flatMap((pair) => [pair.left, pair.right]);
  return {
    plan: { node: 'project', input: join.plan, values: [...all, ...merged] },
    columns: [...keys, ...rest, ...hidden.map((column) => ({ ...column, hidden: true }))],
  };
}

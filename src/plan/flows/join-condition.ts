import type { Expression } from '../../expr/expression.ts';
import { comparison } from '../../expr/operators/comparison.ts';
import { and } from '../../expr/operators/logic.ts';
import type { Relation } from '../../sql/ast.ts';
import type { BindContext } from '../bind/bind-context.ts';
import { bindRow } from '../bind/bind-row.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { asJoinCondition, sharedNames, usingColumn } from './join-parts.ts';
import { columnNode } from './move-columns.ts';
import { checkRowExpression } from './row-rules.ts';

export type JoinSides = {
  readonly relation: Extract<Relation, { node: 'join' }>;
  readonly left: readonly BoundColumn[];
  /** They stand behind the row of the left side. */
  readonly right: readonly BoundColumn[];
  /** Rows of the left side are chosen: those of the right side give no columns. */
  readonly isHalf: boolean;
  readonly context: BindContext;
};

export type JoinCondition = {
  readonly on: Expression | undefined;
  /** Of the result. */
  readonly columns: readonly BoundColumn[];
};

/** What ON, USING or NATURAL compares, and the columns that the join gives; undefined where it has a fault. */
export function joinCondition(sides: JoinSides): JoinCondition | undefined {
  const { relation, left, right, isHalf, context } = sides;
  const all = [...left, ...right];
  if (relation.natural || relation.using.length > 0) {
    return context.faults.attempt(() => usingCondition(sides));
  }
  const columns = isHalf ? left : all;
  if (relation.on === undefined) return { on: undefined, columns };
  const clause = { clause: 'ON', allowsGenerator: false, hasWatermark: false };
  if (!checkRowExpression(relation.on, clause, context.faults)) return undefined;
  const bound = bindRow(relation.on, { columns: all, aliases: [] }, context);
  if (bound === undefined) return undefined;
  const on = context.faults.attempt(() => asJoinCondition(bound));
  return on === undefined ? undefined : { on, columns };
}

/** The columns that are compared come first and once; those of the right side can still be named with its name. */
function usingCondition({ relation, left, right, isHalf }: JoinSides): JoinCondition {
  const names = relation.natural ? sharedNames(left, right) : relation.using;
  const pairs = names.map((name) => ({
    left: usingColumn(name, left, 'left'),
    right: usingColumn(name, right, 'right'),
  }));
  const parts = pairs.map((pair) =>
    comparison('=', columnNode(pair.left), columnNode(pair.right), relation.place),
  );
  const on = parts.length === 0 ? undefined : parts.reduce((a, b) => and(a, b, relation.place));
  const keys = pairs.map((pair) => pair.left);
  const others = pairs.map((pair) => pair.right);
  const rest = left.filter((column) => !keys.includes(column));
  if (isHalf) return { on, columns: [...keys, ...rest] };
  const restOfRight = right.filter((column) => !others.includes(column));
  const hidden = others.map((column) => ({ ...column, hidden: true }));
  return { on, columns: [...keys, ...rest, ...restOfRight, ...hidden] };
}

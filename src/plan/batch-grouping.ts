import { isOrderable } from '../data/compare.ts';
import { formatType } from '../data/type-text.ts';
import { isAggregateNode } from '../expr/aggregate.ts';
import type { Expression } from '../expr/expression.ts';
import { fault, mismatch } from '../expr/faults.ts';
import type * as ast from '../sql/ast.ts';
import { type GroupingShape, GroupingShapeBuilder } from './batch-aggregate.ts';
import { contains } from './batch-call.ts';
import { isWindowNode } from './batch-plan.ts';
import { ordinalOf } from './batch-rules.ts';
import { functionName } from './bind-call.ts';

type Options = {
  /** The select list, over the input. */
  readonly items: readonly Expression[];
  readonly bind: (node: ast.Expression) => Expression;
};

/** The keys of GROUP BY: expressions, positions, aliases, ALL, and the sets of ROLLUP, CUBE and GROUPING SETS. */
export function groupingShape(groupBy: ast.GroupBy | undefined, options: Options): GroupingShape {
  const builder = new GroupingShapeBuilder();
  if (groupBy?.all === true) {
    for (const item of options.items) {
      if (!contains(item, isAggregateNode) && !contains(item, isWindowNode)) {
        builder.addKey(checked(item));
      }
    }
    return builder.build();
  }
  for (const item of groupBy?.items ?? []) {
    const sets = setsOf(item, options);
    if (sets === undefined) builder.addKey(keyOf(item, options));
    else builder.addSets(sets);
  }
  return builder.build();
}

function keyOf(node: ast.Expression, options: Options): Expression {
  const ordinal = groupOrdinal(node, options.items.length);
  const value = ordinal === undefined ? options.bind(node) : options.items[ordinal];
  if (value === undefined) throw new RangeError('no such column');
  if (contains(value, isAggregateNode)) {
    throw fault(
      ordinal === undefined ? 'GROUP_BY_AGGREGATE' : 'GROUP_BY_POS_AGGREGATE',
      'an aggregate can not be grouped by',
      node.place,
    );
  }
  return checked(value);
}

function checked(value: Expression): Expression {
  if (isOrderable(value.type) || value.type.kind === 'map' || value.type.kind === 'interval') {
    return value;
  }
  throw fault(
    'GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE',
    `values of type ${formatType(value.type)} can't be grouped by`,
    value.place,
  );
}

function groupOrdinal(node: ast.Expression, count: number): number | undefined {
  return ordinalOf(node, count, 'GROUP_BY');
}

/** The sets of keys of a grouping call; undefined for a plain key. */
function setsOf(
  node: ast.Expression,
  options: Options,
): readonly (readonly Expression[])[] | undefined {
  if (node.node !== 'call') return undefined;
  const units = (): readonly (readonly Expression[])[] =>
    node.arguments.map((argument) => unitOf(argument, options));
  switch (functionName(node)) {
    case 'grouping sets':
      return node.arguments.flatMap(
        (argument) => setsOf(argument, options) ?? [unitOf(argument, options)],
      );
    case 'rollup': {
      const parts = units();
      return Array.from({ length: parts.length + 1 }, (_, i) =>
        parts.slice(0, parts.length - i).flat(),
      );
    }
    case 'cube': {
      const parts = units();
      if (parts.length > 12) {
        throw mismatch('GROUPING_SIZE_LIMIT_EXCEEDED', 'too many groupings', node.place);
      }
      return Array.from({ length: 2 ** parts.length }, (_, i) =>
        parts.filter((_part, at) => ((i >> (parts.length - 1 - at)) & 1) === 0).flat(),
      );
    }
    default:
      return undefined;
  }
}

function unitOf(node: ast.Expression, options: Options): readonly Expression[] {
  return node.node === 'tuple'
    ? node.items.map((item) => keyOf(item, options))
    : [keyOf(node, options)];
}

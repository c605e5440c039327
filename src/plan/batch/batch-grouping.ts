import { FaultError, type Place } from '../../base/place.ts';
import { isOrderable } from '../../data/compare.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import { isAggregateNode } from '../../expr/aggregate.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault, mismatch } from '../../expr/faults.ts';
import type * as ast from '../../sql/ast.ts';
import { functionName } from '../bind/bind-call.ts';
import { type GroupingShape, GroupingShapeBuilder } from './batch-aggregate.ts';
import { contains } from './batch-call.ts';
import { isWindowNode } from './batch-plan.ts';
import { ordinalOf } from './batch-rules.ts';

type Options = {
  /** The select list, over the input. */
  readonly items: readonly Expression[];
  readonly bind: (node: ast.Expression) => Expression;
  /** Whether a star stands in the select list. */
  readonly hasStar: boolean;
  /** Those of the items that read aliases of items before them. */
  readonly laterals: readonly Expression[];
};

/** The keys of GROUP BY: expressions, positions, aliases, ALL, and the sets of ROLLUP, CUBE and GROUPING SETS. */
export function groupingShape(groupBy: ast.GroupBy | undefined, options: Options): GroupingShape {
  const builder = new GroupingShapeBuilder();
  if (groupBy?.all === true) {
    const column = columnOfAll(groupBy, options);
    const keys = column === undefined ? allKeys(groupBy, options) : [column];
    for (const key of keys) builder.addKey(checked(key));
    return builder.build();
  }
  if (groupBy?.keys !== undefined) {
    builder.declare(groupBy.keys.map((key) => keyOf(key, options)));
  }
  for (const item of groupBy?.items ?? []) {
    const sets = setsOf(item, options);
    if (sets === undefined) builder.addKey(keyOf(item, options));
    else builder.addSets(sets);
  }
  return builder.build();
}

/** Whatever in the select list holds no aggregate. */
function allKeys(groupBy: ast.GroupBy, options: Options): readonly Expression[] {
  const keys = options.items.filter(
    (item) => !contains(item, isAggregateNode) && !contains(item, isWindowNode),
  );
  if (keys.length === 0 && options.items.some(readsOutsideAggregates)) {
    throw fault(
      'UNRESOLVED_ALL_IN_GROUP_BY',
      'no item of the select list is without aggregates, so there is nothing to group by',
      groupBy.place,
      'Name what is grouped by.',
    );
  }
  const [lateral] = options.laterals;
  if (lateral !== undefined) throw lateralKey(lateral.place);
  return keys;
}

function readsOutsideAggregates(node: Expression): boolean {
  if (isAggregateNode(node)) return false;
  if (node.node === 'column' || node.node === 'parameter') return node.node === 'column';
  if (node.node === 'lambda') return readsOutsideAggregates(node.body);
  return node.node === 'call' && node.arguments.some(readsOutsideAggregates);
}

/** A column that is called ALL is grouped by like any other. */
function columnOfAll(groupBy: ast.GroupBy, options: Options): Expression | undefined {
  const { place } = groupBy;
  const name = { parts: [{ text: 'all', quoted: false, place }], place };
  try {
    return options.bind({ node: 'column', name, place });
  } catch (error) {
    if (error instanceof FaultError) return undefined;
    throw error;
  }
}

export function lateralKey(place: Place): Error {
  return fault(
    'UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_GROUP_BY',
    'what is grouped by reads another alias of the same select list',
    place,
    'Name the alias in a query around the other one.',
  );
}

function keyOf(node: ast.Expression, options: Options): Expression {
  const ordinal = groupOrdinal(node, options.items.length);
  if (ordinal !== undefined && options.hasStar) {
    throw fault(
      'STAR_GROUP_BY_POS',
      'a position in GROUP BY has no meaning beside a star',
      node.place,
      'Name the column.',
    );
  }
  const value = ordinal === undefined ? options.bind(node) : options.items[ordinal];
  if (value === undefined) throw new RangeError('no such column');
  if (contains(value, isAggregateNode)) {
    throw fault(
      ordinal === undefined ? 'GROUP_BY_AGGREGATE' : 'GROUP_BY_POS_AGGREGATE',
      'an aggregate can not be grouped by',
      node.place,
    );
  }
  if (contains(value, isWindowNode)) {
    throw fault('UNSUPPORTED_EXPR_FOR_OPERATOR', 'a window can not be grouped by', node.place);
  }
  return checked(value);
}

function checked(value: Expression): Expression {
  if (isGroupable(value.type)) return value;
  throw fault(
    'GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE',
    `values of type ${formatType(value.type)} can't be grouped by`,
    value.place,
  );
}

/** Maps are equal when their entries are, wherever they stand; only variants can't be told apart. */
function isGroupable(type: DataType): boolean {
  switch (type.kind) {
    case 'array':
      return isGroupable(type.element);
    case 'map':
      return isGroupable(type.value);
    case 'struct':
      return type.fields.every((field) => isGroupable(field.type));
    default:
      return type.kind === 'interval' || isOrderable(type);
  }
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

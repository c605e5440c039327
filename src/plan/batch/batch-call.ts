import type { Place } from '../../base/place.ts';
import { isOrderable } from '../../data/compare.ts';
import { formatType } from '../../data/type-text.ts';
import {
  type AggregateDefinition,
  type AggregateNode,
  aggregateNode,
  isAggregateNode,
  type SortKey,
} from '../../expr/aggregate.ts';
import { findAggregate } from '../../expr/aggregate-registry.ts';
import { literal } from '../../expr/call.ts';
import { castTo } from '../../expr/coerce.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault, mismatch } from '../../expr/faults.ts';
import { findGenerator, strayGenerator } from '../../expr/generator.ts';
import { types } from '../../expr/types.ts';
import type * as ast from '../../sql/ast.ts';
import { functionName } from '../bind/bind-call.ts';
import type { Bind } from '../bind/bind-expression.ts';
import type { BatchContext } from './batch-context.ts';
import { isWindowNode } from './batch-plan.ts';

/** What an expression may contain beside what is computed from one row. */
export type CallRules = {
  /** undefined: aggregates are allowed; else the error class of one that stands here. */
  readonly aggregateFault: string | undefined;
  readonly windowFault: string | undefined;
  readonly generatorKind: 'NESTED_IN_EXPRESSIONS' | 'OUTSIDE_SELECT';
  /** The error class of a generator, where it is not the usual one. */
  readonly generatorFault?: string;
  readonly timeZone: string;
  /** The columns of a star in the arguments. */
  readonly star: (
    node: Extract<ast.Expression, { node: 'star' }>,
  ) => readonly { readonly name: string; readonly column: Expression }[];
  readonly window: (node: ast.CallExpression, bind: Bind) => Expression;
  /** Other calls that have a meaning of their own here. */
  readonly other?: (node: ast.CallExpression, bind: Bind) => Expression | undefined;
};

const windowNames: ReadonlySet<string> = new Set([
  'row_number',
  'rank',
  'dense_rank',
  'percent_rank',
  'cume_dist',
  'ntile',
  'lag',
  'lead',
  'nth_value',
]);

/** Binds aggregates and window functions, and refuses generators; undefined for all other calls. */
export function bindSpecialCall(
  node: ast.CallExpression,
  bind: Bind,
  rules: CallRules,
): Expression | undefined {
  const name = functionName(node);
  if (node.window !== undefined) {
    if (rules.windowFault !== undefined) {
      throw fault(rules.windowFault, `the window function ${name} can't stand here`, node.place);
    }
    return rules.window(node, bind);
  }
  const generator = findGenerator(name);
  if (generator !== undefined) {
    if (generator.definition.isTableFunction === true) throw notScalar(name, node.place);
    if (rules.generatorFault === undefined) {
      throw strayGenerator(rules.generatorKind, name, node.place);
    }
    throw fault(rules.generatorFault, `the generator ${name} can't stand here`, node.place);
  }
  if (windowNames.has(name)) {
    throw fault('WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE', `${name} needs OVER`, node.place);
  }
  const definition = findAggregate(name);
  if (definition === undefined) return rules.other?.(node, bind);
  if (rules.aggregateFault !== undefined) {
    throw fault(rules.aggregateFault, `the aggregate ${name} can't stand here`, node.place);
  }
  const bound = bindAggregate(definition, node, bind, rules);
  const inner = bound.arguments.find((argument) => contains(argument, isAggregateNode));
  if (inner !== undefined) {
    throw fault(
      'NESTED_AGGREGATE_FUNCTION',
      `${name} contains another aggregate`,
      inner.place,
      'Aggregate in a subquery first.',
    );
  }
  return bound;
}

export function bindAggregate(
  definition: AggregateDefinition,
  node: ast.CallExpression,
  bind: Bind,
  rules: Pick<CallRules, 'timeZone' | 'star'>,
): AggregateNode {
  const name = definition.names[0] ?? functionName(node);
  if (node.ignoreNulls && definition.ignoresNulls !== true) {
    throw unsupported(`${name} with IGNORE NULLS`, node.place);
  }
  if (node.withinGroup !== undefined && definition.withinGroup === undefined) {
    throw unsupported(`${name} with WITHIN GROUP`, node.place);
  }
  if (node.withinGroup === undefined && definition.withinGroup === 'required') {
    throw fault(
      'INVALID_WITHIN_GROUP_EXPRESSION.WITHIN_GROUP_MISSING',
      `${name} needs WITHIN GROUP (ORDER BY …)`,
      node.place,
    );
  }
  if (node.distinct && node.withinGroup !== undefined && !definition.names.includes('listagg')) {
    throw fault(
      'INVALID_WITHIN_GROUP_EXPRESSION.DISTINCT_UNSUPPORTED',
      `${name} has no DISTINCT beside WITHIN GROUP`,
      node.place,
    );
  }
  const args = node.arguments.flatMap((argument): readonly Expression[] => {
    if (argument.node !== 'star') return [bind(argument)];
    const isCountOfAll = name === 'count' && argument.qualifier === undefined;
    if (isCountOfAll && argument.except.length === 0 && node.arguments.length === 1) {
      return [literal(1, types.int, argument.place)];
    }
    if (name === 'count' && argument.qualifier !== undefined && node.arguments.length === 1) {
      throw fault(
        'INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT',
        'count takes no star of one relation',
        argument.place,
        'Write count(*), or name the columns.',
      );
    }
    return rules.star(argument).map((found) => found.column);
  });
  const [least, most] = definition.arity;
  if (args.length < least || args.length > most) {
    const wanted = least === most ? `${least}` : `${least} to ${most}`;
    throw fault(
      'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
      `${name} takes ${wanted} arguments, not ${args.length}`,
      node.place,
    );
  }
  const aggregate = definition.bind({
    name,
    arguments: args,
    names: args.map(() => undefined),
    timeZone: rules.timeZone,
    place: node.place,
    distinct: node.distinct,
    ignoreNulls: node.ignoreNulls,
    orderBy: sortKeys(node.withinGroup ?? [], bind),
  });
  if (node.distinct) {
    for (const argument of aggregate.arguments) {
      if (isOrderable(argument.type) || argument.type.kind === 'interval') continue;
      throw mismatch(
        'INVALID_ORDERING_TYPE',
        `DISTINCT needs values that can be compared, not ${formatType(argument.type)}`,
        argument.place,
      );
    }
  }
  const filter = node.filter === undefined ? undefined : filterOf(node.filter, bind);
  return aggregateNode(aggregate, { distinct: node.distinct, filter }, node.place);
}

function filterOf(node: ast.Expression, bind: Bind): Expression {
  const condition = bind(node);
  if (condition.type.kind === 'void') return castTo(condition, types.boolean);
  if (condition.type.kind !== 'boolean') {
    throw fault('INVALID_AGGREGATE_FILTER.NOT_BOOLEAN', 'FILTER needs a boolean', node.place);
  }
  for (const [kind, test] of [
    ['CONTAINS_AGGREGATE', isAggregateNode],
    ['CONTAINS_WINDOW_FUNCTION', isWindowNode],
  ] as const) {
    if (contains(condition, test)) {
      throw fault(`INVALID_AGGREGATE_FILTER.${kind}`, 'FILTER looks at single rows', node.place);
    }
  }
  return condition;
}

export function notScalar(name: string, place: Place): Error {
  return fault('NOT_A_SCALAR_FUNCTION', `${name} is a table function`, place, 'Read it in FROM.');
}

function unsupported(what: string, place: Place): Error {
  return fault('INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX', `there is no ${what}`, place);
}

export function sortKeys(items: readonly ast.OrderItem[], bind: Bind): readonly SortKey[] {
  return items.map((item) => sortKey(item, bind(item.value)));
}

/** NULL comes first in ascending order and last in descending order unless it is said. */
export function sortKey(item: ast.OrderItem, value: Expression): SortKey {
  if (!isOrderable(value.type)) {
    throw mismatch(
      'INVALID_ORDERING_TYPE',
      `values of type ${formatType(value.type)} have no order`,
      value.place,
    );
  }
  const { descending } = item;
  return {
    value,
    descending,
    nullsFirst: (item.nulls ?? (descending ? 'last' : 'first')) === 'first',
  };
}

export function contains(expression: Expression, test: (node: Expression) => boolean): boolean {
  if (test(expression)) return true;
  switch (expression.node) {
    case 'call':
      return expression.arguments.some((argument) => contains(argument, test));
    case 'lambda':
      return contains(expression.body, test);
    default:
      return false;
  }
}

/** Rules of an expression in which nothing but values of one row can stand. */
export function plainRules(
  context: BatchContext,
  generatorKind: 'NESTED_IN_EXPRESSIONS' | 'OUTSIDE_SELECT',
  faults: { readonly aggregate: string; readonly window: string } = {
    aggregate: 'UNSUPPORTED_EXPR_FOR_OPERATOR',
    window: 'UNSUPPORTED_EXPR_FOR_WINDOW',
  },
): Parameters<typeof bindSpecialCall>[2] {
  return {
    aggregateFault: faults.aggregate,
    windowFault: faults.window,
    generatorKind,
    timeZone: context.timeZone,
    star: (node) => {
      throw fault('INVALID_USAGE_OF_STAR_OR_REGEX', 'a star can not stand here', node.place);
    },
    window: (node) => {
      throw fault(faults.window, 'a window function can not stand here', node.place);
    },
  };
}

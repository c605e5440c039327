import type { Place } from '../../base/place.ts';
import { isAggregateNode } from '../../expr/aggregate.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import { sameExpression } from '../bind/same-expression.ts';
import { contains } from './batch-call.ts';
import { firstSlot } from './batch-context.ts';
import { isWindowNode } from './batch-plan.ts';

/** The parts of one SELECT, bound, before its aggregates and windows are taken out of them. */
export type SelectParts = {
  readonly items: readonly Expression[];
  readonly order: readonly Expression[];
  readonly having: Expression | undefined;
  readonly keys: readonly Expression[];
  readonly isGrouped: boolean;
};

/**
 * Refuses subqueries where Spark has no plan for them: a value of the query around may stand in what is selected and
 * filtered, not in aggregates, windows, groups and orders; and a query may ask a correlated subquery for a value
 * only where each of its rows is at hand. Answers that Spark never gave would be nobody's answers.
 */
export function checkCorrelation(parts: SelectParts): void {
  const { items, order, having, keys, isGrouped } = parts;
  for (const value of [...items, ...order, ...(having === undefined ? [] : [having])]) {
    refuseWithin(value);
  }
  const closed = [...(isGrouped ? [...items, ...keys] : []), ...order];
  for (const value of closed) if (contains(value, isOuterValue)) throw reference(value.place);
  if (isGrouped) {
    for (const key of keys) {
      const isKept = items.some((item) => contains(item, (node) => sameExpression(node, key)));
      if (contains(key, isCorrelatedScalar) && !isKept) throw mustAggregate(key.place);
    }
    for (const item of items) refuseUngrouped(item, keys);
  }
}

/** A value that comes from a row of the query around. */
export function isOuterValue(node: Expression): boolean {
  return node.node === 'parameter' && node.index >= firstSlot;
}

/** What a generator over rows takes. */
export function checkGenerator(args: readonly Expression[], readsRows: boolean): void {
  for (const value of args) {
    if (readsRows && contains(value, isOuterValue)) throw reference(value.place);
    if (contains(value, isCorrelatedScalar)) throw scalarRefusal(value.place);
  }
}

/** A subquery in ORDER BY is computed once, or it is a column of the result. */
export function checkOrderItem(value: Expression): void {
  if (contains(value, isCorrelatedScalar)) throw scalarRefusal(value.place);
  if (!contains(value, isPredicate)) return;
  throw unsupported(
    'UNSUPPORTED_IN_EXISTS_SUBQUERY',
    'IN and EXISTS with a query can not stand in ORDER BY',
    value.place,
    'Select it, and order by its name.',
  );
}

/** The condition of a join whose left side has so many columns. */
export function checkJoinCondition(on: Expression | undefined, leftWidth: number): void {
  if (on === undefined) return;
  if (contains(on, isCorrelatedScalar)) throw scalarRefusal(on.place);
  const readsBoth = (node: Expression): boolean => {
    if (node.node !== 'call' || !isPredicate(node) || !isCorrelated(node)) return false;
    const reads = (side: (index: number) => boolean): boolean =>
      contains(node, (part) => part.node === 'column' && side(part.index));
    return reads((index) => index < leftWidth) && reads((index) => index >= leftWidth);
  };
  if (!contains(on, readsBoth)) return;
  throw unsupported(
    'UNSUPPORTED_CORRELATED_EXPRESSION_IN_JOIN_CONDITION',
    'a subquery in the condition of a join reads both of its sides',
    on.place,
    'Put the condition into WHERE.',
  );
}

/** Inside of aggregates and windows nothing from outside may stand. */
function refuseWithin(value: Expression): void {
  contains(value, (node) => {
    if (isWindowNode(node) && contains(node, isOuterValue)) throw reference(node.place);
    if (isAggregateNode(node) && contains(node, isOuterValue)) {
      if (!contains(node, (part) => part.node === 'column')) throw reference(node.place);
      throw unsupported(
        'AGGREGATE_FUNCTION_MIXED_OUTER_LOCAL_REFERENCES',
        'an aggregate of a subquery reads columns of the query around beside its own',
        node.place,
        'Compute what it reads in a subquery in FROM.',
      );
    }
    return false;
  });
}

function refuseUngrouped(node: Expression, keys: readonly Expression[]): void {
  if (isAggregateNode(node) || keys.some((key) => sameExpression(key, node))) return;
  if (isCorrelatedScalar(node)) {
    throw fault(
      'SCALAR_SUBQUERY_IS_IN_GROUP_BY_OR_AGGREGATE_FUNCTION',
      'a correlated subquery of a query over groups is neither grouped by nor inside of an aggregate',
      node.place,
      'Group by it too, or put it into first(…).',
    );
  }
  if (node.node === 'call') for (const part of node.arguments) refuseUngrouped(part, keys);
}

function isCorrelatedScalar(node: Expression): boolean {
  return (
    node.node === 'call' && node.operation.name.startsWith('scalar_subquery(') && isCorrelated(node)
  );
}

/** Values from the rows around are the first arguments of a subquery's call. */
function isCorrelated(node: Extract<Expression, { node: 'call' }>): boolean {
  return (node.operation.captures ?? 0) > 0;
}

function isPredicate(node: Expression): boolean {
  return node.node === 'call' && /^(?:exists|\w*in_subquery)\(/.test(node.operation.name);
}

function reference(place: Place): Error {
  return unsupported(
    'CORRELATED_REFERENCE',
    'columns of the query around can only stand in what a subquery selects and filters',
    place,
    'Compare with them in WHERE.',
  );
}

function mustAggregate(place: Place): Error {
  return unsupported(
    'MUST_AGGREGATE_CORRELATED_SCALAR_SUBQUERY',
    'a correlated subquery that is grouped by is not selected',
    place,
    'Select it too.',
  );
}

function scalarRefusal(place: Place): Error {
  return unsupported(
    'UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY',
    'a correlated subquery can not stand here',
    place,
    'Select it in a subquery in FROM, and use its name.',
  );
}

function unsupported(kind: string, message: string, place: Place, hint: string): Error {
  return fault(`UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.${kind}`, message, place, hint);
}

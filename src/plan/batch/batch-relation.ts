import { FaultError, type Place } from '../../base/place.ts';
import type { Column } from '../../data/types.ts';
import { findAggregate } from '../../expr/aggregate-registry.ts';
import { commonType, commonTypeOf } from '../../expr/coerce.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import { findFunction } from '../../expr/function-registry.ts';
import { findGenerator } from '../../expr/generator.ts';
import type * as ast from '../../sql/ast.ts';
import { functionName } from '../bind/bind-call.ts';
import { bindExpression, type ExpressionScope } from '../bind/bind-expression.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { nameKey } from '../bind/names.ts';
import { AlreadyReported } from '../faults.ts';
import { asJoinCondition, sharedNames, shifted } from '../flows/join-parts.ts';
import { columnNode } from '../flows/move-columns.ts';
import { bindSpecialCall, plainRules } from './batch-call.ts';
import { aliased, asColumns, qualified, widthOf } from './batch-columns.ts';
import {
  type BatchContext,
  type BatchRelation,
  batchScope,
  bindInner,
  starColumns,
} from './batch-context.ts';
import { bindRange, generated } from './batch-generator.ts';
import { joined, joinedUsing } from './batch-join.ts';
import { bindPivot, bindUnpivot } from './batch-pivot.ts';
import type { Subplan } from './batch-plan.ts';
import { bindValues } from './batch-values.ts';

/** Binds what stands in FROM; several relations are joined without a condition. */
export function bindFrom(from: readonly ast.Relation[], context: BatchContext): BatchRelation {
  const [first, ...others] = from;
  if (first === undefined) return { plan: { node: 'values', rows: [[]] }, columns: [] };
  let relation = bindRelation(first, context);
  for (const other of others) {
    relation = joined('inner', relation, bindRelation(other, context), undefined);
  }
  return relation;
}

export function bindRelation(relation: ast.Relation, context: BatchContext): BatchRelation {
  switch (relation.node) {
    case 'named':
      return bindNamed(relation, context);
    case 'subquery':
      refuseStream(relation, context);
      return aliased(context.bindQuery(relation.query, innerContext(context)), relation.alias);
    case 'inline':
      return bindValues(relation.values, context);
    case 'function':
      return bindTableFunction(relation, context);
    case 'join':
      return bindJoin(relation, context);
    case 'foreign':
      return bindForeign(relation, context);
    case 'unread':
      throw new AlreadyReported(relation.place);
  }
}

/** A relation that is not LATERAL sees nothing of the query around it but what is outside of that. */
function innerContext(context: BatchContext): BatchContext {
  return context;
}

function refuseStream(
  relation: {
    readonly stream: boolean;
    readonly watermark: ast.Watermark | undefined;
    readonly place: Place;
  },
  _context: BatchContext,
): void {
  if (!relation.stream && relation.watermark === undefined) return;
  throw new FaultError({
    ...{ severity: 'error', code: 'NOT_SUPPORTED', place: relation.place },
    message: 'a query over tables reads no stream',
    hint: relation.stream
      ? 'Such a query sees all rows at once: write FROM with the name alone, without STREAM.'
      : 'Leave WATERMARK out: such a query sees all rows at once.',
  });
}

function bindNamed(
  relation: Extract<ast.Relation, { node: 'named' }>,
  context: BatchContext,
): BatchRelation {
  refuseStream(relation, context);
  return aliased(bindName(relation.name, context), relation.alias);
}

/** A common table expression or a table, by its name. */
export function bindName(name: ast.Name, context: BatchContext): BatchRelation {
  const qualifier = name.parts.map((part) => nameKey(part.text));
  const common = context.ctes.get(qualifier.join('.'));
  if (common !== undefined && name.parts.length === 1) {
    return qualified(common.bind(), qualifier);
  }
  const view = context.findView?.(name);
  if (view !== undefined) return qualified(view.bind(), qualifier.slice(-1));
  const table = context.findTable(name);
  if (table === undefined) {
    throw fault(
      'TABLE_OR_VIEW_NOT_FOUND',
      `there is no table ${name.parts.map((part) => part.text).join('.')}`,
      name.place,
    );
  }
  return {
    plan: { node: 'table', name: table.name },
    columns: asColumns(table.columns, qualifier, name.place, table.broken),
  };
}

// ---------------------------------------------------------------- table functions

type FunctionRelation = Extract<ast.Relation, { node: 'function' }>;

function bindTableFunction(relation: FunctionRelation, context: BatchContext): BatchRelation {
  refuseStream(relation, context);
  const name = functionName(relation.call);
  if (name === 'range') return aliased(bindRange(relation.call, context), relation.alias);
  const found = findGenerator(name);
  if (found === undefined) {
    const isScalar = findFunction(name) !== undefined || findAggregate(name) !== undefined;
    throw fault(
      isScalar ? 'NOT_A_TABLE_FUNCTION' : 'UNRESOLVABLE_TABLE_VALUED_FUNCTION',
      isScalar ? `${name} gives no rows` : `there is no table function ${name}`,
      relation.call.name.place,
    );
  }
  const single: BatchRelation = { plan: { node: 'values', rows: [[]] }, columns: [] };
  return generated({
    call: relation.call,
    relation: single,
    outer: false,
    names: relation.alias?.columns ?? [],
    qualifier: relation.alias === undefined ? [] : [nameKey(relation.alias.name.text)],
    aliasFault: 'NUM_TABLE_VALUE_ALIASES_MISMATCH',
    scope: batchScope({ columns: [] }, context),
    context,
  });
}

// ---------------------------------------------------------------- joins

type JoinRelation = Extract<ast.Relation, { node: 'join' }>;

function bindJoin(relation: JoinRelation, context: BatchContext): BatchRelation {
  const left = bindRelation(relation.left, context);
  if (relation.lateral) return bindLateral(relation, left, context);
  const right = bindRelation(relation.right, context);
  const kind = relation.kind === 'cross' ? 'inner' : relation.kind;
  if (relation.natural || relation.using.length > 0) {
    const names = relation.natural ? sharedNames(left.columns, right.columns) : relation.using;
    return joinedUsing(kind, left, right, { names, place: relation.place });
  }
  const columns = [...left.columns, ...shifted(right.columns, widthOf(left))];
  const scope = joinScope(columns, context);
  const on =
    relation.on === undefined ? undefined : asJoinCondition(bindExpression(relation.on, scope));
  return joined(kind, left, right, on);
}

function joinScope(columns: readonly BoundColumn[], context: BatchContext): ExpressionScope {
  return batchScope(
    {
      columns,
      call: (node, bind) =>
        bindSpecialCall(node, bind, {
          ...plainRules(context, 'OUTSIDE_SELECT'),
          star: (star) =>
            starColumns(star, columns).flatMap((found) =>
              found.kind === 'column'
                ? [{ name: found.column.name ?? '', column: columnNode(found.column) }]
                : [],
            ),
        }),
    },
    context,
  );
}

function bindLateral(
  relation: JoinRelation,
  left: BatchRelation,
  context: BatchContext,
): BatchRelation {
  const { right } = relation;
  const kind =
    relation.kind === 'left' && !(isExplosion(right) && isAlways(relation.on)) ? 'left' : 'inner';
  if (!['inner', 'cross', 'left'].includes(relation.kind) || relation.using.length > 0) {
    throw fault(
      'INVALID_LATERAL_JOIN_TYPE',
      'LATERAL goes with INNER, CROSS and LEFT joins only',
      relation.place,
    );
  }
  const scope = joinScope(left.columns, context);
  if (
    right.node === 'function' &&
    relation.on === undefined &&
    functionName(right.call) !== 'range'
  ) {
    return generated({
      call: right.call,
      relation: left,
      // A row without a partner is lost, as in Spark.
      outer: false,
      names: right.alias?.columns ?? [],
      qualifier: right.alias === undefined ? [] : [nameKey(right.alias.name.text)],
      aliasFault: 'NUM_TABLE_VALUE_ALIASES_MISMATCH',
      scope,
      context,
      isLateralJoin: true,
    });
  }
  const subplan = lateralSubplan(right, scope, context);
  const bound = aliased(subplan, 'alias' in right ? right.alias : undefined);
  const leftWidth = widthOf(left);
  const columns = [...left.columns, ...shifted(bound.columns, leftWidth)];
  const on =
    relation.on === undefined
      ? undefined
      : asJoinCondition(bindExpression(relation.on, joinScope(columns, context)));
  return {
    plan: {
      node: 'lateral',
      kind,
      left: left.plan,
      right: subplan,
      rightWidth: widthOf(bound),
      condition: on,
    },
    columns,
  };
}

/** `(SELECT explode(…))` without FROM; rows without a partner are lost with it, as in Spark. */
function isExplosion(relation: ast.Relation): boolean {
  if (relation.node !== 'subquery' || relation.query.body.node !== 'select') return false;
  const { from, items } = relation.query.body;
  return (
    from.length === 0 &&
    items.some(
      ({ value }) => value.node === 'call' && findGenerator(functionName(value)) !== undefined,
    )
  );
}

function isAlways(condition: ast.Expression | undefined): boolean {
  return condition === undefined || (condition.node === 'boolean' && condition.value);
}

function lateralSubplan(
  right: ast.Relation,
  scope: ExpressionScope,
  context: BatchContext,
): Subplan {
  if (right.node === 'subquery') return bindInner(right.query, scope, context);
  const captures: { slot: number; value: Expression }[] = [];
  const bound = bindRelation(right, { ...context, outer: { resolve: scope.resolve, captures } });
  return { plan: bound.plan, columns: bound.columns, captures };
}

function bindForeign(
  relation: Extract<ast.Relation, { node: 'foreign' }>,
  context: BatchContext,
): BatchRelation {
  if (relation.clause.text === '' && relation.watermark === undefined) {
    // Joined relations under one alias.
    return aliased(bindRelation(relation.relation, context), relation.alias);
  }
  const { pivot, place, text } = relation.clause;
  const sample = /^TABLESAMPLE\s*\(\s*(\d+)\s+(ROWS|PERCENT)\s*\)$/i.exec(text);
  const count = Number(sample?.[1]);
  const isRows = sample?.[2]?.toUpperCase() === 'ROWS';
  // What is no matter of chance: the first rows, all, or none.
  if (sample !== null && (isRows || count === 0 || count === 100)) {
    const { plan, columns } = bindRelation(relation.relation, context);
    const limit = isRows ? count : count === 0 ? 0 : undefined;
    return aliased(
      { plan: { node: 'limit', input: plan, limit, offset: 0 }, columns },
      relation.alias,
    );
  }
  if (pivot !== undefined) {
    const input = bindRelation(relation.relation, context);
    const bound =
      pivot.kind === 'pivot'
        ? bindPivot(input, pivot, place, context)
        : bindUnpivot(input, pivot, place);
    return aliased(qualified(bound, []), relation.alias);
  }
  throw fault('NOT_SUPPORTED', `${relation.clause.clause} is not supported`, place);
}

/** Two types of columns in one place of a set operation. */
export function unionType(types: readonly Column['type'][]): Column['type'] | undefined {
  return commonTypeOf(types, commonType);
}

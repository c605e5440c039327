import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import { castTo } from '../../expr/coerce.ts';
import { constantValue, isConstant } from '../../expr/compile.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import { parameter } from '../../expr/parameter.ts';
import type * as ast from '../../sql/ast.ts';
import { parseExpression, parseQuery } from '../../sql/parse.ts';
import { bindExpression } from '../bind/bind-expression.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { nameKey } from '../bind/names.ts';
import { columnNode } from '../flows/move-columns.ts';
import { bindSpecialCall, plainRules, sortKey } from './batch-call.ts';
import { aliased } from './batch-columns.ts';
import {
  type BatchCommonTable,
  type BatchContext,
  type BatchTable,
  batchScope,
  firstSlot,
} from './batch-context.ts';
import type { BatchPlan, BoundBatch } from './batch-plan.ts';
import { bindRecursion, isRecursive, isShadowed } from './batch-recursion.ts';
import { bindName, unionType } from './batch-relation.ts';
import { isOrderByAll, ordinalOf, requireComparable } from './batch-rules.ts';
import { bindBatchSelect } from './batch-select.ts';
import { bindSubquery } from './batch-subquery.ts';
import { bindValues } from './batch-values.ts';

export type BatchQueryOptions = {
  readonly timeZone: string;
  readonly findTable: (name: ast.Name) => BatchTable | undefined;
  readonly findView?: (name: ast.Name) => BatchCommonTable | undefined;
};

/** Parses and binds a query over tables; `isExpression`: the text is one expression. Throws a FaultError. */
export function planBatchQuery(
  sql: string,
  file: string,
  options: BatchQueryOptions & { readonly isExpression?: boolean },
): BoundBatch {
  const query =
    options.isExpression === true ? selectOf(parseExpression(sql, file)) : parseQuery(sql, file);
  try {
    return bindBatchQuery(query, options);
  } catch (error) {
    // The binder walks trees by calling itself.
    if (!(error instanceof RangeError)) throw error;
    throw fault('NESTING_TOO_DEEP', 'nested too deeply', query.place);
  }
}

function selectOf(value: ast.Expression): ast.Query {
  const { place } = value;
  const body: ast.SelectQuery = {
    node: 'select',
    distinct: false,
    items: [{ value, aliases: [], place }],
    from: [],
    lateralViews: [],
    where: undefined,
    groupBy: undefined,
    having: undefined,
    qualify: undefined,
    windows: [],
    place,
  };
  return {
    ctes: [],
    body,
    orderBy: [],
    otherOrder: undefined,
    orderPlace: undefined,
    limit: undefined,
    offset: undefined,
    place,
  };
}

/**
 * Binds a query over tables: everything that needs no stream. Throws its first fault as a FaultError.
 * Invariant: the columns of the result stand at their positions, and none is hidden.
 */
export function bindBatchQuery(query: ast.Query, options: BatchQueryOptions): BoundBatch {
  return bindQuery(query, {
    ...options,
    ctes: new Map(),
    outer: undefined,
    slots: { next: firstSlot },
    bindQuery,
    bindSubquery,
  });
}

function bindQuery(query: ast.Query, context: BatchContext): BoundBatch {
  const inner = { ...context, ctes: commonTables(query, context) };
  const bound =
    query.body.node === 'select'
      ? bindBatchSelect(query.body, query.orderBy, inner)
      : ordered(bindBody(query.body, inner), query.orderBy, inner);
  return limited(bound, query, inner);
}

function commonTables(
  query: ast.Query,
  context: BatchContext,
): ReadonlyMap<string, BatchCommonTable> {
  const ctes = new Map(context.ctes);
  const seen = new Set<string>();
  for (const cte of query.ctes) {
    const key = nameKey(cte.name.text);
    if (seen.has(key)) {
      throw fault('DUPLICATED_CTE_NAMES', `${cte.name.text} is defined twice`, cte.name.place);
    }
    seen.add(key);
    const isOwn = query.recursive !== undefined && isRecursive(cte) && !isShadowed(cte);
    ctes.set(key, commonTable(cte, { ...context, ctes: new Map(ctes) }, isOwn));
  }
  // Even one that nobody reads must be right.
  for (const key of seen) ctes.get(key)?.bind();
  return ctes;
}

function commonTable(
  cte: ast.CommonTable,
  context: BatchContext,
  isOwn: boolean,
): BatchCommonTable {
  let known: BoundBatch | undefined;
  const cell = { uses: -1 };
  return {
    bind: () => {
      if (known === undefined) {
        const before = context.slots.next;
        const bound = isOwn
          ? bindRecursion(cte, { ...context, ctes: commonTables(cte.query, context) }, bindBody)
          : aliased(bindQuery(cte.query, context), { name: cte.name, columns: cte.columns });
        // With values from outside its rows differ from one row to the next.
        const isFixed = context.outer === undefined || context.slots.next === before;
        known = isFixed ? { ...bound, plan: { node: 'shared', input: bound.plan, cell } } : bound;
      }
      cell.uses += 1;
      return known;
    },
  };
}

function bindBody(body: ast.QueryBody, context: BatchContext): BoundBatch {
  switch (body.node) {
    case 'select':
      return bindBatchSelect(body, [], context);
    case 'values':
      return bindValues(body, context);
    case 'table':
      return bindName(body.name, context);
    case 'parenthesized':
      return bindQuery(body.query, context);
    case 'set':
      return bindSet(body, context);
  }
}

// ---------------------------------------------------------------- set operations

function bindSet(body: Extract<ast.QueryBody, { node: 'set' }>, context: BatchContext): BoundBatch {
  const [left, right] = [bindBody(body.left, context), bindBody(body.right, context)];
  const what = body.operator.toUpperCase();
  if (left.columns.length !== right.columns.length) {
    throw fault(
      'NUM_COLUMNS_MISMATCH',
      `${what} of ${left.columns.length} and ${right.columns.length} columns`,
      body.place,
    );
  }
  const columns = left.columns.map((column, i): BoundColumn => {
    const other = right.columns[i] ?? column;
    const type = unionType([column.type, other.type]);
    if (type === undefined) {
      throw fault(
        'INCOMPATIBLE_COLUMN_TYPE',
        `column ${i + 1} of ${what} is ${formatType(column.type)} on one side and ${formatType(other.type)} on the other`,
        body.place,
      );
    }
    return { ...column, type, index: i, qualifier: [] };
  });
  const types = columns.map((column) => column.type);
  const { operator, all } = body;
  if (operator !== 'union' || !all) requireComparable(types, body.place);
  const plan: BatchPlan = {
    node: 'set',
    operator,
    all,
    left: castColumns(left, types),
    right: castColumns(right, types),
    types,
  };
  return { plan, columns };
}

function castColumns(bound: BoundBatch, types: readonly DataType[]): BatchPlan {
  return {
    node: 'project',
    input: bound.plan,
    values: bound.columns.map((column, i) => castTo(columnNode(column), types[i] ?? column.type)),
  };
}

// ---------------------------------------------------------------- ORDER BY and LIMIT

/** Orders rows by their own columns. */
function ordered(
  bound: BoundBatch,
  items: readonly ast.OrderItem[],
  context: BatchContext,
): BoundBatch {
  if (items.length === 0) return bound;
  const scope = batchScope(
    {
      columns: bound.columns,
      call: (node, bind) => bindSpecialCall(node, bind, plainRules(context, 'OUTSIDE_SELECT')),
    },
    context,
  );
  const [first] = items;
  if (
    first !== undefined &&
    isOrderByAll(items) &&
    !bound.columns.some((one) => one.name === 'all')
  ) {
    const keys = bound.columns.map((column) => sortKey(first, columnNode(column)));
    return { ...bound, plan: { node: 'sort', input: bound.plan, keys } };
  }
  const keys = items.map((item) => {
    const ordinal = ordinalOf(item.value, bound.columns.length, 'ORDER_BY');
    const column = ordinal === undefined ? undefined : bound.columns[ordinal];
    return sortKey(
      item,
      column === undefined ? bindExpression(item.value, scope) : columnNode(column),
    );
  });
  return { ...bound, plan: { node: 'sort', input: bound.plan, keys } };
}

function limited(bound: BoundBatch, query: ast.Query, context: BatchContext): BoundBatch {
  if (query.limit === undefined && query.offset === undefined) return bound;
  const limit = query.limit && rowCount(query.limit, 'limit', bound.columns, context);
  const offset = (query.offset && rowCount(query.offset, 'offset', bound.columns, context)) ?? 0;
  return { ...bound, plan: { node: 'limit', input: bound.plan, limit, offset } };
}

function rowCount(
  node: ast.Expression,
  name: string,
  columns: readonly BoundColumn[],
  context: BatchContext,
): number {
  const bound: Expression = bindExpression(node, batchScope({ columns }, context));
  const refuse = (kind: string, message: string): Error =>
    fault(`INVALID_LIMIT_LIKE_EXPRESSION.${kind}`, message, node.place);
  if (!isConstant(bound)) throw refuse('IS_UNFOLDABLE', `the ${name} must be constant`);
  if (!['tinyint', 'smallint', 'int'].includes(bound.type.kind)) {
    throw refuse('DATA_TYPE', `the ${name} must be an int, not ${formatType(bound.type)}`);
  }
  const value = constantValue(parameter.int.coerce(bound) ?? bound, context.timeZone);
  if (value === null) throw refuse('IS_NULL', `the ${name} is NULL`);
  if ((value as number) < 0) throw refuse('IS_NEGATIVE', `the ${name} is negative`);
  return value as number;
}

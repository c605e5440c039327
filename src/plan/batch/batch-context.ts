import { FaultError } from '../../base/place.ts';
import type { Column } from '../../data/types.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault, mismatch } from '../../expr/faults.ts';
import type * as ast from '../../sql/ast.ts';
import {
  type Bind,
  bindExpression,
  type ExpressionScope,
  type ResolvedName,
  type SubqueryNode,
} from '../bind/bind-expression.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { type LateralAlias, resolveColumn } from '../bind/scope.ts';
import { expandStar, type StarColumn } from '../bind/star.ts';
import { AlreadyReported } from '../faults.ts';
import { columnNode } from '../flows/move-columns.ts';
import type { BatchPlan, BoundBatch, Subplan } from './batch-plan.ts';

/** A table that a query over tables may read. */
export type BatchTable = {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Columns that have a fault of their own: what reads them says no more. */
  readonly broken?: ReadonlySet<Column>;
};

/** What the parts of a query over tables are bound in. */
export type BatchContext = {
  readonly timeZone: string;
  readonly findTable: (name: ast.Name) => BatchTable | undefined;
  /** A query that stands for a name everywhere; undefined: there are none. */
  readonly findView?: ((name: ast.Name) => BatchCommonTable | undefined) | undefined;
  readonly ctes: ReadonlyMap<string, BatchCommonTable>;
  /** The query around, where this one is a subquery. */
  readonly outer: OuterQuery | undefined;
  /** Parameters that stand for values from outside are numbered through the whole query. */
  readonly slots: { next: number };
  /** Passed in, so that queries and relations, which contain each other, need no import cycle. */
  readonly bindQuery: (query: ast.Query, context: BatchContext) => BoundBatch;
  readonly bindSubquery: (
    node: SubqueryNode,
    bind: Bind,
    scope: ExpressionScope,
    context: BatchContext,
    aggregate?: Bind,
  ) => Expression;
};

export type BatchCommonTable = { readonly bind: () => BoundBatch };

export type OuterQuery = {
  readonly resolve: (name: ast.Name) => ResolvedName;
  readonly captures: { readonly slot: number; readonly value: Expression }[];
  /** The columns of a star that names a relation of the query around. */
  readonly star?: ExpressionScope['star'];
  /** Binds an aggregate of the query around, where that is asked for in its HAVING. */
  readonly aggregate?: Bind | undefined;
};

/** Above those of all lambdas. */
export const firstSlot = 1_000;

/** A relation of a query: its rows, and what their columns are called. */
export type BatchRelation = { readonly plan: BatchPlan; readonly columns: readonly BoundColumn[] };

export type BatchScopeOptions = {
  readonly columns: readonly BoundColumn[];
  readonly aliases?: readonly LateralAlias[];
  readonly call?: ExpressionScope['call'];
  /** Whether subqueries may hold aggregates of this query, as those of HAVING do. */
  readonly lendsAggregates?: boolean;
};

/** The scope of an expression over the rows of a relation; names that it lacks are looked for outside. */
export function batchScope(options: BatchScopeOptions, context: BatchContext): ExpressionScope {
  const { columns, aliases = [] } = options;
  const scope: ExpressionScope = {
    timeZone: context.timeZone,
    resolve: (name) => {
      try {
        return resolveColumn(name, { columns, aliases });
      } catch (error) {
        return captured(name, context, error);
      }
    },
    star: (star) => {
      try {
        return starColumns(star, columns).map((found) => {
          if (found.kind === 'column') {
            return { name: found.column.name ?? '', column: columnNode(found.column) };
          }
          return { name: found.name, column: bindExpression(found.value, scope) };
        });
      } catch (error) {
        return outerStar(star, context, error);
      }
    },
    subquery: (node, bind, isInLambda) => {
      if (!isInLambda) {
        const lent = options.lendsAggregates === true ? bind : undefined;
        return context.bindSubquery(node, bind, scope, context, lent);
      }
      throw fault(
        'UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.HIGHER_ORDER_FUNCTION',
        'a subquery can not stand in a lambda',
        node.place,
      );
    },
    ...(options.call !== undefined && { call: options.call }),
  };
  return scope;
}

function wholeColumns(columns: readonly StarColumn[], star: ast.Expression): readonly StarColumn[] {
  const isBroken = columns.some((found) => found.kind === 'column' && found.column.broken);
  if (isBroken) throw new AlreadyReported(star.place);
  return columns;
}

/** A star with a qualifier has the columns that a join has joined, too. */
export function starColumns(
  star: Extract<ast.Expression, { node: 'star' }>,
  columns: readonly BoundColumn[],
): readonly StarColumn[] {
  if (star.qualifier === undefined) return wholeColumns(expandStar(star, columns), star);
  const all = [...columns]
    .sort((a, b) => a.index - b.index)
    .map((column) => ({ ...column, hidden: false }));
  try {
    return wholeColumns(expandStar(star, all), star);
  } catch (error) {
    const isUnknown =
      error instanceof FaultError && error.fault.code.startsWith('UNRESOLVED_COLUMN');
    if (!isUnknown || star.except.length > 0) throw error;
    throw fault(
      'CANNOT_RESOLVE_STAR_EXPAND',
      `there is no relation or struct ${star.qualifier.parts.map((part) => part.text).join('.')}`,
      star.place,
    );
  }
}

/** The parameter that stands for a value from outside; throws the error when there is none. */
function captured(name: ast.Name, context: BatchContext, error: unknown): ResolvedName {
  const { outer } = context;
  const isUnresolved =
    error instanceof FaultError && error.fault.code.startsWith('UNRESOLVED_COLUMN');
  if (outer === undefined || !isUnresolved) throw error;
  let found: ResolvedName;
  try {
    found = outer.resolve(name);
  } catch (outside) {
    const isUnknown =
      outside instanceof FaultError && outside.fault.code.startsWith('UNRESOLVED_COLUMN');
    throw isUnknown ? error : outside;
  }
  const { column, fields } = found;
  // As in Spark, a subquery sees the query around it, and not the one around that.
  if (column.node === 'parameter' && column.index >= firstSlot) throw error;
  const known = outer.captures.find(
    ({ value }) =>
      value.node === column.node &&
      'index' in value &&
      'index' in column &&
      value.index === column.index,
  );
  const slot = known?.slot ?? context.slots.next;
  if (known === undefined) {
    context.slots.next += 1;
    outer.captures.push({ slot, value: column });
  }
  const parameter: Expression = {
    node: 'parameter',
    index: slot,
    name: name.parts.at(-1)?.text ?? '',
    type: column.type,
    place: name.place,
  };
  return { column: parameter, fields };
}

/** The columns of a star, from the query around where no relation of this one has its name. */
export function outerStar(
  star: Extract<ast.Expression, { node: 'star' }>,
  { outer, slots }: BatchContext,
  error: unknown,
): readonly { readonly name: string; readonly column: Expression }[] {
  const isUnknown =
    error instanceof FaultError && error.fault.code.startsWith('CANNOT_RESOLVE_STAR_EXPAND');
  if (!isUnknown || outer?.star === undefined) throw error;
  return outer
    .star(star)
    .map(({ name, column }) => ({ name, column: capturedValue(outer, column, slots) }));
}

/** The parameter that stands for an expression of the query around. */
export function capturedValue(
  outer: OuterQuery,
  value: Expression,
  slots: BatchContext['slots'],
): Expression {
  const slot = slots.next;
  slots.next += 1;
  outer.captures.push({ slot, value });
  return { node: 'parameter', index: slot, name: '', type: value.type, place: value.place };
}

/** Binds a query that sees the names of the scope around it. */
export function bindInner(
  query: ast.Query,
  scope: Pick<ExpressionScope, 'resolve' | 'star'>,
  context: BatchContext,
  aggregate?: Bind,
): Subplan {
  const captures: { slot: number; value: Expression }[] = [];
  const bound = context.bindQuery(query, {
    ...context,
    outer: { resolve: scope.resolve, captures, aggregate, ...(scope.star && { star: scope.star }) },
  });
  return { ...bound, captures };
}

/** A condition, which must be boolean. */
export function bindCondition(
  node: ast.Expression,
  scope: ExpressionScope,
  clause: string,
): Expression {
  const bound = bindExpression(node, scope);
  if (bound.type.kind === 'boolean') return bound;
  throw mismatch('FILTER_NOT_BOOLEAN', `${clause} needs a boolean`, bound.place);
}

import { comparator } from '../../data/compare.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Row, Value } from '../../data/value.ts';
import { call } from '../../expr/call.ts';
import { castTo, commonType } from '../../expr/coerce.ts';
import type { Evaluator, Expression, Frame, Operation } from '../../expr/expression.ts';
import { ExpressionError } from '../../expr/expression-error.ts';
import { fault, mismatch } from '../../expr/faults.ts';
import { requireOrderable } from '../../expr/operators/comparison.ts';
import { types } from '../../expr/types.ts';
import { printQuery } from '../../sql/print.ts';
import type { Bind, ExpressionScope, SubqueryNode } from '../bind/bind-expression.ts';
import { columnNode } from '../flows/move-columns.ts';
import { type BatchContext, bindInner } from './batch-context.ts';
import type { Subplan } from './batch-plan.ts';

/**
 * A subquery inside an expression. Invariant: what it takes from the rows outside are arguments of its
 * call, so that whoever rewrites the expression rewrites them too; the query runs when the value is asked for.
 */
export function bindSubquery(
  node: SubqueryNode,
  bind: Bind,
  scope: ExpressionScope,
  context: BatchContext,
  aggregate?: Bind,
): Expression {
  const subplan = bindInner(node.query, scope, context, aggregate);
  switch (node.node) {
    case 'exists':
      return subqueryCall('exists', subplan, [], types.boolean, node, (rows) => {
        return rows.length > 0;
      });
    case 'scalar_query':
      return scalar(subplan, node);
    case 'in_query': {
      const value = bind(node.value);
      const isNull = value.node === 'literal' && value.value === null;
      // For a NULL that is written out it only matters whether there are rows.
      if (isNull && !node.negated) {
        return subqueryCall('null_in_subquery', subplan, [], types.boolean, node, (rows) =>
          rows.length > 0 ? null : false,
        );
      }
      return inQuery(value, subplan, node);
    }
  }
}

type Finish = (rows: readonly Row[], values: readonly Value[]) => Value;

function subqueryCall(
  name: string,
  subplan: Subplan,
  values: readonly Expression[],
  type: DataType,
  { query, place }: SubqueryNode,
  finish: Finish,
): Expression {
  const { captures, plan } = subplan;
  const operation: Operation = {
    // Of two that are written alike each is the other, so that one can be grouped by.
    name: `${name}(${printQuery(query)})`,
    deterministic: false,
    captures: captures.length,
    compile: (args) => {
      const own = args.slice(captures.length);
      return (row, frame) => {
        const given = own.map((arg) => arg(row, frame));
        captures.forEach(({ slot }, i) => {
          frame.parameters[slot] = evaluated(args[i], row, frame);
        });
        return finish(frame.rowsOf?.(plan, captures.length === 0) ?? [], given);
      };
    },
  };
  return call(operation, type, [...captures.map((one) => one.value), ...values], place);
}

function evaluated(arg: Evaluator | undefined, row: Row, frame: Frame): Value {
  return arg === undefined ? null : arg(row, frame);
}

function scalar(
  subplan: Subplan,
  node: Extract<SubqueryNode, { node: 'scalar_query' }>,
): Expression {
  const [column, ...others] = subplan.columns;
  if (column === undefined || others.length > 0) {
    throw fault(
      'INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN',
      `a scalar subquery has one column, not ${subplan.columns.length}`,
      node.place,
    );
  }
  return subqueryCall('scalar_subquery', subplan, [], column.type, node, (rows) => {
    if (rows.length > 1) {
      throw new ExpressionError(
        'SCALAR_SUBQUERY_TOO_MANY_ROWS',
        `a scalar subquery gave ${rows.length} rows`,
        node.place,
      );
    }
    return rows[0]?.[0] ?? null;
  });
}

/**
 * TRUE or FALSE and never NULL, as Spark's join for it gives: a comparison that is NULL is no match for
 * IN, and one for NOT IN.
 */
function inQuery(
  value: Expression,
  subplan: Subplan,
  node: Extract<SubqueryNode, { node: 'in_query' }>,
): Expression {
  const parts = partsOf(value, node, subplan.columns.length);
  if (parts.length !== subplan.columns.length) {
    throw mismatch(
      'IN_SUBQUERY_LENGTH_MISMATCH',
      `${parts.length} values are looked for among ${subplan.columns.length} columns`,
      node.place,
    );
  }
  const common = parts.map((part, i) => {
    const columnType = subplan.columns[i]?.type ?? part.type;
    const type = commonType(part.type, columnType);
    if (type !== undefined) {
      requireOrderable('IN', type, node.place);
      return type;
    }
    throw mismatch(
      'IN_SUBQUERY_DATA_TYPE_MISMATCH',
      `${formatType(part.type)} can't be looked for among values of ${formatType(columnType)}`,
      node.place,
    );
  });
  const compares = common.map(comparator);
  const cast: Subplan = {
    ...subplan,
    plan: {
      node: 'project',
      input: subplan.plan,
      values: subplan.columns.map((column, i) =>
        castTo(columnNode(column), common[i] ?? column.type),
      ),
    },
  };
  const values = parts.map((part, i) => castTo(part, common[i] ?? part.type));
  return subqueryCall(
    node.negated ? 'not_in_subquery' : 'in_subquery',
    cast,
    values,
    types.boolean,
    node,
    (rows, given) => {
      for (const row of rows) {
        let isMatch: boolean | null = true;
        for (const [i, compare] of compares.entries()) {
          const [a, b] = [given[i] ?? null, row[i] ?? null];
          if (a === null || b === null) {
            isMatch = null;
          } else if (compare(a, b) !== 0) {
            isMatch = false;
            break;
          }
        }
        if (isMatch === true || (isMatch === null && node.negated)) return !node.negated;
      }
      return node.negated;
    },
  );
}

/** `(a, b) IN (…)` compares column by column; a struct that is no row constructor is one value. */
function partsOf(
  value: Expression,
  node: Extract<SubqueryNode, { node: 'in_query' }>,
  width: number,
): readonly Expression[] {
  const isTuple = node.value.node === 'tuple' && value.node === 'call';
  return isTuple && (width > 1 || value.arguments.length > 1) ? value.arguments : [value];
}

import type { Column } from '../../data/types.ts';
import { literal } from '../../expr/call.ts';
import { castTo, commonTypeOf, commonTypeWithoutStrings } from '../../expr/coerce.ts';
import { constantValue, isConstant } from '../../expr/compile.ts';
import type { Expression } from '../../expr/expression.ts';
import { ExpressionError } from '../../expr/expression-error.ts';
import { fault } from '../../expr/faults.ts';
import { isIntegral, types } from '../../expr/types.ts';
import type * as ast from '../../sql/ast.ts';
import { functionName } from '../bind/bind-call.ts';
import { bindExpression } from '../bind/bind-expression.ts';
import { bindSpecialCall, plainRules } from './batch-call.ts';
import { aliased, asColumns } from './batch-columns.ts';
import { type BatchContext, type BatchRelation, batchScope } from './batch-context.ts';

/** The rows of VALUES, each value computed once. */
export function bindValues(
  body: Extract<ast.QueryBody, { node: 'values' }>,
  context: BatchContext,
): BatchRelation {
  const scope = batchScope(
    {
      columns: [],
      call: (node, bind) =>
        bindSpecialCall(node, bind, {
          ...plainRules(context, 'OUTSIDE_SELECT', {
            aggregate: inlineFault,
            window: inlineFault,
          }),
          generatorFault: inlineFault,
        }),
    },
    { ...context, outer: undefined },
  );
  const bound = body.rows.map((row) => {
    return itemsOf(row).map((item) => bindExpression(item, scope));
  });
  const width = bound[0]?.length ?? 0;
  const uneven = bound.find((row) => row.length !== width);
  if (uneven !== undefined) {
    throw fault(
      'INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH',
      `a row of VALUES has ${uneven.length} values, the first one ${width}`,
      uneven[0]?.place ?? body.place,
    );
  }
  const columns = Array.from({ length: width }, (_, i): Column => {
    const type = commonTypeOf(
      bound.map((row) => row[i]?.type ?? types.void),
      inlineType,
    );
    if (type !== undefined) return { name: `col${i + 1}`, type };
    throw fault(
      'INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE',
      'a column of VALUES has no common type',
      body.place,
    );
  });
  const rows = bound.map((row) =>
    row.map((item, i) => evaluated(castTo(item, columns[i]?.type ?? item.type), context)),
  );
  const named = body.alias?.columns.length ?? 0;
  if (named > 0 && named !== width) {
    throw fault(
      'INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH',
      `the alias names ${named} columns of ${width}`,
      body.alias?.name.place ?? body.place,
    );
  }
  return aliased(
    { plan: { node: 'values', rows }, columns: asColumns(columns, [], body.place) },
    body.alias,
  );
}

/** Of whole numbers and floats VALUES makes floats, where expressions make doubles. */
function inlineType(a: Column['type'], b: Column['type']): Column['type'] | undefined {
  const [x, y] = a.kind === 'float' ? [a, b] : [b, a];
  return x.kind === 'float' && isIntegral(y) ? x : commonTypeWithoutStrings(a, b);
}

const inlineFault = 'INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE';

/** `(1, 2)` and `struct(1, 2)` are rows of two columns. */
function itemsOf(row: readonly ast.Expression[]): readonly ast.Expression[] {
  const [only] = row;
  if (row.length !== 1 || only === undefined) return row;
  if (only.node === 'tuple') return only.items;
  return only.node === 'call' && functionName(only) === 'struct' && only.arguments.length > 0
    ? only.arguments
    : row;
}

/** A value of VALUES is computed once and for all, so that an error in it is one of the query. */
function evaluated(value: Expression, context: BatchContext): Expression {
  if (!isConstant(value) || value.node === 'literal') return value;
  try {
    return literal(constantValue(value, context.timeZone), value.type, value.place);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw fault(
      'INVALID_INLINE_TABLE.FAILED_SQL_EXPRESSION_EVALUATION',
      `a value of VALUES fails: ${error.message}`,
      error.place ?? value.place,
    );
  }
}

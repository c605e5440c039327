import type { Place } from '../../base/place.ts';
import { formatType } from '../../data/type-text.ts';
import type { Column } from '../../data/types.ts';
import { findAggregate } from '../../expr/aggregate-registry.ts';
import { literal } from '../../expr/call.ts';
import { castTo, commonType, commonTypeOf, commonTypeWithoutStrings } from '../../expr/coerce.ts';
import { constantValue, isConstant } from '../../expr/compile.ts';
import type { Expression } from '../../expr/expression.ts';
import { ExpressionError } from '../../expr/expression-error.ts';
import { fault, mismatch } from '../../expr/faults.ts';
import { findFunction } from '../../expr/function-registry.ts';
import { findGenerator, type GeneratorDefinition } from '../../expr/generator.ts';
import { comparison } from '../../expr/operators/comparison.ts';
import { coalesce } from '../../expr/operators/conditional.ts';
import { and } from '../../expr/operators/logic.ts';
import { parameter } from '../../expr/parameter.ts';
import { isIntegral, types } from '../../expr/types.ts';
import type * as ast from '../../sql/ast.ts';
import { functionName, orderedArguments } from '../bind/bind-call.ts';
import { bindExpression, type ExpressionScope } from '../bind/bind-expression.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { nameKey } from '../bind/names.ts';
import {
  asJoinCondition,
  sharedNames,
  shifted,
  splitCondition,
  usingColumn,
} from '../flows/join-parts.ts';
import { columnNode } from '../flows/move-columns.ts';
import { bindSpecialCall } from './batch-call.ts';
import {
  type BatchContext,
  type BatchRelation,
  batchScope,
  bindInner,
  starColumns,
} from './batch-context.ts';
import { checkGenerator, checkJoinCondition } from './batch-correlation.ts';
import { bindPivot, bindUnpivot } from './batch-pivot.ts';
import type { BatchJoin, BatchPlan, Subplan } from './batch-plan.ts';

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
  throw fault('NOT_SUPPORTED', 'a query over tables reads no stream', relation.place);
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
    columns: asColumns(table.columns, qualifier, name.place),
  };
}

export function asColumns(
  columns: readonly Column[],
  qualifier: readonly string[],
  place: Place,
): readonly BoundColumn[] {
  return columns.map(({ name, type }, index) => ({
    name,
    type,
    index,
    qualifier,
    hidden: false,
    broken: false,
    place,
  }));
}

function qualified(relation: BatchRelation, qualifier: readonly string[]): BatchRelation {
  return { ...relation, columns: relation.columns.map((column) => ({ ...column, qualifier })) };
}

export function aliased(relation: BatchRelation, alias: ast.TableAlias | undefined): BatchRelation {
  const visible = relation.columns.filter((column) => !column.hidden);
  if (alias === undefined) return { ...relation, columns: visible };
  const named = qualified({ ...relation, columns: visible }, [nameKey(alias.name.text)]);
  if (alias.columns.length === 0) return named;
  if (alias.columns.length !== visible.length) {
    throw fault(
      'ASSIGNMENT_ARITY_MISMATCH',
      `the alias names ${alias.columns.length} columns of ${visible.length}`,
      alias.name.place,
    );
  }
  return {
    ...named,
    columns: named.columns.map((column, i) => ({
      ...column,
      name: alias.columns[i]?.text ?? column.name,
    })),
  };
}

// ---------------------------------------------------------------- VALUES

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

/** `range(end)`, `range(start, end[, step[, partitions]])`. */
function bindRange(call: ast.CallExpression, context: BatchContext): BatchRelation {
  const scope = batchScope({ columns: [] }, context);
  const given = call.arguments.length + call.named.length;
  if (given < 1 || given > 4) {
    throw fault(
      'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
      `range takes 1 to 4 arguments, not ${given}`,
      call.place,
    );
  }
  const numbers = call.arguments.map((argument, i): bigint => {
    const bound = bindExpression(argument, scope);
    if (!isConstant(bound)) {
      throw mismatch('NON_FOLDABLE_INPUT', 'the bounds of range must be constant', bound.place);
    }
    const coerced = bound.type.kind === 'void' ? undefined : parameter.bigint.coerce(bound);
    if (coerced === undefined) {
      throw fault(
        'UNEXPECTED_INPUT_TYPE',
        `bound ${i + 1} of range must be a bigint, not ${formatType(bound.type)}`,
        bound.place,
      );
    }
    return constantValue(coerced, context.timeZone) as bigint;
  });
  const [first = 0n, second, step = 1n] = numbers;
  if (step === 0n) throw fault('FAILED_FUNCTION_CALL', 'the step of range is 0', call.place);
  const [start, end] = second === undefined ? [0n, first] : [first, second];
  return {
    plan: { node: 'range', start, end, step },
    columns: asColumns([{ name: 'id', type: types.bigint }], [], call.place),
  };
}

export type GeneratorUse = {
  readonly call: ast.CallExpression;
  readonly relation: BatchRelation;
  readonly outer: boolean;
  /** Names for the new columns; none for the names of their own. */
  readonly names: readonly ast.Identifier[];
  readonly qualifier: readonly string[];
  readonly aliasFault: string;
  readonly scope: ExpressionScope;
  readonly context: BatchContext;
  /** In a lateral join the values are those of the row on the left. */
  readonly isLateralJoin?: true;
};

/** The relation with the columns of a generator behind its own. */
export function generated(use: GeneratorUse): BatchRelation {
  const { call, relation, context } = use;
  const name = functionName(call);
  const found = findGenerator(name);
  if (found === undefined) {
    const isKnown = findFunction(name) !== undefined || findAggregate(name) !== undefined;
    throw fault(
      isKnown ? 'UNSUPPORTED_GENERATOR.NOT_GENERATOR' : 'UNRESOLVED_ROUTINE',
      `${name} is no generator`,
      call.name.place,
    );
  }
  const args = generatorArguments(found.definition, call, use.scope);
  const generator = found.definition.bind({
    name,
    arguments: args,
    names: args.map(() => undefined),
    lambdas: [],
    timeZone: context.timeZone,
    place: call.place,
  });
  const [firstName] = use.names;
  if (firstName !== undefined && use.names.length !== generator.columns.length) {
    throw fault(
      use.aliasFault,
      `${name} gives ${generator.columns.length} columns, and ${use.names.length} are named`,
      firstName.place,
    );
  }
  checkGenerator(generator.arguments, relation.columns.length > 0 && use.isLateralJoin !== true);
  const width = widthOf(relation);
  const columns = generator.columns.map(
    (column, i): BoundColumn => ({
      name: use.names[i]?.text ?? column.name,
      type: column.type,
      index: width + i,
      qualifier: use.qualifier,
      hidden: false,
      broken: false,
      place: call.place,
    }),
  );
  const outer = found.outer || use.outer;
  const plan: BatchPlan = {
    node: 'generate',
    input: relation.plan,
    generator,
    outer,
    place: call.place,
  };
  return { plan, columns: [...relation.columns, ...columns] };
}

function generatorArguments(
  definition: GeneratorDefinition,
  call: ast.CallExpression,
  scope: ExpressionScope,
): readonly Expression[] {
  const written = orderedArguments(
    {
      ...definition,
      bind: () => {
        throw new TypeError('a generator is no expression');
      },
    },
    call,
  );
  const args = written.flatMap((argument) => {
    if (argument.node !== 'star') return [bindExpression(argument, scope)];
    return (scope.star?.(argument) ?? []).map((one) => one.column);
  });
  const [least, most] = definition.arity;
  if (args.length < least || args.length > most) {
    throw fault(
      'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
      `${definition.names[0]} takes ${least === most ? least : `${least} or more`} arguments, not ${args.length}`,
      call.place,
    );
  }
  return args;
}

/** Positions in a row: hidden columns have some too. */
export function widthOf(relation: BatchRelation): number {
  return Math.max(0, ...relation.columns.map((column) => column.index + 1));
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

function joined(
  kind: BatchJoin['kind'],
  left: BatchRelation,
  right: BatchRelation,
  on: Expression | undefined,
): BatchRelation {
  const isHalf = kind === 'left_semi' || kind === 'left_anti';
  return {
    plan: joinPlan(kind, left, right, on),
    columns: isHalf ? left.columns : [...left.columns, ...shifted(right.columns, widthOf(left))],
  };
}

function joinPlan(
  kind: BatchJoin['kind'],
  left: BatchRelation,
  right: BatchRelation,
  on: Expression | undefined,
): BatchJoin {
  const leftWidth = widthOf(left);
  checkJoinCondition(on, leftWidth);
  const { equal, condition } = splitCondition(on, leftWidth);
  const [leftPlan, rightPlan] = [left.plan, right.plan];
  const rightWidth = widthOf(right);
  return {
    node: 'join',
    kind,
    left: leftPlan,
    right: rightPlan,
    leftWidth,
    rightWidth,
    equal,
    condition,
  };
}

/** The joined columns come first and once; those of the other side can still be named with their table. */
function joinedUsing(
  kind: BatchJoin['kind'],
  left: BatchRelation,
  right: BatchRelation,
  { names, place }: { readonly names: readonly ast.Identifier[]; readonly place: Place },
): BatchRelation {
  const leftWidth = widthOf(left);
  const rightColumns = shifted(right.columns, leftWidth);
  const pairs = names.map((name) => ({
    left: usingColumn(name, left.columns, 'left'),
    right: usingColumn(name, rightColumns, 'right'),
  }));
  const conditions = pairs.map((pair) =>
    comparison('=', columnNode(pair.left), columnNode(pair.right), place),
  );
  const on = conditions.length === 0 ? undefined : conditions.reduce((a, b) => and(a, b, place));
  const join = joined(kind, left, right, on);
  if (kind === 'left_semi' || kind === 'left_anti') {
    const keys = pairs.map((pair) => pair.left);
    return {
      ...join,
      columns: [...keys, ...left.columns.filter((column) => !keys.includes(column))],
    };
  }
  const isJoined = (column: BoundColumn): boolean =>
    pairs.some((pair) => pair.left.index === column.index || pair.right.index === column.index);
  const rest = [...left.columns, ...rightColumns].filter((column) => !isJoined(column));
  if (kind !== 'full') {
    const keys = pairs.map((pair) => (kind === 'right' ? pair.right : pair.left));
    const others = pairs.map((pair) => (kind === 'right' ? pair.left : pair.right));
    return {
      ...join,
      columns: [...keys, ...rest, ...others.map((column) => ({ ...column, hidden: true }))],
    };
  }
  // Of a full join neither side has all keys.
  const width = leftWidth + widthOf(right);
  const merged = pairs.map((pair) =>
    coalesce([columnNode(pair.left), columnNode(pair.right)], place),
  );
  const all = Array.from({ length: width }, (_, index) => {
    const column = [...left.columns, ...rightColumns].find((c) => c.index === index);
    return columnNode(column ?? { name: undefined, type: types.void, index, place });
  });
  const keys = pairs.map(
    (pair, i): BoundColumn => ({
      ...pair.left,
      index: width + i,
      type: merged[i]?.type ?? pair.left.type,
      qualifier: [],
    }),
  );
  const hidden = pairs.flatMap((pair) => [pair.left, pair.right]);
  return {
    plan: { node: 'project', input: join.plan, values: [...all, ...merged] },
    columns: [...keys, ...rest, ...hidden.map((column) => ({ ...column, hidden: true }))],
  };
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

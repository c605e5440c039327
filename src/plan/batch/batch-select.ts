import { FaultError } from '../../base/place.ts';
import { isAggregateNode } from '../../expr/aggregate.ts';
import { findAggregate } from '../../expr/aggregate-registry.ts';
import { castTo, writtenCast } from '../../expr/coerce.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault, mismatch } from '../../expr/faults.ts';

import { windowEnd } from '../../expr/time-window.ts';
import { types } from '../../expr/types.ts';
import type * as ast from '../../sql/ast.ts';
import { functionName } from '../bind/bind-call.ts';
import {
  type Bind,
  bindExpression,
  type ExpressionScope,
  type ResolvedName,
} from '../bind/bind-expression.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { nameKey } from '../bind/names.ts';
import { sameExpression } from '../bind/same-expression.ts';
import type { LateralAlias } from '../bind/scope.ts';
import { sparkName } from '../bind/spark-name.ts';
import { type ColumnNode, columnNode, moveColumns } from '../flows/move-columns.ts';
import { Grouping, groupingIdColumn, groupingMarker, isGroupingMarker } from './batch-aggregate.ts';
import { aliasBase, inlinedAliases, isAliasColumn } from './batch-alias.ts';
import { bindSpecialCall, type CallRules, contains, plainRules, sortKey } from './batch-call.ts';
import { widthOf } from './batch-columns.ts';
import {
  type BatchContext,
  type BatchRelation,
  batchScope,
  bindCondition,
  capturedValue,
} from './batch-context.ts';
import { checkCorrelation, checkOrderItem } from './batch-correlation.ts';
import { overGroups } from './batch-exploded-groups.ts';
import { generated, generatorCall } from './batch-generator.ts';
import { groupingShape, lateralKey } from './batch-grouping.ts';
import { readsMore, requireKept, requireSortable } from './batch-order-rules.ts';
import { type BatchPlan, type BoundBatch, isWindowNode } from './batch-plan.ts';
import { bindFrom } from './batch-relation.ts';
import { isOrderByAll, ordinalOf } from './batch-rules.ts';
import { selectResult } from './batch-select-result.ts';
import { type BoundTimeWindow, boundTimeWindow, isTimeWindow } from './batch-time-window.ts';
import { bindWindow } from './batch-window.ts';

/** One column of the result, as an expression over the input. */
type Item = { readonly name: string; readonly value: Expression };

const groupingId = 'grouping__id';

/** Binds one SELECT with its ORDER BY, in the order in which rows go through it. */
export function bindBatchSelect(
  select: ast.SelectQuery,
  orderBy: readonly ast.OrderItem[],
  context: BatchContext,
): BoundBatch {
  return new SelectBinder(overGroups(select) ?? select, context).bind(orderBy);
}

class SelectBinder {
  readonly #select: ast.SelectQuery;
  readonly #context: BatchContext;
  #relation: BatchRelation = { plan: { node: 'values', rows: [[]] }, columns: [] };
  readonly #items: Item[] = [];
  readonly #aliases: LateralAlias[] = [];
  readonly #aliasValues: Expression[] = [];
  /** Whether HAVING reads what is not selected; ORDER BY then sees no more than the result and the keys. */
  #havingReadsMore = false;
  /** What GROUP BY groups by, once it is known. */
  #keys: readonly Expression[] = [];
  /** Values that read aliases of items before them, and where the aliases of these are. */
  readonly #laterals: Expression[] = [];
  readonly #overAliases = new Set<number>();
  readonly #windows: (BoundTimeWindow & { readonly column: ColumnNode })[] = [];

  constructor(select: ast.SelectQuery, context: BatchContext) {
    this.#select = select;
    this.#context = context;
  }

  bind(orderBy: readonly ast.OrderItem[]): BoundBatch {
    this.#bindInput();
    this.#bindGroupedWindows();
    this.#bindItems();
    const grouped = this.#isGrouped();
    const shape = groupingShape(this.#select.groupBy, this.#groupingOptions());
    this.#keys = shape.keys;
    const having = this.#bindHaving();
    this.#havingReadsMore =
      having !== undefined &&
      readsMore(
        having,
        this.#items.map((item) => item.value),
      );
    const qualify = this.#bindQualify();
    const order = orderBy.length === 0 ? [] : this.#bindOrder(orderBy, grouped);
    let plan = this.#relation.plan;
    let all = [
      ...this.#items.map((item) => item.value),
      ...order.map((key) => key.value),
      ...(having === undefined ? [] : [having]),
      ...(qualify === undefined ? [] : [qualify]),
    ];
    const isGrouped = grouped || all.some((value) => contains(value, isAggregateNode));
    checkCorrelation({
      items: this.#items.map((item) => item.value),
      order: order.map((key) => key.value),
      having,
      keys: shape.keys,
      isGrouped,
    });
    if (isGrouped) {
      plan = this.#withSessions(this.#relation.plan, shape.keys);
      const grouping = new Grouping(shape.keys, shape.sets, this.#select.groupBy === undefined);
      const width = this.#items.length;
      all = all.map((value, i) =>
        i >= width ? clauseOver(grouping, value) : grouping.over(value),
      );
      plan = grouping.plan(plan);
      const id = grouping.idPosition;
      all = all.map((value) =>
        moveColumns(value, (index) => (index === groupingIdColumn ? id : index)),
      );
    } else {
      const stray = all.find((value) => contains(value, isGroupingMarker));
      if (stray !== undefined) {
        throw fault(
          'UNSUPPORTED_GROUPING_EXPRESSION',
          'grouping is there with GROUPING SETS, CUBE and ROLLUP only',
          stray.place,
        );
      }
    }
    const width = this.#items.length;
    const items = all.slice(0, width);
    const keys = order.map((key, i) => ({ ...key, value: all[width + i] ?? key.value }));
    let at = width + order.length;
    const havingAt = having === undefined ? undefined : all[at++];
    const qualifyAt = qualify === undefined ? undefined : all[at];
    if (havingAt !== undefined) plan = { node: 'filter', input: plan, condition: havingAt };
    return selectResult({
      ...{ input: plan, items, keys, named: this.#items, qualify: qualifyAt },
      ...{ width: widthOf(this.#relation), isDistinct: this.#select.distinct },
      place: this.#select.place,
    });
  }

  // -------------------------------------------------------------- input

  #bindInput(): void {
    const { from, lateralViews, where } = this.#select;
    let relation = bindFrom(from, this.#context);
    for (const view of lateralViews) {
      const scope = this.#plainScope(relation.columns);
      relation = generated({
        call: view.call,
        relation,
        outer: view.outer,
        names: view.columns,
        qualifier: view.table === undefined ? [] : [nameKey(view.table.text)],
        aliasFault: 'UDTF_ALIAS_NUMBER_MISMATCH',
        scope,
        context: this.#context,
      });
    }
    if (where !== undefined) {
      const scope = batchScope(
        {
          columns: relation.columns,
          call: (node, bind) =>
            this.#outerAggregate(node, bind) ??
            bindSpecialCall(
              node,
              bind,
              plainRules(this.#context, 'OUTSIDE_SELECT', {
                aggregate: 'INVALID_WHERE_CONDITION',
                window: 'WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE',
              }),
            ),
        },
        this.#context,
      );
      const condition = bindCondition(where, scope, 'WHERE');
      relation = { ...relation, plan: { node: 'filter', input: relation.plan, condition } };
    }
    this.#relation = relation;
  }

  /** An aggregate that reads only columns of the query around belongs to that one. */
  #outerAggregate(node: ast.CallExpression, bind: Bind): Expression | undefined {
    const { outer, slots } = this.#context;
    if (outer?.aggregate === undefined || findAggregate(functionName(node)) === undefined) {
      return undefined;
    }
    const before = outer.captures.length;
    const isOwn = node.arguments
      .filter((argument) => argument.node !== 'star')
      .some((argument) => contains(bind(argument), (one) => one.node === 'column'));
    if (isOwn) return undefined;
    // Only the aggregate comes from outside, not what it reads.
    outer.captures.splice(before);
    return capturedValue(outer, outer.aggregate(node), slots);
  }

  #plainScope(columns: readonly BoundColumn[]): ExpressionScope {
    return batchScope(
      {
        columns,
        call: (node, bind) =>
          bindSpecialCall(node, bind, plainRules(this.#context, 'OUTSIDE_SELECT')),
      },
      this.#context,
    );
  }

  // -------------------------------------------------------------- select list

  #bindItems(): void {
    const { items } = this.#select;
    const input = this.#relation.columns;
    for (const item of items) {
      const generator = generatorCall(item.value);
      if (generator !== undefined) this.#addGenerator(item, generator, input);
      else if (item.value.node === 'star') this.#addStar(item.value, input);
      else this.#addItem(item, input);
    }
  }

  #addGenerator(
    item: ast.SelectItem,
    call: ast.CallExpression,
    input: readonly BoundColumn[],
  ): void {
    const alias = item.value.node === 'alias' ? [item.value.name] : [];
    const before = widthOf(this.#relation);
    const relation = generated({
      call,
      relation: this.#relation,
      outer: false,
      names: item.aliases.length > 0 ? item.aliases : alias,
      qualifier: [],
      aliasFault: 'UDTF_ALIAS_NUMBER_MISMATCH',
      scope: this.#scope(input),
      context: this.#context,
    });
    for (const column of relation.columns.filter(({ index }) => index >= before)) {
      this.#push(column.name ?? '', columnNode(column), column.name);
    }
    // The new columns are known by their aliases only.
    this.#relation = {
      ...relation,
      columns: relation.columns.map((column) =>
        column.index >= before ? { ...column, name: undefined } : column,
      ),
    };
  }

  #addStar(star: Extract<ast.Expression, { node: 'star' }>, input: readonly BoundColumn[]): void {
    for (const { name, column } of this.#scope(input).star?.(star) ?? []) {
      this.#push(name, column, undefined);
    }
  }

  #addItem(item: ast.SelectItem, input: readonly BoundColumn[]): void {
    const [alias, ...others] = item.aliases;
    if (others.length > 0) {
      throw fault(
        'UNSUPPORTED_GENERATOR.NOT_GENERATOR',
        'several names stand behind what is no generator',
        item.place,
      );
    }
    const bound = bindExpression(item.value, this.#scope(input));
    const value = inlinedAliases(bound, this.#aliasValues);
    const isOver = contains(bound, isAliasColumn);
    const name = alias?.text ?? sparkName(item.value);
    // What is read out of a struct or map is known by the name of the field, like an alias.
    const isField = value.node === 'call' && ['field', 'column'].includes(item.value.node);
    if (isOver) this.#overAliases.add(this.#aliasValues.length);
    this.#push(name, value, alias?.text ?? (isField ? name : undefined));
    if (isOver) this.#laterals.push(value);
  }

  #push(name: string, value: Expression, alias: string | undefined): void {
    this.#items.push({ name, value });
    if (alias === undefined) return;
    this.#aliases.push({
      name: alias,
      type: value.type,
      index: aliasBase + this.#aliasValues.length,
      broken: false,
    });
    this.#aliasValues.push(value);
  }

  #scope(columns: readonly BoundColumn[]): ExpressionScope {
    const scope: ExpressionScope = batchScope(
      {
        columns,
        aliases: this.#aliases,
        call: (node, bind) =>
          bindSpecialCall(node, bind, this.#rules(scope, 'NESTED_IN_EXPRESSIONS')),
      },
      this.#context,
    );
    return { ...scope, resolve: (name) => this.#orGroupingId(name, scope.resolve) };
  }

  #rules(scope: ExpressionScope, generatorKind: CallRules['generatorKind']): CallRules {
    return {
      aggregateFault: undefined,
      windowFault: undefined,
      generatorKind,
      timeZone: this.#context.timeZone,
      star: (node) => scope.star?.(node) ?? [],
      window: (node, bind) => bindWindow(node, bind, this.#select.windows, this.#context.timeZone),
      other: (node, bind) => this.#ownCall(node, bind),
    };
  }

  #ownCall(node: ast.CallExpression, bind: Bind): Expression | undefined {
    switch (functionName(node)) {
      case 'window':
      case 'session_window':
        return this.#timeWindow(node, bind);
      case 'window_time':
        return this.#windowTime(node, bind);
      default:
        return this.#groupingCall(node, bind);
    }
  }

  /** The column of a time window; the rows of the input are multiplied by their windows once. */
  #timeWindow(node: ast.CallExpression, bind: Bind): Expression {
    const window = boundTimeWindow(node, bind, this.#context.timeZone);
    const known = this.#windows.find(
      (one) => one.name === window.name && sameExpression(one.time, window.time),
    );
    if (known !== undefined) return { ...known.column, place: node.place };
    const [made] = window.generator.columns;
    if (made === undefined) throw new TypeError('a window has one column');
    const column: BoundColumn = {
      ...made,
      index: widthOf(this.#relation),
      qualifier: [],
      hidden: false,
      broken: false,
      place: node.place,
    };
    this.#relation = {
      plan: {
        node: 'generate',
        input: this.#relation.plan,
        generator: window.generator,
        outer: false,
        place: node.place,
      },
      columns: [...this.#relation.columns, column],
    };
    this.#windows.push({ ...window, column: columnNode(column) });
    return columnNode(column);
  }

  #windowTime(node: ast.CallExpression, bind: Bind): Expression {
    const [argument, ...others] = node.arguments;
    if (argument === undefined || others.length > 0) {
      throw fault('WRONG_NUM_ARGS.WITHOUT_SUGGESTION', 'window_time takes 1 argument', node.place);
    }
    if (this.#select.groupBy !== undefined) {
      throw fault(
        'MISSING_AGGREGATION',
        'window_time reads a window that this query only makes',
        node.place,
        'Call it in a query around this one.',
      );
    }
    return windowEnd(bind(argument), node.place);
  }

  /** Windows of GROUP BY are known by their name in the select list. */
  #bindGroupedWindows(): void {
    for (const item of this.#select.groupBy?.items ?? []) {
      if (item.node !== 'call' || !isTimeWindow(functionName(item))) continue;
      const scope = this.#plainScope(this.#relation.columns);
      try {
        this.#timeWindow(item, (part) => bindExpression(part, scope));
      } catch (error) {
        // It is told where it stands, unless something before it is wrong too.
        if (!(error instanceof FaultError)) throw error;
      }
    }
  }

  #groupingCall(node: ast.CallExpression, bind: Bind): Expression | undefined {
    const name = functionName(node);
    if (name !== 'grouping' && name !== 'grouping_id') return undefined;
    if (name === 'grouping' && node.arguments.length !== 1) {
      throw fault('WRONG_NUM_ARGS.WITHOUT_SUGGESTION', 'grouping takes 1 argument', node.place);
    }
    return groupingMarker(name, node.arguments.map(bind), node.place);
  }

  // -------------------------------------------------------------- grouping

  #isGrouped(): boolean {
    return this.#select.groupBy !== undefined || this.#select.having !== undefined;
  }

  #groupingOptions(): Parameters<typeof groupingShape>[1] {
    return {
      items: this.#items.map((item) => item.value),
      hasStar: this.#select.items.some((item) => item.value.node === 'star'),
      laterals: this.#laterals,
      bind: (node) => {
        const { columns } = this.#relation;
        const scope = batchScope(
          {
            columns,
            aliases: this.#aliases,
            call: (call, bind) =>
              bindSpecialCall(call, bind, {
                ...plainRules(this.#context, 'OUTSIDE_SELECT', {
                  aggregate: 'GROUP_BY_AGGREGATE',
                  window: 'UNSUPPORTED_EXPR_FOR_WINDOW',
                }),
                other: (one, inner) => this.#ownCall(one, inner),
              }),
          },
          this.#context,
        );
        const bound = bindExpression(node, scope);
        if (isAliasColumn(bound)) {
          if (this.#overAliases.has(bound.index - aliasBase)) throw lateralKey(node.place);
        }
        return inlinedAliases(bound, this.#aliasValues);
      },
    };
  }

  /** Sessions are joined once the keys beside them are known. */
  #withSessions(plan: BatchPlan, keys: readonly Expression[]): BatchPlan {
    const session = this.#windows.find((window) => window.isSession);
    if (session === undefined) return plan;
    const others = keys.filter((key) => !sameExpression(key, session.column));
    return { node: 'sessions', input: plan, session: session.column.index, keys: others };
  }

  #bindHaving(): Expression | undefined {
    const { having } = this.#select;
    if (having === undefined) return undefined;
    return this.#condition(having, 'HAVING', 'WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE');
  }

  #bindQualify(): Expression | undefined {
    const { qualify } = this.#select;
    if (qualify === undefined) return undefined;
    const condition = this.#condition(qualify, 'QUALIFY', undefined);
    if (this.#select.groupBy === undefined && contains(condition, isAggregateNode)) {
      throw fault(
        'QUALIFY_AGGREGATE_NOT_ALLOWED',
        'QUALIFY looks at rows, not at aggregates',
        qualify.place,
        'Put conditions on aggregates into HAVING.',
      );
    }
    const all = [condition, ...this.#items.map((item) => item.value)];
    if (all.some((value) => contains(value, isWindowNode))) return condition;
    throw fault(
      'QUALIFY_REQUIRES_WINDOW_FUNCTION',
      'neither QUALIFY nor the select list has a window function',
      qualify.place,
      'Put the condition into WHERE.',
    );
  }

  #condition(node: ast.Expression, clause: string, windowFault: string | undefined): Expression {
    const scope = this.#outputScope(windowFault, clause === 'HAVING');
    const bound = inlinedAliases(bindExpression(node, scope), this.#aliasValues, true);
    if (bound.type.kind === 'void') return castTo(bound, types.boolean);
    if (bound.type.kind === 'boolean') return bound;
    // As Spark's parser does, HAVING casts what is no condition.
    if (clause === 'HAVING') return writtenCast(bound, types.boolean, 'ansi', bound.place);
    throw mismatch('FILTER_NOT_BOOLEAN', `${clause} needs a boolean`, bound.place);
  }

  /** Names are those of the result first, then those of the input; with `keysFirst` those of GROUP BY before both. */
  #outputScope(windowFault: string | undefined, keysFirst = false): ExpressionScope {
    const inputScope = this.#relation.columns;
    const named = this.#items.map((item, i) => ({ ...item, index: i }));
    const from = this.#aliasValues.length;
    this.#aliasValues.push(...this.#items.map((item) => item.value));
    const scope: ExpressionScope = batchScope(
      {
        columns: inputScope,
        aliases: this.#aliases,
        lendsAggregates: keysFirst,
        call: (node, bind) =>
          bindSpecialCall(node, bind, {
            ...this.#rules(scope, 'OUTSIDE_SELECT'),
            windowFault,
          }),
      },
      this.#context,
    );
    const { resolve } = scope;
    return {
      ...scope,
      resolve: (name) => {
        const [only, ...rest] = name.parts;
        const found =
          only === undefined
            ? []
            : named.filter((item) => nameKey(item.name) === nameKey(only.text));
        const [first] = found;
        const isOutput =
          first !== undefined &&
          (found.length === 1 || found.every((one) => sameExpression(one.value, first.value)));
        if (!isOutput) return this.#orGroupingId(name, resolve);
        const key = keysFirst ? this.#keyNamed(name, resolve) : undefined;
        if (key !== undefined) return key;
        const column: Expression = {
          node: 'column',
          index: aliasBase + from + first.index,
          name: first.name,
          type: first.value.type,
          place: name.place,
        };
        return { column, fields: rest };
      },
    };
  }

  #keyNamed(name: ast.Name, resolve: ExpressionScope['resolve']): ResolvedName | undefined {
    try {
      const found = resolve(name);
      const isKey = this.#keys.some((key) => sameExpression(key, found.column));
      return isKey && !isAliasColumn(found.column) ? found : undefined;
    } catch (error) {
      if (error instanceof FaultError) return undefined;
      throw error;
    }
  }

  /** The hidden column `grouping__id` is the number of the grouping. */
  #orGroupingId(name: ast.Name, resolve: ExpressionScope['resolve']): ResolvedName {
    try {
      return resolve(name);
    } catch (error) {
      const isAsked = name.parts.length === 1 && nameKey(name.parts[0]?.text ?? '') === groupingId;
      if (!isAsked || this.#select.groupBy === undefined) throw error;
      return { column: groupingMarker('grouping_id', [], name.place), fields: [] };
    }
  }

  // -------------------------------------------------------------- ORDER BY

  #bindOrder(items: readonly ast.OrderItem[], grouped: boolean): ReturnType<typeof sortKey>[] {
    const [first] = items;
    const hasAll = this.#items.some((item) => nameKey(item.name) === 'all');
    if (first !== undefined && isOrderByAll(items) && !hasAll) {
      return this.#items.map((item) => sortKey(first, item.value));
    }
    const scope = this.#outputScope(undefined);
    return items.map((item) => {
      const ordinal = ordinalOf(item.value, this.#items.length, 'ORDER_BY');
      const value =
        ordinal === undefined
          ? this.#orderValue(item.value, scope, grouped)
          : this.#items[ordinal]?.value;
      if (value === undefined) throw new RangeError('no such column');
      return sortKey(item, value);
    });
  }

  #orderValue(node: ast.Expression, scope: ExpressionScope, grouped: boolean): Expression {
    const bound = this.#bindOrderItem(node, scope);
    const values = this.#items.map((item) => item.value);
    checkOrderItem(bound);
    requireSortable(bound, values, grouped);
    const value = inlinedAliases(bound, this.#aliasValues);
    const isSelected = this.#items.some((item) => sameExpression(item.value, value));
    if (this.#havingReadsMore && !isSelected) requireKept(bound, this.#keys);
    return value;
  }

  /** A name of the result that has no such field or element may mean a key of the same name. */
  #bindOrderItem(node: ast.Expression, scope: ExpressionScope): Expression {
    try {
      return bindExpression(node, scope);
    } catch (error) {
      const isPart =
        error instanceof FaultError &&
        /^(?:INVALID_EXTRACT|FIELD_NOT_FOUND)/.test(error.fault.code);
      if (!isPart || this.#keys.length === 0) throw error;
      return bindExpression(node, this.#outputScope(undefined, true));
    }
  }
}

/** What ORDER BY and HAVING name is a column of the result or a key, so that any other is said to be none. */
function clauseOver(grouping: Grouping, value: Expression): Expression {
  try {
    return grouping.over(value);
  } catch (error) {
    const isMissing =
      error instanceof FaultError && /^MISSING_(?:AGGREGATION|GROUP_BY)$/.test(error.fault.code);
    if (!isMissing) throw error;
    throw fault('UNRESOLVED_COLUMN.WITH_SUGGESTION', error.fault.message, error.fault.place);
  }
}

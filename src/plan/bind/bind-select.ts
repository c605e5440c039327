import type { Place } from '../../base/place.ts';
import { isOrderable } from '../../data/compare.ts';
import { formatType } from '../../data/type-text.ts';
import { literal } from '../../expr/call.ts';
import { columnsOf, isDeterministic } from '../../expr/columns.ts';
import type { Expression as BoundExpression } from '../../expr/expression.ts';
import type { CallExpression, Expression, SelectItem, SelectQuery } from '../../sql/ast.ts';
import { AlreadyReported, planFault, planWarning } from '../faults.ts';
import { refuseLimit } from '../flows/limit.ts';
import { type ColumnNode, columnNode, moveColumns } from '../flows/move-columns.ts';
import {
  checkRowExpression,
  generatorOf,
  isAggregate,
  type RowClause,
} from '../flows/row-rules.ts';
import { hasWatermark } from '../flows/stream-kind.ts';
import { bindTimeWindows, isWindow, type WindowedRelation } from '../flows/time-window.ts';
import type { ProjectedColumn } from '../pipeline-plan.ts';
import { type BoundRelation, withStep } from '../relation.ts';
import { asCondition } from './as-condition.ts';
import { autoName } from './auto-name.ts';
import type { BindContext } from './bind-context.ts';
import { bindExpression, type ExpressionScope } from './bind-expression.ts';
import { bindRelation, notStreaming } from './bind-relation.ts';
import { bindRow } from './bind-row.ts';
import type { BoundColumn } from './bound-column.ts';
import { bindGenerator } from './generator.ts';
import { nameKey } from './names.ts';
import type { LateralAlias } from './scope.ts';
import { expandStar, type StarColumn } from './star.ts';

/**
 * Binds one SELECT of a streaming flow: FROM, LATERAL VIEW, WHERE, generator, select list, in the order
 * in which rows go through them. Rules of syntax are checked first, so that they are told even where
 * FROM cannot be bound.
 */
export function bindSelect(select: SelectQuery, context: BindContext): BoundRelation | undefined {
  const clauses = checkClauses(select, context);
  const from = bindFrom(select, context);
  if (from === undefined) {
    bindWithoutColumns(select, clauses, context);
    return undefined;
  }
  refuseLimit(from, context.faults);
  const viewed = bindLateralViews(select, from, context);
  if (viewed === undefined) return undefined;
  const windowed = bindTimeWindows(
    clauses.isWhereFine ? select : withoutWhere(select),
    viewed,
    context,
  );
  if (windowed === undefined) return undefined;
  const filtered = clauses.isWhereFine ? bindWhere(select, windowed, context) : windowed.relation;
  const projected = bindItems(
    select,
    { ...windowed, relation: filtered },
    clauses.fineItems,
    context,
  );
  return projected === undefined ? undefined : withDistinct(select, filtered, projected, context);
}

// ---------------------------------------------------------------- what a stream cannot do

type CheckedClauses = {
  readonly isWhereFine: boolean;
  /** The items that may be bound. */
  readonly fineItems: ReadonlySet<SelectItem>;
};

function checkClauses(select: SelectQuery, context: BindContext): CheckedClauses {
  const { faults } = context;
  const { groupBy, having, qualify } = select;
  if (groupBy !== undefined) {
    faults.add(
      planFault('GROUP_BY_REFUSED', 'a streaming flow cannot have GROUP BY', groupBy.place, {
        detail: 'A group is complete only when the stream ends.',
        hint: 'Group in a materialized view over the table: CREATE MATERIALIZED VIEW … AS SELECT … GROUP BY … . For distinct rows use SELECT DISTINCT.',
      }),
    );
  }
  if (having !== undefined) {
    faults.add(
      planFault('HAVING_REFUSED', 'a streaming flow cannot have HAVING', having.place, {
        hint:
          groupBy === undefined && !containsAggregate(having)
            ? 'Use WHERE.'
            : 'Filter groups in a materialized view over the table.',
      }),
    );
  }
  if (qualify !== undefined) {
    faults.add(
      planFault('QUALIFY_REFUSED', 'a streaming flow cannot have QUALIFY', qualify.place, {
        detail: 'Which rows stand beside a row depends on how many have arrived.',
        hint: 'REPLACE USING keeps the rows of the highest sequence of each key already: drop QUALIFY.',
      }),
    );
  }
  const hasWatermarks = select.from.some(hasWatermark);
  const where: RowClause = {
    clause: 'WHERE',
    allowsGenerator: false,
    hasWatermark: hasWatermarks,
  };
  const list: RowClause = {
    clause: 'the select list',
    allowsGenerator: true,
    hasWatermark: hasWatermarks,
  };
  const isWhereFine = select.where === undefined || checkRowExpression(select.where, where, faults);
  const fine = select.items.filter((item) => checkRowExpression(item.value, list, faults));
  return { isWhereFine, fineItems: new Set(fine) };
}

function containsAggregate(expression: Expression): boolean {
  return expression.node === 'call' && isAggregate(expression);
}

// ---------------------------------------------------------------- FROM, LATERAL VIEW, WHERE

/** Where FROM has a fault, or is not there, what is wrong in expressions whatever the columns are is told too. */
function bindWithoutColumns(
  select: SelectQuery,
  clauses: CheckedClauses,
  { catalog, faults }: BindContext,
): void {
  const names: ExpressionScope = {
    timeZone: catalog.timeZone,
    resolve: (name) => {
      throw new AlreadyReported(name.place);
    },
    call: (call) => {
      if (isWindow(call) || generatorOf(call) !== undefined) throw new AlreadyReported(call.place);
      return undefined;
    },
  };
  const values = select.items
    .filter((item) => clauses.fineItems.has(item))
    .map((item) => item.value);
  const where = select.where !== undefined && clauses.isWhereFine ? [select.where] : [];
  for (const value of [...values, ...where]) {
    if (value.node !== 'star') faults.attempt(() => bindExpression(value, names));
  }
}

function bindFrom(select: SelectQuery, context: BindContext): BoundRelation | undefined {
  const [first, ...others] = select.from;
  if (first === undefined)
    return notStreaming('a SELECT without FROM', select.place, context.faults);
  if (others.length === 0) return bindRelation(first, context);
  let left = first;
  for (const right of others) {
    left = {
      node: 'join',
      kind: 'cross',
      natural: false,
      lateral: false,
      left,
      right,
      on: undefined,
      using: [],
      place: right.place,
    };
  }
  return bindRelation(left, context);
}

function bindLateralViews(
  select: SelectQuery,
  from: BoundRelation,
  context: BindContext,
): BoundRelation | undefined {
  let relation: BoundRelation | undefined = from;
  for (const view of select.lateralViews) {
    if (relation === undefined) return undefined;
    const bound = bindGenerator({
      call: view.call,
      relation,
      outer: view.outer,
      names: view.columns,
      qualifier: view.table === undefined ? [] : [nameKey(view.table.text)],
      context,
    });
    relation = bound?.relation;
  }
  return relation;
}

function withoutWhere(select: SelectQuery): SelectQuery {
  return { ...select, where: undefined };
}

function bindWhere(
  select: SelectQuery,
  { relation, windowOf }: WindowedRelation,
  context: BindContext,
): BoundRelation {
  const { where } = select;
  if (where === undefined) return relation;
  const aliases = new Map(
    select.items.flatMap((item) => item.aliases.map((alias) => [nameKey(alias.text), item])),
  );
  const hintFor = (name: string): string | undefined =>
    aliases.has(nameKey(name))
      ? `"${name}" is an alias of the select list, which WHERE does not see: repeat its expression, or filter outside a subquery.`
      : undefined;
  const scope = { columns: relation.columns, aliases: [], hintFor, callOf: windowOf };
  const bound = bindRow(where, scope, context);
  if (bound === undefined) return relation;
  const condition = context.faults.attempt(() => asCondition(bound, 'WHERE'));
  return condition === undefined ? relation : withStep(relation, { step: 'filter', condition });
}

// ---------------------------------------------------------------- the select list

/** One column of the result, over the row before it and the items before it. */
type Item = {
  readonly name: string | undefined;
  readonly value: BoundExpression;
  readonly broken: boolean;
  readonly place: Place;
};

type ItemList = {
  readonly items: Item[];
  readonly aliases: LateralAlias[];
  /** Width of the row under the items: item `i` is column `width + i` to the items behind it. */
  readonly width: number;
  readonly relation: BoundRelation;
  readonly windowOf: WindowedRelation['windowOf'];
  readonly context: BindContext;
  /** Which columns a star with a fault would give is not known, so nothing is said of what may be among them. */
  isComplete: boolean;
};

function bindItems(
  select: SelectQuery,
  { relation, windowOf }: WindowedRelation,
  fine: ReadonlySet<SelectItem>,
  context: BindContext,
): BoundRelation | undefined {
  const generators = select.items.filter(
    (item) => fine.has(item) && generatorOf(item.value) !== undefined,
  );
  const [generatorItem, second] = generators;
  if (second !== undefined) {
    context.faults.add({
      severity: 'error',
      code: 'UNSUPPORTED_GENERATOR.MULTI_GENERATOR',
      message: 'a select list can have one generator only',
      hint: 'Nest them: put one into a subquery, or write LATERAL VIEW for each.',
      place: second.place,
    });
    return undefined;
  }
  const generated =
    generatorItem === undefined ? undefined : bindItemGenerator(generatorItem, relation, context);
  const base = generated?.relation ?? relation;
  const list: ItemList = {
    items: [],
    aliases: [],
    width: base.width,
    relation,
    windowOf,
    context,
    isComplete: true,
  };
  warnOfBareAliases(select, relation, context);
  for (const item of select.items) {
    if (item !== generatorItem) addItem(list, item, fine.has(item));
    else if (generated === undefined) addBroken(list, item);
    else addGenerated(list, generated.columns);
  }
  return list.isComplete ? project(list, base) : undefined;
}

/** `SELECT id, cust seq` is valid, and no column seq comes out of it; one that is selected beside it is meant so. */
function warnOfBareAliases(
  { items }: SelectQuery,
  { columns }: BoundRelation,
  { faults }: BindContext,
): void {
  const selected = new Set(items.map(({ value }) => nameKey(lastPart(value) ?? '')));
  for (const { value, aliases, bareAliasPlace } of items) {
    const [alias] = aliases;
    const own = lastPart(value);
    if (bareAliasPlace === undefined || alias === undefined || own === undefined) continue;
    const key = nameKey(alias.text);
    const isColumn = columns.some(({ name, hidden }) => !hidden && nameKey(name ?? '') === key);
    if (!isColumn || selected.has(key)) continue;
    const message = `alias "${alias.text}" hides the column "${alias.text}" of the source`;
    faults.add(
      planWarning('ALIAS_HIDES_COLUMN', message, bareAliasPlace, {
        detail: `Without AS or a comma, column "${own}" is stored under the name "${alias.text}".`,
        hint: `Write AS if that is meant (${own} AS ${alias.text}), or a comma if both are (${own}, ${alias.text}).`,
      }),
    );
  }
}

/** The name of what is nothing but a column. */
function lastPart(value: Expression): string | undefined {
  return value.node === 'column' ? value.name.parts.at(-1)?.text : undefined;
}

function bindItemGenerator(item: SelectItem, relation: BoundRelation, context: BindContext) {
  return bindGenerator({
    call: item.value as CallExpression,
    relation,
    outer: false,
    names: item.aliases,
    qualifier: [],
    context,
  });
}

function addItem(list: ItemList, item: SelectItem, isFine: boolean): void {
  const { relation, context } = list;
  if (!isFine) {
    addBroken(list, item);
    return;
  }
  if (item.value.node === 'star') {
    const star = item.value;
    const columns = context.faults.attempt(() => expandStar(star, relation.columns));
    list.isComplete &&= columns !== undefined;
    for (const column of columns ?? []) addStarColumn(list, column);
    return;
  }
  const [alias, second] = item.aliases;
  if (second !== undefined) {
    const message = `one column has ${item.aliases.length} names`;
    const hint = 'Only a generator such as explode gives several columns.';
    context.faults.add(planFault('ALIAS_COLUMNS', message, second.place, { hint }));
  }
  const { aliases, windowOf } = list;
  const scope = { columns: relation.columns, aliases, callOf: windowOf };
  const bound = bindRow(item.value, scope, context);
  if (bound === undefined) {
    addBroken(list, item);
    return;
  }
  const name = alias?.text ?? itemName(item.value, bound, relation);
  push(list, { name, value: bound, broken: false, place: item.place }, alias !== undefined);
}

/** A column keeps the case of its declaration; everything else has the name that Spark gives it. */
function itemName(
  node: Expression,
  bound: BoundExpression,
  relation: BoundRelation,
): string | undefined {
  if (node.node === 'column' && bound.node === 'column') {
    return relation.columns.find((column) => column.index === bound.index)?.name ?? bound.name;
  }
  return node.node === 'call' && isWindow(node) ? 'window' : autoName(node);
}

function addStarColumn(list: ItemList, column: StarColumn): void {
  if (column.kind === 'column') {
    const { name, type, index, broken, place } = column.column;
    const value: BoundExpression = { node: 'column', type, index, name: name ?? '', place };
    push(list, { name, value, broken, place }, false);
    return;
  }
  const scope = { columns: list.relation.columns, aliases: [] };
  const value = bindRow(column.value, scope, list.context);
  if (value !== undefined) {
    push(list, { name: column.name, value, broken: false, place: column.value.place }, false);
  }
}

function addGenerated(list: ItemList, columns: readonly BoundColumn[]): void {
  for (const column of columns) {
    const { name, type, index, place } = column;
    const value: BoundExpression = { node: 'column', type, index, name: name ?? '', place };
    list.items.push({ name, value, broken: false, place });
    if (name !== undefined) list.aliases.push({ name, type, index, broken: false });
  }
}

function addBroken(list: ItemList, item: SelectItem): void {
  const names =
    item.aliases.length > 0 ? item.aliases.map((alias) => alias.text) : [autoName(item.value)];
  for (const name of names) {
    const value = literal(null, { kind: 'void' }, item.place);
    push(list, { name, value, broken: true, place: item.place }, item.aliases.length > 0);
  }
}

function push(list: ItemList, item: Item, isAliased: boolean): void {
  const index = list.width + list.items.length;
  list.items.push(item);
  if (!isAliased || item.name === undefined) return;
  list.aliases.push({ name: item.name, type: item.value.type, index, broken: item.broken });
}

// ---------------------------------------------------------------- projection

/**
 * Projects the items. Items that use aliases of others come in later steps: each step passes on the
 * row and adds the items that others wait for, and the last one gives the items in their order.
 */
function project(list: ItemList, base: BoundRelation): BoundRelation {
  const { items, width } = list;
  const { levels, awaited } = dependencies(list);
  const row: ColumnNode[] = base.columns.map(columnNode).sort((a, b) => a.index - b.index);
  const positions = new Map<number, number>();
  const moved = (item: Item): BoundExpression =>
    moveColumns(item.value, (index) => positions.get(index) ?? index);
  let relation = base;
  for (let level = 0; level < Math.max(0, ...levels); level++) {
    const columns: ProjectedColumn[] = row.map((value) => ({ name: value.name, value }));
    const added: number[] = [];
    for (const [i, item] of items.entries()) {
      if (levels[i] !== level || !awaited.has(i)) continue;
      columns.push({ name: item.name ?? '', value: moved(item) });
      added.push(i);
    }
    relation = withStep(relation, { step: 'project', columns });
    for (const i of added) {
      const item = items[i];
      if (item === undefined) continue;
      positions.set(width + i, row.length);
      row.push(columnNode({ ...item, type: item.value.type, index: row.length }));
    }
  }
  const columns = items.map((item, i): ProjectedColumn => {
    const known = row[positions.get(width + i) ?? -1];
    return { name: item.name ?? '', value: known ?? moved(item) };
  });
  const { branches } = withStep(relation, { step: 'project', columns });
  return { branches, width: columns.length, distinct: undefined, columns: items.map(itemColumn) };
}

function itemColumn(item: Item, index: number): BoundColumn {
  const { name, broken, place } = item;
  return { name, type: item.value.type, index, qualifier: [], hidden: false, broken, place };
}

/** How many steps each item has to wait for others, and which items others wait for. */
function dependencies(list: ItemList): { levels: number[]; awaited: ReadonlySet<number> } {
  const levels: number[] = [];
  const awaited = new Set<number>();
  for (const item of list.items) {
    let level = 0;
    for (const index of columnsOf(item.value)) {
      const other = levels[index - list.width];
      if (other === undefined) continue;
      awaited.add(index - list.width);
      level = Math.max(level, other + 1);
    }
    levels.push(level);
  }
  return { levels, awaited };
}

// ---------------------------------------------------------------- DISTINCT

/**
 * DISTINCT of this SELECT, or of the query that it reads where that still holds: it does while every
 * column of the inner query is passed on as it is.
 */
function withDistinct(
  select: SelectQuery,
  before: BoundRelation,
  projected: BoundRelation,
  context: BindContext,
): BoundRelation {
  const { faults } = context;
  if (select.distinct) {
    checkDistinctTypes(projected, context);
    return { ...projected, distinct: select.place };
  }
  const inner = before.distinct;
  if (inner === undefined) return projected;
  const last = projected.branches[0]?.steps.at(-1);
  const values = last?.step === 'project' ? last.columns.map(({ value }) => value) : [];
  const passed = new Set(values.flatMap((value) => (value.node === 'column' ? value.index : [])));
  const hasGenerator =
    select.lateralViews.length > 0 ||
    select.items.some((item) => generatorOf(item.value) !== undefined);
  const isKept =
    !hasGenerator &&
    before.columns.every((column) => passed.has(column.index)) &&
    values.every(isDeterministic);
  if (isKept) return { ...projected, distinct: inner };
  faults.add(
    planFault('DISTINCT_NESTED', 'DISTINCT stands inside the query', inner, {
      detail: 'Only the rows of the result are kept, so only they can be compared.',
      hint: 'Write SELECT DISTINCT in the outermost query, or pass every column of the inner one on.',
    }),
  );
  return projected;
}

function checkDistinctTypes(relation: BoundRelation, context: BindContext): void {
  for (const { name, type, broken, place } of relation.columns) {
    if (broken || isOrderable(type)) continue;
    context.faults.add(
      planFault(
        'DISTINCT_TYPE',
        `SELECT DISTINCT cannot compare column "${name ?? ''}" of type ${formatType(type)}`,
        place,
        { hint: 'Leave the column out, or turn it into text with to_json.' },
      ),
    );
  }
}

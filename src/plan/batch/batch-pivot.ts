import { FaultError } from '../../base/place.ts';
import { isOrderable } from '../../data/compare.ts';
import { formatType, sameType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import { findAggregate } from '../../expr/aggregate-registry.ts';
import { literal } from '../../expr/call.ts';
import { canCast } from '../../expr/cast-rules.ts';
import { castTo, commonTypeOf, commonTypeWithoutStrings } from '../../expr/coerce.ts';
import { constantValue, isConstant } from '../../expr/compile.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import { isNull, or } from '../../expr/operators/logic.ts';
import { isNumeric, types } from '../../expr/types.ts';
import type * as ast from '../../sql/ast.ts';
import { functionName } from '../bind/bind-call.ts';
import { bindExpression } from '../bind/bind-expression.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { nameKey } from '../bind/names.ts';
import { resolveColumn } from '../bind/scope.ts';
import { sparkName } from '../bind/spark-name.ts';
import { columnNode } from '../flows/move-columns.ts';
import { type BatchContext, type BatchRelation, batchScope } from './batch-context.ts';
import type { BatchPlan } from './batch-plan.ts';

type Place = ast.Query['place'];

/**
 * PIVOT, as the queries over groups that it stands for. As in Spark, numbers are aggregated for each
 * value first, so that a value without rows has NULL; other aggregates see no row then.
 */
export function bindPivot(
  input: BatchRelation,
  pivot: ast.Pivot,
  place: Place,
  context: BatchContext,
): BatchRelation {
  for (const { value } of pivot.aggregates) requireAggregate(value);
  const columns = input.columns.filter((column) => !column.hidden);
  const used = new Set(pivot.columns.map((column) => nameKey(column.text)));
  namesIn(
    pivot.aggregates.map((one) => one.value),
    used,
  );
  const groups = columns.filter((column) => !used.has(nameKey(column.name ?? '')));
  const build = new Build(
    place,
    groups.map((column) => column.name ?? ''),
  );
  const written = pivot.values.map((value) => pivotValue(value, pivot.columns.length, context));
  checkPivotTypes(pivot, written, columns);
  const values = written.map((value) => asTexts(value, pivot, columns));
  const named = pivot.aggregates.map((one, i) => ({
    name: one.name?.text ?? sparkName(one.value),
    inner: `aggregate ${i}`,
    value: one.value,
  }));
  const within = build.within(context, input);
  const keys = pivot.columns.map((column) => build.column(column.text));
  const byValue = build.grouped(
    [
      ...keys.map((key, i) => build.item(key, pivot.columns[i]?.text ?? '')),
      ...named.map((one) => build.item(one.value, one.inner)),
    ],
    keys,
  );
  const inner = context.bindQuery(byValue, within);
  const isNumber = inner.columns
    .slice(-named.length)
    .every(({ type }) => isNumeric(type) || type.kind === 'boolean');
  const items = values.flatMap(({ name, parts }) => {
    const isValue = parts
      .map((part, i) => build.binary('<=>', keys[i] ?? part, part))
      .reduce((a, b) => build.binary('and', a, b));
    return named.map((one) => {
      const value = isNumber
        ? build.first(build.column(one.inner), isValue)
        : filtered(one.value, isValue);
      return build.item(value, named.length === 1 ? name : `${name}_${one.name}`);
    });
  });
  const query = build.grouped(items, []);
  return context.bindQuery(query, isNumber ? build.within(context, inner) : within);
}

function requireAggregate(value: ast.Expression): void {
  let found = false;
  walk(value, (node) => {
    if (node.node === 'call' && findAggregate(functionName(node)) !== undefined) found = true;
  });
  if (found) return;
  throw fault('_LEGACY_ERROR_TEMP_1006', 'PIVOT needs an aggregate', value.place);
}

type AnyNode = { readonly node?: string };

/** Visits each node of a tree. */
function walk(tree: unknown, visit: (node: ast.Expression) => void): void {
  if (Array.isArray(tree)) {
    for (const one of tree) walk(one, visit);
  } else if (typeof tree === 'object' && tree !== null) {
    if (typeof (tree as AnyNode).node === 'string') visit(tree as ast.Expression);
    for (const one of Object.values(tree)) walk(one, visit);
  }
}

function namesIn(expressions: readonly ast.Expression[], names: Set<string>): void {
  walk(expressions, (node) => {
    if (node.node === 'column') for (const part of node.name.parts) names.add(nameKey(part.text));
  });
}

/** Each aggregate over the rows that fit, together with what filters it already. */
function filtered(tree: ast.Expression, condition: ast.Expression): ast.Expression {
  const copy = (one: unknown): unknown => {
    if (Array.isArray(one)) return one.map(copy);
    if (typeof one !== 'object' || one === null) return one;
    const made = Object.fromEntries(Object.entries(one).map(([key, value]) => [key, copy(value)]));
    const node = one as ast.Expression;
    if (node.node !== 'call' || findAggregate(functionName(node)) === undefined) return made;
    const { filter, place } = node;
    const both: ast.Expression =
      filter === undefined
        ? condition
        : { node: 'binary', operator: 'and', left: filter, right: condition, place };
    return { ...made, filter: both };
  };
  return copy(tree) as ast.Expression;
}

/** Of a column of texts the values are texts too, whatever they were written as. */
function asTexts(value: PivotValue, pivot: ast.Pivot, columns: readonly BoundColumn[]): PivotValue {
  const parts = value.parts.map((part, i): ast.Expression => {
    const key = nameKey(pivot.columns[i]?.text ?? '');
    const column = columns.find((one) => nameKey(one.name ?? '') === key);
    const text = value.texts[i];
    const isOther = value.types[i]?.kind !== 'string' && value.types[i]?.kind !== 'void';
    if (column?.type.kind !== 'string' || !isOther || text === undefined) return part;
    return { node: 'string', value: text, place: part.place };
  });
  return { ...value, parts };
}

/** The columns can be compared, and the values go into their types. */
function checkPivotTypes(
  pivot: ast.Pivot,
  values: readonly PivotValue[],
  columns: readonly BoundColumn[],
): void {
  pivot.columns.forEach((named, i) => {
    const column = columns.find((one) => nameKey(one.name ?? '') === nameKey(named.text));
    if (column === undefined) return;
    if (!isOrderable(column.type)) {
      throw fault(
        'INCOMPARABLE_PIVOT_COLUMN',
        `values of type ${formatType(column.type)} can't be compared`,
        named.place,
      );
    }
    for (const value of values) {
      const type = value.types[i] ?? column.type;
      // In a row of values a text is no number, which could come out as NULL.
      const isRow = pivot.columns.length > 1;
      const fits = sameType(type, column.type) || (!isRow && canCast(type, column.type));
      if (fits || (isRow && isNumeric(type) && isNumeric(column.type))) continue;
      throw fault(
        'PIVOT_VALUE_DATA_TYPE_MISMATCH',
        `a value of type ${formatType(type)} is none of ${named.text}, which is ${formatType(column.type)}`,
        value.parts[i]?.place ?? named.place,
      );
    }
  });
}

type PivotValue = {
  readonly name: string;
  readonly parts: readonly ast.Expression[];
  readonly types: readonly DataType[];
  /** Each part as a text. */
  readonly texts: readonly string[];
};

/** A value that rows are put under: its parts, and its name or the text that stands for one. */
function pivotValue(written: ast.Expression, count: number, context: BatchContext): PivotValue {
  const value = written.node === 'alias' ? written.value : written;
  const parts = count > 1 && value.node === 'tuple' ? value.items : [value];
  if (parts.length !== count) {
    throw fault('PIVOT_VALUE_DATA_TYPE_MISMATCH', `PIVOT needs ${count} values`, value.place);
  }
  const bounds = parts.map((part) => boundConstant(part, context));
  const texts = bounds.map((bound) => {
    return (constantValue(castTo(bound, types.string), context.timeZone) ?? 'null') as string;
  });
  const text = count > 1 ? `{${texts.join(', ')}}` : (texts[0] ?? '');
  const name = written.node === 'alias' ? written.name.text : text;
  return { name, parts, texts, types: bounds.map((bound) => bound.type) };
}

function boundConstant(part: ast.Expression, context: BatchContext): Expression {
  const wrong = (): Error =>
    fault('NON_LITERAL_PIVOT_VALUES', 'a value of PIVOT must be constant', part.place);
  try {
    const bound = bindExpression(part, batchScope({ columns: [], call: undefined }, context));
    if (!isConstant(bound)) throw wrong();
    return bound;
  } catch (error) {
    const isColumn =
      error instanceof FaultError && error.fault.code.startsWith('UNRESOLVED_COLUMN');
    throw isColumn ? wrong() : error;
  }
}

const sourceName = 'pivoted relation';

/** Makes the queries that PIVOT stands for. */
class Build {
  readonly #place: Place;
  readonly #groups: readonly string[];

  constructor(place: Place, groups: readonly string[]) {
    this.#place = place;
    this.#groups = groups;
  }

  #identifier(text: string): ast.Identifier {
    return { text, quoted: true, place: this.#place };
  }

  column(text: string): ast.Expression {
    const name = { parts: [this.#identifier(text)], place: this.#place };
    return { node: 'column', name, place: this.#place };
  }

  item(value: ast.Expression, name: string): ast.SelectItem {
    return { value, aliases: [this.#identifier(name)], place: this.#place };
  }

  binary(operator: '<=>' | 'and', left: ast.Expression, right: ast.Expression): ast.Expression {
    return { node: 'binary', operator, left, right, place: this.#place };
  }

  first(value: ast.Expression, filter: ast.Expression): ast.Expression {
    const name = { parts: [this.#identifier('first')], place: this.#place };
    return {
      ...{ node: 'call', name, distinct: false, arguments: [value], named: [] },
      ...{ filter, ignoreNulls: false, window: undefined, place: this.#place },
    };
  }

  /** The groups of the relation and further items, by the groups and further keys. */
  grouped(items: readonly ast.SelectItem[], keys: readonly ast.Expression[]): ast.Query {
    const place = this.#place;
    const groups = this.#groups.map((name) => this.column(name));
    const by = [...groups, ...keys];
    const from: ast.Relation = {
      ...{ node: 'named', name: { parts: [this.#identifier(sourceName)], place } },
      ...{ stream: false, options: [], watermark: undefined, alias: undefined, place },
    };
    const body: ast.SelectQuery = {
      ...{ node: 'select', distinct: false, from: [from], lateralViews: [], where: undefined },
      items: [...groups.map((group, i) => this.item(group, this.#groups[i] ?? '')), ...items],
      groupBy: by.length === 0 ? undefined : { all: false, items: by, place },
      ...{ having: undefined, qualify: undefined, windows: [], place },
    };
    return {
      ...{ ctes: [], body, orderBy: [], otherOrder: undefined, orderPlace: undefined },
      ...{ limit: undefined, offset: undefined, place },
    };
  }

  within(context: BatchContext, relation: BatchRelation): BatchContext {
    const columns = relation.columns.filter((column) => !column.hidden);
    const source = { bind: () => ({ plan: relation.plan, columns }) };
    return { ...context, ctes: new Map(context.ctes).set(sourceName, source) };
  }
}

// ---------------------------------------------------------------- UNPIVOT

/** UNPIVOT: one row for each group of columns, with the name of the group and its values. */
export function bindUnpivot(
  input: BatchRelation,
  unpivot: ast.Unpivot,
  place: Place,
): BatchRelation {
  const visible = input.columns.filter((column) => !column.hidden);
  const groups = unpivot.groups.map(({ columns, alias }) => {
    const values = columns.map(
      (name) => resolveColumn(name, { columns: visible, aliases: [] }).column,
    );
    const name = alias?.text ?? columns.map((one) => one.parts.at(-1)?.text ?? '').join('_');
    return { name, values };
  });
  if (groups.some(({ values }) => values.length !== unpivot.values.length)) {
    throw fault(
      'UNPIVOT_VALUE_SIZE_MISMATCH',
      'each group of UNPIVOT has as many columns as there are values',
      place,
    );
  }
  const valueTypes = unpivot.values.map((_, i) => {
    const all = groups.map(({ values }) => values[i]?.type ?? types.void);
    const type = commonTypeOf(all, commonTypeWithoutStrings);
    if (type !== undefined) return type;
    throw fault(
      'UNPIVOT_VALUE_DATA_TYPE_MISMATCH',
      `the columns of UNPIVOT have no common type: ${all.map(formatType).join(', ')}`,
      place,
    );
  });
  const taken = new Set(
    groups.flatMap(({ values }) =>
      values.map((value) => (value.node === 'column' ? value.index : -1)),
    ),
  );
  const kept = visible.filter((column) => !taken.has(column.index));
  const shared: BatchPlan = { node: 'shared', input: input.plan, cell: { uses: groups.length } };
  const rowTypes = [...kept.map((column) => column.type), types.string, ...valueTypes];
  const plans = groups.map(
    ({ name, values }): BatchPlan => ({
      node: 'project',
      input: shared,
      values: [
        ...kept.map((column) => columnNode(column)),
        literal(name, types.string, place),
        ...values.map((value, i) => castTo(value, valueTypes[i] ?? value.type)),
      ],
    }),
  );
  const all = plans.reduce(
    (left, right): BatchPlan => ({
      ...{ node: 'set', operator: 'union', all: true, left, right, types: rowTypes },
    }),
  );
  const names = [...kept.map((column) => column.name), unpivot.name.text];
  const columns = rowTypes.map(
    (type, index): BoundColumn => ({
      name: names[index] ?? unpivot.values[index - names.length]?.text,
      ...{ type, index, qualifier: [], hidden: false, broken: false, place },
    }),
  );
  if (unpivot.includesNulls) return { plan: all, columns };
  const condition = columns
    .slice(kept.length + 1)
    .map((column) => isNull(columnNode(column), true, place))
    .reduce((a, b) => or(a, b, place));
  return { plan: { node: 'filter', input: all, condition }, columns };
}

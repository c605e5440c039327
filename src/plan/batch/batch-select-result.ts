import type { Place } from '../../base/place.ts';
import { isAggregateNode } from '../../expr/aggregate.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { sameExpression } from '../bind/same-expression.ts';
import { columnNode } from '../flows/move-columns.ts';
import { contains, type sortKey } from './batch-call.ts';
import { type BatchPlan, type BoundBatch, isWindowNode, type WindowNode } from './batch-plan.ts';
import { requireComparable } from './batch-rules.ts';

/** What is left to do for a SELECT once its rows are grouped and filtered. */
export type SelectOutcome = {
  readonly input: BatchPlan;
  /** Columns of the relation that the query reads. */
  readonly width: number;
  readonly items: readonly Expression[];
  readonly named: readonly { readonly name: string; readonly value: Expression }[];
  readonly keys: readonly ReturnType<typeof sortKey>[];
  readonly qualify: Expression | undefined;
  readonly isDistinct: boolean;
  readonly place: Place;
};

/** The last steps of a SELECT: window functions, QUALIFY, what is selected, DISTINCT and the order. */
export function selectResult(parts: SelectOutcome): BoundBatch {
  const { input, items, keys, qualify, named, isDistinct, place: selectPlace } = parts;
  let plan = input;
  const windows = new WindowColumns(widthAfter(input, parts.width));
  const values = items.map((item) => windows.over(item));
  const order = keys.map((key) => ({ ...key, value: windows.over(key.value) }));
  const condition = qualify === undefined ? undefined : windows.over(qualify);
  plan = windows.plan(plan);
  if (condition !== undefined) plan = { node: 'filter', input: plan, condition };
  const columns = named.map(
    ({ name, value }, index): BoundColumn => ({
      name,
      type: value.type,
      index,
      qualifier: [],
      hidden: false,
      broken: false,
      place: value.place,
    }),
  );
  const sorted = order.map((key) => {
    const at = values.findIndex((value) => sameExpression(value, key.value));
    return { key, at };
  });
  const extra = sorted.filter(({ at }) => at < 0).map(({ key }) => key.value);
  if (isDistinct) {
    const [stray] = extra;
    if (stray !== undefined)
      throw notSelected(
        stray,
        keys.some((key) => contains(key.value, isAggregateNode)),
      );
    requireComparable(
      columns.map((column) => column.type),
      selectPlace,
    );
  }
  plan = { node: 'project', input: plan, values: [...values, ...extra] };
  if (isDistinct) {
    plan = { node: 'distinct', input: plan, types: columns.map((column) => column.type) };
  }
  if (sorted.length > 0) {
    let next = values.length;
    const sortKeys = sorted.map(({ key, at }) => {
      const index = at < 0 ? next++ : at;
      const { type, place } = key.value;
      return { ...key, value: columnNode({ name: undefined, type, index, place }) };
    });
    plan = { node: 'sort', input: plan, keys: sortKeys };
  }
  if (extra.length > 0) plan = { node: 'project', input: plan, values: columns.map(columnNode) };
  return { plan, columns };
}

function widthAfter(plan: BatchPlan, width: number): number {
  switch (plan.node) {
    case 'aggregate':
      return plan.keys.length + plan.aggregates.length + (plan.sets === undefined ? 0 : 1);
    case 'filter':
      return widthAfter(plan.input, width);
    default:
      return width;
  }
}

function notSelected(stray: Expression, isAggregate: boolean): Error {
  return fault(
    isAggregate ? 'UNSUPPORTED_EXPR_FOR_OPERATOR' : 'UNRESOLVED_COLUMN.WITH_SUGGESTION',
    'SELECT DISTINCT is ordered by what it selects',
    stray.place,
  );
}

/** Collects window functions; their columns stand behind those of the rows. */
class WindowColumns {
  readonly #width: number;
  readonly #functions: WindowNode[] = [];

  constructor(width: number) {
    this.#width = width;
  }

  over(expression: Expression): Expression {
    if (isWindowNode(expression)) {
      let index = this.#functions.findIndex((known) => sameExpression(known, expression));
      if (index < 0) index = this.#functions.push(expression) - 1;
      const { type, place } = expression;
      return columnNode({ name: undefined, type, index: this.#width + index, place });
    }
    switch (expression.node) {
      case 'call':
        return { ...expression, arguments: expression.arguments.map((one) => this.over(one)) };
      case 'lambda':
        return { ...expression, body: this.over(expression.body) };
      default:
        return expression;
    }
  }

  plan(input: BatchPlan): BatchPlan {
    if (this.#functions.length === 0) return input;
    return { node: 'window', input, functions: this.#functions };
  }
}

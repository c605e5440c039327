import type { DataType } from '../../data/types.ts';
import { expressionText } from '../../expr/print.ts';
import { windowArray, windowType } from '../../expr/time-window.ts';
import type { CallExpression, Expression, SelectQuery } from '../../sql/ast.ts';
import { boundTimeWindow } from '../batch/batch-time-window.ts';
import type { BindContext } from '../bind/bind-context.ts';
import { bindRow } from '../bind/bind-row.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { expressionChildren } from '../bind/expression-children.ts';
import { checkIndexLevels } from '../bind/generator.ts';
import { AlreadyReported, planFault } from '../faults.ts';
import { type BoundRelation, withStep } from '../relation.ts';
import { functionName } from './row-rules.ts';

export type WindowedRelation = {
  /** With the window of each row behind its columns, where the query asks for one. */
  readonly relation: BoundRelation;
  /** The column that stands for a call of `window`. */
  readonly windowOf: (call: CallExpression) => BoundColumn | undefined;
};

/**
 * The windows in time that a SELECT asks for. A row comes once for each window that its time lies in, as in Spark,
 * and not at all where it has no time.
 */
export function bindTimeWindows(
  select: SelectQuery,
  relation: BoundRelation,
  context: BindContext,
): WindowedRelation | undefined {
  const nodes = [select.where, ...select.items.map(({ value }) => value)];
  const calls = nodes.flatMap((node) => (node === undefined ? [] : windowCalls(node)));
  const [first, ...others] = calls.map((call) => boundWindow(call, relation, context));
  if (calls.length === 0) return { relation, windowOf: () => undefined };
  if (first === undefined || others.includes(undefined)) return undefined;
  const other = others.findIndex((one) => one?.text !== first.text);
  if (other >= 0) {
    const place = calls[other + 1]?.place ?? select.place;
    const hint = 'Compute the second one in a query around this one.';
    const message = 'a select list can have one time window only';
    context.faults.add(planFault('TIME_WINDOWS', message, place, { hint }));
    return undefined;
  }
  const column: BoundColumn = {
    name: undefined,
    type: first.type,
    index: relation.width,
    qualifier: [],
    hidden: true,
    broken: false,
    place: select.place,
  };
  const windowed = withStep(relation, {
    step: 'explode',
    form: 'explode',
    outer: false,
    value: first.value,
    columns: [{ name: 'window', type: first.type }],
  });
  if (!checkIndexLevels(windowed, select.place, context.faults)) return undefined;
  return {
    relation: {
      ...windowed,
      width: relation.width + 1,
      columns: [...relation.columns, column],
    },
    windowOf: (call) => (isWindow(call) ? { ...column, place: call.place } : undefined),
  };
}

function windowCalls(node: Expression): readonly CallExpression[] {
  if (node.node === 'call' && isWindow(node)) return [node];
  return expressionChildren(node).flatMap(windowCalls);
}

export function isWindow(call: CallExpression): boolean {
  return functionName(call) === 'window' && call.window === undefined;
}

function boundWindow(call: CallExpression, relation: BoundRelation, context: BindContext) {
  const scope = { columns: relation.columns, aliases: [] };
  return context.faults.attempt(() => {
    const { time, lengths } = boundTimeWindow(
      call,
      (node) => {
        const bound = bindRow(node, scope, context);
        if (bound === undefined) throw new AlreadyReported(node.place);
        return bound;
      },
      context.catalog.timeZone,
    );
    if (lengths === undefined) throw new TypeError('window has its lengths');
    const value = windowArray(time, lengths, call.place);
    const type: DataType = windowType(time.type);
    return { value, type, text: expressionText(value) };
  });
}

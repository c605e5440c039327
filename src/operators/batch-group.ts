import type { DataType } from '../data/types.ts';
import type { Row, Value } from '../data/value.ts';
import type { Accumulator } from '../expr/aggregate.ts';
import type { Evaluator, Frame } from '../expr/expression.ts';
import { normalRow, orderComparator, type RowOrder, rowKey } from './batch-rows.ts';

/** One aggregate, ready to run. */
export type RowAggregate = {
  readonly arguments: readonly Evaluator[];
  readonly argumentTypes: readonly DataType[];
  readonly distinct: boolean;
  readonly filter: Evaluator | undefined;
  readonly orders: readonly RowOrder[];
  readonly start: () => Accumulator;
};

export type GroupOptions = {
  readonly keys: readonly Evaluator[];
  readonly keyTypes: readonly DataType[];
  readonly aggregates: readonly RowAggregate[];
  readonly sets: readonly { readonly keys: readonly number[]; readonly id: bigint }[] | undefined;
};

type Group = { readonly keys: Row; readonly members: readonly Member[] };

/** What one aggregate of one group is told of each row. */
type Member = {
  readonly add: (row: Row, frame: Frame) => void;
  readonly result: () => Value;
};

/** One row a group, in the order in which the groups were first seen. Without keys there is always one group. */
export function* groupedRows(
  input: Iterable<Row>,
  options: GroupOptions,
  frame: Frame,
): Iterable<Row> {
  const sets = options.sets ?? [{ keys: options.keys.map((_, i) => i), id: undefined }];
  const tables = sets.map((set) => ({ ...set, groups: new Map<Value, Group>() }));
  const keyOf = rowKey(options.keyTypes);
  const normal = normalRow(options.keyTypes);
  for (const row of input) {
    const values = options.keys.map((key) => key(row, frame));
    for (const { keys, groups } of tables) {
      const own = options.sets === undefined ? values : masked(values, keys);
      const key = own.length === 0 ? '' : keyOf(own);
      let group = groups.get(key);
      if (group === undefined) {
        group = { keys: normal(own), members: options.aggregates.map(newMember) };
        groups.set(key, group);
      }
      for (const member of group.members) member.add(row, frame);
    }
  }
  for (const { keys, id, groups } of tables) {
    // Over nothing a total beside other groupings is not there either, as in Spark.
    if (groups.size === 0 && keys.length === 0 && (options.sets?.length ?? 1) === 1) {
      groups.set('', {
        keys: options.keys.map(() => null),
        members: options.aggregates.map(newMember),
      });
    }
    for (const group of groups.values()) {
      const results = group.members.map((member) => member.result());
      yield [...group.keys, ...results, ...(id === undefined ? [] : [id])];
    }
  }
}

function masked(values: Row, keys: readonly number[]): Row {
  return values.map((value, i) => (keys.includes(i) ? value : null));
}

export function newMember(aggregate: RowAggregate): Member {
  const { filter, orders } = aggregate;
  const accumulator = aggregate.start();
  const seen = aggregate.distinct ? distinctFilter(aggregate.argumentTypes) : undefined;
  const isOrdered = orders.length > 0;
  const held: { values: Row; order: readonly Value[] }[] = [];
  return {
    add: (row, frame) => {
      if (filter !== undefined && filter(row, frame) !== true) return;
      const values = aggregate.arguments.map((argument) => argument(row, frame));
      if (seen !== undefined && !seen(values)) return;
      if (isOrdered) held.push({ values, order: orders.map((order) => order.value(row, frame)) });
      else accumulator.add(values);
    },
    result: () => {
      const compare = orderComparator(orders);
      held.sort((a, b) => compare(a.order, b.order));
      for (const { values } of held.splice(0)) accumulator.add(values);
      return accumulator.result();
    },
  };
}

/** Whether values were not there before. */
function distinctFilter(types: readonly DataType[]): (values: Row) => boolean {
  const keyOf = rowKey(types);
  const seen = new Set<Value>();
  return (values) => {
    const { size } = seen;
    return seen.add(keyOf(values)).size > size;
  };
}

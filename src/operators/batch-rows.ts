import { comparator } from '../data/compare.ts';
import type { DataType } from '../data/types.ts';
import type { Row, Value } from '../data/value.ts';
import type { Evaluator, Frame } from '../expr/expression.ts';
import { lookupKey, normalZero } from '../expr/value-set.ts';

/** Rows that are made when they are asked for; asking again makes them again. */
export type Rows = () => Iterable<Row>;

/** What a row is looked up by. Invariant: two rows have one key exactly when all their values are equal; NULL equals NULL. */
export function rowKey(types: readonly DataType[]): (values: Row) => Value {
  const keys = types.map(lookupKey);
  const [only] = keys;
  if (only !== undefined && keys.length === 1) return ([value = null]) => only(value);
  return (values) => {
    let text = '';
    for (const [i, key] of keys.entries()) {
      const part = partText(key(values[i] ?? null));
      text += `${part.length}:${part}`;
    }
    return text;
  };
}

function partText(value: Value): string {
  switch (typeof value) {
    case 'string':
      return `s${value}`;
    case 'bigint':
      return `b${value}`;
    case 'number':
      // Both zeros are one key.
      return `n${value === 0 ? 0 : value}`;
    default:
      return String(value);
  }
}

/** Values as grouping gives them back: -0.0 becomes 0.0. */
export function normalRow(types: readonly DataType[]): (values: Row) => Row {
  const isPlain = types.every((type) => type.kind !== 'double' && type.kind !== 'float');
  if (isPlain) return (values) => values;
  const normals = types.map(normalZero);
  return (values) => values.map((value, i) => normals[i]?.(value) ?? null);
}

export function* distinctRows(input: Iterable<Row>, types: readonly DataType[]): Iterable<Row> {
  const keyOf = rowKey(types);
  const normal = normalRow(types);
  const seen = new Set<Value>();
  for (const row of input) {
    const key = keyOf(row);
    if (seen.has(key)) continue;
    seen.add(key);
    yield normal(row);
  }
}

/** INTERSECT and EXCEPT; with ALL each row of the right side counts once. */
export function* setRows(
  left: Iterable<Row>,
  right: Iterable<Row>,
  options: {
    readonly operator: 'intersect' | 'except';
    readonly all: boolean;
    readonly types: readonly DataType[];
  },
): Iterable<Row> {
  const keyOf = rowKey(options.types);
  const counts = new Map<Value, number>();
  for (const row of right) {
    const key = keyOf(row);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const wantsMatch = options.operator === 'intersect';
  for (const row of options.all ? left : distinctRows(left, options.types)) {
    const key = keyOf(row);
    const count = counts.get(key) ?? 0;
    if (options.all && count > 0) counts.set(key, count - 1);
    if (count > 0 === wantsMatch) yield row;
  }
}

export type RowOrder = {
  readonly value: Evaluator;
  readonly type: DataType;
  readonly descending: boolean;
  readonly nullsFirst: boolean;
};

/** Compares the values of one order, made by `orderValues`. */
export function orderComparator(
  orders: readonly Omit<RowOrder, 'value'>[],
): (a: readonly Value[], b: readonly Value[]) => number {
  const compares = orders.map(({ type, descending, nullsFirst }) => {
    const compare = comparator(type);
    return (a: Value, b: Value): number => {
      if (a === null || b === null) {
        if (a === b) return 0;
        return (a === null) === nullsFirst ? -1 : 1;
      }
      return descending ? compare(b, a) : compare(a, b);
    };
  });
  return (a, b) => {
    for (const [i, compare] of compares.entries()) {
      const result = compare(a[i] ?? null, b[i] ?? null);
      if (result !== 0) return result;
    }
    return 0;
  };
}

/** The rows in order; equal ones stay as they were. */
export function sortedRows(
  input: Iterable<Row>,
  orders: readonly RowOrder[],
  frame: Frame,
): readonly Row[] {
  const compare = orderComparator(orders);
  return [...input]
    .map((row) => ({ row, values: orders.map((order) => order.value(row, frame)) }))
    .sort((a, b) => compare(a.values, b.values))
    .map(({ row }) => row);
}

export function* limitedRows(
  input: Iterable<Row>,
  limit: number | undefined,
  offset: number,
): Iterable<Row> {
  if (limit === 0) return;
  let at = 0;
  for (const row of input) {
    if (at >= offset) yield row;
    at += 1;
    if (limit !== undefined && at >= offset + limit) return;
  }
}

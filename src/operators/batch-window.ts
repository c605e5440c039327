import type { DataType } from '../data/types.ts';
import type { Row, Value } from '../data/value.ts';
import type { Evaluator, Frame } from '../expr/expression.ts';
import { newMember, type RowAggregate } from './batch-group.ts';
import { orderComparator, type RowOrder, rowKey } from './batch-rows.ts';

/** One window function, ready to run. */
export type RowWindow = {
  readonly function:
    | { readonly kind: 'aggregate'; readonly aggregate: RowAggregate }
    | {
        readonly kind: 'rank';
        readonly name: 'row_number' | 'rank' | 'dense_rank' | 'percent_rank' | 'cume_dist';
      }
    | { readonly kind: 'ntile'; readonly buckets: number }
    | { readonly kind: 'shift'; readonly by: number; readonly ignoreNulls: boolean }
    | { readonly kind: 'nth'; readonly n: number; readonly ignoreNulls: boolean };
  readonly arguments: readonly Evaluator[];
  readonly partitionBy: readonly Evaluator[];
  readonly partitionTypes: readonly DataType[];
  readonly orders: readonly RowOrder[];
  readonly unit: 'rows' | 'range';
  readonly from: RowBound;
  readonly to: RowBound;
};

export type RowBound =
  | { readonly at: 'start' | 'current' | 'end' }
  | { readonly at: 'rows'; readonly offset: number }
  | { readonly at: 'value'; readonly limit: Evaluator };

type Member = { readonly row: Row; readonly order: readonly Value[] };

/** The value of a window function for each row, in the order of the rows. */
export function windowValues(
  rows: readonly Row[],
  window: RowWindow,
  frame: Frame,
): readonly Value[] {
  const keyOf = rowKey(window.partitionTypes);
  const partitions = new Map<Value, number[]>();
  rows.forEach((row, i) => {
    const key =
      window.partitionBy.length === 0
        ? ''
        : keyOf(window.partitionBy.map((value) => value(row, frame)));
    const known = partitions.get(key);
    if (known === undefined) partitions.set(key, [i]);
    else known.push(i);
  });
  const results: Value[] = new Array<Value>(rows.length).fill(null);
  const compare = orderComparator(window.orders);
  for (const indexes of partitions.values()) {
    const members = indexes
      .map((index) => {
        const row = rows[index] ?? [];
        return { index, row, order: window.orders.map((order) => order.value(row, frame)) };
      })
      .sort((a, b) => compare(a.order, b.order));
    const values = partitionValues(members, window, frame, compare);
    members.forEach(({ index }, i) => {
      results[index] = values[i] ?? null;
    });
  }
  return results;
}

function partitionValues(
  members: readonly Member[],
  window: RowWindow,
  frame: Frame,
  compare: (a: readonly Value[], b: readonly Value[]) => number,
): readonly Value[] {
  const { function: fn } = window;
  switch (fn.kind) {
    case 'rank':
      return ranks(members, fn.name, compare);
    case 'ntile':
      return members.map((_, i) => bucketOf(i, members.length, fn.buckets));
    case 'shift': {
      const [value, otherwise] = window.arguments;
      const all = members.map(({ row }) => value?.(row, frame) ?? null);
      return members.map(({ row }, i) => {
        const at = shifted(all, i, fn.by, fn.ignoreNulls);
        return at === undefined ? (otherwise?.(row, frame) ?? null) : (all[at] ?? null);
      });
    }
    case 'nth':
    case 'aggregate':
      return framedValues(members, window, frame, compare);
  }
}

function ranks(
  members: readonly Member[],
  name: 'row_number' | 'rank' | 'dense_rank' | 'percent_rank' | 'cume_dist',
  compare: (a: readonly Value[], b: readonly Value[]) => number,
): readonly Value[] {
  const results: Value[] = [];
  let dense = 0;
  for (let start = 0; start < members.length; ) {
    const end = peersEnd(members, start, compare);
    dense += 1;
    for (let i = start; i < end; i += 1) {
      switch (name) {
        case 'row_number':
          results.push(i + 1);
          break;
        case 'rank':
          results.push(start + 1);
          break;
        case 'dense_rank':
          results.push(dense);
          break;
        case 'percent_rank':
          results.push(members.length < 2 ? 0 : start / (members.length - 1));
          break;
        case 'cume_dist':
          results.push(end / members.length);
          break;
      }
    }
    start = end;
  }
  return results;
}

function peersEnd(
  members: readonly Member[],
  start: number,
  compare: (a: readonly Value[], b: readonly Value[]) => number,
): number {
  const first = members[start]?.order ?? [];
  let end = start + 1;
  while (end < members.length && compare(members[end]?.order ?? [], first) === 0) end += 1;
  return end;
}

/** The first buckets get one row more where they can't all be equal. */
function bucketOf(index: number, count: number, buckets: number): number {
  const size = Math.floor(count / buckets);
  const larger = count % buckets;
  const inLarger = larger * (size + 1);
  return index < inLarger
    ? Math.floor(index / (size + 1)) + 1
    : larger + Math.floor((index - inLarger) / Math.max(1, size)) + 1;
}

function shifted(
  values: readonly Value[],
  index: number,
  by: number,
  ignoreNulls: boolean,
): number | undefined {
  if (!ignoreNulls || by === 0) {
    const at = index + by;
    return at >= 0 && at < values.length ? at : undefined;
  }
  const step = by > 0 ? 1 : -1;
  let rest = Math.abs(by);
  for (let at = index + step; at >= 0 && at < values.length; at += step) {
    if (values[at] === null) continue;
    rest -= 1;
    if (rest === 0) return at;
  }
  return undefined;
}

/** Frames only move forwards, but an accumulator can't forget: a frame that loses rows begins anew. */
function framedValues(
  members: readonly Member[],
  window: RowWindow,
  frame: Frame,
  compare: (a: readonly Value[], b: readonly Value[]) => number,
): readonly Value[] {
  const results: Value[] = [];
  let known: { start: number; end: number; value: Value } | undefined;
  let running: { start: number; end: number; member: ReturnType<typeof newMember> } | undefined;
  for (let i = 0; i < members.length; i += 1) {
    const [start, end] = boundsOf(members, i, window, frame, compare);
    if (known === undefined || known.start !== start || known.end !== end) {
      const { function: fn } = window;
      let value: Value;
      if (fn.kind === 'aggregate') {
        const canGoOn =
          running !== undefined &&
          running.start === start &&
          running.end <= end &&
          fn.aggregate.orders.length === 0;
        if (running === undefined || !canGoOn) {
          running = { start, end: start, member: newMember(fn.aggregate) };
        }
        for (; running.end < end; running.end += 1) {
          running.member.add(members[running.end]?.row ?? [], frame);
        }
        value = copied(running.member.result());
      } else {
        value = nth(members, start, end, window, frame);
      }
      known = { start, end, value };
    }
    results.push(known.value);
  }
  return results;
}

/** Collected arrays go on growing. */
function copied(value: Value): Value {
  return Array.isArray(value) ? [...(value as readonly Value[])] : value;
}

function nth(
  members: readonly Member[],
  start: number,
  end: number,
  window: RowWindow,
  frame: Frame,
): Value {
  const { function: fn } = window;
  if (fn.kind !== 'nth') return null;
  const [value] = window.arguments;
  let rest = fn.n;
  for (let i = start; i < end; i += 1) {
    const found = value?.(members[i]?.row ?? [], frame) ?? null;
    if (found === null && fn.ignoreNulls) continue;
    rest -= 1;
    if (rest === 0) return found;
  }
  return null;
}

/** The rows that the row sees, from the first to behind the last. */
function boundsOf(
  members: readonly Member[],
  index: number,
  window: RowWindow,
  frame: Frame,
  compare: (a: readonly Value[], b: readonly Value[]) => number,
): readonly [number, number] {
  const start = boundStart(members, index, window, frame, compare);
  const end = boundEnd(members, index, window, frame, compare);
  return [Math.min(start, members.length), Math.max(start, end)];
}

function boundStart(
  members: readonly Member[],
  index: number,
  { from, unit, orders }: RowWindow,
  frame: Frame,
  compare: (a: readonly Value[], b: readonly Value[]) => number,
): number {
  switch (from.at) {
    case 'start':
      return 0;
    case 'end':
      return members.length;
    case 'current': {
      if (unit === 'rows') return index;
      const own = members[index]?.order ?? [];
      return members.findIndex((member) => compare(member.order, own) === 0);
    }
    case 'rows':
      return Math.max(0, index + from.offset);
    case 'value': {
      const limit = limitOf(members[index], from.limit, orders, frame);
      const found = members.findIndex((member) => compare(member.order, [limit]) >= 0);
      return found < 0 ? members.length : found;
    }
  }
}

function boundEnd(
  members: readonly Member[],
  index: number,
  { to, unit, orders }: RowWindow,
  frame: Frame,
  compare: (a: readonly Value[], b: readonly Value[]) => number,
): number {
  switch (to.at) {
    case 'start':
      return 0;
    case 'end':
      return members.length;
    case 'current': {
      if (unit === 'rows') return index + 1;
      const own = members[index]?.order ?? [];
      return members.findLastIndex((member) => compare(member.order, own) === 0) + 1;
    }
    case 'rows':
      return Math.max(0, Math.min(members.length, index + to.offset + 1));
    case 'value': {
      const limit = limitOf(members[index], to.limit, orders, frame);
      return members.findLastIndex((member) => compare(member.order, [limit]) <= 0) + 1;
    }
  }
}

/** Of a row without an order the limit is NULL too, so that it sees its like. */
function limitOf(
  member: Member | undefined,
  limit: Evaluator,
  orders: readonly RowOrder[],
  frame: Frame,
): Value {
  if (member === undefined || orders.length === 0) return null;
  return limit(member.row, frame);
}

import type { DataType } from '../data/types.ts';
import type { Row, Value } from '../data/value.ts';
import type { Evaluator, Frame } from '../expr/expression.ts';
import { rowKey } from './batch-rows.ts';

export type SessionOptions = {
  readonly keys: readonly Evaluator[];
  readonly keyTypes: readonly DataType[];
  /** Position of the session that each row makes by itself: a struct of start and end. */
  readonly session: number;
};

/** The rows with the sessions that they end up in: those of one key that meet are one. */
export function* sessionRows(
  input: Iterable<Row>,
  { keys, keyTypes, session }: SessionOptions,
  frame: Frame,
): Iterable<Row> {
  const keyOf = rowKey(keyTypes);
  const groups = new Map<Value, Row[]>();
  for (const row of input) {
    const key = keys.length === 0 ? '' : keyOf(keys.map((one) => one(row, frame)));
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [row]);
    else known.push(row);
  }
  for (const rows of groups.values()) yield* mergedRows(rows, session);
}

function* mergedRows(rows: readonly Row[], session: number): Iterable<Row> {
  const bounds = (row: Row): readonly [bigint, bigint] =>
    row[session] as unknown as readonly [bigint, bigint];
  const sorted = [...rows].sort((a, b) => (bounds(a)[0] < bounds(b)[0] ? -1 : 1));
  let open: { start: bigint; end: bigint; rows: Row[] } | undefined;
  const closed = function* closed(): Iterable<Row> {
    if (open === undefined) return;
    const whole: Value = [open.start, open.end];
    for (const row of open.rows) yield row.toSpliced(session, 1, whole);
  };
  for (const row of sorted) {
    const [start, end] = bounds(row);
    if (open === undefined || start > open.end) {
      yield* closed();
      open = { start, end, rows: [row] };
    } else {
      open.rows.push(row);
      if (end > open.end) open.end = end;
    }
  }
  yield* closed();
}

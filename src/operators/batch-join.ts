import type { DataType } from '../data/types.ts';
import type { Row, Value } from '../data/value.ts';
import type { Evaluator, Frame } from '../expr/expression.ts';
import { rowKey } from './batch-rows.ts';

export type JoinOptions = {
  readonly kind: 'inner' | 'left' | 'right' | 'full' | 'left_semi' | 'left_anti';
  readonly leftWidth: number;
  readonly rightWidth: number;
  /** Values that must be equal; each list over its own side. */
  readonly leftKeys: readonly Evaluator[];
  readonly rightKeys: readonly Evaluator[];
  readonly keyTypes: readonly DataType[];
  /** For each key, whether NULL equals NULL. */
  readonly nullSafe: readonly boolean[];
  /** Over the values of both sides. */
  readonly condition: Evaluator | undefined;
};

type Candidate = { readonly row: Row; isMatched: boolean };

/**
 * Joins by a hash of the right side. Invariant: a row meets every row of the other side with equal keys
 * exactly once; rows without a partner come out once, with NULL for the other side, where the kind keeps them.
 */
export function* joinedRows(
  left: Iterable<Row>,
  right: Iterable<Row>,
  options: JoinOptions,
  frame: Frame,
): Iterable<Row> {
  const { kind, condition } = options;
  const keysOf = keyReader(options);
  const all: Candidate[] = [];
  const byKey = new Map<Value, Candidate[]>();
  for (const row of right) {
    const candidate = { row, isMatched: false };
    all.push(candidate);
    const key = keysOf(row, options.rightKeys, frame);
    if (key === undefined) continue;
    const known = byKey.get(key);
    if (known === undefined) byKey.set(key, [candidate]);
    else known.push(candidate);
  }
  const noRight: Row = new Array<Value>(options.rightWidth).fill(null);
  for (const row of left) {
    const key = keysOf(row, options.leftKeys, frame);
    const candidates = key === undefined ? [] : (byKey.get(key) ?? []);
    let isMatched = false;
    for (const candidate of candidates) {
      const both = [...row, ...candidate.row];
      if (condition !== undefined && condition(both, frame) !== true) continue;
      isMatched = true;
      candidate.isMatched = true;
      if (kind === 'left_semi' || kind === 'left_anti') break;
      yield both;
    }
    if (kind === 'left_semi' ? isMatched : kind === 'left_anti' && !isMatched) yield row;
    if ((kind === 'left' || kind === 'full') && !isMatched) yield [...row, ...noRight];
  }
  if (kind !== 'right' && kind !== 'full') return;
  const noLeft: Row = new Array<Value>(options.leftWidth).fill(null);
  for (const { row, isMatched } of all) if (!isMatched) yield [...noLeft, ...row];
}

/** The key of a row, or undefined where a NULL keeps it from being equal to any. */
function keyReader(
  options: JoinOptions,
): (row: Row, keys: readonly Evaluator[], frame: Frame) => Value | undefined {
  const { keyTypes, nullSafe } = options;
  if (keyTypes.length === 0) return () => '';
  const keyOf = rowKey(keyTypes);
  return (row, keys, frame) => {
    const values = keys.map((key) => key(row, frame));
    if (values.some((value, i) => value === null && nullSafe[i] !== true)) return undefined;
    return keyOf(values);
  };
}

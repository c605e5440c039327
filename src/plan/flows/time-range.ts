import { constantValue, isConstant } from '../../expr/compile.ts';
import type { Expression } from '../../expr/expression.ts';
import { sameExpression } from '../bind/same-expression.ts';
import { operationName } from '../explain/chance.ts';
import type { StreamTimes, WatermarkStep } from '../pipeline-plan.ts';
import type { BoundBranch, BoundRelation } from '../relation.ts';
import { atEnd, overSource } from '../upstream.ts';
import { columnNode } from './move-columns.ts';

/** By how much the time of the right side's row may differ from that of the left side's row. */
type Range = { low: bigint | undefined; high: bigint | undefined };

type Sides = { readonly left: BoundRelation; readonly right: BoundRelation };

/**
 * What a join's condition says of the times of two rows that go together, over the columns of a joined row: only what is
 * compared of the very columns that the watermarks of both sides are of. Invariant: a pair outside of the range does not
 * fulfil the condition, so that leaving its rows out is no more than the condition does.
 */
export function streamTimes(
  condition: Expression | undefined,
  { left, right }: Sides,
  timeZone: string,
): StreamTimes | undefined {
  const width = left.columns.length;
  const range: Range = { low: undefined, high: undefined };
  let times: { readonly left: number; readonly right: number } | undefined;
  for (const part of condition === undefined ? [] : conjuncts(condition)) {
    const found = comparedTimes(part, timeZone);
    if (found === undefined) continue;
    const [lower, higher] = [found.lower.column, found.higher.column];
    const ofLeft = Math.min(lower, higher);
    const ofRight = Math.max(lower, higher);
    if (ofLeft >= width || ofRight < width) continue;
    if (times !== undefined && (times.left !== ofLeft || times.right !== ofRight)) continue;
    if (delayOf(left, ofLeft) === undefined || delayOf(right, ofRight - width) === undefined)
      continue;
    times = { left: ofLeft, right: ofRight };
    // lower + a <= higher + b
    const difference = found.lower.offset - found.higher.offset;
    if (lower === ofLeft) range.low = most(range.low, difference, 1n);
    else range.high = most(range.high, -difference, -1n);
  }
  if (times === undefined) return undefined;
  return {
    ...times,
    lowMicros: range.low,
    highMicros: range.high,
    leftDelayMicros: delayOf(left, times.left) ?? 0n,
    rightDelayMicros: delayOf(right, times.right - width) ?? 0n,
  };
}

function most(known: bigint | undefined, found: bigint, sign: bigint): bigint {
  return known === undefined || (found - known) * sign > 0n ? found : known;
}

function conjuncts(condition: Expression): readonly Expression[] {
  if (condition.node !== 'call' || condition.operation.name !== 'and') return [condition];
  return condition.arguments.flatMap(conjuncts);
}

type Time = { readonly column: number; readonly offset: bigint };

/** `lower <= higher`, or `<`, of two columns with constant lengths of time beside them. */
function comparedTimes(
  part: Expression,
  timeZone: string,
): { readonly lower: Time; readonly higher: Time } | undefined {
  if (part.node !== 'call') return undefined;
  const [a, b] = part.arguments;
  if (a === undefined || b === undefined) return undefined;
  const [first, second] = [timeOf(a, timeZone), timeOf(b, timeZone)];
  if (first === undefined || second === undefined) return undefined;
  switch (operationName(part)) {
    case '<':
    case '<=':
      return { lower: first, higher: second };
    case '>':
    case '>=':
      return { lower: second, higher: first };
    default:
      return undefined;
  }
}

function timeOf(value: Expression, timeZone: string): Time | undefined {
  const { kind } = value.type;
  if (kind !== 'timestamp' && kind !== 'timestamp_ntz') return undefined;
  if (value.node === 'column') return { column: value.index, offset: 0n };
  if (value.node !== 'call') return undefined;
  const sign = { add: 1n, subtract: -1n }[operationName(value)];
  const [base, length] = value.arguments;
  if (sign === undefined || base === undefined || length === undefined) return undefined;
  if (length.type.kind !== 'interval_day_time' || !isConstant(length)) return undefined;
  const micros = constantValue(length, timeZone);
  const time = timeOf(base, timeZone);
  if (typeof micros !== 'bigint' || time === undefined) return undefined;
  return { column: time.column, offset: time.offset + sign * micros };
}

/** The delay of the watermark that a column of a relation is of, in every branch; undefined: it is of none. */
function delayOf({ branches, columns }: BoundRelation, position: number): bigint | undefined {
  const column = columns[position];
  if (column === undefined) return undefined;
  let longest: bigint | undefined;
  for (const branch of branches) {
    const value = overSource(atEnd(branch, columnNode(column)));
    const found = value === undefined ? undefined : watermarkOf(branch, value);
    if (found === undefined) return undefined;
    longest = most(longest, found.delayMicros, 1n);
  }
  return longest;
}

function watermarkOf(branch: BoundBranch, value: Expression): WatermarkStep | undefined {
  for (const [at, step] of branch.steps.entries()) {
    if (step.step !== 'watermark') continue;
    const time = overSource({
      expression: step.time,
      steps: branch.steps.slice(0, at),
      sourceWidth: branch.source.columns.length,
    });
    if (time !== undefined && sameExpression(time, value)) return step;
  }
  return undefined;
}

/** Whether every row of a relation has passed a watermark. */
export function hasWatermarks({ branches }: BoundRelation): boolean {
  return branches.every(({ steps }) => steps.some(({ step }) => step === 'watermark'));
}

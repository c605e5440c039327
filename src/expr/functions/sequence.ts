import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { CalendarInterval, Value } from '../../data/value.ts';
import { utc, type Zone } from '../../data/zones.ts';
import { argumentAt } from '../arguments.ts';
import { type StrictFunction, strictCall } from '../call.ts';
import { castTo, tightestType } from '../coerce.ts';
import {
  addInterval,
  dateOfTimestamp,
  microsPerDay,
  sessionZone,
  startOfDay,
} from '../datetime-math.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { mismatch } from '../faults.ts';
import type { FunctionCall, FunctionDefinition } from '../function.ts';
import { arrayLengthMax, tooLarge } from '../row-errors.ts';
import { arrayOf, isIntegral } from '../types.ts';

/** `sequence(start, stop[, step])` of integers, dates and timestamps; both ends belong to it. */
export const sequenceFunctions: readonly FunctionDefinition[] = [
  { names: ['sequence'], arity: [2, 3], bind: sequence },
];

function sequence(c: FunctionCall): Expression {
  const [start, stop] = [argumentAt(c, 0), argumentAt(c, 1)];
  const step = c.arguments[2];
  const ends = tightestType(start.type, stop.type);
  const isNumber = step === undefined || isIntegral(step.type) || step.type.kind === 'void';
  const isNumeric = ends !== undefined && isIntegral(ends) && isNumber;
  const type = isNumeric && step !== undefined ? tightestType(ends, step.type) : ends;
  if (isNumeric && type !== undefined) return integerSequence(c, type, [start, stop], step);
  if (type?.kind === 'date' || type?.kind === 'timestamp' || type?.kind === 'timestamp_ntz') {
    const isInterval =
      step === undefined ||
      step.type.kind === 'interval' ||
      step.type.kind === 'interval_day_time' ||
      step.type.kind === 'interval_year_month';
    if (isInterval) return datetimeSequence(c, type, [start, stop], step);
  }
  throw mismatch(
    'SEQUENCE_WRONG_INPUT_TYPES',
    `sequence does not go from ${formatType(start.type)} to ${formatType(stop.type)}`,
    c.place,
  );
}

function boundaries(): ExpressionError {
  return new ExpressionError(
    'ILLEGAL_SEQUENCE_BOUNDARIES',
    'the step of sequence does not lead from its start to its stop',
  );
}

function integerSequence(
  c: FunctionCall,
  type: DataType,
  ends: readonly [Expression, Expression],
  step: Expression | undefined,
): Expression {
  const args = [...ends, ...(step === undefined ? [] : [step])].map((e) => castTo(e, type));
  const toValue =
    type.kind === 'bigint' ? (v: bigint): Value => v : (v: bigint): Value => Number(v);
  return strictCall({
    name: `sequence(${formatType(type)})`,
    type: arrayOf(type),
    arguments: args,
    place: c.place,
    prepare: () => (from: number | bigint, to: number | bigint, by?: number | bigint) => {
      const [a, b] = [BigInt(from), BigInt(to)];
      const stride = by === undefined ? (a <= b ? 1n : -1n) : BigInt(by);
      if ((stride === 0n && a !== b) || (stride > 0n && a > b) || (stride < 0n && a < b)) {
        throw boundaries();
      }
      const count = stride === 0n ? 1n : (b - a) / stride + 1n;
      if (count > BigInt(arrayLengthMax)) throw tooLarge('sequence');
      return Array.from({ length: Number(count) }, (_, i) => toValue(a + BigInt(i) * stride));
    },
  });
}

type Step = { readonly months: number; readonly days: number; readonly micros: bigint };

function stepOf(value: Value, type: DataType): Step {
  if (type.kind === 'interval_year_month') return { months: value as number, days: 0, micros: 0n };
  if (type.kind === 'interval') return value as CalendarInterval;
  const days = (value as bigint) / microsPerDay;
  return { months: 0, days: Number(days), micros: (value as bigint) - days * microsPerDay };
}

/** Each element is the start moved by a multiple of the step, so that months do not lose days. */
function datetimeSequence(
  c: FunctionCall,
  type: DataType,
  ends: readonly [Expression, Expression],
  step: Expression | undefined,
): Expression {
  const args = ends.map((e) => castTo(e, type));
  if (step !== undefined) args.push(step);
  return strictCall({
    name: `sequence(${formatType(type)},${step === undefined ? '' : formatType(step.type)})`,
    type: arrayOf(type),
    arguments: args,
    place: c.place,
    prepare: (context): StrictFunction => {
      const zone = type.kind === 'timestamp' ? sessionZone(context.timeZone) : utc;
      const isDate = type.kind === 'date';
      return (from: number | bigint, to: number | bigint, by?: Value) => {
        const [a, b] = isDate
          ? [startOfDay(from as number, zone), startOfDay(to as number, zone)]
          : [from as bigint, to as bigint];
        const stride =
          by === undefined || step === undefined
            ? { months: 0, days: a <= b ? 1 : -1, micros: 0n }
            : stepOf(by, step.type);
        if (isDate && stride.micros !== 0n) throw boundaries();
        const instants = steps(a, b, stride, zone);
        return isDate ? instants.map((micros) => dateOfTimestamp(micros, zone)) : instants;
      };
    },
  });
}

function steps(start: bigint, stop: bigint, step: Step, zone: Zone): bigint[] {
  if (start === stop) return [start];
  const first = addInterval(start, step, zone);
  if (first === start || first > start !== stop > start) throw boundaries();
  const out: bigint[] = [];
  for (let i = 0; ; i += 1) {
    const at = addInterval(
      start,
      { months: step.months * i, days: step.days * i, micros: step.micros * BigInt(i) },
      zone,
    );
    if (stop > start ? at > stop : at < stop) return out;
    if (i >= arrayLengthMax) throw tooLarge('sequence');
    out.push(at);
  }
}

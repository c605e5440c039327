import type { Place } from '../../base/place.ts';
import { powerOfTen } from '../../data/decimal.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { CalendarInterval, Value } from '../../data/value.ts';
import { utc, type Zone } from '../../data/zones.ts';
import { call, located, type StrictFunction, strictCall } from '../call.ts';
import { castTo, tightestType } from '../coerce.ts';
import {
  addDayTime,
  addInterval,
  addMonths,
  checkedDays,
  microsPerDay,
  sessionZone,
  toLocal,
} from '../datetime-math.ts';
import { divideHalfUp } from '../divide-half-up.ts';
import type { Expression, Operation, OperationContext } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { mismatch } from '../faults.ts';
import { parameter } from '../parameter.ts';
import { dayTime, isAnsiInterval, isDatetime, time, types, yearMonth } from '../types.ts';
import { kernelOf, overflow } from './arithmetic-kernels.ts';

type Options = { readonly place: Place; readonly mode: 'ansi' | 'try' };

const fullDayTime = dayTime('day', 'second');
const fullYearMonth = yearMonth('year', 'month');

/**
 * Arithmetic in which a date, a timestamp or an interval takes part, chosen by the types of both
 * sides; undefined where the operator has no such form, so that the numeric rules decide.
 */
export function datetimeArithmetic(
  operator: string,
  left: Expression,
  right: Expression,
  options: Options,
): Expression | undefined {
  const result = chosen(operator, left, right, options);
  return result !== undefined && options.mode === 'try' ? nullOnError(result) : result;
}

function chosen(
  operator: string,
  left: Expression,
  right: Expression,
  options: Options,
): Expression | undefined {
  switch (operator) {
    case '+':
      return added(left, right, options.place);
    case '-':
      return subtracted(left, right, options.place);
    case '*':
      if (isInterval(left.type)) return scaled('multiply', left, right, options.place);
      return isInterval(right.type) ? scaled('multiply', right, left, options.place) : undefined;
    case '/':
      return isInterval(left.type) ? scaled('divide', left, right, options.place) : undefined;
    case 'div':
      return intervalQuotient(left, right, options.place);
    default:
      return undefined;
  }
}

function isInterval(type: DataType): boolean {
  return isAnsiInterval(type) || type.kind === 'interval';
}

function isTimestamp(type: DataType): boolean {
  return type.kind === 'timestamp' || type.kind === 'timestamp_ntz';
}

function added(left: Expression, right: Expression, place: Place): Expression | undefined {
  if (isInterval(left.type) && isInterval(right.type)) return intervalSum('+', left, right, place);
  if (left.type.kind === 'void' && isInterval(right.type)) {
    return intervalSum('+', castTo(left, right.type), right, place);
  }
  if (right.type.kind === 'void' && isInterval(left.type)) {
    return intervalSum('+', left, castTo(right, left.type), place);
  }
  if (left.type.kind === 'time') return movedTime(left, right, false, place);
  if (right.type.kind === 'time') return movedTime(right, left, false, place);
  if (isInterval(right.type)) return moved(left, right, false, place);
  if (isInterval(left.type)) return moved(right, left, false, place);
  // Spark gives these forms types of their own.
  if (left.type.kind === 'date' && right.type.kind === 'void')
    return castTo(right, types.timestamp);
  if (left.type.kind === 'date' && right.type.kind !== 'string') {
    return dateAdd(left, right, false, place);
  }
  if (left.type.kind === 'void' && right.type.kind === 'date') return castTo(left, types.timestamp);
  if (left.type.kind === 'void' && isTimestamp(right.type)) return castTo(left, right.type);
  if (right.type.kind === 'date' && left.type.kind !== 'string') {
    return dateAdd(right, left, false, place);
  }
  return undefined;
}

function subtracted(left: Expression, right: Expression, place: Place): Expression | undefined {
  if (isInterval(left.type) && isInterval(right.type)) return intervalSum('-', left, right, place);
  if (left.type.kind === 'void' && isInterval(right.type)) {
    return intervalSum('-', castTo(left, right.type), right, place);
  }
  if (right.type.kind === 'void' && isInterval(left.type)) {
    return intervalSum('-', left, castTo(right, left.type), place);
  }
  if (isTimestamp(left.type) && right.type.kind === 'time') {
    return timestampDifference(left, right, place);
  }
  if (right.type.kind === 'time') return timeDifference(left, right, place);
  if (left.type.kind === 'time' && !isTimestamp(right.type)) {
    return right.type.kind === 'void' || right.type.kind === 'string'
      ? timeDifference(left, right, place)
      : movedTime(left, right, true, place);
  }
  if (isInterval(right.type)) return moved(left, right, true, place);
  if (isTimestamp(left.type) || isTimestamp(right.type))
    return timestampDifference(left, right, place);
  if (right.type.kind === 'date') return dateDifference(left, right, place);
  if (left.type.kind === 'date' && right.type.kind === 'void') {
    return dateDifference(left, right, place);
  }
  if (left.type.kind === 'date' && right.type.kind !== 'string') {
    return dateAdd(left, right, true, place);
  }
  return undefined;
}

/** A date and a number of days. */
export function dateAdd(
  date: Expression,
  days: Expression,
  negated: boolean,
  place: Place,
): Expression {
  const start = parameter.date.coerce(date);
  const count = parameter.smallInteger.coerce(days);
  const name = negated ? 'date_sub' : 'date_add';
  if (start === undefined) throw unexpected(name, 1, parameter.date.text, date);
  if (count === undefined) throw unexpected(name, 2, parameter.smallInteger.text, days);
  const sign = negated ? -1 : 1;
  return strictCall({
    name: `${name}(date,${formatType(count.type)})`,
    type: types.date,
    arguments: [start, count],
    place,
    // The sum wraps around as in Spark; a day so far off has no use either way.
    prepare: () => (from: number, by: number) => (from + sign * by) | 0,
  });
}

function unexpected(name: string, index: number, wanted: string, argument: Expression): Error {
  return mismatch(
    'UNEXPECTED_INPUT_TYPE',
    `argument ${index} of ${name} must be ${wanted}, not ${formatType(argument.type)}`,
    argument.place,
  );
}

const nanosPerDay = 86_400_000_000_000n;

/** A time of day moved by an interval of days to seconds; it has to stay within its day. */
function movedTime(
  value: Expression,
  interval: Expression,
  negated: boolean,
  place: Place,
): Expression {
  const by = interval.type.kind === 'void' ? castTo(interval, fullDayTime) : interval;
  if (value.type.kind !== 'time' || by.type.kind !== 'interval_day_time') {
    throw mismatch(
      'BINARY_OP_DIFF_TYPES',
      `a time and ${formatType(interval.type)} can't be combined`,
      place,
    );
  }
  const precision = Math.max(value.type.precision, by.type.to === 'second' ? 6 : 0);
  const sign = negated ? -1n : 1n;
  return strictCall({
    name: `${negated ? 'subtract' : 'add'}(time,${formatType(by.type)})`,
    type: time(precision),
    arguments: [value, by],
    place,
    prepare: () => (nanos: bigint, micros: bigint) => {
      const moved = nanos + sign * micros * 1000n;
      if (moved >= 0n && moved < nanosPerDay) return moved;
      throw new ExpressionError('DATETIME_OVERFLOW', 'the time would leave its day');
    },
  });
}

function timeDifference(left: Expression, right: Expression, place: Place): Expression {
  const side = (e: Expression, index: number): Expression => {
    const coerced = parameter.time.coerce(e);
    if (coerced === undefined) throw unexpected('time subtraction', index, parameter.time.text, e);
    return coerced;
  };
  return strictCall({
    name: 'subtract(time,time)',
    type: dayTime('hour', 'second'),
    arguments: [side(left, 1), side(right, 2)],
    place,
    prepare: () => (a: bigint, b: bigint) => (a - b) / 1000n,
  });
}

/** A date, timestamp or text moved by an interval. */
function moved(
  value: Expression,
  interval: Expression,
  negated: boolean,
  place: Place,
): Expression | undefined {
  const { kind } = value.type;
  if (kind === 'date') return movedDate(value, interval, negated, place);
  if (interval.type.kind === 'interval_year_month') {
    if (!isTimestamp(value.type)) return undefined;
    return timestampMove(value, interval, negated, place);
  }
  if (isTimestamp(value.type)) return timestampMove(value, interval, negated, place);
  // As in Spark: anything else is read as a timestamp, moved, and written back in its own type.
  const timestamp = parameter.anyTimestamp.coerce(value);
  if (timestamp === undefined) {
    throw unexpected('timestamp addition', 1, parameter.anyTimestamp.text, value);
  }
  return castTo(timestampMove(timestamp, interval, negated, place), value.type);
}

function movedDate(
  date: Expression,
  interval: Expression,
  negated: boolean,
  place: Place,
): Expression {
  const { type } = interval;
  const sign = negated ? -1 : 1;
  const name = `${negated ? 'subtract' : 'add'}(date,${formatType(type)})`;
  const strict = (prepare: () => StrictFunction): Expression =>
    strictCall({ name, type: types.date, arguments: [date, interval], place, prepare });
  if (type.kind === 'interval_year_month') {
    return strict(() => (days: number, months: number) => addMonths(days, sign * months));
  }
  if (type.kind === 'interval') {
    return strict(() => (days: number, by: CalendarInterval) => {
      if (by.micros !== 0n) {
        throw new ExpressionError(
          'INVALID_INTERVAL_WITH_MICROSECONDS_ADDITION',
          "an interval with hours, minutes or seconds can't be added to a date",
        );
      }
      return checkedDays(addMonths(days, sign * by.months) + sign * by.days);
    });
  }
  if (type.kind === 'interval_day_time' && type.from === 'day' && type.to === 'day') {
    return strict(
      () => (days: number, by: bigint) => checkedDays(days + sign * Number(by / microsPerDay)),
    );
  }
  return timestampMove(castTo(date, types.timestamp), interval, negated, place);
}

function timestampMove(
  timestamp: Expression,
  interval: Expression,
  negated: boolean,
  place: Place,
): Expression {
  const { type } = interval;
  const isLocal = timestamp.type.kind === 'timestamp_ntz';
  return strictCall({
    name: `${negated ? 'subtract' : 'add'}(${timestamp.type.kind},${formatType(type)})`,
    type: timestamp.type,
    arguments: [timestamp, interval],
    place,
    prepare: (context) => {
      const zone = isLocal ? utc : sessionZone(context.timeZone);
      return mover(type, negated, zone);
    },
  });
}

function mover(type: DataType, negated: boolean, zone: Zone): StrictFunction {
  if (type.kind === 'interval_year_month') {
    return (micros: bigint, months: number) =>
      addInterval(micros, { months: negated ? -months : months, days: 0, micros: 0n }, zone);
  }
  if (type.kind === 'interval') {
    return (micros: bigint, by: CalendarInterval) =>
      addInterval(micros, negated ? negatedInterval(by) : by, zone);
  }
  return (micros: bigint, by: bigint) => addDayTime(micros, negated ? -by : by, zone);
}

function negatedInterval(by: CalendarInterval): CalendarInterval {
  return { months: -by.months, days: -by.days, micros: -by.micros };
}

function dateDifference(left: Expression, right: Expression, place: Place): Expression {
  const from = parameter.date.coerce(left);
  const to = parameter.date.coerce(right);
  if (from === undefined) throw unexpected('date subtraction', 1, parameter.date.text, left);
  if (to === undefined) throw unexpected('date subtraction', 2, parameter.date.text, right);
  return strictCall({
    name: 'subtract(date,date)',
    type: dayTime('day', 'day'),
    arguments: [from, to],
    place,
    prepare: () => (a: number, b: number) => BigInt(a - b) * microsPerDay,
  });
}

function timestampDifference(left: Expression, right: Expression, place: Place): Expression {
  const [a, b] = timestampPair(left, right);
  const isLocal = a.type.kind === 'timestamp_ntz';
  return strictCall({
    name: `subtract(${a.type.kind},${b.type.kind})`,
    type: fullDayTime,
    arguments: [a, b],
    place,
    prepare: (context: OperationContext) => {
      const zone = isLocal ? utc : sessionZone(context.timeZone);
      return (x: bigint, y: bigint) => toLocal(x, zone) - toLocal(y, zone);
    },
  });
}

/** A date or text becomes what the other side is; of both kinds of timestamp the local one is taken. */
function timestampPair(left: Expression, right: Expression): readonly [Expression, Expression] {
  const isMixed =
    isTimestamp(left.type) && isTimestamp(right.type) && left.type.kind !== right.type.kind;
  const wanted = isMixed ? types.timestamp_ntz : isTimestamp(left.type) ? left.type : right.type;
  const side = (e: Expression, index: number): Expression => {
    if (isDatetime(e.type) || e.type.kind === 'string' || e.type.kind === 'void') {
      return castTo(e, wanted);
    }
    throw unexpected('timestamp subtraction', index, parameter.anyTimestamp.text, e);
  };
  return [side(left, 1), side(right, 2)];
}

function intervalSum(
  operator: '+' | '-',
  left: Expression,
  right: Expression,
  place: Place,
): Expression {
  const name = operator === '+' ? 'add' : 'subtract';
  if (left.type.kind === 'interval' && right.type.kind === 'interval') {
    const sign = operator === '+' ? 1 : -1;
    return strictCall({
      name: `${name}(interval,interval)`,
      type: types.interval,
      arguments: [left, right],
      place,
      prepare: () => (a: CalendarInterval, b: CalendarInterval) => ({
        months: checkedInt(a.months + sign * b.months),
        days: checkedInt(a.days + sign * b.days),
        micros: checkedBig(a.micros + BigInt(sign) * b.micros),
      }),
    });
  }
  const type = tightestType(left.type, right.type);
  if (type === undefined || !isAnsiInterval(type)) {
    throw unexpected('timestamp addition', 1, parameter.anyTimestamp.text, left);
  }
  const kernel = kernelOf(operator, type, type, type);
  return strictCall({
    name: `${name}(${formatType(left.type)},${formatType(right.type)})`,
    type,
    arguments: [castTo(left, type), castTo(right, type)],
    place,
    prepare: () => kernel as StrictFunction,
  });
}

function checkedInt(value: number, isWhole = false): number {
  if (value >= -2_147_483_648 && value <= 2_147_483_647) return value;
  throw isWhole ? quotientOverflow() : overflow(fullYearMonth);
}

function checkedBig(value: bigint, isWhole = false): bigint {
  if (value === BigInt.asIntN(64, value)) return value;
  throw isWhole ? quotientOverflow() : overflow(fullDayTime);
}

/** The least interval over -1: Spark has an error of its own for whole divisors. */
function quotientOverflow(): ExpressionError {
  return new ExpressionError(
    'INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION',
    'the quotient is no interval',
  );
}

function isIntegral({ kind }: DataType): boolean {
  return kind === 'tinyint' || kind === 'smallint' || kind === 'int' || kind === 'bigint';
}

/** An interval times a number, or over one, rounded half up to its smallest unit. */
function scaled(
  operator: 'multiply' | 'divide',
  interval: Expression,
  factor: Expression,
  place: Place,
): Expression {
  const number = parameter.numeric.coerce(factor);
  if (number === undefined) throw unexpected(operator, 2, parameter.numeric.text, factor);
  const name = `${operator}(${formatType(interval.type)},${formatType(number.type)})`;
  const build = (type: DataType, by: Expression, prepare: () => StrictFunction): Expression =>
    strictCall({ name, type, arguments: [interval, by], place, prepare });
  if (interval.type.kind === 'interval') {
    return build(types.interval, castTo(number, types.double), () => calendarScaler(operator));
  }
  const isMonths = interval.type.kind === 'interval_year_month';
  const scale = unitScaler(operator, number.type);
  const isWhole = operator === 'divide' && isIntegral(number.type);
  return isMonths
    ? build(
        fullYearMonth,
        number,
        () => (months: number, by: number | bigint) =>
          checkedInt(Number(scale(BigInt(months), by)), isWhole),
      )
    : build(
        fullDayTime,
        number,
        () => (micros: bigint, by: number | bigint) => checkedBig(scale(micros, by), isWhole),
      );
}

function intervalDividedByZero(): ExpressionError {
  return new ExpressionError('INTERVAL_DIVIDED_BY_ZERO', 'an interval divided by zero');
}

function unitScaler(
  operator: 'multiply' | 'divide',
  type: DataType,
): (units: bigint, by: number | bigint) => bigint {
  if (type.kind === 'float' || type.kind === 'double') {
    return (units, by) => {
      const factor = Number(by);
      if (operator === 'divide' && factor === 0) throw intervalDividedByZero();
      const result = operator === 'multiply' ? Number(units) * factor : Number(units) / factor;
      if (!Number.isFinite(result)) throw overflow(fullDayTime);
      return BigInt(roundHalfAway(result));
    };
  }
  const one = type.kind === 'decimal' ? powerOfTen(type.scale) : 1n;
  return (units, by) => {
    const factor = BigInt(by);
    if (operator === 'multiply') return divideHalfUp(units * factor, one);
    if (factor === 0n) throw intervalDividedByZero();
    return divideHalfUp(units * one, factor);
  };
}

function roundHalfAway(value: number): number {
  const rounded = Math.floor(Math.abs(value));
  const up = Math.abs(value) - rounded >= 0.5 ? rounded + 1 : rounded;
  return value < 0 ? -up : up;
}

/** The parts that a month or a day loses go to the next smaller unit. */
function calendarScaler(operator: 'multiply' | 'divide'): StrictFunction {
  return (interval: CalendarInterval, factor: number) => {
    if (operator === 'divide' && factor === 0) throw intervalDividedByZero();
    const apply = (n: number): number => (operator === 'multiply' ? n * factor : n / factor);
    // What is no number counts nothing.
    const months = checkedPart(Math.trunc(apply(interval.months) || 0));
    const days = apply(interval.days) || 0;
    const wholeDays = checkedPart(Math.trunc(days));
    const micros = apply(Number(interval.micros)) + (days - wholeDays) * Number(microsPerDay);
    return { months, days: wholeDays, micros: nearestLong(micros || 0) };
  };
}

function checkedPart(value: number): number {
  if (value >= -2_147_483_648 && value <= 2_147_483_647) return value;
  throw new ExpressionError('ARITHMETIC_OVERFLOW', 'the result does not fit an interval');
}

/** Rounded as Java does: what is out of range becomes the least or the greatest. */
function nearestLong(value: number): bigint {
  if (value >= 2 ** 63) return 2n ** 63n - 1n;
  return value <= -(2 ** 63) ? -(2n ** 63n) : BigInt(Math.round(value));
}

/** `interval div interval`: how often one fits into the other. */
function intervalQuotient(
  left: Expression,
  right: Expression,
  place: Place,
): Expression | undefined {
  if (!isAnsiInterval(left.type) || left.type.kind !== right.type.kind) return undefined;
  return strictCall({
    name: `div(${formatType(left.type)},${formatType(right.type)})`,
    type: types.bigint,
    arguments: [left, right],
    place,
    prepare: () => (a: number | bigint, b: number | bigint) => {
      if (BigInt(b) === 0n) throw new ExpressionError('DIVIDE_BY_ZERO', 'division by zero');
      return BigInt(a) / BigInt(b);
    },
  });
}

/** NULL where the call itself fails; an error of an argument stays one, and so does one of the class `besides`. */
export function nullOnOwnError(expression: Expression, besides?: string): Expression {
  if (expression.node !== 'call') return expression;
  const { operation } = expression;
  const own: Operation = {
    name: `try_${operation.name}`,
    deterministic: operation.deterministic,
    ...(operation.strict === true && { strict: true }),
    compile: (args, context) => {
      const values = new Array<Value>(args.length).fill(null);
      const evaluate = operation.compile(
        args.map((_, i) => () => values[i] ?? null),
        context,
      );
      return (row, frame): Value => {
        for (const [i, arg] of args.entries()) values[i] = arg(row, frame);
        try {
          return evaluate(row, frame);
        } catch (error) {
          const isOwn = error instanceof ExpressionError && error.errorClass !== besides;
          if (isOwn) return null;
          throw located(error, context.place);
        }
      };
    },
  };
  return call(own, expression.type, expression.arguments, expression.place);
}

/** NULL where the operation or one of its arguments fails, but for errors of a class that fits `besides`. */
export function nullOnError(expression: Expression, besides?: RegExp): Expression {
  if (expression.node !== 'call') return expression;
  const { operation } = expression;
  return call(
    {
      name: `try_${operation.name}`,
      deterministic: operation.deterministic,
      compile: (args, context) => {
        const evaluate = operation.compile(args, context);
        return (row, frame): Value => {
          try {
            return evaluate(row, frame);
          } catch (error) {
            const isStrange = error instanceof ExpressionError && besides?.test(error.errorClass);
            if (error instanceof ExpressionError && isStrange !== true) return null;
            throw located(error, context.place);
          }
        };
      },
    },
    expression.type,
    expression.arguments,
    expression.place,
  );
}

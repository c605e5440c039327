import { daysOf } from '../../data/date-time.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { localToUtc, utc, zoneOf } from '../../data/zones.ts';
import { argumentAt } from '../arguments.ts';
import { literal, strictCall } from '../call.ts';
import { castTo } from '../coerce.ts';
import { constantValue, isConstant } from '../compile.ts';
import {
  addInterval,
  checkedMicros,
  microsPerDay,
  sessionZone,
  startOfDay,
  toLocal,
} from '../datetime-math.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import { overflow } from '../operators/arithmetic-kernels.ts';
import { nullOnOwnError } from '../operators/interval-arithmetic.ts';
import { exactly, parameter, parameterOf } from '../parameter.ts';
import { dayTime, decimal, time, types, yearMonth } from '../types.ts';

const seconds = parameterOf<bigint>(decimal(16, 6));
const intervalSeconds = parameterOf<bigint>(decimal(18, 6));

/** Timestamps and intervals from their parts. */
export const datetimeMakeFunctions: readonly FunctionDefinition[] = [
  maker(['make_timestamp', 'make_timestamp_ltz'], types.timestamp, 'ansi'),
  maker(['try_make_timestamp', 'try_make_timestamp_ltz'], types.timestamp, 'try'),
  maker(['make_timestamp_ntz'], types.timestamp_ntz, 'ansi'),
  maker(['try_make_timestamp_ntz'], types.timestamp_ntz, 'try'),
  strictFunction({
    names: ['make_dt_interval'],
    parameters: [parameter.int, parameter.int, parameter.int, intervalSeconds],
    defaults: [
      [0, types.int],
      [0, types.int],
      [0, types.int],
      [0n, decimal(18, 6)],
    ],
    returns: dayTime('day', 'second'),
    evaluate: (days, hours, minutes, micros) =>
      inRange(
        BigInt(days) * microsPerDay +
          BigInt(hours) * 3_600_000_000n +
          BigInt(minutes) * 60_000_000n +
          micros,
      ),
  }),
  strictFunction({
    names: ['make_ym_interval'],
    parameters: [parameter.int, parameter.int],
    defaults: [
      [0, types.int],
      [0, types.int],
    ],
    returns: yearMonth('year', 'month'),
    evaluate: (years, months) => monthsInRange(years * 12 + months),
  }),
  makeInterval('make_interval', 'ansi'),
  makeInterval('try_make_interval', 'try'),
  { names: ['convert_timezone'], arity: [2, 3], bind: convertTimezone },
  { names: ['time_bucket'], arity: [2, 3], bind: timeBucket },
];

function inRange(micros: bigint): bigint {
  if (BigInt.asIntN(64, micros) !== micros) throw overflow(dayTime('day', 'second'));
  return micros;
}

function monthsInRange(months: number): number {
  if (months < -2_147_483_648 || months > 2_147_483_647) throw overflow(yearMonth('year', 'month'));
  return months;
}

/** From a date and a time of day, with a zone or without. */
function fromDateAndTime(c: FunctionCall, type: DataType): Expression {
  const date = coerceArgument(c.name, argumentAt(c, 0), 0, exactly(parameter.date));
  const at =
    c.arguments.length === 1
      ? literal(0n, time(6), c.place)
      : coerceArgument(c.name, argumentAt(c, 1), 1, exactly(parameter.time));
  const zones = c.arguments.slice(2).map((a) => coerceArgument(c.name, a, 2, parameter.string));
  return strictCall({
    name: `${c.name}/${c.arguments.length}`,
    type,
    arguments: [date, at, ...zones],
    place: c.place,
    prepare: (context) => (days: number, nanos: bigint, name?: string) => {
      const local = BigInt(days) * microsPerDay + nanos / 1000n;
      if (type.kind === 'timestamp_ntz') return local;
      const zone = name === undefined ? sessionZone(context.timeZone) : namedZone(name);
      return checkedMicros(localToUtc(zone, local));
    },
  });
}

function maker(names: readonly string[], type: DataType, mode: 'ansi' | 'try'): FunctionDefinition {
  const isLocal = type.kind === 'timestamp_ntz';
  return {
    names,
    arity: [isLocal ? 2 : 1, isLocal ? 6 : 7],
    bind: (c) => {
      const count = c.arguments.length;
      if (count === 2 || (!isLocal && (count === 1 || count === 3))) {
        const short = fromDateAndTime(c, type);
        return mode === 'try' ? nullOnOwnError(short, 'INVALID_TIMEZONE') : short;
      }
      if (count < 6) {
        throw fault(
          'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
          `${c.name} takes 2 or 6 arguments, not ${count}`,
          c.place,
        );
      }
      const rules = [...new Array(5).fill(parameter.int), seconds, parameter.string];
      const args = c.arguments.map((a, i) =>
        coerceArgument(c.name, a, i, rules[i] ?? parameter.any),
      );
      const made = strictCall({
        name: `${c.name}/${args.length}`,
        type,
        arguments: args,
        place: c.place,
        prepare:
          (context) =>
          (...parts: readonly Value[]) => {
            const name = parts[6];
            const named = typeof name === 'string' ? namedZone(name) : undefined;
            const local = localOf(parts.slice(0, 5) as number[], parts[5] as bigint);
            if (isLocal) return local;
            const zone = named ?? sessionZone(context.timeZone);
            return checkedMicros(localToUtc(zone, local));
          },
      });
      return mode === 'try' ? nullOnOwnError(made, 'INVALID_TIMEZONE') : made;
    },
  };
}

function namedZone(name: string): ReturnType<typeof sessionZone> {
  const zone = zoneOf(name.trim());
  if (zone !== undefined) return zone;
  throw new ExpressionError('INVALID_TIMEZONE', `there is no time zone '${name}'`);
}

/** Second 60 is the next minute, when it has no fraction. */
function localOf(parts: readonly number[], micros: bigint): bigint {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = parts;
  const days = daysOf(year, month, day);
  const isClock = hour >= 0 && hour < 24 && minute >= 0 && minute < 60;
  if (micros > 60_000_000n && micros < 61_000_000n) {
    throw new ExpressionError(
      'INVALID_FRACTION_OF_SECOND',
      "second 60 of a timestamp can't have a fraction",
    );
  }
  if (days === undefined || !isClock || micros < 0n || micros > 60_000_000n) {
    throw new ExpressionError(
      'DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION',
      'these parts make no timestamp',
    );
  }
  return BigInt(days) * microsPerDay + BigInt(hour * 60 + minute) * 60_000_000n + micros;
}

function makeInterval(name: string, mode: 'ansi' | 'try'): FunctionDefinition {
  const ints = [
    parameter.int,
    parameter.int,
    parameter.int,
    parameter.int,
    parameter.int,
    parameter.int,
  ] as const;
  const definition = strictFunction({
    names: [name],
    parameters: [...ints, intervalSeconds],
    defaults: [...ints.map(() => [0, types.int] as const), [0n, decimal(18, 6)] as const],
    returns: types.interval,
    evaluate: (...[years, months, weeks, days, hours, minutes, micros]) => ({
      months: monthsInRange(years * 12 + months),
      days: monthsInRange(weeks * 7 + days),
      micros: inRange(BigInt(hours) * 3_600_000_000n + BigInt(minutes) * 60_000_000n + micros),
    }),
  });
  if (mode === 'ansi') return definition;
  // Without any argument it is no interval of nothing here, but a fault.
  return {
    ...definition,
    arity: [1, 7],
    bind: (c) => nullOnOwnError(definition.bind(c)),
  };
}

/** A local time of one zone as the local time of another. */
function convertTimezone(c: FunctionCall): Expression {
  const withSource =
    c.arguments.length === 3
      ? c.arguments
      : [literal(c.timeZone, types.string, c.place), argumentAt(c, 0), argumentAt(c, 1)];
  const rules = [parameter.string, parameter.string, parameter.timestampNtz];
  const args = withSource.map((a, i) => coerceArgument(c.name, a, i, rules[i] ?? parameter.any));
  return strictCall({
    name: 'convert_timezone',
    type: types.timestamp_ntz,
    arguments: args,
    place: c.place,
    prepare: () => (from: string, to: string, local: bigint) =>
      checkedMicros(toLocal(localToUtc(namedZone(from), local), namedZone(to))),
  });
}

/** The start of the bucket of that width that a time lies in; buckets count from the origin, else from 1970. */
function timeBucket(c: FunctionCall): Expression {
  const width = argumentAt(c, 0);
  if (width.type.kind !== 'interval_day_time' && width.type.kind !== 'interval_year_month') {
    throw mismatch(
      'UNEXPECTED_INPUT_TYPE',
      `argument 1 of time_bucket must be an interval, not ${formatType(width.type)}`,
      width.place,
    );
  }
  requireConstant(width, c);
  const size = constantValue(width, c.timeZone);
  if (size !== null && Number(size) <= 0) {
    throw mismatch('VALUE_OUT_OF_RANGE', 'a bucket needs a positive width', width.place);
  }
  const isMonths = width.type.kind === 'interval_year_month';
  const written = c.arguments[2];
  const given = argumentAt(c, 1);
  const time = given.type.kind === 'void' ? castTo(given, written?.type ?? types.timestamp) : given;
  for (const [i, argument] of [time, ...(written === undefined ? [] : [written])].entries()) {
    const { kind } = argument.type;
    const isSame = kind === time.type.kind || kind === 'void';
    if (isSame && (kind === 'timestamp' || kind === 'timestamp_ntz' || kind === 'void')) continue;
    throw mismatch(
      'UNEXPECTED_INPUT_TYPE',
      `argument ${i + 2} of time_bucket must be a timestamp, not ${formatType(argument.type)}`,
      argument.place,
    );
  }
  if (written !== undefined) requireConstant(written, c);
  const args = [width, time];
  if (written !== undefined) args.push(coerceArgument(c.name, written, 2, parameterOf(time.type)));
  return strictCall({
    name: `time_bucket(${formatType(width.type)},${formatType(time.type)})`,
    type: time.type,
    arguments: args,
    place: c.place,
    prepare: (context) => {
      const zone = time.type.kind === 'timestamp_ntz' ? utc : sessionZone(context.timeZone);
      return (size: number | bigint, micros: bigint, from?: bigint) => {
        const origin = from ?? startOfDay(0, zone);
        if (Number(size) <= 0) {
          throw new ExpressionError(
            'INVALID_PARAMETER_VALUE.WIDTH',
            'a bucket needs a positive width',
          );
        }
        return isMonths
          ? monthBucket(Number(size), micros, origin, zone)
          : bucketStart(BigInt(size), micros, origin);
      };
    },
  });
}

function requireConstant(argument: Expression, c: FunctionCall): void {
  if (isConstant(argument)) return;
  throw mismatch(
    'NON_FOLDABLE_INPUT',
    `this argument of ${c.name} must be constant`,
    argument.place,
  );
}

function bucketStart(size: bigint, micros: bigint, origin: bigint): bigint {
  const rest = (((micros - origin) % size) + size) % size;
  return micros - rest;
}

function monthBucket(
  size: number,
  micros: bigint,
  origin: bigint,
  zone: ReturnType<typeof sessionZone>,
): bigint {
  const at = (index: number): bigint =>
    addInterval(origin, { months: index * size, days: 0, micros: 0n }, zone);
  let index = Math.floor(Number((micros - origin) / microsPerDay) / (31 * size)) - 1;
  while (at(index) > micros) index -= 1;
  while (at(index + 1) <= micros) index += 1;
  return at(index);
}

import { civilFromDays } from '../../data/civil.ts';
import { splitMicros } from '../../data/date-time.ts';
import { powerOfTen } from '../../data/decimal.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType, DayTimeField } from '../../data/types.ts';
import type { CalendarInterval, Value } from '../../data/value.ts';
import { localToUtc, utc, type Zone, zoneOf } from '../../data/zones.ts';
import { argumentAt, requireFoldable } from '../arguments.ts';
import { call, literal, type StrictFunction, strictCall } from '../call.ts';
import { castTo } from '../coerce.ts';
import { constantValue, isConstant } from '../compile.ts';
import { dayOfYear, isoWeek, quarterOf, truncateDate, weekdayOf, yearOf } from '../date-parts.ts';
import {
  addInterval,
  checkedMicros,
  microsPerDay,
  sessionZone,
  startOfDay,
  toLocal,
} from '../datetime-math.ts';
import type { Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import { dateAdd } from '../operators/interval-arithmetic.ts';
import { exactly, oneOf, type Parameter, parameter } from '../parameter.ts';
import { dayTimeFields, decimal, isIntegral, types, yearMonthFields } from '../types.ts';

/** Functions of instants and of times of day. */
export const timestampFunctions: readonly FunctionDefinition[] = [
  clockPart('hour', (micros) => Math.floor(micros / 3_600_000_000)),
  clockPart('minute', (micros) => Math.floor(micros / 60_000_000) % 60),
  clockPart('second', (micros) => Math.floor(micros / 1_000_000) % 60),
  { names: ['date_trunc'], arity: [2, 2], bind: dateTrunc },
  fromUnit('timestamp_millis', 1000n),
  fromUnit('timestamp_micros', 1n),
  { names: ['timestamp_seconds'], arity: [1, 1], bind: timestampSeconds },
  toUnit('unix_seconds', 1_000_000n),
  toUnit('unix_millis', 1000n),
  toUnit('unix_micros', 1n),
  { names: ['extract', 'date_part', 'datepart'], arity: [2, 2], bind: extract },
  { names: ['date_add', 'dateadd'], arity: [2, 3], unitFirst: true, bind: dateAddOrUnits },
  { names: ['timestampadd'], arity: [3, 3], unitFirst: true, bind: addUnits },
  { names: ['datediff', 'date_diff'], arity: [2, 3], unitFirst: true, bind: dateDifference },
  { names: ['timestampdiff', 'timediff'], arity: [3, 3], unitFirst: true, bind: unitDifference },
  { names: ['current_timestamp', 'now'], arity: [0, 0], bind: currentTimestamp },
  { names: ['localtimestamp'], arity: [0, 0], bind: localTimestamp },
  strictFunction({
    names: ['from_utc_timestamp'],
    parameters: [parameter.timestamp, parameter.string],
    returns: types.timestamp,
    evaluate: (micros, name) => checkedMicros(toLocal(micros, namedZone(name))),
  }),
  strictFunction({
    names: ['to_utc_timestamp'],
    parameters: [parameter.timestamp, parameter.string],
    returns: types.timestamp,
    evaluate: (micros, name) => checkedMicros(localToUtc(namedZone(name), micros)),
  }),
];

function namedZone(name: string): Zone {
  const zone = zoneOf(name.trim());
  if (zone !== undefined) return zone;
  throw new ExpressionError('INVALID_TIMEZONE', `there is no time zone '${name}'`);
}

/** What stands behind the first argument is not looked at. */
function clockPart(name: string, evaluate: (microsOfDay: number) => number): FunctionDefinition {
  const definition = strictFunction({
    names: [name],
    parameters: [timeOr(parameter.anyTimestamp)],
    returns: types.int,
    prepare: ({ types: [type], timeZone }) => {
      if (type?.kind === 'time') return (nanos) => evaluate(Number(nanos / 1000n));
      const zone = type?.kind === 'timestamp_ntz' ? utc : sessionZone(timeZone);
      return (micros) => evaluate(splitMicros(toLocal(micros, zone)).microsOfDay);
    },
  });
  return {
    ...definition,
    arity: [1, Infinity],
    bind: (c) => definition.bind({ ...c, arguments: c.arguments.slice(0, 1) }),
  };
}

/** A time of day as it is, else what the other rule takes. */
function timeOr(rule: Parameter<bigint>): Parameter<bigint> {
  return {
    text: `${rule.text} or a time`,
    accepts: (type) => type.kind === 'time' || rule.accepts(type),
    coerce: (argument) => (argument.type.kind === 'time' ? argument : rule.coerce(argument)),
  };
}

const clockUnits: Readonly<Record<string, bigint>> = {
  HOUR: 3_600_000_000n,
  MINUTE: 60_000_000n,
  SECOND: 1_000_000n,
  MILLISECOND: 1000n,
  MICROSECOND: 1n,
};

/** The start of the unit that an instant lies in; undefined for an unknown unit. */
export function truncateTimestamp(micros: bigint, level: string, zone: Zone): bigint | undefined {
  const upper = level.toUpperCase();
  const local = toLocal(micros, zone);
  const unit = Object.hasOwn(clockUnits, upper) ? clockUnits[upper] : undefined;
  if (unit !== undefined) {
    const rest = ((local % unit) + unit) % unit;
    return micros - rest;
  }
  const { days } = splitMicros(local);
  const day = upper === 'DAY' || upper === 'DD' ? days : truncateDate(days, upper);
  return day === undefined ? undefined : startOfDay(day, zone);
}

const truncated = strictFunction({
  names: ['date_trunc'],
  parameters: [parameter.string, parameter.timestamp],
  returns: types.timestamp,
  prepare: ({ timeZone }) => {
    const zone = sessionZone(timeZone);
    return (level, micros) => truncateTimestamp(micros, level, zone) ?? null;
  },
});

/** A level that is none gives NULL whatever the timestamp is. */
function dateTrunc(c: FunctionCall): Expression {
  const call = truncated.bind(c);
  const level = argumentAt(c, 0);
  const isText = level.type.kind === 'string' && isConstant(level);
  const name = isText ? constantValue(level, c.timeZone) : null;
  const isKnown = typeof name !== 'string' || truncateTimestamp(0n, name, utc) !== undefined;
  return isKnown ? call : literal(null, types.timestamp, c.place);
}

function fromUnit(name: string, micros: bigint): FunctionDefinition {
  return strictFunction({
    names: [name],
    parameters: [exactly(parameter.integral)],
    returns: types.timestamp,
    evaluate: (value) => epochMicros(BigInt(value) * micros),
  });
}

function epochMicros(micros: bigint): bigint {
  if (BigInt.asIntN(64, micros) === micros) return micros;
  throw new ExpressionError('DATETIME_OVERFLOW', 'there is no timestamp so far off');
}

function exactMicros(micros: bigint): bigint {
  if (BigInt.asIntN(64, micros) === micros) return micros;
  throw new ExpressionError('ARITHMETIC_OVERFLOW', 'the result does not fit a timestamp');
}

/** As Java makes a long of a double: what is too great is the greatest. */
function clampedLong(value: number): bigint {
  if (value >= 2 ** 63) return 2n ** 63n - 1n;
  return value <= -(2 ** 63) ? -(2n ** 63n) : BigInt(Math.trunc(value));
}

function timestampSeconds(c: FunctionCall): Expression {
  const value = coerceArgument(c.name, argumentAt(c, 0), 0, exactly(parameter.numeric));
  const { type } = value;
  const prepare = (): StrictFunction => {
    if (isIntegral(type)) return (v: number | bigint) => epochMicros(BigInt(v) * 1_000_000n);
    if (type.kind === 'decimal') {
      const one = powerOfTen(type.scale);
      return (v: bigint) => {
        const scaled = v * 1_000_000n;
        if (scaled % one !== 0n) {
          throw new ExpressionError(
            'INVALID_FRACTION_OF_SECOND',
            'a timestamp holds no more than six digits of a second',
          );
        }
        return exactMicros(scaled / one);
      };
    }
    return (v: number) => (Number.isFinite(v) ? clampedLong(v * 1_000_000) : null);
  };
  return strictCall({
    name: `timestamp_seconds(${formatType(type)})`,
    type: types.timestamp,
    arguments: [value],
    place: c.place,
    prepare,
  });
}

function toUnit(name: string, unit: bigint): FunctionDefinition {
  return strictFunction({
    names: [name],
    parameters: [exactly(parameter.anyTimestamp)],
    returns: types.bigint,
    evaluate: (micros) => floorDiv(micros, unit),
  });
}

function floorDiv(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return quotient * divisor > value ? quotient - 1n : quotient;
}

// ---------------------------------------------------------------- parts by name

const fieldNames: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ['year', 'year y years yr yrs'],
    ['yearofweek', 'yearofweek'],
    ['quarter', 'quarter qtr'],
    ['month', 'month mon mons months'],
    ['week', 'week w weeks'],
    ['day', 'day d days'],
    ['dayofweek', 'dayofweek dow'],
    ['dayofweek_iso', 'dayofweek_iso dow_iso'],
    ['doy', 'doy'],
    ['hour', 'hour h hours hr hrs'],
    ['minute', 'minute m min mins minutes'],
    ['second', 'second s sec seconds secs'],
  ].flatMap(([field = '', names = '']) => names.split(' ').map((name) => [name, field])),
);

const dateFields: Readonly<Record<string, (days: number) => number>> = {
  year: yearOf,
  yearofweek: (days) => isoWeek(days).year,
  quarter: quarterOf,
  month: (days) => civilFromDays(days).month,
  week: (days) => isoWeek(days).week,
  day: (days) => civilFromDays(days).day,
  dayofweek: (days) => ((weekdayOf(days) + 1) % 7) + 1,
  dayofweek_iso: (days) => weekdayOf(days) + 1,
  doy: dayOfYear,
};

const clockFields: Readonly<Record<string, (microsOfDay: number) => Value>> = {
  hour: (micros) => Math.floor(micros / 3_600_000_000),
  minute: (micros) => Math.floor(micros / 60_000_000) % 60,
  second: (micros) => BigInt(micros % 60_000_000),
};

/** A part of a date, timestamp or interval, by its name. */
function extract(c: FunctionCall): Expression {
  requireFoldable(c, 0, 'string');
  const name = constantText(argumentAt(c, 0), c);
  if (name === undefined) return literal(null, types.double, c.place);
  const source = argumentAt(c, 1);
  const key = name.toLowerCase();
  const field = Object.hasOwn(fieldNames, key) ? fieldNames[key] : undefined;
  const found = field === undefined ? undefined : extractField(c, field, source);
  if (found === undefined) {
    throw fault(
      'INVALID_EXTRACT_FIELD',
      `${formatType(source.type)} has no part ${name}`,
      argumentAt(c, 0).place,
    );
  }
  return found;
}

function constantText(e: Expression, c: FunctionCall): string | undefined {
  if (!isConstant(e)) {
    throw mismatch('NON_FOLDABLE_INPUT', `the part that ${c.name} takes must be constant`, e.place);
  }
  const value = constantValue(e, c.timeZone);
  return typeof value === 'string' ? value : undefined;
}

function extractField(c: FunctionCall, field: string, source: Expression): Expression | undefined {
  if (source.type.kind === 'interval_year_month' || source.type.kind === 'interval_day_time') {
    return intervalField(c, field, source);
  }
  if (source.type.kind === 'time') return timeField(c, field, source);
  if (source.type.kind === 'interval') return calendarField(c, field, source);
  const ofDate = dateFields[field];
  if (ofDate !== undefined) {
    const date = coerceArgument(c.name, source, 1, parameter.date);
    return partCall(c, field, types.int, date, () => ofDate as StrictFunction);
  }
  const ofClock = clockFields[field];
  if (ofClock === undefined) return undefined;
  const timestamp = coerceArgument(c.name, source, 1, parameter.anyTimestamp);
  const isLocal = timestamp.type.kind === 'timestamp_ntz';
  const type = field === 'second' ? decimal(8, 6) : types.int;
  return partCall(c, field, type, timestamp, (timeZone) => {
    const zone = isLocal ? utc : sessionZone(timeZone);
    return (micros: bigint) => ofClock(splitMicros(toLocal(micros, zone)).microsOfDay);
  });
}

/** Parts of a calendar interval: its months, its days and its time are apart. */
function calendarField(c: FunctionCall, field: string, source: Expression): Expression | undefined {
  const of = Object.hasOwn(calendarFields, field) ? calendarFields[field] : undefined;
  if (of === undefined) return undefined;
  const type =
    field === 'second'
      ? decimal(8, 6)
      : field === 'year' || field === 'day'
        ? types.int
        : types.tinyint;
  return partCall(c, field, type, source, () => of as StrictFunction);
}

const calendarFields: Readonly<Record<string, (interval: CalendarInterval) => Value>> = {
  year: ({ months }) => Math.trunc(months / 12),
  month: ({ months }) => months % 12,
  day: ({ days }) => days,
  hour: ({ micros }) => Number((micros % microsPerDay) / 3_600_000_000n),
  minute: ({ micros }) => Number((micros % 3_600_000_000n) / 60_000_000n),
  second: ({ micros }) => micros % 60_000_000n,
};

function partCall(
  c: FunctionCall,
  field: string,
  type: DataType,
  ...rest: readonly [Expression, (timeZone: string) => StrictFunction]
): Expression {
  const [source, prepare] = rest;
  return strictCall({
    name: `extract(${field},${formatType(source.type)})`,
    type,
    arguments: [source],
    place: c.place,
    prepare: (context) => prepare(context.timeZone),
  });
}

/** Hours, minutes, and seconds with as many digits as the time has. */
function timeField(c: FunctionCall, field: string, source: Expression): Expression | undefined {
  if (source.type.kind !== 'time') return undefined;
  const { precision } = source.type;
  if (field === 'second') {
    const unit = 10n ** BigInt(9 - precision);
    const type = decimal(2 + precision, precision);
    return partCall(c, field, type, source, () => (n: bigint) => (n % 60_000_000_000n) / unit);
  }
  const ofClock = clockFields[field];
  if (ofClock === undefined) return undefined;
  return partCall(c, field, types.int, source, () => (n: bigint) => ofClock(Number(n / 1000n)));
}

/** Only fields that the interval's type spans. */
function intervalField(c: FunctionCall, field: string, source: Expression): Expression | undefined {
  const { type } = source;
  if (type.kind === 'interval_year_month') {
    const index = yearMonthFields.indexOf(field as 'year');
    if (!spans(yearMonthFields, type, index)) return undefined;
    return field === 'year'
      ? partCall(c, field, types.int, source, () => (m: number) => Math.trunc(m / 12))
      : partCall(c, field, types.tinyint, source, () => (m: number) => (m % 12) + 0);
  }
  if (type.kind !== 'interval_day_time') return undefined;
  const index = dayTimeFields.indexOf(field as DayTimeField);
  if (!spans(dayTimeFields, type, index)) return undefined;
  switch (field) {
    case 'day':
      return partCall(c, field, types.int, source, () => (m: bigint) => Number(m / microsPerDay));
    case 'hour':
      return partCall(
        c,
        field,
        types.tinyint,
        source,
        () => (m: bigint) => Number((m % microsPerDay) / 3_600_000_000n),
      );
    case 'minute':
      return partCall(
        c,
        field,
        types.tinyint,
        source,
        () => (m: bigint) => Number((m % 3_600_000_000n) / 60_000_000n),
      );
    default:
      return partCall(c, field, decimal(8, 6), source, () => (m: bigint) => m % 60_000_000n);
  }
}

function spans(
  fields: readonly string[],
  type: { readonly from: string; readonly to: string },
  index: number,
): boolean {
  return index >= 0 && index >= fields.indexOf(type.from) && index <= fields.indexOf(type.to);
}

// ---------------------------------------------------------------- units

function dateAddOrUnits(c: FunctionCall): Expression {
  if (c.arguments.length === 3) return addUnits(c);
  const [date, days] = [argumentAt(c, 0), argumentAt(c, 1)];
  return dateAdd(date, days, false, c.place);
}

type UnitRule = { readonly months?: number; readonly days?: number; readonly micros?: bigint };

const unitRules: Readonly<Record<string, UnitRule>> = {
  YEAR: { months: 12 },
  QUARTER: { months: 3 },
  MONTH: { months: 1 },
  WEEK: { days: 7 },
  DAY: { days: 1 },
  HOUR: { micros: 3_600_000_000n },
  MINUTE: { micros: 60_000_000n },
  SECOND: { micros: 1_000_000n },
  MILLISECOND: { micros: 1000n },
  MICROSECOND: { micros: 1n },
};

function unitOf(c: FunctionCall, isAdding: boolean): UnitRule {
  const argument = argumentAt(c, 0);
  const name = argument.node === 'literal' ? String(argument.value).toUpperCase() : '';
  // A day of the year is something to add, not to count.
  const isDayOfYear = name === 'DAYOFYEAR' && isAdding;
  const rule = Object.hasOwn(unitRules, isDayOfYear ? 'DAY' : name)
    ? unitRules[isDayOfYear ? 'DAY' : name]
    : undefined;
  if (rule !== undefined) return rule;
  throw fault(unitRefusal(c.name, name), `${c.name} knows no unit ${name}`, argument.place);
}

/** To Spark a word that is no unit is a column, or makes it look for another function. */
function unitRefusal(name: string, unit: string): string {
  if (unit === 'DAYOFYEAR') return 'INVALID_PARAMETER_VALUE.DATETIME_UNIT';
  return name.startsWith('timestamp')
    ? 'UNRESOLVED_ROUTINE'
    : 'UNRESOLVED_COLUMN.WITHOUT_SUGGESTION';
}

function addUnits(c: FunctionCall): Expression {
  const rule = unitOf(c, true);
  const count = coerceArgument(c.name, argumentAt(c, 1), 1, parameter.bigint);
  const timestamp = coerceArgument(c.name, argumentAt(c, 2), 2, parameter.anyTimestamp);
  const isLocal = timestamp.type.kind === 'timestamp_ntz';
  const unit = argumentAt(c, 0);
  return strictCall({
    name: `timestampadd(${unit.node === 'literal' ? String(unit.value).toUpperCase() : ''},${timestamp.type.kind})`,
    type: timestamp.type,
    arguments: [count, timestamp],
    place: c.place,
    prepare: (context) => {
      const zone = isLocal ? utc : sessionZone(context.timeZone);
      return (n: bigint, micros: bigint) =>
        addInterval(
          micros,
          {
            months: exactInt(n * BigInt(rule.months ?? 0)),
            days: exactInt(n * BigInt(rule.days ?? 0)),
            micros: n * (rule.micros ?? 0n),
          },
          zone,
        );
    },
  });
}

function exactInt(value: bigint): number {
  if (BigInt.asIntN(32, value) === value) return Number(value);
  throw new ExpressionError('DATETIME_OVERFLOW', 'the result is beyond what a timestamp holds');
}

function dateDifference(c: FunctionCall): Expression {
  if (c.arguments.length === 3) return unitDifference(c);
  const [end, start] = [0, 1].map((i) =>
    coerceArgument(c.name, argumentAt(c, i), i, parameter.date),
  );
  return strictCall({
    name: 'datediff(date,date)',
    type: types.int,
    arguments: [end, start].filter((e) => e !== undefined),
    place: c.place,
    prepare: () => (a: number, b: number) => a - b,
  });
}

/** Whole units that lie between two timestamps, counted from the first. */
function unitDifference(c: FunctionCall): Expression {
  const rule = unitOf(c, false);
  const [start, end] = [1, 2].map((i) =>
    coerceArgument(c.name, argumentAt(c, i), i, oneOf<Value>([parameter.timestamp])),
  );
  return strictCall({
    name: `timestampdiff(${JSON.stringify(rule, (_, v) => (typeof v === 'bigint' ? String(v) : v))})`,
    type: types.bigint,
    arguments: [start, end].filter((e) => e !== undefined),
    place: c.place,
    prepare: (context) => {
      const zone = sessionZone(context.timeZone);
      return (a: bigint, b: bigint) => unitsBetween(rule, toLocal(a, zone), toLocal(b, zone));
    },
  });
}

function unitsBetween(rule: UnitRule, from: bigint, to: bigint): bigint {
  if (rule.months === undefined) {
    return (to - from) / (rule.micros ?? microsPerDay * BigInt(rule.days ?? 1));
  }
  return BigInt(Math.trunc(monthsBetween(from, to) / rule.months));
}

function monthsBetween(from: bigint, to: bigint): number {
  const [a, b] = [splitMicros(from), splitMicros(to)];
  const [x, y] = [civilFromDays(a.days), civilFromDays(b.days)];
  const months = (y.year - x.year) * 12 + y.month - x.month;
  const rest = y.day - x.day || b.microsOfDay - a.microsOfDay;
  if (months > 0 && rest < 0) return months - 1;
  return months < 0 && rest > 0 ? months + 1 : months;
}

// ---------------------------------------------------------------- the clock

const nowOperation: Operation = {
  name: 'current_timestamp',
  deterministic: false,
  compile: () => (_, frame) => frame.nowMicros,
};

function currentTimestamp(c: FunctionCall): Expression {
  return call(nowOperation, types.timestamp, [], c.place);
}

function localTimestamp(c: FunctionCall): Expression {
  return castTo(currentTimestamp(c), types.timestamp_ntz);
}

import { civilFromDays, daysFromCivil, daysOfMonth } from '../../data/civil.ts';
import { daysOf } from '../../data/date-time.ts';
import type { Value } from '../../data/value.ts';
import type { Zone } from '../../data/zones.ts';
import { argumentAt } from '../arguments.ts';
import { call, literal, strictCall } from '../call.ts';
import { constantValue, isConstant } from '../compile.ts';
import {
  dayOfYear,
  isoWeek,
  monthNames,
  quarterOf,
  truncateDate,
  weekdayNames,
  weekdayOf,
  yearOf,
} from '../date-parts.ts';
import { addMonths, dateOfTimestamp, sessionZone, startOfDay } from '../datetime-math.ts';
import type { Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import { dateAdd } from '../operators/interval-arithmetic.ts';
import { exactly, parameter } from '../parameter.ts';
import { types } from '../types.ts';

/** Functions of days. */
export const dateFunctions: readonly FunctionDefinition[] = [
  part(['year'], yearOf),
  part(['quarter'], quarterOf),
  part(['month'], (days) => civilFromDays(days).month),
  part(['day', 'dayofmonth'], (days) => civilFromDays(days).day),
  part(['dayofyear'], dayOfYear),
  part(['dayofweek'], (days) => ((weekdayOf(days) + 1) % 7) + 1),
  part(['weekday'], weekdayOf),
  part(['weekofyear'], (days) => isoWeek(days).week),
  strictFunction({
    names: ['dayname'],
    parameters: [parameter.date],
    returns: types.string,
    evaluate: (days) => (weekdayNames[weekdayOf(days)] ?? '').slice(0, 3),
  }),
  strictFunction({
    names: ['monthname'],
    parameters: [parameter.date],
    returns: types.string,
    evaluate: (days) => (monthNames[civilFromDays(days).month - 1] ?? '').slice(0, 3),
  }),
  {
    names: ['date_sub'],
    arity: [2, 2],
    bind: (c) => dateAdd(argumentAt(c, 0), argumentAt(c, 1), true, c.place),
  },
  strictFunction({
    names: ['last_day'],
    parameters: [parameter.date],
    returns: types.date,
    evaluate: (days) => {
      const { year, month } = civilFromDays(days);
      return daysFromCivil(year, month, daysOfMonth(year, month));
    },
  }),
  strictFunction({
    names: ['add_months'],
    parameters: [parameter.date, parameter.int],
    returns: types.date,
    evaluate: addMonths,
  }),
  { names: ['months_between'], arity: [2, 3], bind: monthsBetween },
  strictFunction({
    names: ['next_day'],
    parameters: [parameter.date, parameter.string],
    returns: types.date,
    evaluate: (days, name) => {
      const wanted = weekdayNamed(name);
      return days + 1 + ((wanted - weekdayOf(days + 1) + 7) % 7);
    },
  }),
  { names: ['trunc'], arity: [2, 2], bind: trunc },
  strictFunction({
    names: ['unix_date'],
    parameters: [exactly(parameter.date)],
    returns: types.int,
    evaluate: (days) => days,
  }),
  strictFunction({
    names: ['date_from_unix_date'],
    parameters: [parameter.int],
    returns: types.date,
    evaluate: (days) => days,
  }),
  strictFunction({
    names: ['make_date'],
    parameters: [parameter.int, parameter.int, parameter.int],
    returns: types.date,
    evaluate: (year, month, day) => {
      const days = daysOf(year, month, day);
      const isFar = days === undefined && daysOf(2000 + (year % 400), month, day) !== undefined;
      if (isFar)
        throw new ExpressionError('ARITHMETIC_OVERFLOW', `the year ${year} is too far off`);
      if (days === undefined) throw noSuchDate(`${year}-${month}-${day}`);
      return days;
    },
  }),
  { names: ['current_date', 'curdate'], arity: [0, 0], bind: currentDate },
];

const truncated = strictFunction({
  names: ['trunc'],
  parameters: [parameter.date, parameter.string],
  returns: types.date,
  evaluate: (days, level) => truncateDate(days, level) ?? null,
});

/** A level that is none gives NULL whatever the date is. */
function trunc(c: FunctionCall): Expression {
  const call = truncated.bind(c);
  const level = argumentAt(c, 1);
  const isText = level.type.kind === 'string' && isConstant(level);
  const name = isText ? constantValue(level, c.timeZone) : null;
  const isKnown = typeof name !== 'string' || truncateDate(0, name) !== undefined;
  return isKnown ? call : literal(null, types.date, c.place);
}

function part(names: readonly string[], evaluate: (days: number) => number): FunctionDefinition {
  return strictFunction({ names, parameters: [parameter.date], returns: types.int, evaluate });
}

export function noSuchDate(text: string): ExpressionError {
  return new ExpressionError(
    'DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION',
    `there is no date ${text}`,
  );
}

function weekdayNamed(name: string): number {
  const wanted = name.trim().toUpperCase();
  const index = weekdayNames.findIndex((full) => {
    const upper = full.toUpperCase();
    return wanted === upper || wanted === upper.slice(0, 3) || wanted === upper.slice(0, 2);
  });
  if (index >= 0) return index;
  throw new ExpressionError('ILLEGAL_DAY_OF_WEEK', `'${name}' is no day of the week`);
}

/** Whole months between equal days or last days, else with a fraction of 31 days. */
function monthsBetween(c: FunctionCall): Expression {
  const rules = [parameter.timestamp, parameter.timestamp, parameter.boolean];
  const args = c.arguments.map((a, i) => coerceArgument(c.name, a, i, rules[i] ?? parameter.any));
  return strictCall({
    name: `months_between/${args.length}`,
    type: types.double,
    arguments: args,
    place: c.place,
    prepare: (context) => {
      const zone = sessionZone(context.timeZone);
      return (first: bigint, second: bigint, roundOff?: boolean) =>
        monthDifference(dayParts(first, zone), dayParts(second, zone), roundOff ?? true);
    },
  });
}

function monthDifference(a: DayParts, b: DayParts, roundOff: boolean): number {
  const months = (a.year - b.year) * 12 + a.month - b.month;
  const isLast = (d: DayParts): boolean => d.day === daysOfMonth(d.year, d.month);
  if (a.day === b.day || (isLast(a) && isLast(b))) return months;
  const seconds = (a.day - b.day) * 86_400 + a.secondOfDay - b.secondOfDay;
  const difference = months + seconds / (31 * 86_400);
  return roundOff ? Math.round(difference * 1e8) / 1e8 : difference;
}

type DayParts = {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly secondOfDay: number;
};

/** The seconds are those that have passed since the day began, which a change of the clock makes more or fewer. */
function dayParts(micros: bigint, zone: Zone): DayParts {
  const days = dateOfTimestamp(micros, zone);
  const passed = micros - startOfDay(days, zone);
  return { ...civilFromDays(days), secondOfDay: Number(passed / 1_000_000n) };
}

function currentDate(c: FunctionCall): Expression {
  const operation: Operation = {
    name: 'current_date',
    deterministic: false,
    compile: (_, context) => {
      const zone = sessionZone(context.timeZone);
      return (_row, frame): Value => dateOfTimestamp(frame.nowMicros, zone);
    },
  };
  return call(operation, types.date, [], c.place);
}

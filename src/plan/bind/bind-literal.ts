import type { Place } from '../../base/place.ts';
import { parseDate, parseTime, parseTimestamp, parseTimestampNtz } from '../../data/date-time.ts';
import { decimalPrecisionMax, parseDecimal, powerOfTen } from '../../data/decimal.ts';
import type { DataType, DayTimeField, YearMonthField } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { zoneOf } from '../../data/zones.ts';
import { literal } from '../../expr/call.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import {
  hasDayTimeForm,
  microsOf,
  parseDayTimeBody,
  parseUnits,
  parseYearMonthBody,
  UnitAdder,
  type UnitSum,
} from '../../expr/interval-parse.ts';
import { dayTime, decimal, time, types, yearMonth } from '../../expr/types.ts';
import type * as ast from '../../sql/ast.ts';

type NumberNode = Extract<ast.Expression, { node: 'number' }>;

const integerTypes = {
  Y: { type: types.tinyint, bits: 8 },
  S: { type: types.smallint, bits: 16 },
  L: { type: types.bigint, bits: 64 },
} as const;

/** Literals with their types. A sign belongs to the number, so that -2147483648 is an int. */
export function bindNumber(node: NumberNode, negative: boolean, place: Place): Expression {
  const text = negative ? `-${node.text}` : node.text;
  switch (node.suffix) {
    case 'Y':
    case 'S':
    case 'L':
      return suffixedInteger(text, node.suffix, place);
    case 'F':
      return floatLiteral(text, place);
    case 'D':
      return literal(finite(Number(text), text, 'double', place), types.double, place);
    case 'BD':
      return decimalLiteral(text, place);
    default:
      break;
  }
  if (/[eE]/.test(text))
    return literal(finite(Number(text), text, 'double', place), types.double, place);
  if (text.includes('.')) return decimalLiteral(text, place);
  const value = BigInt(text);
  if (BigInt.asIntN(32, value) === value) return literal(Number(value), types.int, place);
  if (BigInt.asIntN(64, value) === value) return literal(value, types.bigint, place);
  return decimalLiteral(text, place);
}

function suffixedInteger(text: string, suffix: 'Y' | 'S' | 'L', place: Place): Expression {
  const { type, bits } = integerTypes[suffix];
  const value = /^-?\d+$/.test(text) ? BigInt(text) : undefined;
  if (value === undefined || BigInt.asIntN(bits, value) !== value) {
    throw outOfRange(`${text}${suffix}`, type.kind, place);
  }
  return literal(suffix === 'L' ? value : Number(value), type, place);
}

/** The number itself must be in range, not only the float nearest to it. */
function floatLiteral(text: string, place: Place): Expression {
  const value = Number(text);
  if (Math.abs(value) > floatMax) throw outOfRange(`${text}F`, 'float', place);
  return literal(Math.fround(value), types.float, place);
}

const floatMax = 3.4028234663852886e38;

function finite(value: number, text: string, kind: string, place: Place): number {
  if (!Number.isFinite(value)) throw outOfRange(text, kind, place);
  return value;
}

function outOfRange(text: string, kind: string, place: Place): Error {
  return fault('INVALID_NUMERIC_LITERAL_RANGE', `the number ${text} does not fit ${kind}`, place);
}

/** A decimal of exactly the digits that are written. */
function decimalLiteral(text: string, place: Place): Expression {
  const parsed = parseDecimal(text);
  if (parsed === undefined) throw outOfRange(text, 'decimal', place);
  const scale = Math.max(parsed.scale, 0);
  const unscaled = parsed.unscaled * powerOfTen(scale - parsed.scale);
  const digits = String(unscaled < 0n ? -unscaled : unscaled).length;
  const precision = Math.max(digits, scale);
  if (precision > decimalPrecisionMax) {
    throw fault(
      'DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION',
      `a decimal has at most ${decimalPrecisionMax} digits, ${text} has ${precision}`,
      place,
    );
  }
  return literal(unscaled, decimal(precision, scale), place);
}

type TypedNode = Extract<ast.Expression, { node: 'typed' }>;

/** DATE'…', TIMESTAMP'…', X'…' and the like. */
export function bindTyped(node: TypedNode, timeZone: string): Expression {
  const { text, place } = node;
  const typed = (type: DataType, value: Value | undefined): Expression => {
    if (value === undefined) {
      throw fault('INVALID_TYPED_LITERAL', `'${text}' is no ${node.type.toUpperCase()}`, place);
    }
    return literal(value, type, place);
  };
  const isEpoch = text.trim().toLowerCase() === 'epoch';
  switch (node.type) {
    case 'date':
      return typed(types.date, isEpoch ? 0 : parseDate(text));
    case 'timestamp':
    case 'timestamp_ltz':
      return typed(types.timestamp, isEpoch ? 0n : parseTimestamp(text, zoneOf(timeZone)));
    case 'timestamp_ntz':
      return typed(types.timestamp_ntz, isEpoch ? 0n : parseTimestampNtz(text));
    case 'time': {
      const nanos = parseTime(text);
      const digits = String((nanos ?? 0n) % 1000n)
        .padStart(3, '0')
        .replace(/0+$/, '').length;
      return typed(time(6 + digits), nanos);
    }
    case 'x':
      return typed(types.binary, parseHex(text));
    case 'interval':
      return unitLiteral(parseUnits(text), text, place);
    default:
      throw fault(
        'UNSUPPORTED_TYPED_LITERAL',
        `there are no literals of type ${node.type.toUpperCase()}`,
        place,
      );
  }
}

function parseHex(text: string): Uint8Array | undefined {
  if (!/^[0-9a-fA-F]*$/.test(text)) return undefined;
  return Buffer.from(text.length % 2 === 0 ? text : `0${text}`, 'hex');
}

type IntervalNode = Extract<ast.Expression, { node: 'interval' }>;

/** `INTERVAL 1 DAY 2 HOURS`. */
export function bindInterval(node: IntervalNode): Expression {
  const sum = new UnitAdder();
  for (const unit of node.units) {
    const count = countText(unit.value);
    if (count === undefined || !sum.add(count, unit.unit)) {
      throw fault(
        countRefusal(count ?? '', unit.unit),
        `this is no number of ${unit.unit}s`,
        unit.place,
      );
    }
  }
  return unitLiteral(sum.sum(), '', node.place);
}

/** Spark's class for a count that is none. */
function countRefusal(count: string, unit: string): string {
  const text = count.trim();
  if (/[a-z]/i.test(text)) return '_LEGACY_ERROR_TEMP_0026';
  if (!knownUnits.has(unit)) return 'INVALID_TYPED_LITERAL';
  const kind = /^[+-]?\d*\.\d*$/.test(text)
    ? 'INVALID_FRACTION'
    : /^[+-]?\d+$/.test(text)
      ? 'ARITHMETIC_EXCEPTION'
      : /^[+-]?[\d.]+\s+\S/.test(text)
        ? 'INVALID_UNIT'
        : /^(?:[+-]?\d|[+-]$)/.test(text)
          ? 'INVALID_VALUE'
          : 'UNRECOGNIZED_NUMBER';
  return `INVALID_INTERVAL_FORMAT.${kind}`;
}

function countText(node: ast.Expression): string | undefined {
  switch (node.node) {
    case 'number':
      return node.text;
    case 'string':
      return node.value;
    case 'unary': {
      const inner = countText(node.operand);
      if (inner === undefined) return undefined;
      if (node.operator === '+') return inner;
      if (node.operator !== '-') return undefined;
      return inner.startsWith('-') ? inner.slice(1) : `-${inner}`;
    }
    default:
      return undefined;
  }
}

const yearMonthUnits: readonly string[] = ['year', 'month'];
const dayTimeUnits: readonly string[] = ['day', 'hour', 'minute', 'second'];

const knownUnits: ReadonlySet<string> = new Set([
  ...['year', 'month', 'week', 'day', 'hour', 'minute', 'second'],
  ...['millisecond', 'microsecond', 'nanosecond'],
]);

/** The field of a unit that a type has none of. */
const fieldOf: Readonly<Record<string, string>> = {
  week: 'day',
  millisecond: 'second',
  microsecond: 'second',
  nanosecond: 'second',
};

/** Years and months, or days and smaller units; both in one literal are refused, as in Spark. */
function unitLiteral(sum: UnitSum | undefined, text: string, place: Place): Expression {
  if (sum === undefined) {
    throw fault('INVALID_TYPED_LITERAL', `'${text}' is no interval`, place);
  }
  const fields = [...sum.units].map((unit) => fieldOf[unit] ?? unit);
  const months = yearMonthUnits.filter((field) => fields.includes(field));
  const times = dayTimeUnits.filter((field) => fields.includes(field));
  if (months.length > 0 && times.length > 0) {
    throw fault(
      '_LEGACY_ERROR_TEMP_0029',
      "an interval can't have months and days together",
      place,
      'Write two intervals, one of years and months, one of days and smaller units.',
    );
  }
  if (months.length > 0) {
    const type = yearMonth(
      months[0] as YearMonthField,
      (months.at(-1) ?? 'month') as YearMonthField,
    );
    return literal(sum.months, type, place);
  }
  const type = dayTime(
    (times[0] ?? 'second') as DayTimeField,
    (times.at(-1) ?? 'second') as DayTimeField,
  );
  const micros = BigInt(sum.days) * microsOf.day + sum.micros;
  if (micros === BigInt.asIntN(64, micros)) return literal(micros, type, place);
  throw fault(
    'INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION',
    'an interval has no more than 106751991 days',
    place,
  );
}

type IntervalRangeNode = Extract<ast.Expression, { node: 'interval_range' }>;

/** `INTERVAL '1-2' YEAR TO MONTH`. */
export function bindIntervalRange(node: IntervalRangeNode): Expression {
  const { from, to, place } = node;
  const text = signedText(node);
  if (yearMonthUnits.includes(from) && yearMonthUnits.includes(to)) {
    const months = parseYearMonthBody(text, from as YearMonthField, to as YearMonthField);
    if (months === undefined) {
      const isMonthsOnly = /^[+-]?\d+-\d+$/.test(text);
      throw fault(
        `INVALID_INTERVAL_FORMAT.${isMonthsOnly ? 'INTERVAL_PARSING' : 'UNMATCHED_FORMAT_STRING'}`,
        `'${node.text}' is no interval ${from} to ${to}`,
        place,
      );
    }
    return literal(months, yearMonth(from as YearMonthField, to as YearMonthField), place);
  }
  if (dayTimeUnits.includes(from) && dayTimeUnits.includes(to)) {
    const micros = parseDayTimeBody(text, from as DayTimeField, to as DayTimeField);
    if (micros === undefined) {
      throw fault(
        hasDayTimeForm(text, from as DayTimeField, to as DayTimeField)
          ? '_LEGACY_ERROR_TEMP_0063'
          : 'INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING_WITH_NOTICE',
        `'${node.text}' is no interval ${from} to ${to}`,
        place,
      );
    }
    return literal(micros, dayTime(from as DayTimeField, to as DayTimeField), place);
  }
  throw fault(
    'INVALID_INTERVAL_FORMAT.UNSUPPORTED_FROM_TO_EXPRESSION',
    `there is no interval ${from} to ${to}`,
    place,
  );
}

function signedText(node: IntervalRangeNode): string {
  const text = node.text.trim();
  if (!node.negative) return text;
  return text.startsWith('-') ? text.slice(1) : `-${text}`;
}

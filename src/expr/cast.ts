import {
  parseDate,
  parseTime,
  parseTimestamp,
  parseTimestampNtz,
  splitMicros,
  trimControls,
} from '../data/date-time.ts';
import {
  type Decimal,
  decimalPrecisionMax,
  fitsPrecision,
  formatDecimal,
  parseDecimal,
  rescale,
  toDecimalType,
} from '../data/decimal.ts';
import { formatDouble } from '../data/double-text.ts';
import { formatType, sameType } from '../data/type-text.ts';
import type { DataType } from '../data/types.ts';
import type { MapValue, Value } from '../data/value.ts';
import { localToUtc, utc, type Zone } from '../data/zones.ts';
import { located } from './call.ts';
import {
  checkedMicros,
  dateOfTimestamp,
  microsPerDay,
  sessionZone,
  startOfDay,
  toLocal,
} from './datetime-math.ts';
import type { Operation } from './expression.ts';
import { ExpressionError } from './expression-error.ts';
import {
  intervalBody,
  microsOf,
  parseDayTimeBody,
  parseUnits,
  parseYearMonthBody,
} from './interval-parse.ts';
import { parseBoolean, parseDouble, parseInteger } from './number-text.ts';
import type { DayTimeType, DecimalType, TimeType, YearMonthType } from './types.ts';
import { textOf } from './value-text.ts';
import { fromVariant, variantOf } from './variant/variant-cast.ts';

/** `try`: what does not fit is NULL; `store`: an assignment to a declared column. */
export type CastMode = 'ansi' | 'try' | 'store';

/** The value of another type for a value that is not NULL; throws ExpressionError when there is none. */
export type Converter = (value: Value) => Value;

/** The operation of a cast that `canCast` allows. Its work is chosen by both types once. */
export function castOperation(from: DataType, to: DataType, mode: CastMode): Operation {
  const prefix = mode === 'ansi' ? 'cast' : `${mode}_cast`;
  return {
    name: `${prefix}(${formatType(from)},${formatType(to)})`,
    deterministic: true,
    cast: true,
    compile: ([arg = () => null], context) => {
      const convert = converter(from, to, mode, sessionZone(context.timeZone));
      return (row, frame) => {
        const value = arg(row, frame);
        if (value === null) return null;
        try {
          return convert(value);
        } catch (error) {
          throw located(error, context.place);
        }
      };
    },
  };
}

export function converter(from: DataType, to: DataType, mode: CastMode, zone: Zone): Converter {
  const convert = strictConverter(from, to, mode, zone);
  if (mode === 'store') return asInsert(convert);
  if (mode !== 'try') return convert;
  return (value) => {
    try {
      return convert(value);
    } catch (error) {
      if (error instanceof ExpressionError) return null;
      throw error;
    }
  };
}

function asInsert(convert: Converter): Converter {
  return (value) => {
    try {
      return convert(value);
    } catch (error) {
      if (error instanceof ExpressionError && error.errorClass === 'CAST_OVERFLOW') {
        throw new ExpressionError('CAST_OVERFLOW_IN_TABLE_INSERT', error.message);
      }
      throw error;
    }
  };
}

function strictConverter(from: DataType, to: DataType, mode: CastMode, zone: Zone): Converter {
  if (sameType(from, to) || from.kind === 'void') return (value) => value;
  if (from.kind === 'variant') {
    // The parts of what a TRY_CAST gives are NULL one by one.
    return fromVariant(to, mode === 'try', zone, (a, b) => converter(a, b, 'ansi', zone));
  }
  if (to.kind === 'variant') {
    const convert = variantOf(from);
    return (value) => ({ variant: convert(value) });
  }
  const nested = nestedConverter(from, to, mode, zone);
  if (nested !== undefined) return nested;
  switch (to.kind) {
    case 'string':
      return textOf(from, zone);
    case 'binary':
      return (value) => Buffer.from(value as string, 'utf8');
    case 'boolean':
      return toBoolean(from);
    case 'tinyint':
      return toInt(from, to, -128, 127);
    case 'smallint':
      return toInt(from, to, -32_768, 32_767);
    case 'int':
      return toInt(from, to, -2_147_483_648, 2_147_483_647);
    case 'bigint':
      return toBigint(from, to);
    case 'float': {
      const double = toDouble(from, to);
      return (value) => Math.fround(double(value));
    }
    case 'double':
      return toDouble(from, to);
    case 'decimal':
      return toDecimal(from, to);
    case 'date':
      return toDate(from, to, zone);
    case 'timestamp':
      return toTimestamp(from, to, zone);
    case 'timestamp_ntz':
      return toTimestampNtz(from, to, zone);
    case 'time':
      return toTime(from, to, zone);
    case 'interval_year_month':
      return toYearMonth(from, to);
    case 'interval_day_time':
      return toDayTime(from, to);
    case 'interval':
      // What is no interval is NULL here, as in Spark.
      return (value) => {
        const sum = parseUnits(value as string);
        return sum === undefined
          ? null
          : { months: sum.months, days: sum.days, micros: sum.micros };
      };
    default:
      throw new TypeError(`no cast from ${formatType(from)} to ${formatType(to)}`);
  }
}

function nestedConverter(
  from: DataType,
  to: DataType,
  mode: CastMode,
  zone: Zone,
): Converter | undefined {
  if (from.kind === 'array' && to.kind === 'array') {
    const element = nullable(converter(from.element, to.element, mode, zone));
    return (value) => (value as readonly Value[]).map(element);
  }
  if (from.kind === 'map' && to.kind === 'map') {
    const key = nullable(converter(from.key, to.key, mode, zone));
    const item = nullable(converter(from.value, to.value, mode, zone));
    return (value) => ({
      entries: (value as MapValue).entries.map(([k, v]) => [key(k), item(v)] as const),
    });
  }
  if (from.kind === 'struct' && to.kind === 'struct') {
    const fields = from.fields.map((field, i) => {
      const target = to.fields[i];
      return nullable(converter(field.type, target?.type ?? field.type, mode, zone));
    });
    return (value) => fields.map((field, i) => field((value as readonly Value[])[i] ?? null));
  }
  return undefined;
}

/** Takes NULL for NULL. */
export function nullable(convert: Converter): Converter {
  return (value) => (value === null ? null : convert(value));
}

// ---------------------------------------------------------------- errors

export function invalidInput(text: string, to: DataType): ExpressionError {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return new ExpressionError(
    'CAST_INVALID_INPUT',
    `the text '${shown}' can't be read as ${formatType(to)}`,
  );
}

function castOverflow(value: Value, from: DataType, to: DataType): ExpressionError {
  const shown =
    from.kind === 'decimal' ? formatDecimal(value as bigint, from.scale) : String(value);
  return new ExpressionError(
    'CAST_OVERFLOW',
    `the ${formatType(from)} value ${shown} does not fit ${formatType(to)}`,
  );
}

function outOfRange(shown: string, to: DecimalType): ExpressionError {
  return new ExpressionError(
    'NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION',
    `the value ${shown} does not fit ${formatType(to)}`,
  );
}

function parsed(to: DataType, parse: (text: string) => Value | undefined): Converter {
  return (value) => {
    const result = parse(value as string);
    if (result === undefined) throw invalidInput(value as string, to);
    return result;
  };
}

// ---------------------------------------------------------------- numbers

function toBoolean(from: DataType): Converter {
  switch (from.kind) {
    case 'string':
      return parsed({ kind: 'boolean' }, parseBoolean);
    case 'bigint':
    case 'decimal':
      return (value) => value !== 0n;
    default:
      return (value) => value !== 0;
  }
}

function toInt(from: DataType, to: DataType, least: number, most: number): Converter {
  if (from.kind === 'string') {
    return parsed(to, (text) => {
      const value = parseInteger(text);
      return value !== undefined && value >= least && value <= most ? Number(value) : undefined;
    });
  }
  if (from.kind === 'boolean') return (value) => (value === true ? 1 : 0);
  if (from.kind === 'float' || from.kind === 'double') {
    return (value) => {
      const number = value as number;
      if (!(Math.floor(number) <= most && Math.ceil(number) >= least)) {
        throw castOverflow(value, from, to);
      }
      return Math.trunc(number) + 0;
    };
  }
  const whole = wholeNumber(from);
  return (value) => {
    const number = whole(value);
    if (number < least || number > most) throw castOverflow(value, from, to);
    return Number(number);
  };
}

/** Digits of a second beyond the precision are cut. */
function toTime(from: DataType, to: TimeType, zone: Zone): Converter {
  const unit = 10n ** BigInt(9 - to.precision);
  const cut = (nanos: bigint): bigint => nanos - (nanos % unit);
  if (from.kind === 'time') return (value) => cut(value as bigint);
  if (from.kind === 'timestamp' || from.kind === 'timestamp_ntz') {
    const local = from.kind === 'timestamp' ? zone : utc;
    return (value) => {
      const { microsOfDay } = splitMicros(toLocal(value as bigint, local));
      return cut(BigInt(microsOfDay) * 1000n);
    };
  }
  return parsed(to, (text) => {
    const nanos = parseTime(text);
    return nanos === undefined ? undefined : cut(nanos);
  });
}

/** The integer that a number, timestamp, time or interval is cast to, before its range is checked. */
function wholeNumber(from: DataType): (value: Value) => number | bigint {
  switch (from.kind) {
    case 'time':
      return (value) => (value as bigint) / 1_000_000_000n;
    case 'decimal': {
      const one = 10n ** BigInt(from.scale);
      return (value) => (value as bigint) / one;
    }
    case 'timestamp':
      return (value) => floorDiv(value as bigint, 1_000_000n);
    case 'interval_day_time': {
      const unit = microsOf[from.to];
      return (value) => (value as bigint) / unit;
    }
    case 'interval_year_month':
      if (from.to === 'year') return (value) => Math.trunc((value as number) / 12);
      return (value) => value as number;
    default:
      return (value) => value as number | bigint;
  }
}

function floorDiv(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return quotient * divisor > value ? quotient - 1n : quotient;
}

const bigintLeast = -(2n ** 63n);
const bigintMost = 2n ** 63n - 1n;

function toBigint(from: DataType, to: DataType): Converter {
  if (from.kind === 'string') {
    return parsed(to, (text) => {
      const value = parseInteger(text);
      return value !== undefined && value >= bigintLeast && value <= bigintMost
        ? BigInt(value)
        : undefined;
    });
  }
  if (from.kind === 'boolean') return (value) => (value === true ? 1n : 0n);
  if (from.kind === 'float' || from.kind === 'double') {
    return (value) => {
      const number = value as number;
      // 2^63 itself passes, as in Java, where the greatest bigint rounds to it, and is then cut.
      if (!(number <= 2 ** 63 && number >= -(2 ** 63))) throw castOverflow(value, from, to);
      const big = BigInt(Math.trunc(number));
      return big > bigintMost ? bigintMost : big;
    };
  }
  const whole = wholeNumber(from);
  return (value) => {
    const number = BigInt(whole(value));
    if (number < bigintLeast || number > bigintMost) throw castOverflow(value, from, to);
    return number;
  };
}

function toDouble(from: DataType, to: DataType): (value: Value) => number {
  switch (from.kind) {
    case 'string':
      return (value) => {
        const number = parseDouble(value as string);
        if (number === undefined) throw invalidInput(value as string, to);
        return number;
      };
    case 'boolean':
      return (value) => (value === true ? 1 : 0);
    case 'decimal':
      return (value) => Number(formatDecimal(value as bigint, from.scale));
    case 'timestamp':
      return (value) => Number(value) / 1_000_000;
    default:
      return Number;
  }
}

function toDecimal(from: DataType, to: DecimalType): Converter {
  const { precision, scale } = to;
  switch (from.kind) {
    case 'string':
      return (value) => {
        const decimal = parseDecimal(plainDigits(trimControls(value as string)));
        if (decimal === undefined) throw invalidInput(value as string, to);
        if (wholeDigits(decimal) > decimalPrecisionMax) {
          throw new ExpressionError(
            'NUMERIC_OUT_OF_SUPPORTED_RANGE',
            `the value ${value as string} has more than ${decimalPrecisionMax} digits`,
          );
        }
        const unscaled = toDecimalType(decimal, precision, scale);
        if (unscaled === undefined) throw outOfRange(value as string, to);
        return unscaled;
      };
    case 'decimal': {
      const { scale: fromScale } = from;
      return (value) => {
        const unscaled = rescale(value as bigint, fromScale, scale);
        if (!fitsPrecision(unscaled, precision)) {
          throw outOfRange(formatDecimal(value as bigint, fromScale), to);
        }
        return unscaled;
      };
    }
    case 'float':
    case 'double':
      return (value) => doubleToDecimal(value as number, to);
    case 'timestamp':
      return (value) => doubleToDecimal(Number(value) / 1_000_000, to);
    case 'time':
      return (value) => scaledInteger(value as bigint, 9, to);
    case 'boolean':
      return (value) => scaledInteger(value === true ? 1n : 0n, 0, to);
    case 'interval_day_time': {
      const unit = microsOf[from.to];
      if (from.to === 'second') return (value) => scaledInteger(value as bigint, 6, to);
      return (value) => scaledInteger((value as bigint) / unit, 0, to);
    }
    default: {
      const whole = wholeNumber(from);
      return (value) => scaledInteger(BigInt(whole(value)), 0, to);
    }
  }
}

/** Digits before the point, as Java counts them; below zero where the first one stands far behind it. */
function wholeDigits({ unscaled, scale }: Decimal): number {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).length;
  return digits - scale;
}

/** Java reads the digits of every script in a decimal, and in nothing else. */
function plainDigits(text: string): string {
  if (!/\P{ASCII}/u.test(text)) return text;
  return text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    let zero = code;
    while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
    return String((code - zero) % 10);
  });
}

function scaledInteger(unscaled: bigint, scale: number, to: DecimalType): bigint {
  const result = toDecimalType({ unscaled, scale }, to.precision, to.scale);
  if (result === undefined) throw outOfRange(formatDecimal(unscaled, scale), to);
  return result;
}

/** By the shortest digits that name the double, as Java reads one; what is no number has none. */
function doubleToDecimal(value: number, to: DecimalType): bigint | null {
  if (!Number.isFinite(value)) return null;
  const decimal = parseDecimal(formatDouble(value));
  const unscaled = decimal && toDecimalType(decimal, to.precision, to.scale);
  if (unscaled === undefined) throw outOfRange(formatDouble(value), to);
  return unscaled;
}

// ---------------------------------------------------------------- dates and timestamps

function toDate(from: DataType, to: DataType, zone: Zone): Converter {
  switch (from.kind) {
    case 'string':
      return parsed(to, parseDate);
    case 'timestamp':
      return (value) => dateOfTimestamp(value as bigint, zone);
    default:
      return (value) => Number(floorDiv(value as bigint, microsPerDay));
  }
}

function toTimestamp(from: DataType, to: DataType, zone: Zone): Converter {
  switch (from.kind) {
    case 'string':
      return parsed(to, (text) => parseTimestamp(text, zone));
    case 'date':
      return (value) => startOfDay(value as number, zone);
    case 'timestamp_ntz':
      return (value) => checkedMicros(localToUtc(zone, value as bigint));
    case 'float':
    case 'double':
      return (value) => {
        if (!Number.isFinite(value)) throw invalidInput(formatDouble(value as number), to);
        const micros = (value as number) * 1_000_000;
        if (!(micros <= 2 ** 63 && micros >= -(2 ** 63))) throw castOverflow(value, from, to);
        const big = BigInt(Math.trunc(micros));
        return big > bigintMost ? bigintMost : big;
      };
    case 'decimal': {
      const one = 10n ** BigInt(from.scale);
      // What is out of range wraps around, as Spark's does.
      return (value) => BigInt.asIntN(64, to34Digits((value as bigint) * 1_000_000n) / one);
    }
    default:
      return (value) => clamped(BigInt(value as number | bigint) * 1_000_000n);
  }
}

/** Scala multiplies decimals with 34 digits, and rounds half to even. */
function to34Digits(unscaled: bigint): bigint {
  const surplus = String(unscaled < 0n ? -unscaled : unscaled).length - 34;
  if (surplus <= 0) return unscaled;
  const unit = 10n ** BigInt(surplus);
  const rest = unscaled % unit;
  const cut = unscaled - rest;
  const twice = (rest < 0n ? -rest : rest) * 2n;
  const isUp = twice > unit || (twice === unit && (cut / unit) % 2n !== 0n);
  if (!isUp) return cut;
  return unscaled < 0n ? cut - unit : cut + unit;
}

function clamped(micros: bigint): bigint {
  if (micros > bigintMost) return bigintMost;
  return micros < bigintLeast ? bigintLeast : micros;
}

function toTimestampNtz(from: DataType, to: DataType, zone: Zone): Converter {
  switch (from.kind) {
    case 'string':
      return parsed(to, (text) => parseTimestampNtz(text));
    case 'date':
      return (value) => checkedMicros(BigInt(value as number) * microsPerDay);
    default:
      return (value) => toLocal(value as bigint, zone);
  }
}

// ---------------------------------------------------------------- intervals

/** Halves are rounded away from zero. */
function nearest(scale: number): (value: Value) => bigint {
  return (value) => rescale(value as bigint, scale, 0);
}

function invalidInterval(text: string, to: DataType, kind: string): ExpressionError {
  const { message } = invalidInput(text, to);
  return new ExpressionError(`INVALID_INTERVAL_FORMAT.${kind}`, message);
}

function refused(error: ExpressionError): never {
  throw error;
}

function toYearMonth(from: DataType, to: YearMonthType): Converter {
  if (from.kind === 'string') {
    return (value) => {
      const body = intervalBody(value as string, to);
      const months = body === undefined ? undefined : parseYearMonthBody(body, to.from, to.to);
      return months ?? refused(invalidInterval(value as string, to, 'UNMATCHED_FORMAT_STRING'));
    };
  }
  const unit = to.to === 'year' ? 12 : 1;
  if (from.kind === 'interval_year_month') {
    return (value) => (value as number) - ((value as number) % unit);
  }
  const whole = from.kind === 'decimal' && unit === 1 ? nearest(from.scale) : wholeNumber(from);
  return (value) => {
    const months = Number(whole(value)) * unit;
    if (months < -2_147_483_648 || months > 2_147_483_647) throw castOverflow(value, from, to);
    return months;
  };
}

function toDayTime(from: DataType, to: DayTimeType): Converter {
  if (from.kind === 'string') {
    return (value) => {
      const body = intervalBody(value as string, to);
      const micros = body === undefined ? undefined : parseDayTimeBody(body, to.from, to.to);
      const kind = 'UNMATCHED_FORMAT_STRING_WITH_NOTICE';
      return micros ?? refused(invalidInterval(value as string, to, kind));
    };
  }
  const unit = microsOf[to.to];
  if (from.kind === 'interval_day_time') {
    if (to.to === 'second') return (value) => value;
    return (value) => (value as bigint) - ((value as bigint) % unit);
  }
  if (from.kind === 'decimal' && to.to === 'second') {
    const { scale } = from;
    return (value) => rangedMicros(rescale(value as bigint, scale, 6), value, from, to);
  }
  const whole = wholeNumber(from);
  return (value) => rangedMicros(BigInt(whole(value)) * unit, value, from, to);
}

function rangedMicros(micros: bigint, value: Value, from: DataType, to: DataType): bigint {
  if (micros < bigintLeast || micros > bigintMost) throw castOverflow(value, from, to);
  return micros;
}

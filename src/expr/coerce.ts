import type { Place } from '../base/place.ts';
import { decimalPrecisionMax } from '../data/decimal.ts';
import { formatType, sameType } from '../data/type-text.ts';
import type { DataType } from '../data/types.ts';
import type { Value } from '../data/value.ts';
import { call, literal } from './call.ts';
import { type CastMode, castOperation } from './cast.ts';
import { canCast, canStoreAssign, castRefusal } from './cast-rules.ts';
import type { Evaluator, Expression } from './expression.ts';
import { fault, mismatch } from './faults.ts';
import {
  arrayOf,
  dayTime,
  dayTimeFields,
  decimal,
  decimalOf,
  isAnsiInterval,
  isAtomic,
  isDatetime,
  isFractional,
  isIntegral,
  isNumeric,
  mapOf,
  type StructType,
  types,
  yearMonth,
  yearMonthFields,
} from './types.ts';

export type CoercionMode = CastMode;

/**
 * The expression as a value of `type`: itself when it has the type, a typed NULL for a NULL literal,
 * else a cast node. Refuses what Spark refuses in the mode: `store` is the assignment to a declared column.
 */
/**
 * A cast as somebody wrote it: it stays one even where it changes nothing, since a number behind a cast no longer
 * counts as written out, and so has the digits of its type and not its own.
 */
export function writtenCast(
  expression: Expression,
  type: DataType,
  mode: CoercionMode,
  place: Place,
): Expression {
  const result = castTo(expression, type, mode, place);
  if (result !== expression || result.node !== 'literal' || !isIntegral(type)) return result;
  const operation = {
    name: `cast(${formatType(type)})`,
    deterministic: true,
    cast: true as const,
    compile: ([arg = () => null]: readonly Evaluator[]) => arg,
  };
  return { node: 'call', type, operation, arguments: [result], place };
}

/** A whole number that goes through FLOAT to DOUBLE goes there at once, as Spark simplifies it. */
function widenedFloat(expression: Expression, type: DataType): Expression | undefined {
  if (type.kind !== 'double' || expression.type.kind !== 'float') return undefined;
  if (expression.node !== 'call' || expression.operation.cast !== true) return undefined;
  const [whole] = expression.arguments;
  return whole !== undefined && isIntegral(whole.type) && !hasOnlyLiterals(whole)
    ? whole
    : undefined;
}

function hasOnlyLiterals(expression: Expression): boolean {
  if (expression.node === 'literal') return true;
  return expression.node === 'call' && expression.arguments.every(hasOnlyLiterals);
}

export function castTo(
  expression: Expression,
  type: DataType,
  mode: CoercionMode = 'ansi',
  place: Place = expression.place,
): Expression {
  const from = expression.type;
  if (sameType(from, type)) return expression;
  if (mode === 'store') {
    if (!canStoreAssign(from, type)) {
      throw fault(
        'INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST',
        `${formatType(from)} does not go into a column of type ${formatType(type)} by itself`,
        place,
        `Write CAST(… AS ${formatType(type).toUpperCase()}) if that is what you mean.`,
      );
    }
  } else if (!canCast(from, type)) {
    const refusal = castRefusal(from, type, mode);
    throw mismatch(
      refusal.kind,
      `${formatType(from)} can't be cast to ${formatType(type)}`,
      place,
      refusal.hint,
    );
  }
  if (expression.node === 'literal' && expression.value === null) {
    return literal(null, type, expression.place);
  }
  const whole = widenedFloat(expression, type);
  if (whole !== undefined) return castTo(whole, type, mode, place);
  const epoch = epochOf(expression, type);
  if (epoch !== undefined) return literal(epoch, type, expression.place);
  return call(castOperation(from, type, mode), type, [expression], place);
}

/** The word `epoch` as a constant is a date and a timestamp; in data it is not. */
function epochOf(expression: Expression, type: DataType): Value | undefined {
  if (expression.node !== 'literal' || typeof expression.value !== 'string') return undefined;
  if (expression.value.trim().toLowerCase() !== 'epoch' || !isDatetime(type)) return undefined;
  return type.kind === 'date' ? 0 : 0n;
}

const numericOrder = ['tinyint', 'smallint', 'int', 'bigint', 'float', 'double'];

/** The narrowest type both go into without a change of meaning; strings are not converted. */
export function tightestType(a: DataType, b: DataType): DataType | undefined {
  if (sameType(a, b)) return a;
  if (a.kind === 'void') return b;
  if (b.kind === 'void') return a;
  if (isNumeric(a) && isNumeric(b)) return tightestNumeric(a, b);
  if (isDatetime(a) && isDatetime(b)) return widerDatetime(a, b);
  if (a.kind === 'interval_day_time' && b.kind === 'interval_day_time') {
    const from = Math.min(dayTimeFields.indexOf(a.from), dayTimeFields.indexOf(b.from));
    const to = Math.max(dayTimeFields.indexOf(a.to), dayTimeFields.indexOf(b.to));
    return dayTime(dayTimeFields[from] ?? a.from, dayTimeFields[to] ?? a.to);
  }
  if (a.kind === 'interval_year_month' && b.kind === 'interval_year_month') {
    const from = Math.min(yearMonthFields.indexOf(a.from), yearMonthFields.indexOf(b.from));
    const to = Math.max(yearMonthFields.indexOf(a.to), yearMonthFields.indexOf(b.to));
    return yearMonth(yearMonthFields[from] ?? a.from, yearMonthFields[to] ?? a.to);
  }
  if (a.kind === 'time' && b.kind === 'time') return a.precision > b.precision ? a : b;
  return nestedType(a, b, tightestType);
}

function tightestNumeric(a: DataType, b: DataType): DataType | undefined {
  if (a.kind === 'decimal' || b.kind === 'decimal') {
    if (a.kind === 'float' || a.kind === 'double' || b.kind === 'float' || b.kind === 'double') {
      return types.double;
    }
    const [x, y] = [decimalOf(a), decimalOf(b)];
    if (a.kind === 'decimal' && isIntegral(b) && x.precision - x.scale >= y.precision) return a;
    if (b.kind === 'decimal' && isIntegral(a) && y.precision - y.scale >= x.precision) return b;
    return undefined;
  }
  const wider = numericOrder.indexOf(a.kind) > numericOrder.indexOf(b.kind) ? a : b;
  // An integer beside a float becomes a double, so that no digit of the integer is lost.
  return wider.kind === 'float' ? types.double : wider;
}

/** Among dates and timestamps: a zoned timestamp wins, then the one without a zone. */
function widerDatetime(a: DataType, b: DataType): DataType {
  if (a.kind === 'timestamp' || b.kind === 'timestamp') return types.timestamp;
  if (a.kind === 'timestamp_ntz' || b.kind === 'timestamp_ntz') return types.timestamp_ntz;
  return types.date;
}

type Combine = (a: DataType, b: DataType) => DataType | undefined;

function nestedType(a: DataType, b: DataType, combine: Combine): DataType | undefined {
  if (a.kind === 'array' && b.kind === 'array') {
    const element = combine(a.element, b.element);
    return element === undefined ? undefined : arrayOf(element);
  }
  if (a.kind === 'map' && b.kind === 'map') {
    // Keys that are texts stay apart from others.
    const key = commonTypeWithoutStrings(a.key, b.key);
    const value = combine(a.value, b.value);
    return key === undefined || value === undefined ? undefined : mapOf(key, value);
  }
  if (a.kind === 'struct' && b.kind === 'struct') return combinedStruct(a, b, combine);
  return undefined;
}

function combinedStruct(a: StructType, b: StructType, combine: Combine): DataType | undefined {
  if (a.fields.length !== b.fields.length) return undefined;
  const fields = [];
  for (const [i, field] of a.fields.entries()) {
    const other = b.fields[i];
    if (other === undefined || field.name.toLowerCase() !== other.name.toLowerCase()) {
      return undefined;
    }
    const type = combine(field.type, other.type);
    if (type === undefined) return undefined;
    fields.push({ name: field.name, type });
  }
  return { kind: 'struct', fields };
}

/** The decimal that holds both; digits before the point go first when 38 are not enough. */
export function widerDecimal(a: DataType, b: DataType): DataType {
  const [x, y] = [decimalOf(a), decimalOf(b)];
  const scale = Math.max(x.scale, y.scale);
  const precision = Math.max(x.precision - x.scale, y.precision - y.scale) + scale;
  if (precision <= decimalPrecisionMax) return decimal(precision, scale);
  return decimal(decimalPrecisionMax, Math.max(0, scale - (precision - decimalPrecisionMax)));
}

/** The decimal that holds both without a loss; undefined where 38 digits are not enough. */
export function exactDecimal(a: DataType, b: DataType): DataType | undefined {
  const [x, y] = [decimalOf(a), decimalOf(b)];
  const scale = Math.max(x.scale, y.scale);
  const precision = Math.max(x.precision - x.scale, y.precision - y.scale) + scale;
  return precision <= decimalPrecisionMax ? decimal(precision, scale) : undefined;
}

function decimalPair(a: DataType, b: DataType): DataType | undefined {
  const isPair =
    (a.kind === 'decimal' && (b.kind === 'decimal' || isIntegral(b))) ||
    (b.kind === 'decimal' && isIntegral(a));
  return isPair ? widerDecimal(a, b) : undefined;
}

/** As `tightestType`, but a decimal and a float have nothing in common (an element put into an array). */
export function tightestCommonType(a: DataType, b: DataType): DataType | undefined {
  const kinds = [a.kind, b.kind];
  const isMixed =
    kinds.includes('decimal') && (kinds.includes('float') || kinds.includes('double'));
  return isMixed ? undefined : tightestType(a, b);
}

/** What a string is read as beside another type: integers as bigint, fractions as double. */
export function promotedString(a: DataType, b: DataType): DataType | undefined {
  if (b.kind === 'string' && a.kind !== 'string') return promotedString(b, a);
  if (a.kind !== 'string') return undefined;
  if (isIntegral(b)) return types.bigint;
  if (isFractional(b)) return types.double;
  if (b.kind === 'void') return types.string;
  if (isAnsiInterval(b)) return undefined;
  if (b.kind === 'variant') return b;
  return isAtomic(b) ? b : undefined;
}

/** The type two branches, elements or arguments are brought to; strings yield to the other type. */
export function commonType(a: DataType, b: DataType): DataType | undefined {
  return (
    tightestType(a, b) ?? decimalPair(a, b) ?? promotedString(a, b) ?? nestedType(a, b, commonType)
  );
}

/** As `commonType`, but a string beside another type has no common type (greatest, least). */
export function commonTypeWithoutStrings(a: DataType, b: DataType): DataType | undefined {
  return tightestType(a, b) ?? decimalPair(a, b) ?? nestedType(a, b, commonTypeWithoutStrings);
}

/** The common type of many, found from left to right; of none it is void. */
export function commonTypeOf(
  list: readonly DataType[],
  combine: Combine = commonType,
): DataType | undefined {
  let common: DataType | undefined = types.void;
  for (const type of list) {
    if (common === undefined) return undefined;
    common = combine(common, type);
  }
  return common;
}

/** All expressions cast to their common type; a fault names the first two that have none. */
export function unify(
  expressions: readonly Expression[],
  what: string,
  place: Place,
  combine: Combine = commonType,
  refusal = 'DATA_DIFF_TYPES',
): { type: DataType; expressions: readonly Expression[] } {
  const type = commonTypeOf(
    expressions.map((e) => e.type),
    combine,
  );
  if (type === undefined) {
    const names = [...new Set(expressions.map((e) => formatType(e.type)))];
    throw mismatch(refusal, `${what} needs values of one type, not ${names.join(' and ')}`, place);
  }
  return { type, expressions: expressions.map((e) => castTo(e, type)) };
}

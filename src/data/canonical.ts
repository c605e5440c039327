import {
  formatDate,
  formatTimeIso,
  formatTimestampIso,
  formatTimestampNtzIso,
  parseDate,
  parseTime,
  parseTimestamp,
  parseTimestampNtz,
} from './date-time.ts';
import { formatDecimal } from './decimal.ts';
import { shortestDoubleOfFloat } from './double-text.ts';
import {
  formatCalendarInterval,
  formatDayTimeInterval,
  formatYearMonthInterval,
  parseCalendarInterval,
  parseDayTimeInterval,
  parseYearMonthInterval,
} from './interval-text.ts';
import { exactUnscaled } from './json-number.ts';
import type { DataType, StructField } from './types.ts';
import type { CalendarInterval, MapValue, Value, Variant } from './value.ts';
import { variantText } from './variant-text.ts';

/**
 * Values as JSON for people, scripts and test cases: a BIGINT beyond 2^53 - 1 and every decimal is a string,
 * NaN and infinities too, a map is an array of pairs, a struct an object in field order (or
 * `{"$struct": [[name, value], …]}` when names repeat), a variant its JSON text.
 * Invariant: `parseCanonical` gives back the same value (a variant excepted); -0.0 stays -0.0 as a number.
 */
export function canonicalValue(type: DataType, value: Value): unknown {
  if (value === null) return null;
  switch (type.kind) {
    case 'bigint': {
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : String(value);
    }
    case 'double':
      return canonicalDouble(value as number);
    case 'float':
      return canonicalDouble(shortestDoubleOfFloat(value as number));
    case 'decimal':
      return formatDecimal(value as bigint, type.scale);
    case 'binary':
      return Buffer.from(value as Uint8Array).toString('base64');
    case 'date':
      return formatDate(value as number);
    case 'timestamp':
      return formatTimestampIso(value as bigint);
    case 'timestamp_ntz':
      return formatTimestampNtzIso(value as bigint);
    case 'time':
      return formatTimeIso(value as bigint);
    case 'interval_year_month':
      return formatYearMonthInterval(value as number, type.from, type.to);
    case 'interval_day_time':
      return formatDayTimeInterval(value as bigint, type.from, type.to);
    case 'interval':
      return formatCalendarInterval(value as CalendarInterval);
    case 'variant':
      return variantText(value as Variant);
    case 'array':
      return (value as readonly Value[]).map((element) => canonicalValue(type.element, element));
    case 'map':
      return (value as MapValue).entries.map(([key, entry]) => [
        canonicalValue(type.key, key),
        canonicalValue(type.value, entry),
      ]);
    case 'struct':
      return canonicalStruct(type.fields, value as readonly Value[]);
    default:
      return value;
  }
}

/** The value of a canonical JSON value; undefined when it is none of that type. */
export function parseCanonical(type: DataType, json: unknown): Value | undefined {
  if (json === null || json === undefined) return null;
  switch (type.kind) {
    case 'void':
      return undefined;
    case 'boolean':
      return typeof json === 'boolean' ? json : undefined;
    case 'tinyint':
    case 'smallint':
    case 'int':
      return Number.isInteger(json) ? (json as number) : undefined;
    case 'bigint':
      return parseCanonicalBigint(json);
    case 'double':
      return parseCanonicalDouble(json);
    case 'float': {
      const value = parseCanonicalDouble(json);
      return value === undefined ? undefined : Math.fround(value);
    }
    case 'array':
      return Array.isArray(json)
        ? everyDefined(json.map((element) => parseCanonical(type.element, element)))
        : undefined;
    case 'map':
      return parseCanonicalMap(type.key, type.value, json);
    case 'struct':
      return parseCanonicalStruct(type.fields, json);
    case 'variant':
      return undefined;
    default:
      return typeof json === 'string' ? parseCanonicalString(type, json) : undefined;
  }
}

/**
 * The canonical value as plain text: numbers and strings as they are, arrays, maps and structs as JSON.
 * NULL is the text `null`, which only a type without strings can tell from a value.
 */
export function canonicalText(type: DataType, value: Value): string {
  const json = canonicalValue(type, value);
  if (typeof json === 'string') return json;
  if (typeof json === 'number') return Object.is(json, -0) ? '-0.0' : String(json);
  return canonicalJson(json);
}

/** As JSON.stringify, but -0 is written as `-0.0`. */
export function canonicalJson(json: unknown): string {
  if (typeof json === 'number') return Object.is(json, -0) ? '-0.0' : String(json);
  if (typeof json !== 'object' || json === null) return JSON.stringify(json) ?? 'null';
  if (Array.isArray(json)) return `[${json.map(canonicalJson).join(',')}]`;
  const members = Object.entries(json).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/** The inverse of `canonicalText`; undefined when the text is no value of the type. */
export function parseCanonicalText(type: DataType, text: string): Value | undefined {
  switch (type.kind) {
    case 'boolean':
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'array':
    case 'map':
    case 'struct':
      return parseCanonicalJson(type, text);
    case 'float':
    case 'double': {
      const isNumber = /^-?[0-9]/.test(text) && !Number.isNaN(Number(text));
      return parseCanonical(type, isNumber ? Number(text) : text);
    }
    default:
      return parseCanonical(type, text);
  }
}

function canonicalDouble(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

function canonicalStruct(fields: readonly StructField[], values: readonly Value[]): unknown {
  const pairs = fields.map((field, index): [string, unknown] => [
    field.name,
    canonicalValue(field.type, values[index] as Value),
  ]);
  const isRepeated = new Set(fields.map((field) => field.name)).size < fields.length;
  return isRepeated ? { $struct: pairs } : Object.fromEntries(pairs);
}

function parseCanonicalBigint(json: unknown): bigint | undefined {
  if (typeof json === 'number') return Number.isSafeInteger(json) ? BigInt(json) : undefined;
  if (typeof json !== 'string' || !/^-?\d{1,19}$/.test(json)) return undefined;
  const value = BigInt(json);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

function parseCanonicalDouble(json: unknown): number | undefined {
  if (typeof json === 'number') return json;
  if (json === 'NaN') return Number.NaN;
  if (json === 'Infinity') return Number.POSITIVE_INFINITY;
  return json === '-Infinity' ? Number.NEGATIVE_INFINITY : undefined;
}

function parseCanonicalString(type: DataType, text: string): Value | undefined {
  switch (type.kind) {
    case 'decimal':
      return exactUnscaled(text, type.scale);
    case 'binary':
      return Buffer.from(text, 'base64');
    case 'date':
      return parseDate(text);
    case 'timestamp':
      return parseTimestamp(text);
    case 'timestamp_ntz':
      return parseTimestampNtz(text, false);
    case 'time':
      return parseTime(text);
    case 'interval_year_month':
      return parseYearMonthInterval(text, type.from, type.to);
    case 'interval_day_time':
      return parseDayTimeInterval(text, type.from, type.to);
    case 'interval':
      return parseCalendarInterval(text);
    default:
      return text;
  }
}

function parseCanonicalMap(
  keyType: DataType,
  valueType: DataType,
  json: unknown,
): Value | undefined {
  if (!Array.isArray(json)) return undefined;
  const entries: [Value, Value][] = [];
  for (const pair of json) {
    if (!Array.isArray(pair) || pair.length !== 2) return undefined;
    const key = parseCanonical(keyType, pair[0]);
    const value = parseCanonical(valueType, pair[1]);
    if (key === undefined || value === undefined) return undefined;
    entries.push([key, value]);
  }
  return { entries };
}

function parseCanonicalStruct(fields: readonly StructField[], json: unknown): Value | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  const members = new Map<string, unknown>(Object.entries(json));
  const pairs = members.get('$struct');
  const isByPosition = Array.isArray(pairs) && !fields.some((field) => field.name === '$struct');
  return everyDefined(
    fields.map((field, index) =>
      parseCanonical(field.type, isByPosition ? pairs[index]?.[1] : members.get(field.name)),
    ),
  );
}

function everyDefined(values: readonly (Value | undefined)[]): readonly Value[] | undefined {
  const defined = values.filter((value) => value !== undefined);
  return defined.length === values.length ? defined : undefined;
}

function parseCanonicalJson(type: DataType, text: string): Value | undefined {
  try {
    return parseCanonical(type, JSON.parse(text));
  } catch {
    return undefined;
  }
}

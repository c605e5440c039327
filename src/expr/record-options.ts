import { FlowError } from '../base/errors.ts';
import { splitMicros } from '../data/date-time.ts';
import { formatType, parseColumnsText, parseTypeText, TypeTextError } from '../data/type-text.ts';
import type { DataType } from '../data/types.ts';
import type { MapValue } from '../data/value.ts';
import { utc, type Zone, zoneOf } from '../data/zones.ts';
import { constantValue, isConstant } from './compile.ts';
import { microsPerDay, sessionZone } from './datetime-math.ts';
import { instantOf, localParser, timestampPrinter } from './datetime-pattern/formatter.ts';
import type { ParsedTime } from './datetime-pattern/parse-pattern.ts';
import type { Expression } from './expression.ts';
import { ExpressionError } from './expression-error.ts';
import { fault } from './faults.ts';
import type { FunctionCall } from './function.ts';
import type { JsonFormats } from './json/json-decode.ts';
import type { JsonWriterOptions } from './json/json-encode.ts';

/** The third argument of from_json, or the second of to_json: a constant map. Names in lower case. */
export function optionsOf(c: FunctionCall, index: number): ReadonlyMap<string, string> {
  const argument = c.arguments[index];
  if (argument === undefined) return new Map();
  const { type } = argument;
  if (type.kind !== 'map') {
    throw fault(
      'INVALID_OPTIONS.NON_MAP_FUNCTION',
      `the options of ${c.name} are a map, not ${formatType(type)}`,
      argument.place,
    );
  }
  const isMap = type.key.kind === 'string' && type.value.kind === 'string';
  if (!isMap) {
    throw fault(
      'INVALID_OPTIONS.NON_STRING_TYPE',
      `the options of ${c.name} are a map from strings to strings, not ${formatType(type)}`,
      argument.place,
    );
  }
  if (!isConstant(argument)) {
    throw fault(
      'INVALID_OPTIONS.NON_MAP_FUNCTION',
      `the options of ${c.name} must be constant`,
      argument.place,
    );
  }
  const map = constantValue(argument, c.timeZone) as MapValue | null;
  return new Map(
    (map?.entries ?? []).map(([key, value]) => [String(key).toLowerCase(), String(value)]),
  );
}

/** The zone in which records are read and written: that of the option `timeZone`, else the session's. */
export function recordZone(options: ReadonlyMap<string, string>, session: string): Zone {
  const name = options.get('timezone');
  if (name === undefined) return sessionZone(session);
  const zone = zoneOf(name);
  if (zone !== undefined) return zone;
  throw new ExpressionError('INVALID_TIMEZONE', `there is no time zone '${name}'`);
}

/** How the options say that dates and timestamps are read. */
export function formatsOf(options: ReadonlyMap<string, string>, zone: Zone): JsonFormats {
  const [date, timestamp, timestampNtz] = patternOptions.map((name) => options.get(name));
  return {
    zone,
    refusesWords: options.get('allownonnumericnumbers')?.toLowerCase() === 'false',
    ...(date !== undefined && {
      date: reader(date, (parsed) => splitMicros(parsed.localMicros).days),
    }),
    ...(timestamp !== undefined && {
      timestamp: reader(timestamp, (parsed) => instantOf(parsed, zone)),
    }),
    ...(timestampNtz !== undefined && {
      timestampNtz: reader(timestampNtz, (parsed) => parsed.localMicros),
    }),
  };
}

function reader<T>(
  pattern: string,
  toValue: (parsed: ParsedTime) => T,
): (text: string) => T | undefined {
  const parse = localParser();
  return (text) => {
    const parsed = parse(text, pattern);
    return parsed === undefined ? undefined : toValue(parsed);
  };
}

const patternOptions = ['dateformat', 'timestampformat', 'timestampntzformat'] as const;

export function writerOf(options: ReadonlyMap<string, string>, zone: Zone): JsonWriterOptions {
  const [date, timestamp, timestampNtz] = patternOptions.map((name) => options.get(name));
  const printDate = timestampPrinter(utc);
  const printLocal = timestampPrinter(utc);
  const printZoned = timestampPrinter(zone);
  return {
    zone,
    ignoreNullFields: options.get('ignorenullfields')?.toLowerCase() !== 'false',
    sortKeys: options.get('sortkeys')?.toLowerCase() === 'true',
    ...(date !== undefined && {
      date: (days: number) => printDate(BigInt(days) * microsPerDay, date),
    }),
    ...(timestamp !== undefined && {
      timestamp: (micros: bigint) => printZoned(micros, timestamp),
    }),
    ...(timestampNtz !== undefined && {
      timestampNtz: (micros: bigint) => printLocal(micros, timestampNtz),
    }),
  };
}

/** A list of columns, or one type. */
export function parseSchema(text: string, argument: Expression): DataType {
  if (/\b(?:var)?char(?:acter)?\s*\(\s*\d+\s*\)/iu.test(text)) {
    const message = 'a schema has no CHAR or VARCHAR, whose length nobody would check';
    throw fault('UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING', message, argument.place, 'Use STRING.');
  }
  try {
    if (text.trim() === '') return parseTypeText(text);
    return { kind: 'struct', fields: parseColumnsText(text) };
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
  }
  try {
    return parseTypeText(text);
  } catch (error) {
    if (!(error instanceof TypeTextError)) throw error;
    throw fault(error.errorClass, `'${text}' is no schema: ${error.message}`, argument.place);
  }
}

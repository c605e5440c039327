import { asciiText } from './ascii-text.ts';
import { parseDate, parseTime, parseTimestamp, parseTimestampNtz } from './date-time.ts';
import { powerOfTen } from './decimal.ts';
import {
  parseCalendarInterval,
  parseDayTimeInterval,
  parseYearMonthInterval,
} from './interval-text.ts';
import { isoMicros } from './iso-bytes.ts';
import {
  type JsonKind,
  type JsonSpan,
  kindArray,
  kindAscii,
  kindFalse,
  kindInteger,
  kindMissing,
  kindNull,
  kindNumber,
  kindObject,
  kindText,
  kindTrue,
  readValue,
  spaceEnd,
  stringEnd,
} from './json-lex.ts';
import {
  decodeBigint,
  decodeDecimal,
  decodeDouble,
  decodeInteger,
  exactUnscaled,
} from './json-number.ts';
import { JsonObjectScanner } from './json-scan.ts';
import { decodeJsonString } from './json-text.ts';
import { type Misfit, misfit } from './misfit.ts';
import { formatType } from './type-text.ts';
import type { DataType, StructField } from './types.ts';
import type { Value } from './value.ts';
import { decodeVariant } from './variant-decode.ts';
import { utc, type Zone } from './zones.ts';

/** From a span of a valid JSON text, as the scanner gives it (strings without their quotes). */
export type JsonDecoder = (
  bytes: Buffer,
  start: number,
  end: number,
  kind: JsonKind,
) => Value | Misfit;

/**
 * Compiles the strict reader of one type. Invariant: a value comes out exactly, or as a misfit; a missing
 * member and `null` are NULL. Strict means: numbers only from numbers (decimals from strings of digits
 * too, as producers write them to keep their digits), strings only from strings, a fraction never into an
 * integer, digits never lost, no infinity out of `1e400`; "NaN", "Infinity" and "-Infinity" are strings.
 * Dates are `yyyy-MM-dd`; timestamps are ISO 8601, in `zone` where the text has none.
 * What `json-encode.ts` writes is read back as the same value.
 */
export function jsonDecoder(type: DataType, zone: Zone = utc): JsonDecoder {
  const decode = presentDecoder(type, zone);
  return (bytes, start, end, kind) =>
    kind === kindMissing || kind === kindNull ? null : decode(bytes, start, end, kind);
}

/** What to say about a misfit: a clause for an error message. */
export function misfitText(column: string, type: DataType, text: string): string {
  const shown = text.length > 80 ? `${text.slice(0, 77)}…` : text;
  return `the value ${shown} does not fit column "${column}" of type ${formatType(type)}`;
}

function presentDecoder(type: DataType, zone: Zone): JsonDecoder {
  switch (type.kind) {
    case 'boolean':
      return (_bytes, _start, _end, kind) =>
        kind === kindTrue ? true : kind === kindFalse ? false : misfit;
    case 'tinyint':
      return integerDecoder(-128, 127);
    case 'smallint':
      return integerDecoder(-32_768, 32_767);
    case 'int':
      return integerDecoder(-2_147_483_648, 2_147_483_647);
    case 'bigint':
      return decodeBigint;
    case 'decimal':
      return decimalDecoder(type.precision, type.scale);
    case 'double':
      return decodeDoubleOrName;
    case 'float':
      return decodeFloat;
    case 'string':
      return decodeString;
    case 'binary':
      return textDecoder(parseBase64);
    case 'date':
      return textDecoder((text) =>
        text.length > 10 && /[ T]/.test(text) ? undefined : parseDate(text),
      );
    case 'timestamp':
      return timestampDecoder((text) => parseTimestamp(text, zone), zone === utc);
    case 'timestamp_ntz':
      return textDecoder((text) => parseTimestampNtz(text, false));
    case 'time':
      return textDecoder(parseTime);
    case 'interval_year_month':
      return textDecoder((text) => parseYearMonthInterval(text, type.from, type.to));
    case 'interval_day_time':
      return textDecoder((text) => parseDayTimeInterval(text, type.from, type.to));
    case 'interval':
      return textDecoder(parseCalendarInterval);
    case 'array':
      return arrayDecoder(jsonDecoder(type.element, zone));
    case 'map':
      return type.key.kind === 'string'
        ? objectMapDecoder(jsonDecoder(type.value, zone))
        : pairMapDecoder(jsonDecoder(type.key, zone), jsonDecoder(type.value, zone));
    case 'struct':
      return structDecoder(type.fields, zone);
    case 'variant':
      return (bytes, start, end, kind) => {
        const variant = decodeVariant(bytes, { start, end, kind });
        return variant === misfit ? misfit : { variant };
      };
    case 'void':
      return () => misfit;
  }
}

function integerDecoder(least: number, most: number): JsonDecoder {
  const span: JsonSpan = { kind: kindMissing, start: 0, end: 0 };
  return (bytes, start, end, kind) => {
    span.start = start;
    span.end = end;
    span.kind = kind;
    return decodeInteger(bytes, span, least, most);
  };
}

function decimalDecoder(precision: number, scale: number): JsonDecoder {
  const span: JsonSpan = { kind: kindMissing, start: 0, end: 0 };
  const limit = powerOfTen(precision);
  return (bytes, start, end, kind) => {
    if (kind === kindAscii) {
      const value = exactUnscaled(bytes.toString('latin1', start, end), scale);
      return value === undefined || value >= limit || value <= -limit ? misfit : value;
    }
    if (kind !== kindInteger && kind !== kindNumber) return misfit;
    span.start = start;
    span.end = end;
    span.kind = kind;
    return decodeDecimal(bytes, span, scale, limit);
  };
}

function decodeDoubleOrName(
  bytes: Buffer,
  start: number,
  end: number,
  kind: JsonKind,
): number | Misfit {
  if (kind === kindInteger || kind === kindNumber) return decodeDouble(bytes, start, end, kind);
  if (kind !== kindAscii) return misfit;
  return namedDoubles.get(bytes.toString('latin1', start, end)) ?? misfit;
}

const namedDoubles: ReadonlyMap<string, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['+Infinity', Number.POSITIVE_INFINITY],
  ['INF', Number.POSITIVE_INFINITY],
  ['+INF', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['-INF', Number.NEGATIVE_INFINITY],
]);

function decodeFloat(bytes: Buffer, start: number, end: number, kind: JsonKind): number | Misfit {
  const value = decodeDoubleOrName(bytes, start, end, kind);
  if (value === misfit) return misfit;
  const float = Math.fround(value);
  return Number.isFinite(value) && !Number.isFinite(float) ? misfit : float;
}

function decodeString(bytes: Buffer, start: number, end: number, kind: JsonKind): string | Misfit {
  if (kind === kindAscii) return asciiText(bytes, start, end);
  return kind === kindText ? (decodeJsonString(bytes, start, end) ?? misfit) : misfit;
}

function textDecoder(parse: (text: string) => Value | undefined): JsonDecoder {
  return (bytes, start, end, kind) => {
    const text = decodeString(bytes, start, end, kind);
    return text === misfit ? misfit : (parse(text) ?? misfit);
  };
}

function timestampDecoder(
  parse: (text: string) => bigint | undefined,
  isUtc: boolean,
): JsonDecoder {
  const slow = textDecoder(parse);
  return (bytes, start, end, kind) => {
    if (kind === kindAscii && (isUtc || bytes[end - 1] === 0x5a)) {
      const micros = isoMicros(bytes, start, end);
      if (micros !== undefined) return micros;
    }
    return slow(bytes, start, end, kind);
  };
}

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

function parseBase64(text: string): Uint8Array | undefined {
  return base64Pattern.test(text) ? Buffer.from(text, 'base64') : undefined;
}

function arrayDecoder(decode: JsonDecoder): JsonDecoder {
  const element: JsonSpan = { kind: kindMissing, start: 0, end: 0 };
  return (bytes, start, end, kind) => {
    if (kind !== kindArray) return misfit;
    const values: Value[] = [];
    let at = spaceEnd(bytes, start + 1);
    while (bytes[at] !== 0x5d) {
      at = readValue(element, bytes, at, end);
      const value = decode(bytes, element.start, element.end, element.kind);
      if (value === misfit) return misfit;
      values.push(value);
      at = spaceEnd(bytes, at);
      if (bytes[at] === 0x2c) at = spaceEnd(bytes, at + 1);
    }
    return values;
  };
}

/** Keys are member names; of equal ones the last value stands, at the place of the first. */
function objectMapDecoder(decode: JsonDecoder): JsonDecoder {
  const member: JsonSpan = { kind: kindMissing, start: 0, end: 0 };
  return (bytes, start, end, kind) => {
    if (kind !== kindObject) return misfit;
    const values = new Map<string, Value>();
    let at = spaceEnd(bytes, start + 1);
    while (bytes[at] !== 0x7d) {
      const name = stringEnd(bytes, at + 1, end);
      const key = decodeJsonString(bytes, at + 1, (name >> 1) - 1);
      at = spaceEnd(bytes, spaceEnd(bytes, name >> 1) + 1);
      at = readValue(member, bytes, at, end);
      const value = decode(bytes, member.start, member.end, member.kind);
      if (key === undefined || value === misfit) return misfit;
      values.set(key, value);
      at = spaceEnd(bytes, at);
      if (bytes[at] === 0x2c) at = spaceEnd(bytes, at + 1);
    }
    return { entries: [...values] };
  };
}

/** Keys that are no strings stand in pairs: `[[key, value], …]`. */
function pairMapDecoder(decodeKey: JsonDecoder, decodeValue: JsonDecoder): JsonDecoder {
  const pairs = arrayDecoder(pairDecoder(decodeKey, decodeValue));
  return (bytes, start, end, kind) => {
    const entries = pairs(bytes, start, end, kind);
    return entries === misfit
      ? misfit
      : { entries: entries as readonly (readonly [Value, Value])[] };
  };
}

function pairDecoder(decodeFirst: JsonDecoder, decodeSecond: JsonDecoder): JsonDecoder {
  const part: JsonSpan = { kind: kindMissing, start: 0, end: 0 };
  return (bytes, start, end, kind) => {
    if (kind !== kindArray) return misfit;
    let at = spaceEnd(bytes, start + 1);
    if (bytes[at] === 0x5d) return misfit;
    at = readValue(part, bytes, at, end);
    const first = decodeFirst(bytes, part.start, part.end, part.kind);
    at = spaceEnd(bytes, at);
    if (first === misfit || first === null || bytes[at] !== 0x2c) return misfit;
    at = readValue(part, bytes, spaceEnd(bytes, at + 1), end);
    const second = decodeSecond(bytes, part.start, part.end, part.kind);
    return second === misfit || bytes[spaceEnd(bytes, at)] !== 0x5d ? misfit : [first, second];
  };
}

function structDecoder(fields: readonly StructField[], zone: Zone): JsonDecoder {
  const names = fields.map((field) => field.name);
  const decoders = fields.map((field) => jsonDecoder(field.type, zone));
  if (new Set(names).size < names.length) return repeatedNamesDecoder(decoders);
  const scanner = new JsonObjectScanner(names);
  return (bytes, start, end, kind) => {
    if (kind !== kindObject || scanner.scan(bytes, start, end) !== 0) return misfit;
    const { kinds, spans } = scanner;
    const values = new Array<Value>(decoders.length);
    for (let index = 0; index < decoders.length; index += 1) {
      const value = (decoders[index] as JsonDecoder)(
        bytes,
        spans[index * 2] as number,
        spans[index * 2 + 1] as number,
        kinds[index] as JsonKind,
      );
      if (value === misfit) return misfit;
      values[index] = value;
    }
    return values;
  };
}

/** `{"$struct":[[name, value], …]}`: an object can not hold a name twice. */
function repeatedNamesDecoder(decoders: readonly JsonDecoder[]): JsonDecoder {
  const scanner = new JsonObjectScanner(['$struct']);
  const pairs = decoders.map((decode) => pairDecoder(decodeString, decode));
  const part: JsonSpan = { kind: kindMissing, start: 0, end: 0 };
  return (bytes, start, end, kind) => {
    if (kind !== kindObject || scanner.scan(bytes, start, end) !== 0) return misfit;
    if (scanner.kinds[0] !== kindArray) return misfit;
    const values: Value[] = [];
    let at = spaceEnd(bytes, (scanner.spans[0] as number) + 1);
    for (const decode of pairs) {
      if (bytes[at] !== 0x5b) return misfit;
      at = readValue(part, bytes, at, end);
      const pair = decode(bytes, part.start, part.end, part.kind);
      if (pair === misfit) return misfit;
      values.push((pair as readonly Value[])[1] as Value);
      at = spaceEnd(bytes, at);
      if (bytes[at] === 0x2c) at = spaceEnd(bytes, at + 1);
    }
    return bytes[at] === 0x5d ? values : misfit;
  };
}

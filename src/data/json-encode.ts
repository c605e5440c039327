import { ByteWriter } from './byte-writer.ts';
import { formatTimeIso } from './date-time.ts';
import { shortestDoubleOfFloat } from './double-text.ts';
import {
  formatCalendarInterval,
  formatDayTimeInterval,
  formatYearMonthInterval,
} from './interval-text.ts';
import { writeJsonString } from './json-text.ts';
import {
  writeBigint,
  writeDate,
  writeDecimal,
  writeTimestamp,
  writeWhole,
} from './number-bytes.ts';
import type { Column, DataType, StructField } from './types.ts';
import type { CalendarInterval, MapValue, Row, Value, Variant } from './value.ts';
import { variantText } from './variant-text.ts';

export type JsonEncoder = (value: Value, out: ByteWriter) => void;

/**
 * `kept`: -0.0 is written as such, as rows have it. `merged`: as 0, so that values which compare as equal
 * are the same bytes, as keys need it.
 */
export type Zeros = 'kept' | 'merged';

/**
 * Compiles the writer of one type: compact JSON in one canonical form. Invariant: equal values give equal
 * bytes, different values of one type give different bytes, and `jsonDecoder` reads the value back.
 *
 * BIGINT and DECIMAL are numbers with all digits (a decimal with exactly its scale), doubles the shortest
 * number that reads back, NaN and infinities strings; dates and timestamps ISO 8601 (UTC, six digits),
 * binary base64, intervals Spark's text; a map is an object when its keys are strings, else an array of
 * pairs; entries keep their order.
 */
export function jsonEncoder(type: DataType, zeros: Zeros = 'kept'): JsonEncoder {
  const write = presentEncoder(type, zeros);
  return (value, out) => {
    if (value === null) out.bytes(nullBytes);
    else write(value, out);
  };
}

/** One object with every column in order; NULL members are written. */
export function rowEncoder(
  columns: readonly Column[],
  zeros: Zeros = 'kept',
): (row: Row, out: ByteWriter) => void {
  return objectEncoder(columns, zeros);
}

/** As `rowEncoder`, but without the members of the given positions that are NULL: nothing is said of them. */
export function sparseRowEncoder(
  columns: readonly Column[],
  omitted: ReadonlySet<number>,
): (row: Row, out: ByteWriter) => void {
  const members = columns.map(({ name, type }) => ({
    name: Buffer.from(`${JSON.stringify(name)}:`),
    write: jsonEncoder(type),
  }));
  return (row, out) => {
    let separator = 0x7b;
    for (const [position, { name, write }] of members.entries()) {
      const value = row[position] ?? null;
      if (value === null && omitted.has(position)) continue;
      out.byte(separator);
      out.bytes(name);
      write(value, out);
      separator = comma;
    }
    if (separator === 0x7b) out.byte(separator);
    out.byte(0x7d);
  };
}

export function jsonText(type: DataType, value: Value): string {
  const out = new ByteWriter(256);
  jsonEncoder(type)(value, out);
  return out.buffer.toString('utf8', 0, out.length);
}

const nullBytes = Buffer.from('null');
const trueBytes = Buffer.from('true');
const falseBytes = Buffer.from('false');

function presentEncoder(type: DataType, zeros: Zeros): JsonEncoder {
  switch (type.kind) {
    case 'void':
      return (_value, out) => out.bytes(nullBytes);
    case 'boolean':
      return (value, out) => out.bytes(value === true ? trueBytes : falseBytes);
    case 'tinyint':
    case 'smallint':
    case 'int':
      return (value, out) => writeWhole(out, value as number);
    case 'bigint':
      return (value, out) => writeBigint(out, value as bigint);
    case 'decimal': {
      const { scale } = type;
      return (value, out) => writeDecimal(out, value as bigint, scale);
    }
    case 'double':
      return (value, out) => writeDouble(out, value as number, zeros);
    case 'float':
      return (value, out) => writeDouble(out, shortestDoubleOfFloat(value as number), zeros);
    case 'string':
      return (value, out) => writeJsonString(out, value as string);
    case 'binary':
      return (value, out) => writeQuoted(out, base64(value as Uint8Array));
    case 'date':
      return (value, out) => {
        out.byte(quote);
        writeDate(out, value as number);
        out.byte(quote);
      };
    case 'timestamp':
      return timestampEncoder(true);
    case 'timestamp_ntz':
      return timestampEncoder(false);
    case 'time':
      return (value, out) => writeQuoted(out, formatTimeIso(value as bigint));
    case 'interval_year_month': {
      const { from, to } = type;
      return (value, out) => writeQuoted(out, formatYearMonthInterval(value as number, from, to));
    }
    case 'interval_day_time': {
      const { from, to } = type;
      return (value, out) => writeQuoted(out, formatDayTimeInterval(value as bigint, from, to));
    }
    case 'interval':
      return (value, out) => writeQuoted(out, formatCalendarInterval(value as CalendarInterval));
    case 'variant':
      return (value, out) => out.utf8(variantText(value as Variant));
    case 'array':
      return arrayEncoder(jsonEncoder(type.element, zeros));
    case 'map':
      return type.key.kind === 'string'
        ? objectMapEncoder(jsonEncoder(type.value, zeros))
        : pairMapEncoder(jsonEncoder(type.key, zeros), jsonEncoder(type.value, zeros));
    case 'struct':
      return structEncoder(type.fields, zeros);
  }
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;

function writeQuoted(out: ByteWriter, text: string): void {
  out.reserve(text.length + 2);
  out.byte(quote);
  out.ascii(text);
  out.byte(quote);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function writeDouble(out: ByteWriter, value: number, zeros: Zeros): void {
  if (value === 0) {
    out.ascii(zeros === 'kept' && Object.is(value, -0) ? '-0.0' : '0');
  } else if (Number.isSafeInteger(value)) {
    writeWhole(out, value);
  } else if (Number.isFinite(value)) {
    out.ascii(String(value));
  } else {
    writeQuoted(out, String(value));
  }
}

function timestampEncoder(isInstant: boolean): JsonEncoder {
  return (value, out) => {
    out.byte(quote);
    writeTimestamp(out, value as bigint, isInstant);
    out.byte(quote);
  };
}

function arrayEncoder(write: JsonEncoder): JsonEncoder {
  return (value, out) => {
    const elements = value as readonly Value[];
    out.byte(0x5b);
    for (let index = 0; index < elements.length; index += 1) {
      if (index > 0) out.byte(comma);
      write(elements[index] as Value, out);
    }
    out.byte(0x5d);
  };
}

function objectMapEncoder(write: JsonEncoder): JsonEncoder {
  return (value, out) => {
    let separator = 0x7b;
    for (const [key, entry] of (value as MapValue).entries) {
      out.byte(separator);
      writeJsonString(out, key as string);
      out.byte(colon);
      write(entry, out);
      separator = comma;
    }
    if (separator === 0x7b) out.byte(separator);
    out.byte(0x7d);
  };
}

function pairMapEncoder(writeKey: JsonEncoder, writeValue: JsonEncoder): JsonEncoder {
  return (value, out) => {
    out.byte(0x5b);
    for (const [index, [key, entry]] of (value as MapValue).entries.entries()) {
      if (index > 0) out.byte(comma);
      out.byte(0x5b);
      writeKey(key, out);
      out.byte(comma);
      writeValue(entry, out);
      out.byte(0x5d);
    }
    out.byte(0x5d);
  };
}

function structEncoder(fields: readonly StructField[], zeros: Zeros): JsonEncoder {
  const isRepeated = new Set(fields.map((field) => field.name)).size < fields.length;
  const write = isRepeated ? repeatedNamesEncoder(fields, zeros) : objectEncoder(fields, zeros);
  return (value, out) => write(value as Row, out);
}

function objectEncoder(
  fields: readonly StructField[],
  zeros: Zeros,
): (row: Row, out: ByteWriter) => void {
  const writers = fields.map((field) => jsonEncoder(field.type, zeros));
  const prefixes = fields.map((field, index) =>
    Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(field.name)}:`),
  );
  return (row, out) => {
    if (writers.length === 0) out.byte(0x7b);
    for (let index = 0; index < writers.length; index += 1) {
      out.bytes(prefixes[index] as Buffer);
      (writers[index] as JsonEncoder)(row[index] as Value, out);
    }
    out.byte(0x7d);
  };
}

/** An object can not hold a name twice: `{"$struct":[[name, value], …]}`. */
function repeatedNamesEncoder(
  fields: readonly StructField[],
  zeros: Zeros,
): (row: Row, out: ByteWriter) => void {
  const writers = fields.map((field) => jsonEncoder(field.type, zeros));
  return (row, out) => {
    out.ascii('{"$struct":[');
    for (const [index, field] of fields.entries()) {
      out.byte(index === 0 ? 0x5b : comma);
      if (index > 0) out.byte(0x5b);
      writeJsonString(out, field.name);
      out.byte(comma);
      (writers[index] as JsonEncoder)(row[index] as Value, out);
      out.byte(0x5d);
    }
    out.ascii(']}');
  };
}

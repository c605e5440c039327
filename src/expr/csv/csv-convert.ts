import { parseDate, parseTimestamp, parseTimestampNtz } from '../../data/date-time.ts';
import { parseDecimal, toDecimalType } from '../../data/decimal.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { converter } from '../cast.ts';
import { ExpressionError } from '../expression-error.ts';
import type { JsonFormats } from '../json/json-decode.ts';
import { types } from '../types.ts';
import { csvVariant } from './csv-variant.ts';

export type CsvConverter = (text: string) => Value | undefined;

/** How doubles that are no numbers are written. */
export type CsvNames = {
  readonly nan: string;
  readonly positive: string;
  readonly negative: string;
};

/** Reads a field as a type; undefined for a type that CSV has no form for. The reader gives undefined for what does not fit. */
export function csvConverter(
  type: DataType,
  formats: JsonFormats,
  names: CsvNames,
): CsvConverter | undefined {
  switch (type.kind) {
    case 'string':
      return (text) => text;
    case 'boolean':
      return (text) => {
        const lower = text.toLowerCase();
        return lower === 'true' ? true : lower === 'false' ? false : undefined;
      };
    case 'tinyint':
      return integer(8);
    case 'smallint':
      return integer(16);
    case 'int':
      return integer(32);
    case 'bigint':
      return (text) => {
        const value = whole(text);
        return value !== undefined && BigInt.asIntN(64, value) === value ? value : undefined;
      };
    case 'float':
      return (text) => {
        const value = javaDouble(text, names);
        return value === undefined ? undefined : Math.fround(value);
      };
    case 'double':
      return (text) => javaDouble(text, names);
    case 'decimal':
      return (text) => {
        const decimal = parseDecimal(text.replaceAll(',', ''));
        return decimal && toDecimalType(decimal, type.precision, type.scale);
      };
    case 'binary':
      return (text) => Buffer.from(text);
    case 'date':
      return formats.date ?? parseDate;
    case 'timestamp':
      return formats.timestamp ?? ((text) => parseTimestamp(text, formats.zone));
    case 'timestamp_ntz':
      return formats.timestampNtz ?? ((text) => parseTimestampNtz(text, false));
    case 'interval_year_month':
    case 'interval_day_time':
    case 'interval':
    case 'time':
      return byCast(type, formats);
    case 'variant':
      return csvVariant(formats);
    default:
      return undefined;
  }
}

function byCast(type: DataType, formats: JsonFormats): CsvConverter {
  const convert = converter(types.string, type, 'ansi', formats.zone);
  return (text) => {
    try {
      return convert(text);
    } catch (error) {
      if (error instanceof ExpressionError) return undefined;
      throw error;
    }
  };
}

function whole(text: string): bigint | undefined {
  return /^[+-]?\d{1,20}$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
}

function integer(bits: number): CsvConverter {
  return (text) => {
    const value = whole(text);
    return value !== undefined && BigInt.asIntN(bits, value) === value ? Number(value) : undefined;
  };
}

function javaDouble(text: string, names: CsvNames): number | undefined {
  if (text === names.nan) return Number.NaN;
  if (text === names.positive) return Number.POSITIVE_INFINITY;
  if (text === names.negative) return Number.NEGATIVE_INFINITY;
  const trimmed = text.trim();
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?$/.test(trimmed)) {
    return Number(trimmed.replace(/[dDfF]$/, ''));
  }
  if (trimmed === 'NaN') return Number.NaN;
  const infinity = /^([+-]?)Infinity$/.exec(trimmed);
  if (infinity === null) return undefined;
  return infinity[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

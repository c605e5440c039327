import { parseDate, parseTime, parseTimestamp, parseTimestampNtz } from '../../data/date-time.ts';
import { parseDecimal, toDecimalType } from '../../data/decimal.ts';
import type { DataType } from '../../data/types.ts';
import type { Value, VariantNode } from '../../data/value.ts';
import { variantObject } from '../../data/variant.ts';
import { variantNumber } from '../../data/variant-decode.ts';
import type { Zone } from '../../data/zones.ts';
import { converter } from '../cast.ts';
import { ExpressionError } from '../expression-error.ts';
import { printJson } from './json-print.ts';
import { isArray, isNumber, isObject, type JsonNode } from './json-tree.ts';

/** How dates and timestamps are read; undefined when the text is none. */
export type JsonFormats = {
  readonly zone: Zone;
  /** Texts such as `NaN` are no numbers. */
  readonly refusesWords?: boolean;
  readonly date?: (text: string) => number | undefined;
  readonly timestamp?: (text: string) => bigint | undefined;
  readonly timestampNtz?: (text: string) => bigint | undefined;
};

/** A value that does not fit its type, with what could be read of it where the type has parts. */
export class Misfit {
  readonly partial: Value | undefined;

  constructor(partial?: Value) {
    this.partial = partial;
  }
}

export type JsonConverter = (node: JsonNode) => Value | Misfit;

const misfit = new Misfit();

/**
 * Reads JSON values of a type by the rules of `from_json`: numbers only from numbers, strings from
 * anything; a struct whose member does not fit is a misfit that keeps the others.
 */
export function jsonConverter(type: DataType, formats: JsonFormats): JsonConverter {
  const convert = presentConverter(type, formats);
  if (type.kind === 'variant') return convert;
  return (node) => (node === null ? null : convert(node));
}

function presentConverter(type: DataType, formats: JsonFormats): JsonConverter {
  switch (type.kind) {
    case 'boolean':
      return (node) => (typeof node === 'boolean' ? node : misfit);
    case 'tinyint':
      return integer(-128n, 127n);
    case 'smallint':
      return integer(-32_768n, 32_767n);
    case 'int':
      return integer(-(2n ** 31n), 2n ** 31n - 1n);
    case 'bigint':
      return bigint;
    case 'float':
      return (node) => {
        const value = double(node, formats);
        return typeof value === 'number' ? Math.fround(value) : value;
      };
    case 'double':
      return (node) => double(node, formats);
    case 'decimal':
      return decimal(type.precision, type.scale);
    case 'string':
      return (node) => (typeof node === 'string' ? node : printJson(node));
    case 'binary':
      return binary;
    case 'date': {
      const parse = formats.date ?? parseDate;
      return (node) => (typeof node === 'string' ? (parse(node) ?? misfit) : misfit);
    }
    case 'timestamp':
      return timestamp(formats);
    case 'timestamp_ntz': {
      const parse = formats.timestampNtz ?? ((text: string) => parseTimestampNtz(text, false));
      return (node) => (typeof node === 'string' ? (parse(node) ?? misfit) : misfit);
    }
    case 'time': {
      const unit = 10n ** BigInt(9 - type.precision);
      return (node) => {
        const nanos = typeof node === 'string' ? parseTime(node) : undefined;
        return nanos === undefined ? misfit : nanos - (nanos % unit);
      };
    }
    case 'array':
      return array(jsonConverter(type.element, formats));
    case 'map':
      return map(jsonConverter(type.value, formats));
    case 'struct':
      return struct(
        type.fields.map((field) => field.name),
        type.fields.map((field) => jsonConverter(field.type, formats)),
      );
    case 'variant':
      return (node) => {
        const variant = variantOfJson(node);
        return variant === undefined ? misfit : { variant };
      };
    case 'void':
      return () => null;
    case 'interval':
    case 'interval_day_time':
    case 'interval_year_month':
      return interval(type, formats.zone);
  }
}

function interval(type: DataType, zone: Zone): JsonConverter {
  const read = converter({ kind: 'string' }, type, 'ansi', zone);
  return (node) => {
    if (typeof node !== 'string') return misfit;
    try {
      return read(node) ?? misfit;
    } catch (error) {
      if (error instanceof ExpressionError) return misfit;
      throw error;
    }
  };
}

/** undefined where a name stands twice in an object. */
function variantOfJson(node: JsonNode): VariantNode | undefined {
  if (node === null || typeof node === 'boolean' || typeof node === 'string') return node;
  if (isNumber(node)) return variantNumber(node.text);
  if (isArray(node)) {
    const parts = node.map(variantOfJson);
    return parts.includes(undefined) ? undefined : (parts as VariantNode[]);
  }
  if (!isObject(node)) return undefined;
  const members: [string, VariantNode][] = [];
  for (const [name, member] of node.members) {
    const part = variantOfJson(member);
    if (part === undefined) return undefined;
    members.push([name, part]);
  }
  return variantObject(members);
}

function integer(least: bigint, most: bigint): JsonConverter {
  return (node) => {
    if (!isNumber(node) || !node.isInteger || node.text.length > 20) return misfit;
    const value = BigInt(node.text);
    return value >= least && value <= most ? Number(value) : misfit;
  };
}

function bigint(node: JsonNode): Value | Misfit {
  if (!isNumber(node) || !node.isInteger || node.text.length > 20) return misfit;
  const value = BigInt(node.text);
  return BigInt.asIntN(64, value) === value ? value : misfit;
}

const specialNumbers: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '+Infinity': Number.POSITIVE_INFINITY,
  INF: Number.POSITIVE_INFINITY,
  '+INF': Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
  '-INF': Number.NEGATIVE_INFINITY,
};

function double(node: JsonNode, formats: JsonFormats): number | Misfit {
  if (isNumber(node)) return Number(node.text);
  if (typeof node !== 'string' || formats.refusesWords === true) return misfit;
  return Object.hasOwn(specialNumbers, node) ? (specialNumbers[node] ?? misfit) : misfit;
}

function decimal(precision: number, scale: number): JsonConverter {
  return (node) => {
    let text: string;
    if (isNumber(node)) text = node.text;
    else if (typeof node === 'string') text = node.replaceAll(',', '');
    else return misfit;
    const parsed = parseDecimal(text);
    return (parsed && toDecimalType(parsed, precision, scale)) ?? misfit;
  };
}

function binary(node: JsonNode): Value | Misfit {
  if (typeof node !== 'string') return misfit;
  if (node.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(node)) return misfit;
  return Buffer.from(node, 'base64');
}

function timestamp(formats: JsonFormats): JsonConverter {
  const parse = formats.timestamp ?? ((text: string) => parseTimestamp(text, formats.zone));
  return (node) => {
    if (typeof node === 'string') return parse(node) ?? misfit;
    const seconds = bigint(node);
    // Seconds; what is out of range wraps around, as in Spark.
    return typeof seconds === 'bigint' ? BigInt.asIntN(64, seconds * 1_000_000n) : misfit;
  };
}

/** An element that does not fit spoils the array, unless it is a struct that was read in part. */
function array(element: JsonConverter): JsonConverter {
  return (node) => {
    if (!isArray(node)) return misfit;
    const values: Value[] = [];
    let isWhole = true;
    for (const item of node) {
      const value = element(item);
      if (!(value instanceof Misfit)) {
        values.push(value);
      } else if (value.partial === undefined) {
        return misfit;
      } else {
        isWhole = false;
        values.push(value.partial);
      }
    }
    return isWhole ? values : new Misfit(values);
  };
}

/** Of a key that stands twice the last value counts. */
function map(item: JsonConverter): JsonConverter {
  return (node) => {
    if (!isObject(node)) return misfit;
    const entries = new Map<string, Value>();
    let isWhole = true;
    for (const [name, member] of node.members) {
      const value = item(member);
      if (!(value instanceof Misfit)) {
        entries.set(name, value);
      } else if (value.partial === undefined) {
        return misfit;
      } else {
        isWhole = false;
        entries.set(name, value.partial);
      }
    }
    const result = { entries: [...entries] };
    return isWhole ? result : new Misfit(result);
  };
}

/** Names are matched with their case; the last member of a name counts. */
function struct(names: readonly string[], fields: readonly JsonConverter[]): JsonConverter {
  const positions = new Map(names.map((name, i) => [name, i]));
  return (node) => {
    if (!isObject(node)) return misfit;
    const row: Value[] = new Array<Value>(names.length).fill(null);
    let isWhole = true;
    for (const [name, member] of node.members) {
      const position = positions.get(name);
      const convert = position === undefined ? undefined : fields[position];
      if (position === undefined || convert === undefined) continue;
      const value = convert(member);
      if (!(value instanceof Misfit)) {
        row[position] = value;
        continue;
      }
      isWhole = false;
      if (value.partial !== undefined) row[position] = value.partial;
    }
    return isWhole ? row : new Misfit(row);
  };
}

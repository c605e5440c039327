import { formatDouble, formatFloat } from '../data/double-text.ts';
import type { DataType } from '../data/types.ts';
import type { MapValue, Value } from '../data/value.ts';
import { utc } from '../data/zones.ts';
import { murmurBytes } from './digest/murmur3.ts';
import { javaDecimalText } from './java-decimal.ts';
import { textOf } from './value-text.ts';

/**
 * The values of a type as Spark holds them, printed by Java's `toString`: a date is the number of its days, a timestamp that
 * of its microseconds. So `%s` prints them, and `to_json` the keys of maps. The text of a BINARY is by chance in Spark; here its bytes are read.
 */
export function javaText(type: DataType): (value: Value) => string {
  switch (type.kind) {
    case 'date':
    case 'timestamp':
    case 'timestamp_ntz':
    case 'time':
    case 'interval_year_month':
    case 'interval_day_time':
      return String;
    case 'decimal':
      return (value) => javaDecimalText(value as bigint, type.scale);
    case 'array': {
      const element = nullableText(type.element);
      return (value) => listText((value as readonly Value[]).map(element));
    }
    case 'struct': {
      const fields = type.fields.map((field) => nullableText(field.type));
      return (value) =>
        listText(fields.map((text, i) => text((value as readonly Value[])[i] ?? null)));
    }
    case 'map': {
      const key = nullableText(type.key);
      const item = nullableText(type.value);
      return (value) => {
        const { entries } = value as MapValue;
        return `keys: ${listText(entries.map(([k]) => key(k)))}, values: ${listText(entries.map(([, v]) => item(v)))}`;
      };
    }
    default:
      return textOf(type, utc);
  }
}

function nullableText(type: DataType): (value: Value) => string {
  const text = javaText(type);
  return (value) => (value === null ? 'null' : text(value));
}

function listText(parts: readonly string[]): string {
  return `[${parts.join(',')}]`;
}

/** Java's `hashCode` of a value as Spark holds it; undefined for types whose hash this does not know. */
export function javaHashCode(type: DataType, value: Value): number | undefined {
  switch (type.kind) {
    case 'boolean':
      return value === true ? 1231 : 1237;
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'date':
    case 'interval_year_month':
      return value as number;
    case 'bigint':
    case 'timestamp':
    case 'timestamp_ntz':
    case 'time':
    case 'interval_day_time':
      return folded(BigInt.asUintN(64, value as bigint));
    case 'float':
      return floatBits(value as number);
    case 'double':
      return folded(doubleBits(value as number));
    case 'string':
      return murmurBytes(Buffer.from(value as string), 42);
    default:
      return undefined;
  }
}

function folded(bits: bigint): number {
  return Number(BigInt.asIntN(32, bits ^ (bits >> 32n)));
}

/** The bits of a double as Java has them; NaN is one. */
export function doubleBits(value: number): bigint {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Number.isNaN(value) ? Number.NaN : value);
  return view.getBigUint64(0);
}

function floatBits(value: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  return view.getInt32(0);
}

/** A double's or float's digits as Java tells it from its neighbours, `0.d1d2… × 10^exponent`; of zero none. */
export function javaDigits(value: number, isFloat: boolean): { digits: string; exponent: number } {
  const text = isFloat ? formatFloat(value) : formatDouble(value);
  const [mantissa = '', exponent = '0'] = text.split('E');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const all = whole + fraction;
  const digits = all.replace(/^0+/, '').replace(/0+$/, '');
  const leading = all.length - all.replace(/^0+/, '').length;
  return { digits, exponent: digits === '' ? 0 : whole.length - leading + Number(exponent) };
}

import { formatDate, formatTimestampNtzIso } from '../../data/date-time.ts';
import { formatFloat } from '../../data/double-text.ts';
import type { DataType } from '../../data/types.ts';
import type { MapValue, Value, Variant } from '../../data/value.ts';
import { variantText } from '../../data/variant-text.ts';
import { offsetMicrosAt, type Zone } from '../../data/zones.ts';
import { javaDecimalText } from '../java-decimal.ts';
import { javaText } from '../java-text.ts';
import { textOf } from '../value-text.ts';
import { doubleText, quoteJson } from './json-print.ts';

export type JsonWriterOptions = {
  readonly zone: Zone;
  /** Whether members that are NULL are left out. */
  readonly ignoreNullFields: boolean;
  /** Whether the members of structs and maps stand in the order of their names (`sortKeys`). */
  readonly sortKeys?: boolean;
  readonly date?: (days: number) => string;
  readonly timestamp?: (micros: bigint) => string;
  readonly timestampNtz?: (micros: bigint) => string;
};

/** Writes the values of a type as `to_json` does. */
export function jsonWriter(type: DataType, options: JsonWriterOptions): (value: Value) => string {
  const write = presentWriter(type, options);
  return (value) => (value === null ? 'null' : write(value));
}

function presentWriter(type: DataType, options: JsonWriterOptions): (value: Value) => string {
  switch (type.kind) {
    case 'boolean':
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'bigint':
      return String;
    case 'float':
      return (value) => doubleText(value as number, formatFloat);
    case 'double':
      return (value) => doubleText(value as number);
    case 'decimal':
      return (value) => javaDecimalText(value as bigint, type.scale);
    case 'string':
      return (value) => quoteJson(value as string);
    case 'binary':
      return (value) => `"${Buffer.from(value as Uint8Array).toString('base64')}"`;
    case 'date': {
      const format = options.date ?? formatDate;
      return (value) => quoteJson(format(value as number));
    }
    case 'timestamp': {
      const format = options.timestamp ?? ((micros: bigint) => zonedMillis(micros, options.zone));
      return (value) => quoteJson(format(value as bigint));
    }
    case 'timestamp_ntz': {
      const format = options.timestampNtz ?? localMillis;
      return (value) => quoteJson(format(value as bigint));
    }
    case 'variant':
      return (value) => variantText(value as Variant, options.zone);
    case 'array': {
      const element = jsonWriter(type.element, options);
      return (value) => `[${(value as readonly Value[]).map(element).join(',')}]`;
    }
    case 'map': {
      const key = javaText(type.key);
      const item = jsonWriter(type.value, options);
      return (value) => {
        const members = (value as MapValue).entries.map(([k, v]) => [key(k), v] as const);
        const inOrder = options.sortKeys === true ? members.toSorted(byName) : members;
        return `{${inOrder.map(([name, v]) => `${quoteJson(name)}:${item(v)}`).join(',')}}`;
      };
    }
    case 'struct':
      return structWriter(type.fields, options);
    default: {
      const text = textOf(type, options.zone);
      return (value) => quoteJson(text(value));
    }
  }
}

function structWriter(
  fields: Extract<DataType, { kind: 'struct' }>['fields'],
  options: JsonWriterOptions,
): (value: Value) => string {
  const placed = fields.map(({ name }, position) => [name, position] as const);
  const members = (options.sortKeys === true ? placed.toSorted(byName) : placed).flatMap(
    ([name, position]) => {
      const type = fields[position]?.type;
      return type === undefined
        ? []
        : [{ name: quoteJson(name), position, write: jsonWriter(type, options) }];
    },
  );
  return (value) => {
    const parts: string[] = [];
    const values = value as readonly Value[];
    for (const { name, position, write } of members) {
      const member = values[position] ?? null;
      if (member !== null || !options.ignoreNullFields) parts.push(`${name}:${write(member)}`);
    }
    return `{${parts.join(',')}}`;
  };
}

/** By code units, as Java compares texts. */
function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** `2020-01-01T01:02:03.456`: milliseconds, the rest is cut off. */
export function localMillis(micros: bigint): string {
  return formatTimestampNtzIso(micros).slice(0, -3);
}

/** As `localMillis` in the zone's local time, with its offset or `Z`. */
export function zonedMillis(micros: bigint, zone: Zone): string {
  const offset = offsetMicrosAt(zone, micros);
  return localMillis(micros + offset) + offsetText(Number(offset / 1_000_000n));
}

function offsetText(seconds: number): string {
  if (seconds === 0) return 'Z';
  const size = Math.abs(seconds);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${seconds < 0 ? '-' : '+'}${two(Math.floor(size / 3600))}:${two(Math.floor(size / 60) % 60)}`;
}

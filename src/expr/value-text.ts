import { formatDate, formatTime, formatTimestamp } from '../data/date-time.ts';
import { formatDecimal } from '../data/decimal.ts';
import { formatDouble, formatFloat } from '../data/double-text.ts';
import {
  formatCalendarInterval,
  formatDayTimeInterval,
  formatYearMonthInterval,
} from '../data/interval-text.ts';
import type { DataType } from '../data/types.ts';
import type { CalendarInterval, MapValue, Value, Variant } from '../data/value.ts';
import { nodeText } from '../data/variant-text.ts';
import { utc, type Zone } from '../data/zones.ts';

/** How a cast to STRING prints the values of a type that are not NULL; timestamps in `zone`. */
export function textOf(type: DataType, zone: Zone): (value: Value) => string {
  switch (type.kind) {
    case 'string':
      return (value) => value as string;
    case 'float':
      return (value) => formatFloat(value as number);
    case 'double':
      return (value) => formatDouble(value as number);
    case 'decimal':
      return (value) => formatDecimal(value as bigint, type.scale);
    case 'binary':
      return (value) => Buffer.from(value as Uint8Array).toString('utf8');
    case 'date':
      return (value) => formatDate(value as number);
    case 'timestamp':
      return (value) => formatTimestamp(value as bigint, zone);
    case 'timestamp_ntz':
      return (value) => formatTimestamp(value as bigint, utc);
    case 'time':
      return (value) => formatTime(value as bigint);
    case 'interval_year_month':
      return (value) => formatYearMonthInterval(value as number, type.from, type.to);
    case 'interval_day_time':
      return (value) => formatDayTimeInterval(value as bigint, type.from, type.to);
    case 'interval':
      return (value) => formatCalendarInterval(value as CalendarInterval);
    case 'array': {
      const element = nullableText(type.element, zone);
      return (value) => `[${(value as readonly Value[]).map(element).join(', ')}]`;
    }
    case 'struct': {
      const fields = type.fields.map((field) => nullableText(field.type, zone));
      return (value) =>
        `{${fields.map((text, i) => text((value as readonly Value[])[i] ?? null)).join(', ')}}`;
    }
    case 'map': {
      const key = nullableText(type.key, zone);
      const item = nullableText(type.value, zone);
      return (value) =>
        `{${(value as MapValue).entries.map(([k, v]) => `${key(k)} -> ${item(v)}`).join(', ')}}`;
    }
    case 'variant':
      return (value) => {
        return nodeText((value as Variant).variant, zone);
      };
    default:
      return String;
  }
}

function nullableText(type: DataType, zone: Zone): (value: Value) => string {
  const text = textOf(type, zone);
  return (value) => (value === null ? 'null' : text(value));
}

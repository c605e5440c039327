import type { DataType, DayTimeField, YearMonthField } from '../data/types.ts';

/** The types that carry no parameters, as constants, so that each stands once in memory. */
export const types = {
  void: { kind: 'void' },
  boolean: { kind: 'boolean' },
  tinyint: { kind: 'tinyint' },
  smallint: { kind: 'smallint' },
  int: { kind: 'int' },
  bigint: { kind: 'bigint' },
  float: { kind: 'float' },
  double: { kind: 'double' },
  string: { kind: 'string' },
  binary: { kind: 'binary' },
  date: { kind: 'date' },
  timestamp: { kind: 'timestamp' },
  timestamp_ntz: { kind: 'timestamp_ntz' },
  interval: { kind: 'interval' },
  variant: { kind: 'variant' },
} as const satisfies Record<string, DataType>;

export type TimeType = Extract<DataType, { kind: 'time' }>;
export type DecimalType = Extract<DataType, { kind: 'decimal' }>;
export type ArrayType = Extract<DataType, { kind: 'array' }>;
export type MapType = Extract<DataType, { kind: 'map' }>;
export type StructType = Extract<DataType, { kind: 'struct' }>;
export type YearMonthType = Extract<DataType, { kind: 'interval_year_month' }>;
export type DayTimeType = Extract<DataType, { kind: 'interval_day_time' }>;

export const yearMonthFields: readonly YearMonthField[] = ['year', 'month'];
export const dayTimeFields: readonly DayTimeField[] = ['day', 'hour', 'minute', 'second'];

export function decimal(precision: number, scale: number): DecimalType {
  return { kind: 'decimal', precision, scale };
}

export function arrayOf(element: DataType): ArrayType {
  return { kind: 'array', element };
}

export function mapOf(key: DataType, value: DataType): MapType {
  return { kind: 'map', key, value };
}

export function structOf(fields: readonly (readonly [string, DataType])[]): StructType {
  return { kind: 'struct', fields: fields.map(([name, type]) => ({ name, type })) };
}

export function yearMonth(from: YearMonthField, to: YearMonthField): YearMonthType {
  return { kind: 'interval_year_month', from, to };
}

export function dayTime(from: DayTimeField, to: DayTimeField): DayTimeType {
  return { kind: 'interval_day_time', from, to };
}

const integralDigits: Partial<Record<DataType['kind'], number>> = {
  tinyint: 3,
  smallint: 5,
  int: 10,
  bigint: 20,
};

export function isIntegral(type: DataType): boolean {
  return integralDigits[type.kind] !== undefined;
}

export function isFractional(type: DataType): boolean {
  return type.kind === 'float' || type.kind === 'double' || type.kind === 'decimal';
}

export function isNumeric(type: DataType): boolean {
  return isIntegral(type) || isFractional(type);
}

export function isDatetime(type: DataType): boolean {
  return type.kind === 'date' || type.kind === 'timestamp' || type.kind === 'timestamp_ntz';
}

export function isAnsiInterval(type: DataType): boolean {
  return type.kind === 'interval_year_month' || type.kind === 'interval_day_time';
}

/** A time of day with so many digits of a second. */
export function time(precision: number): TimeType {
  return { kind: 'time', precision };
}

/** Spark's AtomicType: what is neither void, nested, a calendar interval nor a variant. */
export function isAtomic(type: DataType): boolean {
  return (
    isNumeric(type) ||
    isDatetime(type) ||
    isAnsiInterval(type) ||
    type.kind === 'string' ||
    type.kind === 'binary' ||
    type.kind === 'boolean' ||
    type.kind === 'time'
  );
}

/** The decimal that holds every value of a numeric type, as arithmetic sees it. */
export function decimalOf(type: DataType): DecimalType {
  switch (type.kind) {
    case 'decimal':
      return type;
    case 'float':
      return decimal(14, 7);
    case 'double':
      return decimal(30, 15);
    default:
      return decimal(integralDigits[type.kind] ?? 38, 0);
  }
}

import type { DataType } from './types.ts';

/**
 * A value of any data type; `null` is SQL's NULL. Which member stands for which type:
 *
 * | type | representation |
 * | --- | --- |
 * | boolean | boolean |
 * | tinyint, smallint, int | number (an integer in range) |
 * | bigint | bigint |
 * | float, double | number (a float is always `Math.fround`ed) |
 * | decimal(p, s) | bigint: the unscaled value, the scale is the type's |
 * | string | string (well-formed: no lone surrogate) |
 * | binary | Uint8Array |
 * | date | number: days since 1970-01-01 |
 * | timestamp, timestamp_ntz | bigint: microseconds since 1970-01-01T00:00:00 |
 * | time(p) | bigint: nanoseconds since midnight |
 * | interval year to month | number: months |
 * | interval day to second | bigint: microseconds |
 * | interval (calendar) | CalendarInterval |
 * | array | Value[] |
 * | map | MapValue (insertion order) |
 * | struct | Value[] in field order |
 * | variant | Variant |
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | CalendarInterval
  | MapValue
  | Variant
  | readonly Value[];

export type CalendarInterval = {
  readonly months: number;
  readonly days: number;
  readonly micros: bigint;
};

/** Entries in insertion order; a key stands once. */
export type MapValue = { readonly entries: readonly (readonly [Value, Value])[] };

/** A semi-structured value; its JSON null is not SQL's NULL. */
export type Variant = { readonly variant: VariantNode };

/**
 * A part of a variant: a whole number is a bigint, a double a number, an object a Map whose names are in
 * the order of their UTF-16 units, and what JSON has no form for carries its type.
 */
export type VariantNode =
  | null
  | boolean
  | bigint
  | number
  | string
  | VariantScalar
  | readonly VariantNode[]
  | VariantObject;

export type VariantObject = ReadonlyMap<string, VariantNode>;

/** A decimal (without zeros at its end), float, binary, date or timestamp. */
export type VariantScalar = { readonly type: DataType; readonly value: Value };

/** The values of one row, by position of its schema. */
export type Row = readonly Value[];

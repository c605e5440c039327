/**
 * The data types of Spark SQL. Invariant: a type says everything that is needed to read, compare,
 * encode and print a value; values themselves carry no type.
 */
export type DataType =
  | { readonly kind: SimpleKind }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'time'; readonly precision: number }
  | {
      readonly kind: 'interval_year_month';
      readonly from: YearMonthField;
      readonly to: YearMonthField;
    }
  | { readonly kind: 'interval_day_time'; readonly from: DayTimeField; readonly to: DayTimeField }
  | { readonly kind: 'array'; readonly element: DataType }
  | { readonly kind: 'map'; readonly key: DataType; readonly value: DataType }
  | { readonly kind: 'struct'; readonly fields: readonly StructField[] };

export type SimpleKind =
  | 'void'
  | 'boolean'
  | 'tinyint'
  | 'smallint'
  | 'int'
  | 'bigint'
  | 'float'
  | 'double'
  | 'string'
  | 'binary'
  | 'date'
  | 'timestamp'
  | 'timestamp_ntz'
  | 'interval'
  | 'variant';

export type YearMonthField = 'year' | 'month';
export type DayTimeField = 'day' | 'hour' | 'minute' | 'second';

export type StructField = { readonly name: string; readonly type: DataType };

/** A column of a source, a query or a table: a struct field at the top level. */
export type Column = StructField;

/**
 * SQL's types as texts that the compiler knows, and the JavaScript values that stand for them. Invariant: a
 * value loses nothing: what has more digits than a double is a bigint or text.
 */
type SimpleType = keyof Simple;

type Simple = {
  BOOLEAN: boolean;
  TINYINT: number;
  SMALLINT: number;
  INT: number;
  INTEGER: number;
  BIGINT: bigint;
  LONG: bigint;
  FLOAT: number;
  DOUBLE: number;
  STRING: string;
  BINARY: string;
  DATE: string;
  TIMESTAMP: string;
  TIMESTAMP_NTZ: string;
  VARIANT: unknown;
};

type Cases<Text extends string> = Text | Lowercase<Text>;

/** The text of a column's type, such as `BIGINT`, `DECIMAL(10,2)` or `ARRAY<STRING>`. */
export type ColumnType =
  | Cases<SimpleType>
  | Cases<'DECIMAL'>
  | `${Cases<'DECIMAL'>}(${string})`
  | `${Cases<'ARRAY'>}<${string}>`
  | `${Cases<'MAP'>}<${string}>`
  | `${Cases<'STRUCT'>}<${string}>`;

/** A column's type, alone or with what else is said of the column. */
export type ColumnDeclaration =
  | ColumnType
  | { readonly type: ColumnType; readonly notNull?: boolean; readonly comment?: string };

/** The columns of a source or table, in order. */
export type Columns = Readonly<Record<string, ColumnDeclaration>>;

/** Column names with the values that rows hold there. */
export type Shape = Readonly<Record<string, unknown>>;

/** The value of a column, as records are given to a test and rows come back from one. */
export type ValueOf<Text> = Text extends { readonly type: infer Inner }
  ? ValueOf<Inner>
  : Text extends string
    ? Uppercase<Text> extends SimpleType
      ? Simple[Uppercase<Text>]
      : Uppercase<Text> extends `DECIMAL${string}`
        ? `${number}`
        : Text extends `${Cases<'ARRAY'>}<${infer Element}>`
          ? readonly (ValueOf<Element> | null)[]
          : unknown
    : unknown;

/** The rows of declared columns. */
export type ShapeOf<Declared extends Columns> = {
  readonly [Name in keyof Declared]: ValueOf<Declared[Name]> | null;
};

/** The hidden columns that each source has after its own. */
export type HiddenColumns = {
  readonly _topic: string;
  readonly _partition: number;
  readonly _offset: bigint;
  readonly _timestamp: string;
  readonly _key: string | null;
  readonly _headers: unknown;
};

import type { BinaryOperator, CallExpression, Expression } from '../sql/ast.ts';
import type { ColumnType, ValueOf } from './column-type.ts';
import type { TreeBuilder } from './tree-builder.ts';

/** What stands for a value of a type in a program: a number may be of either kind, or text that keeps its digits. */
export type LiteralOf<Value> = unknown extends Value
  ? string | number | bigint | boolean | null
  : Value extends bigint | number | `${number}`
    ? bigint | number | `${number}`
    : Value extends string | boolean | null
      ? Value
      : never;

/** Whatever gives an expression; the compiler knows its value. */
export type AnyExpression<Value = unknown> = {
  /** Never there: it carries the type. */
  readonly value: Value | undefined;
  readonly build: (builder: TreeBuilder) => Expression;
};

export type Operand<Value> = AnyExpression | LiteralOf<Value>;

/**
 * An expression over the columns of a row, with the type of its value. Invariant: it is only a recipe; the same recipe gives
 * the same tree as the SQL text would.
 */
export class SqlExpression<Value> {
  /** Never there: it carries the type. */
  declare readonly value: Value | undefined;
  readonly build: (builder: TreeBuilder) => Expression;

  constructor(build: (builder: TreeBuilder) => Expression) {
    this.build = build;
  }

  eq(other: Operand<Value>): SqlExpression<boolean> {
    return this.#binary('=', other);
  }

  ne(other: Operand<Value>): SqlExpression<boolean> {
    return this.#binary('<>', other);
  }

  lt(other: Operand<Value>): SqlExpression<boolean> {
    return this.#binary('<', other);
  }

  le(other: Operand<Value>): SqlExpression<boolean> {
    return this.#binary('<=', other);
  }

  gt(other: Operand<Value>): SqlExpression<boolean> {
    return this.#binary('>', other);
  }

  ge(other: Operand<Value>): SqlExpression<boolean> {
    return this.#binary('>=', other);
  }

  /** `<=>`: NULL equals NULL. */
  eqNullSafe(other: Operand<Value>): SqlExpression<boolean> {
    return this.#binary('<=>', other);
  }

  and(other: AnyExpression): SqlExpression<boolean> {
    return this.#binary('and', other);
  }

  or(other: AnyExpression): SqlExpression<boolean> {
    return this.#binary('or', other);
  }

  not(): SqlExpression<boolean> {
    return new SqlExpression((builder) => ({
      node: 'unary',
      operator: 'not',
      operand: this.build(builder),
      place: builder.place,
    }));
  }

  plus(other: Operand<Value>): SqlExpression<Value> {
    return this.#binary('+', other);
  }

  minus(other: Operand<Value>): SqlExpression<Value> {
    return this.#binary('-', other);
  }

  times(other: Operand<Value>): SqlExpression<Value> {
    return this.#binary('*', other);
  }

  /** SQL's `/`: whole numbers give a DOUBLE, decimals a DECIMAL. */
  dividedBy(other: Operand<Value>): SqlExpression<unknown> {
    return this.#binary('/', other);
  }

  modulo(other: Operand<Value>): SqlExpression<Value> {
    return this.#binary('%', other);
  }

  isNull(): SqlExpression<boolean> {
    return this.#is('null', false);
  }

  isNotNull(): SqlExpression<boolean> {
    return this.#is('null', true);
  }

  in(...values: readonly Operand<Value>[]): SqlExpression<boolean> {
    return new SqlExpression((builder) => ({
      node: 'in',
      value: this.build(builder),
      list: values.map((value) => operand(value).build(builder)),
      negated: false,
      place: builder.place,
    }));
  }

  like(pattern: string): SqlExpression<boolean> {
    return new SqlExpression((builder) => ({
      node: 'like',
      operator: 'like',
      value: this.build(builder),
      patterns: [{ node: 'string', value: pattern, place: builder.place }],
      quantifier: undefined,
      escape: undefined,
      negated: false,
      place: builder.place,
    }));
  }

  cast<const Type extends ColumnType>(type: Type): SqlExpression<ValueOf<Type> | null> {
    return this.#cast(type, false);
  }

  /** NULL where the value does not fit. */
  tryCast<const Type extends ColumnType>(type: Type): SqlExpression<ValueOf<Type> | null> {
    return this.#cast(type, true);
  }

  /** A field of a struct. */
  field(name: string): SqlExpression<unknown> {
    return new SqlExpression((builder) => {
      const value = this.build(builder);
      if (value.node === 'column') {
        const { parts } = value.name;
        return builder.column(...parts.map(({ text }) => text), name);
      }
      return { node: 'field', value, field: builder.identifier(name), place: builder.place };
    });
  }

  #cast<Result>(type: string, isTry: boolean): SqlExpression<Result> {
    return new SqlExpression((builder) => ({
      node: 'cast',
      value: this.build(builder),
      type: builder.type(type),
      isTry,
      place: builder.place,
    }));
  }

  #is(test: 'null', negated: boolean): SqlExpression<boolean> {
    return new SqlExpression((builder) => ({
      node: 'is',
      value: this.build(builder),
      test,
      negated,
      place: builder.place,
    }));
  }

  #binary<Result>(operator: BinaryOperator, other: Operand<Value>): SqlExpression<Result> {
    return new SqlExpression((builder) => ({
      node: 'binary',
      operator,
      left: this.build(builder),
      right: operand(other).build(builder),
      place: builder.place,
    }));
  }
}

/** A column by its name, where no row is at hand. */
export function column(name: string): SqlExpression<unknown> {
  return new SqlExpression((builder) => builder.column(...name.split('.')));
}

type Widened<Value> = Value extends string
  ? string
  : Value extends boolean
    ? boolean
    : Value extends number
      ? number
      : Value;

/** A constant. */
export function literal<Value extends string | number | bigint | boolean | null>(
  value: Value,
): SqlExpression<Widened<Value>> {
  return new SqlExpression((builder) => literalNode(value, builder));
}

/** A function by its name, such as `call('upper', row.name)`. */
export function call<Value = unknown>(
  name: string,
  ...args: readonly Operand<unknown>[]
): SqlExpression<Value> {
  return new SqlExpression((builder) => ({
    ...emptyCall(name, builder),
    arguments: args.map((arg) => operand(arg).build(builder)),
  }));
}

function emptyCall(name: string, builder: TreeBuilder): CallExpression {
  return {
    node: 'call',
    name: builder.name(name),
    distinct: false,
    arguments: [],
    named: [],
    filter: undefined,
    ignoreNulls: false,
    window: undefined,
    place: builder.place,
  };
}

/** Aggregates, for materialized views. */
export const aggregates = {
  count: (value?: AnyExpression): SqlExpression<bigint> =>
    new SqlExpression((builder) => ({
      ...emptyCall('count', builder),
      arguments: [
        value?.build(builder) ?? {
          node: 'star',
          qualifier: undefined,
          except: [],
          place: builder.place,
        },
      ],
    })),
  sum: (value: AnyExpression): SqlExpression<unknown> => call('sum', value),
  avg: (value: AnyExpression): SqlExpression<unknown> => call('avg', value),
  min: <Value>(value: AnyExpression<Value>): SqlExpression<Value> => call('min', value),
  max: <Value>(value: AnyExpression<Value>): SqlExpression<Value> => call('max', value),
};

function operand(value: AnyExpression | Literal): AnyExpression {
  return typeof value === 'object' && value !== null
    ? value
    : new SqlExpression((builder) => literalNode(value, builder));
}

type Literal = string | number | bigint | boolean | null;

function literalNode(value: Literal, builder: TreeBuilder): Expression {
  const { place } = builder;
  switch (typeof value) {
    case 'string':
      return { node: 'string', value, place };
    case 'boolean':
      return { node: 'boolean', value, place };
    case 'number':
    case 'bigint':
      return numberNode(value, builder);
    default:
      return { node: 'null', place };
  }
}

/** As it would be written: `1.5` is a DECIMAL, `1e30` a DOUBLE. */
function numberNode(value: number | bigint, builder: TreeBuilder): Expression {
  const { place } = builder;
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return {
      node: 'cast',
      value: { node: 'string', value: String(value), place },
      type: builder.type('DOUBLE'),
      isTry: false,
      place,
    };
  }
  const isNegative = value < 0;
  const text = String(value).replace(/^-/u, '').replace('e+', 'e');
  const number: Expression = { node: 'number', text, suffix: '', place };
  return isNegative ? { node: 'unary', operator: '-', operand: number, place } : number;
}

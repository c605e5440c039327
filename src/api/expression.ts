import type { BinaryOperator, CallExpression, Expression } from '../sql/ast.ts';
import type { ColumnType, ValueOf } from './column-type.ts';
import { faultHere } from './fault-here.ts';
import { noteCondition } from './made-conditions.ts';
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

  /** An operator of JavaScript asks for a value, before there is a row. */
  [Symbol.toPrimitive](wanted: string): never {
    throw operatorFault(wanted);
  }

  eq(other: Operand<Value>): SqlExpression<boolean> {
    return this.#compared('=', other);
  }

  ne(other: Operand<Value>): SqlExpression<boolean> {
    return this.#compared('<>', other);
  }

  lt(other: Operand<Value>): SqlExpression<boolean> {
    return this.#compared('<', other);
  }

  le(other: Operand<Value>): SqlExpression<boolean> {
    return this.#compared('<=', other);
  }

  gt(other: Operand<Value>): SqlExpression<boolean> {
    return this.#compared('>', other);
  }

  ge(other: Operand<Value>): SqlExpression<boolean> {
    return this.#compared('>=', other);
  }

  /** `<=>`: NULL equals NULL. */
  eqNullSafe(other: Operand<Value>): SqlExpression<boolean> {
    return this.#compared('<=>', other);
  }

  and(other: AnyExpression): SqlExpression<boolean> {
    return this.#compared('and', other);
  }

  or(other: AnyExpression): SqlExpression<boolean> {
    return this.#compared('or', other);
  }

  not(): SqlExpression<boolean> {
    return condition((builder) => ({
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
    const list = values.map(operand);
    return condition((builder) => ({
      node: 'in',
      value: this.build(builder),
      list: list.map((value) => value.build(builder)),
      negated: false,
      place: builder.place,
    }));
  }

  like(pattern: string): SqlExpression<boolean> {
    mustBeText(pattern, 'the pattern of like');
    return condition((builder) => ({
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
    mustBeText(name, 'the name of a field');
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
    mustBeText(type, 'the type of cast');
    return new SqlExpression((builder) => ({
      node: 'cast',
      value: this.build(builder),
      type: builder.type(type),
      isTry,
      place: builder.place,
    }));
  }

  #is(test: 'null', negated: boolean): SqlExpression<boolean> {
    return condition((builder) => ({
      node: 'is',
      value: this.build(builder),
      test,
      negated,
      place: builder.place,
    }));
  }

  #compared(operator: BinaryOperator, other: Operand<Value>): SqlExpression<boolean> {
    return condition(this.#binary(operator, other).build);
  }

  #binary<Result>(operator: BinaryOperator, other: Operand<Value>): SqlExpression<Result> {
    const right = operand(other);
    return new SqlExpression((builder) => ({
      node: 'binary',
      operator,
      left: this.build(builder),
      right: right.build(builder),
      place: builder.place,
    }));
  }
}

export function isExpression(value: unknown): value is AnyExpression {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { readonly build?: unknown }).build === 'function'
  );
}

/** One that a callback makes and leaves out of what it gives is told. */
function condition(build: (builder: TreeBuilder) => Expression): SqlExpression<boolean> {
  const made: SqlExpression<boolean> = new SqlExpression((builder) => {
    use();
    return build(builder);
  });
  const use = noteCondition(made);
  return made;
}

function operatorFault(wanted: string): Error {
  const [message, hint] =
    wanted === 'string'
      ? ['an expression is put into a text', 'Put it into SQL: sql`… ${row.id} …`.']
      : [
          'an operator of JavaScript stands between expressions',
          'It would be computed before there is a row: write .gt(5) for > 5, .eq(5) for == 5, .plus(1) for + 1, and .and(…), .or(…), .not() for &&, ||, !.',
        ];
  return faultHere('EXPRESSION_OPERATOR', message, hint);
}

function mustBeText(given: unknown, what: string): void {
  if (typeof given === 'string') return;
  throw faultHere('OPTION_VALUE', `${what} is no text`, "Write it in quotes, such as 'BIGINT'.");
}

/** A column by its name, where no row is at hand. */
export function column(name: string): SqlExpression<unknown> {
  mustBeText(name, 'the name of a column');
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
  return new SqlExpression(operand(value).build);
}

/** A function by its name, such as `call('upper', row.name)`. */
export function call<Value = unknown>(
  name: string,
  ...args: readonly Operand<unknown>[]
): SqlExpression<Value> {
  mustBeText(name, 'the name of a function');
  const operands = args.map(operand);
  return new SqlExpression((builder) => ({
    ...emptyCall(name, builder),
    arguments: operands.map((arg) => arg.build(builder)),
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
  if (isExpression(value)) return value;
  // What was not asked of the compiler may be anything.
  if (value !== null && !['string', 'number', 'bigint', 'boolean'].includes(typeof value)) {
    const what = value === undefined ? 'undefined' : `a ${typeof value}`;
    const hint = 'It is a column of the row, another expression, or a constant; NULL is null.';
    throw faultHere('OPTION_VALUE', `${what} is no operand of an expression`, hint);
  }
  return new SqlExpression((builder) => literalNode(value, builder));
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

import { FaultError, type Place } from '../base/place.ts';
import type { Expression } from '../sql/ast.ts';
import { type AnyExpression, isExpression, SqlExpression } from './expression.ts';
import { faultHere } from './fault-here.ts';
import { collectConditions } from './made-conditions.ts';
import type { TreeBuilder } from './tree-builder.ts';

/** The columns of a row, each an expression. */
export type RowOf<Columns> = { readonly [Name in keyof Columns]-?: SqlExpression<Columns[Name]> };

/** What a call was given, and where: a callback of rows, or what it would give. */
export type GivenPart = {
  /** As messages name it, such as `where`. */
  readonly part: string;
  readonly place: Place;
  /** What a callback is called with. */
  readonly rows: readonly unknown[];
};

/**
 * The tree of an expression that a call was given: SQL, an expression, or a function that gives one. Invariant: what the
 * function made as a condition is in the tree, or the loss is a fault; what is no expression is one too.
 */
export function givenTree(given: unknown, about: GivenPart, builder: TreeBuilder): Expression {
  if (typeof given === 'string') return builder.expression(given, about.part);
  const tree = called(given, about, builder, (made) => treeOfOne(made, about, builder));
  // A name without parts: what depends on it says no more.
  return tree ?? builder.column();
}

/** The trees of an object of expressions, by their names. */
export function givenTrees(
  given: unknown,
  about: GivenPart,
  builder: TreeBuilder,
): readonly (readonly [string, Expression])[] {
  const trees = called(given, about, builder, (made) => {
    if (typeof made !== 'object' || made === null || Array.isArray(made) || isExpression(made)) {
      const hint = `Give an object with a name for each column: ${about.part}((row) => ({ name: row.id })).`;
      builder.refuse('OPTION_VALUE', `${about.part} gives no columns`, hint, about.place);
      return [];
    }
    return Object.entries(made).map(([name, one]) => {
      const part = `column "${name}" of ${about.part}`;
      return [name, treeOfOne(one, { ...about, part }, builder)] as const;
    });
  });
  return trees ?? [['', builder.column()]];
}

/** The columns that rows have are known to the compiler only; here each name that is asked for is one. */
export function rowOf<Columns>(qualifier?: string): RowOf<Columns> {
  const prefix = qualifier === undefined ? [] : [qualifier];
  return new Proxy(
    {},
    {
      get: (_, name) => {
        if (name === Symbol.toPrimitive) {
          throw faultHere(
            'EXPRESSION_OPERATOR',
            'a row is no value',
            'Name one of its columns: row.id.',
          );
        }
        if (typeof name !== 'string') return undefined;
        return new SqlExpression((builder) => builder.column(...prefix, name));
      },
      ownKeys: () => {
        throw faultHere(
          'OPTION_VALUE',
          'a row cannot be spread: its columns are known to the compiler only',
          'Use withColumns to add columns to all that there are.',
        );
      },
    },
  ) as RowOf<Columns>;
}

function called<Result>(
  given: unknown,
  about: GivenPart,
  builder: TreeBuilder,
  use: (made: unknown) => Result,
): Result | undefined {
  try {
    if (typeof given !== 'function') return use(given);
    const callback = given as (...rows: readonly unknown[]) => unknown;
    const { result: made, unused } = collectConditions(() => callback(...about.rows));
    const faults = builder.faults.length;
    const result = use(made);
    const lost = unused();
    // Whoever gave something else has lost them for that.
    if (lost !== undefined && builder.faults.length === faults) {
      builder.refuse(
        'EXPRESSION_DROPPED',
        `a condition that ${about.part} makes is not part of what it gives`,
        "JavaScript's && and || keep one side only, and ?: chooses before there is a row: write a.and(b), a.or(b), or sql`CASE WHEN … END`.",
        lost,
      );
    }
    return result;
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    builder.faults.push(error.fault);
    return undefined;
  }
}

function treeOfOne(
  made: unknown,
  { part, place }: Omit<GivenPart, 'rows'>,
  builder: TreeBuilder,
): Expression {
  if (isExpression(made)) return (made as AnyExpression).build(builder);
  const isFlag = typeof made === 'boolean';
  const what = isFlag ? `it is ${made}` : `it is ${made === null ? 'null' : `a ${kindOf(made)}`}`;
  const hint = isFlag
    ? 'JavaScript compares before there is a row: write .eq(…) for ===, .ne(…) for !==, .not() for !, or literal(true) for a constant.'
    : 'Give an expression over the row, such as row.id.gt(5), or literal(…) for a constant.';
  builder.refuse('OPTION_VALUE', `${part} is no expression: ${what}`, hint, place);
  return builder.column();
}

function kindOf(made: unknown): string {
  if (Array.isArray(made)) return 'list';
  return made === undefined ? 'function that gives nothing' : typeof made;
}

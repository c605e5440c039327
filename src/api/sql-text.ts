import type { Query } from '../sql/ast.ts';
import { printExpression } from '../sql/print.ts';
import { literalOfText } from '../sql/text-literal.ts';
import { callPlace } from './call-place.ts';
import { type AnyExpression, isExpression, SqlExpression } from './expression.ts';
import { faultHere } from './fault-here.ts';
import { type SqlPart, TreeBuilder } from './tree-builder.ts';

/** A dataset, which stands for its name in a text. */
export type Named = { readonly name: string };

type Inserted = Named | AnyExpression | string | number | bigint | boolean | null;

/**
 * SQL with values put in: datasets by their names, expressions by their texts, anything else as a literal. Invariant: a
 * value never becomes syntax.
 */
export class SqlText<Value = unknown> extends SqlExpression<Value> {
  readonly text: string;
  readonly #parts: readonly SqlPart[];

  constructor(text: string, parts: readonly SqlPart[] = [{ text, at: 0 }]) {
    super((builder) => builder.expression(text, 'expression', parts));
    this.text = text;
    this.#parts = parts;
  }

  query(builder: TreeBuilder): Query {
    return builder.query(this.text, 'query', this.#parts);
  }
}

/** `sql\`SELECT * FROM STREAM(${bookings}) WHERE total > ${limit}\``: a query or an expression, as it is used. */
export function sql<Value = unknown>(
  parts: TemplateStringsArray,
  ...values: readonly Inserted[]
): SqlText<Value> {
  const own: SqlPart[] = [];
  let text = '';
  for (const [index, raw] of parts.raw.entries()) {
    own.push({ text: raw, at: text.length });
    // SQL has escapes of its own; those of the template around it are undone.
    text += raw.replaceAll('\\`', '`').replaceAll('\\${', '${');
    if (index < values.length) text += insertedText(values[index] as Inserted);
  }
  return new SqlText<Value>(text, own);
}

function insertedText(value: Inserted): string {
  if (value instanceof SqlText) return `(${value.text})`;
  if (isExpression(value)) {
    if (!(value instanceof SqlExpression)) {
      const hint = 'Give it a name, p.view({ name: …, query }), and put in what that gave.';
      throw faultHere('OPTION_VALUE', 'a built query is put into SQL', hint);
    }
    return `(${printExpression(value.build(new TreeBuilder(callPlace(), 'sql')))})`;
  }
  if (typeof value === 'string') return literalOfText(value);
  if (typeof value === 'object' && value !== null && typeof value.name === 'string') {
    return value.name
      .split('.')
      .map((part) => `\`${part.replaceAll('`', '``')}\``)
      .join('.');
  }
  // What was not asked of the compiler may be anything.
  if (value !== null && !['number', 'bigint', 'boolean'].includes(typeof value)) {
    const what = Array.isArray(value) ? 'a list' : `a value of kind ${typeof value}`;
    const hint = 'Put in a dataset, an expression, a text, a number, true, false or null.';
    throw faultHere('OPTION_VALUE', `${what} is put into SQL`, hint);
  }
  return value === null ? 'NULL' : String(value).toUpperCase();
}

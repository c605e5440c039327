import type { Query } from '../sql/ast.ts';
import { printExpression } from '../sql/print.ts';
import { literalOfText } from '../sql/text-literal.ts';
import { callPlace } from './call-place.ts';
import { type AnyExpression, SqlExpression } from './expression.ts';
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
    if (index < values.length) text += insertedText(values[index] ?? null);
  }
  return new SqlText<Value>(text, own);
}

function insertedText(value: Inserted): string {
  if (value instanceof SqlText) return `(${value.text})`;
  if (typeof value === 'object' && value !== null && 'build' in value) {
    return `(${printExpression(value.build(new TreeBuilder(callPlace(), 'sql')))})`;
  }
  if (typeof value === 'string') return literalOfText(value);
  if (typeof value === 'object' && value !== null) {
    return value.name
      .split('.')
      .map((part) => `\`${part.replaceAll('`', '``')}\``)
      .join('.');
  }
  return value === null ? 'NULL' : String(value).toUpperCase();
}

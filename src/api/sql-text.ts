import type { Query } from '../sql/ast.ts';
import { printExpression } from '../sql/print.ts';
import { literalOfText } from '../sql/text-literal.ts';
import { callPlace } from './call-place.ts';
import { type AnyExpression, SqlExpression } from './expression.ts';
import { TreeBuilder } from './tree-builder.ts';

/** A dataset, which stands for its name in a text. */
export type Named = { readonly name: string };

type Inserted = Named | AnyExpression | string | number | bigint | boolean | null;

/**
 * SQL with values put in: datasets by their names, expressions by their texts, anything else as a literal. Invariant: a
 * value never becomes syntax.
 */
export class SqlText<Value = unknown> extends SqlExpression<Value> {
  readonly text: string;

  constructor(text: string) {
    super((builder) => builder.expression(text, 'expression'));
    this.text = text;
  }

  query(builder: TreeBuilder): Query {
    return builder.query(this.text, 'query');
  }
}

/** `sql\`SELECT * FROM STREAM(${bookings}) WHERE total > ${limit}\``: a query or an expression, as it is used. */
export function sql<Value = unknown>(
  parts: TemplateStringsArray,
  ...values: readonly Inserted[]
): SqlText<Value> {
  const text = parts.raw.map((raw, index) => {
    // SQL has escapes of its own; those of the template around it are undone.
    const part = raw.replaceAll('\\`', '`').replaceAll('\\${', '${');
    return index < values.length ? part + insertedText(values[index] ?? null) : part;
  });
  return new SqlText<Value>(text.join(''));
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

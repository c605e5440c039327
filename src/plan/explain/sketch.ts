import { canonicalText } from '../../data/canonical.ts';
import { formatType } from '../../data/type-text.ts';
import type { CallNode, Expression, LiteralNode } from '../../expr/expression.ts';
import { operationName } from './chance.ts';

const infix: Readonly<Record<string, string>> = {
  and: 'AND',
  or: 'OR',
  add: '+',
  subtract: '-',
  multiply: '*',
  divide: '/',
  remainder: '%',
  '=': '=',
  '<=>': '<=>',
  '<>': '<>',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
  '&': '&',
  '|': '|',
  '^': '^',
  like: 'LIKE',
  ilike: 'ILIKE',
};

/**
 * An expression for people: close to SQL, with the names of columns, and with the casts that were not
 * written but are made. For reading only; two expressions may look the same.
 */
export function sketch(expression: Expression, columns: readonly string[]): string {
  switch (expression.node) {
    case 'literal':
      return literalText(expression);
    case 'column':
      return columns[expression.index] ?? expression.name;
    case 'parameter':
      return expression.name;
    case 'lambda':
      return `x -> ${sketch(expression.body, columns)}`;
    case 'call':
      return callText(expression, columns);
  }
}

function literalText({ type, value }: LiteralNode): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return `'${value.replaceAll("'", "\\'")}'`;
  const text = canonicalText(type, value).replace(/^"(.*)"$/su, '$1');
  const isTimed = ['date', 'timestamp', 'timestamp_ntz'].includes(type.kind);
  return isTimed ? `${type.kind.toUpperCase()}'${text}'` : text;
}

function callText(call: CallNode, columns: readonly string[]): string {
  const name = operationName(call);
  const args = call.arguments.map((argument) => sketch(argument, columns));
  const [first = '', second = ''] = args;
  if (call.operation.cast === true)
    return `CAST(${first} AS ${formatType(call.type).toUpperCase()})`;
  const operator = Object.hasOwn(infix, name) ? infix[name] : undefined;
  if (operator !== undefined && args.length === 2) return `(${first} ${operator} ${second})`;
  switch (name) {
    case 'not':
      return `(NOT ${first})`;
    case 'negate':
      return `(-${first})`;
    case 'is_null':
      return `(${first} IS NULL)`;
    case 'is_not_null':
      return `(${first} IS NOT NULL)`;
    case 'in':
      return `(${first} IN (${args.slice(1).join(', ')}))`;
    case 'field': {
      const field = /^field\(\d+,(.*)\)$/su.exec(call.operation.name)?.[1] ?? '?';
      return `${first}.${field}`;
    }
    case 'element':
    case 'map_value':
      return `${first}[${second}]`;
    case 'case':
      return caseText(args);
    default:
      return `${name}(${args.join(', ')})`;
  }
}

function caseText(args: readonly string[]): string {
  const parts = ['CASE'];
  for (let i = 0; i + 1 < args.length; i += 2) {
    parts.push(`WHEN ${args[i] ?? ''} THEN ${args[i + 1] ?? ''}`);
  }
  if (args.length % 2 === 1) parts.push(`ELSE ${args.at(-1) ?? ''}`);
  return [...parts, 'END'].join(' ');
}

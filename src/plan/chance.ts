import type { CallNode, Expression } from '../expr/expression.ts';
import { type PlacedExpression, rootOf, upstreamOf } from './upstream.ts';

/** The first call in an expression whose value depends on the clock or on chance. */
export function chanceIn(expression: Expression): CallNode | undefined {
  switch (expression.node) {
    case 'call': {
      if (!expression.operation.deterministic) return expression;
      for (const argument of expression.arguments) {
        const found = chanceIn(argument);
        if (found !== undefined) return found;
      }
      return undefined;
    }
    case 'lambda':
      return chanceIn(expression.body);
    default:
      return undefined;
  }
}

/** What keeps a value from being the same each time it is computed, over everything that it was made of. */
export function chanceUpstream(at: PlacedExpression): string | undefined {
  for (const origin of upstreamOf(at)) {
    if ('side' in origin) return `static data "${origin.side.side.name}"`;
    const found = chanceIn(origin);
    if (found !== undefined) return operationName(found);
  }
  return undefined;
}

/** `add(int,int)` is the function `add`. */
export function operationName(call: CallNode): string {
  return call.operation.name.replace(/\(.*$/su, '');
}

/** Functions that give whole seconds, minutes, … . */
const coarseFunctions: ReadonlySet<string> = new Set([
  'date_trunc',
  'from_unixtime',
  'make_timestamp_seconds',
  'timestamp_seconds',
  'to_unix_timestamp',
  'trunc',
  'unix_date',
  'unix_seconds',
  'unix_timestamp',
]);

/** Why values of a sequence are likely to tie, or undefined. */
export function coarseness(at: PlacedExpression): string | undefined {
  if (at.expression.type.kind === 'date') return 'it is a date';
  const root = rootOf(at);
  if (root.node !== 'call') return undefined;
  const name = operationName(root);
  if (coarseFunctions.has(name)) return `${name} gives no fractions of a second`;
  const [argument] = root.arguments;
  if (root.operation.cast !== true || argument === undefined) return undefined;
  const isTime = root.type.kind === 'timestamp' || root.type.kind === 'timestamp_ntz';
  if (!isTime) return undefined;
  const coarse = ['date', 'int', 'bigint', 'smallint', 'tinyint'];
  return coarse.includes(argument.type.kind)
    ? `a timestamp cast from ${argument.type.kind} has no fractions of a second`
    : undefined;
}

import type { CallNode, Expression } from '../../expr/expression.ts';
import { type PlacedExpression, rootOf, upstreamOf } from '../upstream.ts';

/** The first call in an expression whose value depends on the clock or on chance. */
export function chanceIn(expression: Expression): CallNode | undefined {
  return chancesIn(expression)[0];
}

/** All of them, the outer one where they are nested. */
export function chancesIn(expression: Expression): readonly CallNode[] {
  switch (expression.node) {
    case 'call':
      if (!expression.operation.deterministic) return [expression];
      return expression.arguments.flatMap((argument) => chancesIn(argument));
    case 'lambda':
      return chancesIn(expression.body);
    default:
      return [];
  }
}

/** Functions of the time at which a query runs, which is one for all of its rows. */
const clockFunctions: ReadonlySet<string> = new Set([
  ...['now', 'curdate', 'current_date', 'current_time', 'current_timestamp', 'localtimestamp'],
  'unix_timestamp',
]);

/** Whether a call depends on the clock and on nothing else. */
export function isClock(call: CallNode): boolean {
  return clockFunctions.has(operationName(call)) && call.arguments.every((one) => !chanceIn(one));
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

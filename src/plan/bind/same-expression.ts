import { formatType } from '../../data/type-text.ts';
import type { Expression } from '../../expr/expression.ts';

/** Whether two bound expressions compute the same from the same row, wherever they were written. */
export function sameExpression(a: Expression, b: Expression): boolean {
  if (a === b) return true;
  if (a.node !== b.node || formatType(a.type) !== formatType(b.type)) return false;
  switch (a.node) {
    case 'literal':
      return b.node === 'literal' && valueText(a.value) === valueText(b.value);
    case 'column':
    case 'parameter':
      return 'index' in b && a.index === b.index;
    case 'lambda':
      return (
        b.node === 'lambda' &&
        a.parameters.join() === b.parameters.join() &&
        sameExpression(a.body, b.body)
      );
    case 'call':
      return (
        b.node === 'call' &&
        a.operation.name === b.operation.name &&
        (sameInOrder(a.arguments, b.arguments) ||
          (commutative.test(a.operation.name) &&
            sameInOrder(a.arguments, [...b.arguments].reverse())))
      );
  }
}

/** Operators whose sides may change places. */
const commutative = /^(?:add|multiply|[=&|^]|<=>|and|or)(?:\(|$)/;

function sameInOrder(a: readonly Expression[], b: readonly Expression[]): boolean {
  return (
    a.length === b.length &&
    a.every((argument, i) => {
      const other = b[i];
      return other !== undefined && sameExpression(argument, other);
    })
  );
}

function valueText(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return `${part}n`;
    return typeof part === 'number' && (Object.is(part, -0) || !Number.isFinite(part))
      ? `${1 / part}:${part}`
      : part;
  });
}

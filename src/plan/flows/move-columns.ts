import type { Place } from '../../base/place.ts';
import type { DataType } from '../../data/types.ts';
import type { Expression } from '../../expr/expression.ts';

export type ColumnNode = Extract<Expression, { node: 'column' }>;

export function columnNode(column: {
  readonly name: string | undefined;
  readonly type: DataType;
  readonly index: number;
  readonly place: Place;
}): ColumnNode {
  const { name, type, index, place } = column;
  return { node: 'column', type, index, name: name ?? '', place };
}

/** The expression over a row in which the columns stand elsewhere. */
export function moveColumns(
  expression: Expression,
  position: (index: number) => number,
): Expression {
  switch (expression.node) {
    case 'column':
      return { ...expression, index: position(expression.index) };
    case 'lambda':
      return { ...expression, body: moveColumns(expression.body, position) };
    case 'call':
      return {
        ...expression,
        arguments: expression.arguments.map((argument) => moveColumns(argument, position)),
      };
    default:
      return expression;
  }
}

import { castTo } from '../../expr/coerce.ts';
import { columnsOf } from '../../expr/columns.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import { and } from '../../expr/operators/logic.ts';
import { types } from '../../expr/types.ts';
import type { Identifier } from '../../sql/ast.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { nameKey } from '../bind/names.ts';
import type { JoinKey } from '../pipeline-plan.ts';
import { moveColumns } from './move-columns.ts';

export type SplitCondition = {
  readonly equal: readonly JoinKey[];
  /** What is left, over both sides. */
  readonly condition: Expression | undefined;
};

/** A join condition as values that must be equal, by which rows are looked up, and the rest. */
export function splitCondition(on: Expression | undefined, leftWidth: number): SplitCondition {
  const equal: JoinKey[] = [];
  const rest: Expression[] = [];
  for (const part of on === undefined ? [] : conjuncts(on)) {
    const pair = equalPair(part, leftWidth);
    if (pair === undefined) rest.push(part);
    else equal.push(pair);
  }
  const condition = rest.length === 0 ? undefined : rest.reduce((a, b) => and(a, b, a.place));
  return { equal, condition };
}

function conjuncts(condition: Expression): readonly Expression[] {
  if (condition.node !== 'call' || condition.operation.name !== 'and') return [condition];
  return condition.arguments.flatMap(conjuncts);
}

/** `a = b` with one side for each relation; undefined for what is none. */
function equalPair(part: Expression, leftWidth: number): JoinKey | undefined {
  if (part.node !== 'call') return undefined;
  const nullSafe = part.operation.name.startsWith('<=>(');
  if (!nullSafe && !part.operation.name.startsWith('=(')) return undefined;
  const [a, b] = part.arguments;
  if (a === undefined || b === undefined) return undefined;
  const [sideA, sideB] = [sideOf(a, leftWidth), sideOf(b, leftWidth)];
  const move = (value: Expression): Expression => moveColumns(value, (index) => index - leftWidth);
  if (sideA === 'left' && sideB === 'right') return { left: a, right: move(b), nullSafe };
  if (sideA === 'right' && sideB === 'left') return { left: b, right: move(a), nullSafe };
  return undefined;
}

function sideOf(value: Expression, leftWidth: number): 'left' | 'right' | undefined {
  const columns = [...columnsOf(value)];
  if (columns.length === 0) return undefined;
  if (columns.every((index) => index < leftWidth)) return 'left';
  return columns.every((index) => index >= leftWidth) ? 'right' : undefined;
}

/** ON is a boolean, or NULL. */
export function asJoinCondition(bound: Expression): Expression {
  if (bound.type.kind === 'void') return castTo(bound, types.boolean);
  if (bound.type.kind === 'boolean') return bound;
  throw fault('JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE', 'ON needs a boolean', bound.place);
}

export function shifted(columns: readonly BoundColumn[], by: number): readonly BoundColumn[] {
  return columns.map((column) => ({ ...column, index: column.index + by }));
}

/** The names that a natural join compares. */
export function sharedNames(
  left: readonly BoundColumn[],
  right: readonly BoundColumn[],
): readonly Identifier[] {
  const names = new Set(right.filter((c) => !c.hidden).map((c) => nameKey(c.name ?? '')));
  return left
    .filter((column) => !column.hidden && names.has(nameKey(column.name ?? '')))
    .map((column) => ({ text: column.name ?? '', quoted: true, place: column.place }));
}

/** The column of one side that USING names. */
export function usingColumn(
  name: Identifier,
  columns: readonly BoundColumn[],
  side: string,
): BoundColumn {
  const found = columns.filter(
    (column) => !column.hidden && nameKey(column.name ?? '') === nameKey(name.text),
  );
  const [first] = found;
  if (first === undefined) {
    throw fault(
      'UNRESOLVED_USING_COLUMN_FOR_JOIN',
      `the ${side} side of the join has no column ${name.text}`,
      name.place,
    );
  }
  if (found.length > 1) {
    throw fault('AMBIGUOUS_REFERENCE', `${name.text} names ${found.length} columns`, name.place);
  }
  return first;
}

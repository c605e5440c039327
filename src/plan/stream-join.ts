import { columnsOf } from '../expr/columns.ts';
import type { Expression } from '../expr/expression.ts';
import type { Relation } from '../sql/ast.ts';
import type { BindContext } from './bind-context.ts';
import { chanceUpstream } from './chance.ts';
import { notSupportedYet, planFault, planWarning } from './faults.ts';
import { joinCondition } from './join-condition.ts';
import { shifted, splitCondition } from './join-parts.ts';
import { refuseLimit } from './limit.ts';
import { moveColumns } from './move-columns.ts';
import type { JoinKey } from './pipeline-plan.ts';
import type { BoundRelation } from './relation.ts';
import { warnOfRowChance } from './row-chance.ts';
import { atEnd } from './upstream.ts';

export type StreamJoin = {
  readonly relation: Extract<Relation, { node: 'join' }>;
  readonly left: BoundRelation;
  readonly right: BoundRelation;
  readonly context: BindContext;
};

/**
 * Binds the join of two streams: what reads it reads a table of joined rows. Gives undefined where it has a fault.
 */
export function bindStreamJoin(join: StreamJoin): BoundRelation | undefined {
  const { relation, left, right, context } = join;
  const { faults, joins } = context;
  for (const side of [left, right]) {
    refuseLimit(side, faults);
    checkReplaced(side, join);
    if (side.distinct === undefined) continue;
    const hint = 'Write SELECT DISTINCT around the join.';
    const what = 'SELECT DISTINCT on a side of a join of two streams';
    faults.add(notSupportedYet(what, side.distinct, hint));
  }
  const found = joinCondition({
    relation,
    left: left.columns,
    right: shifted(
      right.columns.map((column, index) => ({ ...column, index })),
      left.width,
    ),
    isHalf: false,
    context,
  });
  if (found === undefined) return undefined;
  const { equal, condition } = splitCondition(found.on, left.width);
  if (equal.length === 0) {
    faults.add(
      planFault(
        'JOIN_EQUALITY_MISSING',
        'a join of two streams compares nothing by =',
        relation.place,
        {
          detail: 'Rows of the two sides meet in the partition of the values that must be equal.',
          hint: 'Write ON a.k = b.k, with further conditions behind AND.',
        },
      ),
    );
    return undefined;
  }
  const ofRight = equal.map((key) => ({ ...key, right: rightExpression(key.right, right) }));
  if (!checkKeys(ofRight, join)) return undefined;
  for (const side of [left, right]) warnOfRowChance(side, faults);
  if (joins === undefined) {
    const what = 'a join of two streams in a flow that runs once or is AUTO CDC';
    faults.add(notSupportedYet(what, relation.place, 'Join in a flow of another kind.'));
    return undefined;
  }
  faults.add(
    planWarning(
      'JOIN_STATE_UNBOUNDED',
      'the join keeps every row of both streams',
      relation.place,
      {
        detail:
          'A row may find a partner at any time, so its state and its changelog topic grow for ever.',
        hint: 'Keep the streams small, or join with static data where one side is a table of facts.',
      },
    ),
  );
  const placeOf = (index: number): number =>
    index < left.width
      ? left.columns.findIndex((column) => column.index === index)
      : left.columns.length + index - left.width;
  const source = joins.add({
    left,
    right,
    keys: ofRight,
    condition: condition === undefined ? undefined : moveColumns(condition, placeOf),
    place: relation.place,
  });
  return {
    branches: [{ source, steps: [] }],
    columns: found.columns.map((column) => ({ ...column, index: placeOf(column.index) })),
    width: source.columns.length,
    distinct: undefined,
  };
}

/** A pair would stay where the row of one side was replaced. */
function checkReplaced({ branches }: BoundRelation, { relation, context }: StreamJoin): void {
  const table = branches.find(({ source }) => source.replaced !== undefined)?.source.table;
  if (table === undefined) return;
  context.faults.add(
    planFault(
      'STREAM_OF_REPLACED_ROWS',
      `the rows of streaming table "${table}" are replaced, so a join of streams cannot keep them`,
      relation.place,
      {
        detail: 'A pair would stay where the row of one side is no longer there.',
        hint: `Join with "${table}" as static data (without STREAM), or join in a materialized view.`,
      },
    ),
  );
}

/** In a condition the right side's columns are counted as they are listed; its rows have them elsewhere. */
function rightExpression(value: Expression, { columns }: BoundRelation): Expression {
  return moveColumns(value, (index) => columns[index]?.index ?? index);
}

/** Computed again, a row would look for its partners elsewhere. */
function checkKeys(
  keys: readonly JoinKey[],
  { left, right, context, relation }: StreamJoin,
): boolean {
  let isFine = true;
  for (const { left: ofLeft, right: ofRight } of keys) {
    const sides = [
      [left, ofLeft],
      [right, ofRight],
    ] as const;
    for (const [side, value] of sides) {
      const chance = side.branches
        .map((branch) => chanceUpstream(atEnd(branch, value)))
        .find((one) => one !== undefined);
      if (chance === undefined || columnsOf(value).size === 0) continue;
      isFine = false;
      context.faults.add(
        planFault(
          'JOIN_NONDETERMINISTIC',
          `the join compares a value that depends on ${chance}`,
          relation.place,
          {
            detail: 'A row that is read again would look for its partners among other rows.',
            hint: 'Compare values that the records themselves carry.',
          },
        ),
      );
    }
  }
  return isFine;
}

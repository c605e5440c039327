import type { Fault, Place } from '../../base/place.ts';
import { columnsOf } from '../../expr/columns.ts';
import type { Expression } from '../../expr/expression.ts';
import type { Relation } from '../../sql/ast.ts';
import type { BindContext } from '../bind/bind-context.ts';
import { chanceUpstream } from '../explain/chance.ts';
import { warnOfRowChance } from '../explain/row-chance.ts';
import { notSupportedYet, planFault, planWarning } from '../faults.ts';
import type { JoinKey, StreamJoinKind, StreamTimes } from '../pipeline-plan.ts';
import type { BoundRelation } from '../relation.ts';
import { atEnd } from '../upstream.ts';
import { joinCondition } from './join-condition.ts';
import { shifted, splitCondition } from './join-parts.ts';
import { timeRangeMissing, watermarkMissing } from './join-rules.ts';
import { refuseLimit } from './limit.ts';
import { moveColumns } from './move-columns.ts';
import { hasWatermarks, streamTimes } from './time-range.ts';

export type StreamJoin = {
  readonly relation: Extract<Relation, { node: 'join' }>;
  readonly kind: StreamJoinKind;
  readonly left: BoundRelation;
  readonly right: BoundRelation;
  readonly context: BindContext;
};

/** A change feed is read in its own order, and a flow that runs once has all rows at hand. */
function noStage(isCdc: boolean, place: Place): Fault {
  return planFault(
    'JOIN_STREAM_FLOW',
    isCdc ? 'an AUTO CDC flow joins two streams' : 'a flow that runs once joins two streams',
    place,
    {
      detail: 'A join of two streams is a flow of its own, with rows of both sides as its state.',
      hint: isCdc
        ? 'Write the joined rows to a table (CREATE STREAMING TABLE joined AS SELECT … JOIN …) and read that: FROM STREAM(joined).'
        : 'Read the sides without STREAM: such a flow sees all rows of both.',
    },
  );
}

/**
 * Binds the join of two streams: what reads it reads a table of joined rows. Gives undefined where it has a fault.
 */
export function bindStreamJoin(join: StreamJoin): BoundRelation | undefined {
  const { relation, left, right, context } = join;
  const { faults, stages } = context;
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
  if (stages === undefined) {
    faults.add(noStage(context.flow === 'auto_cdc', relation.place));
    return undefined;
  }
  const placeOf = (index: number): number =>
    index < left.width
      ? left.columns.findIndex((column) => column.index === index)
      : left.columns.length + index - left.width;
  const moved = condition === undefined ? undefined : moveColumns(condition, placeOf);
  const times = streamTimes(moved, { left, right }, context.catalog.timeZone);
  if (!checkTimes(times, join)) return undefined;
  const source = stages.addJoin({
    kind: join.kind,
    times,
    left,
    right,
    keys: ofRight,
    condition: moved,
    place: relation.place,
  });
  return {
    branches: [{ source, steps: [] }],
    columns: found.columns.map((column) => ({ ...column, index: placeOf(column.index) })),
    width: source.columns.length,
    distinct: undefined,
  };
}

/** Rows without a partner are given out when none can come any more; and what is never forgotten is told. */
function checkTimes(times: StreamTimes | undefined, join: StreamJoin): boolean {
  const { kind, left, right, relation, context } = join;
  const { place } = relation;
  const { faults } = context;
  const isLeftBound = times?.highMicros !== undefined;
  const isRightBound = times?.lowMicros !== undefined;
  if (kind !== 'inner' && !(hasWatermarks(left) && hasWatermarks(right))) {
    faults.add(watermarkMissing(place));
    return false;
  }
  const isOuterLeft = kind === 'left' || kind === 'full';
  const isOuterRight = kind === 'right' || kind === 'full';
  if ((isOuterLeft && !isLeftBound) || (isOuterRight && !isRightBound)) {
    faults.add(timeRangeMissing(relation.on?.place ?? place));
    return false;
  }
  if (isLeftBound || isRightBound) {
    const message = 'which rows are late depends on the order in their partition';
    faults.add(
      planWarning('NONDETERMINISTIC', message, place, {
        detail:
          'A row that is further behind than the delay of its watermark is left out of the join and counted.',
        hint: 'Have the delay cover how far the records of a partition are out of order.',
      }),
    );
  }
  if (isLeftBound && isRightBound) return true;
  const side = isLeftBound ? 'the right side' : isRightBound ? 'the left side' : 'both streams';
  faults.add(
    planWarning('JOIN_STATE_UNBOUNDED', `the join keeps every row of ${side}`, place, {
      detail:
        'Such a row may find a partner at any time, so state and changelog topic grow for ever.',
      hint: 'Write WATERMARK ts DELAY OF INTERVAL … after both streams, and bound their times in ON: b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR.',
    }),
  );
  return true;
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

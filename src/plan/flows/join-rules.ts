import type { Fault, Place } from '../../base/place.ts';
import type { Expression, Relation } from '../../sql/ast.ts';
import type { BindContext } from '../bind/bind-context.ts';
import { expressionChildren } from '../bind/expression-children.ts';
import { planFault } from '../faults.ts';
import type { StaticJoinKind, StreamJoinKind } from '../pipeline-plan.ts';
import { hasWatermark, isStreaming } from './stream-kind.ts';

/** What a join in a streaming flow is: one with static data, of some kind, or one of two streams. */
export type CheckedJoin =
  | { readonly with: 'static'; readonly kind: StaticJoinKind }
  | { readonly with: 'stream'; readonly kind: StreamJoinKind };

type Join = Extract<Relation, { node: 'join' }>;

/**
 * Checks which kinds of join a streaming flow can have, and says which of those come later. Gives the kind of a
 * join that can run.
 */
export function checkJoin(join: Join, context: BindContext): CheckedJoin | undefined {
  const isLeft = isStreaming(join.left, context);
  const isRight = isStreaming(join.right, context);
  if (isLeft && isRight) {
    const kind = streamJoinKind(join, context);
    return kind === undefined ? undefined : { with: 'stream', kind };
  }
  if (isLeft) {
    const kind = staticJoinKind(join, context);
    return kind === undefined ? undefined : { with: 'static', kind };
  }
  if (isRight) refuseStreamOnRight(join, context);
  else {
    context.faults.add(
      planFault('SOURCE_NOT_STREAMING', 'neither side of the join is a stream', join.place, {
        hint: 'Read the left side with STREAM(name).',
      }),
    );
  }
  return undefined;
}

function staticJoinKind(join: Join, context: BindContext): StaticJoinKind | undefined {
  if (join.kind === 'right' || join.kind === 'full') {
    context.faults.add(
      planFault(
        'JOIN_STATIC_OUTER',
        `a stream cannot be joined with static data by a ${join.kind} join`,
        join.place,
        {
          detail:
            'Rows of the static side without a partner would be known only at the end of the stream.',
          hint: 'Use an inner or a left join with the stream on the left.',
        },
      ),
    );
    return undefined;
  }
  return join.kind === 'cross' ? 'inner' : join.kind;
}

function refuseStreamOnRight(join: Join, context: BindContext): void {
  const swapped = join.kind === 'right' ? 'LEFT JOIN' : 'JOIN';
  context.faults.add(
    planFault('JOIN_STREAM_RIGHT', 'the stream stands on the right side of the join', join.place, {
      detail: 'Each row of the stream is looked up in the static side, which stands on the right.',
      hint: `Swap the sides: FROM STREAM(…) ${swapped} … ON … .`,
    }),
  );
}

function streamJoinKind(join: Join, context: BindContext): StreamJoinKind | undefined {
  const { kind, place } = join;
  if (kind === 'inner' || kind === 'cross') return 'inner';
  if (kind === 'left_semi' || kind === 'left_anti') {
    context.faults.add(halfJoinRefused(kind, place));
    return undefined;
  }
  const faults = outerJoinFaults(join);
  context.faults.addAll(faults);
  return faults.length === 0 ? kind : undefined;
}

/** A row that has a partner is given out with it, and one that has none by an outer join: these say the same. */
function halfJoinRefused(kind: 'left_semi' | 'left_anti', place: Place): Fault {
  const name = kind.replace('_', ' ');
  return planFault('JOIN_STREAM_HALF', `two streams cannot be joined by a ${name} join`, place, {
    detail:
      'Whether a row has a partner is known for good only when the other stream has passed it.',
    hint:
      kind === 'left_semi'
        ? 'Write SELECT DISTINCT with columns of the left side alone around an inner join.'
        : 'Use a LEFT JOIN with watermarks and a range of times, and WHERE the columns of the right side are NULL.',
  });
}

function outerJoinFaults(join: Join): Fault[] {
  const faults: Fault[] = [];
  if (!hasWatermark(join.left) || !hasWatermark(join.right))
    faults.push(watermarkMissing(join.place));
  if (join.on === undefined || !boundsTime(join.on)) {
    faults.push(timeRangeMissing(join.on?.place ?? join.place));
  }
  return faults;
}

export function watermarkMissing(place: Place): Fault {
  return planFault(
    'JOIN_WATERMARK_MISSING',
    'an outer join of two streams needs watermarks',
    place,
    {
      detail: 'A row without a partner is given out when the watermark has passed it.',
      hint: 'Write WATERMARK ts DELAY OF INTERVAL … after both streams.',
    },
  );
}

export function timeRangeMissing(place: Place): Fault {
  return planFault(
    'JOIN_TIME_RANGE_MISSING',
    'an outer join of two streams needs a condition on their times',
    place,
    {
      detail:
        'It compares the columns of both watermarks, with constant lengths of time beside them.',
      hint: 'Add a range to ON, such as b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR; USING and NATURAL have no place for it.',
    },
  );
}

/** Whether some part of the condition compares by order; which columns it compares is seen later. */
function boundsTime(condition: Expression): boolean {
  if (condition.node === 'between') return true;
  if (condition.node === 'binary' && ['<', '<=', '>', '>='].includes(condition.operator))
    return true;
  return expressionChildren(condition).some(boundsTime);
}

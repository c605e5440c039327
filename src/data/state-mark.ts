type TopicPosition = { readonly topicId: string; readonly offset: number };

/** As `ports/state-store.ts` has it. */
type StateMark = TopicPosition & { readonly levels?: TopicPosition | undefined };

/** Whether two marks say that a state stands at the same place. */
export function isSameMark(left: StateMark | undefined, right: StateMark | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return isSamePosition(left, right) && isSamePosition(left.levels, right.levels);
}

function isSamePosition(
  left: TopicPosition | undefined,
  right: TopicPosition | undefined,
): boolean {
  return left?.offset === right?.offset && left?.topicId === right?.topicId;
}

/** For a person. */
export function markText(mark: StateMark | undefined): string {
  if (mark === undefined) return 'no mark';
  const levels = mark.levels === undefined ? '' : `, and ${positionText(mark.levels)}`;
  return `${positionText(mark)}${levels}`;
}

function positionText({ offset, topicId }: TopicPosition): string {
  return `offset ${offset} of topic ${topicId}`;
}

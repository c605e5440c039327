import type { FlowDefinition } from '../plan/flows/flow-definition.ts';
import { feedChanges, placeChanges } from './changes.ts';
import { isKey, typeChanges } from './column-changes.ts';
import type { DeployedFlow } from './deployed-flow.ts';
import { type FlowChange, refresh } from './flow-change.ts';
import { renumberings } from './numbering-changes.ts';
import { distinctChanges, keyFormChanges, sequenceTypeChanges } from './order-changes.ts';

/**
 * What keeps a flow of another name from merging into the rows of the one that wrote its table before it. It reads its sources
 * from the beginning, so how they are read and what is computed from them may differ; keys, order, numbers, form and place of the
 * rows that are there may not, since not every one of them is read again. Invariant: each of the changes asks for a refresh.
 */
export function successionChanges(
  before: DeployedFlow,
  after: DeployedFlow,
): readonly FlowChange[] {
  const [was, is] = [before.definition, after.definition];
  if (was.kind !== is.kind) {
    const text = `The table was written by a flow of kind ${was.kind} and is by one of kind ${is.kind}.`;
    return [refresh('FL-21', text)];
  }
  const changes = [
    ...placeChanges(before, after),
    ...keyFormChanges(before, after),
    ...sequenceTypeChanges(before, after, 'SEQUENCE BY'),
    ...orderChanges(before, after),
    ...renumberings(was, is),
    ...distinctChanges(before, after),
    ...feedChanges(before, after),
    ...typeChanges(before, after),
  ];
  return changes.filter(({ effect }) => effect === 'refresh');
}

/** What is read again has to be found under the key that it has, and compared with it by the same values. */
function orderChanges(before: DeployedFlow, after: DeployedFlow): readonly FlowChange[] {
  const [was, is] = [before.definition, after.definition];
  const changes: FlowChange[] = [];
  const isOrderedOtherwise =
    is.kind === 'auto_cdc'
      ? isOfSameTopics(was, is) && was.sequenceValue !== is.sequenceValue
      : was.sequenceValue !== is.sequenceValue;
  if (isOrderedOtherwise) {
    const text = `SEQUENCE BY was ${was.sequenceValue} and is ${is.sequenceValue}.`;
    changes.push(refresh('FR-28', text));
  }
  if (was.timeZone !== is.timeZone) {
    const text = `The time zone was ${was.timeZone} and is ${is.timeZone}.`;
    changes.push(refresh('FR-11', text));
  }
  for (const [column, { name }] of after.columns.entries()) {
    const lower = name.toLowerCase();
    const isOfKey = isKey(after, lower);
    if (!isOfKey && !is.sequenceColumns.includes(lower)) continue;
    const former = before.columns.findIndex((one) => one.name.toLowerCase() === lower);
    const isOtherwise = was.branches.some(
      ({ topic, values }, branch) =>
        is.branches[branch]?.topic === topic &&
        values[former] !== is.branches[branch]?.values[column],
    );
    if (!isOtherwise) continue;
    const what = isOfKey ? 'Key column' : 'Column of the sequence';
    changes.push(refresh(isOfKey ? 'FR-13' : 'FR-28', `${what} "${name}" is computed otherwise.`));
  }
  return changes;
}

function isOfSameTopics(was: FlowDefinition, is: FlowDefinition): boolean {
  const topics = ({ branches }: FlowDefinition): string =>
    JSON.stringify(branches.map(({ topic }) => topic));
  return topics(was) === topics(is);
}

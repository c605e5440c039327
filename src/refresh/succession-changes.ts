import { feedChanges, placeChanges } from './changes.ts';
import { typeChanges } from './column-changes.ts';
import type { DeployedFlow } from './deployed-flow.ts';
import { type FlowChange, refresh } from './flow-change.ts';
import { distinctChanges, keyFormChanges, sequenceTypeChanges } from './order-changes.ts';

/**
 * What keeps a flow of another name from merging into the rows of the one that wrote its table before it. It reads its sources
 * from the beginning, so how they are read and what is computed from them may differ; keys, order, form and place of the rows that
 * are there may not, since not every one of them is read again. Invariant: each of the changes asks for a refresh.
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
    ...distinctChanges(before, after),
    ...feedChanges(before, after),
    ...typeChanges(before, after),
  ];
  return changes.filter(({ effect }) => effect === 'refresh');
}

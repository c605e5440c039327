import { formatType } from '../data/type-text.ts';
import type { Column } from '../data/types.ts';
import { type FlowChange, feedChanges, placeChanges, typeChanges } from './changes.ts';
import type { DeployedFlow } from './deployed-flow.ts';

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
    return [{ id: 'FL-21', effect: 'refresh', text }];
  }
  const changes = [
    ...placeChanges(before, after),
    ...differs('FR-13', 'The key', keysText(before.keys), keysText(after.keys)),
    ...differs('FR-28', 'The type of the sequence', was.sequenceType, is.sequenceType),
    ...differs('FR-28', 'DISTINCT', isThere(was.distinct), isThere(is.distinct)),
    ...feedChanges(before, after),
    ...typeChanges(before, after),
  ];
  return changes.filter(({ effect }) => effect === 'refresh');
}

function differs(id: 'FR-13' | 'FR-28', what: string, was: string, is: string): FlowChange[] {
  if (was === is) return [];
  return [{ id, effect: 'refresh', text: `${what} was ${was} and is ${is}.` }];
}

function keysText(keys: readonly Column[]): string {
  return `(${keys.map(({ name, type }) => `${name} ${formatType(type)}`).join(', ')})`;
}

function isThere(distinct: boolean): string {
  return distinct ? 'there' : 'not there';
}

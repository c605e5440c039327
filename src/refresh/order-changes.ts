import { formatType } from '../data/type-text.ts';
import type { DeployedFlow } from './deployed-flow.ts';
import { type FlowChange, refresh } from './flow-change.ts';

/** Another key, by name, order or type: rows that are there are found under the former one. */
export function keyFormChanges(before: DeployedFlow, after: DeployedFlow): readonly FlowChange[] {
  const [was, is] = [keysText(before), keysText(after)];
  return was === is ? [] : [refresh('FR-13', `The key was (${was}) and is (${is}).`)];
}

function keysText({ keys }: DeployedFlow): string {
  return keys.map(({ name, type }) => `${name} ${formatType(type)}`).join(', ');
}

/** A sequence of another type, by which rows that are there can not be compared; `what` names it. */
export function sequenceTypeChanges(
  before: DeployedFlow,
  after: DeployedFlow,
  what: string,
): readonly FlowChange[] {
  const [was, is] = [before.definition.sequenceType, after.definition.sequenceType];
  if (was === is) return [];
  const text = `${what} was of type ${was.toUpperCase()} and is of type ${is.toUpperCase()}.`;
  return [refresh('FR-28', text)];
}

export function distinctChanges(
  { definition: was }: DeployedFlow,
  { definition: is }: DeployedFlow,
): readonly FlowChange[] {
  if (was.distinct === is.distinct) return [];
  return [refresh('FR-28', `DISTINCT was ${is.distinct ? 'added' : 'removed'}.`)];
}

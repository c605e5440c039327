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

/** DISTINCT that comes or goes, or tells rows apart otherwise: by all their columns, as they are written, one behind the other. */
export function distinctChanges(before: DeployedFlow, after: DeployedFlow): readonly FlowChange[] {
  const [was, is] = [before.definition.distinct, after.definition.distinct];
  if (was !== is) return [refresh('FR-28', `DISTINCT was ${is ? 'added' : 'removed'}.`)];
  if (!is) return [];
  const [old, now] = [comparedText(before), comparedText(after)];
  if (old === now) return [];
  return [
    refresh(
      'FR-28',
      `DISTINCT compared rows by (${old}) and compares them by (${now}): a row that is there would not be known again.`,
    ),
  ];
}

/** Whole numbers are written alike, whatever their width. */
const wholeTypes = ['tinyint', 'smallint', 'int', 'bigint'];

function comparedText({ columns }: DeployedFlow): string {
  return columns
    .map(({ name, type }) => {
      const text = formatType(type);
      return wholeTypes.includes(text.toLowerCase()) ? name : `${name} ${text.toUpperCase()}`;
    })
    .join(', ');
}

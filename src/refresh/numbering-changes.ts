import type { BranchDefinition, FlowDefinition } from '../plan/flows/flow-definition.ts';
import type { DeployedFlow } from './deployed-flow.ts';
import { type FlowChange, refresh } from './flow-change.ts';

/**
 * Sides of a UNION ALL over one topic that took each other's place. A row is known by its record, the number of its side and
 * its number among the rows of both: read again, it would be another one, and stand beside the one of before.
 */
export function sideChanges(before: DeployedFlow, after: DeployedFlow): readonly FlowChange[] {
  if (after.definition.kind === 'append') return [];
  const [was, is] = [sidesOf(before, after), sidesOf(after, before)];
  for (const [position, side] of is.entries()) {
    const former = was[position];
    if (former === undefined) continue;
    const twin = was.findIndex(
      (other, at) =>
        at !== position &&
        other.topic === side.topic &&
        ((side.filters !== former.filters && side.filters === other.filters) ||
          (side.values !== former.values && side.values === other.values)),
    );
    if (twin < 0) continue;
    return [
      refresh(
        'FR-20',
        `Side ${position + 1} of the UNION ALL over topic "${side.topic}" is what side ${twin + 1} was: rows are known by the number of their side, and would stand twice once they are read again.`,
      ),
    ];
  }
  return [];
}

type Side = { readonly topic: string; readonly filters: string; readonly values: string };

/** Each branch with what it computes of the columns that the other definition has, too. */
function sidesOf({ columns, definition }: DeployedFlow, other: DeployedFlow): readonly Side[] {
  const shared = new Set(other.columns.map(({ name }) => name.toLowerCase()));
  return definition.branches.map(({ topic, filters, values }) => {
    const named = columns.flatMap(({ name }, position) =>
      shared.has(name.toLowerCase()) ? [`${name.toLowerCase()} ${values[position]}`] : [],
    );
    return { topic, filters: JSON.stringify(filters), values: JSON.stringify(named.sort()) };
  });
}

/**
 * Where a flow that reads everything again gives the rows of a record other numbers than they have in the table, so that a part of
 * them would stay beside the new ones. Rows of a topic that it does not read stay as they are.
 */
export function renumberings(was: FlowDefinition, is: FlowDefinition): readonly FlowChange[] {
  return was.branches.flatMap((before, position) => {
    const { topic } = before;
    const countOf = ({ branches }: FlowDefinition): number =>
      branches.filter((branch) => branch.topic === topic).length;
    if (countOf(is) === 0) return [];
    const after = is.branches[position];
    const isElsewhere =
      after?.topic !== topic ||
      countOf(was) !== countOf(is) ||
      (countOf(is) > 1 && JSON.stringify(before.filters) !== JSON.stringify(after.filters));
    if (isElsewhere) {
      const text = `Rows of topic "${topic}" are known by the number of their side of the UNION ALL, and another side gives them now.`;
      return [refresh('FR-20', text)];
    }
    return generatorChanges(before, after);
  });
}

function generatorChanges(before: BranchDefinition, after: BranchDefinition): FlowChange[] {
  if (JSON.stringify(before.generators) === JSON.stringify(after.generators)) return [];
  return [
    refresh(
      'FR-11',
      `A record of topic "${after.topic}" gives other rows, by EXPLODE or by a join: their numbers, by which they are known, are others.`,
    ),
  ];
}

import { branchDefinition, columnText, fingerprintText, withoutKey } from '../fingerprint.ts';
import { optimizeBranch } from '../optimize.ts';
import type { SiftFlowPlan, TablePlan } from '../pipeline-plan.ts';
import type { ListedSift } from '../stage-list.ts';

export type PlannedSift = { readonly flow: SiftFlowPlan; readonly table: TablePlan };

type Around = {
  readonly target: Pick<
    TablePlan,
    'partitions' | 'deadLetterTopic' | 'deadLetterShareMax' | 'eventTimeAheadMaxMicros'
  >;
  readonly timeZone: string;
};

/**
 * The flow that does DISTINCT or LIMIT for another one, with the table of the rows that it lets through. Invariant: where
 * rows are counted they all go through one task.
 */
export function planSift(sift: ListedSift, { target, timeZone }: Around): PlannedSift {
  const { name, source, relation, place } = sift;
  const limit = relation.limit?.rows;
  const distinct = relation.distinct !== undefined;
  const columns = relation.columns.map(({ type }, at) => ({
    name: source.columns[at]?.name ?? '',
    type,
  }));
  const definition = {
    kind: 'sift' as const,
    ...withoutKey(timeZone),
    distinct,
    ...(limit === undefined ? {} : { limit }),
    columns: columns.map(columnText),
    branches: relation.branches.map(branchDefinition),
  };
  return {
    flow: {
      kind: 'sift',
      name,
      target: name,
      branches: relation.branches.map(optimizeBranch),
      distinct,
      limit,
      fingerprint: fingerprintText(definition),
      definition,
      place,
    },
    table: {
      ...target,
      partitions: limit === undefined ? target.partitions : 1,
      name,
      topic: source.topic,
      columns,
      expectations: [],
      output: 'append',
      rowSetRowsMax: 1,
      sequenceAheadMaxMicros: undefined,
      sequenceMax: undefined,
      eventTimeAheadMaxMicros: target.eventTimeAheadMaxMicros,
      place,
    },
  };
}

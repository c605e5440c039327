import { nameKey } from './bind/names.ts';
import { type Catalog, type FlowDeclaration, nounOf, type TableDataset } from './catalog.ts';
import { type FaultList, planFault } from './faults.ts';
import type { SourcePlan } from './pipeline-plan.ts';

/** What a flow reads that one of its own stages wrote. */
export type StageRows = {
  readonly flow: FlowDeclaration;
  readonly source: SourcePlan;
};

/**
 * Refuses what is named as a stage of a flow that nobody declared: its flow, its table and its rows go by one name.
 * Invariant: behind it a name stands for one checkpoint and one table of the whole plan.
 */
export function checkStageNames(
  catalog: Catalog,
  stages: readonly StageRows[],
  faults: FaultList,
): void {
  const taken = new Map(stages.map((stage) => [nameKey(stage.source.name), stage]));
  const told = new Set<string>();
  for (const dataset of catalog.datasets) {
    const key = nameKey(dataset.name);
    const stage = taken.get(key);
    if (stage === undefined) continue;
    told.add(key);
    const message = `the name "${dataset.name}" is taken`;
    faults.add(planFault('NAME_TAKEN', message, dataset.place, whose(stage, nounOf(dataset))));
  }
  for (const { name, namePlace } of catalog.flows) {
    const key = nameKey(name);
    const stage = taken.get(key);
    // A table and its default flow have one name, which is told once.
    if (stage === undefined || told.has(key)) continue;
    const message = `the flow name "${name}" is taken`;
    faults.add(planFault('FLOW_NAME_TAKEN', message, namePlace, whose(stage, 'flow')));
  }
}

function whose({ flow, source }: StageRows, noun: string) {
  return {
    detail: `Flow "${flow.name}" works in stages, and what stands before it goes by "${source.name}".`,
    hint: `Give the ${noun} another name.`,
  };
}

/** The stage that merges the AUTO CDC flows of a table is a flow by the table's name: no flow into another table has that. */
export function checkTableStages(
  catalog: Catalog,
  bound: readonly { readonly kind: string; readonly table: Pick<TableDataset, 'name'> }[],
  faults: FaultList,
): void {
  const staged = new Set(
    bound.flatMap(({ kind, table }) => (kind === 'auto_cdc' ? [nameKey(table.name)] : [])),
  );
  for (const { name, namePlace, target } of catalog.flows) {
    if (!staged.has(nameKey(name)) || nameKey(catalog.find(target)?.name ?? '') === nameKey(name)) {
      continue;
    }
    faults.add(
      planFault('FLOW_NAME_TAKEN', `the flow name "${name}" is taken`, namePlace, {
        detail: `What the AUTO CDC flows into table "${name}" send is merged by a flow of the table's name.`,
        hint: 'Give the flow another name.',
      }),
    );
  }
}

import type { Column, DataType } from '../../data/types.ts';
import { cdcDefinition, fingerprintText } from '../fingerprint.ts';
import type { AutoCdcFlowPlan, FlowPlan, TablePlan } from '../pipeline-plan.ts';
import { type BoundCdcFlow, historyColumnNames } from './cdc-flow.ts';

/** From which sequence to which a row of a history held; the newest has no end. */
export function historyColumns(type: DataType): readonly Column[] {
  return historyColumnNames.map((name) => ({ name, type }));
}

/** The columns of a table that the changes of its feeds give: all but those of the history. */
export function changeColumns(flow: AutoCdcFlowPlan, table: TablePlan): readonly Column[] {
  const count = flow.tracked === undefined ? 0 : historyColumnNames.length;
  return table.columns.slice(0, table.columns.length - count);
}

export function cdcPlan(
  flow: BoundCdcFlow,
  shared: Pick<AutoCdcFlowPlan, 'name' | 'target' | 'branches' | 'place'>,
  timeZone: string,
): AutoCdcFlowPlan | undefined {
  const { sequence, once, keys, deleteWhen, truncateWhen, ignoreNull, tracked } = flow;
  if (sequence === undefined) return undefined;
  const definition = cdcDefinition(flow, sequence, timeZone);
  return {
    kind: 'auto_cdc',
    ...shared,
    once,
    keys,
    sequence,
    sequenceType: sequence.type,
    deleteWhen,
    truncateWhen,
    ignoreNull,
    tracked,
    fingerprint: fingerprintText(definition),
    definition,
  };
}

/** Whether the stage that keeps the table is this flow's: it merges what all flows into the table send. */
export function hasTableStage({ name, target }: AutoCdcFlowPlan): boolean {
  return name === target;
}

/** Gives each table of AUTO CDC flows the stage that merges them, under the name of the table. */
export function withTableStages(flows: readonly FlowPlan[]): readonly FlowPlan[] {
  const staged = new Set(flows.flatMap(({ name, target }) => (name === target ? [name] : [])));
  return flows.flatMap((flow) => {
    if (flow.kind !== 'auto_cdc' || staged.has(flow.target)) return [flow];
    staged.add(flow.target);
    const definition = { ...flow.definition, branches: [], sequence: '', sequenceValue: '' };
    const changes = {
      ...(flow.definition.changes ?? { scdType: 1, tracked: [] }),
      ignoreNull: [],
      deleteWhen: '',
      truncateWhen: '',
    };
    const stage: AutoCdcFlowPlan = {
      ...flow,
      name: flow.target,
      once: false,
      branches: [],
      deleteWhen: undefined,
      truncateWhen: undefined,
      ignoreNull: [],
      definition: { ...definition, changes },
      fingerprint: fingerprintText({ ...definition, changes }),
    };
    return [flow, stage];
  });
}

import { oncePerPair } from '../base/once-per.ts';
import type { Column, DataType } from '../data/types.ts';
import type { FlowDefinition } from '../plan/flows/flow-definition.ts';
import type { FlowPlan, OutputMode, TablePlan } from '../plan/pipeline-plan.ts';

/** A flow as the catalog remembers it: the definition that its checkpoint, its state and its rows come from. */
export type DeployedFlow = {
  readonly target: string;
  /** Output topic. */
  readonly topic: string;
  readonly output: OutputMode;
  /** null: a bad record stops the flow. */
  readonly deadLetterTopic: string | null;
  readonly columns: readonly Column[];
  readonly keys: readonly Column[];
  readonly sequenceType: DataType;
  /** Names, one a branch. */
  readonly sources: readonly string[];
  readonly expectations: readonly {
    readonly name: string;
    readonly sql: string;
    readonly action: string;
  }[];
  readonly definition: FlowDefinition;
  readonly fingerprint: string;
};

/** As it is entered now. It is frozen, as every start enters or compares the same one. */
export const deployedFlow = oncePerPair(
  (flow: FlowPlan, table: TablePlan): DeployedFlow =>
    Object.freeze<DeployedFlow>({
      target: flow.target,
      topic: table.topic,
      output: table.output,
      deadLetterTopic: table.deadLetterTopic ?? null,
      columns: table.columns.map(({ name, type }) => ({ name, type })),
      keys: ('keys' in flow ? flow.keys : []).flatMap((position) => {
        const column = table.columns[position];
        return column === undefined ? [] : [{ name: column.name, type: column.type }];
      }),
      sequenceType: 'sequenceType' in flow ? flow.sequenceType : { kind: 'void' },
      sources: flow.branches.map(({ source }) => source),
      expectations: table.expectations.map(({ name, sql, action }) => ({ name, sql, action })),
      definition: flow.definition,
      fingerprint: flow.fingerprint,
    }),
);

/** undefined: there is none, or the entry is not one of this form. */
export function readDeployedFlow(
  value: Readonly<Record<string, unknown>> | undefined,
): DeployedFlow | undefined {
  if (value === undefined || typeof value['definition'] !== 'object') return undefined;
  if (!Array.isArray(value['columns']) || typeof value['fingerprint'] !== 'string') {
    return undefined;
  }
  return value as unknown as DeployedFlow;
}

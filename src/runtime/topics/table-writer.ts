import { FlowError } from '../../base/errors.ts';
import type { FlowPlan, PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { hasStage, tableOf } from '../../plan/topology.ts';
import type { FlowFacts } from '../inspect/flow-facts.ts';
import type { KnownCatalog } from './catalog.ts';

/** Whether one flow alone may write the table: rows meet by key in its state, which another flow would know nothing of. */
export function isOnlyWriter(flow: FlowPlan): boolean {
  return flow.kind === 'replace_using' || (flow.kind === 'auto_cdc' && hasStage(flow));
}

/** The flow that writes a table, as the catalog has it; undefined: none ever did. */
export function writerOf(catalog: KnownCatalog, topic: string): string | undefined {
  const flow = catalog.get('writer', topic)?.value['flow'];
  return typeof flow === 'string' ? flow : undefined;
}

/** What the catalog has yet to be told of the tables of a pipeline that no flow has written. */
export function firstWriters(catalog: KnownCatalog, plan: PipelinePlan): readonly WriterEntry[] {
  return plan.flows.flatMap((flow) => {
    const { topic } = tableOf(plan, flow);
    const isNew = isOnlyWriter(flow) && writerOf(catalog, topic) === undefined;
    return isNew ? [writerEntry(topic, flow.name)] : [];
  });
}

type WriterEntry = {
  readonly kind: 'writer';
  readonly name: string;
  readonly value: { readonly flow: string };
};

export function writerEntry(topic: string, flow: string): WriterEntry {
  return { kind: 'writer', name: topic, value: { flow } };
}

/** A refresh would hold the flows of its files only, while the former one went on writing. */
export function refuseOtherWriter(
  catalog: KnownCatalog,
  plan: PipelinePlan,
  { name, topic }: Pick<TablePlan, 'name' | 'topic'>,
): void {
  const writer = writerOf(catalog, topic);
  const flow = plan.flows.find((one) => one.target === name && isOnlyWriter(one))?.name;
  if (writer === undefined || flow === undefined || writer === flow) return;
  throw new FlowError(
    'USAGE',
    `table "${name}" is written by flow "${writer}", and by flow "${flow}" in these files`,
    {
      detail: 'A refresh would not keep the former flow from writing meanwhile.',
      hint: `Start the pipeline with these files first: flow "${flow}" takes the table over, and its rows stay. Or carry the checkpoint, where the query is the same: tidemark checkpoint carry ${writer} ${flow}`,
    },
  );
}

/** An instance whose flow was succeeded by one of another name has no say in the table any more. */
export function succeededError(
  catalog: KnownCatalog,
  { flow, output }: Pick<FlowFacts, 'flow' | 'output'>,
): FlowError | undefined {
  if (!isOnlyWriter(flow)) return undefined;
  const writer = writerOf(catalog, output.topic);
  if (writer === undefined || writer === flow.name) return undefined;
  return new FlowError(
    'DEFINITION_CHANGED',
    `table "${flow.target}" is written by flow "${writer}" now`,
    {
      detail: `A definition in which flow "${flow.name}" has given way to flow "${writer}" was started after this instance.`,
      hint: 'Start the instance with the present files. Started again with these, it takes the table back.',
    },
  );
}

import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import { groupOf } from '../plan/topology.ts';

/** Who reads a table: whoever a full refresh of it concerns. */
export type TableConsumers = {
  readonly table: string;
  readonly topic: string;
  /** Of the pipeline. */
  readonly flows: readonly string[];
  readonly views: readonly string[];
  /** Consumer groups with a checkpoint in its topic that are not the pipeline's. */
  readonly groups: readonly string[];
};

/** Each table with its consumers, in the pipeline and on its topic. `groups`: topic → all groups that read it. */
export function tableConsumers(
  plan: PipelinePlan,
  pipeline: string,
  groups: ReadonlyMap<string, readonly string[]>,
): readonly TableConsumers[] {
  const own = new Set(
    [...plan.flows, ...plan.materializedViews].map(({ name }) => groupOf(pipeline, name)),
  );
  return plan.tables.map(({ name, topic }) => {
    const sources = new Set(
      plan.sources.flatMap((source) => (source.topic === topic ? [source.name] : [])),
    );
    return {
      table: name,
      topic,
      flows: plan.flows
        .filter(({ branches }) => branches.some(({ source }) => sources.has(source)))
        .map((flow) => flow.name),
      views: plan.materializedViews
        .filter(({ inputs }) => inputs.some((one) => one.kind === 'table' && one.name === name))
        .map((view) => view.name),
      groups: (groups.get(topic) ?? []).filter((group) => !own.has(group)),
    };
  });
}

import type { PipelinePlan } from '../../plan/pipeline-plan.ts';
import { groupOf } from '../../plan/topology.ts';
import { type FencingOptions, fenceOthers } from './takeover.ts';

export type EndOpenOptions = Omit<FencingOptions, 'own'> & {
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  /** Of a process that starts: what one of its name left open before is its own to end, also where the catalog has lost that name. */
  readonly instance?: string;
};

/**
 * Ends what an instance may have left open over the checkpoints of a flow, or of a view, whose runs have an id of their own.
 * Invariant: only transactions of the pipeline are ended; a live instance opens its producer again, and goes on from its
 * checkpoints.
 */
export async function endOpenOver(options: EndOpenOptions, flow: string): Promise<void> {
  const { log, listener, pipeline, plan, instance } = options;
  const reason = `it may hold the checkpoints of flow "${flow}"`;
  const isView = plan.materializedViews.some(({ name }) => name === flow);
  const own = instance === undefined ? [] : [`${pipeline}-${instance}`];
  for (const transactionalId of isView ? [groupOf(pipeline, flow)] : own) {
    listener({ event: 'fencing', transactionalId, reason });
    await log.fence(transactionalId);
  }
  if (!isView) await fenceOthers(options, reason);
}

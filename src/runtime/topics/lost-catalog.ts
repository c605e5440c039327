import { FlowError } from '../../base/errors.ts';
import type { PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { catalogTopicOf, repartitionTopicOf, sourcesOf } from '../../plan/topology.ts';
import type { Log } from '../../ports/log.ts';
import { flowsOf, numbersTo } from '../refresh/refresh-facts.ts';
import { hasCheckpoints } from './check-topics.ts';

export type LostCatalogOptions = {
  readonly log: Log;
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  readonly table: TablePlan;
};

/**
 * Why a pipeline without a catalog topic has nothing to refresh a table by. Invariant: it is said to have never run only
 * where neither a checkpoint nor a record of the table tells otherwise.
 */
export async function lostCatalog(options: LostCatalogOptions): Promise<FlowError> {
  const { log, pipeline, plan, table } = options;
  const catalog = catalogTopicOf(pipeline);
  for (const flow of flowsOf(plan, table)) {
    const sources = sourcesOf(plan, flow).map(({ topic }) => topic);
    const reads = [...new Set([...sources, repartitionTopicOf(pipeline, flow.name)])];
    if (!(await hasCheckpoints({ log, pipeline }, { flow: flow.name, reads }))) continue;
    return new FlowError('DEFINITION_MISSING', `catalog topic "${catalog}" is gone`, {
      detail: `Flow "${flow.name}" has a checkpoint, so the pipeline ran, and nobody knows with what definition.`,
      hint: `Restore the topic from a copy, with its records in order. Without one let a start make it anew, which then refuses to go on: tidemark run --once. After that compute the table anew: tidemark refresh ${table.name} --in-place --keep-unrecoverable keeps what can not be read again; tidemark refresh ${table.name} --plan tells first what that is.`,
    });
  }
  const found = (await log.describeTopics([table.topic])).get(table.topic);
  const ranges = await log.offsetRanges(table.topic, numbersTo(found?.partitions ?? 0));
  if ([...ranges.values()].some(({ start, end }) => end > start)) {
    const text = `pipeline "${pipeline}" has neither a catalog nor a checkpoint, and topic "${table.topic}" holds records`;
    return new FlowError('USAGE', text, {
      detail: `Topic "${catalog}" does not exist, and no flow that writes table "${table.name}" has a group of that name.`,
      hint: `Is "${pipeline}" the right pipeline name? If so, catalog and checkpoints were lost: restore topic "${catalog}" from a copy, or give the table another topic (WITH (topic = '…')) and run the pipeline.`,
    });
  }
  return new FlowError('USAGE', `pipeline "${pipeline}" never ran`, {
    hint: 'Run it: it reads its sources from the beginning anyway.',
  });
}

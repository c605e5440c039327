import type { FlowPlan, PipelinePlan } from '../../plan/pipeline-plan.ts';
import { groupOf, repartitionTopicOf, sourcesOf } from '../../plan/topology.ts';
import type { Log } from '../../ports/log.ts';
import type { Gap } from '../../refresh/continuity.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import { isAddedSince } from '../takeover/added-partitions.ts';
import { decideWithAccepted } from '../takeover/gaps.ts';
import {
  markedGeneration,
  markOfCheckpoint,
  tableGeneration,
  writersOf,
} from '../takeover/generation.ts';
import type { Catalog } from '../topics/catalog.ts';
import { onceEnd, readPins } from '../views/once-pins.ts';

export type GapsOptions = {
  readonly log: Log;
  /** undefined: the pipeline never ran. */
  readonly catalog: Catalog | undefined;
  readonly pipeline: string;
  readonly plan: PipelinePlan;
};

/** The gaps before the checkpoints that no run has met yet, so that the catalog has no word of them. Nothing is written. */
export async function unmetGaps(options: GapsOptions): Promise<readonly Gap[]> {
  const { catalog, plan } = options;
  const found: Gap[] = [];
  for (const flow of plan.flows) found.push(...(await gapsOf(options, flow)));
  return found.filter(({ id }) => catalog?.get('gap', id) === undefined);
}

/** What would stop a flow at its checkpoints, as it would find out itself. */
export async function gapsOf(
  { log, catalog, pipeline, plan }: GapsOptions,
  flow: FlowPlan,
): Promise<readonly Gap[]> {
  if (catalog === undefined) return [];
  const group = groupOf(pipeline, flow.name);
  const names = [
    ...new Set(sourcesOf(plan, flow).map(({ topic }) => topic)),
    repartitionTopicOf(pipeline, flow.name),
  ];
  const gaps: Gap[] = [];
  const pins = readPins(flow, catalog);
  const described = await log.describeTopics(names);
  for (const { name: topic, topicId, clusterId, partitions } of described.values()) {
    const numbers = numbersTo(partitions);
    const committed = await log.committedOffsets(group, topic, numbers);
    for (const [partition, { start, end }] of await log.offsetRanges(topic, numbers)) {
      const mark = markOfCheckpoint(catalog, flow.name, { topic, partition });
      const known = mark?.['topicId'];
      const decided = decideWithAccepted(catalog, {
        flow: flow.name,
        topic,
        partition,
        committed: committed.get(partition)?.offset,
        checkpointTopicId: typeof known === 'string' ? known : undefined,
        topicId,
        isAdded:
          onceEnd(pins, topic, partition) !== 0 &&
          isAddedSince(catalog, { flow: flow.name, topic, topicId, partition }),
        clusterId,
        generation: isMinded(plan, flow, topic)
          ? tableGeneration(catalog, writersOf(plan, topic))
          : markedGeneration(mark),
        checkpointGeneration: markedGeneration(mark),
        start,
        end,
      });
      if (decided.decision === 'gap') gaps.push(decided.gap);
    }
  }
  return gaps;
}

/** Whether the flow stops when the table whose topic it reads was refreshed. */
function isMinded(plan: PipelinePlan, flow: FlowPlan, topic: string): boolean {
  return sourcesOf(plan, flow).some(
    (source) => source.topic === topic && source.skipsChanges !== true,
  );
}

import type { FlowPlan } from '../../plan/pipeline-plan.ts';
import type { RecordedGap } from '../takeover/gaps.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import type { KnownCatalog } from '../topics/catalog.ts';

/**
 * Partitions whose account began anew because their checkpoint was lost with it, as when a topic is deleted: what was
 * handed on before is counted on one side of the topic between the stages only. Invariant: a full refresh, which begins
 * both sides anew, ends it.
 */
export function lostAccounts(
  catalog: KnownCatalog | undefined,
  { name }: Pick<FlowPlan, 'name'>,
): readonly string[] {
  if (catalog === undefined) return [];
  // By the order in the catalog's log, which no clock can turn round.
  const begun = catalog.get('generation', name)?.offset ?? -1;
  const places = catalog.all('gap').flatMap(({ value, offset }) => {
    const { flow, topic, partition, from } = value as unknown as RecordedGap;
    // A gap before a checkpoint that is there leaves its account as it was.
    const isLost = flow === name && from === undefined && offset > begun;
    return isLost ? [partitionKey(topic, partition)] : [];
  });
  return [...new Set(places)];
}

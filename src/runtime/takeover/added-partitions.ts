import type { KnownCatalog } from '../topics/catalog.ts';
import { markOfCheckpoint } from './generation.ts';

type Place = {
  readonly flow: string;
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
};

type MarkValue = Readonly<Record<string, unknown>> | undefined;

/**
 * Whether a flow had a checkpoint in a topic before this partition was added to it, by what the marks of the other
 * partitions tell. Invariant: false of every partition that was there when the flow first took the topic over, in
 * whichever order its partitions are committed first.
 */
export function isAddedSince(catalog: KnownCatalog, place: Place): boolean {
  const { flow, topic, topicId, partition } = place;
  for (let sibling = 0; sibling < partition; sibling += 1) {
    const mark = markOfCheckpoint(catalog, flow, { topic, partition: sibling });
    const count = markedPartitions(mark, topicId);
    if (count !== undefined && count <= partition) return true;
  }
  return false;
}

/** How many partitions a topic had when a checkpoint was made first; undefined: it is of another one, or nobody knows. */
export function markedPartitions(mark: MarkValue, topicId: string): number | undefined {
  const count = mark?.['partitions'];
  return mark?.['topicId'] === topicId && typeof count === 'number' ? count : undefined;
}

/** The count for a mark that is written anew: a partition that was added stays known as such until it is read. */
export function firstPartitions(mark: MarkValue, topicId: string, now: number): number {
  return Math.min(markedPartitions(mark, topicId) ?? now, now);
}

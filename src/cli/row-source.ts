import { type Provenance, topicIdText } from '../data/provenance.ts';

/** Topic id → name. Provenance names topics by id: a topic that was created again is another one. */
export type TopicNames = ReadonlyMap<string, string>;

/** What is known of where rows of a table can come from. */
export type RowOrigins = {
  readonly topics: TopicNames;
  /** Rows may come from pairs of records: what they have instead of a record's place is a digest, which names none. */
  readonly areJoined: boolean;
};

/**
 * Where a row came from, for people. Invariant: only a record that may be one is called one; a place is never made of a
 * digest.
 */
export function rowSourceText(source: Provenance, origins: RowOrigins): string {
  const { topicId, partition, offset, branch, index } = source;
  const topic = origins.topics.get(topicId) ?? `topic ${topicIdText(topicId)} (gone)`;
  const place = isJoined(source, origins) ? 'joined row' : `${topic}/${partition}@${offset}`;
  return branch === 0 && index === 0 ? place : `${place}#${branch}.${index}`;
}

/** The same for machines: of a joined row nothing stands where a record would. */
export function rowSourceJson(source: Provenance, origins: RowOrigins): Record<string, unknown> {
  const { topicId, partition, offset, branch, index } = source;
  if (isJoined(source, origins)) {
    const nowhere = { topic: null, topicId: null, partition: null, offset: null };
    return { joined: true, ...nowhere, branch, index };
  }
  const topic = origins.topics.get(topicId) ?? null;
  return { joined: false, topic, topicId: topicIdText(topicId), partition, offset, branch, index };
}

function isJoined({ topicId }: Provenance, { topics, areJoined }: RowOrigins): boolean {
  return areJoined && !topics.has(topicId);
}

export type Subscriber = {
  readonly memberId: string;
  readonly topics: readonly string[];
  /** What it held before, as "topic/partition". */
  readonly held: readonly string[];
};

/**
 * Spreads the partitions of a group's topics over its members. Invariant: each partition has exactly
 * one owner, counts differ by at most one where all subscribe to the same topics, and a partition
 * moves only when the balance asks for it.
 */
export function stickyAssignment(
  subscribers: readonly Subscriber[],
  partitionCounts: ReadonlyMap<string, number>,
): ReadonlyMap<string, readonly string[]> {
  const unassigned = new Set(allPartitions(partitionCounts));
  const loads = new Map(
    subscribers.map(({ memberId, topics, held }) => {
      const mine = held.filter((name) => topics.includes(topicOf(name)) && unassigned.delete(name));
      return [memberId, { memberId, topics, mine }] as const;
    }),
  );
  const total = [...loads.values()].reduce((sum, { mine }) => sum + mine.length, unassigned.size);
  const floor = Math.floor(total / Math.max(subscribers.length, 1));
  let larger = total % Math.max(subscribers.length, 1);
  const byLoad = [...loads.values()].sort(
    (a, b) => b.mine.length - a.mine.length || compareText(a.memberId, b.memberId),
  );
  for (const { mine } of byLoad) {
    const quota = larger > 0 ? floor + 1 : floor;
    if (mine.length >= quota) larger -= 1;
    while (mine.length > quota) unassigned.add(takeFromLargestTopic(mine));
  }
  for (const name of allPartitions(partitionCounts)) {
    if (!unassigned.has(name)) continue;
    const topic = topicOf(name);
    const owner = byLoad
      .filter(({ topics }) => topics.includes(topic))
      .sort(
        (a, b) =>
          a.mine.length - b.mine.length ||
          countOf(a.mine, topic) - countOf(b.mine, topic) ||
          compareText(a.memberId, b.memberId),
      )[0];
    owner?.mine.push(name);
  }
  return new Map([...loads].map(([memberId, { mine }]) => [memberId, mine]));
}

function allPartitions(partitionCounts: ReadonlyMap<string, number>): string[] {
  return [...partitionCounts].flatMap(([topic, count]) =>
    Array.from({ length: count }, (_, partition) => `${topic}/${partition}`),
  );
}

export function topicOf(name: string): string {
  return name.slice(0, name.lastIndexOf('/'));
}

export function partitionOf(name: string): number {
  return Number(name.slice(name.lastIndexOf('/') + 1));
}

function countOf(names: readonly string[], topic: string): number {
  return names.filter((name) => topicOf(name) === topic).length;
}

/** Removes and returns a partition of the topic that a member holds most of, so that each topic stays spread. */
function takeFromLargestTopic(names: string[]): string {
  let largest = '';
  for (const name of names) {
    const topic = topicOf(name);
    if (largest === '' || countOf(names, topic) > countOf(names, largest)) largest = topic;
  }
  const at = names.findLastIndex((name) => topicOf(name) === largest);
  return names.splice(at, 1)[0] ?? '';
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Spreads the partitions of the subscribed topics over the members of a group. Invariant: each partition of
 * a topic goes to exactly one member that subscribed to it; within a topic no member has two more than
 * another; over all topics too, as far as equal subscriptions allow; and among the assignments that do, partitions stay
 * where they were, so that warm state stays in use. The same input gives the same output.
 */
export type Subscriber = {
  readonly memberId: string;
  readonly topics: readonly string[];
  readonly owned: ReadonlyMap<string, readonly number[]>;
  /** The generation in which `owned` was given; the younger of two claims to one partition wins. */
  readonly generation: number;
};

export type MemberPartitions = ReadonlyMap<string, readonly number[]>;

export function assignPartitions(
  subscribers: readonly Subscriber[],
  partitionCounts: ReadonlyMap<string, number>,
): ReadonlyMap<string, MemberPartitions> {
  const members = [...subscribers].sort((a, b) => compareText(a.memberId, b.memberId));
  const plan = new Plan(members.map((member) => member.memberId));
  const topics = [...partitionCounts.keys()].sort(compareText);
  for (const topic of topics) {
    const candidates = members.filter((member) => member.topics.includes(topic));
    if (candidates.length > 0) placeTopic(plan, topic, partitionCounts.get(topic) ?? 0, candidates);
  }
  evenOut(plan, topics, members);
  return plan.result();
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

class Plan {
  readonly #byMember = new Map<string, Map<string, number[]>>();
  readonly #totals = new Map<string, number>();

  constructor(memberIds: readonly string[]) {
    for (const memberId of memberIds) {
      this.#byMember.set(memberId, new Map());
      this.#totals.set(memberId, 0);
    }
  }

  total(memberId: string): number {
    return this.#totals.get(memberId) ?? 0;
  }

  of(memberId: string, topic: string): readonly number[] {
    return this.#byMember.get(memberId)?.get(topic) ?? [];
  }

  give(memberId: string, topic: string, partition: number): void {
    const topics = this.#byMember.get(memberId);
    const partitions = topics?.get(topic) ?? [];
    partitions.push(partition);
    topics?.set(topic, partitions);
    this.#totals.set(memberId, this.total(memberId) + 1);
  }

  move(from: string, to: string, topic: string): void {
    const partition = this.#byMember.get(from)?.get(topic)?.pop();
    if (partition === undefined) return;
    this.#totals.set(from, this.total(from) - 1);
    this.give(to, topic, partition);
  }

  result(): ReadonlyMap<string, MemberPartitions> {
    for (const topics of this.#byMember.values()) {
      for (const [topic, partitions] of topics) {
        if (partitions.length === 0) topics.delete(topic);
        partitions.sort((a, b) => a - b);
      }
    }
    return this.#byMember;
  }
}

/** Each member keeps what it owned up to its share; the rest fills the shares up. */
function placeTopic(
  plan: Plan,
  topic: string,
  partitionCount: number,
  candidates: readonly Subscriber[],
): void {
  const owner = ownersOf(topic, partitionCount, candidates);
  const ownedCount = (member: Subscriber): number =>
    owner.filter((memberId) => memberId === member.memberId).length;
  const share = Math.floor(partitionCount / candidates.length);
  const larger = partitionCount % candidates.length;
  // One more goes to those who would have to give one up otherwise, then to those who have least.
  const order = [...candidates].sort(
    (a, b) =>
      Math.min(ownedCount(b), share + 1) - Math.min(ownedCount(a), share + 1) ||
      plan.total(a.memberId) - plan.total(b.memberId) ||
      compareText(a.memberId, b.memberId),
  );
  const room = new Map(order.map((member, i) => [member.memberId, share + (i < larger ? 1 : 0)]));
  const homeless: number[] = [];
  for (let partition = 0; partition < partitionCount; partition++) {
    const memberId = owner[partition];
    const left = memberId === undefined ? 0 : (room.get(memberId) ?? 0);
    if (memberId === undefined || left === 0) {
      homeless.push(partition);
    } else {
      room.set(memberId, left - 1);
      plan.give(memberId, topic, partition);
    }
  }
  for (const member of order) {
    for (let left = room.get(member.memberId) ?? 0; left > 0; left--) {
      const partition = homeless.shift();
      if (partition !== undefined) plan.give(member.memberId, topic, partition);
    }
  }
}

function ownersOf(
  topic: string,
  partitionCount: number,
  candidates: readonly Subscriber[],
): readonly (string | undefined)[] {
  const owner: (string | undefined)[] = Array.from({ length: partitionCount });
  const byGeneration = [...candidates].sort((a, b) => a.generation - b.generation);
  for (const member of byGeneration) {
    for (const partition of member.owned.get(topic) ?? []) {
      if (partition < partitionCount) owner[partition] = member.memberId;
    }
  }
  return owner;
}

/**
 * The leftovers of many topics may have met at one member: a member that has two more than another hands over a
 * partition of a topic of which it has one more. Each move narrows the spread, so the loop ends.
 */
function evenOut(plan: Plan, topics: readonly string[], members: readonly Subscriber[]): void {
  for (let moved = true; moved; ) {
    moved = false;
    for (const from of members) {
      for (const to of members) {
        if (plan.total(from.memberId) - plan.total(to.memberId) < 2) continue;
        const topic = topics.find(
          (name) =>
            to.topics.includes(name) &&
            plan.of(from.memberId, name).length > plan.of(to.memberId, name).length,
        );
        if (topic === undefined) continue;
        plan.move(from.memberId, to.memberId, topic);
        moved = true;
      }
    }
  }
}

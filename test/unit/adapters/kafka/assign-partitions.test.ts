import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  assignPartitions,
  type MemberPartitions,
  type Subscriber,
} from '../../../../src/adapters/kafka/assign-partitions.ts';

type Plan = ReadonlyMap<string, MemberPartitions>;

function subscriber(
  memberId: string,
  topics: readonly string[],
  owned: MemberPartitions = new Map(),
  generation = 1,
): Subscriber {
  return { memberId, topics, owned, generation };
}

function again(plan: Plan, members: readonly Subscriber[]): readonly Subscriber[] {
  return members.map((member) => ({
    ...member,
    owned: plan.get(member.memberId) ?? new Map(),
    generation: 2,
  }));
}

function sizeOf(partitions: MemberPartitions | undefined): number {
  return [...(partitions ?? new Map()).values()].reduce((sum, list) => sum + list.length, 0);
}

function kept(before: Plan, after: Plan): number {
  let count = 0;
  for (const [memberId, topics] of before) {
    for (const [topic, partitions] of topics) {
      const now = after.get(memberId)?.get(topic) ?? [];
      count += partitions.filter((partition) => now.includes(partition)).length;
    }
  }
  return count;
}

describe('the assignment of partitions', () => {
  test('one member has all, in order', () => {
    const plan = assignPartitions([subscriber('a', ['t'])], new Map([['t', 3]]));
    expect(plan).toEqual(new Map([['a', new Map([['t', [0, 1, 2]]])]]));
  });

  test('a member that joins takes no more than its share', () => {
    const members = [subscriber('a', ['t']), subscriber('b', ['t'])];
    const before = assignPartitions(members.slice(0, 1), new Map([['t', 6]]));
    const after = assignPartitions(again(before, members), new Map([['t', 6]]));
    expect(sizeOf(after.get('a'))).toBe(3);
    expect(sizeOf(after.get('b'))).toBe(3);
    expect(kept(before, after)).toBe(3);
  });

  test('a member that leaves moves its own partitions only', () => {
    const members = ['a', 'b', 'c'].map((memberId) => subscriber(memberId, ['t', 'u']));
    const counts = new Map([
      ['t', 9],
      ['u', 4],
    ]);
    const before = assignPartitions(members, counts);
    const after = assignPartitions(again(before, members.slice(1)), counts);
    expect(kept(before, after)).toBe(sizeOf(before.get('b')) + sizeOf(before.get('c')));
  });

  test('topics of one partition each are spread, too', () => {
    const topics = ['t1', 't2', 't3', 't4', 't5'];
    const counts = new Map(topics.map((topic) => [topic, 1]));
    const members = [subscriber('a', topics), subscriber('b', topics)];
    const before = assignPartitions(members.slice(0, 1), counts);
    const after = assignPartitions(again(before, members), counts);
    expect([sizeOf(after.get('a')), sizeOf(after.get('b'))].sort()).toEqual([2, 3]);
  });

  test('of two claims to one partition the younger one counts', () => {
    const owned = new Map([['t', [0]]]);
    const plan = assignPartitions(
      [subscriber('a', ['t'], owned, 3), subscriber('b', ['t'], owned, 4)],
      new Map([['t', 2]]),
    );
    expect(plan.get('b')?.get('t')).toEqual([0]);
    expect(plan.get('a')?.get('t')).toEqual([1]);
  });

  test('partitions go to subscribers only, and claims to others are void', () => {
    const plan = assignPartitions(
      [
        subscriber('a', ['t'], new Map([['u', [0, 1]]])),
        subscriber('b', ['u'], new Map([['u', [7]]])),
      ],
      new Map([
        ['t', 1],
        ['u', 2],
        ['unread', 5],
      ]),
    );
    expect(plan.get('a')).toEqual(new Map([['t', [0]]]));
    expect(plan.get('b')).toEqual(new Map([['u', [0, 1]]]));
  });

  const world = fc.record({
    counts: fc.dictionary(fc.constantFrom('t', 'u', 'v', 'w'), fc.nat(9)),
    members: fc.integer({ min: 1, max: 6 }),
    leaving: fc.nat(5),
    joining: fc.nat(3),
  });

  test('whatever comes and goes: each partition once, even, and stable when nothing changes', () => {
    fc.assert(
      fc.property(world, ({ counts, members, leaving, joining }) => {
        const partitionCounts = new Map(Object.entries(counts));
        const topics = [...partitionCounts.keys()];
        const all = Array.from({ length: members }, (_, i) => subscriber(`m${i}`, topics));
        const first = assignPartitions(all, partitionCounts);
        const rest = [
          ...all.slice(Math.min(leaving, members - 1)),
          ...Array.from({ length: joining }, (_, i) => subscriber(`n${i}`, topics)),
        ];
        const second = assignPartitions(again(first, rest), partitionCounts);
        for (const [topic, count] of partitionCounts) {
          const lists = [...second.values()].map((partitions) => partitions.get(topic) ?? []);
          expect(lists.flat().sort((a, b) => a - b)).toEqual(
            Array.from({ length: count }, (_, partition) => partition),
          );
          const sizes = rest.map(({ memberId }) => second.get(memberId)?.get(topic)?.length ?? 0);
          expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
        }
        const totals = rest.map(({ memberId }) => sizeOf(second.get(memberId)));
        expect(Math.max(...totals) - Math.min(...totals)).toBeLessThanOrEqual(1);
        const third = assignPartitions(again(second, [...rest].reverse()), partitionCounts);
        expect(third).toEqual(second);
      }),
    );
  });

  test('with different subscriptions each partition goes to one of its subscribers', () => {
    const topics = ['t', 'u', 'v'];
    fc.assert(
      fc.property(
        fc.array(fc.subarray(topics), { minLength: 1, maxLength: 5 }),
        fc.nat(7),
        (subscriptions, count) => {
          const members = subscriptions.map((list, i) => subscriber(`m${i}`, list));
          const plan = assignPartitions(members, new Map(topics.map((topic) => [topic, count])));
          for (const topic of topics) {
            const owners = members.filter((member) => member.topics.includes(topic));
            const given = members.flatMap((member) => plan.get(member.memberId)?.get(topic) ?? []);
            expect(given.length).toBe(owners.length === 0 ? 0 : count);
            for (const member of members) {
              if (!owners.includes(member)) {
                expect(plan.get(member.memberId)?.has(topic) ?? false).toBe(false);
              }
            }
          }
        },
      ),
    );
  });
});

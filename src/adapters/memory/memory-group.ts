import { FlowError } from '../../base/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  Assignment,
  CommittedOffset,
  GroupOptions,
  MemberIdentity,
  OffsetCommit,
  SeatedMember,
} from '../../ports/log.ts';
import { partitionOf, stickyAssignment, topicOf } from './sticky-assignment.ts';

/** What the coordinator knows of one member. */
export type GroupSeat = {
  readonly memberId: string;
  readonly options: GroupOptions;
  status: 'joining' | 'stable' | 'rebalancing' | 'lost' | 'left';
  /** "topic/partition". */
  held: readonly string[];
  /** Set while the member waits for the others to rejoin. */
  waiting:
    | { readonly resolve: (value: Assignment) => void; readonly reject: (error: unknown) => void }
    | undefined;
  /** Since when nothing was heard of it; undefined: it is alive. */
  silentSinceMs: number | undefined;
  /** Called whenever the status changes. */
  readonly onStatus: () => void;
};

/**
 * The coordinator of one group: members, generations, committed offsets.
 *
 *     empty ──► rebalancing ──► stable          every join, leave, loss or change of topics: ► rebalancing
 *
 * Invariant: a new generation begins only when each member of the old one rejoined, left or was thrown
 * out, so no partition ever has two owners whose commits would be accepted.
 */
export class MemoryGroup {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #partitionCount: (topic: string) => number;
  readonly #seats = new Map<string, GroupSeat>();
  readonly #offsets = new Map<string, CommittedOffset>();
  /** "topic/partition" → how many open transactions are about to change its offset. */
  readonly #pending = new Map<string, number>();
  #generation = 0;
  #memberNumber = 0;
  #state: 'stable' | 'rebalancing' = 'stable';
  #rebalanceDeadlineMs = 0;

  constructor(name: string, clock: Clock, partitionCount: (topic: string) => number) {
    this.#name = name;
    this.#clock = clock;
    this.#partitionCount = partitionCount;
  }

  get generation(): number {
    return this.#generation;
  }

  get memberCount(): number {
    this.expire();
    return this.#seats.size;
  }

  /** Takes a seat, or rejoins with the one that is there; resolves when the generation stands. */
  join(options: GroupOptions, onStatus: () => void, seat: GroupSeat | undefined): JoinAnswer {
    this.expire();
    const known = seat !== undefined && this.#seats.get(seat.memberId) === seat ? seat : undefined;
    if (known?.status === 'stable') {
      return { seat: known, assignment: Promise.resolve(this.#assignmentOf(known)) };
    }
    const mine = known ?? this.#takeSeat(options, onStatus);
    if (mine.status === 'stable') {
      return { seat: mine, assignment: Promise.resolve(this.#assignmentOf(mine)) };
    }
    const assignment = new Promise<Assignment>((resolve, reject) => {
      mine.waiting = { resolve, reject };
    });
    this.#startRebalance();
    this.#completeIfAllJoined();
    return { seat: mine, assignment };
  }

  leave(seat: GroupSeat): void {
    this.#remove(seat, 'left');
  }

  /** The member's process stopped, or went on. A silent member is thrown out after its session timeout. */
  setSilent(seat: GroupSeat, silent: boolean): void {
    if (!silent) {
      // What came too late stays too late.
      this.expire();
      seat.silentSinceMs = undefined;
      return;
    }
    seat.silentSinceMs ??= this.#clock.monotonic();
    void this.#expireAfter(seat.options.sessionTimeoutMs);
  }

  /** A topic was created, deleted or got more partitions. */
  topicChanged(topic: string): void {
    if ([...this.#seats.values()].some(({ options }) => options.topics.includes(topic))) {
      this.#startRebalance();
    }
  }

  /** Refuses whoever is not a member of this very generation. */
  check(identity: MemberIdentity): void {
    this.expire();
    const { memberId, instanceId, generation } = identity;
    const outside = memberId === '' && generation === -1;
    // Offsets are set from outside only while nobody reads.
    if (outside && this.#seats.size === 0) return;
    const seat = this.#seats.get(memberId);
    if (seat === undefined || seat.options.instanceId !== instanceId) {
      throw new FlowError('TASK_MIGRATED', `group "${this.#name}" has no member "${memberId}"`);
    }
    if (generation !== this.#generation) {
      throw new FlowError(
        'TASK_MIGRATED',
        `group "${this.#name}" is past generation ${generation}`,
        {
          detail: `The generation is now ${this.#generation}.`,
        },
      );
    }
  }

  addPending({ offsets }: OffsetCommit): void {
    for (const { topic, partition } of offsets) {
      const name = `${topic}/${partition}`;
      this.#pending.set(name, (this.#pending.get(name) ?? 0) + 1);
    }
  }

  settlePending({ offsets }: OffsetCommit): void {
    for (const { topic, partition } of offsets) {
      const name = `${topic}/${partition}`;
      const count = (this.#pending.get(name) ?? 0) - 1;
      if (count > 0) this.#pending.set(name, count);
      else this.#pending.delete(name);
    }
  }

  isPending(topic: string, partitions: readonly number[]): boolean {
    return partitions.some((partition) => this.#pending.has(`${topic}/${partition}`));
  }

  members(): readonly SeatedMember[] {
    this.expire();
    return [...this.#seats.values()].map(({ memberId, options: { instanceId } }) => ({
      memberId,
      instanceId,
      host: 'memory',
    }));
  }

  removeAll(): void {
    for (const seat of [...this.#seats.values()]) this.#remove(seat, 'lost');
  }

  /** Whoever is no member changes checkpoints only while nobody is. */
  checkEmpty(): void {
    if (this.memberCount === 0) return;
    throw new FlowError('GROUP_BUSY', `group "${this.#name}" has members`, {
      detail: 'Its checkpoints are set from outside only while nobody reads.',
    });
  }

  /** Forgets all checkpoints, as a broker does with a group that is deleted. */
  clear(): void {
    this.#offsets.clear();
  }

  store({ offsets }: Pick<OffsetCommit, 'offsets'>): void {
    for (const { topic, partition, offset, metadata } of offsets) {
      this.#offsets.set(`${topic}/${partition}`, { offset, metadata });
    }
  }

  committed(topic: string, partition: number): CommittedOffset | undefined {
    return this.#offsets.get(`${topic}/${partition}`);
  }

  /** Forgets the offsets of a topic, as a broker does with those of a deleted one. */
  forget(topic: string): void {
    for (const name of this.#offsets.keys()) {
      if (topicOf(name) === topic) this.#offsets.delete(name);
    }
  }

  /** Throws out who was silent or did not rejoin for too long. */
  expire(): void {
    const nowMs = this.#clock.monotonic();
    for (const seat of [...this.#seats.values()]) {
      const { silentSinceMs, options } = seat;
      if (silentSinceMs !== undefined && nowMs - silentSinceMs >= options.sessionTimeoutMs) {
        this.#remove(seat, 'lost');
      }
    }
    if (this.#state === 'rebalancing' && nowMs >= this.#rebalanceDeadlineMs) {
      for (const seat of [...this.#seats.values()]) {
        if (seat.waiting === undefined) this.#remove(seat, 'lost');
      }
    }
  }

  #takeSeat(options: GroupOptions, onStatus: () => void): GroupSeat {
    this.#memberNumber += 1;
    const seat: GroupSeat = {
      memberId: `${options.instanceId ?? 'member'}-${this.#memberNumber}`,
      options,
      status: 'joining',
      held: [],
      waiting: undefined,
      silentSinceMs: undefined,
      onStatus,
    };
    const { instanceId } = options;
    const former =
      instanceId === undefined
        ? undefined
        : [...this.#seats.values()].find((other) => other.options.instanceId === instanceId);
    if (former !== undefined) {
      // The same instance is back: it takes its partitions over, without a rebalance if none is on.
      this.#seats.delete(former.memberId);
      seat.held = former.held;
      if (this.#state === 'stable' && sameTopics(former.options, options)) seat.status = 'stable';
      this.#dismiss(former, 'lost');
    }
    this.#seats.set(seat.memberId, seat);
    return seat;
  }

  #startRebalance(): void {
    if (this.#state === 'rebalancing') return;
    this.#state = 'rebalancing';
    const seats = [...this.#seats.values()];
    const timeoutMs = Math.max(0, ...seats.map(({ options }) => options.rebalanceTimeoutMs));
    this.#rebalanceDeadlineMs = this.#clock.monotonic() + timeoutMs;
    for (const seat of seats) {
      if (seat.waiting === undefined) this.#setStatus(seat, 'rebalancing');
    }
    if (seats.some(({ waiting }) => waiting === undefined)) void this.#expireAfter(timeoutMs);
  }

  #completeIfAllJoined(): void {
    const seats = [...this.#seats.values()];
    if (this.#state !== 'rebalancing' || seats.some(({ waiting }) => waiting === undefined)) return;
    this.#state = 'stable';
    if (seats.length === 0) return;
    this.#generation += 1;
    const topics = [...new Set(seats.flatMap(({ options }) => options.topics))].sort();
    const assignment = stickyAssignment(
      seats.map(({ memberId, options, held }) => ({ memberId, topics: options.topics, held })),
      new Map(topics.map((topic) => [topic, this.#partitionCount(topic)])),
    );
    for (const seat of seats) {
      const { waiting } = seat;
      seat.held = assignment.get(seat.memberId) ?? [];
      seat.waiting = undefined;
      this.#setStatus(seat, 'stable');
      waiting?.resolve(this.#assignmentOf(seat));
    }
  }

  #assignmentOf(seat: GroupSeat): Assignment {
    const partitions = new Map<string, number[]>();
    for (const name of seat.held) {
      const list = partitions.get(topicOf(name)) ?? [];
      list.push(partitionOf(name));
      partitions.set(topicOf(name), list);
    }
    for (const list of partitions.values()) list.sort((a, b) => a - b);
    const identity = {
      group: this.#name,
      memberId: seat.memberId,
      instanceId: seat.options.instanceId,
      generation: this.#generation,
    };
    return { identity, partitions };
  }

  #remove(seat: GroupSeat, status: 'lost' | 'left'): void {
    if (this.#seats.get(seat.memberId) !== seat) return;
    this.#seats.delete(seat.memberId);
    this.#dismiss(seat, status);
    this.#startRebalance();
    this.#completeIfAllJoined();
  }

  #dismiss(seat: GroupSeat, status: 'lost' | 'left'): void {
    const { waiting } = seat;
    seat.waiting = undefined;
    this.#setStatus(seat, status);
    waiting?.reject(
      new FlowError('TASK_MIGRATED', `the member was thrown out of group "${this.#name}"`),
    );
  }

  #setStatus(seat: GroupSeat, status: GroupSeat['status']): void {
    if (seat.status === status) return;
    seat.status = status;
    seat.onStatus();
  }

  async #expireAfter(ms: number): Promise<void> {
    const untilMs = this.#clock.monotonic() + ms;
    // A sleep may end a little early: one check that comes too soon would be the last one.
    for (let restMs = ms; restMs > 0; restMs = untilMs - this.#clock.monotonic()) {
      await this.#clock.sleep(Math.ceil(restMs));
    }
    this.expire();
  }
}

export type JoinAnswer = { readonly seat: GroupSeat; readonly assignment: Promise<Assignment> };

function sameTopics(a: GroupOptions, b: GroupOptions): boolean {
  return [...a.topics].sort().join() === [...b.topics].sort().join();
}

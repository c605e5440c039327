import type { Clock } from '../../ports/clock.ts';
import type { Assignment, GroupMember, MemberIdentity } from '../../ports/log.ts';
import { PendingAnswer } from './pending-answer.ts';

export type FlowMembershipOptions = {
  readonly member: GroupMember;
  readonly clock: Clock;
  /** Forgets all tasks and what they collected. */
  readonly drop: () => Promise<void>;
  /** Takes over what is new, and lets go of what is not assigned any more. */
  readonly take: (assignment: Assignment) => Promise<void>;
};

/**
 * A flow's place in its group: what it was assigned, and when it has to ask anew. Invariant: tasks outlive a new
 * assignment only where nobody else can have had their partitions in between.
 */
export class FlowMembership {
  readonly #options: FlowMembershipOptions;
  #assignment: Assignment | undefined;
  /** Of the group, with the identity that asked. */
  readonly #joined = new PendingAnswer<{
    readonly assignment: Assignment;
    readonly before: MemberIdentity | undefined;
  }>();
  /** Since when it has had no assignment to work on. */
  #unassignedMs: number | undefined;

  constructor(options: FlowMembershipOptions) {
    this.#options = options;
  }

  /** As which commits are made; undefined: it was never assigned anything. */
  get identity(): MemberIdentity | undefined {
    return this.#assignment?.identity;
  }

  /** Whether it waits for its group, or has heard of it and not taken over yet. */
  get isJoining(): boolean {
    return this.#joined.isPending;
  }

  /** Whether there is something for `takeJoined`. */
  get hasJoined(): boolean {
    return this.#joined.hasAnswer;
  }

  /**
   * (Re)joins the group; resolves once the group has answered, whatever it has. Every other member may be waited for
   * meanwhile, so whoever has several groups waits for them at once: two that wait for each other in two groups would be
   * thrown out of both, again and again.
   */
  join(): Promise<void> {
    return this.#joined.ask(async () => {
      const { member, clock } = this.#options;
      this.#unassignedMs ??= clock.monotonic();
      const before = this.#assignment?.identity;
      if (member.status !== 'rebalancing') await this.#options.drop();
      return { assignment: await member.rejoin(), before };
    });
  }

  /**
   * Takes over what is new. A partition that was there before keeps its task only where it was nobody else's in
   * between. Throws what the group answered instead.
   */
  async takeJoined(): Promise<void> {
    const joined = this.#joined.take();
    if (joined === undefined) return;
    const { assignment, before } = joined;
    if (!isNextGeneration(before, assignment.identity)) await this.#options.drop();
    await this.#take(assignment);
  }

  /** Takes every assigned partition over once more, from its checkpoint: after any doubt. */
  async retake(isOusted: boolean): Promise<void> {
    this.#unassignedMs ??= this.#options.clock.monotonic();
    const assignment = this.#assignment;
    await this.#options.drop();
    if (this.isJoining) return;
    if (assignment !== undefined && this.#options.member.status === 'stable' && !isOusted) {
      await this.#take(assignment);
    } else {
      // Its answer is waited for with those of the other groups.
      void this.join();
    }
  }

  async #take(assignment: Assignment): Promise<void> {
    this.#assignment = assignment;
    await this.#options.take(assignment);
  }

  /** For how long there was no assignment to work on; asked for once there is. */
  takeUnassignedMs(): number {
    const nowMs = this.#options.clock.monotonic();
    const sinceMs = this.#unassignedMs ?? nowMs;
    this.#unassignedMs = undefined;
    return nowMs - sinceMs;
  }
}

/**
 * Whether a member went from one generation right to the next. One that stalled may have been thrown out, or have
 * missed a generation in which its partitions were another's (simulation seed 4771).
 */
function isNextGeneration(before: MemberIdentity | undefined, after: MemberIdentity): boolean {
  return before?.memberId === after.memberId && after.generation <= before.generation + 1;
}

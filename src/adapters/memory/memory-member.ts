import type { Assignment, GroupMember, GroupOptions } from '../../ports/log.ts';
import type { ClientLife } from './client-life.ts';
import type { GroupSeat, MemoryGroup } from './memory-group.ts';

/**
 * One member as its worker sees it. Invariant: what the coordinator decided is seen at once while the
 * process runs, and with the first heartbeat after it stalled: until then it is a zombie that believes
 * in its old generation.
 */
export class MemoryMember implements GroupMember {
  readonly #group: MemoryGroup;
  readonly #life: ClientLife;
  readonly #options: GroupOptions;
  readonly #listeners: (() => void)[] = [];
  #seat: GroupSeat | undefined;
  #status: GroupMember['status'] = 'joining';
  #blind = false;
  #joining: Promise<Assignment> | undefined;

  constructor(group: MemoryGroup, life: ClientLife, options: GroupOptions) {
    this.#group = group;
    this.#life = life;
    this.#options = options;
  }

  get heartbeatMs(): number {
    return this.#options.sessionTimeoutMs / 10;
  }

  get status(): GroupMember['status'] {
    this.#group.expire();
    return this.#status;
  }

  /** A zombie asks the coordinator outright: no clock of its own could tell it later than that. */
  get isInTouch(): boolean {
    this.#group.expire();
    const status = this.#blind ? this.#seat?.status : this.#status;
    return status === 'stable' || status === 'rebalancing';
  }

  onStatus(listener: () => void): void {
    this.#listeners.push(listener);
  }

  rejoin(): Promise<Assignment> {
    this.#joining ??= this.#life
      .through(() => this.#rejoin())
      .finally(() => {
        this.#joining = undefined;
      });
    return this.#joining;
  }

  leave(): Promise<void> {
    return this.#life.through(() => this.leaveNow());
  }

  leaveNow(): void {
    if (this.#seat !== undefined) this.#group.leave(this.#seat);
    this.#show('left');
  }

  /** The process stopped: no heartbeats. */
  stall(): void {
    this.#blind = true;
    if (this.#seat !== undefined) this.#group.setSilent(this.#seat, true);
  }

  /** The process goes on and beats, but has not heard back yet. */
  resume(): void {
    if (this.#seat !== undefined) this.#group.setSilent(this.#seat, false);
  }

  /** The answer to a heartbeat. */
  see(): void {
    this.#blind = false;
    if (this.#seat !== undefined) this.#show(this.#seat.status);
  }

  async #rejoin(): Promise<Assignment> {
    const onStatus = () => this.#coordinatorDecided();
    const answer = this.#group.join(this.#options, onStatus, this.#seat);
    this.#seat = answer.seat;
    this.#blind = false;
    const assignment = await answer.assignment;
    this.#show(answer.seat.status);
    return assignment;
  }

  #coordinatorDecided(): void {
    const status = this.#seat?.status;
    if (status !== undefined && !this.#blind && !this.#life.killed) this.#show(status);
  }

  #show(status: GroupMember['status']): void {
    if (this.#status === status) return;
    this.#status = status;
    for (const listener of this.#listeners) listener();
  }
}

import { FlowError } from '../../base/errors.ts';
import type { Assignment, GroupMember, GroupOptions } from '../../ports/log.ts';
import { assignPartitions } from './assign-partitions.ts';
import type { Channel, KafkaCluster } from './cluster.ts';
import { actionOf, brokerError, connectionError, isTransient } from './kafka-errors.ts';
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from './wire/consumer-protocol.ts';
import { heartbeat } from './wire/heartbeat.ts';
import { type JoinGroupResponse, joinGroup } from './wire/join-group.ts';
import { leaveGroup } from './wire/leave-group.ts';
import { syncGroup } from './wire/sync-group.ts';
import type { TopicPartition } from './wire/topic-partitions.ts';

export type MemberSettings = {
  readonly heartbeatIntervalMs: number;
  /** How often the leader looks for partitions that were added. */
  readonly topicCheckMs: number;
  readonly onTrouble: (text: string) => void;
  readonly onClose: () => void;
};

const protocolType = 'consumer';
/** All members of a group have to speak it; another assignor in the group is refused by the broker. */
const protocolName = 'tidemark-sticky';

const ILLEGAL_GENERATION = 22;
const UNKNOWN_MEMBER_ID = 25;
const INVALID_SESSION_TIMEOUT = 26;
const REBALANCE_IN_PROGRESS = 27;
const MEMBER_ID_REQUIRED = 79;
const FENCED_INSTANCE_ID = 82;

const leaveMsMax = 5_000;

/**
 * Membership in the classic group protocol. Between two calls of `rejoin` only heartbeats are sent:
 *
 *     joining ─▶ stable ─▶ rebalancing ─▶ stable …      any ─▶ left
 *                   └────────▶ lost ◀──────┘ (rejoin leads back to stable)
 *
 * Invariant: no partition is given up before the worker calls `rejoin` or `leave`: the broker holds the
 * others back in their joins until then, or until the timeout that it was told.
 */
export class KafkaGroupMember implements GroupMember {
  readonly #cluster: KafkaCluster;
  readonly #options: GroupOptions;
  readonly #settings: MemberSettings;
  /** A join waits at the broker, and what comes after it on the same connection with it. */
  readonly #channel: Channel;
  readonly #listeners: (() => void)[] = [];
  #status: GroupMember['status'] = 'joining';
  #memberId = '';
  #generation = -1;
  #owned: readonly TopicPartition[] = [];
  #isLeader = false;
  /** Topic → partitions when they were assigned last. */
  #partitionCounts: ReadonlyMap<string, number> = new Map();
  #nextTopicCheckAt = 0;
  /** When the last request was sent that the coordinator has answered well, by both clocks: a machine that slept stops one. */
  #heardAt = { wallMs: 0, processMs: Number.NEGATIVE_INFINITY };
  #rejoining: Promise<Assignment> | undefined;
  #heartbeatTimer: NodeJS.Timeout | undefined;

  constructor(cluster: KafkaCluster, options: GroupOptions, settings: MemberSettings) {
    this.#cluster = cluster;
    this.#options = options;
    this.#settings = settings;
    this.#channel = cluster.openChannel();
  }

  get status(): GroupMember['status'] {
    return this.#status;
  }

  get isInTouch(): boolean {
    const { wallMs, processMs } = this.#heardAt;
    const silentMs = Math.max(Date.now() - wallMs, performance.now() - processMs);
    return silentMs < this.#options.sessionTimeoutMs && this.#status !== 'lost';
  }

  onStatus(listener: () => void): void {
    this.#listeners.push(listener);
  }

  rejoin(): Promise<Assignment> {
    this.#rejoining ??= this.#rejoin().finally(() => {
      this.#rejoining = undefined;
    });
    return this.#rejoining;
  }

  async #rejoin(): Promise<Assignment> {
    clearTimeout(this.#heartbeatTimer);
    if (this.#status === 'lost') this.#memberId = '';
    const { rebalanceTimeoutMs } = this.#options;
    const deadline = performance.now() + rebalanceTimeoutMs + this.#cluster.settings.retryMs;
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
      this.#assertMayJoin();
      try {
        const assignment = await this.#joinOnce();
        if (assignment !== undefined) return assignment;
      } catch (error) {
        const failure = connectionError(error, this.#where);
        if (!isTransient(failure) || performance.now() > deadline) throw failure;
        this.#settings.onTrouble(failure.message);
        await this.#cluster.pause(pauseMs);
      }
    }
  }

  #assertMayJoin(): void {
    this.#cluster.assertOpen();
    if (this.#status === 'left') {
      throw new FlowError('TASK_MIGRATED', `${this.#where}: the member has left`);
    }
  }

  /** undefined: the group asks for another try. */
  async #joinOnce(): Promise<Assignment | undefined> {
    const joined = await this.#cluster.requestCoordinator(
      { channel: this.#channel, kind: 'group', key: this.#options.group },
      joinGroup,
      {
        group: this.#options.group,
        sessionTimeoutMs: this.#options.sessionTimeoutMs,
        rebalanceTimeoutMs: this.#options.rebalanceTimeoutMs,
        memberId: this.#memberId,
        instanceId: this.#options.instanceId ?? null,
        protocolType,
        protocols: [{ name: protocolName, metadata: this.#subscription() }],
        reason: null,
      },
      { errorOf: ({ errorCode }) => errorCode, timeoutMs: this.#waitMs },
    );
    if (joined.errorCode === MEMBER_ID_REQUIRED) {
      this.#memberId = joined.memberId;
      return undefined;
    }
    if (!this.#accepts(joined.errorCode)) return undefined;
    this.#memberId = joined.memberId;
    this.#isLeader = joined.leaderId === joined.memberId;
    const assignments = await this.#assignmentsOf(joined);
    const sentAt = now();
    const synced = await this.#cluster.requestCoordinator(
      { channel: this.#channel, kind: 'group', key: this.#options.group },
      syncGroup,
      {
        group: this.#options.group,
        generation: joined.generation,
        memberId: this.#memberId,
        instanceId: this.#options.instanceId ?? null,
        protocolType,
        protocolName: joined.protocolName ?? protocolName,
        assignments,
      },
      { errorOf: ({ errorCode }) => errorCode, timeoutMs: this.#waitMs },
    );
    if (!this.#accepts(synced.errorCode)) return undefined;
    this.#heardAt = sentAt;
    return this.#begin(joined.generation, decodeAssignment(synced.assignment).partitions);
  }

  /** How long a join or a sync may wait for the other members. */
  get #waitMs(): number {
    return this.#options.rebalanceTimeoutMs + this.#cluster.settings.requestTimeoutMs;
  }

  /** False: try again. */
  #accepts(errorCode: number): boolean {
    switch (errorCode) {
      case 0:
        return true;
      case UNKNOWN_MEMBER_ID:
        this.#memberId = '';
        return false;
      case ILLEGAL_GENERATION:
      case REBALANCE_IN_PROGRESS:
        return false;
      case FENCED_INSTANCE_ID:
        // Whoever joins under the name throws the other one out: whether that is right, the catalog tells, not the group.
        this.#setStatus('lost');
        throw brokerError(errorCode, this.#where);
      case INVALID_SESSION_TIMEOUT:
        throw new FlowError(
          'CONFIG_INVALID',
          `${this.#where}: the session timeout is out of bounds`,
          {
            detail: `group.sessionTimeoutMs is ${this.#options.sessionTimeoutMs}.`,
            hint: "Set it between the broker's group.min.session.timeout.ms and group.max.session.timeout.ms.",
          },
        );
      default:
        throw brokerError(errorCode, this.#where);
    }
  }

  #subscription(): Buffer {
    return encodeSubscription({
      topics: this.#options.topics,
      userData: null,
      ownedPartitions: this.#owned,
      generation: this.#generation,
    });
  }

  async #assignmentsOf(
    joined: JoinGroupResponse,
  ): Promise<readonly { readonly memberId: string; readonly assignment: Buffer }[]> {
    if (!this.#isLeader) return [];
    const members = joined.members.map(({ memberId, metadata }) => ({
      memberId,
      subscription: decodeSubscription(metadata),
    }));
    const topics = new Set(members.flatMap(({ subscription }) => subscription.topics));
    this.#partitionCounts = await this.#countPartitions([...topics, ...this.#options.topics]);
    this.#nextTopicCheckAt = performance.now() + this.#settings.topicCheckMs;
    // A static leader that is back finds the assignment standing, and must not hand in another.
    if (joined.skipAssignment) return [];
    const plan = assignPartitions(
      members.map(({ memberId, subscription }) => ({
        memberId,
        topics: subscription.topics,
        owned: byTopic(subscription.ownedPartitions),
        generation: subscription.generation,
      })),
      this.#partitionCounts,
    );
    return [...plan].map(([memberId, partitions]) => ({
      memberId,
      assignment: encodeAssignment({ partitions: flatten(partitions), userData: null }),
    }));
  }

  async #countPartitions(topics: readonly string[]): Promise<ReadonlyMap<string, number>> {
    await this.#cluster.refreshTopics(topics);
    return new Map(
      topics.map((topic) => [topic, this.#cluster.knownTopic(topic)?.partitions.length ?? 0]),
    );
  }

  #begin(generation: number, partitions: readonly TopicPartition[]): Assignment {
    // Left while the join was on its way: the broker finds out by the session timeout.
    this.#assertMayJoin();
    this.#generation = generation;
    this.#owned = partitions;
    this.#setStatus('stable');
    this.#scheduleHeartbeat();
    return {
      identity: {
        group: this.#options.group,
        memberId: this.#memberId,
        instanceId: this.#options.instanceId,
        generation,
      },
      partitions: byTopic(partitions),
    };
  }

  #scheduleHeartbeat(): void {
    clearTimeout(this.#heartbeatTimer);
    this.#heartbeatTimer = setTimeout(
      () => {
        this.#heartbeat()
          .catch((error: unknown) => {
            this.#settings.onTrouble(connectionError(error, this.#where).message);
          })
          .finally(() => {
            const isIn = this.#status === 'stable' || this.#status === 'rebalancing';
            if (isIn && this.#rejoining === undefined) this.#scheduleHeartbeat();
          });
      },
      Math.min(this.#settings.heartbeatIntervalMs, this.#options.sessionTimeoutMs / 3),
    );
  }

  async #heartbeat(): Promise<void> {
    const generation = this.#generation;
    const sentAt = now();
    const { errorCode } = await this.#cluster.requestCoordinator(
      { channel: this.#channel, kind: 'group', key: this.#options.group },
      heartbeat,
      {
        group: this.#options.group,
        generation,
        memberId: this.#memberId,
        instanceId: this.#options.instanceId ?? null,
      },
      {
        errorOf: (response) => response.errorCode,
        retryMs: this.#options.sessionTimeoutMs,
        timeoutMs: Math.max(this.#options.sessionTimeoutMs, 5_000),
      },
    );
    // A rejoin began meanwhile: the answer speaks of a generation that is over.
    if (this.#rejoining !== undefined || generation !== this.#generation) return;
    if (errorCode === 0 || errorCode === REBALANCE_IN_PROGRESS) this.#heardAt = sentAt;
    if (errorCode === 0) {
      await this.#checkTopics();
    } else if (errorCode === REBALANCE_IN_PROGRESS) {
      if (this.#status === 'stable') this.#setStatus('rebalancing');
    } else if (actionOf(errorCode) === 'fail') {
      this.#setStatus('lost');
    }
  }

  /** The broker does not tell members of partitions that were added; their leader has to look. */
  async #checkTopics(): Promise<void> {
    if (!this.#isLeader || this.#status !== 'stable' || performance.now() < this.#nextTopicCheckAt)
      return;
    this.#nextTopicCheckAt = performance.now() + this.#settings.topicCheckMs;
    const generation = this.#generation;
    const counts = await this.#countPartitions([...this.#partitionCounts.keys()]);
    if (this.#rejoining !== undefined || generation !== this.#generation) return;
    const hasChanged = [...counts].some(
      ([topic, count]) => count !== this.#partitionCounts.get(topic),
    );
    if (hasChanged && this.#status === 'stable') this.#setStatus('rebalancing');
  }

  async leave(): Promise<void> {
    const isMember = this.#memberId !== '' && this.#status !== 'lost' && this.#status !== 'left';
    this.#stop();
    if (!isMember) return;
    // Over another connection: the own one may be held up by a join. If it fails, the session times out.
    await this.#cluster
      .requestCoordinator(
        { channel: this.#cluster.control, kind: 'group', key: this.#options.group },
        leaveGroup,
        {
          group: this.#options.group,
          members: [
            {
              memberId: this.#memberId,
              instanceId: this.#options.instanceId ?? null,
              reason: null,
            },
          ],
        },
        { errorOf: ({ errorCode }) => errorCode, retryMs: leaveMsMax, timeoutMs: leaveMsMax },
      )
      .catch((error: unknown) => {
        this.#settings.onTrouble(connectionError(error, this.#where).message);
      });
  }

  /** A static member keeps its place: the same instance is expected back. */
  async close(): Promise<void> {
    if (this.#options.instanceId === undefined) await this.leave();
    else this.#stop();
  }

  #stop(): void {
    clearTimeout(this.#heartbeatTimer);
    this.#channel.close();
    if (this.#status !== 'left') this.#setStatus('left');
    this.#settings.onClose();
  }

  #setStatus(status: GroupMember['status']): void {
    this.#status = status;
    for (const listener of this.#listeners) listener();
  }

  get #where(): string {
    return `group "${this.#options.group}"`;
  }
}

function now(): { readonly wallMs: number; readonly processMs: number } {
  return { wallMs: Date.now(), processMs: performance.now() };
}

function byTopic(partitions: readonly TopicPartition[]): ReadonlyMap<string, readonly number[]> {
  const topics = new Map<string, number[]>();
  for (const { topic, partition } of partitions) {
    const list = topics.get(topic) ?? [];
    list.push(partition);
    topics.set(topic, list);
  }
  return topics;
}

function flatten(topics: ReadonlyMap<string, readonly number[]>): readonly TopicPartition[] {
  return [...topics].flatMap(([topic, partitions]) =>
    partitions.map((partition) => ({ topic, partition })),
  );
}

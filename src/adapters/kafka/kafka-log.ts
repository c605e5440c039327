import type {
  CommittedOffset,
  GroupMember,
  GroupOptions,
  Log,
  LogProducer,
  LogReader,
  OffsetCommit,
  OffsetRange,
  SeatedMember,
  TopicDescription,
  TopicSpec,
} from '../../ports/log.ts';
import { KafkaCluster } from './cluster.ts';
import type { ConnectionSettings } from './connection.ts';
import {
  commitFromOutside,
  deleteGroup,
  groupMembers,
  groupsOn,
  removeMembers,
} from './group-admin.ts';
import { KafkaGroupMember } from './group-member.ts';
import { brokerError } from './kafka-errors.ts';
import { openKafkaProducer } from './kafka-producer.ts';
import { KafkaReader } from './kafka-reader.ts';
import { offsetsAt, requestLeaders } from './leader-requests.ts';
import { openProducerId } from './producer-id.ts';
import type { Compression } from './wire/compression.ts';
import { TOPIC_RESOURCE } from './wire/config-resource.ts';
import { createTopics } from './wire/create-topics.ts';
import { deleteRecords } from './wire/delete-records.ts';
import { deleteTopics } from './wire/delete-topics.ts';
import { describeConfigs } from './wire/describe-configs.ts';
import type { Isolation } from './wire/fetch.ts';
import { EARLIEST_OFFSET, LATEST_OFFSET } from './wire/list-offsets.ts';
import { offsetFetch } from './wire/offset-fetch.ts';
import { zeroUuid } from './wire/response-reader.ts';

export type KafkaLogOptions = Pick<
  ConnectionSettings,
  'brokers' | 'clientId' | 'ssl' | 'sasl' | 'onRequest'
> & {
  readonly connectTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  /** How long an operation is tried again through elections and restarts before it fails. */
  readonly retryMs?: number;
  readonly compression?: Compression;
  readonly transactionTimeoutMs?: number;
  /** Transactions V2 are used where the cluster offers them, unless this is false. */
  readonly transactionsV2?: boolean;
  /** Bound of what one reader holds ahead of `poll`. */
  readonly fetchAheadBytesMax?: number;
  readonly fetchPartitionBytesMax?: number;
  /** How long a broker may wait for records before it answers that there are none. */
  readonly fetchWaitMs?: number;
  /** Fetch by topic id where the broker can, unless this is false; ids are then compared every few seconds. */
  readonly fetchByTopicId?: boolean;
  readonly heartbeatIntervalMs?: number;
  /** How often the leader of a group looks for partitions that were added. */
  readonly topicCheckMs?: number;
  /** Told of what goes wrong and is tried again, in words for a person. */
  readonly onTrouble?: (text: string) => void;
};

/** Opens the log of a Kafka cluster (2.8 to 4.x); rejects when no broker answers, or it is too old. */
export async function openKafkaLog(options: KafkaLogOptions): Promise<Log> {
  const cluster = new KafkaCluster({
    brokers: options.brokers,
    clientId: options.clientId,
    ...(options.ssl === undefined ? {} : { ssl: options.ssl }),
    ...(options.sasl === undefined ? {} : { sasl: options.sasl }),
    ...(options.onRequest === undefined ? {} : { onRequest: options.onRequest }),
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
    retryMs: options.retryMs ?? 60_000,
  });
  try {
    await cluster.connect();
  } catch (error) {
    cluster.close();
    throw error;
  }
  return new KafkaLog(cluster, options);
}

/** For transactions to be aborted, and groups to be left, when the log is closed. */
const closeMsMax = 5_000;

type Closable = { close(): Promise<void> };

/**
 * The log on Kafka. Invariant: nothing here remembers an offset, a topic's settings or who is in a group; each call asks
 * the brokers, and tries again through elections and restarts until `retryMs` is over.
 */
class KafkaLog implements Log {
  readonly #cluster: KafkaCluster;
  readonly #options: KafkaLogOptions;
  readonly #opened = new Set<Closable>();
  /** Topic → id as last described: a reader that finds another one has a recreated topic before it. */
  readonly #topicIds = new Map<string, string>();
  /** Topic → largest batch it takes. */
  readonly #batchBytesMax = new Map<string, number>();

  constructor(cluster: KafkaCluster, options: KafkaLogOptions) {
    this.#cluster = cluster;
    this.#options = options;
  }

  async describeTopics(names: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>> {
    if (names.length === 0) return new Map();
    const described = await this.#retry(async () => {
      await this.#cluster.refreshTopics(names);
      const present = names.filter((name) => this.#cluster.knownTopic(name) !== undefined);
      const answer = await this.#cluster.control.requestAny(describeConfigs, {
        resources: present.map((name) => ({
          resourceType: TOPIC_RESOURCE,
          resourceName: name,
          names: null,
        })),
      });
      const topics = new Map<string, TopicDescription>();
      for (const { resourceName: name, errorCode, errorMessage, configs } of answer.resources) {
        const topic = this.#cluster.knownTopic(name);
        if (topic === undefined || errorCode === 3) continue;
        if (errorCode !== 0) throw brokerError(errorCode, `topic "${name}"`, errorMessage);
        topics.set(name, {
          name,
          topicId: topic.topicId,
          clusterId: this.#cluster.clusterId,
          partitions: topic.partitions.length,
          configs: new Map(configs.map((config) => [config.name, config.value ?? ''])),
        });
      }
      return topics;
    });
    for (const name of names) this.#remember(name, described.get(name));
    return described;
  }

  topicNames(): Promise<readonly string[]> {
    return this.#retry(() => this.#cluster.topicNames());
  }

  #remember(name: string, topic: TopicDescription | undefined): void {
    if (topic === undefined) {
      this.#topicIds.delete(name);
      this.#batchBytesMax.delete(name);
      return;
    }
    if (topic.topicId !== zeroUuid) this.#topicIds.set(name, topic.topicId);
    const bytesMax = Number(topic.configs.get('max.message.bytes'));
    if (bytesMax > 0) this.#batchBytesMax.set(name, bytesMax);
  }

  async createTopics(topics: readonly TopicSpec[]): Promise<void> {
    if (topics.length === 0) return;
    const timeoutMs = this.#cluster.settings.requestTimeoutMs;
    await this.#retry(async () => {
      const controller = await this.#cluster.controller();
      const answer = await this.#cluster.control.request(controller, createTopics, {
        topics: topics.map((topic) => ({
          ...topic,
          configs: Object.entries(topic.configs).map(([name, value]) => ({ name, value })),
        })),
        timeoutMs,
        validateOnly: false,
      });
      for (const { name, errorCode, errorMessage } of answer.topics) {
        // What is known of an earlier topic of that name holds no longer.
        if (errorCode === 0) this.#remember(name, undefined);
        if (errorCode !== 0 && errorCode !== 36) {
          throw brokerError(errorCode, `topic "${name}"`, errorMessage);
        }
      }
    });
    // The controller knows a topic before the brokers do.
    await this.#retry(async () => {
      await this.#cluster.refreshTopics(topics.map((topic) => topic.name));
      for (const { name } of topics) {
        const partitions = this.#cluster.knownTopic(name)?.partitions ?? [];
        if (partitions.length === 0 || partitions.some((partition) => partition.leaderId < 0)) {
          throw brokerError(5, `topic "${name}"`);
        }
      }
    });
  }

  async offsetRanges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, OffsetRange>> {
    const ask = (timestamp: number, isolation: Isolation) =>
      offsetsAt(this.#cluster, topic, partitions, { timestamp, isolation });
    const [starts, stables, ends] = await Promise.all([
      ask(EARLIEST_OFFSET, 'read_uncommitted'),
      ask(LATEST_OFFSET, 'read_committed'),
      ask(LATEST_OFFSET, 'read_uncommitted'),
    ]);
    const ranges = new Map<number, OffsetRange>();
    for (const partition of partitions) {
      const start = starts.get(partition) ?? 0;
      // The three were asked for one after another while the log moved on.
      const stable = Math.max(stables.get(partition) ?? 0, start);
      ranges.set(partition, { start, stable, end: Math.max(ends.get(partition) ?? 0, stable) });
    }
    return ranges;
  }

  async committedOffsets(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>> {
    if (partitions.length === 0) return new Map();
    const wanted = partitions.map((partition) => ({ topic, partition }));
    const answer = await this.#cluster.requestCoordinator(
      { channel: this.#cluster.control, kind: 'group', key: group },
      offsetFetch,
      { groups: [{ group, partitions: wanted }], requireStable: true },
      {
        errorOf: ({ groups: [answered] }) =>
          answered?.errorCode ||
          // A partition that is not there has no checkpoint either.
          (answered?.partitions.find((item) => ![0, 3].includes(item.errorCode))?.errorCode ?? 0),
      },
    );
    const [answered] = answer.groups;
    if (answered !== undefined && answered.errorCode !== 0) {
      throw brokerError(answered.errorCode, `group "${group}"`);
    }
    const offsets = new Map<number, CommittedOffset>();
    for (const { partition, offset, metadata, errorCode } of answered?.partitions ?? []) {
      if (errorCode !== 0 && errorCode !== 3) {
        throw brokerError(errorCode, `group "${group}", topic "${topic}" partition ${partition}`);
      }
      if (offset >= 0) offsets.set(partition, { offset, metadata: metadata ?? '' });
    }
    return offsets;
  }

  async deleteRecords(topic: string, before: ReadonlyMap<number, number>): Promise<void> {
    const items = [...before].map(([partition, offset]) => ({ topic, partition, offset }));
    const timeoutMs = this.#cluster.settings.requestTimeoutMs;
    await requestLeaders(this.#cluster, deleteRecords, items, (part) => ({
      partitions: part,
      timeoutMs,
    }));
  }

  async offsetsAt(
    topic: string,
    partitions: readonly number[],
    timestampMs: number,
  ): Promise<ReadonlyMap<number, number>> {
    const found = await offsetsAt(this.#cluster, topic, partitions, {
      timestamp: timestampMs,
      isolation: 'read_uncommitted',
    });
    const ranges = await this.offsetRanges(topic, partitions);
    return new Map(
      partitions.map((partition) => {
        const offset = found.get(partition) ?? -1;
        return [partition, offset < 0 ? (ranges.get(partition)?.end ?? 0) : offset];
      }),
    );
  }

  async deleteTopics(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const timeoutMs = this.#cluster.settings.requestTimeoutMs;
    await this.#retry(async () => {
      const controller = await this.#cluster.controller();
      const answer = await this.#cluster.control.request(controller, deleteTopics, {
        names,
        timeoutMs,
      });
      for (const { name, errorCode, errorMessage } of answer.topics) {
        this.#remember(name, undefined);
        if (errorCode !== 0 && errorCode !== 3) {
          throw brokerError(errorCode, `topic "${name}"`, errorMessage);
        }
      }
    });
    // The brokers forget a topic a little later than the controller does.
    await this.#retry(async () => {
      await this.#cluster.refreshTopics(names);
      const [left] = names.filter((name) => this.#cluster.knownTopic(name) !== undefined);
      if (left !== undefined) throw brokerError(7, `topic "${left}"`);
    });
  }

  groupsOn(topics: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return groupsOn(this.#cluster, topics);
  }

  groupMembers(group: string): Promise<readonly SeatedMember[]> {
    return groupMembers(this.#cluster, group);
  }

  removeMembers(group: string): Promise<void> {
    return removeMembers(this.#cluster, group);
  }

  commitCheckpoint(group: string, offsets: OffsetCommit['offsets']): Promise<void> {
    return commitFromOutside(this.#cluster, group, offsets);
  }

  deleteCheckpoints(group: string): Promise<void> {
    return deleteGroup(this.#cluster, group);
  }

  openReader(): LogReader {
    this.#cluster.assertOpen();
    const reader = new KafkaReader(this.#cluster, {
      aheadBytesMax: this.#options.fetchAheadBytesMax ?? 32 << 20,
      partitionBytesMax: this.#options.fetchPartitionBytesMax ?? 1 << 20,
      waitMs: this.#options.fetchWaitMs ?? 500,
      byTopicId: this.#options.fetchByTopicId ?? true,
      topicIdOf: (topic) => this.#topicIds.get(topic),
      onTrouble: this.#options.onTrouble ?? (() => {}),
      onClose: () => this.#opened.delete(reader),
    });
    this.#opened.add(reader);
    return reader;
  }

  async openProducer(
    transactionalId: string | undefined,
    mayWrite: () => boolean = () => true,
  ): Promise<LogProducer> {
    this.#cluster.assertOpen();
    const producer = await openKafkaProducer(this.#cluster, {
      transactionalId,
      mayWrite,
      transactionTimeoutMs: this.#options.transactionTimeoutMs ?? 60_000,
      transactionsV2: this.#options.transactionsV2 ?? true,
      compression: this.#options.compression ?? 'lz4',
      batchBytesMaxOf: (topic) => this.#batchBytesMax.get(topic),
      refreshBatchBytesMax: async (topic) => {
        await this.describeTopics([topic]);
      },
      onClose: () => this.#opened.delete(producer),
    });
    this.#opened.add(producer);
    return producer;
  }

  joinGroup(options: GroupOptions): GroupMember {
    this.#cluster.assertOpen();
    const member = new KafkaGroupMember(this.#cluster, options, {
      heartbeatIntervalMs: this.#options.heartbeatIntervalMs ?? 1_000,
      topicCheckMs: this.#options.topicCheckMs ?? 30_000,
      onTrouble: this.#options.onTrouble ?? (() => {}),
      onClose: () => this.#opened.delete(member),
    });
    this.#opened.add(member);
    return member;
  }

  async fence(transactionalId: string): Promise<void> {
    await openProducerId(this.#cluster, this.#cluster.control, {
      transactionalId,
      transactionTimeoutMs: this.#options.transactionTimeoutMs ?? 60_000,
      current: undefined,
    });
  }

  async close(): Promise<void> {
    if (this.#cluster.isClosed) return;
    let timer: NodeJS.Timeout | undefined;
    // A broker that does not answer must not hold up the end of the process.
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closeMsMax);
    });
    await Promise.race([
      Promise.allSettled([...this.#opened].map((opened) => opened.close())),
      late,
    ]);
    clearTimeout(timer);
    this.#cluster.close();
  }

  #retry<Result>(attempt: () => Promise<Result>): Promise<Result> {
    return this.#cluster.retry(this.#cluster.settings.retryMs, attempt);
  }
}

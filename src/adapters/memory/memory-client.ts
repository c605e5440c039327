import { FlowError } from '../../base/errors.ts';
import type {
  CommittedOffset,
  GroupOptions,
  Log,
  OffsetCommit,
  OffsetRange,
  SeatedMember,
  TopicDescription,
  TopicSpec,
} from '../../ports/log.ts';
import { ClientLife, type Tolls } from './client-life.ts';
import type { MemoryBroker } from './memory-broker.ts';
import { MemoryMember } from './memory-member.ts';
import type { ReadBounds } from './memory-partition.ts';
import { MemoryProducer } from './memory-producer.ts';
import { MemoryReader } from './memory-reader.ts';

export type MemoryClientOptions = {
  readonly bounds: ReadBounds;
  /** Runs when the offsets of a transaction are pending and its end is not written yet. */
  readonly betweenCommitSteps: () => Promise<void> | undefined;
  /** What befalls its calls; undefined: nothing. */
  readonly tolls: Tolls | undefined;
};

/** As many partitions as a broker makes where it is not told. */
const partitionsDefault = 1;

/**
 * One process's connection to the log in memory. It can be stopped, let go on or killed, as a process
 * can. Invariant: what it shares with other clients is the broker alone.
 */
export class MemoryClient implements Log {
  readonly #broker: MemoryBroker;
  readonly #options: MemoryClientOptions;
  readonly #life = new ClientLife();
  readonly #members = new Set<MemoryMember>();
  readonly #readers = new Set<MemoryReader>();
  readonly #producers = new Set<MemoryProducer>();

  constructor(broker: MemoryBroker, options: MemoryClientOptions) {
    this.#broker = broker;
    this.#options = options;
  }

  describeTopics(names: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>> {
    return this.#ask(() => {
      const found = new Map<string, TopicDescription>();
      for (const name of names) {
        const topic = this.#broker.topic(name);
        if (topic === undefined) continue;
        const { topicId, partitions, configs } = topic;
        const description = {
          name,
          topicId,
          clusterId: this.#broker.clusterId,
          partitions: partitions.length,
          configs,
        };
        found.set(name, description);
      }
      return found;
    });
  }

  topicNames(): Promise<readonly string[]> {
    return this.#ask(() => this.#broker.topicNames);
  }

  createTopics(topics: readonly TopicSpec[]): Promise<void> {
    return this.#ask(() => {
      refuseTwice(topics);
      for (const { name, partitions, configs } of topics) {
        this.#broker.createTopic(name, partitions < 1 ? partitionsDefault : partitions, configs);
      }
    });
  }

  offsetRanges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, OffsetRange>> {
    return this.#ask(() => {
      this.#broker.expireTransactions();
      return new Map(
        partitions.map((partition) => {
          const { logStart, stable, end } = this.#broker.partition(topic, partition);
          return [partition, { start: logStart, stable, end }] as const;
        }),
      );
    });
  }

  committedOffsets(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>> {
    const read = (): ReadonlyMap<number, CommittedOffset> => {
      const found = new Map<number, CommittedOffset>();
      const coordinator = this.#broker.group(group);
      for (const partition of partitions) {
        const committed = coordinator.committed(topic, partition);
        if (committed !== undefined) found.set(partition, committed);
      }
      return found;
    };
    return this.#life.through(
      () =>
        this.#broker.group(group).isPending(topic, partitions)
          ? this.#standing(group, topic, partitions).then(read)
          : read(),
      this.#options.tolls?.checkpoints,
    );
  }

  deleteRecords(topic: string, before: ReadonlyMap<number, number>): Promise<void> {
    return this.#ask(() => {
      for (const [partition, offset] of before) {
        const log = this.#broker.partition(topic, partition);
        if (offset > log.end) {
          throw new FlowError(
            'OFFSET_OUT_OF_RANGE',
            `offset ${offset} of ${topic}/${partition} is beyond the end of the log`,
          );
        }
        log.deleteBefore(offset);
      }
      this.#broker.announce();
    });
  }

  offsetsAt(
    topic: string,
    partitions: readonly number[],
    timestampMs: number,
  ): Promise<ReadonlyMap<number, number>> {
    return this.#ask(
      () =>
        new Map(
          partitions.map((partition) => [
            partition,
            this.#broker.partition(topic, partition).offsetAt(timestampMs),
          ]),
        ),
    );
  }

  deleteTopics(names: readonly string[]): Promise<void> {
    return this.#ask(() => {
      for (const name of names) this.#broker.deleteTopic(name);
    });
  }

  groupsOn(topics: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.#ask(() => this.#broker.groupsOn(topics));
  }

  groupMembers(group: string): Promise<readonly SeatedMember[]> {
    return this.#ask(() => this.#broker.group(group).members());
  }

  removeMembers(group: string): Promise<void> {
    return this.#ask(() => this.#broker.group(group).removeAll());
  }

  commitCheckpoint(group: string, offsets: OffsetCommit['offsets']): Promise<void> {
    return this.#ask(() => {
      const coordinator = this.#broker.group(group);
      coordinator.checkEmpty();
      for (const { topic, partition } of offsets) this.#broker.partition(topic, partition);
      coordinator.store({ offsets });
    });
  }

  deleteCheckpoints(group: string): Promise<void> {
    return this.#ask(() => {
      const coordinator = this.#broker.group(group);
      coordinator.checkEmpty();
      coordinator.clear();
    });
  }

  openReader(): MemoryReader {
    const reader = new MemoryReader(this.#broker, this.#life, this.#options.bounds);
    this.#readers.add(reader);
    return reader;
  }

  openProducer(
    transactionalId: string | undefined,
    mayWrite: () => boolean = () => true,
  ): Promise<MemoryProducer> {
    return this.#ask(() => {
      const { betweenCommitSteps } = this.#options;
      const producer = new MemoryProducer(this.#broker, this.#life, {
        transactionalId,
        mayWrite,
        betweenCommitSteps,
        tolls: this.#options.tolls,
      });
      this.#producers.add(producer);
      return producer;
    });
  }

  joinGroup(options: GroupOptions): MemoryMember {
    const member = new MemoryMember(this.#broker.group(options.group), this.#life, options);
    this.#members.add(member);
    return member;
  }

  fence(transactionalId: string): Promise<void> {
    return this.#ask(() => this.#broker.fence(transactionalId));
  }

  #ask<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#life.through(work, this.#options.tolls?.asking);
  }

  async close(): Promise<void> {
    if (this.#life.closed) return;
    await this.#life.through(async () => {
      for (const member of this.#members) member.leaveNow();
      await Promise.all([...this.#readers].map((reader) => reader.close()));
      await Promise.all([...this.#producers].map((producer) => producer.close()));
    });
    this.#life.close();
  }

  /** The process is gone: no call is answered any more, nothing is left or aborted in good order. */
  kill(): void {
    this.#life.kill();
    for (const member of this.#members) member.stall();
  }

  /** The process stops in the middle of what it does. */
  stall(): void {
    this.#life.stall();
    for (const member of this.#members) member.stall();
  }

  /** It goes on, not knowing for how long it was away until its next heartbeat is answered. */
  resume(): void {
    // The heartbeats of the dead would keep their partitions for ever (simulation seed 1140).
    if (this.#life.killed) return;
    this.#life.resume();
    for (const member of this.#members) {
      member.resume();
      void this.#broker.clock.sleep(member.heartbeatMs).then(() => member.see());
    }
  }

  /** Resolves once no open transaction may move the checkpoints any more. */
  async #standing(group: string, topic: string, partitions: readonly number[]): Promise<void> {
    const coordinator = this.#broker.group(group);
    while (coordinator.isPending(topic, partitions)) await this.#settled();
  }

  /** Resolves with the next event; transactions that nobody ends time out meanwhile. */
  #settled(): Promise<void> {
    this.#broker.expireTransactions();
    return new Promise((resolve) => {
      const stop = this.#broker.onNews(() => {
        stop();
        resolve();
      });
      void this.#broker.clock.sleep(1000).then(() => {
        stop();
        resolve();
      });
    });
  }
}

/** As a broker does: a request that names a topic twice makes neither. */
function refuseTwice(topics: readonly TopicSpec[]): void {
  const names = topics.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return;
  throw new FlowError('NOT_SUPPORTED', `topic "${twice}": the request names it twice`);
}

import { FlowError } from '../../base/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { OffsetCommit } from '../../ports/log.ts';
import { MemoryGroup } from './memory-group.ts';
import { MemoryPartition } from './memory-partition.ts';

export type MemoryTopic = {
  readonly name: string;
  readonly topicId: string;
  readonly partitions: MemoryPartition[];
  /** As long as the topic is there they stay as they are. */
  readonly configs: ReadonlyMap<string, string>;
};

/** The right to write under a transactional id, until another takes it over. */
export type ProducerSession = {
  readonly transactionalId: string;
  fenced: boolean;
  /** 0: none is open. */
  transaction: number;
  startedAtMs: number;
  readonly touched: Set<MemoryPartition>;
  /** Offsets that become committed with the open transaction. */
  readonly offsets: { readonly group: MemoryGroup; readonly commit: OffsetCommit }[];
};

const defaultConfigs: Readonly<Record<string, string>> = {
  'cleanup.policy': 'delete',
  'retention.ms': '604800000',
  'retention.bytes': '-1',
  'max.message.bytes': '1048588',
  'message.timestamp.type': 'CreateTime',
};

/**
 * What a cluster of brokers keeps: topics, transactions, groups. Invariant: an open transaction is
 * either ended by its own producer or aborted by whoever takes the id over, never both.
 */
export class MemoryBroker {
  readonly clock: Clock;
  readonly #transactionTimeoutMs: number;
  readonly #topics = new Map<string, MemoryTopic>();
  readonly #groups = new Map<string, MemoryGroup>();
  readonly #sessions = new Map<string, ProducerSession>();
  readonly #listeners = new Set<() => void>();
  clusterId = 'memory';
  #topicNumber = 0;
  #transactionNumber = 0;

  constructor(clock: Clock, transactionTimeoutMs: number) {
    this.clock = clock;
    this.#transactionTimeoutMs = transactionTimeoutMs;
  }

  /** Calls a listener whenever there may be something new to read; returns how to stop it. */
  onNews(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  announce(): void {
    for (const listener of this.#listeners) listener();
  }

  get topicNames(): readonly string[] {
    return [...this.#topics.keys()].sort();
  }

  topic(name: string): MemoryTopic | undefined {
    return this.#topics.get(name);
  }

  partition(name: string, partition: number): MemoryPartition {
    const topic = this.#topics.get(name);
    if (topic === undefined) throw new FlowError('TOPIC_MISSING', `topic "${name}" is missing`);
    const found = topic.partitions[partition];
    if (found === undefined) {
      throw new FlowError('TOPIC_PARTITIONS', `topic "${name}" has no partition ${partition}`);
    }
    return found;
  }

  createTopic(name: string, partitions: number, configs: Readonly<Record<string, string>>): void {
    if (this.#topics.has(name)) return;
    this.#topicNumber += 1;
    this.#topics.set(name, {
      name,
      topicId: `00000000-0000-4000-8000-${this.#topicNumber.toString(16).padStart(12, '0')}`,
      partitions: Array.from({ length: partitions }, () => new MemoryPartition()),
      configs: new Map(Object.entries({ ...defaultConfigs, ...configs })),
    });
    this.#topicChanged(name);
  }

  deleteTopic(name: string): void {
    if (!this.#topics.delete(name)) return;
    for (const group of this.#groups.values()) group.forget(name);
    this.#topicChanged(name);
  }

  addPartitions(name: string, total: number): void {
    const topic = this.#topics.get(name);
    if (topic === undefined) throw new FlowError('TOPIC_MISSING', `topic "${name}" is missing`);
    while (topic.partitions.length < total) topic.partitions.push(new MemoryPartition());
    this.#topicChanged(name);
  }

  groupsOn(topics: readonly string[]): ReadonlyMap<string, readonly string[]> {
    return new Map(
      topics.map((topic) => {
        const count = this.#topics.get(topic)?.partitions.length ?? 0;
        const numbers = Array.from({ length: count }, (_, partition) => partition);
        const groups = [...this.#groups].flatMap(([name, group]) =>
          numbers.some((partition) => group.committed(topic, partition) !== undefined)
            ? [name]
            : [],
        );
        return [topic, groups.sort()];
      }),
    );
  }

  group(name: string): MemoryGroup {
    let group = this.#groups.get(name);
    if (group === undefined) {
      const count = (topic: string) => this.#topics.get(topic)?.partitions.length ?? 0;
      group = new MemoryGroup(name, this.clock, count);
      this.#groups.set(name, group);
    }
    return group;
  }

  openSession(transactionalId: string): ProducerSession {
    this.fence(transactionalId);
    const session = {
      transactionalId,
      fenced: false,
      transaction: 0,
      startedAtMs: 0,
      touched: new Set<MemoryPartition>(),
      offsets: [],
    };
    this.#sessions.set(transactionalId, session);
    return session;
  }

  fence(transactionalId: string): void {
    const session = this.#sessions.get(transactionalId);
    if (session === undefined) return;
    this.endTransaction(session, false);
    session.fenced = true;
  }

  /** Opens the session's transaction unless it is open, and returns its number. */
  beginTransaction(session: ProducerSession): number {
    if (session.transaction === 0) {
      this.#transactionNumber += 1;
      session.transaction = this.#transactionNumber;
      session.startedAtMs = this.clock.monotonic();
    }
    return session.transaction;
  }

  endTransaction(session: ProducerSession, committed: boolean): void {
    const { transaction, touched, offsets } = session;
    if (transaction === 0) return;
    session.transaction = 0;
    for (const { group, commit } of offsets) {
      group.settlePending(commit);
      if (committed) group.store(commit);
    }
    for (const partition of touched) partition.endTransaction(transaction, committed);
    offsets.length = 0;
    touched.clear();
    this.announce();
  }

  /** Aborts what was left open for too long, as a broker does; its producer is fenced by it. */
  expireTransactions(): void {
    const nowMs = this.clock.monotonic();
    for (const session of this.#sessions.values()) {
      if (session.transaction === 0) continue;
      if (nowMs - session.startedAtMs >= this.#transactionTimeoutMs) {
        this.fence(session.transactionalId);
      }
    }
  }

  #topicChanged(name: string): void {
    for (const group of this.#groups.values()) group.topicChanged(name);
    this.announce();
  }
}

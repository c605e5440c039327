import { HeaderWriter, type RecordHeader, readHeaders } from '../../data/record-headers.ts';
import type { Clock } from '../../ports/clock.ts';
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
import type { Tolls } from './client-life.ts';
import { idleClock } from './idle-clock.ts';
import { MemoryBroker } from './memory-broker.ts';
import { MemoryClient } from './memory-client.ts';
import type { MemoryCursor } from './memory-cursor.ts';

export type MemoryLogOptions = {
  /** Session, rebalance and transaction timeouts are measured by it. */
  readonly clock?: Clock;
  readonly sliceBytesMax?: number;
  /** 1: each slice holds one record. */
  readonly sliceRecordsMax?: number;
  readonly transactionTimeoutMs?: number;
};

export type ConnectOptions = {
  readonly sliceRecordsMax?: number;
  /** Runs when the offsets of a transaction are pending and its end is not written yet. */
  readonly betweenCommitSteps?: () => Promise<void> | undefined;
  /** What befalls the calls of this client. */
  readonly tolls?: Tolls;
};

/** A record as a test writes it; text stands for its UTF-8 bytes. */
export type NewRecord = {
  readonly key?: string | Uint8Array | null;
  readonly value: string | Uint8Array | null;
  readonly headers?: Readonly<Record<string, string | Uint8Array>>;
  readonly timestampMs?: number;
};

export type CommittedRecord = {
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly RecordHeader[];
  /** Records with the same number became visible together; 0: on its own. */
  readonly transaction: number;
};

/**
 * A log in the memory of one process, with as many independent clients as wanted: what tests and
 * `try` run on. Invariant: it keeps the contract of `ports/log.ts` to the letter, gaps after control
 * records included, so that what runs on it runs on a broker.
 */
export class MemoryLog implements Log {
  readonly #broker: MemoryBroker;
  readonly #client: MemoryClient;
  readonly #options: MemoryLogOptions;
  readonly #headers = new HeaderWriter();

  constructor(options: MemoryLogOptions = {}) {
    this.#options = options;
    this.#broker = new MemoryBroker(
      options.clock ?? idleClock,
      options.transactionTimeoutMs ?? 60_000,
    );
    this.#client = this.connect();
  }

  /** Another process's view of the same log. */
  connect(options: ConnectOptions = {}): MemoryClient {
    const recordsMax = options.sliceRecordsMax ?? this.#options.sliceRecordsMax ?? 100_000;
    const bytesMax = this.#options.sliceBytesMax ?? 1 << 20;
    return new MemoryClient(this.#broker, {
      bounds: { recordsMax, bytesMax },
      betweenCommitSteps: options.betweenCommitSteps ?? (() => undefined),
      tolls: options.tolls,
    });
  }

  createTopic(
    name: string,
    partitions: number,
    configs: Readonly<Record<string, string>> = {},
  ): void {
    this.#broker.createTopic(name, partitions, configs);
  }

  /** The topics that are there are on another cluster from now on. */
  move(clusterId: string): void {
    this.#broker.clusterId = clusterId;
  }

  deleteTopic(name: string): void {
    this.#broker.deleteTopic(name);
  }

  /** Raises the number of a topic's partitions. */
  addPartitions(name: string, total: number): void {
    this.#broker.addPartitions(name, total);
  }

  /** Appends one record outside of any transaction and returns its offset. */
  produce(topic: string, partition: number, record: NewRecord): number {
    const log = this.#broker.partition(topic, partition);
    const key = bytesOf(record.key ?? null);
    const value = bytesOf(record.value);
    const headers = this.#headerSection(record.headers ?? {});
    const offset = log.append(
      {
        key: key ?? none,
        keyStart: 0,
        keyEnd: key?.length ?? -1,
        value: value ?? none,
        valueStart: 0,
        valueEnd: value?.length ?? -1,
        headers,
        headersStart: 0,
        headersEnd: headers.length,
        timestampMs: record.timestampMs ?? this.#broker.clock.now(),
      },
      0,
    );
    this.#broker.announce();
    return offset;
  }

  /** The range of a partition as it stands at this moment. */
  rangeNow(topic: string, partition: number): OffsetRange {
    const { logStart, stable, end } = this.#broker.partition(topic, partition);
    return { start: logStart, stable, end };
  }

  /** 0: there is no such topic at this moment. */
  /** undefined: there is none of that name. */
  topicIdNow(topic: string): string | undefined {
    return this.#broker.topic(topic)?.topicId;
  }

  partitionCountNow(topic: string): number {
    return this.#broker.topic(topic)?.partitions.length ?? 0;
  }

  /** A checkpoint as it stands at this moment; what is pending is not waited for. */
  committedNow(group: string, topic: string, partition: number): CommittedOffset | undefined {
    return this.#broker.group(group).committed(topic, partition);
  }

  /** Everything that a committed reader sees, partition by partition, in order. */
  readCommitted(topic: string): readonly CommittedRecord[] {
    const partitions = this.#broker.topic(topic)?.partitions ?? [];
    return partitions.flatMap((log, partition) => recordsOf(log.committed(), partition));
  }

  /** Everything that is committed at this moment, even where an open transaction keeps readers from it. */
  readSettled(topic: string): readonly CommittedRecord[] {
    const partitions = this.#broker.topic(topic)?.partitions ?? [];
    return partitions.flatMap((log, partition) =>
      recordsOf(log.unsettled(), partition).filter(({ transaction }) => !log.isOpen(transaction)),
    );
  }

  /** Loses what lies at an offset of a partition and behind it, checkpoints apart. */
  truncate(topic: string, partition: number, offset: number): void {
    this.#broker.partition(topic, partition).truncate(offset);
    this.#broker.announce();
  }

  /** Keeps the last committed record of each key; offsets stay, so readers meet gaps. */
  compact(topic: string, options: { readonly dropTombstones?: boolean } = {}): void {
    for (const log of this.#broker.topic(topic)?.partitions ?? []) {
      log.compact(options.dropTombstones ?? false);
    }
  }

  describeTopics(names: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>> {
    return this.#client.describeTopics(names);
  }

  topicNames(): Promise<readonly string[]> {
    return this.#client.topicNames();
  }

  createTopics(topics: readonly TopicSpec[]): Promise<void> {
    return this.#client.createTopics(topics);
  }

  offsetRanges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, OffsetRange>> {
    return this.#client.offsetRanges(topic, partitions);
  }

  committedOffsets(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>> {
    return this.#client.committedOffsets(group, topic, partitions);
  }

  offsetsAt(
    topic: string,
    partitions: readonly number[],
    timestampMs: number,
  ): Promise<ReadonlyMap<number, number>> {
    return this.#client.offsetsAt(topic, partitions, timestampMs);
  }

  deleteRecords(topic: string, before: ReadonlyMap<number, number>): Promise<void> {
    return this.#client.deleteRecords(topic, before);
  }

  deleteTopics(names: readonly string[]): Promise<void> {
    return this.#client.deleteTopics(names);
  }

  groupsOn(topics: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.#client.groupsOn(topics);
  }

  groupMembers(group: string): Promise<readonly SeatedMember[]> {
    return this.#client.groupMembers(group);
  }

  removeMembers(group: string): Promise<void> {
    return this.#client.removeMembers(group);
  }

  commitCheckpoint(group: string, offsets: OffsetCommit['offsets']): Promise<void> {
    return this.#client.commitCheckpoint(group, offsets);
  }

  deleteCheckpoints(group: string): Promise<void> {
    return this.#client.deleteCheckpoints(group);
  }

  openReader(): LogReader {
    return this.#client.openReader();
  }

  openProducer(
    transactionalId: string | undefined,
    mayWrite?: () => boolean,
  ): Promise<LogProducer> {
    return this.#client.openProducer(transactionalId, mayWrite);
  }

  joinGroup(options: GroupOptions): GroupMember {
    return this.#client.joinGroup(options);
  }

  fence(transactionalId: string): Promise<void> {
    return this.#client.fence(transactionalId);
  }

  /** Closes this client; the log and its other clients stay. */
  close(): Promise<void> {
    return this.#client.close();
  }

  #headerSection(headers: Readonly<Record<string, string | Uint8Array>>): Buffer {
    const entries = Object.entries(headers);
    if (entries.length === 0) return none;
    this.#headers.begin(entries.length);
    for (const [name, value] of entries) {
      if (typeof value === 'string') this.#headers.addText(name, value);
      else this.#headers.add(name, value);
    }
    return this.#headers.writer.copy();
  }
}

function recordsOf(cursor: MemoryCursor, partition: number): CommittedRecord[] {
  const records: CommittedRecord[] = [];
  while (cursor.next()) {
    const { bytes, offset, timestampMs, transaction } = cursor;
    const span = (start: number, end: number) => (end < 0 ? null : bytes.subarray(start, end));
    records.push({
      partition,
      offset,
      timestampMs,
      transaction,
      key: span(cursor.keyStart, cursor.keyEnd),
      value: span(cursor.valueStart, cursor.valueEnd),
      headers: readHeaders(bytes, cursor.headersStart, cursor.headersEnd),
    });
  }
  return records;
}

const none = Buffer.alloc(0);

function bytesOf(value: string | Uint8Array | null): Uint8Array | null {
  return typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
}

import type { MemoryLog } from '../adapters/memory/memory-log.ts';
import type {
  Assignment,
  CommitResult,
  CommittedOffset,
  GroupMember,
  GroupOptions,
  Log,
  LogProducer,
  LogReader,
  OffsetCommit,
  OffsetRange,
  OutgoingRecord,
  Slice,
  TopicDescription,
  TopicSpec,
} from '../ports/log.ts';
import type { SimulatedProcess } from './simulated-process.ts';

/** The log in memory as one simulated process reaches it: it keeps the contract and fails wherever a broker may. */
export class SimulatedLog implements Log {
  readonly #process: SimulatedProcess;
  readonly #log: Log;

  constructor(log: MemoryLog, process: SimulatedProcess, sliceRecordsMax: number) {
    // A crash between the two steps of a commit leaves its offsets pending.
    const client = log.connect({ sliceRecordsMax, betweenCommitSteps: () => process.step() });
    process.attach(client);
    this.#process = process;
    this.#log = client;
  }

  describeTopics(names: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>> {
    return this.#call(() => this.#log.describeTopics(names));
  }

  createTopics(topics: readonly TopicSpec[]): Promise<void> {
    return this.#call(() => this.#log.createTopics(topics));
  }

  offsetRanges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, OffsetRange>> {
    return this.#call(() => this.#log.offsetRanges(topic, partitions));
  }

  committedOffsets(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>> {
    return this.#call(() => this.#log.committedOffsets(group, topic, partitions));
  }

  deleteRecords(topic: string, before: ReadonlyMap<number, number>): Promise<void> {
    return this.#call(() => this.#log.deleteRecords(topic, before));
  }

  openReader(): LogReader {
    return new SimulatedReader(this.#log.openReader(), this.#process);
  }

  async openProducer(transactionalId: string | undefined): Promise<LogProducer> {
    const producer = await this.#call(() => this.#log.openProducer(transactionalId));
    return new SimulatedProducer(producer, this.#process);
  }

  joinGroup(options: GroupOptions): GroupMember {
    return new SimulatedMember(this.#log.joinGroup(options), this.#process);
  }

  fence(transactionalId: string): Promise<void> {
    return this.#call(() => this.#log.fence(transactionalId));
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  #call<T>(work: () => Promise<T>): Promise<T> {
    return callBroker(this.#process, work);
  }
}

class SimulatedReader implements LogReader {
  readonly #reader: LogReader;
  readonly #process: SimulatedProcess;
  /** "topic/partition" → how often it was assigned. */
  readonly #assigned = new Map<string, number>();

  constructor(reader: LogReader, process: SimulatedProcess) {
    this.#reader = reader;
    this.#process = process;
  }

  assign(topic: string, partition: number, offset: number): void {
    const name = `${topic}/${partition}`;
    this.#assigned.set(name, (this.#assigned.get(name) ?? 0) + 1);
    this.#reader.assign(topic, partition, offset);
  }

  unassign(topic: string, partition: number): void {
    this.#reader.unassign(topic, partition);
  }

  /** An answer that is lost is asked for again by the adapter itself: slices are never skipped. */
  async poll(maxWaitMs: number): Promise<readonly Slice[]> {
    await this.#process.step();
    const slices = await this.#reader.poll(maxWaitMs);
    const before = new Map(this.#assigned);
    await this.#process.step();
    return slices.filter(({ topic, partition }) => {
      const name = `${topic}/${partition}`;
      return this.#assigned.get(name) === before.get(name);
    });
  }

  wake(): void {
    this.#reader.wake();
  }

  range(topic: string, partition: number): OffsetRange | undefined {
    return this.#reader.range(topic, partition);
  }

  close(): Promise<void> {
    return this.#reader.close();
  }
}

class SimulatedProducer implements LogProducer {
  readonly transactionalId: string | undefined;
  readonly #producer: LogProducer;
  readonly #process: SimulatedProcess;

  constructor(producer: LogProducer, process: SimulatedProcess) {
    this.transactionalId = producer.transactionalId;
    this.#producer = producer;
    this.#process = process;
  }

  get pendingBytes(): number {
    return this.#producer.pendingBytes;
  }

  append(topic: string, partition: number, record: OutgoingRecord): void {
    this.#producer.append(topic, partition, record);
  }

  async drain(pendingBytesMax: number): Promise<void> {
    await this.#process.step();
    await this.#producer.drain(pendingBytesMax);
  }

  /** Refused or lost, the outcome of a commit is unknown to its caller. */
  commit(commits: readonly OffsetCommit[]): Promise<CommitResult> {
    const work = () => this.#producer.commit(commits);
    return this.#process.call('BROKER_TIMEOUT', 'BROKER_TIMEOUT', work);
  }

  abort(): Promise<void> {
    return callBroker(this.#process, () => this.#producer.abort());
  }

  close(): Promise<void> {
    return this.#producer.close();
  }
}

class SimulatedMember implements GroupMember {
  readonly #member: GroupMember;
  readonly #process: SimulatedProcess;

  constructor(member: GroupMember, process: SimulatedProcess) {
    this.#member = member;
    this.#process = process;
  }

  get status(): GroupMember['status'] {
    return this.#member.status;
  }

  onStatus(listener: () => void): void {
    this.#member.onStatus(() => {
      if (!this.#process.isCrashed) listener();
    });
  }

  async rejoin(): Promise<Assignment> {
    await this.#process.step();
    const assignment = await this.#member.rejoin();
    await this.#process.step();
    return assignment;
  }

  leave(): Promise<void> {
    return this.#member.leave();
  }
}

function callBroker<T>(process: SimulatedProcess, work: () => Promise<T>): Promise<T> {
  return process.call('BROKER_UNAVAILABLE', 'BROKER_TIMEOUT', work);
}

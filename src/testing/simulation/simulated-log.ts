import type { Toll } from '../../adapters/memory/client-life.ts';
import type { MemoryClient } from '../../adapters/memory/memory-client.ts';
import type { MemoryLog } from '../../adapters/memory/memory-log.ts';
import type { MemoryProducer } from '../../adapters/memory/memory-producer.ts';
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
  SeatedMember,
  Slice,
  TopicDescription,
  TopicSpec,
} from '../../ports/log.ts';
import type { CallKind, SimulatedProcess } from './simulated-process.ts';

const asking: CallKind = {
  place: 'broker',
  answer: 'broker_answer',
  service: 'broker',
  unavailable: 'BROKER_UNAVAILABLE',
  unknown: 'BROKER_TIMEOUT',
};

const askingForCheckpoints: CallKind = {
  ...asking,
  place: 'checkpoint',
  answer: 'checkpoint_answer',
};

/** Refused or lost, the outcome of a commit is unknown to its caller. */
const committing: CallKind = {
  place: 'commit',
  answer: 'commit_answer',
  service: 'broker',
  unavailable: 'BROKER_TIMEOUT',
  unknown: 'BROKER_TIMEOUT',
};

/** The log in memory as one simulated process reaches it: it keeps the contract and fails wherever a broker may. */
export class SimulatedLog implements Log {
  readonly #process: SimulatedProcess;
  readonly #log: MemoryClient;

  constructor(log: MemoryLog, process: SimulatedProcess, sliceRecordsMax: number) {
    // A crash between the two steps of a commit leaves its offsets pending.
    const toll = (kind: CallKind): Toll => ({
      before: () => process.before(kind),
      after: () => process.after(kind),
    });
    const client = log.connect({
      sliceRecordsMax,
      betweenCommitSteps: () => process.pause('commit_middle'),
      tolls: {
        asking: toll(asking),
        checkpoints: toll(askingForCheckpoints),
        commit: toll(committing),
      },
    });
    process.attach(client);
    this.#process = process;
    this.#log = client;
  }

  describeTopics(names: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>> {
    return this.#log.describeTopics(names);
  }

  topicNames(): Promise<readonly string[]> {
    return this.#log.topicNames();
  }

  createTopics(topics: readonly TopicSpec[]): Promise<void> {
    return this.#log.createTopics(topics);
  }

  offsetRanges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, OffsetRange>> {
    return this.#log.offsetRanges(topic, partitions);
  }

  committedOffsets(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>> {
    return this.#log.committedOffsets(group, topic, partitions);
  }

  deleteRecords(topic: string, before: ReadonlyMap<number, number>): Promise<void> {
    return this.#log.deleteRecords(topic, before);
  }

  offsetsAt(
    topic: string,
    partitions: readonly number[],
    timestampMs: number,
  ): Promise<ReadonlyMap<number, number>> {
    return this.#log.offsetsAt(topic, partitions, timestampMs);
  }

  deleteTopics(names: readonly string[]): Promise<void> {
    return this.#log.deleteTopics(names);
  }

  groupsOn(topics: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.#log.groupsOn(topics);
  }

  groupMembers(group: string): Promise<readonly SeatedMember[]> {
    return this.#log.groupMembers(group);
  }

  removeMembers(group: string): Promise<void> {
    return this.#log.removeMembers(group);
  }

  commitCheckpoint(group: string, offsets: OffsetCommit['offsets']): Promise<void> {
    return this.#log.commitCheckpoint(group, offsets);
  }

  deleteCheckpoints(group: string): Promise<void> {
    return this.#log.deleteCheckpoints(group);
  }

  openReader(): LogReader {
    return new SimulatedReader(this.#log.openReader(), this.#process);
  }

  async openProducer(
    transactionalId: string | undefined,
    mayWrite?: () => boolean,
  ): Promise<LogProducer> {
    const producer = await this.#log.openProducer(transactionalId, mayWrite);
    return new SimulatedProducer(producer, this.#process);
  }

  joinGroup(options: GroupOptions): GroupMember {
    return new SimulatedMember(this.#log.joinGroup(options), this.#process);
  }

  fence(transactionalId: string): Promise<void> {
    return this.#log.fence(transactionalId);
  }

  close(): Promise<void> {
    return this.#log.close();
  }
}

class SimulatedReader implements LogReader {
  readonly #reader: LogReader;
  readonly #process: SimulatedProcess;
  /** "topic/partition" → how often it was assigned. */
  readonly #assigned = new Map<string, number>();
  /** In the order in which they were fetched: what has not arrived yet. */
  #held: Slice[] = [];

  constructor(reader: LogReader, process: SimulatedProcess) {
    this.#reader = reader;
    this.#process = process;
  }

  assign(topic: string, partition: number, offset: number): void {
    const name = `${topic}/${partition}`;
    this.#assigned.set(name, (this.#assigned.get(name) ?? 0) + 1);
    this.#forget(topic, partition);
    this.#reader.assign(topic, partition, offset);
  }

  unassign(topic: string, partition: number): void {
    this.#forget(topic, partition);
    this.#reader.unassign(topic, partition);
  }

  /** An answer that is lost is asked for again by the adapter itself: slices are never skipped. */
  async poll(maxWaitMs: number): Promise<readonly Slice[]> {
    const early = this.#process.pause('poll');
    if (early !== undefined) await early;
    const hasArrived = this.#held.some((slice) => !this.#isSilent(slice));
    const slices = this.#arrived(await this.#reader.poll(hasArrived ? 0 : maxWaitMs));
    const late = this.#process.pause('poll_answer');
    if (late === undefined) return slices;
    const before = new Map(this.#assigned);
    await late;
    return slices.filter(({ topic, partition }) => {
      const name = `${topic}/${partition}`;
      return this.#assigned.get(name) === before.get(name);
    });
  }

  /** What of it, and of what was held before, arrives now: each partition by itself, and in order. */
  #arrived(fetched: readonly Slice[]): readonly Slice[] {
    if (this.#held.length === 0 && !fetched.some((slice) => this.#isSilent(slice))) return fetched;
    const all = [...this.#held, ...fetched];
    this.#held = all.filter((slice) => this.#isSilent(slice));
    return all.filter((slice) => !this.#held.includes(slice));
  }

  #isSilent({ topic, partition }: Slice): boolean {
    return this.#process.isSilent(topic, partition);
  }

  #forget(topic: string, partition: number): void {
    if (this.#held.length === 0) return;
    this.#held = this.#held.filter((one) => one.topic !== topic || one.partition !== partition);
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
  readonly #producer: MemoryProducer;
  readonly #process: SimulatedProcess;

  constructor(producer: MemoryProducer, process: SimulatedProcess) {
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

  async drain(): Promise<void> {
    const late = this.#process.pause('broker_answer');
    if (late !== undefined) await late;
    await this.#producer.drain();
  }

  commit(commits: readonly OffsetCommit[]): Promise<CommitResult> {
    return this.#producer.commit(commits);
  }

  abort(): Promise<void> {
    return this.#producer.abort();
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

  get isInTouch(): boolean {
    return this.#member.isInTouch;
  }

  onStatus(listener: () => void): void {
    this.#member.onStatus(() => {
      if (!this.#process.isCrashed) listener();
    });
  }

  async rejoin(): Promise<Assignment> {
    const early = this.#process.pause('join');
    if (early !== undefined) await early;
    const assignment = await this.#member.rejoin();
    const late = this.#process.pause('join_answer');
    if (late !== undefined) await late;
    return assignment;
  }

  leave(): Promise<void> {
    return this.#member.leave();
  }
}

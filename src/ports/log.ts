/**
 * The log as the runtime sees it: topics of records, transactions, groups. It speaks in slices of
 * bytes, never in message objects. Offsets are numbers (exact below 2^53, which a log never passes).
 *
 * Contract of an adapter:
 * 1. Readers are read-committed: neither aborted nor control records are ever seen, and a slice that
 *    holds nothing else is still delivered, so that `nextOffset` moves past it.
 * 2. Nothing is skipped in silence: an offset outside of the log rejects with OFFSET_OUT_OF_RANGE, a
 *    topic that was deleted and created again with TOPIC_RECREATED, a damaged batch with RECORD_CORRUPT.
 * 3. `commit` is atomic over everything appended and all offsets, and is refused with TASK_MIGRATED when
 *    the member or its generation is stale, and PRODUCER_FENCED when the producer was taken over. After any
 *    other failure the outcome is unknown: the producer must be opened again.
 * 4. Committed offsets are read only after pending transactional offsets are settled, which of an instance that is gone may take
 *    until its transaction has timed out: whoever has to end that one waits with a bound (`answerWithin`).
 * 5. No promise rejects with anything but a FlowError.
 */
export interface Log {
  /** Missing topics are left out of the answer. */
  describeTopics(names: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>>;
  /** Of all topics that this client may see, in order; those that the brokers keep for themselves apart. */
  topicNames(): Promise<readonly string[]>;
  /** Creates those that are missing; one that is there already is left alone. Named twice in one call, it is NOT_SUPPORTED. */
  createTopics(topics: readonly TopicSpec[]): Promise<void>;
  /** First and next offsets of each partition, as of now. `stable` is the last stable offset: where a committed reader stops. */
  offsetRanges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, OffsetRange>>;
  /** Partition → committed offset and metadata; partitions without a checkpoint are left out. */
  committedOffsets(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>>;
  /** Partition → the first offset whose record is as late as the time (milliseconds since 1970); without one, the end. */
  offsetsAt(
    topic: string,
    partitions: readonly number[],
    timestampMs: number,
  ): Promise<ReadonlyMap<number, number>>;
  /** Deletes records below the given offsets. */
  deleteRecords(topic: string, before: ReadonlyMap<number, number>): Promise<void>;
  /** Deletes topics with all they hold; one that is missing is left alone. */
  deleteTopics(names: readonly string[]): Promise<void>;
  /** Topic → the groups that have a checkpoint in it, whoever they belong to, in order. */
  groupsOn(topics: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Who is in a group, as its coordinator knows; empty: nobody, or there is no such group. */
  groupMembers(group: string): Promise<readonly SeatedMember[]>;
  /** Takes the seats of a group's members away at once, as a session does that timed out: for those known to be dead. */
  removeMembers(group: string): Promise<void>;
  /**
   * Sets checkpoints from outside of the group, which only tools do: the coordinator itself refuses it with GROUP_BUSY
   * while the group has a member.
   */
  commitCheckpoint(group: string, offsets: OffsetCommit['offsets']): Promise<void>;
  /** Deletes a group with all its checkpoints; refused with GROUP_BUSY while it has a member. */
  deleteCheckpoints(group: string): Promise<void>;
  openReader(): LogReader;
  /**
   * With an id: transactional; fences and ends whatever an earlier producer of this id left open. Without: idempotent only,
   * and nothing but `mayWrite` keeps it from writing what is another one's by now: it is asked right before each write, and
   * where it says no the write is left out and the commit rejects with TASK_MIGRATED.
   */
  openProducer(transactionalId: string | undefined, mayWrite?: () => boolean): Promise<LogProducer>;
  joinGroup(options: GroupOptions): GroupMember;
  /** Ends the open transaction of a producer that is gone, so that readers get past it. */
  fence(transactionalId: string): Promise<void>;
  close(): Promise<void>;
}

export type TopicDescription = {
  readonly name: string;
  /** Changes when a topic is deleted and created again. */
  readonly topicId: string;
  /** The cluster that it is on; undefined: it has no id. */
  readonly clusterId?: string | undefined;
  readonly partitions: number;
  /** Effective settings, such as cleanup.policy and retention.ms. */
  readonly configs: ReadonlyMap<string, string>;
};

export type TopicSpec = {
  readonly name: string;
  readonly partitions: number;
  /** -1: the broker's default. */
  readonly replicationFactor: number;
  readonly configs: Readonly<Record<string, string>>;
};

export type SeatedMember = {
  readonly memberId: string;
  readonly instanceId: string | undefined;
  /** Where it speaks from, in words for a person. */
  readonly host: string;
};

export type OffsetRange = { readonly start: number; readonly stable: number; readonly end: number };

export type CommittedOffset = { readonly offset: number; readonly metadata: string };

/**
 * A cursor over the records of one slice. After `next()` returned true the fields describe one record;
 * they are overwritten by the following call. `bytes` stays valid for as long as it is referenced.
 */
export interface RecordCursor {
  next(): boolean;
  readonly offset: number;
  /** Milliseconds since 1970. */
  readonly timestampMs: number;
  readonly bytes: Buffer;
  readonly keyStart: number;
  /** -1: the key is null. */
  readonly keyEnd: number;
  readonly valueStart: number;
  /** -1: the value is null. */
  readonly valueEnd: number;
  /** The raw header section, as `data/record-headers.ts` reads it. */
  readonly headersStart: number;
  readonly headersEnd: number;
}

export type Slice = {
  readonly topic: string;
  readonly partition: number;
  readonly records: RecordCursor;
  /** Upper bound of the records in it. */
  readonly recordCountMax: number;
  readonly byteLength: number;
  /** The position it was fetched from: that of `assign`, or the `nextOffset` of the slice before. */
  readonly fromOffset: number;
  /** The position after all of it, control and aborted records included. */
  readonly nextOffset: number;
  readonly logStart: number;
  readonly stableOffset: number;
  readonly highWatermark: number;
};

/** Reads partitions that it is told to, from positions that it is told; it fetches ahead within a bound of bytes. */
export interface LogReader {
  /** Starts (or restarts) reading a partition at an offset; nothing fetched before is delivered from then on. */
  assign(topic: string, partition: number, offset: number): void;
  unassign(topic: string, partition: number): void;
  /**
   * The next slices, at most one a partition; an empty array after `maxWaitMs` without any.
   * A partition whose position is at the stable offset gives nothing.
   */
  poll(maxWaitMs: number): Promise<readonly Slice[]>;
  /** Makes a pending poll return at once. */
  wake(): void;
  /** The last known range of a partition, or undefined before the first answer. */
  range(topic: string, partition: number): OffsetRange | undefined;
  close(): Promise<void>;
}

/** Where a task puts records. The spans are copied before the call returns. */
export interface RecordSink {
  append(topic: string, partition: number, record: OutgoingRecord): void;
}

/** Spans of one outgoing record; an end of -1 means null. One object is filled again and again. */
export type OutgoingRecord = {
  key: Uint8Array;
  keyStart: number;
  keyEnd: number;
  value: Uint8Array;
  valueStart: number;
  valueEnd: number;
  /** A raw header section (`data/record-headers.ts`); start = end: no headers. */
  headers: Uint8Array;
  headersStart: number;
  headersEnd: number;
  timestampMs: number;
};

export type OffsetCommit = {
  readonly member: MemberIdentity;
  readonly offsets: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly offset: number;
    readonly metadata: string;
  }[];
};

export type CommitResult = {
  /** "topic/partition" → the offset after the last record of this commit in that partition. */
  readonly ends: ReadonlyMap<string, number>;
  /** Undefined where the adapter has nothing to wait for. */
  readonly phases?: CommitPhases;
};

/** Milliseconds that a commit took: to send what was pending, to send the offsets, to end the transaction. */
export type CommitPhases = {
  readonly flush: number;
  readonly sendOffsets: number;
  readonly endTransaction: number;
};

export interface LogProducer extends RecordSink {
  readonly transactionalId: string | undefined;
  /** Bytes appended and not yet acknowledged. */
  readonly pendingBytes: number;
  /** Resolves when pendingBytes is below the bound: the runtime's back-pressure. */
  drain(pendingBytesMax: number): Promise<void>;
  /**
   * Sends what is pending, then the offsets, then ends the transaction (without a transactional id:
   * sends, waits for all acknowledgements, then commits the offsets). Without records and offsets it does nothing.
   * One commit runs at a time; what is appended while it runs belongs to the next transaction.
   */
  commit(commits: readonly OffsetCommit[]): Promise<CommitResult>;
  /** Drops everything since the last commit. */
  abort(): Promise<void>;
  close(): Promise<void>;
}

export type GroupOptions = {
  readonly group: string;
  readonly topics: readonly string[];
  /** Static membership where given: the same instance comes back to its partitions. */
  readonly instanceId: string | undefined;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
};

export type MemberIdentity = {
  readonly group: string;
  readonly memberId: string;
  readonly instanceId: string | undefined;
  readonly generation: number;
};

export type Assignment = {
  readonly identity: MemberIdentity;
  /** Topic → partitions. */
  readonly partitions: ReadonlyMap<string, readonly number[]>;
};

/**
 * Membership of a group, driven by the worker: the adapter keeps it alive in the background and only
 * raises `status`. Contract: partitions are given to another member only after this one called `rejoin`
 * or `leave`, or was out of touch for longer than the session timeout. Partitions that the worker had
 * before and has after a `rejoin` were nobody else's in between exactly when the member id stayed and the generation
 * grew by one: a member that stalled finds out only in `rejoin` that the group went on without it.
 */
export interface GroupMember {
  /**
   * `joining`: not assigned yet. `stable`: the assignment stands. `rebalancing`: finish and commit, then
   * rejoin. `lost`: thrown out; drop all work without committing, then rejoin.
   */
  readonly status: 'joining' | 'stable' | 'rebalancing' | 'lost' | 'left';
  /**
   * Whether the coordinator has heard of this member within the session timeout, as far as this process can tell by its
   * own clocks: until then its partitions are nobody else's.
   */
  readonly isInTouch: boolean;
  /** Called whenever the status changes. */
  onStatus(listener: () => void): void;
  rejoin(): Promise<Assignment>;
  leave(): Promise<void>;
}

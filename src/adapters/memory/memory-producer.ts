import { FlowError } from '../../base/errors.ts';
import type { CommitResult, LogProducer, OffsetCommit, OutgoingRecord } from '../../ports/log.ts';
import type { ClientLife, Tolls } from './client-life.ts';
import type { MemoryBroker, MemoryTopic, ProducerSession } from './memory-broker.ts';
import { recordSize } from './memory-segment.ts';

/** About what a record takes beside its key, value and headers. */
const recordOverhead = 70;

export type MemoryProducerOptions = {
  readonly transactionalId: string | undefined;
  readonly mayWrite: () => boolean;
  readonly betweenCommitSteps: () => Promise<void> | undefined;
  readonly tolls: Tolls | undefined;
};

/**
 * Writes records at once, within an open transaction where it has an id. Invariant: after a failure
 * nothing is committed until the transaction was aborted, so no commit can hold half of what was appended.
 */
export class MemoryProducer implements LogProducer {
  readonly transactionalId: string | undefined;
  readonly pendingBytes = 0;
  readonly #broker: MemoryBroker;
  readonly #life: ClientLife;
  readonly #session: ProducerSession | undefined;
  readonly #mayWrite: () => boolean;
  readonly #betweenCommitSteps: () => Promise<void> | undefined;
  readonly #tolls: Tolls | undefined;
  #ends = new Map<string, number>();
  #failure: FlowError | undefined;
  #closed = false;
  /** Records that were appended while a commit runs: they belong to the next transaction. */
  #later: (readonly [topic: string, partition: number, record: OutgoingRecord])[] | undefined;

  constructor(
    broker: MemoryBroker,
    life: ClientLife,
    { transactionalId, mayWrite, betweenCommitSteps, tolls }: MemoryProducerOptions,
  ) {
    this.#broker = broker;
    this.#life = life;
    this.transactionalId = transactionalId;
    this.#session = transactionalId === undefined ? undefined : broker.openSession(transactionalId);
    this.#mayWrite = mayWrite;
    this.#betweenCommitSteps = betweenCommitSteps;
    this.#tolls = tolls;
  }

  append(topic: string, partition: number, record: OutgoingRecord): void {
    if (this.#closed || this.#life.killed || this.#failure !== undefined) return;
    if (this.#session?.fenced === true) {
      this.#failure = this.#fenced();
      return;
    }
    if (this.#later === undefined) this.#tryAppend(topic, partition, record);
    else this.#later.push([topic, partition, copyOf(record)]);
  }

  #tryAppend(topic: string, partition: number, record: OutgoingRecord): void {
    try {
      this.#append(topic, partition, record);
    } catch (error) {
      if (!(error instanceof FlowError)) throw error;
      this.#failure = error;
    }
  }

  drain(): Promise<void> {
    return this.#life.through(() => undefined);
  }

  commit(commits: readonly OffsetCommit[]): Promise<CommitResult> {
    // However late the call arrives, the transaction ends where the caller ended it.
    this.seal();
    return this.#life.through(
      () => this.#commit(commits),
      this.#tolls?.commit,
      () => this.#catchUp(),
    );
  }

  /** From now on, what is appended belongs to the next transaction: `commit` begins so. */
  seal(): void {
    this.#later ??= [];
  }

  #catchUp(): void {
    const later = this.#later ?? [];
    this.#later = undefined;
    if (this.#closed || this.#failure !== undefined || this.#life.killed) return;
    for (const [topic, partition, record] of later) this.append(topic, partition, record);
  }

  abort(): Promise<void> {
    return this.#life.through(() => {
      this.#abort();
      if (this.#session?.fenced === true) throw this.#fenced();
    }, this.#tolls?.asking);
  }

  close(): Promise<void> {
    return this.#life.through(() => {
      this.#abort();
      this.#closed = true;
    });
  }

  #append(topicName: string, partition: number, record: OutgoingRecord): void {
    const log = this.#broker.partition(topicName, partition);
    const topic = this.#broker.topic(topicName);
    if (topic !== undefined) checkRecord(topic, record);
    const session = this.#session;
    if (session === undefined && !this.#mayWrite()) {
      throw new FlowError('TASK_MIGRATED', 'the session of this instance is over');
    }
    let transaction = 0;
    if (session !== undefined) {
      transaction = this.#broker.beginTransaction(session);
      session.touched.add(log);
    }
    const offset = log.append(record, transaction);
    this.#ends.set(`${topicName}/${partition}`, offset + 1);
    if (session === undefined) this.#broker.announce();
  }

  #commit(commits: readonly OffsetCommit[]): CommitResult | Promise<CommitResult> {
    this.#checkUsable();
    const ends = this.#ends;
    const withOffsets = commits.filter(({ offsets }) => offsets.length > 0);
    if (ends.size === 0 && withOffsets.length === 0) return { ends };
    const session = this.#session;
    try {
      for (const { member } of withOffsets) this.#broker.group(member.group).check(member);
      if (session === undefined) {
        for (const commit of withOffsets) this.#broker.group(commit.member.group).store(commit);
        return this.#committed();
      }
      const transaction = this.#broker.beginTransaction(session);
      for (const commit of withOffsets) {
        const group = this.#broker.group(commit.member.group);
        group.addPending(commit);
        session.offsets.push({ group, commit });
      }
      const pause = this.#betweenCommitSteps();
      if (pause === undefined) return this.#endTransaction(session, transaction);
      return this.#endLater(pause, session, transaction);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async #endLater(
    pause: Promise<void>,
    session: ProducerSession,
    transaction: number,
  ): Promise<CommitResult> {
    try {
      await pause;
      return this.#endTransaction(session, transaction);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #endTransaction(session: ProducerSession, transaction: number): CommitResult {
    // Somebody may have taken the id over in between, and has aborted the transaction then.
    if (session.fenced) throw this.#fenced();
    if (this.#life.killed) return { ends: this.#ends };
    // Aborted in between, it is never called done (simulation seed 222157).
    if (session.transaction !== transaction) {
      throw new FlowError('TRANSACTION_ABORTED', 'the transaction was aborted meanwhile');
    }
    this.#broker.endTransaction(session, true);
    return this.#committed();
  }

  #committed(): CommitResult {
    const ends = this.#ends;
    this.#ends = new Map();
    return { ends };
  }

  #failed(error: unknown): unknown {
    if (error instanceof FlowError) this.#failure = error;
    return error;
  }

  #checkUsable(): void {
    if (this.#closed) throw new FlowError('TRANSACTION_ABORTED', 'the producer is closed');
    if (this.#session?.fenced === true) throw this.#fenced();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #abort(): void {
    this.#later = undefined;
    if (this.#session !== undefined) this.#broker.endTransaction(this.#session, false);
    this.#ends = new Map();
    this.#failure = undefined;
  }

  #fenced(): FlowError {
    return new FlowError(
      'PRODUCER_FENCED',
      `another producer took over the transactional id "${this.transactionalId ?? ''}"`,
    );
  }
}

/** The caller fills the same object again. */
function copyOf(record: OutgoingRecord): OutgoingRecord {
  const key = Buffer.from(record.key.subarray(record.keyStart, Math.max(record.keyEnd, 0)));
  const value = Buffer.from(record.value.subarray(record.valueStart, Math.max(record.valueEnd, 0)));
  const headers = Buffer.from(record.headers.subarray(record.headersStart, record.headersEnd));
  return {
    key,
    keyStart: 0,
    keyEnd: record.keyEnd < 0 ? -1 : key.length,
    value,
    valueStart: 0,
    valueEnd: record.valueEnd < 0 ? -1 : value.length,
    headers,
    headersStart: 0,
    headersEnd: headers.length,
    timestampMs: record.timestampMs,
  };
}

function checkRecord(topic: MemoryTopic, record: OutgoingRecord): void {
  const size = recordSize(record) + recordOverhead;
  const sizeMax = Number(topic.configs.get('max.message.bytes'));
  if (size > sizeMax) {
    throw new FlowError(
      'RECORD_TOO_LARGE',
      `a record of ${size} bytes is too large for "${topic.name}"`,
      {
        hint: `Raise max.message.bytes of the topic; it is ${sizeMax}.`,
      },
    );
  }
  const compacted = topic.configs.get('cleanup.policy')?.includes('compact') === true;
  if (compacted && record.keyEnd < 0) {
    throw new FlowError(
      'RECORD_CORRUPT',
      `topic "${topic.name}" is compacted and takes no record without a key`,
    );
  }
}

import { performance } from 'node:perf_hooks';
import { assert } from '../../base/assert.ts';
import { FlowError } from '../../base/errors.ts';
import type { CommitResult, LogProducer, OffsetCommit, OutgoingRecord } from '../../ports/log.ts';
import { RefusedRecordError } from '../../ports/refused-record.ts';
import type { Channel, KafkaCluster } from './cluster.ts';
import { actionOf, brokerError, connectionError } from './kafka-errors.ts';
import { OutgoingBatches, type SealedBatch } from './outgoing-batches.ts';
import { openProducerId, type ProducerId } from './producer-id.ts';
import {
  announcePartitions,
  commitOffsets,
  endTransaction,
  type Route,
  type Transaction,
} from './transaction-requests.ts';
import type { Compression } from './wire/compression.ts';
import { endTxn } from './wire/end-txn.ts';
import { type ProducedPartition, produce } from './wire/produce.ts';
import { RecordBatchCursor } from './wire/record-batch-reader.ts';
import { txnOffsetCommit } from './wire/txn-offset-commit.ts';

export type ProducerSettings = {
  readonly transactionalId: string | undefined;
  /** Asked before each write without transactions. */
  readonly mayWrite: () => boolean;
  readonly transactionTimeoutMs: number;
  readonly transactionsV2: boolean;
  readonly compression: Compression;
  /** max.message.bytes of a topic, where it is known. */
  readonly batchBytesMaxOf: (topic: string) => number | undefined;
  readonly refreshBatchBytesMax: (topic: string) => Promise<void>;
  readonly onClose: () => void;
};

const batchBytesDefault = 900_000;
/** Of one request. */
const requestBytesMax = 8 << 20;

/** Opens a producer; with a transactional id whoever had it before is fenced, and its transaction ended. */
export async function openKafkaProducer(
  cluster: KafkaCluster,
  settings: ProducerSettings,
): Promise<KafkaProducer> {
  const channel = cluster.openChannel();
  try {
    const connection = await channel.anyConnection();
    const isV2 =
      settings.transactionsV2 &&
      (connection.features.get('transaction.version') ?? 0) >= 2 &&
      (connection.versionOf(produce) ?? 0) >= 12 &&
      (connection.versionOf(txnOffsetCommit) ?? 0) >= 5 &&
      (connection.versionOf(endTxn) ?? 0) >= 5;
    const id = await openProducerId(cluster, channel, { ...settings, current: undefined });
    return new KafkaProducer(cluster, channel, settings, { id, isV2 });
  } catch (error) {
    channel.close();
    throw error;
  }
}

type Waiter = { readonly isDone: () => boolean; resolve(): void; reject(error: FlowError): void };

/**
 * Sends batches as they fill, one on its way for each partition, and ends transactions. Records that are appended while a
 * commit runs belong to the next one, and are not sent before it is over.
 *
 * Transactions V2 (KIP-890) where the cluster has them: partitions and groups join a transaction by being written to, and
 * every end brings a new epoch, so that nothing late can reach the next transaction. Else each is announced first.
 *
 * Invariants: offsets are committed only with a member's generation, never without; after a failure nothing more is
 * sent until `abort`; when the outcome of a commit is unknown, or another producer has taken over, nothing ever.
 */
export class KafkaProducer implements LogProducer {
  readonly #cluster: KafkaCluster;
  readonly #channel: Channel;
  readonly #route: Route;
  readonly #settings: ProducerSettings;
  readonly #isV2: boolean;
  readonly #partitions = new Map<string, OutgoingBatches>();
  /** Of the topic that was appended to last, by partition: what `#partitions` has of it. */
  #lastTopic: string | undefined;
  #lastBatches: (OutgoingBatches | undefined)[] = [];
  readonly #waiters = new Set<Waiter>();
  /** "topic/partition" → offset after the last record acknowledged in this transaction. */
  #ends = new Map<string, number>();
  #id: ProducerId;
  /** The transaction that may be sent, and the one that appended records belong to: one more while a commit runs. */
  #transaction = 0;
  #appending = 0;
  #hasRecords = false;
  #pendingBytes = 0;
  /** Something was sent in the transaction: it has to be ended. */
  #isOpen = false;
  /** Without V2: what was announced. */
  #announced = new Set<string>();
  #isAnnouncing = false;
  #isFlushing = false;
  #isPumpScheduled = false;
  #requestsOnTheWay = 0;
  readonly #whenSettled: (() => void)[] = [];
  #committing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failure: FlowError | undefined;
  #isUnusable = false;
  #isClosed = false;

  constructor(
    cluster: KafkaCluster,
    channel: Channel,
    settings: ProducerSettings,
    opened: { readonly id: ProducerId; readonly isV2: boolean },
  ) {
    this.#cluster = cluster;
    this.#channel = channel;
    this.#route = { cluster, channel };
    this.#settings = settings;
    this.#id = opened.id;
    this.#isV2 = opened.isV2;
  }

  get transactionalId(): string | undefined {
    return this.#settings.transactionalId;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  append(topic: string, partition: number, record: OutgoingRecord): void {
    // The failure is told by drain and commit; until the abort everything is dropped anyway.
    if (this.#failure !== undefined || this.#isClosed) return;
    const batches = this.#batchesOf(topic, partition);
    try {
      this.#pendingBytes += batches.append(record, this.#appending);
      this.#hasRecords = true;
    } catch (error) {
      this.#fail(connectionError(error, `topic "${topic}" partition ${partition}`));
      return;
    }
    if (batches.hasNext(this.#transaction, false)) this.#schedulePump();
  }

  /** Most records go where the one before them went, or next to it: no text is put together for them. */
  #batchesOf(topic: string, partition: number): OutgoingBatches {
    if (topic !== this.#lastTopic) {
      this.#lastTopic = topic;
      this.#lastBatches = [];
    }
    const known = this.#lastBatches[partition];
    if (known !== undefined) return known;
    const key = `${topic}/${partition}`;
    let batches = this.#partitions.get(key);
    if (batches === undefined) {
      const { compression } = this.#settings;
      batches = new OutgoingBatches(topic, partition, compression, () =>
        this.#batchBytesMax(topic),
      );
      this.#partitions.set(key, batches);
    }
    this.#lastBatches[partition] = batches;
    return batches;
  }

  /** Compression may add a little to bytes that are random already. */
  #batchBytesMax(topic: string): number {
    const limit = this.#settings.batchBytesMaxOf(topic) ?? batchBytesDefault;
    return Math.min(batchBytesDefault, Math.floor(limit * 0.98) - 64);
  }

  async drain(pendingBytesMax: number): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#pendingBytes <= pendingBytesMax) return;
    await this.#flushUntil(() => this.#pendingBytes <= pendingBytesMax);
  }

  async commit(commits: readonly OffsetCommit[]): Promise<CommitResult> {
    assert(this.#committing === undefined, 'one commit runs at a time');
    const committing = this.#commit(commits);
    this.#committing = committing.then(
      () => {},
      () => {},
    );
    try {
      return await committing;
    } finally {
      this.#committing = undefined;
    }
  }

  async #commit(commits: readonly OffsetCommit[]): Promise<CommitResult> {
    this.#assertUsable();
    const withOffsets = commits.filter((commit) => commit.offsets.length > 0);
    if (!this.#hasRecords && withOffsets.length === 0) return { ends: new Map() };
    this.#appending += 1;
    this.#hasRecords = false;
    const transaction = this.#transaction;
    const startedMs = performance.now();
    let flushedMs = startedMs;
    let offsetsMs = startedMs;
    try {
      await this.#flushUntil(() =>
        [...this.#partitions.values()].every((batches) => batches.isEmpty(transaction)),
      );
      flushedMs = performance.now();
      for (const commit of withOffsets) await this.#commitOffsets(commit);
      offsetsMs = performance.now();
      if (this.#isOpen) await this.#end(true);
    } catch (error) {
      const failure = connectionError(error, this.#where);
      this.#fail(failure);
      // Readers must not wait for a transaction that will never be committed.
      await this.#endAfterFailure();
      throw failure;
    }
    const ends = this.#ends;
    this.#beginNext();
    const phases = {
      flush: flushedMs - startedMs,
      sendOffsets: offsetsMs - flushedMs,
      endTransaction: performance.now() - offsetsMs,
    };
    return { ends, phases };
  }

  #beginNext(): void {
    this.#ends = new Map();
    this.#announced = new Set();
    this.#transaction = this.#appending;
    this.#schedulePump();
  }

  async abort(): Promise<void> {
    if (this.#isUnusable) throw this.#failure ?? this.#closedError();
    if (this.#isUntouched) return;
    this.#failure ??= new FlowError('TRANSACTION_ABORTED', `${this.#where}: aborted`);
    this.#rejectWaiters(this.#failure);
    await this.#committing;
    await this.#settle();
    this.#drop();
    if (this.#isOpen) await this.#endOrGiveUp(false);
    // What was sealed and not sent leaves a gap in the sequences, which only a new epoch forgets; V2 brings one with every end.
    if (!this.#isV2 || this.transactionalId === undefined) await this.#renewId();
    this.#appending += 1;
    this.#failure = undefined;
    this.#hasRecords = false;
    this.#beginNext();
  }

  /** There is nothing to abort: a request for it would be refused by some brokers, and cost an epoch with the others. */
  get #isUntouched(): boolean {
    const isBusy = this.#committing !== undefined || this.#requestsOnTheWay > 0;
    return this.#failure === undefined && !isBusy && !this.#isOpen && !this.#hasRecords;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    if (!this.#isUnusable && !this.#cluster.isClosed) {
      this.#fail(this.#closedError());
      await this.#settle();
      await this.#endAfterFailure();
    }
    this.#isClosed = true;
    this.#isUnusable = true;
    this.#fail(this.#closedError());
    clearTimeout(this.#timer);
    this.#channel.close();
    this.#settings.onClose();
  }

  // Sending

  async #flushUntil(isDone: () => boolean): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (isDone()) return;
    this.#isFlushing = true;
    await new Promise<void>((resolve, reject) => {
      this.#waiters.add({ isDone, resolve, reject });
      this.#schedulePump();
    });
  }

  #schedulePump(): void {
    if (this.#isPumpScheduled) return;
    this.#isPumpScheduled = true;
    queueMicrotask(() => {
      this.#isPumpScheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    this.#resolveWaiters();
    if (this.#failure !== undefined || this.#isClosed) return;
    const now = performance.now();
    let nextRetryAt = Number.POSITIVE_INFINITY;
    const ready: OutgoingBatches[] = [];
    for (const batches of this.#partitions.values()) {
      if (batches.isBusy || !batches.hasNext(this.#transaction, this.#isFlushing)) continue;
      if (batches.retryAt > now) nextRetryAt = Math.min(nextRetryAt, batches.retryAt);
      else ready.push(batches);
    }
    if (ready.length > 0 && this.#areAnnounced(ready)) this.#sendAll(ready);
    clearTimeout(this.#timer);
    if (nextRetryAt < Number.POSITIVE_INFINITY) {
      this.#timer = setTimeout(() => this.#schedulePump(), nextRetryAt - now + 1);
    }
  }

  #resolveWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.isDone()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
    if (this.#waiters.size === 0) this.#isFlushing = false;
  }

  #rejectWaiters(failure: FlowError): void {
    for (const waiter of this.#waiters) waiter.reject(failure);
    this.#waiters.clear();
    this.#isFlushing = false;
  }

  #fail(failure: FlowError): void {
    this.#failure ??= failure;
    if (this.#failure.code === 'PRODUCER_FENCED') this.#isUnusable = true;
    this.#rejectWaiters(this.#failure);
  }

  /** Before V2 a partition has to be announced to the coordinator before it is written to. */
  #areAnnounced(ready: readonly OutgoingBatches[]): boolean {
    const transaction = this.#openTransaction;
    if (transaction === undefined || this.#isV2) return true;
    const missing = ready.filter((batches) => !this.#announced.has(keyOf(batches)));
    if (missing.length === 0) return true;
    if (this.#isAnnouncing) return false;
    this.#isAnnouncing = true;
    this.#track(
      this.#announce(transaction, missing).finally(() => {
        this.#isAnnouncing = false;
      }),
    );
    return false;
  }

  async #announce(transaction: Transaction, missing: readonly OutgoingBatches[]): Promise<void> {
    this.#isOpen = true;
    await announcePartitions(this.#route, transaction, missing);
    for (const batches of missing) this.#announced.add(keyOf(batches));
  }

  /** Counts a request as on its way until it is over, and fails the producer when it fails. */
  #track(request: Promise<void>): void {
    this.#requestsOnTheWay += 1;
    request
      .catch((error: unknown) => this.#fail(connectionError(error, this.#where)))
      .finally(() => {
        this.#requestsOnTheWay -= 1;
        if (this.#requestsOnTheWay === 0) for (const wake of this.#whenSettled.splice(0)) wake();
        this.#schedulePump();
      });
  }

  #sendAll(ready: readonly OutgoingBatches[]): void {
    const byLeader = new Map<number, OutgoingBatches[]>();
    const homeless: OutgoingBatches[] = [];
    for (const batches of ready) {
      const leader = this.#cluster.knownLeader(batches.topic, batches.partition);
      if (leader === undefined) homeless.push(batches);
      else byLeader.set(leader, [...(byLeader.get(leader) ?? []), batches]);
    }
    if (homeless.length > 0) this.#lookUp(homeless);
    for (const [leader, group] of byLeader) this.#send(leader, group);
  }

  #lookUp(homeless: readonly OutgoingBatches[]): void {
    for (const batches of homeless) batches.isBusy = true;
    const topics = [...new Set(homeless.map((batches) => batches.topic))];
    this.#track(
      this.#cluster
        .refreshTopics(topics)
        .then(() => {
          for (const batches of homeless) {
            const { topic, partition } = batches;
            if (this.#cluster.knownLeader(topic, partition) !== undefined) continue;
            const isThere = this.#cluster.knownTopic(topic) !== undefined;
            this.#retryLater(batches, brokerError(isThere ? 5 : 3, nameOf(batches)));
          }
        })
        .catch((error: unknown) => {
          const failure = connectionError(error, this.#where);
          for (const batches of homeless) this.#retryLater(batches, failure);
        })
        .finally(() => {
          for (const batches of homeless) batches.isBusy = false;
        }),
    );
  }

  #send(leader: number, group: readonly OutgoingBatches[]): void {
    // Asked here, with nothing in between that could take time: without transactions no broker refuses what comes late.
    if (this.transactionalId === undefined && !this.#settings.mayWrite()) {
      this.#fail(
        new FlowError('TASK_MIGRATED', `${this.#where}: the session of this instance is over`, {
          detail: 'What it has collected may be the work of another instance by now.',
        }),
      );
      return;
    }
    const sent = new Map<string, { batches: OutgoingBatches; batch: SealedBatch }>();
    let requestBytes = 0;
    for (const batches of group) {
      if (requestBytes > requestBytesMax) break;
      const batch = batches.next({
        ...this.#id,
        transactional: this.transactionalId !== undefined,
      });
      if (batch === undefined) continue;
      batches.isBusy = true;
      requestBytes += batch.bytes.length;
      sent.set(keyOf(batches), { batches, batch });
    }
    // The rest goes at once, in a request of its own.
    if (sent.size < group.length) this.#schedulePump();
    if (this.transactionalId !== undefined) this.#isOpen = true;
    const transaction = this.#transaction;
    this.#track(
      this.#produce(leader, sent)
        .then((answers) => {
          for (const answer of answers) {
            const entry = sent.get(keyOf(answer));
            if (entry === undefined || transaction !== this.#transaction) continue;
            this.#acknowledge(entry.batches, entry.batch, answer);
            sent.delete(keyOf(answer));
          }
          if (sent.size > 0) throw brokerError(13, `broker ${leader}`);
        })
        .catch((error: unknown) => {
          const failure = connectionError(error, `broker ${leader}`);
          for (const { batches } of sent.values()) this.#retryLater(batches, failure);
        })
        .finally(() => {
          for (const batches of group) batches.isBusy = false;
        }),
    );
  }

  async #produce(
    leader: number,
    sent: ReadonlyMap<string, { readonly batches: OutgoingBatches; readonly batch: SealedBatch }>,
  ): Promise<readonly ProducedPartition[]> {
    const { requestTimeoutMs } = this.#cluster.settings;
    const answer = await this.#channel.request(
      leader,
      produce,
      {
        transactionalId: this.transactionalId ?? null,
        acks: -1,
        timeoutMs: requestTimeoutMs,
        partitions: [...sent.values()].map(({ batches, batch }) => ({
          topic: batches.topic,
          partition: batches.partition,
          batch: batch.bytes,
        })),
      },
      {
        timeoutMs: requestTimeoutMs + 5_000,
        versionMax: this.#isV2 ? produce.maxVersion : 11,
      },
    );
    return answer.partitions;
  }

  #acknowledge(batches: OutgoingBatches, batch: SealedBatch, answer: ProducedPartition): void {
    const { errorCode } = answer;
    if (errorCode === 0) {
      this.#ends.set(keyOf(batches), answer.baseOffset + batch.recordCount);
      this.#pendingBytes -= batch.plainBytes;
      batches.acknowledge();
      return;
    }
    const failure = brokerError(errorCode, nameOf(batches), answer.errorMessage);
    if (actionOf(errorCode) !== 'fail') {
      this.#retryLater(batches, failure);
      return;
    }
    if (failure.code === 'RECORD_TOO_LARGE') this.#failTooLarge(batches, batch);
    else this.#fail(failure);
  }

  /** The limit may be lower than it was when the batch was filled: it is learnt before the failure is told, so that the next try heeds it. */
  #failTooLarge(batches: OutgoingBatches, batch: SealedBatch): void {
    batches.retryAt = Number.POSITIVE_INFINITY;
    this.#track(
      this.#settings
        .refreshBatchBytesMax(batches.topic)
        .catch(() => {})
        .then(() => this.#fail(this.#tooLarge(batches, batch))),
    );
  }

  #tooLarge(batches: OutgoingBatches, batch: SealedBatch): FlowError {
    const where = nameOf(batches);
    if (batch.recordCount > 1) {
      return new FlowError('TRANSACTION_ABORTED', `${where}: the topic takes smaller batches now`, {
        detail: `A batch of ${batch.recordCount} records and ${batch.bytes.length} bytes was refused.`,
      });
    }
    const { topic, partition } = batches;
    return new RefusedRecordError({
      topic,
      partition,
      key: keyOfFirst(batches, batch),
      size: `The record has ${batch.plainBytes} bytes, ${batch.bytes.length} when compressed.`,
    });
  }

  #retryLater(batches: OutgoingBatches, failure: FlowError): void {
    const isMissing = failure.code === 'TOPIC_MISSING';
    if (failure.remedy !== 'retry' && !isMissing) {
      this.#fail(failure);
      return;
    }
    const now = performance.now();
    batches.failures += 1;
    batches.failingSince ??= now;
    const patienceMs = isMissing ? 5_000 : this.#cluster.settings.retryMs;
    if (now - batches.failingSince > patienceMs) {
      this.#fail(failure);
      return;
    }
    // A transaction that is still ending takes milliseconds; elections take longer.
    const pauseMs = Math.min(2 ** Math.min(batches.failures + 1, 9), 500);
    batches.retryAt = now + pauseMs * (0.75 + Math.random() / 2);
    if (failure.code !== 'BROKER_TIMEOUT') {
      this.#cluster.refreshTopics([batches.topic]).catch(() => {});
    }
  }

  // Transactions

  get #openTransaction(): Transaction | undefined {
    const { transactionalId } = this;
    return transactionalId === undefined
      ? undefined
      : { transactionalId, id: this.#id, isV2: this.#isV2 };
  }

  async #commitOffsets(commit: OffsetCommit): Promise<void> {
    const transaction = this.#openTransaction;
    if (transaction !== undefined) this.#isOpen = true;
    await commitOffsets(this.#route, transaction, commit);
  }

  async #end(committed: boolean): Promise<void> {
    const transaction = this.#openTransaction;
    if (transaction === undefined) return;
    const outcome = await endTransaction(this.#route, transaction, committed);
    if (!outcome.isKnown) {
      this.#isUnusable = true;
      throw outcome.error;
    }
    this.#isOpen = false;
    if (outcome.next !== undefined) this.#useId(outcome.next);
  }

  /** As `#end`; after a failure the producer is of no more use. */
  async #endOrGiveUp(committed: boolean): Promise<void> {
    try {
      await this.#end(committed);
    } catch (error) {
      this.#isUnusable = true;
      this.#failure = connectionError(error, this.#where);
      throw this.#failure;
    }
  }

  async #endAfterFailure(): Promise<void> {
    if (!this.#isOpen || this.#isUnusable) return;
    await this.#settle();
    const failure = this.#failure;
    await this.#endOrGiveUp(false).catch(() => {});
    // The failure before it is the one to tell.
    this.#failure = failure;
  }

  /** Waits until nothing is on its way any more. Nothing new is sent meanwhile, since there is a failure. */
  async #settle(): Promise<void> {
    assert(this.#failure !== undefined, 'only a producer that stopped can settle');
    if (this.#requestsOnTheWay === 0) return;
    await new Promise<void>((resolve) => this.#whenSettled.push(resolve));
  }

  #drop(): void {
    this.#partitions.clear();
    this.#lastTopic = undefined;
    this.#pendingBytes = 0;
  }

  async #renewId(): Promise<void> {
    const isTransactional = this.transactionalId !== undefined;
    try {
      const id = await openProducerId(this.#cluster, this.#channel, {
        ...this.#settings,
        current: isTransactional ? this.#id : undefined,
      });
      this.#useId(id);
    } catch (error) {
      const failure = connectionError(error, this.#where);
      this.#isUnusable = true;
      this.#failure = failure;
      throw failure;
    }
  }

  #useId(id: ProducerId): void {
    this.#id = { producerId: id.producerId, producerEpoch: id.producerEpoch };
    for (const batches of this.#partitions.values()) batches.resetSequence();
  }

  #assertUsable(): void {
    if (this.#isClosed) throw this.#closedError();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #closedError(): FlowError {
    return new FlowError('BROKER_UNAVAILABLE', `${this.#where}: closed`);
  }

  get #where(): string {
    return this.transactionalId === undefined ? 'producer' : `producer "${this.transactionalId}"`;
  }
}

function keyOf(item: { readonly topic: string; readonly partition: number }): string {
  return `${item.topic}/${item.partition}`;
}

/** The key of the first record of a batch; undefined: it has none. */
function keyOfFirst(
  { topic, partition }: OutgoingBatches,
  { bytes }: SealedBatch,
): string | undefined {
  const abortedTransactions = null;
  const decompressedBytesMax = Number.POSITIVE_INFINITY;
  const set = { topic, partition, bytes, position: 0, abortedTransactions, decompressedBytesMax };
  const cursor = new RecordBatchCursor(set);
  if (!cursor.next() || cursor.keyEnd < 0) return undefined;
  return cursor.bytes.toString(
    'utf8',
    cursor.keyStart,
    Math.min(cursor.keyEnd, cursor.keyStart + 200),
  );
}

function nameOf(item: { readonly topic: string; readonly partition: number }): string {
  return `topic "${item.topic}" partition ${item.partition}`;
}

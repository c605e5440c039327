import { FlowError } from '../../base/errors.ts';
import type { LogReader, OffsetRange, Slice } from '../../ports/log.ts';
import type { Channel, KafkaCluster } from './cluster.ts';
import { actionOf, brokerError, connectionError } from './kafka-errors.ts';
import { offsetsAt } from './leader-requests.ts';
import { type FetchedPartition, fetch } from './wire/fetch.ts';
import { EARLIEST_OFFSET, LATEST_OFFSET } from './wire/list-offsets.ts';
import { RecordBatchCursor } from './wire/record-batch-reader.ts';
import { zeroUuid } from './wire/response-reader.ts';

export type ReaderSettings = {
  readonly aheadBytesMax: number;
  readonly partitionBytesMax: number;
  readonly waitMs: number;
  readonly byTopicId: boolean;
  /** The id that the topic had when it was described, or undefined. */
  readonly topicIdOf: (topic: string) => string | undefined;
  readonly onTrouble: (text: string) => void;
  readonly onClose: () => void;
};

type ReadPartition = {
  readonly topic: string;
  readonly partition: number;
  /** undefined: not looked up yet. All zero: the cluster has no ids. */
  topicId: string | undefined;
  /** Where the next fetch begins. */
  position: number;
  range: OffsetRange | undefined;
  readonly slices: Slice[];
  bufferedBytes: number;
  /** A request that names it is on its way. */
  isBusy: boolean;
  /** Others took the whole room of the last reply: it comes first in the next. */
  isStarved: boolean;
  needsLookUp: boolean;
  failures: number;
  retryAt: number;
  missingSince: number | undefined;
};

/** Slices of one partition that may wait; with the one that is processed and the one on its way that is enough. */
const slicesAheadMax = 2;
/** Two requests may be on their way to a broker: one that waits for records must not hold up partitions that it does not name. */
const lanesMax = 2;
/** After this long without news a request waits for longer: a service at rest wakes up for little. */
const calmAfterMs = 5_000;
const calmWaitMs = 2_000;
const backoffMsMax = 1_000;
const missingMsMax = 15_000;
const idCheckMs = 10_000;

/**
 * Fetches ahead from every leader at once and hands slices out one a partition. Nothing here loops: each event
 * (an answer, a poll, an assignment, a timer) looks for work with `#pump`. Invariants: a partition is named by at
 * most one request on its way; its slices leave in order and without gaps; what answers to an earlier
 * assignment is dropped, since that was another object; a partition with a fault gives nothing more.
 */
export class KafkaReader implements LogReader {
  readonly #cluster: KafkaCluster;
  readonly #settings: ReaderSettings;
  readonly #partitions = new Map<string, ReadPartition>();
  readonly #ready = new Set<ReadPartition>();
  readonly #faults: FlowError[] = [];
  readonly #lanes: Channel[] = [];
  /** "lane/node" of the requests on their way, and whether it is one that waits for long. */
  readonly #busyLanes = new Map<string, boolean>();
  #bytesAhead = 0;
  #bytesExpected = 0;
  #isPumpScheduled = false;
  #isLookingUp = false;
  #rotation = 0;
  /** When a partition was assigned or gave records last. */
  #newsAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #idCheck: NodeJS.Timeout | undefined;
  #endPoll: (() => void) | undefined;
  #isClosed = false;

  constructor(cluster: KafkaCluster, settings: ReaderSettings) {
    this.#cluster = cluster;
    this.#settings = settings;
  }

  assign(topic: string, partition: number, offset: number): void {
    this.unassign(topic, partition);
    this.#newsAt = performance.now();
    this.#partitions.set(keyOf(topic, partition), {
      topic,
      partition,
      topicId: this.#settings.topicIdOf(topic),
      position: offset,
      range: undefined,
      slices: [],
      bufferedBytes: 0,
      isBusy: false,
      isStarved: false,
      needsLookUp: false,
      failures: 0,
      retryAt: 0,
      missingSince: undefined,
    });
    this.#schedulePump();
  }

  unassign(topic: string, partition: number): void {
    const key = keyOf(topic, partition);
    const found = this.#partitions.get(key);
    if (found === undefined) return;
    this.#partitions.delete(key);
    this.#ready.delete(found);
    this.#bytesAhead -= found.bufferedBytes;
    this.#schedulePump();
  }

  async poll(maxWaitMs: number): Promise<readonly Slice[]> {
    if (this.#isClosed) throw new FlowError('BROKER_UNAVAILABLE', 'reader is closed');
    if (this.#ready.size === 0 && this.#faults.length === 0 && maxWaitMs > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, maxWaitMs);
        this.#endPoll = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#endPoll = undefined;
    }
    const fault = this.#faults.shift();
    if (fault !== undefined) throw fault;
    return this.#take();
  }

  #take(): readonly Slice[] {
    const slices: Slice[] = [];
    for (const partition of this.#ready) {
      const slice = partition.slices.shift();
      if (slice !== undefined) {
        slices.push(slice);
        partition.bufferedBytes -= slice.byteLength;
        this.#bytesAhead -= slice.byteLength;
      }
      if (partition.slices.length === 0) this.#ready.delete(partition);
    }
    if (slices.length > 0) this.#schedulePump();
    return slices;
  }

  wake(): void {
    this.#endPoll?.();
  }

  range(topic: string, partition: number): OffsetRange | undefined {
    return this.#partitions.get(keyOf(topic, partition))?.range;
  }

  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#idCheck);
    this.#partitions.clear();
    this.#ready.clear();
    for (const lane of this.#lanes) lane.close();
    this.wake();
    this.#settings.onClose();
    return Promise.resolve();
  }

  /** At the end of the turn, so that a burst of assignments makes one request. */
  #schedulePump(): void {
    if (this.#isPumpScheduled || this.#isClosed) return;
    this.#isPumpScheduled = true;
    queueMicrotask(() => {
      this.#isPumpScheduled = false;
      if (!this.#isClosed) this.#pump();
    });
  }

  #pump(): void {
    const now = performance.now();
    let nextRetryAt = Number.POSITIVE_INFINITY;
    let isLookUpNeeded = false;
    const byLeader = new Map<number, ReadPartition[]>();
    for (const partition of this.#partitions.values()) {
      if (partition.isBusy || partition.slices.length >= slicesAheadMax) continue;
      if (partition.retryAt > now) {
        nextRetryAt = Math.min(nextRetryAt, partition.retryAt);
        continue;
      }
      const leader = this.#cluster.knownLeader(partition.topic, partition.partition);
      if (leader === undefined || partition.needsLookUp || partition.topicId === undefined) {
        isLookUpNeeded = true;
        partition.needsLookUp = true;
        continue;
      }
      const group = byLeader.get(leader);
      if (group === undefined) byLeader.set(leader, [partition]);
      else group.push(partition);
    }
    if (isLookUpNeeded) this.#lookUp();
    for (const [leader, group] of byLeader) this.#send(leader, group);
    clearTimeout(this.#timer);
    if (nextRetryAt < Number.POSITIVE_INFINITY) {
      this.#timer = setTimeout(() => this.#schedulePump(), nextRetryAt - now + 1);
    }
  }

  #send(leader: number, partitions: readonly ReadPartition[]): void {
    const laneIndex = this.#freeLane(leader);
    const { aheadBytesMax, partitionBytesMax } = this.#settings;
    const room = aheadBytesMax - this.#bytesAhead - this.#bytesExpected;
    if (laneIndex < 0 || (room < partitionBytesMax && room < aheadBytesMax)) return;
    const bytesMax = Math.max(Math.min(room, partitions.length * partitionBytesMax), 1);
    const isCalm = this.#isCalm(partitions);
    this.#busyLanes.set(`${laneIndex}/${leader}`, isCalm);
    this.#bytesExpected += bytesMax;
    for (const partition of partitions) partition.isBusy = true;
    const waitMs = isCalm ? Math.max(calmWaitMs, this.#settings.waitMs) : this.#settings.waitMs;
    this.#fetch(laneIndex, leader, this.#inTurn(partitions), { bytesMax, waitMs })
      .catch((error: unknown) => {
        // Whatever is thrown here is a bug; it must reach whoever polls instead of ending the process unheard.
        this.#faults.push(connectionError(error, `broker ${leader}`));
        this.wake();
      })
      .finally(() => {
        this.#busyLanes.delete(`${laneIndex}/${leader}`);
        this.#bytesExpected -= bytesMax;
        for (const partition of partitions) partition.isBusy = false;
        this.#schedulePump();
      });
  }

  /** Nobody waits for the end of a long wait: there is one lane more while there is one. */
  #freeLane(leader: number): number {
    let lanes = lanesMax;
    for (let index = 0; index < lanes; index++) {
      const isCalm = this.#busyLanes.get(`${index}/${leader}`);
      if (isCalm === undefined) return index;
      if (isCalm) lanes = lanesMax + 1;
    }
    return -1;
  }

  /** Where a transaction is open, its end and that it has none are to be heard of soon. */
  #isCalm(partitions: readonly ReadPartition[]): boolean {
    if (performance.now() - this.#newsAt < calmAfterMs) return false;
    return partitions.every(
      ({ range, position }) =>
        range !== undefined && position >= range.stable && range.stable >= range.end,
    );
  }

  /** Another one comes first each time, and those that got nothing for lack of room before all. */
  #inTurn(partitions: readonly ReadPartition[]): readonly ReadPartition[] {
    this.#rotation += 1;
    const start = this.#rotation % partitions.length;
    const turned = [...partitions.slice(start), ...partitions.slice(0, start)];
    return turned.sort((a, b) => Number(b.isStarved) - Number(a.isStarved));
  }

  #lane(index: number): Channel {
    const lane = this.#lanes[index] ?? this.#cluster.openChannel();
    this.#lanes[index] = lane;
    return lane;
  }

  async #fetch(
    laneIndex: number,
    leader: number,
    partitions: readonly ReadPartition[],
    { bytesMax, waitMs }: { readonly bytesMax: number; readonly waitMs: number },
  ): Promise<void> {
    let answers: readonly FetchedPartition[];
    try {
      const connection = await this.#lane(laneIndex).connection(leader);
      const hasIds = partitions.every((partition) => partition.topicId !== zeroUuid);
      const versionMax = this.#settings.byTopicId && hasIds ? fetch.maxVersion : 12;
      if (Math.min(versionMax, connection.versionOf(fetch) ?? 0) < 13) this.#startIdCheck();
      const response = await connection.request(
        fetch,
        {
          maxWaitMs: waitMs,
          minBytes: 1,
          maxBytes: bytesMax,
          isolation: 'read_committed',
          partitions: partitions.map((partition) => ({
            topic: partition.topic,
            topicId: partition.topicId ?? zeroUuid,
            partition: partition.partition,
            offset: partition.position,
            leaderEpoch: -1,
            maxBytes: this.#settings.partitionBytesMax,
          })),
        },
        {
          timeoutMs: this.#cluster.settings.requestTimeoutMs + waitMs,
          versionMax,
        },
      );
      if (response.errorCode !== 0) throw brokerError(response.errorCode, connection.where);
      answers = response.partitions;
    } catch (error) {
      this.#refuseAll(partitions, connectionError(error, `broker ${leader}`));
      return;
    }
    const asked = new Map<string, ReadPartition>();
    for (const partition of partitions) {
      asked.set(`${partition.topicId}/${partition.partition}`, partition);
      asked.set(keyOf(partition.topic, partition.partition), partition);
    }
    for (const answer of answers) {
      const topic = answer.topicId === zeroUuid ? answer.topic : answer.topicId;
      const partition = asked.get(keyOf(topic, answer.partition));
      if (partition !== undefined && this.#isCurrent(partition)) this.#accept(partition, answer);
    }
  }

  #isCurrent(partition: ReadPartition): boolean {
    return this.#partitions.get(keyOf(partition.topic, partition.partition)) === partition;
  }

  #accept(partition: ReadPartition, answer: FetchedPartition): void {
    if (answer.errorCode !== 0) {
      this.#refuse(partition, answer.errorCode);
      return;
    }
    partition.failures = 0;
    partition.missingSince = undefined;
    const stable = answer.lastStableOffset < 0 ? answer.highWatermark : answer.lastStableOffset;
    const range = { start: answer.logStartOffset, stable, end: answer.highWatermark };
    partition.range = range;
    if (answer.records.length === 0) {
      partition.isStarved = partition.position < stable;
      return;
    }
    let cursor: RecordBatchCursor;
    try {
      cursor = new RecordBatchCursor({
        topic: partition.topic,
        partition: partition.partition,
        bytes: answer.records,
        position: partition.position,
        abortedTransactions: answer.abortedTransactions ?? [],
      });
    } catch (error) {
      this.#fault(partition, connectionError(error, nameOf(partition)));
      return;
    }
    partition.isStarved = cursor.nextOffset <= partition.position;
    if (partition.isStarved) return;
    this.#newsAt = performance.now();
    const fromOffset = partition.position;
    partition.position = cursor.nextOffset;
    partition.slices.push({
      topic: partition.topic,
      partition: partition.partition,
      fromOffset,
      records: cursor,
      recordCountMax: cursor.recordCountMax,
      byteLength: answer.records.length,
      nextOffset: cursor.nextOffset,
      logStart: range.start,
      stableOffset: range.stable,
      highWatermark: range.end,
    });
    partition.bufferedBytes += answer.records.length;
    this.#bytesAhead += answer.records.length;
    this.#ready.add(partition);
    this.wake();
  }

  #refuse(partition: ReadPartition, errorCode: number): void {
    const failure = brokerError(errorCode, nameOf(partition));
    if (errorCode === 1) {
      this.#outOfRange(partition).catch((error: unknown) => {
        this.#retryLater(partition, connectionError(error, nameOf(partition)));
      });
    } else if (actionOf(errorCode) === 'fail') {
      this.#fault(partition, failure);
    } else {
      this.#retryLater(partition, failure);
    }
  }

  /** The reply to an offset outside of the log does not tell where the log begins. */
  async #outOfRange(partition: ReadPartition): Promise<void> {
    const { topic, partition: number, position } = partition;
    partition.retryAt = Number.POSITIVE_INFINITY;
    const ask = (timestamp: number) =>
      offsetsAt(this.#cluster, topic, [number], { timestamp, isolation: 'read_uncommitted' });
    await this.#cluster.refreshTopics([topic]);
    if (!this.#isCurrent(partition) || !this.#verifyTopic(partition)) return;
    const start = (await ask(EARLIEST_OFFSET)).get(number) ?? 0;
    const end = (await ask(LATEST_OFFSET)).get(number) ?? 0;
    if (!this.#isCurrent(partition)) return;
    if (position >= start && position <= end) {
      // A leader that has just been elected, or a log that grew meanwhile.
      this.#retryLater(partition, brokerError(1, nameOf(partition)));
      this.#schedulePump();
      return;
    }
    const isBelow = position < start;
    const what = isBelow
      ? `offset ${position} is below the log start ${start}`
      : `offset ${position} is above the log end ${end}`;
    const lost = isBelow
      ? `${start - position} records were deleted before they were read`
      : 'The log was cut off below a position that had been read';
    this.#fault(
      partition,
      new FlowError('OFFSET_OUT_OF_RANGE', `${nameOf(partition)}: ${what}`, {
        detail: `${lost}; the log holds the offsets from ${start} to ${end}.`,
        hint: 'Retention may be shorter than the time the pipeline was behind.',
      }),
    );
  }

  /** What waiting does not cure (credentials, an old broker) has to be told. */
  #refuseAll(partitions: readonly ReadPartition[], failure: FlowError): void {
    for (const partition of partitions) {
      if (failure.remedy === 'retry') this.#retryLater(partition, failure);
      else if (this.#isCurrent(partition)) this.#fault(partition, failure);
    }
  }

  #retryLater(partition: ReadPartition, failure: FlowError): void {
    if (!this.#isCurrent(partition)) return;
    partition.failures += 1;
    // Once for a row of failures.
    if (partition.failures === 2) this.#settings.onTrouble(failure.message);
    const pauseMs = Math.min(20 * 2 ** Math.min(partition.failures, 10), backoffMsMax);
    partition.retryAt = performance.now() + pauseMs * (0.75 + Math.random() / 2);
    partition.needsLookUp = true;
  }

  #fault(partition: ReadPartition, failure: FlowError): void {
    this.unassign(partition.topic, partition.partition);
    this.#faults.push(failure);
    this.wake();
  }

  #lookUp(): void {
    if (this.#isLookingUp) return;
    this.#isLookingUp = true;
    const waiting = [...this.#partitions.values()].filter((partition) => partition.needsLookUp);
    const topics = [...new Set(waiting.map((partition) => partition.topic))];
    this.#cluster
      .refreshTopics(topics)
      .then(
        () => {
          for (const partition of waiting) this.#lookedUp(partition);
        },
        (error: unknown) => {
          this.#refuseAll(waiting, connectionError(error, 'cluster'));
        },
      )
      .finally(() => {
        this.#isLookingUp = false;
        this.#schedulePump();
      });
  }

  #lookedUp(partition: ReadPartition): void {
    if (!this.#isCurrent(partition)) return;
    const { topic, partition: number } = partition;
    const known = this.#cluster.knownTopic(topic);
    if (known?.partitions.some((item) => item.partition === number) !== true) {
      partition.missingSince ??= performance.now();
      const missing = brokerError(3, nameOf(partition));
      if (performance.now() - partition.missingSince > missingMsMax)
        this.#fault(partition, missing);
      else this.#retryLater(partition, missing);
      return;
    }
    if (!this.#verifyTopic(partition)) return;
    partition.needsLookUp = false;
    if (this.#cluster.knownLeader(topic, number) === undefined) {
      this.#retryLater(partition, brokerError(5, nameOf(partition)));
    }
  }

  /** False, and a fault, when the topic that has the name now is not the one that was assigned. */
  #verifyTopic(partition: ReadPartition): boolean {
    const id = this.#cluster.knownTopic(partition.topic)?.topicId;
    if (id === undefined) return true;
    partition.topicId ??= id;
    if (partition.topicId === id || id === zeroUuid || partition.topicId === zeroUuid) return true;
    this.#fault(
      partition,
      new FlowError('TOPIC_RECREATED', `${nameOf(partition)}: the topic was recreated`, {
        detail: `It was deleted and created again: its id was ${partition.topicId} and is ${id}. Offsets of the old topic mean nothing in the new one.`,
        hint: 'Refresh the tables that read it, or adopt the new topic from its start.',
      }),
    );
    return false;
  }

  /** Fetches by name do not notice a recreated topic: its id is asked for now and then. */
  #startIdCheck(): void {
    if (this.#idCheck !== undefined || this.#isClosed) return;
    this.#idCheck = setInterval(() => {
      const topics = new Set([...this.#partitions.values()].map((partition) => partition.topic));
      if (topics.size === 0) return;
      this.#cluster.refreshTopics([...topics]).then(
        () => {
          for (const partition of [...this.#partitions.values()]) this.#verifyTopic(partition);
        },
        () => {},
      );
    }, idCheckMs);
    this.#idCheck.unref();
  }
}

function keyOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

function nameOf(partition: { readonly topic: string; readonly partition: number }): string {
  return `topic "${partition.topic}" partition ${partition.partition}`;
}

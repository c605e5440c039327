import { FlowError } from '../../base/errors.ts';
import type { LogReader, OffsetRange, Slice } from '../../ports/log.ts';
import type { ClientLife } from './client-life.ts';
import type { MemoryBroker } from './memory-broker.ts';
import type { ReadBounds } from './memory-partition.ts';

type Position = {
  readonly topic: string;
  readonly partition: number;
  /** Of the topic as it was when reading began; undefined: it was missing. */
  readonly topicId: string | undefined;
  offset: number;
  range: OffsetRange | undefined;
};

type PositionedSlice = readonly [Position, Slice];

/** A committed reader. Invariant: each offset is given once, in order, or the poll rejects. */
export class MemoryReader implements LogReader {
  readonly #broker: MemoryBroker;
  readonly #life: ClientLife;
  readonly #bounds: ReadBounds;
  readonly #positions = new Map<string, Position>();
  #woken = false;
  #closed = false;
  #notify: (() => void) | undefined;
  #timerUntilMs: number | undefined;

  constructor(broker: MemoryBroker, life: ClientLife, bounds: ReadBounds) {
    this.#broker = broker;
    this.#life = life;
    this.#bounds = bounds;
  }

  assign(topic: string, partition: number, offset: number): void {
    const topicId = this.#broker.topic(topic)?.topicId;
    const position = { topic, partition, topicId, offset, range: undefined };
    this.#positions.set(`${topic}/${partition}`, position);
    this.#notify?.();
  }

  unassign(topic: string, partition: number): void {
    this.#positions.delete(`${topic}/${partition}`);
  }

  async poll(maxWaitMs: number): Promise<readonly Slice[]> {
    const read = await this.#life.through(() => this.#poll(maxWaitMs));
    // Whoever assigned a partition anew meanwhile wants nothing of before.
    return read.filter(([position]) => this.#isCurrent(position)).map(([, slice]) => slice);
  }

  wake(): void {
    this.#woken = true;
    this.#notify?.();
  }

  range(topic: string, partition: number): OffsetRange | undefined {
    return this.#positions.get(`${topic}/${partition}`)?.range;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#positions.clear();
    this.wake();
    return Promise.resolve();
  }

  #poll(maxWaitMs: number): readonly PositionedSlice[] | Promise<readonly PositionedSlice[]> {
    const deadlineMs = this.#broker.clock.monotonic() + maxWaitMs;
    return this.#look(deadlineMs) ?? this.#wait(deadlineMs);
  }

  async #wait(deadlineMs: number): Promise<readonly PositionedSlice[]> {
    for (;;) {
      await this.#news(this.#broker.clock.monotonic(), deadlineMs);
      const slices = this.#look(deadlineMs);
      if (slices !== undefined) return slices;
    }
  }

  /** Undefined: there is nothing yet, and time to wait. */
  #look(deadlineMs: number): readonly PositionedSlice[] | undefined {
    if (!this.#woken && !this.#closed && !this.#life.killed) {
      this.#broker.expireTransactions();
      const slices = this.#collect();
      if (slices.length > 0) return slices;
      if (this.#broker.clock.monotonic() < deadlineMs) return undefined;
    }
    this.#woken = false;
    return [];
  }

  #collect(): PositionedSlice[] {
    const read: PositionedSlice[] = [];
    for (const position of this.#positions.values()) {
      const slice = this.#read(position);
      if (slice !== undefined) read.push([position, slice]);
    }
    // Nothing is consumed before every partition was found readable: a rejected poll loses no slice.
    for (const [position, { nextOffset }] of read) position.offset = nextOffset;
    return read;
  }

  #isCurrent(position: Position): boolean {
    return this.#positions.get(`${position.topic}/${position.partition}`) === position;
  }

  #read(position: Position): Slice | undefined {
    const { topic, partition, offset } = position;
    const now = this.#broker.topic(topic);
    if (now !== undefined && position.topicId !== undefined && now.topicId !== position.topicId) {
      throw new FlowError('TOPIC_RECREATED', `topic "${topic}" was deleted and created again`, {
        detail: `Its id was ${position.topicId} and is now ${now.topicId}.`,
      });
    }
    const log = this.#broker.partition(topic, partition);
    const { logStart, stable, end } = log;
    position.range = { start: logStart, stable, end };
    if (offset < logStart || offset > end) {
      throw new FlowError(
        'OFFSET_OUT_OF_RANGE',
        `offset ${offset} of ${topic}/${partition} is outside of the log`,
        { detail: `The log holds the offsets from ${logStart} up to ${end}.` },
      );
    }
    if (offset >= stable) return undefined;
    const { records, recordCount, byteLength, nextOffset } = log.read(offset, this.#bounds);
    return {
      topic,
      partition,
      records,
      recordCountMax: recordCount,
      byteLength,
      fromOffset: offset,
      nextOffset,
      logStart,
      stableOffset: stable,
      highWatermark: end,
    };
  }

  /** Waits for an event; the clock only bounds the wait. */
  async #news(nowMs: number, deadlineMs: number): Promise<void> {
    const stop = this.#broker.onNews(() => this.#notify?.());
    const news = new Promise<void>((resolve) => {
      this.#notify = resolve;
    });
    this.#startTimer(nowMs, deadlineMs);
    await news;
    this.#notify = undefined;
    stop();
  }

  /** One timer serves all polls that end later, so that busy polling leaves no pile of timers behind. */
  #startTimer(nowMs: number, deadlineMs: number): void {
    if (this.#timerUntilMs !== undefined && this.#timerUntilMs <= deadlineMs) return;
    this.#timerUntilMs = deadlineMs;
    void this.#broker.clock.sleep(deadlineMs - nowMs).then(() => {
      this.#timerUntilMs = undefined;
      this.#notify?.();
    });
  }
}

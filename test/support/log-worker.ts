import { FlowError } from '../../src/base/errors.ts';
import type {
  Assignment,
  GroupMember,
  Log,
  LogProducer,
  LogReader,
  OutgoingRecord,
} from '../../src/ports/log.ts';

/** One outgoing record of texts; null stays null. */
export function textRecord(key: string | null, value: string | null): OutgoingRecord {
  const keyBytes = Buffer.from(key ?? '');
  const valueBytes = Buffer.from(value ?? '');
  return {
    key: keyBytes,
    keyStart: 0,
    keyEnd: key === null ? -1 : keyBytes.length,
    value: valueBytes,
    valueStart: 0,
    valueEnd: value === null ? -1 : valueBytes.length,
    headers: keyBytes,
    headersStart: 0,
    headersEnd: 0,
    // An old one would let the broker's retention take the record away in the middle of a test.
    timestampMs: Date.now(),
  };
}

/** Writes values round robin over the partitions, without a transaction. */
export async function fillTopic(
  log: Log,
  topic: string,
  partitions: number,
  values: readonly string[],
): Promise<void> {
  const producer = await log.openProducer(undefined);
  values.forEach((value, index) => {
    producer.append(topic, index % partitions, textRecord(value, value));
  });
  await producer.commit([]);
  await producer.close();
}

/** All committed values of a topic, once no transaction is open in it. */
export async function readTopic(log: Log, topic: string, partitions: number): Promise<string[]> {
  const all = Array.from({ length: partitions }, (_, partition) => partition);
  const ends = new Map<number, number>();
  const deadline = Date.now() + 60_000;
  for (;;) {
    const ranges = await log.offsetRanges(topic, all);
    for (const [partition, { end }] of ranges) ends.set(partition, end);
    if ([...ranges.values()].every(({ stable, end }) => stable === end)) break;
    if (Date.now() > deadline) throw new Error(`still open: ${topic}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const starts = await log.offsetRanges(topic, all);
  const reader = log.openReader();
  const left = new Set(all.filter((partition) => (ends.get(partition) ?? 0) > 0));
  for (const partition of left) reader.assign(topic, partition, starts.get(partition)?.start ?? 0);
  const values: string[] = [];
  while (left.size > 0) {
    for (const slice of await reader.poll(10_000)) {
      const { records } = slice;
      while (records.next()) {
        values.push(records.bytes.toString('utf8', records.valueStart, records.valueEnd));
      }
      if (slice.nextOffset >= (ends.get(slice.partition) ?? 0)) left.delete(slice.partition);
    }
  }
  await reader.close();
  return values;
}

/**
 * The smallest exactly-once worker: copies a topic to another of as many partitions, and goes on after every error that has
 * a remedy, from the committed offsets. It stands in for the runtime in tests of the log alone.
 */
export class CopyWorker {
  /** Codes of the errors that it went on after. */
  readonly recovered: string[] = [];
  /** Resolves at the end of each round, so that a test may hold the worker up. */
  onRound: () => Promise<void> = () => Promise.resolve();
  readonly #log: Log;
  readonly #source: string;
  readonly #target: string;
  readonly #transactionalId: string;
  readonly #member: GroupMember;
  readonly #positions = new Map<number, number>();
  #reader: LogReader;
  #producer: LogProducer | undefined;
  #assignment: Assignment | undefined;
  #isStopped = false;

  constructor(
    log: Log,
    options: {
      readonly source: string;
      readonly target: string;
      readonly group: string;
      readonly transactionalId: string;
      readonly instanceId?: string;
      readonly sessionTimeoutMs?: number;
    },
  ) {
    this.#log = log;
    this.#source = options.source;
    this.#target = options.target;
    this.#transactionalId = options.transactionalId;
    this.#reader = log.openReader();
    this.#member = log.joinGroup({
      group: options.group,
      topics: [options.source],
      instanceId: options.instanceId,
      sessionTimeoutMs: options.sessionTimeoutMs ?? 10_000,
      rebalanceTimeoutMs: 10_000,
    });
  }

  get member(): GroupMember {
    return this.#member;
  }

  async run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#round();
      } catch (error) {
        const remedy = error instanceof FlowError ? error.remedy : undefined;
        if (!(error instanceof FlowError) || (remedy !== 'retry' && remedy !== 'rejoin')) {
          throw error;
        }
        this.recovered.push(error.code);
        await this.#producer?.close();
        this.#producer = undefined;
        this.#assignment = undefined;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    await this.#producer?.close();
    await this.#reader.close();
    await this.#member.leave();
  }

  stop(): void {
    this.#isStopped = true;
    this.#reader.wake();
  }

  async #round(): Promise<void> {
    if (this.#assignment === undefined || this.#member.status !== 'stable') await this.#takeOver();
    const producer = this.#producer;
    const identity = this.#assignment?.identity;
    if (producer === undefined || identity === undefined) return;
    let isEmpty = true;
    for (const slice of await this.#reader.poll(50)) {
      const { records } = slice;
      while (records.next()) {
        const { bytes, timestampMs } = records;
        producer.append(this.#target, slice.partition, {
          key: bytes,
          keyStart: records.keyStart,
          keyEnd: records.keyEnd,
          value: bytes,
          valueStart: records.valueStart,
          valueEnd: records.valueEnd,
          headers: bytes,
          headersStart: records.headersStart,
          headersEnd: records.headersEnd,
          timestampMs,
        });
      }
      this.#positions.set(slice.partition, slice.nextOffset);
      isEmpty = false;
    }
    await this.onRound();
    if (isEmpty) return;
    const offsets = [...this.#positions].map(([partition, offset]) => ({
      topic: this.#source,
      partition,
      offset,
      metadata: '',
    }));
    await producer.commit([{ member: identity, offsets }]);
  }

  async #takeOver(): Promise<void> {
    if (this.#assignment === undefined || this.#member.status !== 'stable') {
      this.#assignment = await this.#member.rejoin();
    }
    await this.#producer?.close();
    this.#producer = await this.#log.openProducer(this.#transactionalId);
    await this.#reader.close();
    this.#reader = this.#log.openReader();
    this.#positions.clear();
    const { group } = this.#assignment.identity;
    const partitions = this.#assignment.partitions.get(this.#source) ?? [];
    const committed = await this.#log.committedOffsets(group, this.#source, partitions);
    for (const partition of partitions) {
      this.#reader.assign(this.#source, partition, committed.get(partition)?.offset ?? 0);
    }
  }
}

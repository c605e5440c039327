import { KafkaCluster } from '../../src/adapters/kafka/cluster.ts';
import { fetch } from '../../src/adapters/kafka/wire/fetch.ts';
import { zeroUuid } from '../../src/adapters/kafka/wire/response-reader.ts';

/** A batch as it lies in the log, aborted and open ones included. */
export type LoggedBatch = {
  readonly baseOffset: number;
  readonly lastOffset: number;
  /** Numbers the transactions of a partition from 1; 0: the batch is of none. */
  readonly transaction: number;
  readonly outcome: 'committed' | 'aborted' | 'open';
};

/**
 * The batches of one partition and how their transactions ended, from the headers and markers alone: nothing here is
 * shared with the product's own reading of them.
 */
export async function readTransactions(
  brokers: string,
  topic: string,
  partition: number,
): Promise<LoggedBatch[]> {
  const cluster = new KafkaCluster({
    brokers: brokers.split(','),
    clientId: 'transactions',
    connectTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    retryMs: 30_000,
  });
  try {
    await cluster.connect();
    const leader = await cluster.leader(topic, partition);
    const topicId = cluster.knownTopic(topic)?.topicId ?? zeroUuid;
    const scan = new Scan();
    for (let position = 0, isAtEnd = false; !isAtEnd; position = scan.nextOffset) {
      const answer = await cluster.control.request(leader, fetch, {
        maxWaitMs: 0,
        minBytes: 0,
        maxBytes: 8 << 20,
        isolation: 'read_uncommitted',
        partitions: [
          { topic, topicId, partition, offset: position, leaderEpoch: -1, maxBytes: 8 << 20 },
        ],
      });
      const [found] = answer.partitions;
      if (found === undefined || found.errorCode !== 0) {
        throw new Error(`topic "${topic}" partition ${partition}: error ${found?.errorCode}`);
      }
      scan.add(found.records);
      isAtEnd = scan.nextOffset >= found.highWatermark;
    }
    return scan.batches();
  } finally {
    cluster.close();
  }
}

const attributesAt = 21;
const producerIdAt = 43;
const transactional = 0x10;
const control = 0x20;
const headerBytes = 61;

class Scan {
  nextOffset = 0;
  readonly #batches: { baseOffset: number; lastOffset: number; transaction: number }[] = [];
  /** Producer → the transaction that it has open. */
  readonly #open = new Map<bigint, number>();
  readonly #outcomes = new Map<number, 'committed' | 'aborted'>();
  #transactions = 0;

  add(bytes: Buffer): void {
    let at = 0;
    while (at + 12 <= bytes.length) {
      const end = at + 12 + bytes.readInt32BE(at + 8);
      if (end > bytes.length) return;
      this.#addBatch(bytes.subarray(at, end));
      at = end;
    }
  }

  #addBatch(batch: Buffer): void {
    const baseOffset = Number(batch.readBigInt64BE(0));
    const lastOffset = baseOffset + batch.readInt32BE(attributesAt + 2);
    if (lastOffset < this.nextOffset) return;
    this.nextOffset = lastOffset + 1;
    const attributes = batch.readInt16BE(attributesAt);
    const producerId = batch.readBigInt64BE(producerIdAt);
    if ((attributes & control) !== 0) {
      const ended = this.#open.get(producerId);
      // The one record: lengths and deltas of a byte each, then the key: version and type, of two bytes each.
      const type = batch.readInt16BE(headerBytes + 5 + 2);
      if (ended !== undefined) this.#outcomes.set(ended, type === 1 ? 'committed' : 'aborted');
      this.#open.delete(producerId);
      return;
    }
    let transaction = 0;
    if ((attributes & transactional) !== 0) {
      transaction = this.#open.get(producerId) ?? ++this.#transactions;
      this.#open.set(producerId, transaction);
    }
    this.#batches.push({ baseOffset, lastOffset, transaction });
  }

  batches(): LoggedBatch[] {
    return this.#batches.map((batch) => ({
      ...batch,
      outcome:
        batch.transaction === 0 ? 'committed' : (this.#outcomes.get(batch.transaction) ?? 'open'),
    }));
  }
}

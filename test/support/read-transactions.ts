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
  /** Where the transaction's end is written; that of the batch itself where it is of none. */
  readonly settledAt: number;
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
  const cluster = transactionCluster(brokers);
  try {
    await cluster.connect();
    const scan = new TransactionScan(cluster, topic, partition);
    await scan.readOn();
    return scan.batches();
  } finally {
    cluster.close();
  }
}

/** Connections for scans; whoever opens it connects and closes it. */
export function transactionCluster(brokers: string): KafkaCluster {
  return new KafkaCluster({
    brokers: brokers.split(','),
    clientId: 'transactions',
    connectTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    retryMs: 30_000,
  });
}

const attributesAt = 21;
const producerIdAt = 43;
const transactional = 0x10;
const control = 0x20;
const headerBytes = 61;

/** Follows the batches of a partition, from its start on, in as many steps as wanted. */
export class TransactionScan {
  readonly #cluster: KafkaCluster;
  readonly #topic: string;
  readonly #partition: number;
  readonly #batches: { baseOffset: number; lastOffset: number; transaction: number }[] = [];
  /** Producer → the transaction that it has open. */
  readonly #open = new Map<bigint, number>();
  readonly #ends = new Map<number, { readonly isCommitted: boolean; readonly offset: number }>();
  #nextOffset = 0;
  #transactions = 0;

  constructor(cluster: KafkaCluster, topic: string, partition: number) {
    this.#cluster = cluster;
    this.#topic = topic;
    this.#partition = partition;
  }

  /** Up to the end as it stands now. */
  async readOn(): Promise<void> {
    const topic = this.#topic;
    const partition = this.#partition;
    const leader = await this.#cluster.leader(topic, partition);
    const topicId = this.#cluster.knownTopic(topic)?.topicId ?? zeroUuid;
    for (let isAtEnd = false; !isAtEnd; ) {
      const answer = await this.#cluster.control.request(leader, fetch, {
        maxWaitMs: 0,
        minBytes: 0,
        maxBytes: 8 << 20,
        isolation: 'read_uncommitted',
        partitions: [
          {
            topic,
            topicId,
            partition,
            offset: this.#nextOffset,
            leaderEpoch: -1,
            maxBytes: 8 << 20,
          },
        ],
      });
      const [found] = answer.partitions;
      if (found === undefined || found.errorCode !== 0) {
        throw new Error(`topic "${topic}" partition ${partition}: error ${found?.errorCode}`);
      }
      this.#add(found.records);
      isAtEnd = this.#nextOffset >= found.highWatermark;
    }
  }

  /** How many transactions ended in either way. */
  get counts(): { readonly committed: number; readonly aborted: number } {
    const all = [...this.#ends.values()];
    const committed = all.filter(({ isCommitted }) => isCommitted).length;
    return { committed, aborted: all.length - committed };
  }

  /** From a position in the order of the batches on. */
  batches(from = 0): LoggedBatch[] {
    return this.#batches.slice(from).map((batch) => {
      if (batch.transaction === 0) {
        return { ...batch, outcome: 'committed', settledAt: batch.lastOffset };
      }
      const end = this.#ends.get(batch.transaction);
      if (end === undefined) {
        return { ...batch, outcome: 'open', settledAt: Number.POSITIVE_INFINITY };
      }
      return {
        ...batch,
        outcome: end.isCommitted ? 'committed' : 'aborted',
        settledAt: end.offset,
      };
    });
  }

  #add(bytes: Buffer): void {
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
    if (lastOffset < this.#nextOffset) return;
    this.#nextOffset = lastOffset + 1;
    const attributes = batch.readInt16BE(attributesAt);
    const producerId = batch.readBigInt64BE(producerIdAt);
    if ((attributes & control) !== 0) {
      const ended = this.#open.get(producerId);
      // The one record: lengths and deltas of a byte each, then the key: version and type, of two bytes each.
      const type = batch.readInt16BE(headerBytes + 5 + 2);
      if (ended !== undefined) {
        this.#ends.set(ended, { isCommitted: type === 1, offset: lastOffset });
      }
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
}

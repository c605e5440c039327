import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { KafkaCluster } from '../../../../src/adapters/kafka/cluster.ts';
import { KafkaReader } from '../../../../src/adapters/kafka/kafka-reader.ts';
import type {
  FetchedPartition,
  FetchRequest,
  FetchResponse,
} from '../../../../src/adapters/kafka/wire/fetch.ts';

type Asked = FetchRequest & { readonly answer: (response: FetchResponse) => void };

const topicId = 'a'.repeat(32);
let asked: Asked[];
let reader: KafkaReader;

/** A cluster of one broker, whose answers the test gives. */
function cluster(): KafkaCluster {
  const connection = {
    where: 'broker 1',
    versionOf: () => 16,
    request: (_api: unknown, request: FetchRequest) =>
      new Promise<FetchResponse>((answer) => asked.push({ ...request, answer })),
  };
  const stub = {
    settings: { requestTimeoutMs: 30_000 },
    knownLeader: () => 1,
    knownTopic: () => ({ topicId, partitions: [{ partition: 0 }] }),
    refreshTopics: async () => undefined,
    openChannel: () => ({ connection: async () => connection, close: () => undefined }),
  };
  return stub as unknown as KafkaCluster;
}

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  reader = new KafkaReader(cluster(), {
    aheadBytesMax: 1 << 20,
    partitionBytesMax: 1 << 16,
    waitMs: 500,
    byTopicId: true,
    topicIdOf: () => topicId,
    onTrouble: () => undefined,
    onClose: () => undefined,
  });
});

afterEach(async () => {
  await reader.close();
  vi.useRealTimers();
});

const turn = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

/** Answers the request that waits with nothing, at the end of what it may wait. */
async function answerEmpty(open = 0): Promise<number> {
  const request = asked.shift();
  if (request === undefined) throw new Error('nothing was asked');
  await vi.advanceTimersByTimeAsync(request.maxWaitMs);
  const partitions = request.partitions.map(
    ({ partition, offset }): FetchedPartition => ({
      topic: '',
      topicId,
      partition,
      errorCode: 0,
      highWatermark: offset + open,
      lastStableOffset: offset,
      logStartOffset: 0,
      abortedTransactions: null,
      preferredReadReplica: -1,
      records: Buffer.alloc(0),
    }),
  );
  request.answer({ throttleMs: 0, errorCode: 0, partitions });
  await turn();
  return request.maxWaitMs;
}

async function waitsOf(requests: number, open?: number): Promise<number[]> {
  const waits: number[] = [];
  for (let count = 0; count < requests; count += 1) waits.push(await answerEmpty(open));
  return waits;
}

test('at rest a request waits for longer, and a partition that comes then is asked for at once', async () => {
  reader.assign('t', 0, 5);
  await turn();
  expect(await waitsOf(10)).toEqual(Array.from({ length: 10 }, () => 500));
  expect(await waitsOf(2)).toEqual([2_000, 2_000]);
  for (const partition of [1, 2]) {
    reader.assign('t', partition, 7);
    await turn();
  }
  expect(asked.map(({ partitions }) => partitions.map(({ partition }) => partition))).toEqual([
    [0],
    [1],
    [2],
  ]);
  expect(asked.map(({ maxWaitMs }) => maxWaitMs)).toEqual([2_000, 500, 500]);
});

test('while a transaction is open a request waits no longer than ever', async () => {
  reader.assign('t', 0, 5);
  await turn();
  expect(await waitsOf(14, 3)).toEqual(Array.from({ length: 14 }, () => 500));
});

test('a wall clock that is set back does not put off the next try of a partition', async () => {
  reader.assign('t', 0, 5);
  await turn();
  const request = asked.shift();
  const answer = { topic: '', topicId, partition: 0, highWatermark: -1, lastStableOffset: -1 };
  request?.answer({
    throttleMs: 0,
    errorCode: 0,
    partitions: [
      {
        ...answer,
        errorCode: 6,
        logStartOffset: -1,
        abortedTransactions: null,
        preferredReadReplica: -1,
        records: Buffer.alloc(0),
      },
    ],
  });
  await turn();
  expect(asked).toEqual([]);
  vi.setSystemTime(Date.now() - 3_600_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toHaveLength(1);
});

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Kafka, logLevel } from 'kafkajs';
import { expect, test } from 'vitest';
import { kafkajsVersion } from '../../../../src/adapters/kafka/connection.ts';

/**
 * `adapters/kafka/connection.ts` uses what the library does not promise. Each of it is named here, so that another
 * version of the library fails this test before it fails in the field.
 */
type Method = (...args: never[]) => unknown;
type Internals = {
  connectionPoolBuilder: { build(address: object): Promise<{ pool: object[] }> };
  brokerPool: { rootLogger: unknown; createBroker(options: object): object };
};

async function open(): Promise<{ cluster: Internals; pool: { pool: object[] } }> {
  const kafka = new Kafka({
    brokers: ['127.0.0.1:1'],
    clientId: 'internals',
    logLevel: logLevel.NOTHING,
    enforceRequestTimeout: false,
  });
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    (candidate) => candidate.description === 'private:Kafka:createCluster',
  );
  expect(symbol).toBeDefined();
  const create = Reflect.get(kafka, symbol ?? '') as (options: object) => Internals;
  const cluster = create({ metadataMaxAge: 1, allowAutoTopicCreation: false });
  return {
    cluster,
    pool: await cluster.connectionPoolBuilder.build({ host: '127.0.0.1', port: 1 }),
  };
}

function methodsOf(object: object, names: readonly string[]): void {
  for (const name of names) expect(Reflect.get(object, name), name).toBeInstanceOf(Function);
}

test('the library is of the one version whose internals are known', () => {
  const file = createRequire(import.meta.url).resolve('kafkajs/package.json');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ version: kafkajsVersion });
  const own = new URL('../../../../package.json', import.meta.url);
  expect(JSON.parse(readFileSync(own, 'utf8'))).toMatchObject({
    dependencies: { kafkajs: kafkajsVersion },
  });
});

test('a cluster builds connection pools and brokers', async () => {
  const { cluster, pool } = await open();
  expect(pool.pool).toHaveLength(2);
  expect(cluster.brokerPool.rootLogger).toBeDefined();
  const broker = cluster.brokerPool.createBroker({
    connectionPool: pool,
    logger: cluster.brokerPool.rootLogger,
  });
  methodsOf(broker, ['connect']);
});

test('a connection has a queue of requests, and counts them', async () => {
  const [connection] = (await open()).pool.pool;
  expect(connection).toMatchObject({ clientId: 'internals', requestQueue: { pending: [] } });
  methodsOf(connection ?? {}, [
    'isConnected',
    'isAuthenticated',
    'nextCorrelationId',
    'disconnect',
  ]);
  const queue = Reflect.get(connection ?? {}, 'requestQueue') as object;
  methodsOf(queue, ['push', 'rejectAll', 'scheduleCheckPendingRequests']);
  expect((Reflect.get(connection ?? {}, 'isConnected') as Method).call(connection)).toBe(false);
});

test('the queue sends at once, resolves by correlation id, and rejects all', async () => {
  const [connection] = (await open()).pool.pool;
  const queue = Reflect.get(connection ?? {}, 'requestQueue') as {
    push(request: object): void;
    fulfillRequest(answer: object): void;
    rejectAll(error: Error): void;
    destroy(): void;
  };
  const seen: unknown[] = [];
  const push = (correlationId: number) =>
    queue.push({
      entry: {
        apiKey: 3,
        apiName: 'Metadata',
        apiVersion: 9,
        correlationId,
        resolve: (answer: { payload: unknown }) => seen.push(answer.payload),
        reject: (error: Error) => seen.push(error.message),
      },
      expectResponse: true,
      requestTimeout: 1_000,
      sendRequest: () => seen.push(`sent ${correlationId}`),
    });
  push(1);
  push(2);
  queue.fulfillRequest({ correlationId: 2, payload: 'two', size: 3 });
  queue.rejectAll(new Error('broken'));
  expect(seen).toEqual(['sent 1', 'sent 2', 'two', 'broken']);
  queue.destroy();
});

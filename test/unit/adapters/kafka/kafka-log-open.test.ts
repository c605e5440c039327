import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { openKafkaLog } from '../../../../src/adapters/kafka/kafka-log.ts';

const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) {
    await new Promise((resolve) => server.close(resolve));
  }
});

/** Answers each request with what `answer` gives for its version of ApiVersions; null: not at all. */
async function startBroker(answer: (version: number) => Buffer | null): Promise<string> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (request) => {
      const body = answer(request.readInt16BE(6));
      if (body === null) return;
      const head = Buffer.alloc(8);
      head.writeInt32BE(4 + body.length, 0);
      request.copy(head, 4, 8, 12);
      socket.write(Buffer.concat([head, body]));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** ApiVersions of the versions that the client library asks for: every request up to one version. */
function plainVersions(maxVersion: number): Buffer {
  const keys = Array.from({ length: 40 }, (_, key) => key);
  const body = Buffer.alloc(6 + keys.length * 6 + 4);
  body.writeInt32BE(keys.length, 2);
  for (const [index, key] of keys.entries()) {
    body.writeInt16BE(key, 6 + index * 6);
    body.writeInt16BE(maxVersion, 6 + index * 6 + 4);
  }
  return body;
}

/** The same in the flexible form of version 3. */
function flexibleVersions(maxVersion: number): Buffer {
  const keys = Array.from({ length: 40 }, (_, key) => key);
  const body = Buffer.alloc(3 + keys.length * 7 + 5);
  body.writeUInt8(keys.length + 1, 2);
  for (const [index, key] of keys.entries()) {
    body.writeInt16BE(key, 3 + index * 7);
    body.writeInt16BE(maxVersion, 3 + index * 7 + 4);
  }
  return body;
}

function unsupported(): Buffer {
  const body = Buffer.alloc(6);
  body.writeInt16BE(35, 0);
  return body;
}

const options = { clientId: 'open', connectTimeoutMs: 1_000, requestTimeoutMs: 1_000 };

test('RQ-01 a broker that does not know our first request is too old', async () => {
  const broker = await startBroker((version) => (version >= 3 ? unsupported() : plainVersions(5)));
  await expect(openKafkaLog({ ...options, brokers: [broker] })).rejects.toMatchObject({
    code: 'BROKER_TOO_OLD',
    hint: 'Kafka 2.8 or newer is needed.',
  });
});

test('RQ-01 a broker that lacks the versions we need is too old, and what is missing is named', async () => {
  const broker = await startBroker((version) =>
    version >= 3 ? flexibleVersions(9) : plainVersions(9),
  );
  await expect(openKafkaLog({ ...options, brokers: [broker] })).rejects.toMatchObject({
    code: 'BROKER_TOO_OLD',
    message: `broker ${broker}: the broker is too old`,
    detail: 'It does not speak Fetch 11, Metadata 10.',
  });
});

test('a broker that takes the connection and says nothing is given up on', async () => {
  const broker = await startBroker(() => null);
  await expect(openKafkaLog({ ...options, brokers: [broker] })).rejects.toMatchObject({
    code: 'BROKER_TIMEOUT',
  });
});

test('nobody there', async () => {
  const broker = await startBroker(() => null);
  await new Promise((resolve) => servers.splice(0)[0]?.close(resolve));
  await expect(openKafkaLog({ ...options, brokers: [broker] })).rejects.toMatchObject({
    code: 'BROKER_UNAVAILABLE',
    message: `broker ${broker}: no connection`,
  });
});

test('an address without a port is a fault of the configuration', async () => {
  await expect(openKafkaLog({ ...options, brokers: ['localhost'] })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
});

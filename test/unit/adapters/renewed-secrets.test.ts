import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, rootCertificates, type Server } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RedisClient } from '../../../src/adapters/redis/redis-client.ts';
import { secretFile } from '../../../src/adapters/system/secret-file.ts';
import { composeLog, composeState } from '../../../src/compose.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import type { Config } from '../../../src/config/options.ts';
import { testCertificate, testCertificateKey } from '../../support/test-certificate.ts';

let directory: string;
let server: Server;
let address: string;
/** Connections whose handshake both sides were content with. */
let trusted: number;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-renewed-'));
  trusted = 0;
  server = createServer({ cert: testCertificate, key: testCertificateKey }, (socket) => {
    trusted += 1;
    socket.on('error', () => undefined);
    socket.destroy();
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(directory, { recursive: true, force: true });
});

function configOf(environment: Readonly<Record<string, string>>): Config {
  return loadConfig({
    file: undefined,
    environment: {
      TIDEMARK_RETRY_START_TIMEOUT_MS: '1500',
      TIDEMARK_RETRY_DELAY_MIN_MS: '50',
      TIDEMARK_RETRY_DELAY_MAX_MS: '100',
      ...environment,
    },
    flags: new Map(),
  });
}

test.each([
  {
    name: 'Kafka',
    environment: (ca: string) => ({
      TIDEMARK_KAFKA_BROKERS: address,
      TIDEMARK_KAFKA_SSL: 'true',
      TIDEMARK_KAFKA_SSL_CA_FILE: ca,
    }),
    open: composeLog,
  },
  {
    name: 'Redis',
    environment: (ca: string) => ({
      TIDEMARK_STATE_KIND: 'redis',
      TIDEMARK_REDIS_URL: `rediss://${address}`,
      TIDEMARK_REDIS_TLS_CA_FILE: ca,
      TIDEMARK_REDIS_COMMAND_TIMEOUT_MS: '1000',
    }),
    open: composeState,
  },
])(
  'an authority that is renewed on disk counts for the next connection to $name, without a restart',
  async ({ environment, open }) => {
    const ca = join(directory, 'ca.pem');
    writeFileSync(ca, rootCertificates[0] ?? '');
    const told: string[] = [];
    const opening = open(configOf(environment(ca)), (text) => {
      told.push(text);
      if (told.length > 1) return;
      expect(trusted).toBe(0);
      writeFileSync(ca, testCertificate);
    });
    await expect(opening).rejects.toMatchObject({ code: expect.any(String) });
    expect(trusted).toBeGreaterThan(0);
  },
);

test('a secret is what its file holds now, and while the file is away what it held last', () => {
  const path = join(directory, 'password');
  writeFileSync(path, 'old');
  const secret = secretFile(path, 'kafka.saslPasswordFile');
  expect(secret().toString()).toBe('old');
  writeFileSync(path, 'new');
  expect(secret().toString()).toBe('new');
  rmSync(path);
  expect(secret().toString()).toBe('new');
  expect(() => secretFile(path, 'kafka.saslPasswordFile')).toThrow(
    'the file of option kafka.saslPasswordFile cannot be read',
  );
});

test('the password of Redis is asked for at each connection, and told in no error', async () => {
  const passwords: string[] = [];
  const sockets: Socket[] = [];
  // Takes every command; of AUTH it remembers what comes last.
  const redis = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      const commands = data.toString('latin1').split(/(?=\*\d+\r\n)/);
      for (const command of commands) {
        const words = command.split('\r\n').filter((_, index) => index > 0 && index % 2 === 0);
        if (words[0]?.toLowerCase() === 'auth') passwords.push(words.at(-1) ?? '');
        socket.write('+OK\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => redis.listen(0, '127.0.0.1', resolve));
  const { port } = redis.address() as AddressInfo;
  const secrets = ['first-secret', 'second-secret'];
  let current = 0;
  const url = `redis://127.0.0.1:${port}`;
  const client = new RedisClient({
    url,
    password: () => secrets[current] ?? '',
    deadlineMs: 2_000,
  });
  try {
    await client.connect();
    expect(new Set(passwords)).toEqual(new Set(['first-secret']));
    current = 1;
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => passwords.at(-1), { timeout: 5_000 }).toBe('second-secret');
    expect(client.server.secrets).toEqual(secrets);
  } finally {
    client.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => redis.close(resolve));
  }
});

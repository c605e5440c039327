import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { composeState } from '../../src/compose.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { StateStore } from '../../src/ports/state-store.ts';
import { freePort, type PrivateRedis, startPrivateRedis } from '../support/services.ts';
import { at, read, task, write } from '../support/state-store-contract.ts';
import { testCertificate, testCertificateKey } from '../support/test-certificate.ts';

const password = 'p4ss@word:/%';
/** Exactly what the hint of a refused command asks for. */
const rights =
  '~tidemark:* +info +hmget +hget +hset +hdel +hlen +hscan +unlink +eval +evalsha +script|load';

const cleanups: (() => void | Promise<void>)[] = [];
let dir: string;
const file = (name: string): string => join(dir, name);

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'tidemark-redis-tls-'));
  writeFileSync(file('cert.pem'), testCertificate);
  writeFileSync(file('key.pem'), testCertificateKey, { mode: 0o600 });
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startNode(...settings: readonly string[]): Promise<PrivateRedis> {
  const node = await startPrivateRedis(settings);
  cleanups.push(() => node.stop());
  return node;
}

function portOf(node: { readonly url: string }): number {
  return Number(new URL(node.url).port);
}

/** The state store as a service opens it: from the environment alone. */
async function open(environment: Readonly<Record<string, string>>): Promise<StateStore> {
  const prefixed = Object.entries(environment).map(([name, value]) => [`TIDEMARK_${name}`, value]);
  const config = loadConfig({
    file: undefined,
    environment: {
      TIDEMARK_STATE_KIND: 'redis',
      TIDEMARK_REDIS_COMMAND_TIMEOUT_MS: '3000',
      TIDEMARK_RETRY_START_TIMEOUT_MS: '0',
      ...Object.fromEntries(prefixed),
    },
    flags: new Map(),
  });
  const store = await composeState(config, () => undefined);
  cleanups.push(() => store.close());
  return store;
}

async function works(store: StateStore): Promise<void> {
  await store.check();
  const session = await store.open(task, 1);
  await write(session, { a: '1' }, at(1));
  expect(await read(session, ['a', 'b'])).toEqual({ mark: at(1), values: ['1', undefined] });
  await session.clear();
  await session.close();
}

async function refusal(environment: Readonly<Record<string, string>>) {
  const error = await open(environment).then(
    () => undefined,
    (thrown: unknown) =>
      thrown as { code: string; message: string; detail?: string; hint?: string },
  );
  const { code = '', message = '', detail = '', hint = '' } = error ?? {};
  return { code, text: [message, detail, hint].join('\n') };
}

describe('connections to Redis by configuration alone', () => {
  test('TLS: rediss:// with the authority of the server, with a client certificate where it is asked for', async () => {
    const tlsPort = await freePort();
    await startNode(
      ...['--tls-port', String(tlsPort), '--tls-cert-file', file('cert.pem')],
      ...['--tls-key-file', file('key.pem'), '--tls-ca-cert-file', file('cert.pem')],
      ...['--tls-auth-clients', 'yes'],
    );
    const REDIS_URL = `rediss://127.0.0.1:${tlsPort}`;
    const ca = { REDIS_TLS_CA_FILE: file('cert.pem') };
    const client = { REDIS_TLS_CERT_FILE: file('cert.pem'), REDIS_TLS_KEY_FILE: file('key.pem') };
    await works(await open({ REDIS_URL, ...ca, ...client }));
    const byOption = `redis://127.0.0.1:${tlsPort}`;
    await works(await open({ REDIS_URL: byOption, REDIS_TLS: 'true', ...ca, ...client }));
    const unknown = await refusal({ REDIS_URL, ...client });
    expect(unknown.code).toBe('STATE_UNAVAILABLE');
    expect(unknown.text).toContain('self-signed certificate');
    expect((await refusal({ REDIS_URL, ...ca })).code).toBe('STATE_UNAVAILABLE');
    expect((await refusal({ REDIS_URL, REDIS_TLS_CA_FILE: file('none.pem') })).text).toContain(
      'option redis.tlsCaFile cannot be read',
    );
  });

  test('a user of the access control list: its password from a file, and no more rights than the hint names', async () => {
    const node = await startNode();
    const admin = new Redis(node.url);
    cleanups.push(() => admin.disconnect());
    await admin.call('ACL', 'SETUSER', 'tide', 'on', `>${password}`, ...rights.split(' '));
    await admin.call('ACL', 'SETUSER', 'poor', 'on', `>${password}`, '~tidemark:*', '+info');
    await admin.call('ACL', 'SETUSER', 'default', 'off');
    writeFileSync(file('password'), `${password}\n`, { mode: 0o600 });
    const REDIS_URL = node.url;
    const fromFile = { REDIS_PASSWORD_FILE: file('password') };
    await works(await open({ REDIS_URL, REDIS_USERNAME: 'tide', ...fromFile }));
    const inUrl = `redis://tide:${encodeURIComponent(password)}@127.0.0.1:${portOf(node)}`;
    await works(await open({ REDIS_URL: inUrl }));
    const wrong = await refusal({ REDIS_URL, REDIS_USERNAME: 'tide', REDIS_PASSWORD: 'Wr0ngOne' });
    expect(wrong.code).toBe('NOT_AUTHORIZED');
    expect(wrong.text).not.toContain('Wr0ngOne');
    const nobody = await refusal({ REDIS_URL });
    expect(nobody.code).toBe('NOT_AUTHORIZED');
    const poor = await open({ REDIS_URL, REDIS_USERNAME: 'poor', ...fromFile });
    await expect(poor.open(task, 1)).rejects.toMatchObject({
      code: 'NOT_AUTHORIZED',
      hint: expect.stringContaining('+hmget'),
    });
  });

  test('Sentinel: the master is asked of the sentinels, which have a user of their own', async () => {
    const master = await startNode('--requirepass', password, '--masterauth', password);
    const port = await startSentinel(portOf(master));
    const sentinels = {
      REDIS_SENTINELS: `127.0.0.1:${await freePort()},127.0.0.1:${port}`,
      REDIS_SENTINEL_MASTER: 'orders',
      REDIS_SENTINEL_PASSWORD: 'sentinel-secret',
    };
    await works(await open({ ...sentinels, REDIS_PASSWORD: password }));
    const wrong = await refusal({ ...sentinels, REDIS_PASSWORD: 'Wr0ngOne' });
    expect(wrong.code).toBe('NOT_AUTHORIZED');
    expect(wrong.text).not.toMatch(/Wr0ngOne|sentinel-secret/);
    const closed = await refusal({ ...sentinels, REDIS_SENTINEL_PASSWORD: 'Wr0ngOne' });
    expect(['NOT_AUTHORIZED', 'STATE_UNAVAILABLE']).toContain(closed.code);
    expect(closed.text).not.toContain('Wr0ngOne');
  });

  async function startSentinel(masterPort: number): Promise<number> {
    const port = await freePort();
    const settings = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${dir}`,
      'requirepass sentinel-secret',
      `sentinel monitor orders 127.0.0.1 ${masterPort} 1`,
      `sentinel auth-pass orders ${password}`,
    ];
    writeFileSync(file('sentinel.conf'), `${settings.join('\n')}\n`);
    const child: ChildProcess = spawn('redis-server', [file('sentinel.conf'), '--sentinel'], {
      stdio: 'ignore',
    });
    cleanups.push(
      () =>
        new Promise<void>((resolve) => {
          child.once('exit', () => resolve());
          child.kill('SIGKILL');
        }),
    );
    const watcher = new Redis(port, '127.0.0.1', { password: 'sentinel-secret' });
    watcher.on('error', () => undefined);
    cleanups.push(() => watcher.disconnect());
    await expect
      .poll(() => watcher.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'orders').catch(() => null), {
        timeout: 20_000,
      })
      .toEqual(['127.0.0.1', String(masterPort)]);
    return port;
  }

  test('Cluster: three nodes with a password, found from one that answers; every one holds tasks', async () => {
    const nodes: (PrivateRedis & { readonly admin: Redis; readonly bus: string })[] = [];
    for (const [from, to] of [
      [0, 5460],
      [5461, 10922],
      [10923, 16383],
    ]) {
      const bus = String(await freePort());
      const node = await startNode(
        ...['--cluster-enabled', 'yes', '--cluster-port', bus],
        ...['--requirepass', password, '--masterauth', password],
      );
      const admin = new Redis(portOf(node), '127.0.0.1', { password });
      cleanups.push(() => admin.disconnect());
      await admin.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to));
      await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', String(nodes.length + 1));
      nodes.push({ ...node, admin, bus });
    }
    const [first, ...others] = nodes;
    if (first === undefined) throw new Error('three nodes were started');
    for (const { url, bus } of others) {
      await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', String(portOf({ url })), bus);
    }
    for (const { admin } of nodes) {
      await expect
        .poll(() => admin.call('CLUSTER', 'INFO'), { timeout: 30_000 })
        .toMatch(/cluster_state:ok[\s\S]*cluster_known_nodes:3/);
    }
    const REDIS_CLUSTER_NODES = `127.0.0.1:${await freePort()},127.0.0.1:${portOf(first)}`;
    const store = await open({ REDIS_CLUSTER_NODES, REDIS_PASSWORD: password });
    await works(store);
    for (let partition = 0; partition < 24; partition += 1) {
      const session = await store.open({ ...task, partition }, 1);
      await write(session, { a: String(partition) }, at(partition));
      expect((await read(session, ['a'])).values).toEqual([String(partition)]);
    }
    const sizes = await Promise.all(nodes.map(({ admin }) => admin.dbsize()));
    expect(Math.min(...sizes)).toBeGreaterThan(0);
    // The nodes are asked in a random order, and the client's own error is that of the last: here mostly one that is away.
    const mostlyAway = `${REDIS_CLUSTER_NODES},127.0.0.1:${await freePort()}`;
    for (let time = 0; time < 5; time += 1) {
      const wrong = await refusal({ REDIS_CLUSTER_NODES: mostlyAway, REDIS_PASSWORD: 'Wr0ngOne' });
      expect(wrong.code).toBe('NOT_AUTHORIZED');
      expect(wrong.text).not.toContain('Wr0ngOne');
    }
  });
});

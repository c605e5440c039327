import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, test } from 'vitest';
import { openRedisStateStore } from '../../src/adapters/redis/redis-state-store.ts';
import type { StateStore, StateTaskId } from '../../src/ports/state-store.ts';
import { packedEntries } from '../support/packed-entries.ts';
import { freePort, type PrivateRedis, startPrivateRedis } from '../support/services.ts';
import {
  at,
  bytes,
  everything,
  expectCode,
  numbered,
  read,
  task,
  write,
} from '../support/state-store-contract.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

const hash = 'tidemark:{shop.orders.0.3}';
const cleanups: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startNode(settings: readonly string[]): Promise<PrivateRedis & { admin: Redis }> {
  const node = await startPrivateRedis(settings);
  const admin = new Redis(node.url, { maxRetriesPerRequest: null });
  admin.on('error', () => undefined);
  cleanups.push(() => node.stop());
  cleanups.push(() => admin.disconnect());
  return { ...node, admin };
}

function portOf(node: { readonly url: string }): number {
  return Number(new URL(node.url).port);
}

describe('cluster', () => {
  async function startCluster(): Promise<{
    readonly nodes: readonly (PrivateRedis & { admin: Redis })[];
    readonly store: StateStore;
  }> {
    const nodes = [];
    for (const range of [
      [0, 8191],
      [8192, 16383],
    ] as const) {
      const bus = ['--cluster-port', String(await freePort())];
      const node = await startNode(['--cluster-enabled', 'yes', ...bus]);
      await node.admin.call('CLUSTER', 'ADDSLOTSRANGE', ...range.map((slot) => `${slot}`));
      nodes.push({ ...node, bus: bus[1] ?? '' });
    }
    const [first, second] = nodes;
    if (first === undefined || second === undefined) throw new Error('two nodes were started');
    await second.admin.call('CLUSTER', 'SET-CONFIG-EPOCH', '7');
    await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', String(portOf(second)), second.bus);
    for (const node of nodes) {
      await expect
        .poll(() => node.admin.call('CLUSTER', 'INFO'), { timeout: 30_000 })
        .toContain('cluster_state:ok');
    }
    const store = await openRedisStateStore({ url: first.url, cluster: {}, deadlineMs: 2_000 });
    cleanups.push(() => store.close());
    return { nodes, store };
  }

  test('tasks are spread over the nodes, each of them whole on one', async () => {
    const { nodes, store } = await startCluster();
    await store.check();
    const tasks = numbered(16, String).map((_, partition) => ({ ...task, partition }));
    const keys = numbered(5_000, (index) => `k${index}`);
    for (const own of tasks) {
      const session = await store.open(own, 1);
      const entries = keys.map((key) => bytes(`${key} of ${own.partition}`));
      await session.write({ entries: packedEntries(keys, entries), mark: at(own.partition) });
      const view = await read(session, keys);
      expect(view.mark).toEqual(at(own.partition));
      expect(view.values.at(-1)).toBe(`k4999 of ${own.partition}`);
    }
    const sizes = await Promise.all(nodes.map((node) => node.admin.dbsize()));
    expect(sizes.reduce((sum, size) => sum + size)).toBe(tasks.length);
    expect(Math.min(...sizes)).toBeGreaterThan(0);
  });

  test('the eviction policy is checked on every node', async () => {
    const { nodes, store } = await startCluster();
    await nodes[1]?.admin.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru');
    await expectCode(store.check(), 'CONFIG_INVALID');
  });

  test('a task moves with its slot while a session works on it', async () => {
    const { nodes, store } = await startCluster();
    const session = await store.open(task, 1);
    const keys = numbered(3_000, (index) => `k${index}`);
    await session.write({ entries: packedEntries(keys, keys.map(bytes)), mark: at(1) });
    const slot = String(await nodes[0]?.admin.call('CLUSTER', 'KEYSLOT', hash));
    const [from, to] = Number(slot) < 8192 ? nodes : [...nodes].reverse();
    if (from === undefined || to === undefined) throw new Error('two nodes were started');
    const [fromId, toId] = await Promise.all(
      [from, to].map(async (node) => String(await node.admin.call('CLUSTER', 'MYID'))),
    );
    await to.admin.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId ?? '');
    await from.admin.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId ?? '');
    await write(session, { k0: 'while migrating' }, at(2));
    await from.admin.migrate('127.0.0.1', portOf(to), hash, 0, 10_000);
    await write(session, { k1: 'after an ASK' }, at(3));
    for (const node of [to, from]) {
      await node.admin.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId ?? '');
    }
    await write(session, { k2: 'after a MOVED' }, at(4));
    expect(await read(session, ['k0', 'k1', 'k2', 'k3'])).toEqual({
      mark: at(4),
      values: ['while migrating', 'after an ASK', 'after a MOVED', 'k3'],
    });
    expect((await everything(session)).size).toBe(keys.length);
    expect(await to.admin.exists(hash)).toBe(1);
  });

  test('a node that is gone makes its tasks unavailable until it is back, empty', async () => {
    const { nodes, store } = await startCluster();
    const owner = async (own: StateTaskId): Promise<number> => {
      const name = `tidemark:{shop.orders.0.${own.partition}}`;
      return Number(await nodes[0]?.admin.call('CLUSTER', 'KEYSLOT', name)) < 8192 ? 0 : 1;
    };
    let own = task;
    while ((await owner(own)) !== 1) own = { ...own, partition: own.partition + 1 };
    const session = await store.open(own, 1);
    await write(session, { a: '1' }, at(1));
    await nodes[1]?.kill();
    await expectCode(read(session, ['a']), 'STATE_UNAVAILABLE');
    await expectCode(write(session, { a: '2' }, at(2)), 'STATE_UNAVAILABLE');
    await nodes[1]?.restart();
    await expect
      .poll(() => read(session, ['a']).catch((error: { code: string }) => error.code), {
        timeout: 60_000,
      })
      .toEqual({ mark: undefined, values: [undefined] });
    await expectCode(write(session, { a: '2' }, at(2)), 'TASK_CORRUPTED');
  });
});

describe('sentinel', () => {
  async function startSentinel(masterPort: number): Promise<number> {
    const directory = mkdtempSync(join(tmpdir(), 'tidemark-sentinel-'));
    const port = await freePort();
    const settings = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${directory}`,
      `sentinel monitor orders 127.0.0.1 ${masterPort} 1`,
      'sentinel down-after-milliseconds orders 800',
      'sentinel failover-timeout orders 10000',
    ];
    const file = join(directory, 'sentinel.conf');
    writeFileSync(file, `${settings.join('\n')}\n`);
    const child: ChildProcess = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
    cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
    cleanups.push(
      () =>
        new Promise<void>((resolve) => {
          child.once('exit', () => resolve());
          child.kill('SIGKILL');
        }),
    );
    return port;
  }

  async function untilReplicated(replica: Redis): Promise<void> {
    await expect.poll(() => replica.hget(hash, 'a'), { timeout: 30_000 }).toBe('1');
  }

  async function startPair(): Promise<{
    master: PrivateRedis & { admin: Redis };
    replica: PrivateRedis & { admin: Redis };
    replication: TcpProxy;
    store: StateStore;
  }> {
    const master = await startNode(['--repl-diskless-sync-delay', '0']);
    const replication = await startTcpProxy(portOf(master));
    cleanups.push(() => replication.close());
    const replica = await startNode(['--replicaof', '127.0.0.1', String(replication.port)]);
    await expect
      .poll(() => replica.admin.info('replication'), { timeout: 30_000 })
      .toContain('master_link_status:up');
    const sentinelPort = await startSentinel(portOf(master));
    const watcher = new Redis(sentinelPort, '127.0.0.1', { maxRetriesPerRequest: null });
    watcher.on('error', () => undefined);
    cleanups.push(() => watcher.disconnect());
    await expect
      .poll(() => watcher.call('SENTINEL', 'REPLICAS', 'orders').catch(() => []), {
        timeout: 30_000,
      })
      .toHaveLength(1);
    const store = await openRedisStateStore({
      url: 'redis://unused:1',
      sentinel: { masterName: 'orders', nodes: [{ host: '127.0.0.1', port: sentinelPort }] },
      deadlineMs: 2_000,
    });
    cleanups.push(() => store.close());
    return { master, replica, replication, store };
  }

  test('the master is found, and its successor too', async () => {
    const { master, replica, store } = await startPair();
    const session = await store.open(task, 1);
    await write(session, { a: '1' }, at(1));
    await untilReplicated(replica.admin);
    await master.kill();
    await expect
      .poll(() => write(session, { a: '2' }, at(2)).catch(() => 'not yet'), { timeout: 60_000 })
      .toBeUndefined();
    expect(await read(session, ['a'])).toEqual({ mark: at(2), values: ['2'] });
    expect(await replica.admin.hget(hash, 'a')).toBe('2');
  });

  test('P101 a failover to a lagging replica takes no write that would skip what it lacks', async () => {
    const { master, replica, replication, store } = await startPair();
    const session = await store.open(task, 1);
    await write(session, { a: '1' }, at(1));
    await untilReplicated(replica.admin);
    replication.blackhole();
    await write(session, { b: '2' }, at(2));
    expect(await read(session, ['a', 'b'])).toEqual({ mark: at(2), values: ['1', '2'] });
    await master.kill();
    const attempt = (): Promise<string> =>
      write(session, { c: '3' }, at(3)).then(
        () => 'written',
        (error: { code: string }) => error.code,
      );
    await expect.poll(attempt, { timeout: 60_000 }).toBe('TASK_CORRUPTED');
    expect(await read(session, ['a', 'b', 'c'])).toEqual({
      mark: at(1),
      values: ['1', undefined, undefined],
    });
    // From where it stands now it can be brought up to date.
    await write(session, { b: '2', c: '3' }, at(3));
    expect(await read(session, ['a', 'b', 'c'])).toEqual({ mark: at(3), values: ['1', '2', '3'] });
  });
});

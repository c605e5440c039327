import { performance } from 'node:perf_hooks';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { redisScripts } from '../../src/adapters/redis/redis-scripts.ts';
import {
  openRedisStateStore,
  type RedisStateStoreOptions,
} from '../../src/adapters/redis/redis-state-store.ts';
import type { StateSession, StateStore } from '../../src/ports/state-store.ts';
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

let redis: PrivateRedis;
let admin: Redis;
const stores: StateStore[] = [];

beforeAll(async () => {
  redis = await startPrivateRedis();
  admin = new Redis(redis.url);
});

afterAll(async () => {
  admin.disconnect();
  await redis.stop();
});

beforeEach(async () => {
  await admin.flushall();
});

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

async function open(options: Partial<RedisStateStoreOptions> = {}): Promise<StateStore> {
  const store = await openRedisStateStore({ url: redis.url, ...options });
  stores.push(store);
  return store;
}

async function failure(attempt: Promise<unknown>): Promise<{ code: string; message: string }> {
  return await attempt.then(
    () => ({ code: 'none', message: 'it did not fail' }),
    (error: { code: string; message: string }) => error,
  );
}

/** Everything that an error could print, to look for secrets in. */
function allOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = Object.getOwnPropertyNames(error).map((name) => allOf(Reflect.get(error, name)));
  return `${JSON.stringify(error)} ${own.join(' ')} ${error.cause ? allOf(error.cause) : ''}`;
}

const manyKeys = numbered(6_000, (index) => `key-${index}`);

function many(session: StateSession, text: string, offset: number): Promise<void> {
  const entries = manyKeys.map((key) => bytes(`${text} of ${key}`));
  return session.write({ entries: packedEntries(manyKeys, entries), mark: at(offset) });
}

describe('layout', () => {
  test('a task is one hash with a hash tag, so that a cluster keeps it together and rule 5 holds', async () => {
    const session = await (await open()).open(task, 7);
    await write(session, { a: '1', '\0e': '2' }, at(12, 'id'));
    expect(await admin.keys('*')).toEqual([hash]);
    expect(await admin.hgetall(hash)).toEqual({
      '\0e': '7',
      '\0m': '12:id',
      '\0\0e': '2',
      a: '1',
    });
    await session.clear();
    expect(await admin.hgetall(hash)).toEqual({ '\0e': '7' });
  });

  test('a foreign value under the name is refused, and left alone', async () => {
    await admin.set(hash, 'mine');
    const error = await failure((await open()).open(task, 1));
    expect(error.code).toBe('CONFIG_INVALID');
    expect(await admin.get(hash)).toBe('mine');
  });
});

describe('writes in pieces', () => {
  test('rule 2: a write that is cut off after any piece has no mark, and is refused until it is repeated', async () => {
    const proxy = await startTcpProxy(Number(new URL(redis.url).port));
    try {
      const store = await open({ url: `redis://127.0.0.1:${proxy.port}` });
      let session = await store.open(task, 1);
      await many(session, 'first', 1);
      const whole = await admin.hlen(hash);
      let partial = 0;
      for (let run = 0; run < 24; run++) {
        await session.mark();
        proxy.resetAfter(1 + run * 15_000);
        const outcome = await failure(many(session, `run ${run}`, run + 2));
        const [mark, cut, last] = await admin.hmget(hash, '\0m', '\0w', 'key-5999');
        if (outcome.code === 'none') {
          expect(mark).toBe(`${run + 2}:topic-1`);
          continue;
        }
        expect(outcome.code).toBe('STATE_UNAVAILABLE');
        if (cut !== null && cut !== undefined) {
          partial++;
          expect(mark).toBeNull();
          // Another write would make the half look whole.
          await expectCode(write(session, { other: '1' }, at(1_000)), 'TASK_CORRUPTED');
          const other = await store.open(task, 1);
          await expectCode(write(other, { other: '1' }, at(1_000)), 'TASK_CORRUPTED');
        } else {
          const isWhole = last === `run ${run} of key-5999`;
          expect(mark).toBe(`${isWhole ? run + 2 : run + 1}:topic-1`);
        }
        if (run % 2 === 0) {
          await many(session, `run ${run}`, run + 2);
        } else {
          session = await store.open(task, 1);
          await session.clear();
          await many(session, `run ${run}`, run + 2);
        }
        const view = await read(session, manyKeys);
        expect(view.mark).toEqual(at(run + 2));
        expect(view.values).toEqual(manyKeys.map((key) => `run ${run} of ${key}`));
        expect(await admin.hlen(hash)).toBe(whole);
      }
      expect(partial).toBeGreaterThan(3);
    } finally {
      await proxy.close();
    }
  });

  test('rule 2: a piece that arrives without the one before it is refused', async () => {
    const session = await (await open()).open(task, 1);
    await write(session, { a: '1' }, at(1));
    // What a first piece leaves behind, and then an older image of it.
    await admin.hset(hash, '\0w', '1:topic-1>2:topic-1#attempt#0', 'b', 'half');
    await admin.hdel(hash, '\0m');
    expect(await session.mark()).toBeUndefined();
    await expectCode(write(session, { c: '3' }, at(3)), 'TASK_CORRUPTED');
    await session.clear();
    await write(session, { c: '3' }, at(3));
    expect(await everything(session)).toEqual(new Map([['c', '3']]));
  });

  test('rule 2: entries without a mark, however they came to be, take no write before a clear', async () => {
    const session = await (await open()).open(task, 1);
    await write(session, { a: '1' }, at(1));
    await admin.hdel(hash, '\0m');
    expect(await read(session, ['a'])).toEqual({ mark: undefined, values: ['1'] });
    await expectCode(write(session, { b: '2' }, at(2)), 'TASK_CORRUPTED');
    await session.clear();
    await write(session, { b: '2' }, at(2));
    expect(await everything(session)).toEqual(new Map([['b', '2']]));
  });

  test('rule 2: FLUSHALL in the middle of big writes leaves no mark over a part', async () => {
    const store = await open();
    for (let run = 0; run < 15; run++) {
      const session = await store.open(task, run + 1);
      await session.clear();
      const writing = failure(many(session, 'all', 5));
      await admin.flushall();
      const { code } = await writing;
      expect(['none', 'TASK_CORRUPTED']).toContain(code);
      const [mark, size] = [await admin.hget(hash, '\0m'), await admin.hlen(hash)];
      if (mark !== null) expect(size).toBe(manyKeys.length + 2);
    }
  });

  test('a server that forgot the scripts learns them again', async () => {
    const session = await (await open()).open(task, 1);
    await write(session, { a: '1' }, at(1));
    await admin.script('FLUSH');
    await many(session, 'again', 2);
    await admin.script('FLUSH');
    await write(session, { a: '3' }, at(3));
    expect(await read(session, ['a', 'key-5999'])).toEqual({
      mark: at(3),
      values: ['3', 'again of key-5999'],
    });
  });

  test('rule 2: a piece counts only right after the one before it, of the same attempt', async () => {
    const session = await (await open()).open(task, 1);
    await write(session, { a: '0' }, at(1));
    const piece = async (attempt: string, index: number, isLast = 0): Promise<unknown> => {
      const values = ['1', '1:topic-1', '2:topic-1', attempt, index, isLast, 1, `k${index}`, '1'];
      const reply = await admin.eval(redisScripts.write, 1, hash, ...values);
      return Array.isArray(reply) ? reply[0] : reply;
    };
    expect(await piece('x', 1)).toBe(0);
    expect(await piece('x', 0)).toBe(1);
    expect(await piece('x', 2, 1)).toBe(0);
    expect(await piece('y', 1)).toBe(0);
    const image = await admin.dumpBuffer(hash);
    expect(await piece('x', 1)).toBe(1);
    expect(await piece('x', 1)).toBe(0);
    // A failover to a replica that lacks the last piece.
    await admin.restore(hash, 0, image, 'REPLACE');
    expect(await piece('x', 2, 1)).toBe(0);
    expect(await session.mark()).toBeUndefined();
    // A new attempt at the same write takes over from the old one, which is then out of turn.
    expect(await piece('y', 0)).toBe(1);
    expect(await piece('x', 1)).toBe(0);
    expect(await piece('y', 1)).toBe(1);
    expect(await piece('y', 2, 1)).toBe(1);
    expect(await session.mark()).toEqual(at(2));
    expect(await piece('x', 1)).toBe(0);
    expect(await everything(session)).toEqual(
      new Map([
        ['a', '0'],
        ['k0', '1'],
        ['k1', '1'],
        ['k2', '1'],
      ]),
    );
  });

  test('P105 a write is cut into pieces by keys and by bytes, so that no script is long', async () => {
    const calls = async (): Promise<number> =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1] ?? 0);
    const session = await (await open()).open(task, 1);
    await write(session, { a: '1' }, at(1));
    await admin.config('RESETSTAT');
    await session.write({
      entries: packedEntries(
        numbered(40, (index) => `big-${index}`),
        numbered(40, () => 'x'.repeat(300_000)).map(bytes),
      ),
      mark: at(2),
    });
    expect(await calls()).toBe(10);
    await many(session, 'short', 3);
    expect(await calls()).toBe(16);
  });
});

describe('outages', () => {
  let proxy: TcpProxy;

  beforeEach(async () => {
    proxy = await startTcpProxy(Number(new URL(redis.url).port));
  });

  afterEach(async () => {
    await proxy.close();
  });

  function throughProxy(deadlineMs: number): Promise<StateStore> {
    return open({ url: `redis://127.0.0.1:${proxy.port}`, deadlineMs });
  }

  test('P103 commands into a black hole end by the deadline, and work goes on after the reset', async () => {
    const store = await throughProxy(400);
    const session = await store.open(task, 1);
    await write(session, { a: '1' }, at(1));
    proxy.blackhole();
    const start = performance.now();
    await expectCode(session.read(['a']), 'STATE_UNAVAILABLE');
    await expectCode(write(session, { a: '2' }, at(2)), 'STATE_UNAVAILABLE');
    await expectCode(session.mark(), 'STATE_UNAVAILABLE');
    expect(performance.now() - start).toBeLessThan(10_000);
    proxy.heal();
    await expect
      .poll(() => read(session, ['a']).catch((error: { code: string }) => error.code), {
        timeout: 20_000,
      })
      .toEqual({ mark: at(1), values: ['1'] });
    await write(session, { a: '2' }, at(2));
    expect(await read(session, ['a'])).toEqual({ mark: at(2), values: ['2'] });
  });

  test('P103 a connection that swallows everything is given up without a reset from outside', async () => {
    const store = await throughProxy(300);
    const session = await store.open(task, 1);
    const before = proxy.accepted;
    proxy.blackhole();
    await expectCode(session.mark(), 'STATE_UNAVAILABLE');
    await expect.poll(() => proxy.accepted, { timeout: 20_000 }).toBeGreaterThan(before);
  });

  test('P103 a write that was under way at a disconnect is rejected, and not sent again', async () => {
    const store = await throughProxy(3_000);
    const session = await store.open(task, 1);
    await write(session, { a: '1' }, at(1));
    proxy.blackhole();
    const writing = failure(write(session, { a: '2' }, at(2)));
    await new Promise((done) => setTimeout(done, 100));
    proxy.heal();
    expect((await writing).code).toBe('STATE_UNAVAILABLE');
    expect(await read(session, ['a'])).toEqual({ mark: at(1), values: ['1'] });
    await new Promise((done) => setTimeout(done, 300));
    expect(await admin.hget(hash, 'a')).toBe('1');
  });

  test('rule 6: a write whose answer was lost may be repeated', async () => {
    const store = await throughProxy(3_000);
    const session = await store.open(task, 1);
    await write(session, { a: '1' }, at(1));
    let repeats = 0;
    for (let offset = 2; offset < 40; offset++) {
      proxy.resetAfter(80 + offset * 10);
      const attempts = async (): Promise<void> => {
        for (;;) {
          const { code } = await failure(write(session, { a: `${offset}` }, at(offset)));
          if (code === 'none') return;
          expect(code).toBe('STATE_UNAVAILABLE');
          repeats++;
        }
      };
      await attempts();
      expect(await read(session, ['a']).catch(() => read(session, ['a']))).toEqual({
        mark: at(offset),
        values: [`${offset}`],
      });
    }
    expect(repeats).toBeGreaterThan(5);
  });

  test('a server that is away at the start is named, without its password', async () => {
    const port = await freePort();
    const url = `redis://someone:s3cr%40t@127.0.0.1:${port}`;
    const error = await failure(openRedisStateStore({ url, deadlineMs: 300 }));
    expect(error).toMatchObject({ code: 'STATE_UNAVAILABLE' });
    expect(error.message).toContain(`127.0.0.1:${port}`);
    expect(allOf(error)).toContain('ECONNREFUSED');
    expect(allOf(error)).not.toMatch(/s3cr/);
  });
});

describe('a server of bad temper', () => {
  test('P105 BUSY is STATE_UNAVAILABLE, never "no such key", and passes', async () => {
    const session = await (await open({ deadlineMs: 1_000 })).open(task, 1);
    await write(session, { a: '1' }, at(1));
    await admin.config('SET', 'busy-reply-threshold', '50');
    const blocker = new Redis(redis.url);
    const loop = blocker.eval('while true do end', 0).catch((error: Error) => error.message);
    await new Promise((done) => setTimeout(done, 200));
    const error = await failure(session.read(['a']));
    expect(error).toMatchObject({ code: 'STATE_UNAVAILABLE' });
    expect(allOf(error)).toContain('BUSY');
    await expectCode(write(session, { a: '2' }, at(2)), 'STATE_UNAVAILABLE');
    await admin.script('KILL');
    expect(await loop).toContain('killed');
    blocker.disconnect();
    await expect
      .poll(() => read(session, ['a']).catch(() => 'not yet'), { timeout: 20_000 })
      .toEqual({ mark: at(1), values: ['1'] });
    await write(session, { a: '2' }, at(2));
  });

  test('a master that became a replica is STATE_UNAVAILABLE', async () => {
    const session = await (await open({ deadlineMs: 1_000 })).open(task, 1);
    await write(session, { a: '1' }, at(1));
    await admin.replicaof('127.0.0.1', await freePort());
    try {
      const error = await failure(write(session, { a: '2' }, at(2)));
      expect(error).toMatchObject({ code: 'STATE_UNAVAILABLE' });
      expect(allOf(error)).toContain('READONLY');
    } finally {
      await admin.replicaof('NO', 'ONE');
    }
    await expect
      .poll(() => write(session, { a: '2' }, at(2)).catch(() => 'not yet'), { timeout: 20_000 })
      .toBeUndefined();
    expect(await read(session, ['a'])).toEqual({ mark: at(2), values: ['2'] });
  });

  test('a server without memory refuses a write before anything of it has happened', async () => {
    const session = await (await open()).open(task, 1);
    await write(session, { a: '1' }, at(1));
    await admin.config('SET', 'maxmemory', '1');
    try {
      const error = await failure(write(session, { a: '2' }, at(2)));
      expect(error).toMatchObject({ code: 'STATE_UNAVAILABLE' });
      expect(allOf(error)).toContain('maxmemory');
      expect(await read(session, ['a'])).toEqual({ mark: at(1), values: ['1'] });
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
    await write(session, { a: '2' }, at(2));
    expect(await read(session, ['a'])).toEqual({ mark: at(2), values: ['2'] });
  });

  test.each(['allkeys-lru', 'volatile-ttl', 'allkeys-random'])(
    'the eviction policy %s is refused under a limit, with setting and remedy',
    async (policy) => {
      const store = await open();
      await admin.config('SET', 'maxmemory-policy', policy);
      try {
        await expect(store.check()).resolves.toBeUndefined();
        await admin.config('SET', 'maxmemory', '100mb');
        const error = await failure(store.check());
        expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
        expect(error.message).toContain(`maxmemory-policy is ${policy}`);
        expect(allOf(error)).toContain('noeviction');
      } finally {
        await admin.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
      }
      await expect(store.check()).resolves.toBeUndefined();
    },
  );

  test('a wrong password fails at once with NOT_AUTHORIZED, and is not told', async () => {
    await admin.call('ACL', 'SETUSER', 'flow', 'on', '>right-one', '+@all', '~*');
    const start = performance.now();
    const url = new URL(redis.url);
    for (const options of [
      { url: `redis://flow:wr%21ng@${url.host}` },
      { url: redis.url, username: 'flow', password: 'wr!ng' },
    ]) {
      const error = await failure(openRedisStateStore(options));
      expect(error).toMatchObject({ code: 'NOT_AUTHORIZED' });
      expect(allOf(error)).not.toMatch(/wr!ng|wr%21ng/);
    }
    expect(performance.now() - start).toBeLessThan(4_000);
    const store = await open({ url: redis.url, username: 'flow', password: 'right-one' });
    await write(await store.open(task, 1), { a: '1' }, at(1));
  });

  test('the rights that the hint names are enough', async () => {
    const rights = '+info +hmget +hget +hset +hdel +hlen +hscan +unlink +eval +evalsha';
    await admin.call('ACL', 'SETUSER', 'small', 'on', '>p', '~tidemark:*', ...rights.split(' '));
    const store = await open({ username: 'small', password: 'p' });
    await store.check();
    const session = await store.open(task, 1);
    await many(session, 'a', 1);
    expect((await everything(session)).size).toBe(manyKeys.length);
    await session.clear();
    await admin.call('ACL', 'SETUSER', 'small', '-evalsha', '-eval');
    await expectCode(write(session, { a: '1' }, at(1)), 'NOT_AUTHORIZED');
  });

  test.each(['not a url', 'http://u:pa55@host', 'redis://u:pa55@h:port', 'redis://u:pa55@h/x'])(
    'the URL %s is refused without being quoted',
    async (url) => {
      const error = await failure(openRedisStateStore({ url }));
      expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
      expect(allOf(error)).not.toContain('pa55');
    },
  );
});

describe('restarts', () => {
  test('P099 a restart that loses everything is noticed, and the state built anew', async () => {
    const own = await startPrivateRedis();
    try {
      const store = await open({ url: own.url, deadlineMs: 5_000 });
      const session = await store.open(task, 1);
      await write(session, { a: '1' }, at(1));
      await own.restart();
      await expect
        .poll(() => read(session, ['a']).catch(() => 'not yet'), { timeout: 20_000 })
        .toEqual({ mark: undefined, values: [undefined] });
      await expectCode(write(session, { b: '2' }, at(2)), 'TASK_CORRUPTED');
      const again = await store.open(task, 1);
      await again.clear();
      await write(again, { a: '1', b: '2' }, at(2));
      expect(await read(again, ['a', 'b'])).toEqual({ mark: at(2), values: ['1', '2'] });
    } finally {
      await own.stop();
    }
  });

  test('P105 a server that answers nothing for a while is waited out', async () => {
    const own = await startPrivateRedis();
    try {
      const session = await (await open({ url: own.url, deadlineMs: 500 })).open(task, 1);
      await write(session, { a: '1' }, at(1));
      own.pause();
      await expectCode(session.read(['a']), 'STATE_UNAVAILABLE');
      await expectCode(write(session, { a: '2' }, at(2)), 'STATE_UNAVAILABLE');
      own.resume();
      await expect
        .poll(() => write(session, { a: '2' }, at(2)).catch(() => 'not yet'), { timeout: 20_000 })
        .toBeUndefined();
      expect(await read(session, ['a'])).toEqual({ mark: at(2), values: ['2'] });
    } finally {
      own.resume();
      await own.stop();
    }
  });
});

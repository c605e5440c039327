import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openEmbeddedStateStore } from '../../../src/adapters/embedded/embedded-state-store.ts';
import type { StateStore } from '../../../src/ports/state-store.ts';
import { packedEntries } from '../../support/packed-entries.ts';
import {
  at,
  bytes,
  expectCode,
  numbered,
  read,
  task,
  write,
} from '../../support/state-store-contract.ts';

let directory: string;
const stores: StateStore[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-state-'));
});

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  rmSync(directory, { recursive: true, force: true });
});

async function open(sizes: object = {}): Promise<StateStore> {
  const store = await openEmbeddedStateStore({ directory, ...sizes });
  stores.push(store);
  return store;
}

const folder = (): string => join(directory, 'shop', 'orders', '0.3');

function logBytes(): number {
  const names = readdirSync(folder());
  return names.reduce((sum, name) => sum + statSync(join(folder(), name)).size, 0);
}

describe('a directory that can not be created', () => {
  test.each([
    ['/proc/nope', 'ENOENT'],
    ['/proc/nope/deeper', 'ENOENT'],
    ['FILE', 'EEXIST'],
    ['FILE/below', 'ENOTDIR'],
  ])('%s is told at once, with the path and what to do', (path, code) => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    const wanted = path.replace('FILE', file);
    const store = join(
      import.meta.dirname,
      '../../../src/adapters/embedded/embedded-state-store.ts',
    );
    // In a process of its own: what it must not do is to go round for ever.
    const { status, stdout } = spawnSync(
      process.execPath,
      [
        '--import',
        'tsx',
        '--input-type=module',
        '-e',
        `const { openEmbeddedStateStore } = await import(${JSON.stringify(store)});
         const { code, message, detail, hint } = await openEmbeddedStateStore({ directory: process.argv[1] }).catch((error) => error);
         console.log(JSON.stringify({ code, message, detail, hint }));`,
        wanted,
      ],
      { encoding: 'utf8', timeout: 20_000 },
    );
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      code: 'CONFIG_INVALID',
      message: `state directory "${wanted}" cannot be written`,
      detail: expect.stringContaining(code),
      hint: 'Choose a directory that this user may write: state.directory.',
    });
  });

  test('the ones above it are created with it', async () => {
    directory = join(directory, 'a', 'b', 'c');
    await open();
    expect(existsSync(join(directory, 'lock'))).toBe(true);
  });
});

describe('space', () => {
  test('rewriting the same keys for ever keeps the log within a bound', async () => {
    const store = await open({ segmentBytesMin: 20_000, segmentBytesMax: 100_000 });
    const session = await store.open(task, 1);
    const keys = numbered(500, (index) => `key ${index}`);
    const liveBytes = 500 * 60;
    let largest = 0;
    for (let round = 1; round <= 200; round++) {
      const entries = keys.map((key) => bytes(`${round} of ${key}`.padEnd(50)));
      await session.write({ entries: packedEntries(keys, entries), mark: at(round) });
      largest = Math.max(largest, logBytes());
    }
    expect(largest).toBeLessThan(2 * liveBytes + 6 * 20_000);
    const view = await read(session, ['key 0', 'key 499']);
    expect(view.values.map((value) => value?.trim())).toEqual(['200 of key 0', '200 of key 499']);
  });

  test('cold entries survive the cleaning that hot ones cause, also across a restart', async () => {
    const sizes = { segmentBytesMin: 5_000, segmentBytesMax: 20_000, cacheBytes: 1 << 20 };
    const store = await open(sizes);
    const session = await store.open(task, 1);
    const cold = numbered(300, (index) => `cold ${index}`);
    await session.write({ entries: packedEntries(cold, cold.map(bytes)), mark: at(1) });
    for (let round = 2; round < 600; round++) {
      await write(
        session,
        { hot: `${round}`.repeat(40), [`gone ${round % 7}`]: undefined },
        at(round),
      );
    }
    expect((await read(session, cold)).values).toEqual(cold);
    await store.close();
    const next = await (await open(sizes)).open(task, 2);
    expect(await read(next, [...cold, 'hot'])).toEqual({
      mark: at(599),
      values: [...cold, '599'.repeat(40)],
    });
  });

  test('a clear gives the space back', async () => {
    const session = await (await open()).open(task, 1);
    const keys = numbered(2_000, (index) => `key ${index}`);
    await session.write({ entries: packedEntries(keys, keys.map(bytes)), mark: at(1) });
    await session.clear();
    expect(readdirSync(folder()).length).toBe(1);
    expect(logBytes()).toBeLessThan(200);
  });

  test('entries of any size are read from the cache and from the file', async () => {
    const lengths = [0, 1, 63, 64, 65, 5_000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_500_000];
    const keys = lengths.map((length) => `of ${length}`);
    const entries = lengths.map((length, index) => Buffer.alloc(length, index + 1));
    for (const cacheBytes of [0, 1 << 20, 64 << 20]) {
      const store = await open({ cacheBytes });
      const session = await store.open({ ...task, partition: cacheBytes }, 1);
      await session.write({ entries: packedEntries(keys, entries), mark: at(1) });
      await session.write({
        entries: packedEntries([...keys].reverse(), [...entries].reverse()),
        mark: at(2),
      });
      const view = await session.read(keys);
      expect(view.mark).toEqual(at(2));
      const wrong = keys.filter((_, index) => {
        const [found, expected] = [view.entries[index], entries[index]];
        return !expected || !found?.equals(expected);
      });
      expect(wrong).toEqual([]);
      await store.close();
    }
  });

  test('a disk that takes no more refuses the write as a whole, and the next one is taken', async () => {
    const store = await open({ segmentBytesMin: 10, segmentBytesMax: 10 });
    const session = await store.open(task, 1);
    await write(session, { a: '1' }, at(1));
    const files = readdirSync(folder()).map((name) => {
      return [join(folder(), name), readFileSync(join(folder(), name))] as const;
    });
    // Each write needs a new segment here, and its folder is gone.
    rmSync(folder(), { recursive: true });
    await expectCode(write(session, { a: '2', b: '2' }, at(2)), 'STATE_UNAVAILABLE');
    await expectCode(session.clear(), 'STATE_UNAVAILABLE');
    expect(await read(session, ['a', 'b'])).toEqual({ mark: at(1), values: ['1', undefined] });
    mkdirSync(folder());
    for (const [path, content] of files) writeFileSync(path, content);
    await write(session, { a: '2', b: '2' }, at(2));
    expect(await read(session, ['a', 'b'])).toEqual({ mark: at(2), values: ['2', '2'] });
    await store.close();
    const next = await (await open()).open(task, 2);
    expect(await read(next, ['a', 'b'])).toEqual({ mark: at(2), values: ['2', '2'] });
  });
});

describe('lock', () => {
  const lock = (): string => join(directory, 'lock');

  function writeLock(owner: object): void {
    writeFileSync(lock(), JSON.stringify(owner));
  }

  test('a second store in the same process is refused until the first is closed', async () => {
    const store = await open();
    await expectCode(openEmbeddedStateStore({ directory }), 'STATE_UNAVAILABLE');
    await store.close();
    expect(existsSync(lock())).toBe(false);
    await (await open()).close();
  });

  test('the lock of another living process holds, and is void once it was killed', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await new Promise((done) => child.once('spawn', done));
    const stat = readFileSync(`/proc/${child.pid}/stat`, 'latin1');
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    writeLock({ pid: child.pid, host: hostname(), started });
    await expectCode(openEmbeddedStateStore({ directory }), 'STATE_UNAVAILABLE');
    // The same number, but a process that started at another time: the number was given anew.
    writeLock({ pid: child.pid, host: hostname(), started: '1' });
    await (await open()).close();
    writeLock({ pid: child.pid, host: hostname(), started });
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGKILL');
    await ended;
    await (await open()).close();
  });

  test('a lock of our own number that an earlier process left is void', async () => {
    writeLock({ pid: process.pid, host: hostname(), started: '1' });
    await (await open()).close();
  });

  test('a lock of another host holds while it is renewed', async () => {
    writeLock({ pid: 1, host: 'elsewhere', started: '1' });
    await expectCode(openEmbeddedStateStore({ directory }), 'STATE_UNAVAILABLE');
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(lock(), longAgo, longAgo);
    await (await open()).close();
  });

  test('a lock that says nothing holds only for as long as its owner could be writing it', async () => {
    writeFileSync(lock(), '');
    await expectCode(openEmbeddedStateStore({ directory }), 'STATE_UNAVAILABLE');
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(lock(), longAgo, longAgo);
    await open();
  });
});

test('a directory that cannot be one is refused, with what to do', async () => {
  const file = join(directory, 'file');
  writeFileSync(file, '');
  const attempt = openEmbeddedStateStore({ directory: join(file, 'below') });
  await expect(attempt).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    hint: expect.stringContaining('directory'),
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { bruteForceRows } from '../support/brute-force-loss.ts';
import { OutputWatcher } from '../support/output-watcher.ts';
import { RefreshCli } from '../support/refresh-cli.ts';
import type { SourceRow } from '../support/refresh-world.ts';

const main = process.env['TEST_SERVICE_MAIN'] ?? resolve(import.meta.dirname, '../../dist/main.js');
const keys = 400;
const children: ChildProcess[] = [];
let world: RefreshCli;
let watcher: OutputWatcher;

function rows(from: number, to: number, seq = 1): SourceRow[] {
  return Array.from({ length: to - from }, (_, at) => ({
    k: `k${from + at}`,
    seq,
    v: `v${seq}`,
    gone: false,
  }));
}

function define(values: string): void {
  world.define(`CREATE STREAMING TABLE t WITH (topic = '@t')
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, ${values} FROM STREAM(a);`);
}

/** 400 keys, of which the older half has expired, and a reader that follows the table all along. */
beforeEach(async () => {
  world = await RefreshCli.open({
    brokers: inject('kafkaBrokers'),
    redisUrl: inject('redisUrl'),
    sources: ['a'],
  });
  define('v, gone');
  await world.produce('a', rows(0, keys));
  await world.update();
  await world.expire('a', 0.5);
  watcher = new OutputWatcher(world.log, world.topic('t'), () => false);
  watcher.start();
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await watcher.stop();
  await world.close();
});

type Refresh = {
  readonly child: ChildProcess;
  /** Once it has said this. */
  readonly says: (text: string) => Promise<void>;
  readonly ended: Promise<{ readonly code: number | null; readonly err: string }>;
};

/** At 100 records a second it builds for two seconds. */
function refresh(...flags: readonly string[]): Refresh {
  const args = ['refresh', 't', '--keep-unrecoverable', ...flags];
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...world.environment() },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  children.push(child);
  let err = '';
  const waiting = new Set<() => void>();
  child.stderr.on('data', (bytes: Buffer) => {
    err += bytes.toString('utf8');
    for (const look of waiting) look();
  });
  const ended = new Promise<{ code: number | null; err: string }>((done) => {
    child.once('close', (code) => done({ code, err }));
  });
  const says = async (text: string): Promise<void> => {
    const said = new Promise<'said'>((done) => {
      const look = (): void => {
        if (err.includes(text)) done('said');
      };
      waiting.add(look);
      look();
    });
    expect(await Promise.race([said, ended]), `waiting for: ${text}`).toBe('said');
  };
  return { child, says, ended };
}

async function dump(): Promise<string[]> {
  const { code, out, err } = await world.cli('dump', 't');
  expect([code, err]).toEqual([0, '']);
  return out.split('\n').filter(Boolean).sort();
}

function everything(): string[] {
  const isReadable = () => true;
  return bruteForceRows(world.produced, { branches: ['a'], distinct: false, isReadable });
}

async function expectWhole(): Promise<void> {
  await world.update();
  expect(await dump()).toEqual(everything());
  expect(await watcher.stop()).toEqual([]);
  const roles = ['output', 'repartition', 'levels'];
  const left = await world.log.describeTopics(
    roles.map((role) => `${world.pipeline}.t.refresh.${role}`),
  );
  expect([...left.keys()]).toEqual([]);
}

test('FR-05 retention goes on while it builds: what expires is kept like what had expired before', async () => {
  const run = refresh('--rate', '100');
  await run.says('building generation');
  await world.produce('a', rows(0, 20, 2));
  await world.expire('a', 0.9);
  expect(await run.ended).toMatchObject({ code: 0 });
  await expectWhole();
});

test('FR-23 the source is created again while it builds: it builds anew, and keeps what is gone', async () => {
  const run = refresh('--rate', '50');
  await run.says(' of 200 offsets)');
  await world.recreate('a');
  await world.produce('a', rows(0, 20, 2));
  const { code, err } = await run.ended;
  expect([code, err]).toEqual([0, expect.stringContaining('to build it anew')]);
  await expectWhole();
});

test('FR-03 the state is flushed while it builds: it ends the same', async () => {
  const run = refresh('--rate', '100');
  await run.says('building generation');
  const redis = new Redis(inject('redisUrl'));
  const own = (await redis.keys(`tidemark:{${world.pipeline}.*`)) as string[];
  if (own.length > 0) await redis.unlink(...own);
  redis.disconnect();
  const { code } = await run.ended;
  if (code !== 0) expect(await refresh().ended).toMatchObject({ code: 0 });
  await expectWhole();
});

test('FR-04 a second operator: one of both does it, the other is told, and nothing is left over', async () => {
  const first = refresh('--rate', '100');
  await first.says('building generation');
  const second = refresh();
  const ends = await Promise.all([first.ended, second.ended]);
  expect(ends.map(({ code }) => code).sort()).toEqual([0, 1]);
  expect(ends.find(({ code }) => code === 1)?.err).toMatch(
    /another command refreshes|TABLE_LOCKED/,
  );
  await expectWhole();
});

test('FR-11 another definition while it builds: the last command counts, and its rows', async () => {
  const first = refresh('--rate', '100');
  await first.says('building generation');
  first.child.kill('SIGKILL');
  await first.ended;
  define("v, gone, 'x' AS u");
  expect(await refresh().ended).toMatchObject({ code: 0 });
  await world.update();
  const isReadable = await world.readable();
  const found = await dump();
  expect(found).toHaveLength(keys);
  // What is kept lacks the new column until it is sent again.
  const added = world.produced.filter(isReadable).length;
  expect(found.filter((row) => row.includes('"u":"x"'))).toHaveLength(added);
});

test('FR-34 FR-35 throttled: it reads no faster, and console and status tell how far it is and how long it takes', async () => {
  // More than one fetch of each partition, however well they are compressed.
  const more = Array.from({ length: 3_000 }, (_, at) => ({
    k: `k${at % keys}`,
    seq: 2 + Math.floor(at / keys),
    v: randomBytes(1_000).toString('hex'),
    gone: false,
  }));
  await world.produce('a', more);
  await world.update();
  const run = refresh('--rate', '300');
  await run.says(' s left');
  const { refreshes } = JSON.parse((await world.cli('status', '--json')).out) as {
    refreshes: readonly { progress: number; secondsLeft: number }[];
  };
  expect(refreshes).toMatchObject([{ table: 't', mode: 'beside', state: 'building' }]);
  const [{ progress, secondsLeft } = { progress: 0, secondsLeft: 0 }] = refreshes;
  expect([progress > 0, progress < 1, secondsLeft > 0]).toEqual([true, true, true]);
  const { code, err } = await run.ended;
  expect(code).toBe(0);
  const rates = [...err.matchAll(/ offsets\), (\d+) records\/s/g)].map(([, rate]) => Number(rate));
  expect(rates.every((rate) => rate <= 300)).toBe(true);
  await expectWhole();
});

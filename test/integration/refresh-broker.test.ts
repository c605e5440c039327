import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { readCommitted } from '../support/check-output.ts';
import { RefreshCli } from '../support/refresh-cli.ts';
import { sleep } from '../support/service-process.ts';
import { type PrivateKafka, startPrivateKafka } from '../support/services.ts';

const main = process.env['TEST_SERVICE_MAIN'] ?? resolve(import.meta.dirname, '../../dist/main.js');
const keys = 5_000;
const children: ChildProcess[] = [];
let kafka: PrivateKafka;
let world: RefreshCli;

beforeAll(async () => {
  kafka = await startPrivateKafka();
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await world.close();
});

afterAll(() => kafka.stop());

function define(values: string): void {
  world.define(`CREATE STREAMING TABLE t WITH (topic = '@t')
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, ${values} FROM STREAM(a);`);
}

/** Gives its exit code and what it said; `onSwap` is called once it swaps. */
function refresh(onSwap: () => void): Promise<readonly [number | null, string]> {
  const child = spawn(process.execPath, [main, 'refresh', 't'], {
    env: { ...process.env, ...world.environment() },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  children.push(child);
  let said = '';
  let isSwapping = false;
  child.stderr.on('data', (bytes: Buffer) => {
    said += bytes.toString('utf8');
    if (isSwapping || !said.includes('swapping in')) return;
    isSwapping = true;
    onSwap();
  });
  return new Promise((done) => child.once('close', (code) => done([code, said])));
}

test('P087 FR-04 the broker is killed and started again while it swaps: each key goes over once, and whole', async () => {
  world = await RefreshCli.open({
    brokers: kafka.brokers,
    redisUrl: inject('redisUrl'),
    sources: ['a'],
  });
  define('v');
  const all = Array.from({ length: keys }, (_, at) => ({ k: `k${at}`, seq: 1, v: 'v' }));
  await world.produce('a', all);
  await world.update();
  define("v, 'x' AS u");
  let restarting: Promise<void> | undefined;
  const first = await refresh(() => {
    restarting = (async () => {
      await kafka.kill();
      await sleep(1_000);
      await kafka.restart();
    })();
  });
  expect(restarting, first[1]).toBeDefined();
  await restarting;
  if (first[0] !== 0) expect((await refresh(() => undefined))[0]).toBe(0);
  await world.update();
  const { code, out } = await world.cli('dump', 't');
  const rows = out.split('\n').filter(Boolean);
  expect([code, rows.length]).toEqual([0, keys]);
  expect(rows.every((row) => row.includes('"u":"x"'))).toBe(true);
  // Not a tombstone, and no key more often than in both generations.
  const records = await readCommitted(world.log, world.topic('t'));
  expect(records.filter(({ value }) => value === null)).toEqual([]);
  expect(records).toHaveLength(2 * keys);
});

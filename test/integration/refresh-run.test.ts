import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { readCommitted } from '../support/check-output.ts';
import { RefreshCli } from '../support/refresh-cli.ts';
import type { SourceRow } from '../support/refresh-world.ts';

const main = process.env['TEST_SERVICE_MAIN'] ?? resolve(import.meta.dirname, '../../dist/main.js');
let world: RefreshCli;
const children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await world.close();
});

async function open(output = 'row_set'): Promise<RefreshCli> {
  world = await RefreshCli.open({
    brokers: inject('kafkaBrokers'),
    redisUrl: inject('redisUrl'),
    sources: ['a'],
  });
  world.define(`CREATE STREAMING TABLE t WITH (topic = '@t', output = '${output}')
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);`);
  return world;
}

function rowsOf(random: Random, count: number, keys: number, levels: Map<string, number>) {
  return Array.from({ length: count }, (_, number): SourceRow => {
    const k = `k${random.below(keys)}`;
    const level = levels.get(k) ?? 0;
    let seq = level + 1;
    if (random.chance(250)) seq = level;
    else if (random.chance(100)) seq = Math.max(0, level - 1);
    levels.set(k, Math.max(level, seq));
    return { k, seq, v: `v${number}` };
  });
}

/** The rows of the table by brute force over everything that was produced and is meant. */
function expectedRows(isMeant: (record: (typeof world.produced)[number]) => boolean): string[] {
  const sets = new Map<string, { seq: number; rows: string[] }>();
  for (const record of world.produced) {
    if (!isMeant(record)) continue;
    const { k, seq, v } = record;
    const known = sets.get(k);
    const text = JSON.stringify({ k, seq, v });
    if (known === undefined || seq > known.seq) sets.set(k, { seq, rows: [text] });
    else if (seq === known.seq) known.rows.push(text);
  }
  return [...sets.values()].flatMap(({ rows }) => rows).sort();
}

async function dump(): Promise<string[]> {
  const { code, out, err } = await world.cli('dump', 't');
  expect([code, err]).toEqual([0, '']);
  return out.split('\n').filter(Boolean).sort();
}

/** Follows the topic record by record: no key goes back, and none of those that stay is ever missing. */
async function expectMonotone(from: ReadonlyMap<number, number>): Promise<void> {
  const highest = new Map<string, number>();
  for (const { partition, offset, key, value, headers } of await readCommitted(
    world.log,
    world.topic('t'),
  )) {
    const name = String(key).replace(/,"_row":\d+/, '');
    const number = Number(/"_row":(\d+)/.exec(String(key))?.[1] ?? 0);
    if (value === null) {
      if (offset >= (from.get(partition) ?? 0)) expect(number).toBeGreaterThan(0);
      continue;
    }
    const sequence = Number(headers.find((one) => one.key === 'tm-seq')?.value?.toString());
    expect(sequence).toBeGreaterThanOrEqual(highest.get(name) ?? 0);
    highest.set(name, sequence);
  }
}

async function endsNow(): Promise<ReadonlyMap<number, number>> {
  const ranges = await world.log.offsetRanges(world.topic('t'), [0, 1]);
  return new Map([...ranges].map(([partition, { end }]) => [partition, end]));
}

describe.each(['row_set', 'rows'])('output = %s', (output) => {
  test('P055 FR-05 preview, refused with exit 4, accepted in place, filled by the next run', async () => {
    await open(output);
    await world.produce(
      'a',
      ['R1', 'R2', 'R3', 'R4', 'R5', 'R6'].map((k) => ({ k, seq: 1, v: k })),
    );
    await world.update();
    await world.expire('a', 0.5);
    const refused = await world.cli('refresh', 't', '--in-place');
    expect([refused.code, refused.out]).toEqual([4, '']);
    expect(refused.err).toContain('error DATA_LOSS_REFUSED');
    expect(refused.err).toMatch(/--allow-loss.*--keep-unrecoverable/s);
    expect(await dump()).toHaveLength(6);
    const done = await world.cli('refresh', 't', '--in-place', '--allow-loss', '--json');
    expect([done.code, JSON.parse(done.out)]).toMatchObject([
      0,
      { table: 't', generation: 1, mode: 'in_place', lost: { rows: 2 } },
    ]);
    expect(await dump()).toEqual([]);
    await world.update();
    expect(await dump()).toEqual(expectedRows(await world.readable()));
    const again = await world.cli('refresh', 't', '--plan', '--json');
    expect(JSON.parse(again.out)).toMatchObject({ generation: 1, lossless: true });
  });

  test('FR-34 beside the table: kept rows, newer rows, and not one key missing meanwhile', async () => {
    await open(output);
    const random = new Random(5);
    const levels = new Map<string, number>();
    await world.produce('a', rowsOf(random, 3000, 500, levels));
    await world.update();
    await world.expire('a', 0.5);
    await world.produce('a', rowsOf(random, 1000, 500, levels));
    const from = await endsNow();
    const refused = await world.cli('refresh', 't');
    expect(refused.code).toBe(4);
    const { code, err } = await world.cli('refresh', 't', '--keep-unrecoverable');
    expect([code, err.includes('building generation 1 beside the table')]).toEqual([0, true]);
    expect(await dump()).toEqual(expectedRows(() => true));
    await expectMonotone(from);
    await world.produce('a', rowsOf(random, 500, 500, levels));
    await world.update();
    expect(await dump()).toEqual(expectedRows(() => true));
  });

  test('beside the table with --allow-loss: a function of what the source has', async () => {
    await open(output);
    const random = new Random(6);
    const levels = new Map<string, number>();
    await world.produce('a', rowsOf(random, 3000, 500, levels));
    await world.update();
    await world.expire('a', 0.4);
    const { code, out } = await world.cli('refresh', 't', '--allow-loss', '--json');
    expect(code).toBe(0);
    expect((JSON.parse(out) as { lost: { keys: number } }).lost.keys).toBeGreaterThan(0);
    const isReadable = await world.readable();
    expect(await dump()).toEqual(expectedRows(isReadable));
    await world.produce('a', rowsOf(random, 500, 500, levels));
    await world.update();
    expect(await dump()).toEqual(expectedRows(await world.readable()));
  });
});

function refreshProcess(): Promise<{ readonly code: number | null; readonly err: string }> {
  const child = spawn(process.execPath, [main, 'refresh', 't', '--keep-unrecoverable'], {
    env: { ...process.env, ...world.environment() },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  children.push(child);
  let err = '';
  child.stderr.on('data', (bytes: Buffer) => {
    err += bytes.toString('utf8');
  });
  return new Promise((done) => {
    child.once('close', (code) => done({ code, err }));
  });
}

test('FR-35 with the service running: it lets go for the swap, and nobody sees a key missing', async () => {
  await open();
  const random = new Random(8);
  const levels = new Map<string, number>();
  await world.produce('a', rowsOf(random, 3000, 500, levels));
  await world.update();
  await world.expire('a', 0.5);
  const from = await endsNow();
  const service = spawn(process.execPath, [main, 'run'], {
    env: { ...process.env, ...world.environment(), TIDEMARK_INSTANCE_NAME: 'service' },
    stdio: 'ignore',
  });
  children.push(service);
  let isOver = false;
  const producing = (async () => {
    while (!isOver) await world.produce('a', rowsOf(random, 50, 500, levels));
  })();
  const { code, err } = await refreshProcess();
  isOver = true;
  await producing;
  expect([code, code === 0 ? '' : err]).toEqual([0, '']);
  await expect
    .poll(async () => (await dump()).join(), { timeout: 30_000, interval: 500 })
    .toBe(expectedRows(() => true).join());
  await expectMonotone(from);
  service.kill('SIGTERM');
  expect(await new Promise<number | null>((done) => service.once('close', done))).toBe(0);
  const plan = JSON.parse((await world.cli('refresh', 't', '--plan', '--json')).out) as object;
  expect(plan).toMatchObject({ generation: 1 });
});

test('cancel leaves the table and its flow untouched', async () => {
  await open();
  await world.produce('a', [
    { k: 'x', seq: 1, v: 'x' },
    { k: 'y', seq: 1, v: 'y' },
  ]);
  await world.update();
  const nothing = await world.cli('refresh', 't', '--cancel');
  expect([nothing.code, nothing.err.includes('no refresh of table "t" is under way')]).toEqual([
    2,
    true,
  ]);
  // At one record in two seconds there is time to kill it.
  const child = spawn(process.execPath, [main, 'refresh', 't', '--rate', '1'], {
    env: { ...process.env, ...world.environment() },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  children.push(child);
  await new Promise<void>((done) => {
    child.stderr.on('data', (bytes: Buffer) => {
      if (bytes.toString('utf8').includes('building')) done();
    });
  });
  child.kill('SIGTERM');
  const code = await new Promise<number | null>((done) => child.once('close', done));
  expect(code).toBe(1);
  const cancelled = await world.cli('refresh', 't', '--cancel');
  expect([cancelled.code, cancelled.err]).toEqual([0, '']);
  await world.produce('a', [{ k: 'x', seq: 2, v: 'x2' }]);
  await world.update();
  expect(await dump()).toEqual(expectedRows(() => true));
});

test('FR-01 FR-03 what DISTINCT remembers goes with the refresh of its table: told, refused, and forgotten', async () => {
  world = await RefreshCli.open({
    brokers: inject('kafkaBrokers'),
    redisUrl: inject('redisUrl'),
    sources: ['a'],
    partitions: 1,
  });
  world.define(
    "CREATE STREAMING TABLE t WITH (topic = '@t') AS SELECT DISTINCT k, v FROM STREAM(a);",
  );
  const row = (k: string): SourceRow => ({ k, seq: 1, v: 'x' });
  await world.produce('a', ['one', 'two', 'three', 'two'].map(row));
  await world.update();
  const line = (k: string): string => JSON.stringify({ k, v: 'x' });
  expect(await dump()).toEqual(['one', 'three', 'two'].map(line));
  await world.expire('a', 0.5);
  const plan = await world.cli('refresh', 't', '--plan', '--json');
  expect(JSON.parse(plan.out)).toMatchObject({
    table: 't',
    lossless: false,
    lost: { keys: 2, rows: 2 },
    sources: [{ source: 'a', logStart: 2, end: 4 }],
  });
  const refused = await world.cli('refresh', 't', '--yes');
  expect([refused.code, refused.err.includes('DATA_LOSS_REFUSED')]).toEqual([4, true]);
  // A reader that comes at any time finds rows; the log of the table begins where the new ones do.
  const { code, out, err } = await world.cli('refresh', 't', '--allow-loss', '--yes', '--json');
  expect([code, code === 0 ? '' : err]).toEqual([0, '']);
  expect(JSON.parse(out)).toMatchObject({ table: 't', mode: 'beside', generation: 1 });
  // The second of two equal records is there yet, so the row is, too.
  expect(await dump()).toEqual(['three', 'two'].map(line));
  await world.produce('a', ['one', 'two'].map(row));
  await world.update();
  expect(await dump()).toEqual(['one', 'three', 'two'].map(line));
});

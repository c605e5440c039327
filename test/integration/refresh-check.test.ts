import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { bruteForceLoss, bruteForceRows } from '../support/brute-force-loss.ts';
import { OutputWatcher, type Sighting } from '../support/output-watcher.ts';
import { RefreshCli } from '../support/refresh-cli.ts';
import type { KnownRecord, SourceRow } from '../support/refresh-world.ts';

/** `npm run refresh-check` asks for more. */
const keys = Number(process.env['REFRESH_KEYS'] ?? 1_500);
const from = Number(process.env['REFRESH_FROM'] ?? 1);
const seeds = Array.from(
  { length: Number(process.env['REFRESH_SEEDS'] ?? 2) },
  (_, at) => from + at,
);
/** One of two is enough for every change of the program. */
const fedSeeds = process.env['REFRESH_SEEDS'] === undefined ? seeds.slice(-1) : seeds;
const kills = Number(process.env['REFRESH_KILLS'] ?? 3);
/** How long many keys take is the machine's affair: on a busy one hours. */
const patienceMs = keys > 10_000 ? 12 * 3_600_000 : 1_800_000;

const main = process.env['TEST_SERVICE_MAIN'] ?? resolve(import.meta.dirname, '../../dist/main.js');
const children: ChildProcess[] = [];
let world: RefreshCli;

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await world.close();
});

type Table = {
  readonly name: string;
  readonly branches: readonly string[];
  readonly distinct: boolean;
  /** AUTO CDC flows write it. */
  readonly isFed?: boolean;
};

const one: Table = { name: 'one', branches: ['a'], distinct: false };
const both: Table = { name: 'both', branches: ['a', 'b'], distinct: true };
const fed: Table = { name: 'fed', branches: ['a', 'b'], distinct: false, isFed: true };

/** One flow over one topic, with empty markers. */
async function openOne(output: string, more = ''): Promise<void> {
  await openSources();
  world.define(`
CREATE STREAMING TABLE one WITH (topic = '@one', output = '${output}')
FLOW REPLACE USING (k) SEQUENCE BY seq APPLY AS EMPTY WHEN (gone) BY NAME
SELECT k, seq, v, gone FROM STREAM(a);
${more}`);
}

/** Two flows over two topics, one of which both read; empty markers in each. */
function open(output: string): Promise<void> {
  return openOne(
    output,
    `
CREATE STREAMING TABLE both WITH (topic = '@both')
FLOW REPLACE USING (k) SEQUENCE BY seq APPLY AS EMPTY WHEN (gone) BY NAME
SELECT DISTINCT * FROM (SELECT k, seq, v, gone FROM STREAM(a) UNION ALL SELECT k, seq, v, gone FROM STREAM(b));`,
  );
}

async function openSources(): Promise<void> {
  world = await RefreshCli.open({
    brokers: inject('kafkaBrokers'),
    redisUrl: inject('redisUrl'),
    sources: ['a', 'b'],
  });
}

/** Two feeds of one table; each row tells where it came from, so that no two are equal. */
async function openFed(): Promise<void> {
  await openSources();
  const feed = (topic: string): string => `
CREATE FLOW of_${topic} AS AUTO CDC INTO fed FROM (
  SELECT k, seq, concat(v, ' ${topic} ', _partition, ' ', _offset) AS v, gone FROM STREAM(${topic})
) KEYS (k) APPLY AS DELETE WHEN gone SEQUENCE BY seq;`;
  world.define(`
CREATE STREAMING TABLE fed WITH (topic = '@fed');
${feed('a')}
${feed('b')}`);
}

/** Rows with ties, equal rows, late rows and empty markers over known levels. */
function rowsOf(random: Random, count: number, levels: Map<string, number>): SourceRow[] {
  return Array.from({ length: count }, (): SourceRow => {
    const k = `k${random.below(keys)}`;
    const level = levels.get(k) ?? 0;
    let seq = level + 1;
    if (random.chance(250)) seq = level;
    else if (random.chance(100)) seq = Math.max(0, level - 1);
    levels.set(k, Math.max(level, seq));
    // A marker has a sequence of its own: of two at one sequence the level names one.
    return { k, seq, v: `v${random.below(3)}`, gone: seq > level && random.chance(80) };
  });
}

/** Every key once in both topics, in any order, and after it as many rows again. */
async function fill(
  random: Random,
  levels: Map<string, number>,
  sources: readonly string[] = ['a', 'b'],
): Promise<void> {
  // Markers that expire before the older insert comes that they forbid.
  const markers = Array.from({ length: 20 }, (_, at) => `m${at}`);
  await world.produce(
    'a',
    markers.map((k) => ({ k, seq: 10, v: 'marker', gone: true })),
  );
  for (const source of sources) {
    const all = random.shuffled(Array.from({ length: keys }, (_, at) => `k${at}`));
    await world.produce(
      source,
      all.map((k) => ({ k, seq: 1, v: 'v0', gone: false })),
    );
    for (const k of all) levels.set(k, Math.max(1, levels.get(k) ?? 0));
    await world.produce(source, rowsOf(random, keys, levels));
  }
  await world.produce(
    'a',
    markers.map((k) => ({ k, seq: 5, v: 'late', gone: false })),
  );
}

async function dump({ name }: Table): Promise<string[]> {
  const { code, out, err } = await world.cli('dump', name);
  expect([code, err]).toEqual([0, '']);
  return out.split('\n').filter(Boolean).sort();
}

async function expected(
  { branches, distinct, isFed }: Table,
  isReadable: (record: KnownRecord) => boolean = () => true,
): Promise<string[]> {
  if (isFed === true) return [...newest(isReadable).values()].flatMap(fedRow).sort();
  return bruteForceRows(world.produced, { branches, distinct, isReadable });
}

/** What counts of each key in a change feed: the highest sequence, there a delete, there the row of the higher bytes. */
function newest(isReadable: (record: KnownRecord) => boolean): Map<string, KnownRecord> {
  const found = new Map<string, KnownRecord>();
  const rank = (record: KnownRecord): string => fedRow(record)[0] ?? '~';
  for (const record of world.produced.filter(isReadable)) {
    const known = found.get(record.k);
    const isBelow =
      known !== undefined &&
      (record.seq < known.seq || (record.seq === known.seq && rank(record) < rank(known)));
    if (!isBelow) found.set(record.k, record);
  }
  return found;
}

function fedRow({ k, seq, v, gone, topic, partition, offset }: KnownRecord): string[] {
  if (gone === true) return [];
  return [JSON.stringify({ k, seq, v: `${v} ${topic} ${partition} ${offset}`, gone: false })];
}

/** A key whose newest change can't be read again is lost, with its row or with its level. */
function fedLoss(isReadable: (record: KnownRecord) => boolean) {
  const lost = [...newest(() => true).values()].filter((record) => !isReadable(record));
  return {
    keys: lost.map(({ k }) => JSON.stringify({ k })).sort(),
    rows: lost.filter(({ gone }) => gone !== true).length,
    levels: lost.filter(({ gone }) => gone === true).length,
  };
}

/** The preview against the recomputation: key by key, row by row, level by level. */
async function expectExactLoss(table: Table): Promise<ReadonlySet<string>> {
  const { name, branches, distinct } = table;
  const isReadable = await world.readable();
  const wanted =
    table.isFed === true
      ? fedLoss(isReadable)
      : bruteForceLoss(world.produced, { branches, distinct, isReadable });
  const file = join(world.folder.path, `${name}.jsonl`);
  const { code, out, err } = await world.cli(
    'refresh',
    name,
    '--plan',
    '--json',
    '--lost-keys',
    file,
  );
  expect([code, err]).toEqual([0, '']);
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const named = lines.map((line) => JSON.parse(line) as { key: object; rows: number });
  expect(named.map(({ key }) => JSON.stringify(key)).sort()).toEqual(wanted.keys);
  expect(named.reduce((sum, { rows }) => sum + rows, 0)).toBe(wanted.rows);
  expect(JSON.parse(out)).toMatchObject({
    table: name,
    lossless: wanted.keys.length === 0,
    lost: { keys: wanted.keys.length, rows: wanted.rows, levels: wanted.levels },
  });
  return new Set(wanted.keys);
}

/**
 * A key may only be without rows where a marker came after what was seen. A delete of a change feed wins over a row of its
 * own sequence, whichever is read first.
 */
function watch({ name, branches, isFed = false }: Table): OutputWatcher {
  const markers = new Map<string, number>();
  let known = 0;
  const marked = (key: string, sequence: number): boolean => {
    for (; known < world.produced.length; known += 1) {
      const { k, seq, gone, topic } = world.produced[known] as KnownRecord;
      if (gone !== true || !branches.includes(topic)) continue;
      markers.set(k, Math.max(seq, markers.get(k) ?? 0));
    }
    const marker = markers.get((JSON.parse(key) as { k: string }).k) ?? 0;
    return marker > sequence || (isFed && marker === sequence);
  };
  const watcher = new OutputWatcher(world.log, world.topic(name), marked);
  watcher.start();
  return watcher;
}

function outside(sightings: readonly Sighting[], lost: ReadonlySet<string>): readonly Sighting[] {
  return sightings.filter(({ key }) => !lost.has(key));
}

test.each(seeds)(
  'P055 FR-05 FR-33 a refresh against a brute-force recomputation: seed %d',
  async (seed) => {
    const random = new Random(seed);
    await open(seed % 2 === 0 ? 'rows' : 'row_set');
    const levels = new Map<string, number>();
    await fill(random, levels);
    await world.update();
    expect(await dump(one)).toEqual(await expected(one));
    expect((await expectExactLoss(one)).size).toBe(0);
    if (seed % 2 === 0) {
      await world.recreate('a');
      await world.update({ acceptsGaps: true });
      await world.produce('a', rowsOf(random, keys, levels));
      await world.update();
    }
    await world.expire('a', 0.5);
    await world.expire('b', 0.5);
    const lost = await expectExactLoss(one);
    expect(lost.size).toBeGreaterThan(keys / 10);
    expect(lost.has('{"k":"m0"}')).toBe(true);
    await expectExactLoss(both);

    const watchers = [watch(one), watch(both)];
    for (const { name } of [one, both]) {
      const refused = await world.cli('refresh', name);
      expect([refused.code, refused.out]).toEqual([4, '']);
      expect(refused.err).toMatch(/DATA_LOSS_REFUSED.*--allow-loss.*--keep-unrecoverable/s);
    }
    // The table as it was, plus what has come since.
    await world.produce('a', rowsOf(random, Math.ceil(keys / 2), levels));
    const kept = await world.cli('refresh', 'both', '--keep-unrecoverable', '--json');
    expect([kept.code, kept.code === 0 ? JSON.parse(kept.out).lost : kept.err]).toEqual([
      0,
      { keys: 0, rows: 0, levels: 0 },
    ]);
    expect(await dump(both)).toEqual(await expected(both));
    await world.update();
    // What the sources have, and nothing else.
    const gone = await expectExactLoss(one);
    const allowed = await world.cli('refresh', 'one', '--allow-loss', '--json');
    expect([allowed.code, allowed.code === 0 ? '' : allowed.err]).toEqual([0, '']);
    expect(await dump(one)).toEqual(await expected(one, await world.readable()));
    await world.update();
    expect(await dump(both)).toEqual(await expected(both));
    const [ofOne = [], ofBoth = []] = await Promise.all(watchers.map((watcher) => watcher.stop()));
    expect(outside(ofOne, gone)).toEqual([]);
    expect(ofBoth).toEqual([]);
  },
  patienceMs,
);

test.each(fedSeeds)(
  'P055 FL-25 a table of two change feeds against a brute-force recomputation: seed %d',
  async (seed) => {
    const random = new Random(500 + seed);
    await openFed();
    const levels = new Map<string, number>();
    await fill(random, levels);
    await world.update();
    expect(await dump(fed)).toEqual(await expected(fed));
    if (seed % 2 === 0) {
      await world.recreate('a');
      await world.update({ acceptsGaps: true });
      await world.produce('a', rowsOf(random, keys, levels));
      await world.update();
    }
    await world.expire('a', 0.5);
    await world.expire('b', 0.5);
    expect((await expectExactLoss(fed)).has('{"k":"m0"}')).toBe(true);
    const watcher = watch(fed);
    expect((await world.cli('refresh', 'fed')).code).toBe(4);
    await world.produce('b', rowsOf(random, Math.ceil(keys / 2), levels));
    const kept = await world.cli('refresh', 'fed', '--keep-unrecoverable', '--json');
    expect([kept.code, kept.code === 0 ? JSON.parse(kept.out).lost : kept.err]).toEqual([
      0,
      { keys: 0, rows: 0, levels: 0 },
    ]);
    expect(await dump(fed)).toEqual(await expected(fed));
    await world.update();
    expect(await watcher.stop()).toEqual([]);
    const gone = await expectExactLoss(fed);
    const after = watch(fed);
    const allowed = await world.cli('refresh', 'fed', '--allow-loss', '--json');
    expect([allowed.code, allowed.code === 0 ? '' : allowed.err]).toEqual([0, '']);
    expect(await dump(fed)).toEqual(await expected(fed, await world.readable()));
    expect(outside(await after.stop(), gone)).toEqual([]);
  },
  patienceMs,
);

test(
  'FR-34 FR-04 killed at random moments it goes on and ends the same',
  async () => {
    const random = new Random(70 + kills + 1_000 * (from - 1));
    await openOne(from % 2 === 0 ? 'rows' : 'row_set');
    const levels = new Map<string, number>();
    await fill(random, levels, ['a']);
    await world.update();
    await world.expire('a', 0.5);
    await world.produce('a', rowsOf(random, Math.ceil(keys / 2), levels));
    const watcher = watch(one);
    await cancelWhatIsKilled();
    // As long as one takes that nobody kills, so that the moments lie anywhere in it.
    const started = Date.now();
    expect((await refreshProcess()).code).toBe(0);
    const wholeMs = Date.now() - started;
    let killed = 0;
    for (let attempt = 0; killed < kills && attempt < kills * 3; attempt += 1) {
      await world.produce('a', rowsOf(random, 200, levels));
      const { code, err } = await refreshProcess({ afterMs: random.below(Math.ceil(wholeMs)) });
      // Another ending than by the kill or by success is a fault.
      expect([code, code === null || code === 0 ? '' : err]).toEqual([
        code === null ? null : 0,
        '',
      ]);
      if (code === null) killed += 1;
      tell(`killed ${killed} of ${kills}, attempt ${attempt + 1}, whole: ${wholeMs} ms`);
    }
    expect(killed).toBe(kills);
    const { code, err } = await refreshProcess();
    expect([code, code === 0 ? '' : err]).toEqual([0, '']);
    // One that was killed in its swap ends with what it had read; the flow reads on from there.
    await world.update();
    expect(await dump(one)).toEqual(await expected(one));
    expect(await watcher.stop()).toEqual([]);
    const left = await world.log.describeTopics(
      ['output', 'repartition', 'levels'].map((role) => `${world.pipeline}.one.refresh.${role}`),
    );
    expect([...left.keys()]).toEqual([]);
  },
  patienceMs,
);

/** A refresh that was killed while it built is given up, and the table is as it was. */
async function cancelWhatIsKilled(): Promise<void> {
  const before = await dump(one);
  const { code } = await refreshProcess({ afterMs: 100, once: 'building generation' });
  expect(code).toBe(null);
  expect(await world.cli('refresh', 'one', '--cancel')).toMatchObject({ code: 0 });
  expect(await dump(one)).toEqual(before);
}

function tell(text: string): void {
  if (process.env['REFRESH_TIMES'] === '1') process.stderr.write(`${text}\n`);
}

type Kill = {
  readonly afterMs: number;
  /** What it says when the time begins; absent: it begins at once. */
  readonly once?: string;
};

function refreshProcess(
  kill?: Kill,
): Promise<{ readonly code: number | null; readonly err: string }> {
  const child = spawn(process.execPath, [main, 'refresh', 'one', '--keep-unrecoverable'], {
    env: { ...process.env, ...world.environment() },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  children.push(child);
  let err = '';
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    if (kill === undefined || timer !== undefined || !err.includes(kill.once ?? '')) return;
    timer = setTimeout(() => child.kill('SIGKILL'), kill.afterMs);
  };
  begin();
  child.stderr.on('data', (bytes: Buffer) => {
    err += bytes.toString('utf8');
    begin();
  });
  return new Promise((done) => {
    child.once('close', (code) => {
      clearTimeout(timer);
      done({ code, err });
    });
  });
}

import { afterEach, expect, inject, test } from 'vitest';
import { RefreshCli } from '../support/refresh-cli.ts';

let world: RefreshCli;

afterEach(() => world.close());

async function open(flow = 'f', sources = ['a']): Promise<RefreshCli> {
  world = await RefreshCli.open({
    brokers: inject('kafkaBrokers'),
    redisUrl: inject('redisUrl'),
    sources,
    partitions: 1,
  });
  define(flow);
  return world;
}

function define(flow: string): void {
  world.define(`CREATE STREAMING TABLE t WITH (topic = '@t');
CREATE FLOW ${flow} AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, v FROM STREAM(a);`);
}

async function json(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await world.cli(...args, '--json');
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as Record<string, unknown>;
}

async function dump(): Promise<string[]> {
  const { out } = await world.cli('dump', 't');
  return out.split('\n').filter(Boolean).sort();
}

test('FR-39 checkpoint show, reset and rewind: the table stays exact', async () => {
  await open();
  await world.produce('a', [
    { k: 'x', seq: 1, v: 'a' },
    { k: 'x', seq: 2, v: 'b' },
    { k: 'x', seq: 2, v: 'c' },
    { k: 'y', seq: 1, v: 'd' },
  ]);
  await world.update();
  const before = await dump();
  expect(await json('checkpoint', 'show', 'f')).toMatchObject({
    flow: 'f',
    members: [],
    partitions: [
      { stage: 'source', committed: 4, logStart: 0, end: 4, state: 'good' },
      { stage: 'repartition', state: 'good' },
    ],
  });
  expect(await json('checkpoint', 'reset', 'f', '--dry-run')).toMatchObject({
    done: false,
    again: 4,
    skipped: 0,
    partitions: [{ from: 4, offset: 0 }],
  });
  expect(await json('checkpoint', 'reset', 'f')).toMatchObject({ done: true, again: 4 });
  expect(await json('checkpoint', 'show', 'f')).toMatchObject({
    partitions: [{ committed: 0 }, {}],
  });

  const refused = await world.cli('checkpoint', 'reset', 'f', '--to', 'latest');
  expect([refused.code, refused.out]).toEqual([4, '']);
  expect(refused.err).toContain('4 records that are there would never be read');
  expect(refused.err).toContain('--allow-loss');
  await world.update();
  expect(await dump()).toEqual(before);

  expect(await json('checkpoint', 'rewind', 'f', '--to', `${world.topic('a')}/0@3`)).toMatchObject({
    again: 1,
  });
  const past = new Date(Date.now() - 3_600_000).toISOString();
  expect(await json('checkpoint', 'rewind', 'f', '--to', past)).toMatchObject({ again: 3 });
  await world.update();
  expect(await dump()).toEqual(before);
  expect(await json('checkpoint', 'reset', 'f', '--to', '2', '--dry-run')).toMatchObject({
    again: 2,
  });
  expect(await json('checkpoint', 'rewind', 'f', '--to', 'latest')).toMatchObject({
    partitions: [],
  });
});

test('FR-39 an append flow: the duplicates are counted first, refused, and exactly those come', async () => {
  await open();
  world.define(`CREATE STREAMING TABLE t WITH (topic = '@t');
CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(a);`);
  const all = ['x', 'y', 'z'].map((k, at) => ({ k, seq: at, v: 'v' }));
  await world.produce('a', all);
  await world.update();
  const lines = all.map((one) => JSON.stringify(one));
  expect(await dump()).toEqual(lines);
  const { out } = await world.cli('checkpoint', 'rewind', 'f', '--to', '1', '--dry-run');
  expect(out).toContain('records read again: 2 (their rows are appended once more)');
  const refused = await world.cli('checkpoint', 'rewind', 'f', '--to', '1');
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('up to 2 records')]);
  await world.update();
  expect(await dump()).toEqual(lines);
  expect(await json('checkpoint', 'rewind', 'f', '--to', '1', '--yes')).toMatchObject({ again: 2 });
  await world.update();
  expect(await dump()).toEqual([lines[0], lines[1], lines[1], lines[2], lines[2]]);
});

test('FR-39 DISTINCT lets nothing through twice, so a rewind brings no duplicates and asks for nothing', async () => {
  await open();
  world.define(`CREATE STREAMING TABLE t WITH (topic = '@t');
CREATE FLOW f AS INSERT INTO t BY NAME SELECT DISTINCT k, v FROM STREAM(a);`);
  await world.produce(
    'a',
    ['x', 'y', 'x'].map((k, seq) => ({ k, seq, v: 'v' })),
  );
  await world.update();
  const lines = ['x', 'y'].map((k) => JSON.stringify({ k, v: 'v' }));
  expect(await dump()).toEqual(lines);
  const { code, out } = await world.cli('checkpoint', 'rewind', 'f.distinct', '--to', 'earliest');
  expect([code, out]).toEqual([0, expect.stringContaining('the table stays exact')]);
  await world.update();
  expect(await dump()).toEqual(lines);
});

test('FR-39 --dry-run of skip and carry tells, and does nothing', async () => {
  await open('f');
  await world.produce('a', [{ k: 'x', seq: 1, v: 'a' }]);
  await world.update();
  const place = `${world.topic('a')}/0@9`;
  await world.produce('a', [{ k: 'y', seq: 1, v: 'b' }]);
  const next = `${world.topic('a')}/0@1`;
  const past = await world.cli('checkpoint', 'skip', 'f', place, '--dry-run');
  expect(past.code).not.toBe(0);
  expect(await json('checkpoint', 'skip', 'f', next, '--dry-run')).toMatchObject({ done: false });
  expect(await json('checkpoint', 'show', 'f')).toMatchObject({ skipped: [] });
  define('g');
  expect(await json('checkpoint', 'carry', 'f', 'g', '--dry-run')).toMatchObject({ done: false });
  expect(await json('checkpoint', 'carry', 'f', 'g')).toMatchObject({ done: true });
  await world.update();
  expect(await dump()).toHaveLength(2);
});

test('P113 damaged metadata: the command that the error names repairs it', async () => {
  await open();
  await world.produce('a', [{ k: 'x', seq: 1, v: 'a' }]);
  await world.update();
  await world.log.commitCheckpoint(`${world.pipeline}.f`, [
    { topic: world.topic('a'), partition: 0, offset: 1, metadata: 'garbage' },
  ]);
  const failed = await world.cli('run', '--once');
  expect(failed.err).toContain('tidemark checkpoint rewind f --to');
  expect(await json('checkpoint', 'rewind', 'f', '--to', '1')).toMatchObject({
    repaired: 1,
    partitions: [{ from: 1, offset: 1, isRepaired: true }],
  });
  await world.produce('a', [{ k: 'x', seq: 2, v: 'b' }]);
  await world.update();
  expect(await dump()).toEqual(['{"k":"x","seq":2,"v":"b"}']);
});

test('P125 checkpoint skip: the flow goes on, and the bytes of the record are kept', async () => {
  await open();
  await world.produce('a', [
    { k: 'x', seq: 1, v: 'a' },
    { k: 'x', seq: 'NOT A NUMBER' as unknown as number, v: 'b' },
    { k: 'x', seq: 3, v: 'c' },
  ]);
  const failed = await world.cli('run', '--once');
  const hint = /tidemark (checkpoint skip f \S+@1)/.exec(failed.err)?.[1] ?? '';
  expect(hint).toContain(`${world.topic('a')}/0@1`);
  await json(...hint.split(' '));
  await world.update();
  expect(await dump()).toEqual(['{"k":"x","seq":3,"v":"c"}']);
  const place = { flow: 'f', topic: world.topic('a'), partition: 0, offset: 1 };
  expect(await json('verify', 't')).toMatchObject({ right: true, skipped: [place] });
  expect((await world.cli('verify', 't')).out).toContain(`left out: ${place.topic}/0@1 (`);
  expect(await json('refresh', 't', '--plan')).toMatchObject({ skipped: [place] });
  const shown = await json('checkpoint', 'show', 'f');
  const [skipped] = shown['skipped'] as { readonly value: string }[];
  expect(Buffer.from(skipped?.value ?? '', 'base64').toString()).toContain('NOT A NUMBER');
});

test('FL-20 checkpoint carry: a renamed flow reads nothing again', async () => {
  await open('old');
  await world.produce('a', [{ k: 'x', seq: 1, v: 'a' }]);
  await world.update();
  define('renamed');
  await json('checkpoint', 'carry', 'old', 'renamed');
  await world.expire('a', 1);
  const { code, out } = await world.cli('run', '--once', '--json');
  expect([code, (JSON.parse(out) as { records: number }).records]).toEqual([0, 0]);
  expect(await dump()).toEqual(['{"k":"x","seq":1,"v":"a"}']);
  const { out: planned } = await world.cli('plan', '--json');
  expect(JSON.parse(planned)).toMatchObject({
    flows: [{ flow: 'renamed', status: 'unchanged', maturity: 'beta' }],
  });
  // RQ-10 how far the feature is stands beside each flow.
  expect((await world.cli('plan')).out).toContain('flow renamed (beta), table');
});

test.each([
  [[], 'an action and what it is about'],
  [['show'], 'an action and what it is about'],
  [['carry', 'f'], 'an action and what it is about'],
  [['frobnicate', 'f'], 'there is no action "frobnicate"'],
  [['show', 'g'], 'the pipeline has no flow "g"'],
  [['rewind', 'f'], 'rewind needs --to'],
  [['reset', 'f', '--to', 'yesterday'], '"yesterday" is no place in the log'],
  [['reset', 'f', '--to', 'x@y'], '"x@y" is no place'],
  [['reset', 'f', '--to', 'other/0@1'], 'the flow does not read "other/0"'],
  [['reset', 'f', '--to', '99'], 'outside of the log'],
  [['skip', 'f', '7'], '"7" is no place'],
])('usage of checkpoint %j', async (args, message) => {
  await open();
  await world.update();
  const { code, err } = await world.cli('checkpoint', ...args);
  expect(err).toContain(message);
  expect(code).toBe(2);
});

test('DL letters are open until a replay has settled them, and a place without one is an error', async () => {
  await open();
  const defined = (value: string, options: string): void =>
    world.define(`CREATE STREAMING TABLE t WITH (topic = '@t'${options})
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, ${value} AS v FROM STREAM(a);`);
  const letters = ", dead_letter_topic = '@dlq'";
  defined('CAST(v AS INT)', letters);
  await world.produce(
    'a',
    ['1', 'x', 'y'].map((v, at) => ({ k: `k${at}`, seq: 1, v })),
  );
  await world.update();
  expect(await json('dlq', 'list', 't')).toMatchObject({ deadLetters: 2, open: 2, settled: 0 });
  const { out: planned } = await world.cli('refresh', 't', '--plan');
  expect(planned).toContain('each can be read, but for 2 that gave no row before');
  const at = (offset: number): string => `${world.topic('a')}/0@${offset}`;
  const unknown = await world.cli('dlq', 'replay', 't', at(1), at(9999));
  expect([unknown.code, unknown.out]).toEqual([2, '']);
  expect(unknown.err).toContain(`Of ${at(9999)} there is none`);
  expect(unknown.err).toContain('tidemark dlq show t');

  defined('TRY_CAST(v AS INT)', letters);
  await world.update();
  expect((await world.cli('dlq', 'replay', 't', at(1))).code).toBe(0);
  expect(await json('dlq', 'list', 't')).toMatchObject({
    ...{ deadLetters: 2, open: 1, settled: 1 },
    groups: [{ letters: 2, open: 1 }],
  });
  expect((await world.cli('dlq', 'list', 't')).out).toContain('1 open, 1 settled');
  const { out: shown } = await world.cli('dlq', 'show', 't', '--json');
  const states = shown.split('\n').filter(Boolean);
  expect(states.map((line) => (JSON.parse(line) as { settled: boolean }).settled)).toEqual([
    true,
    false,
  ]);
  // Its rows wait between the stages until the flow runs, and are no difference.
  expect((await world.cli('dlq', 'replay', 't')).code).toBe(0);
  expect(await json('verify', 't')).toMatchObject({ right: true, movedKeys: 2 });

  defined('TRY_CAST(v AS INT)', '');
  const { code, out } = await world.cli('plan');
  expect(code).toBe(0);
  expect(out).toContain('is gone: a bad record stops the flow from now on');
});

test('FR-39 a rewind joins to what is looked up as it is now: it asks first, and says what stays', async () => {
  await open('f', ['a', 'b']);
  world.define(`CREATE STREAMING TABLE t WITH (topic = '@t');
CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq
SELECT a.k, a.seq, b.v FROM STREAM(a) LEFT JOIN b ON a.k = b.k;`);
  await world.produce('a', [{ k: 'x', seq: 1, v: 'a' }]);
  await world.update();
  const refused = await world.cli('checkpoint', 'rewind', 'f', '--to', 'earliest');
  expect([refused.code, refused.out]).toEqual([2, '']);
  expect(refused.err).toContain('would join 1 records to it as it is now');
  const { code, out } = await world.cli('checkpoint', 'rewind', 'f', '--to', 'earliest', '--yes');
  expect([code, out]).toEqual([0, expect.stringContaining('stay until a refresh')]);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { bruteForceLoss } from '../support/brute-force-loss.ts';
import { RefreshCli } from '../support/refresh-cli.ts';
import type { SourceRow } from '../support/refresh-world.ts';

let world: RefreshCli;

afterEach(() => world.close());

async function open(...sources: string[]): Promise<RefreshCli> {
  world = await RefreshCli.open({
    brokers: inject('kafkaBrokers'),
    redisUrl: inject('redisUrl'),
    sources,
  });
  return world;
}

/** Rows with ties, late and equal rows. */
function rowsOf(random: Random, count: number, keys: number, levels: Map<string, number>) {
  return Array.from({ length: count }, (): SourceRow => {
    const k = `k${random.below(keys)}`;
    const level = levels.get(k) ?? 0;
    let seq = level + 1;
    if (random.chance(250)) seq = level;
    else if (random.chance(100)) seq = Math.max(0, level - 1);
    levels.set(k, Math.max(level, seq));
    return { k, seq, v: `v${random.below(3)}` };
  });
}

type Report = {
  readonly lossless: boolean;
  readonly lost: { readonly keys: number; readonly rows: number };
  readonly sources: readonly { readonly logStart: number; readonly committed: number }[];
};

type LostKey = { readonly key: object; readonly rows: number };

async function preview(table: string): Promise<{ report: Report; lines: LostKey[] }> {
  const file = join(world.folder.path, `${table}.jsonl`);
  const { code, out, err } = await world.cli(
    'refresh',
    table,
    '--plan',
    '--json',
    '--lost-keys',
    file,
  );
  expect([code, err]).toEqual([0, '']);
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return {
    report: JSON.parse(out) as Report,
    lines: lines.map((line) => JSON.parse(line) as LostKey),
  };
}

async function expectExact(
  table: string,
  branches: readonly string[],
  distinct: boolean,
): Promise<Report> {
  const expected = bruteForceLoss(world.produced, {
    branches,
    distinct,
    isReadable: await world.readable(),
  });
  const { report, lines } = await preview(table);
  expect(lines.map(({ key }) => JSON.stringify(key)).sort()).toEqual(expected.keys);
  expect(lines.reduce((sum, { rows }) => sum + rows, 0)).toBe(expected.rows);
  expect(report.lost).toMatchObject({ keys: expected.keys.length, rows: expected.rows });
  expect(report.lossless).toBe(expected.keys.length === 0);
  return report;
}

describe('FR-05, FR-06, FR-44 the loss of a refresh against a brute-force recomputation', () => {
  test.each([1, 2, 3])('P055 two flows, ties, a recreated topic: seed %d', async (seed) => {
    const random = new Random(seed);
    await open('a', 'b');
    world.define(`
CREATE STREAMING TABLE one WITH (topic = '@one', output = '${seed === 2 ? 'rows' : 'row_set'}')
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);
CREATE STREAMING TABLE both WITH (topic = '@both')
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
SELECT DISTINCT * FROM (SELECT k, seq, v FROM STREAM(a) UNION ALL SELECT k, seq, v FROM STREAM(b));`);
    const levels = new Map<string, number>();
    await world.produce('a', rowsOf(random, 1500, 300, levels));
    await world.produce('b', rowsOf(random, 1500, 300, levels));
    await world.update();
    expect((await expectExact('one', ['a'], false)).lossless).toBe(true);
    if (seed !== 1) {
      await world.recreate('a');
      await world.update({ acceptsGaps: true });
      await world.produce('a', rowsOf(random, 500, 300, levels));
      await world.update();
    }
    await world.expire('a', 0.5);
    await world.expire('b', 0.3);
    await expectExact('one', ['a'], false);
    await expectExact('both', ['a', 'b'], true);
  });
});

describe('plan', () => {
  type Plan = {
    readonly flows: readonly {
      readonly flow: string;
      readonly status: string;
      readonly changes: readonly { readonly id: string; readonly effect: string }[];
      readonly gaps: readonly { readonly reason: string }[];
      readonly carry: string | null;
    }[];
    readonly topics: readonly { readonly topic: string; readonly action: string }[];
    readonly effects?: readonly Report[];
    readonly refusals: readonly { readonly code: string }[];
  };

  /** With the code that `run` would exit with. */
  async function planned(expected = 0): Promise<Plan> {
    const { code, out, err } = await world.cli('plan', '--json');
    expect([code, err]).toEqual([expected, '']);
    return JSON.parse(out) as Plan;
  }

  const select = 'SELECT k, seq, v FROM STREAM(a)';

  function table(flow: string, options: string, query: string, using = 'k'): string {
    return `CREATE STREAMING TABLE t WITH (topic = '@t'${options});
CREATE FLOW ${flow} AS INSERT INTO t BY NAME REPLACE USING (${using}) SEQUENCE BY seq ${query};`;
  }

  test('FR-11 from nothing, then each kind of change, and run goes by the same verdicts', async () => {
    await open('a');
    world.define(table('f', '', select));
    const before = await planned();
    expect(before.flows).toMatchObject([{ flow: 'f', status: 'new' }]);
    expect(before.topics.map(({ action }) => action)).toEqual(before.topics.map(() => 'create'));
    await world.produce('a', [
      { k: 'x', seq: 1, v: 'old' },
      { k: 'y', seq: 1, v: 'old' },
    ]);
    await world.update();
    expect((await planned()).flows).toMatchObject([{ status: 'unchanged', gaps: [] }]);
    expect((await planned()).topics.every(({ action }) => action === 'keep')).toBe(true);

    // A gate must not let pods through that end at their start.
    const untraced = await world.cli('plan', '--traces.enabled', 'true');
    expect(untraced.code).toBe(2);
    expect(untraced.out).toContain('run refuses:\n  error CONFIG_INVALID: traces are on');

    world.define(table('f', '', "SELECT k, seq, v, upper(v) AS w FROM STREAM(a) WHERE v <> 'no'"));
    const added = await planned();
    expect(added.flows[0]).toMatchObject({
      status: 'compatible',
      changes: [
        { id: 'FR-18', effect: 'compatible' },
        { id: 'FR-11', effect: 'compatible' },
      ],
    });
    await world.produce('a', [{ k: 'y', seq: 2, v: 'new' }]);
    await world.update();
    expect((await planned()).flows[0]?.status).toBe('unchanged');
    const { out } = await world.cli('dump', 't');
    expect(out.split('\n').sort()).toEqual([
      '',
      '{"k":"x","seq":1,"v":"old"}',
      '{"k":"y","seq":2,"v":"new","w":"NEW"}',
    ]);

    world.define(table('f', '', 'SELECT k, seq, v FROM STREAM(a)'));
    await world.expire('a', 1);
    // What a gate before an upgrade goes by.
    const lossy = await world.cli('plan', '--json', '--effect');
    expect([lossy.code, lossy.err]).toEqual([4, '']);
    const dropped = JSON.parse(lossy.out) as Plan;
    expect(dropped.flows[0]).toMatchObject({ status: 'refresh', changes: [{ id: 'FR-16' }, {}] });
    expect(dropped.effects).toMatchObject([{ lossless: false, lost: { keys: 2, rows: 2 } }]);
    const refused = await world.cli('run', '--once');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('DEFINITION_CHANGED');
    expect(refused.err).toContain('Column "w" was dropped. (FR-16)');
    expect(refused.err).toContain('tidemark refresh t --plan');
  });

  test('FR-13 the gate of the chart refreshes a table whose key has changed, with the new files', async () => {
    await open('a');
    world.define(table('f', '', select));
    await world.produce('a', [
      { k: 'x', seq: 1, v: 'one' },
      { k: 'x', seq: 1, v: 'two' },
      { k: 'x', seq: 2, v: 'one' },
    ]);
    await world.update();
    // Its records have no place in the topic, however they came there: neither is told what it would lose.
    world.define(table('f', ", output = 'rows'", select));
    const moved = await world.cli('refresh', 't', '--plan');
    expect([moved.code, moved.out]).toEqual([1, '']);
    expect(moved.err).toMatch(/cannot take records of another form[\s\S]*another topic/);
    const effect = await world.cli('plan', '--effect');
    expect(effect.out).toContain("give the table another topic (WITH (topic = '…'))");
    expect(effect.out).not.toContain('A refresh of table t');
    world.define(table('f', '', select, 'k, v'));
    const beside = await world.cli('refresh', 't', '--plan');
    expect([beside.code, beside.err]).toEqual([0, '']);
    expect(beside.out).toMatch(/As it is asked for it is refused: [\s\S]*--in-place/);
    const root = resolve(import.meta.dirname, '../..');
    const main = world.folder.write(
      'main.mjs',
      `import { spawnSync } from 'node:child_process';
       const args = ['--import', 'tsx', ${JSON.stringify(join(root, 'src/main.ts'))}, ...process.argv.slice(2)];
       process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1);`,
    );
    const child = spawn(process.execPath, [join(root, 'helm/tidemark/files/gate.mjs')], {
      cwd: root,
      env: {
        ...process.env,
        ...world.environment(),
        TIDEMARK_MAIN: main,
        GATE_REFRESH: '["t","--in-place"]',
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect(code, out).toBe(0);
    expect(out).toContain('error DEFINITION_CHANGED');
    expect((await planned()).flows).toMatchObject([{ status: 'unchanged' }]);
    await world.update();
    const rows = (await world.cli('dump', 't')).out.trim().split('\n').sort();
    expect(rows).toEqual(['{"k":"x","seq":1,"v":"two"}', '{"k":"x","seq":2,"v":"one"}']);
  });

  test('FL-20, FL-21, P107 a renamed flow, a changed key, a recreated source', async () => {
    await open('a');
    world.define(table('f', '', select));
    await world.produce('a', [{ k: 'x', seq: 1, v: 'old' }]);
    await world.update();
    world.define(table('g', '', select));
    expect((await planned()).flows).toMatchObject([
      { flow: 'g', status: 'new', renamedFrom: 'f', carry: 'tidemark checkpoint carry f g' },
      { flow: 'f', status: 'gone' },
    ]);
    world.define(table('f', '', select, 'v'));
    const rekeyed = await planned(1);
    expect(rekeyed.refusals).toMatchObject([{ code: 'DEFINITION_CHANGED' }]);
    expect(rekeyed.flows[0]).toMatchObject({ status: 'refresh', changes: [{ id: 'FR-13' }] });
    const refused = await world.cli('run', '--once');
    expect([refused.code, refused.err.includes('(FR-13)')]).toEqual([1, true]);
    world.define(table('f', '', select));
    await world.recreate('a');
    expect((await planned(1)).flows[0]?.gaps.map(({ reason }) => reason)).toEqual([
      'FR-23',
      'FR-23',
    ]);
    const people = await world.cli('plan');
    expect(people.code).toBe(1);
    expect(people.out).toContain('FR-23 stops it');
    expect(people.out).toContain('run refuses:\n  error TOPIC_RECREATED: flow "f" cannot go on');
    // Once it was tried, status tells the same, from the log alone.
    const stopped = await world.cli('run', '--once');
    expect(stopped.code).toBe(1);
    const { out: status } = await world.cli('status');
    expect(status).toMatch(/^STOPPED since .* at topic .*, partition \d, offset \d+$/m);
    expect(status).toContain('  TOPIC_RECREATED: flow "f" cannot go on');
    expect(status).toMatch(/^ {2}hint: .*--accept-gap f/m);
    const json = JSON.parse((await world.cli('status', '--json')).out) as object;
    expect(json).toMatchObject({ flows: [{ stopped: { code: 'TOPIC_RECREATED' } }] });
    expect((await world.cli('flows')).out).toMatch(/^f .*stopped/m);
    await world.update({ acceptsGaps: true });
    expect((await world.cli('status')).out).not.toContain('STOPPED');
    const { out: after } = await world.cli('status', '--json');
    expect(JSON.parse(after)).toMatchObject({ flows: [{ stopped: null }] });
  });
});

describe('several tables, and a definition that can not read what is there', () => {
  const keyed = (name: string, source: string, value = 'v'): string =>
    `CREATE STREAMING TABLE ${name} WITH (topic = '@${name}');
CREATE FLOW f${name} AS INSERT INTO ${name} BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, ${value} AS v FROM STREAM(${source});`;

  test('FR-05 of --all each table is told by itself, with the code of what keeps one of them', async () => {
    await open('a', 'b');
    world.define(`${keyed('t', 'a')}
${keyed('u', 'b')}
CREATE SINK o WITH (topic = '@o');
CREATE FLOW fo AS INSERT INTO o BY NAME SELECT k FROM STREAM(a);
CREATE MATERIALIZED VIEW m WITH (topic = '@m') AS SELECT count(*) AS n FROM t;`);
    await world.produce('a', [{ k: 'x', seq: 1, v: 'old' }]);
    await world.produce('b', [{ k: 'x', seq: 1, v: 'old' }]);
    await world.update();
    const whole = await world.cli('refresh', '--all', '--plan');
    expect(whole.code).toBe(0);
    expect(whole.err).toContain('o is left out: it is a sink');
    expect(whole.err).toContain('m is left out: it is a materialized view');
    await world.log.deleteTopics([world.topic('b')]);
    const { code, out } = await world.cli('refresh', '--all', '--plan', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject([
      { table: 't', lossless: true },
      { table: 'u', error: { code: 'TOPIC_MISSING' } },
    ]);
    const people = await world.cli('refresh', 'u', 't', '--plan');
    expect(people.code).toBe(1);
    expect(people.out).toContain('Table u can not be refreshed:\nerror TOPIC_MISSING');
    expect(people.out).toContain('A refresh of table t');
  });

  test('FR-01 what can not be read any more is told by --plan, and refused by --in-place', async () => {
    await open('a');
    world.define(keyed('t', 'a'));
    await world.produce('a', [
      { k: 'x', seq: 1, v: '1' },
      { k: 'y', seq: 1, v: 'old' },
    ]);
    await world.update();
    world.define(keyed('t', 'a', 'CAST(v AS INT)'));
    const planned = await world.cli('refresh', 't', '--plan');
    expect(planned.code).toBe(0);
    expect(planned.out).toContain('  1 would stop the flow');
    const report = JSON.parse((await world.cli('refresh', 't', '--plan', '--json')).out) as object;
    expect(report).toMatchObject({ lossless: false, trial: { records: 2, tried: 2, stops: 1 } });
    const refused = await world.cli('refresh', 't', '--in-place', '--yes');
    expect(refused.code).toBe(4);
    expect(refused.err).toContain('could not read records that the table was computed from');
    expect((await world.cli('dump', 't')).out).toContain('"old"');
  });
});

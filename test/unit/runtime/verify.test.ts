import { afterEach, describe, expect, test } from 'vitest';
import { isReplacing, keyedFacts } from '../../../src/runtime/inspect/flow-facts.ts';
import { deployedFacts } from '../../../src/runtime/inspect/pipeline-facts.ts';
import { rebuildState, scrubState } from '../../../src/runtime/inspect/state-scrub.ts';
import type { KeyDifference } from '../../../src/runtime/inspect/verify-parts.ts';
import { verifyTable } from '../../../src/runtime/inspect/verify-table.ts';
import { explainKey } from '../../../src/runtime/inspect/why-key.ts';
import { flowsOf } from '../../../src/runtime/refresh/refresh-facts.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { planned, worldOf } from '../../support/append-world.ts';
import { packedEntries } from '../../support/packed-entries.ts';

const source = 'CREATE SOURCE s (k STRING, v INT, seq BIGINT);';
const table = (more: string, select = 'SELECT k, v, seq') => `${source}
CREATE STREAMING TABLE t (CONSTRAINT positive EXPECT (v > 0) ON VIOLATION DROP ROW)
WITH (dead_letter_topic = 'dlq', ${more}) FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME ${select} FROM STREAM(s);`;

let world: PipelineWorld;

afterEach(() => world.close());

function give(k: string, v: unknown, seq: number | null, partition = 0): void {
  world.produce('s', { value: JSON.stringify({ k, v, seq }) }, partition);
}

async function settled(sql: string): Promise<void> {
  const process = await world.startProcess('one', planned(sql));
  await world.untilCaughtUp(process);
  await world.stop(process);
}

async function options(sql: string, name?: string) {
  const catalog = new Catalog(world.log, 'test.catalog');
  await catalog.read();
  const plan = planned(sql);
  const flow = plan.flows.find((one) => name === undefined || one.name === name);
  if (flow === undefined) throw new Error('no flow');
  const { log, clock, state } = world;
  const facts = await deployedFacts({ log, catalog, plan, pipeline: 'test' }, flow);
  if (!isReplacing(facts)) throw new Error('no keys');
  const listener = () => undefined;
  const base = { log, catalog, clock, state, plan, facts, listener, pipeline: 'test' };
  return { ...base, command: 'test', token: `t${Math.random()}` };
}

async function whyOptions(sql: string) {
  const { facts, ...more } = await options(sql);
  return { ...more, flows: [facts] as const };
}

async function verified(sql: string, heldBytesMax?: number, name?: string) {
  const differences: KeyDifference[] = [];
  const report = await verifyTable({
    ...(await options(sql, name)),
    onDifference: (one) => differences.push(one),
    ...(heldBytesMax === undefined ? {} : { heldBytesMax }),
  });
  return { report, differences };
}

function workload(): void {
  for (let at = 0; at < 400; at += 1) {
    give(`k${at % 40}`, (at % 7) - 1, Math.floor(at / 90), at % 2);
  }
}

/** Writes a row-set into the output as nobody but the pipeline may. */
function tamper(key: string, value: string | null, sequence: number, sources: string): void {
  const headers = { 'tm-seq': String(sequence), 'tm-src': sources, 'tm-gen': '0' };
  const found = world.log.readCommitted('t').find((one) => one.key?.toString() === key);
  world.log.produce('t', found?.partition ?? 0, { key, value, headers });
}

describe.each(['row_set', 'rows'])('output %s', (output) => {
  const sql = table(`output = '${output}'`);

  test('verify recomputes the table from its sources, also a part of the keys at a time, and finds nothing', async () => {
    world = worldOf(sql);
    workload();
    give('k1', 'no number', 9);
    await settled(sql);
    const { report, differences } = await verified(sql);
    expect(differences).toEqual([]);
    expect(report).toMatchObject({ keys: 40, unreadableKeys: 0, movedKeys: 0, badRecords: 1 });
    const parts = await verified(sql, 2_000);
    expect(parts.differences).toEqual([]);
    expect(parts.report.keys).toBe(40);
  });

  test('state scrub finds nothing after a run, tells the key whose entry was changed, and rebuild mends it', async () => {
    world = worldOf(sql);
    workload();
    await settled(sql);
    const first = await scrubState(await options(sql));
    expect(first.map(({ state, differences }) => [state, differences])).toEqual([
      ['right', 0],
      ['right', 0],
    ]);
    expect(first.reduce((sum, { keys }) => sum + keys, 0)).toBe(40);
    const { catalog, clock, facts } = await options(sql);
    const partition = first.find(({ keys }) => keys > 0)?.partition ?? 0;
    const task = { pipeline: 'test', flow: 't', generation: facts.generation, partition };
    const epoch = await catalog.write([{ kind: 'event', name: 'test', value: {} }], clock.now());
    const session = await world.state.open(task, epoch);
    const mark = await session.mark();
    let victim = '';
    for await (const part of session.scan()) victim ||= part[0]?.[0] ?? '';
    if (mark === undefined) throw new Error('no mark');
    await session.write({ entries: packedEntries([victim], [undefined]), mark });
    await session.close();
    const damaged = (await scrubState(await options(sql)))[partition];
    expect(damaged).toMatchObject({ state: 'differs', differences: 1 });
    expect(damaged?.differing).toEqual([Buffer.from(victim, 'latin1').toString('utf8')]);
    await rebuildState(await options(sql));
    const after = await scrubState(await options(sql));
    expect(after.map(({ state }) => state)).toEqual(['right', 'right']);
  });
});

const plain = table("output = 'row_set'");

test('verify right after dead letters were replayed: their keys are left out, and nobody is waited for', async () => {
  world = worldOf(plain, 1);
  give('a', 1, 1);
  give('b', 1, 1);
  await settled(plain);
  const { facts, ...outside } = await options(plain);
  // Between the stages, as a replay leaves it.
  const key = Buffer.from('{"k":"a"}');
  const { topic } = facts.repartition;
  world.log.produce(topic, 0, { key: key.toString(), value: 'x' });
  const beforeMs = outside.clock.monotonic();
  const { report, differences } = await verified(plain);
  expect(outside.clock.monotonic() - beforeMs).toBeLessThan(10_000);
  expect(differences).toEqual([]);
  // What is left out was not compared.
  expect(report).toMatchObject({ keys: 1, rows: 1, movedKeys: 1 });
});

test('FR-19 what was written in another output mode is said, instead of records that are called foreign', async () => {
  world = worldOf(plain, 1);
  give('a', 1, 1);
  await settled(plain);
  await expect(verified(table("output = 'rows'"))).rejects.toMatchObject({
    code: 'DEFINITION_CHANGED',
    message: 'table "t" was written in output mode row_set, and the files say rows',
    hint: expect.stringMatching(/that it was written with; or give the table another topic/),
  });
  await expect(verified(table("output = 'row_set', topic = 'u'"))).rejects.toMatchObject({
    code: 'DEFINITION_CHANGED',
    message: 'table "t" was written to topic "t", and the files say "u"',
  });
  const more = `${plain} CREATE STREAMING TABLE later FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, seq FROM STREAM(s);`;
  await expect(verified(more, undefined, 'later')).rejects.toMatchObject({
    code: 'USAGE',
    message: 'nothing was ever written to table "later"',
  });
});

test('verify tells each kind of difference with its key', async () => {
  world = worldOf(plain, 1);
  for (const k of ['a', 'b', 'c', 'd']) give(k, 1, 5);
  await settled(plain);
  expect((await verified(plain)).report).toMatchObject({ keys: 4, rows: 4, differences: 0 });
  const [own] = world.log.readCommitted('t');
  const place = own?.headers.find(({ key }) => key === 'tm-src')?.value?.toString() ?? '';
  const prefix = place.slice(0, place.indexOf('@'));
  tamper('{"k":"a"}', '[{"k":"a","v":2,"seq":5}]', 5, `${prefix}@0`);
  tamper('{"k":"b"}', '[{"k":"b","v":1,"seq":4}]', 4, `${prefix}@1`);
  world.log.produce('t', 0, { key: '{"k":"c"}', value: null, headers: { 'tm-gen': '0' } });
  tamper('{"k":"x"}', '[{"k":"x","v":1,"seq":1}]', 1, `${prefix}@3`);
  tamper('{"k":"d"}', '[{"k":"d","v":1,"seq":5}]', 5, `${prefix}@0`);
  const { report, differences } = await verified(plain);
  expect(differences.map(({ key, kind }) => [key, kind]).sort()).toEqual([
    ['{"k":"a"}', 'rows'],
    ['{"k":"b"}', 'sequence'],
    ['{"k":"c"}', 'missing'],
    ['{"k":"d"}', 'provenance'],
    ['{"k":"x"}', 'extra'],
  ]);
  expect(report).toMatchObject({ keys: 4, differences: 5 });
  // The rows are the same, so what differs is shown.
  expect(differences.find(({ kind }) => kind === 'provenance')).toMatchObject({
    expected: '[{"k":"d","v":1,"seq":5} from s/0@3]',
    found: '[{"k":"d","v":1,"seq":5} from s/0@0]',
  });
});

test('verify takes rows whose records are gone as they are, and declines what depends on the clock', async () => {
  world = worldOf(plain, 1);
  give('a', 1, 1);
  give('b', 1, 1);
  await settled(plain);
  await world.log.deleteRecords('s', new Map([[0, 1]]));
  const { report, differences } = await verified(plain);
  expect(differences).toEqual([]);
  expect(report).toMatchObject({ keys: 2, unreadableKeys: 1 });
  world.close();
  const clocked = table("output = 'row_set'", 'SELECT k, v, seq, current_timestamp() AS at');
  world = worldOf(clocked, 1);
  give('a', 1, 1);
  await settled(clocked);
  await expect(verified(clocked)).rejects.toMatchObject({ code: 'NOT_SUPPORTED' });
});

test('FL-15 verify judges expectations of a view again, as the flow does', async () => {
  const sql = `${source}
CREATE VIEW known (CONSTRAINT some EXPECT (v > 0) ON VIOLATION DROP ROW) AS SELECT k, v, seq FROM STREAM(s);
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, seq FROM STREAM(known);`;
  world = worldOf(sql);
  give('a', 1, 1);
  give('b', -1, 1);
  give('a', -1, 2);
  await settled(sql);
  expect(await verified(sql)).toMatchObject({
    report: { keys: 1, rows: 1 },
    differences: [],
  });
});

test('state rebuild brings an older image of the state up again', async () => {
  world = worldOf(plain, 1);
  give('a', 1, 1);
  await settled(plain);
  world.state.flush();
  expect((await scrubState(await options(plain)))[0]?.state).toBe('absent');
  expect(await rebuildState(await options(plain))).toEqual([0]);
  expect(await scrubState(await options(plain))).toMatchObject([{ state: 'right', keys: 1 }]);
  give('a', 2, 1);
  await settled(plain);
  expect((await verified(plain)).differences).toEqual([]);
});

test.each([
  [
    't',
    `CREATE STREAMING TABLE t; CREATE FLOW t AS AUTO CDC INTO t FROM STREAM(s) KEYS (k) SEQUENCE BY seq;`,
  ],
  [
    't',
    `CREATE STREAMING TABLE t; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (k) SEQUENCE BY seq;
CREATE FLOW g AS AUTO CDC INTO t FROM STREAM(s) KEYS (k) SEQUENCE BY seq;`,
  ],
])(
  'state rebuild of a table that change feeds write: it goes on where it stood (%#)',
  async (_, feed) => {
    const sql = `${source} ${feed}`;
    world = worldOf(sql, 1);
    give('a', 1, 3);
    give('b', 1, 1);
    await settled(sql);
    const before = world.log.readCommitted('t').length;
    world.state.flush();
    const catalog = new Catalog(world.log, 'test.catalog');
    await catalog.read();
    const plan = planned(sql);
    const { log, clock, state } = world;
    const outside = {
      log,
      catalog,
      clock,
      state,
      plan,
      pipeline: 'test',
      listener: () => undefined,
    };
    const [target] = plan.tables;
    if (target === undefined) throw new Error('no table');
    const [flow] = flowsOf(plan, target);
    const facts = keyedFacts(await deployedFacts(outside, flow));
    if (facts === undefined) throw new Error('no state');
    expect(await rebuildState({ ...outside, facts, command: 'test', token: 'x' })).toEqual([0]);
    const id = { pipeline: 'test', flow: flow.name, generation: 0, partition: 0 };
    expect(state.image(id)?.entries.size).toBeGreaterThanOrEqual(2);
    // An older change of a key that the state knows changes nothing.
    give('a', 9, 2);
    give('b', 2, 2);
    await settled(sql);
    expect(world.log.readCommitted('t').length).toBe(before + 1);
  },
);

test('CLI why tells the fate of every row of a key', async () => {
  world = worldOf(plain, 1);
  give('a', 1, 1);
  give('a', 2, 3);
  give('a', 3, 2);
  give('a', -1, 4);
  give('a', 4, null);
  give('b', 1, 1);
  await settled(plain);
  give('a', 9, 9);
  const history = await explainKey({
    ...(await whyOptions(plain)),
    key: Buffer.from('{"k":"a"}'),
    recordsMax: 100,
  });
  expect(history.set?.sequence).toBe('3');
  expect(history.rows.map(({ offset, fate }) => [offset, fate])).toEqual([
    [0, 'superseded'],
    [1, 'current'],
    [2, 'superseded'],
    [3, 'dropped'],
    [4, 'bad'],
    [6, 'waiting'],
  ]);
  expect(history.rows[3]?.reason).toContain('positive');
  expect(history.rows[4]?.reason).toContain('NULL_SEQUENCE');
});

describe('a table over one whose rows are replaced', () => {
  const sql = `${source}
CREATE STREAMING TABLE t (CONSTRAINT positive EXPECT (v > 0) ON VIOLATION DROP ROW)
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, seq FROM STREAM(cur) WHERE v <> 3;
CREATE STREAMING TABLE cur FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, v, seq FROM STREAM(s);`;

  test('verify recomputes it from the versions that are there, and tells what differs', async () => {
    world = worldOf(sql);
    workload();
    await settled(sql);
    for (const isCompacted of [false, true]) {
      if (isCompacted) world.log.compact('cur', { dropTombstones: true });
      const { report, differences } = await verified(sql);
      expect(differences).toEqual([]);
      expect(report).toMatchObject({ unreadableKeys: 0, movedKeys: 0, badRecords: 0 });
      expect(report.keys).toBeGreaterThan(10);
    }
    const [own] = world.log.readCommitted('t');
    const place = own?.headers.find(({ key }) => key === 'tm-src')?.value?.toString() ?? '';
    tamper('{"k":"k5"}', '[{"k":"k5","v":100,"seq":4}]', 4, place);
    const { differences } = await verified(sql);
    expect(differences.map(({ key }) => key)).toEqual(['{"k":"k5"}']);
  });

  test('verify tells keys apart of which the table above has a later version', async () => {
    world = worldOf(sql, 1);
    give('a', 1, 1);
    give('b', 1, 1);
    await settled(sql);
    world.log.produce('cur', 0, {
      key: '{"k":"a"}',
      value: '[{"k":"a","v":2,"seq":2}]',
      headers: { 'tm-seq': '2', 'tm-src': `${'0'.repeat(32)}/0@7`, 'tm-gen': '0' },
    });
    world.log.compact('cur', { dropTombstones: true });
    const { report, differences } = await verified(sql);
    expect(differences).toEqual([]);
    expect(report).toMatchObject({ keys: 1, movedKeys: 1 });
  });

  test('CLI why tells of each version of a key what became of it', async () => {
    world = worldOf(sql, 1);
    for (const [v, seq] of [
      [1, 1],
      [3, 2],
      [4, 3],
    ] as const) {
      give('a', v, seq);
      await settled(sql);
    }
    const key = Buffer.from('{"k":"a"}');
    const { rows, records } = await explainKey({
      ...(await whyOptions(sql)),
      key,
      recordsMax: 100,
    });
    // The markers behind each commit have offsets, too, and are no records.
    expect(records).toBe(3);
    expect(rows.map(({ topic, sequence, fate }) => [topic, sequence, fate])).toEqual([
      ['cur', '1', 'superseded'],
      ['cur', '2', 'superseded'],
      ['cur', '3', 'current'],
    ]);
  });
});

describe('a table over one that append flows write', () => {
  const over = (select: string) => `${source}
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT ${select};
CREATE STREAMING TABLE raw AS SELECT * FROM STREAM(s);`;
  const sql = over('k, v, seq FROM STREAM(raw)');

  async function filled(): Promise<void> {
    world = worldOf(sql, 1);
    give('a', 1, 1);
    give('b', 2, 1);
    await settled(sql);
  }

  test('verify computes its rows from the topic of that table, whatever became of the first source', async () => {
    await filled();
    await world.log.deleteRecords('s', new Map([[0, 2]]));
    const same = await verified(sql);
    expect(same.differences).toEqual([]);
    expect(same.report).toMatchObject({ keys: 2, unreadableKeys: 0, unknownKeys: 0 });
    const changed = await verified(over('k, v + 1 AS v, seq FROM STREAM(raw)'));
    expect(changed.differences.map(({ key, kind }) => [key, kind])).toEqual([
      ['{"k":"a"}', 'rows'],
      ['{"k":"b"}', 'rows'],
    ]);
    const fewer = await verified(over('k, v, seq FROM STREAM(raw) WHERE v > 1'));
    expect(fewer.differences.map(({ key, kind }) => [key, kind])).toEqual([['{"k":"a"}', 'extra']]);
    const mixed = await verified(
      over(
        'k, v, seq FROM (SELECT * FROM STREAM(raw) WHERE v > 1 UNION ALL SELECT * FROM STREAM(s))',
      ),
    );
    expect(mixed.differences.map(({ key }) => key)).toEqual(['{"k":"a"}']);
  });

  test('verify names that table where its topic lacks the beginning, and takes the rows as they are', async () => {
    await filled();
    await world.log.deleteRecords('raw', new Map([[0, 1]]));
    const { report, differences } = await verified(sql);
    expect(differences).toEqual([]);
    expect(report).toMatchObject({
      keys: 2,
      unknownKeys: 2,
      unreadableKeys: 0,
      partTables: ['raw'],
    });
  });

  test('verify leaves out keys of which that table has rows that are not read yet', async () => {
    await filled();
    const last = world.log.readCommitted('raw').at(-1);
    const headers = Object.fromEntries(
      (last?.headers ?? []).map(({ key, value }) => [key, value?.toString() ?? '']),
    );
    tamper('{"k":"a"}', '[{"k":"a","v":9,"seq":9}]', 9, `${'0'.repeat(32)}/0@7`);
    world.log.produce('raw', 0, { key: null, value: '{"k":"a","v":9,"seq":9}', headers });
    const { report, differences } = await verified(sql);
    expect(differences).toEqual([]);
    expect(report).toMatchObject({ keys: 1, movedKeys: 1 });
  });
});

test('verify computes rows of a stream join from what the join has written', async () => {
  const joined = (
    v: string,
  ) => `CREATE SOURCE a (k INT, seq BIGINT); CREATE SOURCE b (k INT, v STRING);
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
SELECT x.k, x.seq, ${v} AS v FROM STREAM(a) x JOIN STREAM(b) y ON x.k = y.k;`;
  world = worldOf(joined('y.v'), 1);
  for (const k of [1, 2]) {
    world.produce('a', { value: JSON.stringify({ k, seq: 1 }) }, 0);
    world.produce('b', { value: JSON.stringify({ k, v: 'x' }) }, 0);
  }
  await settled(joined('y.v'));
  expect((await verified(joined('y.v'), undefined, 't')).report).toMatchObject({
    keys: 2,
    differences: 0,
    unknownKeys: 0,
  });
  const changed = await verified(joined('upper(y.v)'), undefined, 't');
  expect(changed.differences.map(({ key, kind }) => [key, kind])).toEqual([
    ['{"k":1}', 'rows'],
    ['{"k":2}', 'rows'],
  ]);
});

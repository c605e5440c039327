import { afterEach, describe, expect, test } from 'vitest';
import { type FlowFacts, keyedFacts } from '../../../src/runtime/inspect/flow-facts.ts';
import { deployedFacts } from '../../../src/runtime/inspect/pipeline-facts.ts';
import { rebuildState, scrubState } from '../../../src/runtime/inspect/state-scrub.ts';
import { verifyAppended } from '../../../src/runtime/inspect/verify-appended.ts';
import {
  type KeyDifference,
  refuseUnverifiable,
} from '../../../src/runtime/inspect/verify-parts.ts';
import { explainKey, hasKeys } from '../../../src/runtime/inspect/why-key.ts';
import { flowsOf } from '../../../src/runtime/refresh/refresh-facts.ts';
import { tryRecords } from '../../../src/runtime/refresh/refresh-trial.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { planned, worldOf } from '../../support/append-world.ts';
import { packedEntries } from '../../support/packed-entries.ts';

const source = 'CREATE SOURCE s (k STRING, v INT, seq BIGINT);';

let world: PipelineWorld;

afterEach(() => world.close());

function give(k: string | null, v: unknown, seq: number, partition = 0): void {
  world.produce('s', { value: JSON.stringify({ k, v, seq }) }, partition);
}

async function settled(sql: string): Promise<void> {
  const process = await world.startProcess('one', planned(sql));
  await world.untilCaughtUp(process);
  await world.stop(process);
}

async function options(sql: string, name: string) {
  const catalog = new Catalog(world.log, 'test.catalog');
  await catalog.read();
  const plan = planned(sql);
  const table = plan.tables.find((one) => one.name === name);
  if (table === undefined) throw new Error(plan.tables.map((one) => one.name).join());
  const { log, clock, state } = world;
  const [flow] = flowsOf(plan, table);
  const facts = keyedFacts(await deployedFacts({ log, catalog, plan, pipeline: 'test' }, flow));
  if (facts === undefined) throw new Error('no state');
  const listener = () => undefined;
  const base = { log, catalog, clock, state, plan, facts, listener, pipeline: 'test' };
  return { ...base, command: 'test', token: `t${Math.random()}` };
}

const feed = (more = '') => `${source}
CREATE STREAMING TABLE t;
CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (k) APPLY AS DELETE WHEN v = 0 SEQUENCE BY seq ${more};`;

describe('state scrub reads the state of every kind of table', () => {
  test.each([
    ['AUTO CDC', 't', feed()],
    ['AUTO CDC with truncates', 't', feed('APPLY AS TRUNCATE WHEN v = 4 AND seq = 2')],
    ['AUTO CDC with history', 't', feed('STORED AS SCD TYPE 2')],
    [
      'DISTINCT',
      't.distinct',
      `${source} CREATE STREAMING TABLE t AS SELECT DISTINCT k, v FROM STREAM(s);`,
    ],
    [
      'a join of two streams',
      't.join',
      `${source} CREATE SOURCE z (k STRING, w INT);
CREATE STREAMING TABLE t AS SELECT x.k, x.v, y.w FROM STREAM(s) x JOIN STREAM(z) y ON x.k = y.k;`,
    ],
  ])('%s', async (_, name, sql) => {
    world = worldOf(sql);
    for (let at = 0; at < 200; at += 1) give(`k${at % 23}`, at % 5, Math.floor(at / 40), at % 2);
    await settled(sql);
    const first = await scrubState(await options(sql, name));
    expect(first.map(({ state, differences }) => [state, differences])).toEqual(
      first.map(() => ['right', 0]),
    );
    expect(first.reduce((sum, { keys }) => sum + keys, 0)).toBeGreaterThan(20);
    const { catalog, clock, facts } = await options(sql, name);
    const partition = first.find(({ keys }) => keys > 2)?.partition ?? 0;
    const { generation, flow } = facts;
    const epoch = await catalog.write([{ kind: 'event', name: 'test', value: {} }], clock.now());
    const task = { pipeline: 'test', flow: flow.name, generation, partition };
    const session = await world.state.open(task, epoch);
    const mark = await session.mark();
    const known: string[] = [];
    for await (const part of session.scan()) known.push(...part.map(([key]) => key));
    if (mark === undefined) throw new Error('no mark');
    await session.write({
      entries: packedEntries(
        known,
        known.map(() => undefined),
      ),
      mark,
    });
    await session.close();
    const damaged = (await scrubState(await options(sql, name)))[partition];
    expect(damaged?.state).toBe('differs');
    expect(damaged?.differences).toBeGreaterThan(1);
    await rebuildState(await options(sql, name));
    const after = await scrubState(await options(sql, name));
    expect(after.map(({ state }) => state)).toEqual(first.map(() => 'right'));
  });
});

async function verified(sql: string, name = 't', heldBytesMax?: number) {
  const catalog = new Catalog(world.log, 'test.catalog');
  await catalog.read();
  const plan = planned(sql);
  const table = plan.tables.find((one) => one.name === name);
  if (table === undefined) throw new Error('no table');
  const { log, clock } = world;
  const flows = await Promise.all(
    flowsOf(plan, table).map((flow) =>
      deployedFacts({ log, catalog, plan, pipeline: 'test' }, flow),
    ),
  );
  const differences: KeyDifference[] = [];
  const report = await verifyAppended({
    ...{ log, catalog, clock, pipeline: 'test', table, flows },
    onDifference: (one) => differences.push(one),
    ...(heldBytesMax === undefined ? {} : { heldBytesMax }),
  });
  return { report, differences };
}

describe('verify of a table that append flows write', () => {
  const sql = `${source}
CREATE STREAMING TABLE t (CONSTRAINT positive EXPECT (v > 0) ON VIOLATION DROP ROW) WITH (dead_letter_topic = 'dlq');
CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, v FROM STREAM(s);
CREATE FLOW g AS INSERT INTO t BY NAME SELECT k, explode(array(v, v + 1)) AS v FROM STREAM(s) WHERE seq > 2;`;

  function workload(): void {
    for (let at = 0; at < 100; at += 1) give(`k${at}`, at % 3, at % 5, at % 2);
    give('bad', 'no number', 1);
  }

  test('finds nothing after a run, also a part of the rows at a time', async () => {
    world = worldOf(sql);
    workload();
    await settled(sql);
    const { report, differences } = await verified(sql);
    expect(differences).toEqual([]);
    expect(report).toMatchObject({ unreadableKeys: 0, movedKeys: 0, badRecords: 2 });
    expect(report.rows).toBe(world.log.readCommitted('t').length);
    const parts = await verified(sql, 't', 2_000);
    expect(parts.differences).toEqual([]);
    expect(parts.report.rows).toBe(report.rows);
  });

  test('tells each kind of difference, and leaves out what is gone or came meanwhile', async () => {
    world = worldOf(sql, 1);
    for (const k of ['a', 'b', 'c']) give(k, 1, 1);
    await settled(sql);
    const [own] = world.log.readCommitted('t');
    const place = own?.headers.find(({ key }) => key === 'tm-src')?.value?.toString() ?? '';
    const at = (offset: number): string => `${place.slice(0, place.indexOf('@'))}@${offset}`;
    const append = (value: string, sources: string): void => {
      const headers = { 'tm-src': sources, 'tm-gen': '0' };
      world.log.produce('t', 0, { key: null, value, headers });
    };
    append('{"k":"a","v":1}', at(0));
    append('{"k":"later","v":1}', at(7));
    const { report, differences } = await verified(sql);
    expect(differences).toMatchObject([{ key: 's/0@0', kind: 'extra' }]);
    expect(report).toMatchObject({ rows: 4, differences: 1, movedKeys: 1 });
    // The first row and its twin are deleted with what stood before them.
    await world.log.deleteRecords('t', new Map([[0, 1]]));
    append('{"k":"b","v":9}', at(1));
    const second = await verified(sql);
    expect(second.differences.map(({ key, kind }) => [key, kind])).toEqual([['s/0@1', 'extra']]);
    await world.log.deleteRecords('t', new Map([[0, 2]]));
    const third = await verified(sql);
    expect(third.differences).toMatchObject([
      { key: 's/0@1', kind: 'rows', expected: '{"k":"b","v":1}', found: '{"k":"b","v":9}' },
    ]);
    await world.log.deleteRecords('t', new Map([[0, 5]]));
    const fourth = await verified(sql);
    expect(fourth.differences.map(({ key, kind }) => [key, kind])).toEqual([
      ['s/0@1', 'rows'],
      ['s/0@0', 'missing'],
      ['s/0@2', 'missing'],
    ]);
    await world.log.deleteRecords('s', new Map([[0, 3]]));
    expect((await verified(sql)).report).toMatchObject({ differences: 0, unreadableKeys: 1 });
  });

  test('over another one, and of a kind that can not be recomputed the refusal tells what to do', async () => {
    const chain = `${source} CREATE STREAMING TABLE raw AS SELECT k, v FROM STREAM(s);
CREATE STREAMING TABLE t AS SELECT k, v + 1 AS w FROM STREAM(raw);`;
    world = worldOf(chain, 1);
    for (let at = 0; at < 30; at += 1) give(`k${at}`, at, at);
    await settled(chain);
    expect(await verified(chain)).toMatchObject({ report: { rows: 30 }, differences: [] });
    await world.log.deleteRecords('raw', new Map([[0, 10]]));
    expect((await verified(chain)).report).toMatchObject({
      differences: 0,
      unknownKeys: 10,
      partTables: ['raw'],
    });
    const [flow] = planned(feed()).flows;
    expect(flow && (() => refuseUnverifiable(flow, 't'))).toThrow(
      expect.objectContaining({ code: 'NOT_SUPPORTED', hint: expect.stringContaining('--shadow') }),
    );
  });
});

/** Offset → what became of the row that is there. */
async function fatesOf(sql: string, key: string): Promise<readonly (readonly [number, string])[]> {
  const catalog = new Catalog(world.log, 'test.catalog');
  await catalog.read();
  const plan = planned(sql);
  const table = plan.tables.find(({ name }) => name === 't');
  if (table === undefined) throw new Error('no table');
  const { log, clock } = world;
  const known: FlowFacts[] = [];
  for (const flow of flowsOf(plan, table))
    known.push(await deployedFacts({ log, catalog, plan, pipeline: 'test' }, flow));
  const [first, ...others] = known.filter(hasKeys);
  if (first === undefined) throw new Error('no keys');
  const { rows } = await explainKey({
    ...{ log, catalog, clock, pipeline: 'test', recordsMax: 100 },
    flows: [first, ...others],
    key: Buffer.from(key),
  });
  return rows.map(({ offset, fate }) => [offset, fate]);
}

const emptied = feed('APPLY AS TRUNCATE WHEN v = 9');

test('FR-11 a truncate has no key: a refresh that tries it does not take it for a record that can not be read', async () => {
  world = worldOf(emptied, 1);
  give('a', 1, 1);
  give(null, 9, 2);
  give('b', 2, 3);
  await settled(emptied);
  const known = await options(emptied, 't');
  const tried = await tryRecords({ ...known, flows: known.plan.flows, recordsMax: 100 });
  expect(tried).toMatchObject({ records: 3, tried: 3, deadLetters: 0, stops: 0, reasons: {} });
});

describe('why tells the fate of the rows of a key in a table', () => {
  test('that is truncated', async () => {
    world = worldOf(emptied, 1);
    give('a', 1, 1);
    give(null, 9, 2);
    give('b', 2, 3);
    await settled(emptied);
    expect(await fatesOf(emptied, '{"k":"a"}')).toEqual([
      [0, 'superseded'],
      [1, 'empties'],
    ]);
    expect(await fatesOf(emptied, '{"k":"b"}')).toEqual([
      [1, 'empties'],
      [2, 'current'],
    ]);
  });

  test('that a change feed writes', async () => {
    world = worldOf(feed(), 1);
    for (const [v, seq] of [
      [1, 1],
      [2, 3],
      [7, 2],
    ] as const) {
      give('a', v, seq);
    }
    give('b', 1, 1);
    give('b', 0, 2);
    await settled(feed());
    give('a', 9, 9);
    expect(await fatesOf(feed(), '{"k":"a"}')).toEqual([
      [0, 'superseded'],
      [1, 'current'],
      [2, 'superseded'],
      [5, 'waiting'],
    ]);
    expect(await fatesOf(feed(), '{"k":"b"}')).toEqual([
      [3, 'superseded'],
      [4, 'empties'],
    ]);
  });

  test('that two change feeds write, with history', async () => {
    const history = feed('STORED AS SCD TYPE 2');
    const both = `${history} CREATE SOURCE z (k STRING, v INT, seq BIGINT);
CREATE FLOW g AS AUTO CDC INTO t FROM STREAM(z) KEYS (k) SEQUENCE BY seq STORED AS SCD TYPE 2;`;
    world = worldOf(both, 1);
    give('a', 1, 1);
    give('a', 2, 2);
    world.produce('z', { value: '{"k":"a","v":3,"seq":3}' }, 0);
    await settled(both);
    expect(await fatesOf(both, '{"k":"a"}')).toEqual([
      [0, 'current'],
      [1, 'current'],
      [0, 'current'],
    ]);
  });

  test('whose query looks something up', async () => {
    const joined = `${source} CREATE SOURCE names (k STRING, n STRING);
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
SELECT x.k, y.n, x.seq FROM STREAM(s) x JOIN names y ON x.k = y.k;`;
    world = worldOf(joined, 1);
    world.produce('names', { value: '{"k":"a","n":"Ada"}' }, 0);
    give('a', 1, 1);
    give('a', 1, 2);
    await settled(joined);
    expect(await fatesOf(joined, '{"k":"a"}')).toEqual([
      [0, 'superseded'],
      [1, 'current'],
    ]);
  });
});

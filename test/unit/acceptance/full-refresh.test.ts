import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commands } from '../../../src/cli/commands.ts';
import { decideMoves } from '../../../src/refresh/checkpoint-move.ts';
import { deploymentPlan } from '../../../src/refresh/deployment-plan.ts';
import { areChained, refreshOrder } from '../../../src/refresh/refresh-report.ts';
import { tableConsumers } from '../../../src/refresh/table-consumers.ts';
import { gatherDeployment } from '../../../src/runtime/inspect/plan-facts.ts';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { applyMoves, readCheckpoints } from '../../../src/runtime/refresh/refresh-checkpoints.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { openCatalog } from '../../../src/runtime/topics/catalog.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

const guide = readFileSync(join(import.meta.dirname, '../../../docs/full-refresh.md'), 'utf8');
const select = 'SELECT k, seq, v FROM STREAM(a)';

function table(flow: string, query = select): string {
  return `CREATE STREAMING TABLE t;
CREATE FLOW ${flow} AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq ${query};`;
}

async function written(sql = table('f'), sources = ['a']): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql, sources, 1);
  await world.produce('a', 0, { k: 'x', seq: 1, v: 'one' }, { k: 'y', seq: 2, v: 'two' });
  await world.produce('a', 0, { k: 'y', seq: 2, v: 'tie' });
  await world.update();
  return world;
}

const rows = [
  '{"k":"x","seq":1,"v":"one"}',
  '{"k":"y","seq":2,"v":"tie"}',
  '{"k":"y","seq":2,"v":"two"}',
];

test('FR-10 nothing refreshes by itself: not a start, not a changed definition, not a gap', async () => {
  const world = await written();
  const expectNone = async (): Promise<void> => {
    const catalog = await openCatalog(world.log, 'p.catalog');
    expect(catalog?.all('refresh')).toEqual([]);
    expect(catalog?.all('generation')).toEqual([]);
    expect(tableText(await world.table('t'))).toEqual(rows);
  };
  await world.update();
  await expectNone();
  world.sql = table('f', 'SELECT k, seq, upper(v) AS w FROM STREAM(a)');
  await expect(world.update()).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
  world.sql = table('f');
  await expectNone();
  world.recreate('a');
  await expect(world.update()).rejects.toMatchObject({ code: 'TOPIC_RECREATED' });
  await expectNone();
});

test('FR-38 a flow of a new name reads everything again, and merges into what is there', async () => {
  const world = await written();
  world.sql = table('g');
  await world.update();
  expect(tableText(await world.table('t'))).toEqual(rows);
  expect((await world.log.committedOffsets('p.g', 'a', [0])).size).toBe(1);
});

test('FR-32 each way out of a lost checkpoint is a command, and the guide names it', () => {
  const names = commands.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['refresh', 'checkpoint', 'run']));
  for (const text of ['tidemark refresh', 'checkpoint rewind', 'run --accept-gap', 'backfill']) {
    expect(guide).toContain(text);
  }
});

test.each<[string, (world: RefreshWorld) => Promise<string>]>([
  [
    'a full refresh',
    async (world) => {
      await refreshInPlace(await world.runOptions('t'));
      return 't';
    },
  ],
  [
    'a reset of the checkpoint alone',
    async (world) => {
      const options = await world.outside();
      const [flow] = options.plan.flows;
      if (flow === undefined) throw new Error('no flow');
      const found = await readCheckpoints(options, flow);
      await applyMoves(options, flow, decideMoves(found, { to: 'earliest' }), found);
      return 't';
    },
  ],
  [
    'a copy, and a backfill from it',
    async (world) => {
      // The source has lost what the copy still has.
      await world.log.deleteRecords('a', new Map([[0, 2]]));
      await world.produce('b', 0, { k: 'x', seq: 1, v: 'one' }, { k: 'y', seq: 2, v: 'two' });
      const both = `${select.replace('(a)', '(b)')} UNION ALL ${select}`;
      world.sql = table('g', both).replace('TABLE t', "TABLE t WITH (topic = 't2')");
      return 't';
    },
  ],
])('FR-32 a lost checkpoint is got over by %s', async (_, getOver) => {
  const world = await written(table('f'), ['a', 'b']);
  await world.log.deleteCheckpoints('p.f');
  await expect(world.update()).rejects.toMatchObject({ code: 'CHECKPOINT_MISSING' });
  const name = await getOver(world);
  await world.update();
  expect(tableText(await world.table(name))).toEqual(rows);
  await world.produce('a', 0, { k: 'x', seq: 3, v: 'later' });
  await world.update();
  const later = '{"k":"x","seq":3,"v":"later"}';
  expect(tableText(await world.table(name))).toEqual([later, ...rows.slice(1)]);
});

test('FR-25 the definition of a materialized view is remembered, and a changed one computed anew', async () => {
  const viewOf = (query: string): string => `${table('f')} CREATE MATERIALIZED VIEW m AS ${query};`;
  const world = await written(viewOf('SELECT k, count(*) AS n FROM t GROUP BY k'));
  const verdicts = async () => {
    const { log, catalog, plan, pipeline } = await world.outside();
    const facts = await gatherDeployment({ log, catalog, plan, pipeline, nowMs: 0 });
    return deploymentPlan(facts).views;
  };
  expect(await verdicts()).toEqual([{ view: 'm', status: 'unchanged', changes: [] }]);
  world.sql = viewOf('SELECT k, count(*) AS n, max(v) AS v FROM t GROUP BY k');
  expect(await verdicts()).toMatchObject([
    { view: 'm', status: 'recomputed', changes: [{ id: 'FR-25' }] },
  ]);
  await world.update();
  expect(await verdicts()).toEqual([{ view: 'm', status: 'unchanged', changes: [] }]);
  expect(String(world.log.readCommitted('m').at(-1)?.value)).toContain('"v":"t');
});

describe('FR-31 a checkpoint whose definition is lost', () => {
  test('the catalog was created anew: nothing is gone on with, and nothing written', async () => {
    const world = await written();
    world.log.deleteTopic('p.catalog');
    const before = world.log.readCommitted('t').length;
    // Of another definition, which nobody could tell.
    world.sql = table('f', 'SELECT k, seq, upper(v) AS v FROM STREAM(a)');
    await expect(world.update()).rejects.toMatchObject({
      code: 'DEFINITION_MISSING',
      hint: expect.stringContaining('Restore topic "p.catalog"'),
    });
    expect(world.log.readCommitted('t')).toHaveLength(before);
    // A new name and a new topic is a way out.
    world.sql = table('g').replace('TABLE t', "TABLE t WITH (topic = 't2')");
    await world.update();
    expect(world.log.readCommitted('t2').length).toBeGreaterThan(0);
  });

  test.each([
    ['its output topic, too', (sql: string) => sql],
    [
      'the table has another topic',
      (sql: string) => sql.replace('TABLE t', "TABLE t WITH (topic = 't2')"),
    ],
  ])(
    'the catalog is gone, and %s: the checkpoint alone is enough to refuse',
    async (what, changed) => {
      const world = await written();
      world.log.deleteTopic('p.catalog');
      if (what.startsWith('its')) world.log.deleteTopic('t');
      world.sql = changed(table('f'));
      await world.produce('a', 0, { k: 'z', seq: 3, v: 'new' });
      await expect(world.update()).rejects.toMatchObject({ code: 'DEFINITION_MISSING' });
      const fresh = ['t', 't2'].filter((topic) => what.startsWith('its') || topic === 't2');
      for (const topic of fresh) {
        expect((await world.log.describeTopics([topic])).has(topic)).toBe(false);
      }
    },
  );

  test.each(['deleted', 'unreadable'])('one definition is %s', async (what) => {
    const world = await written();
    const { catalog } = await world.outside();
    const value = what === 'deleted' ? undefined : { fingerprint: 'x' };
    await catalog.write([{ kind: 'flow', name: 'f', value }], 0);
    await expect(world.update()).rejects.toMatchObject({ code: 'DEFINITION_MISSING' });
  });

  test('a flow that is new to the catalog is none', async () => {
    const world = await written();
    const { log } = world;
    await log.commitCheckpoint('p.g', [{ topic: 'a', partition: 0, offset: 3, metadata: '' }]);
    world.sql = `${table('f')} CREATE STREAMING TABLE t2;
CREATE FLOW g AS INSERT INTO t2 BY NAME REPLACE USING (k) SEQUENCE BY seq ${select};`;
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(rows);
  });
});

describe('FR-12 a column that is renamed', () => {
  test('in the table needs a refresh, and the answers name the mapping that needs none', async () => {
    const world = await written();
    world.sql = table('f', 'SELECT k, seq, v AS w FROM STREAM(a)');
    await expect(world.update()).rejects.toMatchObject({
      code: 'DEFINITION_CHANGED',
      detail: expect.stringContaining('Column "v" was renamed to "w". (FR-12)'),
      hint: expect.stringContaining('an alias keeps the name that the rows have'),
    });
  });

  test('with an alias that keeps its name in the table it is safe: nothing changed, and readers have the new name', async () => {
    const world = await written();
    world.sql = `${table('f', 'SELECT k, seq, w AS v FROM (SELECT k, seq, v AS w FROM STREAM(a))')}
CREATE VIEW named AS SELECT k, seq, v AS w FROM t;
CREATE MATERIALIZED VIEW shown AS SELECT k, w FROM named;`;
    const { catalog, ...outside } = await world.outside();
    const facts = await gatherDeployment({ ...outside, catalog, plan: world.plan, nowMs: 0 });
    expect(deploymentPlan(facts).flows).toMatchObject([{ flow: 'f', status: 'unchanged' }]);
    await world.produce('a', 0, { k: 'x', seq: 3, v: 'new' });
    await world.update();
    await world.update();
    expect(tableText(await world.table('t'))).toEqual([
      '{"k":"x","seq":3,"v":"new"}',
      ...rows.slice(1),
    ]);
    const shown = world.log.readCommitted('shown').map(({ value }) => String(value));
    expect(shown).toContainEqual('[{"k":"x","w":"new"}]');
  });

  test('at the source it is safe with an alias, too: rows that are there keep what they have', async () => {
    const world = await written();
    world.sql = table('f', 'SELECT k, seq, coalesce(CAST(gone AS STRING), v) AS v FROM STREAM(a)');
    const { catalog, ...outside } = await world.outside();
    const facts = await gatherDeployment({ ...outside, catalog, plan: world.plan, nowMs: 0 });
    expect(deploymentPlan(facts).flows).toMatchObject([
      { flow: 'f', status: 'compatible', changes: [{ id: 'FR-11', effect: 'compatible' }] },
    ]);
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(rows);
  });
});

test('FR-40 FR-17 a new table beside the old one, and a view that unites both', async () => {
  const world = await written();
  world.sql = `${table('f')}
CREATE STREAMING TABLE t2;
CREATE FLOW f2 AS INSERT INTO t2 BY NAME REPLACE USING (k) SEQUENCE BY seq
SELECT k, seq, v, upper(v) AS loud FROM STREAM(a) WHERE k <> 'x';
CREATE MATERIALIZED VIEW united AS
SELECT k, seq, v, loud FROM t2
UNION ALL SELECT k, seq, v, CAST(NULL AS STRING) AS loud FROM t WHERE k NOT IN (SELECT k FROM t2);`;
  await world.update();
  await world.update();
  const united = world.log.readCommitted('united').map(({ value }) => String(value));
  expect(united.sort()).toEqual([
    '[{"k":"x","seq":1,"v":"one","loud":null}]',
    '[{"k":"y","seq":2,"v":"tie","loud":"TIE"}]',
    '[{"k":"y","seq":2,"v":"two","loud":"TWO"}]',
  ]);
});

test('FR-42 who reads a table: flows and views of the pipeline, and groups of others', async () => {
  const world = await written(`CREATE STREAMING TABLE raw AS ${select};
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(raw);
CREATE MATERIALIZED VIEW m AS SELECT k, count(*) AS n FROM t GROUP BY k;`);
  await world.update();
  for (const topic of ['raw', 't']) {
    await world.log.commitCheckpoint(`app-${topic}`, [
      { topic, partition: 0, offset: 0, metadata: '' },
    ]);
  }
  const { plan, pipeline } = world;
  const groups = await world.log.groupsOn(plan.tables.map(({ topic }) => topic));
  const found = tableConsumers(plan, pipeline, groups);
  const of = (name: string) => found.find((one) => one.table === name);
  expect(of('raw')).toMatchObject({ flows: ['t'], views: [], groups: ['app-raw'] });
  expect(of('t')).toMatchObject({ flows: [], views: ['m'], groups: ['app-t'] });
  expect(of('m')).toMatchObject({ flows: [], views: [], groups: [] });
});

test.each([
  ['FR-17', 'keep the old column and add a new one'],
  ['FR-36', 'Design columns so that they rarely change'],
  ['FR-40', 'a view that unites both'],
  ['FR-41', 'with another `pipeline.name`'],
  ['FR-43', 'CronJob'],
])('%s stands in the guide', (id, text) => {
  expect(guide).toContain(id);
  expect(guide.replaceAll('\n', ' ')).toContain(text);
});

describe('FR-09 materialized views over a refreshed table', () => {
  const view = 'CREATE MATERIALIZED VIEW m AS SELECT k, count(*) AS n FROM t GROUP BY k;';

  test('are listed, and computed by the next update, not by the refresh', async () => {
    const world = await written(`${table('f')}${view}`);
    expect((await world.preview('t')).report.downstream).toEqual(['m']);
    await world.log.deleteRecords('a', new Map([[0, 1]]));
    const outcome = await refreshBeside(await world.besideOptions('t', { allowLoss: true }));
    expect(outcome).toMatchObject({ generation: 1, buried: 1 });
    await world.update();
    const newest = new Map(
      world.log.readCommitted('m').map(({ key, value }) => [String(key), value === null]),
    );
    expect([...newest].filter(([, isGone]) => !isGone)).toHaveLength(1);
  });
});

describe('FR-08 the order of tables that are refreshed together', () => {
  const sql = `CREATE STREAMING TABLE c AS SELECT * FROM STREAM(b2);
CREATE STREAMING TABLE b2 AS SELECT * FROM STREAM(a2);
CREATE STREAMING TABLE a2 AS ${select};
CREATE STREAMING TABLE other FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME ${select};`;
  const { plan } = new RefreshWorld(sql, ['a']);
  const named = (...names: string[]) => plan.tables.filter(({ name }) => names.includes(name));
  const order = (names: string[], cascade: boolean): string[] =>
    refreshOrder(plan, named(...names), cascade).map(({ name }) => name);

  test('is that in which they read each other', () => {
    expect(order(['a2'], true)).toEqual(['a2', 'b2', 'c']);
    expect(order(['a2'], false)).toEqual(['a2']);
    expect(order(['c', 'a2'], false)).toEqual(['a2', 'c']);
    expect(order(['b2', 'other'], true).filter((name) => name !== 'other')).toEqual(['b2', 'c']);
  });

  test('tables that do not read each other need none', () => {
    expect(areChained(plan, named('a2', 'c'))).toBe(true);
    expect(areChained(plan, named('a2', 'other'))).toBe(false);
    expect(areChained(plan, named('c'))).toBe(false);
  });
});

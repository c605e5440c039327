import { describe, expect, test } from 'vitest';
import type { FlowError } from '../../../src/base/errors.ts';
import { gapsText } from '../../../src/cli/gaps.ts';
import { deploymentPlan } from '../../../src/refresh/deployment-plan.ts';
import { unmetGaps } from '../../../src/runtime/inspect/gaps-ahead.ts';
import {
  type GatheredDeployment,
  gatherDeployment,
} from '../../../src/runtime/inspect/plan-facts.ts';
import { recordedGaps } from '../../../src/runtime/takeover/gaps.ts';
import { openCatalog } from '../../../src/runtime/topics/catalog.ts';
import { lockFlows } from '../../../src/runtime/topics/locks.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';

const table = 'CREATE STREAMING TABLE t';
const flow = 'FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);';
const row = { k: 'x', seq: 1, v: 'old' };

async function gathered(world: RefreshWorld): Promise<GatheredDeployment> {
  const { log, pipeline, plan } = world;
  const catalog = await openCatalog(log, 'p.catalog');
  try {
    return await gatherDeployment({ log, catalog, pipeline, plan, nowMs: Date.now() });
  } finally {
    await catalog?.close();
  }
}

async function deployed(sql = `${table} ${flow}`): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.produce('a', 0, row);
  await world.update();
  return world;
}

const cases: readonly (readonly [string, () => Promise<RefreshWorld>])[] = [
  ['TOPIC_MISSING', () => Promise.resolve(new RefreshWorld(`${table} ${flow}`, [], 1))],
  [
    'DEFINITION_CHANGED',
    async () => {
      const world = await deployed();
      world.sql = world.sql.replace('USING (k)', 'USING (v)');
      return world;
    },
  ],
  [
    'TOPIC_CONFIG',
    async () => {
      const world = new RefreshWorld(`${table} ${flow}`, ['a'], 1);
      world.log.createTopic('t', 1);
      await world.produce('t', 0, row);
      return world;
    },
  ],
  [
    'TOPIC_PARTITIONS',
    async () => {
      const world = await deployed();
      world.log.addPartitions('t', 2);
      world.log.addPartitions('p.t.repartition', 3);
      return world;
    },
  ],
  [
    'OFFSET_OUT_OF_RANGE',
    async () => {
      const world = await deployed();
      await world.produce('a', 0, row, row);
      await world.log.deleteRecords('a', new Map([[0, 3]]));
      return world;
    },
  ],
  [
    'OFFSET_OUT_OF_RANGE',
    async () => {
      const world = await deployed();
      world.log.addPartitions('a', 2);
      await world.produce('a', 1, row, row);
      await world.log.deleteRecords('a', new Map([[1, 1]]));
      return world;
    },
  ],
  [
    'TOPIC_RECREATED',
    async () => {
      const world = await deployed();
      world.recreate('a');
      return world;
    },
  ],
  [
    'TABLE_LOCKED',
    async () => {
      const world = await deployed();
      const { catalog } = await world.outside();
      const lock = { flow: 't', command: 'test', token: 'test', untilMs: undefined };
      await lockFlows(catalog, [lock], Date.now());
      return world;
    },
  ],
];

describe('FR-11 plan tells what run refuses', () => {
  test.each(cases)('%s', async (code, makeWorld) => {
    const world = await makeWorld();
    const topics = await world.log.describeTopics(['p.catalog', 'p.t.repartition']);
    const { refusals, flows } = await gathered(world);
    expect(flows.map(({ name }) => name)).toEqual(['t']);
    // Nothing was created by looking.
    expect(await world.log.describeTopics(['p.catalog', 'p.t.repartition'])).toEqual(topics);
    const refused = (await world.update().catch((error: unknown) => error)) as FlowError;
    const shown = ({ message, detail, hint }: FlowError) => ({ code, message, detail, hint });
    expect(refusals.map((one) => one.code)).toContain(code);
    expect(refusals.map(shown)[0]).toEqual(shown(refused));
  });

  test('all of them are told, not the first alone', async () => {
    const world = await deployed();
    world.sql = `${table} ${flow.replace('(k)', '(v)')}
      CREATE STREAMING TABLE u ${flow.replaceAll('STREAM(a)', 'STREAM(b)')}`;
    expect((await gathered(world)).refusals.map(({ code }) => code)).toEqual([
      'TOPIC_MISSING',
      'DEFINITION_CHANGED',
    ]);
  });

  test('a topic that two sources read is missing once', async () => {
    const world = new RefreshWorld(
      `CREATE SOURCE x (k STRING) WITH (topic = 'gone'); CREATE SOURCE y (k STRING) WITH (topic = 'gone');
       CREATE SOURCE z (k STRING) WITH (topic = 'other');
       CREATE STREAMING TABLE t AS SELECT * FROM STREAM(x) UNION ALL SELECT * FROM STREAM(y) UNION ALL SELECT * FROM STREAM(z);`,
      [],
    );
    const [refusal] = (await gathered(world)).refusals;
    expect(refusal?.message).toBe('source topics "gone", "other" do not exist');
  });

  test('FL-29 of a sink no refresh is offered', async () => {
    const world = await deployed(
      "CREATE SINK out WITH (topic = 'out'); CREATE FLOW f AS INSERT INTO out BY NAME SELECT k, seq FROM STREAM(a);",
    );
    world.sql = world.sql.replace('SELECT k, seq', 'SELECT k');
    const found = await gathered(world);
    const hint = found.refusals[0]?.hint ?? '';
    expect(hint).toContain('tidemark checkpoint reset NEW_NAME --to latest --allow-loss');
    expect(hint).not.toContain('tidemark refresh');
    expect(`${deploymentPlan(found).flows[0]?.alternatives.join('; ')}.`).toBe(hint);
    // As the hint says: a flow of a new name, behind what was written.
    world.sql = world.sql.replace('FLOW f ', 'FLOW g ');
    expect((await gathered(world)).refusals).toEqual([]);
  });

  test('FL-16 a once flow that is done is told as such', async () => {
    const world = new RefreshWorld(
      `${table}; CREATE FLOW o AS INSERT INTO ONCE t BY NAME SELECT k, v FROM a;`,
      ['a'],
      1,
    );
    expect(deploymentPlan(await gathered(world)).flows[0]?.done).toBeUndefined();
    await world.produce('a', 0, row);
    await world.update();
    expect(deploymentPlan(await gathered(world)).flows[0]).toMatchObject({ flow: 'o', done: true });
  });

  test('where nothing is in the way there is none, before and after the first run', async () => {
    const world = new RefreshWorld(
      `${table} ${flow} CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM t;`,
      ['a'],
      1,
    );
    expect(await gathered(world)).toMatchObject({
      refusals: [],
      stops: [],
      views: [{ name: 'm' }],
      deployedViews: [],
    });
    await world.produce('a', 0, row);
    await world.update();
    expect(await gathered(world)).toMatchObject({
      refusals: [],
      deployedViews: [{ name: 'm' }],
    });
  });

  test('a flow that stopped when it ran last is told, and refuses nothing', async () => {
    const world = await deployed();
    world.log.produce('a', 0, { value: 'no JSON' });
    await expect(world.update()).rejects.toMatchObject({ code: 'BAD_ROW' });
    expect(await gathered(world)).toMatchObject({
      refusals: [],
      stops: [{ flow: 't', code: 'BAD_ROW' }],
    });
  });
});

test('FR-29 a gap that no run has met is told beside those that were, under the id that the next run gives it', async () => {
  const world = await deployed();
  await world.log.deleteRecords('a', new Map([[0, 1]]));
  await world.produce('a', 0, row, row);
  await world.log.deleteRecords('a', new Map([[0, 2]]));
  const unmet = async () => {
    const { log, catalog, pipeline, plan } = await world.outside();
    const found = await unmetGaps({ log, catalog, pipeline, plan });
    return { found, recorded: recordedGaps(catalog) };
  };
  const before = await unmet();
  expect(before).toMatchObject({ found: [{ id: 't/a/0@1', lostRecords: 1 }], recorded: [] });
  expect(gapsText([], before.found)).toMatch(
    /^t\/a\/0@1\n.* 1 records are gone\.\n {2}not met yet: /,
  );
  await expect(world.update()).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
  const after = await unmet();
  expect(after).toMatchObject({ found: [], recorded: [{ id: 't/a/0@1' }] });
  expect(gapsText(after.recorded, [])).toMatch(/^t\/a\/0@1\n.*\n {2}detected .*, not accepted\n$/);
  expect(gapsText([], [])).toBe(
    'no gaps: no flow has met records that were gone before it had read them\n',
  );
});

test('FL-21 a name that is used for another query is refused with both fingerprints, and nothing is read for it', async () => {
  const world = await deployed();
  world.log.createTopic('b', 1);
  await world.produce('b', 0, { k: 'y', seq: 9, v: 'foreign' });
  const told = async (sql: string): Promise<readonly string[]> => {
    world.sql = `${table} ${sql}`;
    const error = (await world.update().catch((thrown: unknown) => thrown)) as FlowError;
    expect(error.code).toBe('DEFINITION_CHANGED');
    const found =
      /The checkpoint has fingerprint ([0-9a-f]{12}), these files give ([0-9a-f]{12})\.$/;
    return found.exec(error.detail ?? '')?.slice(1) ?? [];
  };
  const [first, other] = await told(flow.replace('STREAM(a)', 'STREAM(b)'));
  const [again, third] = await told(flow.replace('(k)', '(v)'));
  expect(first).toBeDefined();
  expect(again).toBe(first);
  expect(new Set([first, other, third]).size).toBe(3);
  expect((await world.log.committedOffsets('p.t', 'b', [0])).size).toBe(0);
  expect((await world.table('t')).size).toBe(1);
});

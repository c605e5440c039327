import { describe, expect, test } from 'vitest';
import { readTable } from '../../../src/runtime/inspect/read-table.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { RefreshWorld, type SourceRow, tableText } from '../../support/refresh-world.ts';

function sqlOf(options = ''): string {
  return `CREATE STREAMING TABLE t ${options} FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);`;
}

const appendSql = `CREATE STREAMING TABLE t;
CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(a);`;

function row(k: string, seq: number, v = 'x'): SourceRow {
  return { k, seq, v, gone: false };
}

async function filled(sql = sqlOf()): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.produce('a', 0, row('K1', 5), row('K2', 5), row('K3', 5));
  await world.update();
  return world;
}

const allRows = ['K1', 'K2', 'K3'].map((k) => JSON.stringify({ k, seq: 5, v: 'x' }));

describe('an output topic that was lost', () => {
  test.each([
    ['REPLACE USING', sqlOf()],
    ['rows', sqlOf("WITH (output = 'rows')")],
    ['append', appendSql],
  ])('%s: deleted, or created anew, it is never taken for the table', async (_, sql) => {
    const world = await filled(sql);
    world.log.deleteTopic('t');
    await expect(world.update()).rejects.toMatchObject({
      code: 'TOPIC_MISSING',
      message: 'output topic "t" is gone',
      hint: expect.stringContaining('tidemark refresh t --in-place'),
    });
    expect((await world.log.describeTopics(['t'])).has('t')).toBe(false);
    world.log.createTopic('t', 1, { 'cleanup.policy': sql === appendSql ? 'delete' : 'compact' });
    await expect(world.update()).rejects.toMatchObject({ code: 'TOPIC_RECREATED' });
  });

  test.each(['deleted', 'created anew'])(
    '%s: the refresh that the error names brings it back',
    async (how) => {
      const world = await filled();
      world.log.deleteTopic('t');
      if (how === 'created anew') world.log.createTopic('t', 1, { 'cleanup.policy': 'compact' });
      await refreshInPlace(await world.runOptions('t'));
      await world.update();
      expect(tableText(await world.table('t'))).toEqual(allRows);
      await world.update();
    },
  );

  test('before the first checkpoint it is created once more', async () => {
    const world = await filled();
    await refreshInPlace(await world.runOptions('t'));
    world.log.deleteTopic('t');
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(allRows);
  });

  test('a materialized view is computed anew', async () => {
    const view = `${sqlOf()}\nCREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM t;`;
    const world = await filled(view);
    expect(world.log.readCommitted('m')).toHaveLength(1);
    world.log.deleteTopic('m');
    await world.update();
    expect(world.log.readCommitted('m')).toHaveLength(1);
  });
});

describe("somebody else's topic", () => {
  test.each([sqlOf(), appendSql])(
    'is not emptied by a refresh under another pipeline name: %s',
    async (sql) => {
      const world = await filled(sql);
      const before = world.log.readCommitted('t').length;
      world.pipeline = 'q';
      await expect(world.update()).rejects.toMatchObject({ code: 'TOPIC_CONFIG' });
      await expect(
        refreshInPlace(await world.runOptions('t', { allowLoss: true })),
      ).rejects.toMatchObject({
        code: 'TOPIC_CONFIG',
        message: 'topic "t" is written by pipeline "p"',
        hint: expect.stringContaining('Is "q" the right pipeline name?'),
      });
      expect(world.log.readCommitted('t')).toHaveLength(before);
      world.pipeline = 'p';
      await world.update();
    },
  );

  test.each([
    ['a table of another pipeline', 'victim'],
    ['the catalog', 'p.catalog'],
    ['what is between the stages', 'p.t.repartition'],
  ])('%s takes no dead letters', async (_, topic) => {
    const world = await filled(sqlOf("WITH (topic = 'victim')"));
    const records = world.log.readCommitted('victim').length;
    if (topic === 'victim') world.pipeline = 'q';
    const table = topic === 'victim' ? 'mine' : 'victim';
    world.sql = sqlOf(`WITH (topic = '${table}', dead_letter_topic = '${topic}')`);
    await expect(world.update()).rejects.toMatchObject({
      code: 'TOPIC_CONFIG',
      hint: expect.stringContaining('dead_letter_topic'),
    });
    expect(world.log.readCommitted('victim')).toHaveLength(records);
  });

  test.each(['p.catalog', 'p.t.repartition'])('%s is no output topic', async (topic) => {
    const world = new RefreshWorld(sqlOf(`WITH (topic = '${topic}')`), ['a'], 1);
    await expect(world.update()).rejects.toMatchObject({
      code: 'TOPIC_CONFIG',
      message: `rows of flow "t" can not go to topic "${topic}"`,
      hint: "Give them a topic of their own: WITH (topic = '…').",
    });
  });

  test('pipelines may share a topic of dead letters', async () => {
    const world = await filled(sqlOf("WITH (dead_letter_topic = 'letters')"));
    world.log.produce('a', 0, { value: 'no JSON' });
    await world.update();
    world.pipeline = 'q';
    world.sql = sqlOf("WITH (topic = 'mine', dead_letter_topic = 'letters')");
    await world.update();
    expect(world.log.readCommitted('letters')).toHaveLength(2);
  });

  test.each([
    { 'cleanup.policy': 'compact' },
    { 'cleanup.policy': 'compact,delete' },
    { 'cleanup.policy': 'delete', 'retention.ms': '60000' },
    { 'cleanup.policy': 'delete', 'retention.bytes': '1000' },
  ])('a topic that forgets dead letters is refused: %j', async (configs) => {
    const world = new RefreshWorld(sqlOf("WITH (dead_letter_topic = 'letters')"), ['a'], 1);
    world.log.createTopic('letters', 1, configs);
    await expect(world.update()).rejects.toMatchObject({
      code: 'TOPIC_CONFIG',
      hint: expect.stringContaining('--alter --topic letters'),
    });
  });
});

describe('records of somebody else in the output topic', () => {
  const foreign = [
    ['a tombstone', { key: '{"k":"K1"}', value: null }],
    ['a row', { key: '{"k":"K1"}', value: '[{"k":"K1","seq":1,"v":"?"}]' }],
  ] as const;

  test.each(foreign)('%s stops whoever reads the table', async (_, record) => {
    const world = await filled();
    world.log.produce('t', 0, record);
    const refusal = {
      code: 'RECORD_CORRUPT',
      detail: expect.stringContaining('Partition 0, offset '),
      hint: expect.stringMatching(/whose topic "t" is.*--in-place and --allow-loss/),
    };
    await expect(world.table('t')).rejects.toMatchObject(refusal);
    await world.produce('a', 0, row('K1', 4, 'older'));
    await expect(world.update()).rejects.toMatchObject(refusal);
  });

  test.each(foreign)('%s: the refresh that the error names gets rid of it', async (_, record) => {
    const world = await filled();
    world.log.produce('t', 0, record);
    await world.log.deleteRecords('a', new Map([[0, 1]]));
    await refreshInPlace(await world.runOptions('t', { allowLoss: true }));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(allRows.slice(1));
    world.state.flush();
    await world.produce('a', 0, row('K2', 4, 'late'), row('K3', 6, 'newer'));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual([
      allRows[1],
      JSON.stringify({ k: 'K3', seq: 6, v: 'newer' }),
    ]);
    await expect(world.preview('t')).resolves.toMatchObject({ report: { lost: { keys: 0 } } });
  });
});

describe('a catalog that would forget', () => {
  test.each(['delete', 'compact,delete'])('cleanup.policy=%s is refused', async (policy) => {
    const world = new RefreshWorld(sqlOf(), ['a'], 1);
    world.log.createTopic('p.catalog', 1, { 'cleanup.policy': policy });
    await expect(world.update()).rejects.toMatchObject({
      code: 'TOPIC_CONFIG',
      message: `catalog topic "p.catalog" has cleanup.policy=${policy}, and needs compact`,
      hint: expect.stringContaining('--alter --topic p.catalog'),
    });
  });

  test('more than one partition is refused', async () => {
    const world = new RefreshWorld(sqlOf(), ['a'], 1);
    world.log.createTopic('p.catalog', 2, { 'cleanup.policy': 'compact' });
    await expect(world.update()).rejects.toMatchObject({ code: 'TOPIC_PARTITIONS' });
  });
});

describe('a catalog that was lost', () => {
  test('is told as such, and the refresh that the error names brings the table back', async () => {
    const world = await filled();
    world.log.deleteTopic('p.catalog');
    await expect(world.update()).rejects.toMatchObject({
      code: 'DEFINITION_MISSING',
      hint: expect.stringContaining('--in-place'),
    });
    expect(tableText(await world.table('t'))).toEqual(allRows);
    await refreshInPlace(await world.runOptions('t'));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(allRows);
    await world.update();
  });
});

test('a pipeline without a flow is refused as such', async () => {
  const world = new RefreshWorld("CREATE SOURCE s (k INT) WITH (topic = 'a');", ['a'], 1);
  await expect(world.update()).rejects.toMatchObject({
    code: 'PIPELINE_INVALID',
    message: 'the pipeline has no flow and no materialized view',
  });
});

test('a record of somebody else in the topic of a materialized view: what the error names gets rid of it', async () => {
  const world = new RefreshWorld(
    `${sqlOf()} CREATE MATERIALIZED VIEW mv AS SELECT k, max(seq) AS top FROM t GROUP BY k;`,
    ['a'],
    1,
  );
  await world.produce('a', 0, row('K1', 1, 'x'), row('K2', 1, 'x'));
  await world.update();
  const whole = world.log.readCommitted('mv').length;
  expect(whole).toBe(2);
  world.log.produce('mv', 0, { key: '{"k":"K1"}', value: '[{"k":"K1","top":7}]' });
  const { log, plan } = world;
  const table = plan.tables.find(({ name }) => name === 'mv');
  if (table === undefined) throw new Error('no view');
  const read = async (): Promise<string[]> => {
    const rows: string[] = [];
    for await (const set of readTable({ log, table, flow: { sequenceType: { kind: 'bigint' } } }))
      rows.push(...set.rows.map(({ json }) => json));
    return rows.sort();
  };
  await expect(read()).rejects.toMatchObject({
    code: 'RECORD_CORRUPT',
    hint: expect.stringContaining('Of a materialized view delete the topic'),
  });
  world.log.deleteTopic('mv');
  await world.update();
  expect(await read()).toEqual(['{"k":"K1","top":1}', '{"k":"K2","top":1}']);
});

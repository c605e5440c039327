import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { previewText } from '../../../src/cli/refresh-text.ts';
import { flowLines, flowSummary } from '../../../src/cli/update-summary.ts';
import { decideMoves, type MoveTarget } from '../../../src/refresh/checkpoint-move.ts';
import { StatusReader } from '../../../src/runtime/inspect/pipeline-status.ts';
import { carryCheckpoint } from '../../../src/runtime/refresh/refresh-carry.ts';
import {
  applyMoves,
  type OutsideOptions,
  readCheckpoints,
  whileNobodyReads,
} from '../../../src/runtime/refresh/refresh-checkpoints.ts';
import { skipRecord } from '../../../src/runtime/refresh/refresh-skip.ts';
import { skippedOf, skipsOf } from '../../../src/runtime/takeover/skips.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import { lockFlows } from '../../../src/runtime/topics/locks.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

function sqlOf(flow: string, more = ''): string {
  return `CREATE STREAMING TABLE t;
CREATE FLOW ${flow} AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq ${more} SELECT k, seq, v, gone FROM STREAM(a);`;
}

async function outside(world: RefreshWorld): Promise<OutsideOptions & { waitMs: number }> {
  const catalog = new Catalog(world.log, 'p.catalog');
  await catalog.read();
  return {
    log: world.log,
    catalog,
    clock: systemClock,
    pipeline: 'p',
    plan: world.plan,
    listener: () => undefined,
    command: 'test',
    token: `test-${Math.random()}`,
    waitMs: 150,
  };
}

function flowOf(world: RefreshWorld) {
  const [flow] = world.plan.flows;
  if (flow === undefined) throw new Error('the pipeline has a flow');
  return flow;
}

async function move(world: RefreshWorld, target: MoveTarget): Promise<void> {
  const options = await outside(world);
  const flow = flowOf(world);
  await whileNobodyReads(options, [flow.name], async () => {
    const rows = await readCheckpoints(options, flow);
    await applyMoves(options, flow, decideMoves(rows, target), rows);
  });
}

const rows = ['x', 'y', 'z'].flatMap((k) => [1, 2, 2].map((seq) => ({ k, seq, v: `${k}${seq}` })));

describe('reset and rewind', () => {
  test.each(['', "WITH (output = 'rows')"])(
    'FR-39 everything is read again, and the table is the same %s',
    async (options) => {
      const sql = sqlOf('f').replace('TABLE t', `TABLE t ${options}`);
      const world = new RefreshWorld(sql, ['a']);
      await world.produce('a', 0, ...rows);
      await world.update();
      const before = tableText(await world.table('t'));
      await move(world, { to: 'earliest' });
      expect((await world.log.committedOffsets('p.f', 'a', [0])).get(0)?.offset).toBe(0);
      await world.update();
      expect(tableText(await world.table('t'))).toEqual(before);
      expect((await world.log.committedOffsets('p.f', 'a', [0])).get(0)?.offset).toBe(9);
    },
  );

  test('FR-23 FR-30 a reset answers a recreated topic and a lost checkpoint', async () => {
    const world = new RefreshWorld(sqlOf('f'), ['a']);
    await world.produce('a', 0, { k: 'x', seq: 1, v: 'old' });
    await world.update();
    world.recreate('a');
    await world.produce('a', 0, { k: 'x', seq: 2, v: 'new' });
    await expect(world.update()).rejects.toMatchObject({ code: 'TOPIC_RECREATED' });
    await move(world, { to: 'earliest' });
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(['{"k":"x","seq":2,"v":"new","gone":null}']);
    await world.log.deleteCheckpoints('p.f');
    await expect(world.update()).rejects.toMatchObject({ code: 'CHECKPOINT_MISSING' });
    await move(world, { to: 'latest' });
    const options = await outside(world);
    const found = await readCheckpoints(options, flowOf(world));
    expect(
      found.filter(({ stage }) => stage === 'source').map(({ committed }) => committed),
    ).toEqual([1, 0]);
  });

  test('P113 damaged metadata is repaired where it stands, and the table is exact', async () => {
    const world = new RefreshWorld(sqlOf('f'), ['a']);
    await world.produce('a', 0, ...rows);
    await world.update();
    await world.log.commitCheckpoint('p.f', [
      { topic: 'a', partition: 0, offset: 9, metadata: 'garbage' },
      { topic: 'p.f.repartition', partition: 0, offset: 0, metadata: 'garbage' },
    ]);
    await expect(world.update()).rejects.toMatchObject({ code: 'CHECKPOINT_DAMAGED' });
    const { end } = (await world.log.offsetRanges('p.f.repartition', [0])).get(0) ?? { end: 0 };
    await move(world, { to: 'offsets', offsets: new Map([['p.f.repartition/0', end]]) });
    await world.produce('a', 0, { k: 'x', seq: 3, v: 'new' });
    await world.update();
    expect(tableText(await world.table('t'))).toContain('{"k":"x","seq":3,"v":"new","gone":null}');
  });

  test.each([
    ['ahead', 3],
    ['back', 0],
  ] as const)(
    'P113 a checkpoint that another tool has set %s is refused, until it is taken as it is',
    async (_, offset) => {
      const world = new RefreshWorld(sqlOf('f'), ['a']);
      await world.produce('a', 0, ...rows);
      await world.update();
      await world.produce('a', 0, { k: 'n', seq: 1, v: 'unread' });
      const { end } = (await world.log.offsetRanges('a', [0])).get(0) ?? { end: 0 };
      const at = Math.min(offset, end);
      await world.log.commitCheckpoint('p.f', [
        { topic: 'a', partition: 0, offset: at, metadata: '' },
      ]);
      await expect(world.update()).rejects.toMatchObject({
        code: 'CHECKPOINT_DAMAGED',
        message: expect.stringContaining('something else than Tidemark'),
        hint: expect.stringContaining('checkpoint rewind f'),
      });
      await move(world, { to: 'offsets', offsets: new Map([['a/0', at]]) });
      await world.update();
      expect((await world.log.committedOffsets('p.f', 'a', [0])).get(0)?.offset).toBe(end);
    },
  );

  test('while a member reads nothing is set', async () => {
    const world = new RefreshWorld(sqlOf('f'), ['a']);
    await world.produce('a', 0, ...rows);
    await world.update();
    const member = world.log.joinGroup({
      group: 'p.f',
      topics: ['a'],
      instanceId: 'pod-1',
      sessionTimeoutMs: 1000,
      rebalanceTimeoutMs: 1000,
    });
    await member.rejoin();
    await expect(move(world, { to: 'earliest' })).rejects.toMatchObject({
      code: 'GROUP_BUSY',
      detail: expect.stringContaining('pod-1'),
    });
    await member.leave();
    await move(world, { to: 'earliest' });
  });

  test('an instance that starts while a command holds the flow stops with its name', async () => {
    const world = new RefreshWorld(sqlOf('f'), ['a']);
    await world.produce('a', 0, ...rows);
    await world.update();
    const { catalog } = await outside(world);
    const facts = { flow: 'f', command: 'tidemark refresh t', token: 'x', untilMs: undefined };
    await lockFlows(catalog, [facts], 0);
    await expect(world.update()).rejects.toMatchObject({
      code: 'TABLE_LOCKED',
      detail: expect.stringContaining('tidemark refresh t'),
    });
  });

  test('offsets that a dead instance left in an open transaction are settled first', async () => {
    const world = new RefreshWorld(sqlOf('f'), ['a']);
    await world.produce('a', 0, ...rows);
    await world.update();
    await leaveOpen(world, 'p.f');
    await move(world, { to: 'earliest' });
    expect((await world.log.committedOffsets('p.f', 'a', [0])).get(0)?.offset).toBe(0);
  });
});

/** An instance of the pipeline that is gone holds a checkpoint in a transaction which nobody has ended. */
async function leaveOpen(world: RefreshWorld, group: string): Promise<void> {
  const dead = world.log.connect();
  const member = dead.joinGroup({
    group,
    topics: ['a'],
    instanceId: undefined,
    sessionTimeoutMs: 50,
    rebalanceTimeoutMs: 50,
  });
  const { identity } = await member.rejoin();
  const producer = await world.log
    .connect({ betweenCommitSteps: () => new Promise(() => undefined) })
    .openProducer('p-dead');
  const offsets = [{ topic: 'a', partition: 0, offset: 3, metadata: '' }];
  void producer.commit([{ member: identity, offsets }]);
  await systemClock.sleep(5);
  const { catalog } = await outside(world);
  await catalog.write([{ kind: 'instance', name: 'p-dead', value: {} }], 0);
  dead.kill();
  await systemClock.sleep(80);
}

describe('FL-20 checkpoint carry', () => {
  test('what an instance of the former name left open over its sources is ended first', async () => {
    const world = new RefreshWorld(sqlOf('old'), ['a']);
    await world.produce('a', 0, ...rows);
    await world.update();
    await leaveOpen(world, 'p.old');
    world.sql = sqlOf('new');
    await carryCheckpoint(await outside(world), 'old', flowOf(world));
    expect((await world.log.committedOffsets('p.new', 'a', [0])).get(0)?.offset).toBe(rows.length);
  });

  test('a renamed flow goes on where the former one stood, with its levels', async () => {
    const world = new RefreshWorld(sqlOf('old', 'APPLY AS EMPTY WHEN (gone)'), ['a']);
    await world.produce('a', 0, { k: 'x', seq: 5, v: 'x' }, { k: 'y', seq: 5, v: 'y', gone: true });
    await world.update();
    world.sql = sqlOf('new', 'APPLY AS EMPTY WHEN (gone)');
    const moved = await carryCheckpoint(await outside(world), 'old', flowOf(world));
    expect(
      moved.filter(({ stage }) => stage === 'source').map(({ committed }) => committed),
    ).toEqual([2, 0]);
    expect((await world.log.committedOffsets('p.old', 'a', [0])).size).toBe(0);
    // What was read is not read again: a record that is gone is not missed.
    await world.log.deleteRecords('a', new Map([[0, 2]]));
    await world.produce('a', 0, { k: 'y', seq: 4, v: 'late' }, { k: 'x', seq: 6, v: 'x6' });
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(['{"k":"x","seq":6,"v":"x6","gone":null}']);
    const topics = await world.log.describeTopics(['p.old.repartition', 'p.old.levels']);
    expect([...topics.keys()]).toEqual([]);
  });

  test('one that was killed and is repeated tells all that was carried', async () => {
    const world = new RefreshWorld(sqlOf('old'), ['a']);
    await world.produce('a', 0, ...rows);
    await world.update();
    world.sql = sqlOf('new');
    // It dies where the former flow's topics would go.
    const dying = vi
      .spyOn(world.log, 'deleteTopics')
      .mockReturnValueOnce(new Promise<never>(() => undefined));
    carryCheckpoint(await outside(world), 'old', flowOf(world)).catch(() => undefined);
    await vi.waitFor(() => expect(dying).toHaveBeenCalled(), 5_000);
    dying.mockRestore();
    const moved = await carryCheckpoint(await outside(world), 'old', flowOf(world));
    const sources = moved.filter(({ stage }) => stage === 'source');
    expect(sources.map(({ committed }) => committed)).toEqual([rows.length, 0]);
  });

  test('FL-21 the former name starts from nothing', async () => {
    const world = new RefreshWorld(sqlOf('old'), ['a']);
    await world.produce('a', 0, ...rows);
    await world.update();
    const before = tableText(await world.table('t'));
    world.sql = sqlOf('new');
    await carryCheckpoint(await outside(world), 'old', flowOf(world));
    world.sql = sqlOf('old');
    const found = await readCheckpoints(await outside(world), flowOf(world));
    expect(found.every(({ committed }) => committed === undefined)).toBe(true);
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(before);
  });

  test('FL-21 an append flow of the former name appends nothing again, running or started anew', async () => {
    const appended = (name: string, more = ''): string =>
      `CREATE STREAMING TABLE t; CREATE FLOW ${name} AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(a);${more}`;
    const world = new RefreshWorld(appended('old'), ['a'], 1);
    await world.produce('a', 0, ...rows);
    const service = await world.service();
    service.ended.catch(() => undefined);
    await vi.waitFor(() => expect(world.log.readCommitted('t')).toHaveLength(rows.length), 5_000);
    world.sql = appended('new');
    const [flow] = world.plan.flows;
    if (flow === undefined) throw new Error('no flow');
    const patient = { ...(await outside(world)), waitMs: 20_000 };
    await carryCheckpoint(patient, 'old', flow);
    // The instance still runs the files with the former name.
    await expect(service.ended).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
    world.sql = appended('old');
    await expect(world.update()).rejects.toMatchObject({
      code: 'DEFINITION_CHANGED',
      hint: expect.stringContaining('tidemark checkpoint carry new old'),
    });
    world.sql = appended('new');
    await world.produce('a', 0, { k: 'n', seq: 9, v: 'n' });
    await world.update();
    expect(world.log.readCommitted('t')).toHaveLength(rows.length + 1);
    // Handed back it goes on, and where the files have both the former name is that of a new flow.
    world.sql = appended('old');
    const [back] = world.plan.flows;
    if (back === undefined) throw new Error('no flow');
    await carryCheckpoint(await outside(world), 'new', back);
    await world.update();
    expect(world.log.readCommitted('t')).toHaveLength(rows.length + 1);
    world.sql = appended(
      'old',
      ' CREATE FLOW new AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(a);',
    );
    await world.update();
    expect(world.log.readCommitted('t')).toHaveLength(2 * (rows.length + 1));
  });

  test('refused: another query, a flow that ran, a flow that is there, one that nobody knows', async () => {
    const world = new RefreshWorld(sqlOf('old'), ['a']);
    await world.produce('a', 0, ...rows);
    await world.update();
    const options = await outside(world);
    await expect(carryCheckpoint(options, 'old', flowOf(world))).rejects.toMatchObject({
      code: 'USAGE',
    });
    await expect(carryCheckpoint(options, 'nobody', flowOf(world))).rejects.toMatchObject({
      code: 'USAGE',
    });
    world.sql = sqlOf('new').replace('(k)', '(v)');
    await expect(carryCheckpoint(await outside(world), 'old', flowOf(world))).rejects.toMatchObject(
      { code: 'DEFINITION_CHANGED' },
    );
    world.sql = sqlOf('new');
    await world.update();
    await expect(carryCheckpoint(await outside(world), 'old', flowOf(world))).rejects.toMatchObject(
      { code: 'USAGE', message: expect.stringContaining('has run already') },
    );
  });
});

describe('P125 checkpoint skip', () => {
  test('the flow goes on behind a record that it can not read, whose bytes are kept', async () => {
    const world = new RefreshWorld(sqlOf('f'), ['a']);
    await world.produce('a', 0, { k: 'x', seq: 1, v: 'x1' });
    const bad = `{"k":"x","seq":"nonsense","pad":"${'p'.repeat(1_000_000)}"}`;
    world.log.produce('a', 0, { key: 'bytes', value: bad });
    await world.produce('a', 0, { k: 'x', seq: 3, v: 'x3' });
    const failure = await world.update().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'BAD_ROW',
      hint: expect.stringContaining('tidemark checkpoint skip f a/0@1'),
    });
    // A slip of the offset names a record that nothing is wrong with.
    const slip = { topic: 'a', partition: 0, offset: 2 };
    await expect(skipRecord(await outside(world), flowOf(world), slip)).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
      detail: 'It stopped at a/0@1.',
      hint: expect.stringContaining('--allow-loss'),
    });
    await skipRecord(await outside(world), flowOf(world), { topic: 'a', partition: 0, offset: 1 });
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(['{"k":"x","seq":3,"v":"x3","gone":null}']);
    const { catalog, log, plan, pipeline } = await outside(world);
    // It is no dead letter: nothing of it is in a dead-letter topic.
    const reader = new StatusReader(plan, pipeline, log, Date.now);
    const [status] = await reader.read();
    await reader.close();
    const counters = status?.topics[0]?.partitions[0]?.counters;
    expect(counters).toMatchObject({ records: 3, decoded: 2, deadLettered: 1, skipped: 1 });
    expect(flowLines(flowSummary('f', counters === undefined ? [] : [counters]))).toContain(
      '3 records (0 tombstones, 0 dead letters, 1 skipped)',
    );
    const [skip] = skipsOf(catalog, 'f');
    expect(Buffer.from(skip?.value ?? '', 'base64').toString()).toBe(bad);
    expect(Buffer.from(skip?.key ?? '', 'base64').toString()).toBe('bytes');
    // A plan of a refresh names it, which reads it no more than before.
    const preview = await world.preview('t');
    const place = { flow: 'f', topic: 'a', partition: 0, offset: 1 };
    expect(preview.report.skipped).toEqual([place]);
    expect(previewText(preview, await world.facts('t'), plan)).toContain(
      'steps over 1 record that somebody had it skip, so that what they would give is left out: a/0@1',
    );
    // Of a topic that was created anew it names none.
    expect(skippedOf(catalog, 'f', [{ topic: 'a', topicId: '0'.repeat(32) }])).toEqual([]);
    // Read again, it is stepped over again.
    await move(world, { to: 'earliest' });
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(['{"k":"x","seq":3,"v":"x3","gone":null}']);
  });

  test('a record that the flow did not stop at goes only where that loss is accepted', async () => {
    const world = new RefreshWorld(sqlOf('f'), ['a']);
    await world.update();
    await world.produce('a', 0, { k: 'x', seq: 1, v: 'x1' });
    const place = { topic: 'a', partition: 0, offset: 0 };
    await expect(skipRecord(await outside(world), flowOf(world), place)).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
      detail: 'It is not known to have stopped at any record.',
    });
    const options = { ...(await outside(world)), allowLoss: true };
    await skipRecord(options, flowOf(world), place);
    await world.update();
    expect(tableText(await world.table('t'))).toEqual([]);
  });

  test('refused: behind the checkpoint, where nothing is, what is not read', async () => {
    const world = new RefreshWorld(sqlOf('f'), ['a']);
    await world.produce('a', 0, { k: 'x', seq: 1, v: 'x1' });
    await world.update();
    const at = async (topic: string, partition: number, offset: number) =>
      skipRecord({ ...(await outside(world)), allowLoss: true }, flowOf(world), {
        topic,
        partition,
        offset,
      });
    await expect(at('a', 0, 0)).rejects.toMatchObject({
      message: expect.stringContaining('passed'),
    });
    await expect(at('a', 0, 1)).rejects.toMatchObject({
      message: expect.stringContaining('no record'),
    });
    await expect(at('b', 0, 0)).rejects.toMatchObject({
      message: expect.stringContaining('does not read'),
    });
  });
});

import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { previewText } from '../../../src/cli/refresh-text.ts';
import { flowLines, flowSummary } from '../../../src/cli/update-summary.ts';
import { decideMoves, type MoveTarget } from '../../../src/refresh/checkpoint-move.ts';
import { StatusReader } from '../../../src/runtime/inspect/pipeline-status.ts';
import {
  applyMoves,
  readCheckpoints,
  whileNobodyReads,
} from '../../../src/runtime/refresh/refresh-checkpoints.ts';
import { skipRecord } from '../../../src/runtime/refresh/refresh-skip.ts';
import { skippedOf, skipsOf } from '../../../src/runtime/takeover/skips.ts';
import { lockFlows } from '../../../src/runtime/topics/locks.ts';
import { flowOf, leaveOpen, outside } from '../../support/outside.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

function sqlOf(flow: string, more = ''): string {
  return `CREATE STREAMING TABLE t;
CREATE FLOW ${flow} AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq ${more} SELECT k, seq, v, gone FROM STREAM(a);`;
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
    const reader = new StatusReader(plan, pipeline, log, systemClock);
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

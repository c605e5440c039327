import { describe, expect, test, vi } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { FlowError } from '../../../src/base/errors.ts';
import { carryCheckpoint } from '../../../src/runtime/refresh/refresh-carry.ts';
import { readCheckpoints } from '../../../src/runtime/refresh/refresh-checkpoints.ts';
import { lockedError, lockFlows, markBegun } from '../../../src/runtime/topics/locks.ts';
import { flowOf, leaveOpen, outside } from '../../support/outside.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

function sqlOf(flow: string, more = ''): string {
  return `CREATE STREAMING TABLE t;
CREATE FLOW ${flow} AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq ${more} SELECT k, seq, v, gone FROM STREAM(a);`;
}

const rows = ['x', 'y', 'z'].flatMap((k) => [1, 2, 2].map((seq) => ({ k, seq, v: `${k}${seq}` })));

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

  test.each([
    ['commitCheckpoint', false],
    ['commitCheckpoint', true],
    ['deleteCheckpoints', false],
    ['deleteCheckpoints', true],
    ['deleteTopics', false],
    ['deleteTopics', true],
  ] as const)(
    'one that failed at %s (done nevertheless: %s) is gone on with by the next, and by nothing else',
    async (step, isDone) => {
      const world = new RefreshWorld(sqlOf('old', 'APPLY AS EMPTY WHEN (gone)'), ['a']);
      await world.produce('a', 0, ...rows);
      await world.update();
      world.sql = sqlOf('new', 'APPLY AS EMPTY WHEN (gone)');
      const broken = vi.spyOn(world.log, step);
      const original = MemoryLog.prototype[step] as (...given: unknown[]) => Promise<void>;
      broken.mockImplementationOnce(async (...given: unknown[]) => {
        if (isDone) await original.apply(world.log, given);
        throw new FlowError('BROKER_UNAVAILABLE', 'the broker is gone');
      });
      const carrying = async () => carryCheckpoint(await outside(world), 'old', flowOf(world));
      await expect(carrying()).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE' });
      broken.mockRestore();
      const held = (await outside(world)).catalog;
      for (const flow of ['old', 'new']) {
        expect(lockedError(held, flow, 0)).toMatchObject({ code: 'TABLE_LOCKED' });
      }
      // An attempt that is refused before it comes to anything gives nothing up.
      const member = world.log.connect().joinGroup({
        group: 'p.new',
        topics: ['a'],
        instanceId: 'pod-1',
        sessionTimeoutMs: 30_000,
        rebalanceTimeoutMs: 30_000,
      });
      await member.rejoin();
      await expect(carrying()).rejects.toMatchObject({ code: 'GROUP_BUSY' });
      await member.leave();
      const sources = (await carrying()).filter(({ stage }) => stage === 'source');
      expect(sources.map(({ committed }) => committed)).toEqual([rows.length, 0]);
      const { catalog } = await outside(world);
      expect(catalog.all('lock')).toEqual([]);
      expect(catalog.get('flow', 'old')).toBeUndefined();
      const marks = catalog.all('checkpoint').map(({ name }) => name);
      expect(marks.filter((name) => name.startsWith('old/'))).toEqual([]);
      expect(marks).toContain('new/a/0');
      await world.log.deleteRecords('a', new Map([[0, rows.length]]));
      await world.produce('a', 0, { k: 'n', seq: 9, v: 'n' });
      await world.update();
      expect(tableText(await world.table('t')).join()).toContain('"k":"n"');
    },
  );

  test('one that was killed before it let its locks go is ended by the next', async () => {
    const world = new RefreshWorld(sqlOf('old'), ['a']);
    await world.produce('a', 0, ...rows);
    await world.update();
    world.sql = sqlOf('new');
    await carryCheckpoint(await outside(world), 'old', flowOf(world));
    const { catalog } = await outside(world);
    const locks = ['old', 'new'].map((flow) => ({
      flow,
      command: 'tidemark checkpoint carry old new',
      token: 'carry old new',
      untilMs: undefined,
    }));
    await lockFlows(catalog, locks, 0);
    await markBegun(catalog, locks, 0);
    const moved = await carryCheckpoint(await outside(world), 'old', flowOf(world));
    expect(moved.find(({ stage }) => stage === 'source')?.committed).toBe(rows.length);
    await world.update();
  });

  test('one that was refused before it began holds nothing', async () => {
    const world = new RefreshWorld(sqlOf('old'), ['a']);
    await world.produce('a', 0, ...rows);
    await world.update();
    world.sql = sqlOf('new');
    await world.log.commitCheckpoint('p.new', [
      { topic: 'a', partition: 0, offset: 1, metadata: '' },
    ]);
    await expect(carryCheckpoint(await outside(world), 'old', flowOf(world))).rejects.toMatchObject(
      { code: 'USAGE' },
    );
    expect((await outside(world)).catalog.all('lock')).toEqual([]);
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

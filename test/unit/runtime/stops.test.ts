import { expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { FlowError } from '../../../src/base/errors.ts';
import { type FlowStatus, StatusReader } from '../../../src/runtime/inspect/pipeline-status.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { skipRecord } from '../../../src/runtime/refresh/refresh-skip.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import { clearStop, recordStop, type Stop, stopOf } from '../../../src/runtime/worker/stops.ts';
import { RefreshWorld, type SourceRow } from '../../support/refresh-world.ts';

const sql = `CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
  SELECT k, seq, CAST(v AS INT) AS v FROM STREAM(a);`;
const view = 'CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM a;';

function row(k: string, v: string): SourceRow {
  return { k, seq: 1, v };
}

async function status(world: RefreshWorld): Promise<FlowStatus | undefined> {
  const reader = new StatusReader(world.plan, 'p', world.log, systemClock);
  try {
    return (await reader.read())[0];
  } finally {
    await reader.close();
  }
}

/** What the catalog has, whether or not it is over. */
async function kept(world: RefreshWorld, name = 't'): Promise<Stop | undefined> {
  return stopOf((await world.outside()).catalog, name);
}

async function stopped(): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.produce('a', 0, row('R1', '1'), row('R2', 'secret'), row('R3', '3'));
  await expect(world.update()).rejects.toMatchObject({ code: 'BAD_ROW' });
  return world;
}

test('OP-01 a flow that stopped at a record tells why from the log alone, without its content', async () => {
  const world = await stopped();
  const stop = (await status(world))?.stop;
  expect(stop).toMatchObject({
    code: 'BAD_ROW',
    message: 'flow "t" stopped at a bad row',
    detail: expect.stringContaining('topic "a", partition 0, offset 1'),
    hint: expect.stringContaining('checkpoint skip t a/0@1'),
    place: { topic: 'a', partition: 0, offset: 1 },
    instance: '0',
  });
  expect(JSON.stringify(stop)).not.toContain('secret');
});

test('the hint of a record that can not be decoded names no filter: it never comes to the query', async () => {
  const hints: string[] = [];
  for (const value of ['{"k":', '{"k":"R1","seq":1,"v":"x"}']) {
    const world = new RefreshWorld(sql, ['a'], 1);
    world.log.produce('a', 0, { value });
    await expect(world.update()).rejects.toMatchObject({ code: 'BAD_ROW' });
    hints.push((await status(world))?.stop?.hint ?? '');
  }
  expect(hints.map((hint) => hint.includes('filter it in the query'))).toEqual([false, true]);
});

test('it still stands after another attempt, and goes on when the record was stepped over', async () => {
  const world = await stopped();
  await expect(world.update()).rejects.toMatchObject({ code: 'BAD_ROW' });
  expect((await status(world))?.stop).toMatchObject({ code: 'BAD_ROW' });
  const outside = await world.outside();
  const [flow] = world.plan.flows;
  if (flow === undefined) throw new Error('no flow');
  await skipRecord(outside, flow, { topic: 'a', partition: 0, offset: 1 });
  await world.update();
  expect((await status(world))?.stop).toBeUndefined();
  expect(await kept(world)).toBeUndefined();
});

test('a checkpoint beyond the record is as good as a word that it is over', async () => {
  const world = await stopped();
  const offsets = [{ topic: 'a', partition: 0, offset: 2, metadata: '' }];
  await world.log.commitCheckpoint('p.t', offsets);
  expect(await kept(world)).toBeDefined();
  expect((await status(world))?.stop).toBeUndefined();
});

test('FR-29 a gap is told until it is accepted, though no record comes', async () => {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.produce('a', 0, row('R1', '1'), row('R2', '2'));
  await world.update();
  await world.produce('a', 0, row('R3', '3'), row('R4', '4'));
  await world.log.deleteRecords('a', new Map([[0, 4]]));
  await expect(world.update()).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
  expect((await status(world))?.stop).toMatchObject({
    code: 'OFFSET_OUT_OF_RANGE',
    hint: expect.stringContaining('--accept-gap'),
    place: { topic: 'a', partition: 0, offset: 2 },
  });
  await world.update({ acceptsGaps: true });
  expect(await kept(world)).toBeUndefined();
});

test('FR-01 a refresh has the former generation forgotten, and why it stood', async () => {
  const world = await stopped();
  world.sql = sql.replace('CAST(v AS INT)', 'v');
  await refreshInPlace(await world.runOptions('t'));
  expect(await kept(world)).toBeUndefined();
});

test('a materialized view that can not be computed tells why, until it is', async () => {
  const world = new RefreshWorld(view, ['a'], 1);
  world.log.produce('a', 0, { value: 'no JSON' });
  await expect(world.update()).rejects.toMatchObject({ code: 'BAD_ROW' });
  expect(await kept(world, 'm')).toMatchObject({
    code: 'BAD_ROW',
    place: { topic: 'a', partition: 0, offset: 0 },
  });
  await world.log.deleteRecords('a', new Map([[0, 1]]));
  await world.update();
  expect(await kept(world, 'm')).toBeUndefined();
});

const place = { topic: 'a', partition: 0, offset: 7 };
const nowhere = { move: 'committed', offsetOf: () => undefined } as const;
const takenOver = { move: 'taken_over', gained: () => true } as const;
const cases = [
  ['BAD_ROW', place, takenOver, false],
  ['BAD_ROW', place, nowhere, false],
  ['BAD_ROW', place, { move: 'committed', offsetOf: () => 7 }, false],
  ['BAD_ROW', place, { move: 'committed', offsetOf: () => 8 }, true],
  ['TOPIC_RECREATED', place, { move: 'taken_over', gained: () => false }, false],
  ['TOPIC_RECREATED', place, takenOver, true],
  ['TOPIC_RECREATED', place, nowhere, false],
  ['TOPIC_RECREATED', place, { move: 'committed', offsetOf: () => 1 }, true],
  ['TOPIC_MISSING', undefined, takenOver, true],
  ['DEFINITION_CHANGED', undefined, takenOver, true],
  ['RECORD_TOO_LARGE', undefined, takenOver, false],
  ['RECORD_TOO_LARGE', undefined, nowhere, true],
] as const;

test.each(cases)('%s at %o is over after %o: %s', async (code, at, move, isOver) => {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.log.createTopics([
    { name: 'p.catalog', partitions: 1, replicationFactor: -1, configs: {} },
  ]);
  const catalog = new Catalog(world.log, 'p.catalog');
  const writer = { catalog, clock: systemClock, instance: '0' };
  await recordStop(writer, 't', new FlowError(code, 'it stopped', { place: at }));
  await clearStop(writer, 't', move);
  expect(stopOf(catalog, 't') === undefined).toBe(isOver);
});

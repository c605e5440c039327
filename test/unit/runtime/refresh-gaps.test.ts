import { expect, test } from 'vitest';
import { gapsText } from '../../../src/cli/gaps.ts';
import { unreadLines } from '../../../src/cli/refresh-text.ts';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { recordedGaps } from '../../../src/runtime/takeover/gaps.ts';
import { openCatalog } from '../../../src/runtime/topics/catalog.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

const sql =
  'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);';

/** The flow stands at offset 2, and the log starts at 4. */
async function gappedWorld(): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql, ['a'], 1);
  const rows = ['R0', 'R1', 'R2', 'R3', 'R4'].map((k) => ({ k, seq: 1, v: 'x' }));
  await world.produce('a', 0, ...rows.slice(0, 2));
  await world.update();
  await world.produce('a', 0, ...rows.slice(2));
  await world.log.deleteRecords('a', new Map([[0, 4]]));
  await expect(world.update()).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
  return world;
}

test.each(['beside', 'in place'])(
  'FR-29 a refresh %s answers the gap at which its flow stood, and what was never read stays on record',
  async (mode) => {
    const world = await gappedWorld();
    const { report } = await world.preview('t');
    expect(report.unread).toEqual([{ topic: 'a', partition: 0, first: 2, last: 3 }]);
    expect(unreadLines(report.unread).join()).toContain('a/0 offsets 2 to 3');
    if (mode === 'beside') {
      await refreshBeside(await world.besideOptions('t', { keepUnrecoverable: true }));
    } else {
      await refreshInPlace(await world.runOptions('t', { keepUnrecoverable: true }));
      await world.update();
    }
    await world.update();
    const keys = tableText(await world.table('t')).map((text) => text.slice(6, 8));
    expect(keys).toEqual(['R0', 'R1', 'R4']);
    const catalog = await openCatalog(world.log, 'p.catalog');
    const gaps = catalog === undefined ? [] : recordedGaps(catalog);
    await catalog?.close();
    expect(gaps).toMatchObject([
      { kind: 'expired', from: 2, to: 4, lostRecords: 2, refreshedAtMs: expect.any(Number) },
    ]);
    expect(gaps[0]?.acceptedAtMs).toBeUndefined();
    expect(gapsText(gaps, [])).toContain('by a full refresh, which began anew');
    expect((await world.preview('t')).report.unread).toEqual([]);
  },
);

test('FR-29 a gap of another flow is not answered by it', async () => {
  const world = await gappedWorld();
  world.sql = `${sql} CREATE STREAMING TABLE u FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(b);`;
  world.log.createTopic('b', 1);
  await expect(world.update()).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
  await refreshBeside(await world.besideOptions('u'));
  const catalog = await openCatalog(world.log, 'p.catalog');
  const gaps = catalog === undefined ? [] : recordedGaps(catalog);
  await catalog?.close();
  expect(gaps).toHaveLength(1);
  expect(gaps[0]?.refreshedAtMs).toBeUndefined();
});

test('FR-29 a flow that writes a sink is told to go on: a sink is not refreshed', async () => {
  const world = new RefreshWorld(
    `CREATE SINK out WITH (topic = 'out'); CREATE FLOW f AS INSERT INTO out BY NAME SELECT k, seq, v FROM STREAM(a);`,
    ['a', 'out'],
    1,
  );
  await world.produce('a', 0, { k: 'R0', seq: 1, v: 'x' });
  await world.update();
  await world.produce('a', 0, { k: 'R1', seq: 1, v: 'x' });
  await world.log.deleteRecords('a', new Map([[0, 2]]));
  const stop = world.update();
  await expect(stop).rejects.toMatchObject({
    code: 'OFFSET_OUT_OF_RANGE',
    hint: expect.stringContaining('A sink is not refreshed; go on'),
  });
});

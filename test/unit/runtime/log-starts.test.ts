import { describe, expect, test } from 'vitest';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { RefreshWorld, type SourceRow, tableText } from '../../support/refresh-world.ts';

const sql = `CREATE STREAMING TABLE t WITH (dead_letter_topic = 't.dlq') FLOW REPLACE USING (k) SEQUENCE BY seq
  APPLY AS EMPTY WHEN (gone) BY NAME SELECT k, seq, v, gone FROM STREAM(a);`;

function row(k: string, seq: number, gone = false): SourceRow {
  return { k, seq, v: k, gone };
}

/** Four keys of which one is empty, in one partition. */
async function filled(): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.produce('a', 0, row('R1', 1), row('R2', 1), row('R3', 1), row('R4', 1, true));
  await world.update();
  return world;
}

describe('a table whose log start was moved', () => {
  const topics = [
    ['t', 2],
    ['p.t.levels', 1],
  ] as const;

  for (const [topic, start] of topics) {
    test(`FR-30 ${topic}: the flow stops, with its state and without`, async () => {
      const world = await filled();
      await world.log.deleteRecords(topic, new Map([[0, start]]));
      await world.produce('a', 0, row('R1', 2));
      const refused = {
        code: 'OFFSET_OUT_OF_RANGE',
        message: expect.stringContaining(`topic "${topic}" has lost its first records`),
        detail: expect.stringContaining(`starts at offset ${start}, and it started at 0`),
        hint: expect.stringContaining('tidemark refresh t --in-place'),
      };
      await expect(world.update()).rejects.toMatchObject(refused);
      world.state.flush();
      await expect(world.update()).rejects.toMatchObject(refused);
    });
  }

  test.each(['beside', 'in place'])('FR-30 a refresh %s takes it as it is', async (mode) => {
    const world = await filled();
    const rows = tableText(await world.table('t'));
    await world.log.deleteRecords('t', new Map([[0, 2]]));
    await expect(world.update()).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
    if (mode === 'beside') await refreshBeside(await world.besideOptions('t'));
    else await refreshInPlace(await world.runOptions('t'));
    await world.update();
    world.state.flush();
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(rows);
    // What goes after it is missed again.
    await world.log.deleteRecords('t', new Map([[0, 3]]));
    await expect(world.update()).rejects.toMatchObject({
      detail: expect.stringContaining('starts at offset 3, and it started at 2'),
    });
  });

  test('a topic that was there, and emptied, before the table may start where it likes', async () => {
    const world = new RefreshWorld(sql, ['a'], 1);
    world.log.createTopic('t', 1, { 'cleanup.policy': 'compact' });
    for (let count = 0; count < 3; count += 1) world.log.produce('t', 0, { value: 'old' });
    await world.log.deleteRecords('t', new Map([[0, 3]]));
    await world.produce('a', 0, row('R1', 1));
    await world.update();
    await world.produce('a', 0, row('R1', 2));
    await world.update();
    expect(tableText(await world.table('t'))).toHaveLength(1);
  });
});

import { expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { type FlowStatus, StatusReader } from '../../../src/runtime/inspect/pipeline-status.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

const sql =
  'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);';

async function statusOf(world: RefreshWorld): Promise<FlowStatus | undefined> {
  const log = world.log.connect();
  const reader = new StatusReader(world.plan, 'p', log, systemClock);
  try {
    return (await reader.read())[0];
  } finally {
    await reader.close();
    await log.close();
  }
}

const rows = [
  { k: 'K1', seq: 1, v: 'x' },
  { k: 'K2', seq: 1, v: 'x' },
  { k: 'K3', seq: 1, v: 'x' },
];

test('FL-19 stages whose account was lost with a topic are not compared, until a refresh begins both anew', async () => {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.produce('a', 0, ...rows);
  await world.update();
  expect(await statusOf(world)).toMatchObject({ betweenStages: 0, lostAccounts: [] });
  world.recreate('a');
  // Before the flow has run into it, too.
  expect(await statusOf(world)).toMatchObject({ betweenStages: undefined, lostAccounts: ['a/0'] });
  await world.produce('a', 0, ...rows.map((row) => ({ ...row, seq: 2 })));
  await expect(world.update()).rejects.toMatchObject({
    code: 'TOPIC_RECREATED',
    detail: expect.stringContaining('the group has no checkpoint of it any more'),
  });
  await world.update({ acceptsGaps: true });
  expect(tableText(await world.table('t'))).toHaveLength(3);
  expect(await statusOf(world)).toMatchObject({ betweenStages: undefined, lostAccounts: ['a/0'] });
  await refreshInPlace(await world.runOptions('t'));
  await world.update();
  expect(await statusOf(world)).toMatchObject({ betweenStages: 0, lostAccounts: [] });
});

test('a gap that leaves the checkpoint where it is leaves the account comparable', async () => {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.produce('a', 0, ...rows);
  await world.update();
  await world.produce('a', 0, ...rows);
  await world.log.deleteRecords('a', new Map([[0, 5]]));
  await world.update({ acceptsGaps: true });
  expect(await statusOf(world)).toMatchObject({ betweenStages: 0, lostAccounts: [] });
});

import { expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import type { MemoryStateStore } from '../../../src/adapters/memory/memory-state-store.ts';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import type { StateStore } from '../../../src/ports/state-store.ts';
import { pastFormerEpochs } from '../../../src/runtime/takeover/past-former-epochs.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';

const sql =
  'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);';
const task = { pipeline: 'p', flow: 't', generation: 0, partition: 0 };

/** A pipeline that ran often, so that its state stands under a high epoch. */
async function formerState(): Promise<MemoryStateStore> {
  const world = new RefreshWorld(sql, ['a'], 1);
  for (let round = 1; round <= 5; round += 1) {
    await world.produce('a', 0, { k: 'k1', seq: round, v: 'old' });
    await world.update();
  }
  return world.state;
}

test('P099 a pipeline begins anew on other topics, and the state of before is still there: it is taken over', async () => {
  const log = new MemoryLog({ clock: systemClock });
  // Ids of topics are of one log here; those of before are others everywhere else.
  for (let other = 0; other < 10; other += 1) log.createTopic(`other-${other}`, 1);
  const world = new RefreshWorld(sql, ['a'], 1, log);
  world.state = await formerState();
  await world.produce('a', 0, { k: 'k1', seq: 2, v: 'new' });
  await world.update();
  await world.produce('a', 0, { k: 'k1', seq: 1, v: 'late' }, { k: 'k2', seq: 1, v: 'two' });
  await world.update();
  const values = world.log.readCommitted('t').map(({ value }) => `${value}`);
  expect(values).toHaveLength(2);
  expect(values[0]).toContain('"v":"new"');
  expect(values[1]).toContain('"v":"two"');
});

test('P099 an epoch that the catalog may have given stays the owner', async () => {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.produce('a', 0, { k: 'k1', seq: 1, v: 'x' });
  await world.update();
  const store: StateStore = world.state;
  const { catalog } = await world.outside();
  const { end } = world.log.rangeNow(catalog.topic, 0);
  const known = { log: world.log, catalog };
  await store.open(task, end);
  const refused = { code: 'TASK_MIGRATED', standingEpoch: end };
  const used: number[] = [];
  const use = (epoch: number) => {
    used.push(epoch);
    return store.open(task, epoch);
  };
  await expect(pastFormerEpochs(known, end - 1, use)).rejects.toMatchObject(refused);
  await store.open(task, end + 7);
  await pastFormerEpochs(known, end - 1, use);
  expect(used).toEqual([end - 1, end - 1, end + 8]);
});

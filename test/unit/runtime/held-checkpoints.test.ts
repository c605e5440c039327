import { expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { flowReport, reportText } from '../../../src/cli/status.ts';
import { StatusReader } from '../../../src/runtime/inspect/pipeline-status.ts';
import { readViewStatus } from '../../../src/runtime/views/view-status.ts';
import { leaveOpen } from '../../support/outside.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';

const sql = `CREATE STREAMING TABLE t;
CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, v FROM STREAM(a);
CREATE STREAMING TABLE u FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(b);
CREATE MATERIALIZED VIEW sums AS SELECT count(*) AS n FROM u;`;

test('status answers with what is known where a dead instance holds checkpoints of a flow, and says what is held', async () => {
  const world = new RefreshWorld(sql, ['a', 'b']);
  await world.produce('a', 0, { k: 'x', seq: 1, v: 'x' });
  await world.produce('b', 0, { k: 'x', seq: 1, v: 'x' });
  await world.update();
  await leaveOpen(world, 'p.f');
  const { plan, log, pipeline } = world;
  const reader = new StatusReader(plan, pipeline, log, systemClock);
  const flows = (await reader.read()).map((one) => flowReport(one, true));
  expect(flows).toMatchObject([
    { flow: 'f', heldCheckpoints: ['a'], difference: null, lostAccounts: [] },
    { flow: 'u', heldCheckpoints: [], lag: 0, difference: 0, account: { records: 1 } },
  ]);
  const [held] = flows[0]?.partitions ?? [];
  expect(held).toMatchObject({ topic: 'a', committed: null, lag: null, logStart: 0, end: 1 });
  expect(flows[0]?.account).toBeUndefined();
  const report = { pipeline, lag: 0, flows, views: [], tables: [], refreshes: [] };
  const text = reportText(report);
  expect(text).toContain('CHECKPOINT HELD for a: a transaction is open that may move it');
  expect(text).toContain('total lag 0, without that of held checkpoints');
  expect(text).not.toContain('nothing is committed yet');
  // Once a start has ended it, everything is known again.
  await world.update();
  const [after] = await reader.read();
  expect(after?.topics.map(({ isHeld }) => isHeld)).toEqual([false, false]);
  expect(after?.topics[0]?.partitions[0]?.committed).toBe(1);
  await reader.close();
});

test('a view whose checkpoint is held is told as such', async () => {
  const world = new RefreshWorld(sql, ['a', 'b']);
  await world.produce('b', 0, { k: 'x', seq: 1, v: 'x' });
  await world.update();
  const options = { log: world.log, plan: world.plan, pipeline: 'p', clock: systemClock };
  expect(await readViewStatus(options)).toMatchObject([{ view: 'sums', last: { run: 1 } }]);
  await leaveOpen(world, 'p.sums', 'p.catalog');
  expect(await readViewStatus(options)).toMatchObject([{ state: 'held', last: undefined }]);
});

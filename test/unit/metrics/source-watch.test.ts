import { afterEach, expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { FlowError } from '../../../src/base/errors.ts';
import { LastToStop } from '../../../src/cli/last-to-stop.ts';
import { SourceWatch } from '../../../src/cli/source-watch.ts';
import type { WorkerProgress } from '../../../src/runtime/worker/worker-progress.ts';
import { openTransaction } from '../../support/open-transaction.ts';
import { WatchedService } from '../../support/watched-service.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A flow whose checkpoints the test sets; the log is a real one, in memory. */
async function world(configs: Readonly<Record<string, string>> = {}) {
  const memory = new MemoryLog({ clock: systemClock });
  memory.createTopic('orders', 1, configs);
  const service = new WatchedService({ memory });
  await service.start();
  const facts = service.running?.worker.facts ?? [];
  await service.stop();
  const log = memory.connect();
  const at: { committed: number; failed?: FlowError } = { committed: 0 };
  const progress = (): WorkerProgress => {
    const { start, stable, end } = memory.rangeNow('orders', 0);
    const counters = service.running?.worker.progress().flows[0]?.partitions[0]?.counters;
    const partition = {
      topic: 'orders',
      partition: 0,
      position: at.committed,
      committed: at.committed,
      stable,
      end,
      logStart: start,
      keysHeld: 0,
    };
    if (counters === undefined) throw new Error('the worker had a partition');
    const flow = { flow: 'cur', group: 'p.cur', failed: at.failed, outputRecords: 0 };
    return {
      state: 'running',
      records: 0,
      outputRecords: 0,
      commits: 0,
      fencings: 0,
      turns: 0,
      stageMs: { wait_source: 0, query: 0, store: 0, merge: 0, emit: 0, wait_sink: 0, takeover: 0 },
      flows: [{ ...flow, partitions: [{ ...partition, counters, committedCounters: counters }] }],
    };
  };
  const watch = new SourceWatch({
    ...{ log, clock: systemClock, progress, facts },
    lastToStop: new LastToStop(log, 'p', '0'),
  });
  closing.push(
    () => watch.close(),
    () => log.close(),
  );
  const produce = (timestampMs: number): number =>
    memory.produce('orders', 0, { value: '{}', timestampMs });
  return { memory, log, at, watch, produce };
}

test('a record that waits over two looks is looked up, and its own timestamp counts', async () => {
  const { watch, produce } = await world({ 'retention.ms': '3600000' });
  const oldMs = Date.now() - 600_000;
  produce(oldMs);
  produce(Date.now());
  await watch.look();
  expect(watch.waiting('cur', 'orders')).toMatchObject({
    oldestMs: undefined,
    retentionMs: 3_600_000,
    headroomRecords: 0,
  });
  await watch.look();
  expect(watch.waiting('cur', 'orders').oldestMs).toBe(oldMs);
});

test('a partition that keeps up has nothing old, though something always waits', async () => {
  const { watch, produce, at } = await world();
  for (let round = 0; round < 4; round += 1) {
    at.committed = produce(Date.now() - 600_000);
    await watch.look();
    expect(watch.waiting('cur', 'orders').oldestMs).toBeUndefined();
  }
});

test('moving on without keeping up looks the next record up', async () => {
  const { watch, produce, at } = await world();
  const times = [900_000, 600_000, 300_000].map((ago) => Date.now() - ago);
  for (const time of times) produce(time);
  await watch.look();
  await watch.look();
  expect(watch.waiting('cur', 'orders').oldestMs).toBe(times[0]);
  at.committed = 2;
  await watch.look();
  expect(watch.waiting('cur', 'orders').oldestMs).toBe(times[2]);
  at.committed = 3;
  await watch.look();
  expect(watch.waiting('cur', 'orders').oldestMs).toBeUndefined();
});

test('headroom counts from the start of the log; a topic that keeps its records has no end', async () => {
  const { memory, watch, produce, at } = await world({ 'cleanup.policy': 'compact' });
  for (let index = 0; index < 10; index += 1) produce(Date.now());
  at.committed = 8;
  await watch.look();
  expect(watch.waiting('cur', 'orders')).toMatchObject({
    retentionMs: Number.POSITIVE_INFINITY,
    headroomRecords: 8,
  });
  await memory.connect().deleteRecords('orders', new Map([[0, 6]]));
  expect(watch.waiting('cur', 'orders').headroomRecords).toBe(2);
});

test('what compaction may take is told of a record that waits, and only where the source is compacted', async () => {
  const compacted = await world({ 'cleanup.policy': 'compact', 'min.compaction.lag.ms': '900000' });
  await compacted.watch.look();
  expect(compacted.watch.waiting('cur', 'orders').compactionSeconds).toBe(Number.POSITIVE_INFINITY);
  compacted.produce(Date.now() - 600_000);
  for (let looks = 0; looks < 2; looks += 1) await compacted.watch.look();
  const { compactionSeconds } = compacted.watch.waiting('cur', 'orders');
  expect(compactionSeconds).toBeGreaterThan(200);
  expect(compactionSeconds).toBeLessThanOrEqual(300);
  const deleted = await world();
  await deleted.watch.look();
  expect(deleted.watch.waiting('cur', 'orders').compactionSeconds).toBeUndefined();
});

test('an outage of the log leaves what was known', async () => {
  const { memory, watch, produce } = await world();
  const oldMs = Date.now() - 600_000;
  produce(oldMs);
  await watch.look();
  await watch.look();
  memory.deleteTopic('orders');
  memory.createTopic('orders', 1);
  memory.produce('orders', 0, { value: '{}' });
  await watch.look();
  expect(watch.waiting('cur', 'orders').oldestMs).toBe(oldMs);
});

test('a checkpoint of a flow that stands, which an open transaction holds, leaves what was known, and ends the look', async () => {
  const { log, at, watch, produce } = await world();
  at.failed = new FlowError('BAD_ROW', 'it stands');
  const oldMs = Date.now() - 600_000;
  produce(oldMs);
  await watch.look();
  await watch.look();
  expect(watch.waiting('cur', 'orders').oldestMs).toBe(oldMs);
  log.committedOffsets = () => new Promise(() => undefined);
  produce(Date.now());
  await watch.look();
  expect(watch.waiting('cur', 'orders').oldestMs).toBe(oldMs);
});

test('retention by size is seen in a log start that moves, and what it leaves is told', async () => {
  const { memory, at, watch, produce } = await world({ 'retention.ms': '-1' });
  for (let count = 0; count < 1_000; count += 1) produce(Date.now());
  at.committed = 500;
  await watch.look();
  await watch.look();
  expect(watch.waiting('cur', 'orders').headroomSeconds).toBe(Number.POSITIVE_INFINITY);
  await memory.deleteRecords('orders', new Map([[0, 400]]));
  await watch.look();
  const { headroomSeconds } = watch.waiting('cur', 'orders');
  expect(headroomSeconds).toBeGreaterThan(0);
  expect(headroomSeconds).toBeLessThan(3_600);
});

test('what an open transaction of a producer holds back is seen for as long as it stands still', async () => {
  const { memory, watch, produce, at } = await world();
  const client = memory.connect();
  closing.push(() => client.close());
  at.committed = produce(Date.now()) + 1;
  const producer = await openTransaction(client, 'orders', ['{}']);
  produce(Date.now());
  const before = Date.now();
  await watch.look();
  const since = watch.waiting('cur', 'orders').heldSinceMs;
  expect(since).toBeGreaterThanOrEqual(before);
  await watch.look();
  // No lag tells it: what a committed reader may read is read.
  expect(watch.waiting('cur', 'orders')).toMatchObject({ heldSinceMs: since, oldestMs: undefined });
  await producer.commit([]);
  await watch.look();
  expect(watch.waiting('cur', 'orders').heldSinceMs).toBeUndefined();
});

import { expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { MemoryStateStore } from '../../../src/adapters/memory/memory-state-store.ts';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { parseColumnsText } from '../../../src/data/type-text.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { openCatalog } from '../../../src/runtime/topics/catalog.ts';
import { defaultWorkerSettings, startWorker } from '../../../src/runtime/worker/start-worker.ts';

const sql = `CREATE STREAMING TABLE cur FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, item, qty, seq FROM STREAM(orders);`;

const schemas = new Map([
  ['orders', parseColumnsText('region STRING, item STRING, qty INT, seq BIGINT')],
]);

/** One log and state store, and updates on them, one after the other. */
class World {
  readonly log = new MemoryLog({ clock: systemClock });
  readonly state = new MemoryStateStore();

  constructor() {
    this.log.createTopic('orders', 1);
  }

  produce(...rows: readonly (readonly [region: string, item: string, seq: number])[]): void {
    this.produceTo(0, ...rows);
  }

  produceTo(
    partition: number,
    ...rows: readonly (readonly [region: string, item: string, seq: number])[]
  ): void {
    for (const [region, item, seq] of rows) {
      this.log.produce('orders', partition, {
        value: JSON.stringify({ region, item, qty: 1, seq }),
      });
    }
  }

  /** Gives the number of records that it read. */
  async update(acceptGaps: readonly string[] = []): Promise<number> {
    const { plan } = planPipeline([{ file: 'cur.sql', text: sql }], { schemas });
    if (plan === undefined) throw new Error('the pipeline is valid');
    const log = this.log.connect();
    const worker = await startWorker({
      plan,
      log,
      state: this.state,
      clock: systemClock,
      listener: () => undefined,
      replicationFactor: -1,
      acceptGaps,
      settings: {
        ...defaultWorkerSettings,
        pipeline: 'p',
        instance: '0',
        token: '0',
        once: true,
        commitIntervalMs: 10,
        retryDelayMinMs: 1,
        retriesMax: 5,
      },
    });
    try {
      await worker.run();
      return worker.progress().records;
    } finally {
      await log.close();
    }
  }

  /** The catalog does not know of the checkpoint of a partition. */
  async forget(name: string): Promise<void> {
    const catalog = await openCatalog(this.log, 'p.catalog');
    await catalog?.write([{ kind: 'checkpoint', name, value: undefined }], systemClock.now());
    await catalog?.close();
  }

  /** The group has no checkpoint of one partition any more, and the others as they were. */
  async forgetCheckpoint(topic: string, partition: number): Promise<void> {
    const kept = [];
    for (const name of ['orders', 'p.cur.repartition']) {
      for (const [number, found] of await this.log.committedOffsets('p.cur', name, [0, 1])) {
        if (name === topic && number === partition) continue;
        kept.push({ ...found, topic: name, partition: number });
      }
    }
    await this.log.deleteCheckpoints('p.cur');
    await this.log.commitCheckpoint('p.cur', kept);
  }

  rows(): string[] {
    const byKey = new Map<string, string>();
    for (const { key, value } of this.log.readCommitted('cur')) {
      byKey.set(String(key), String(value));
    }
    return [...byKey.values()]
      .flatMap((value) => (JSON.parse(value) as { item: string }[]).map(({ item }) => item))
      .sort();
  }
}

test('P047 a checkpoint that retention has overtaken stops the flow, and an accepted gap goes on at the log start', async () => {
  const world = new World();
  world.produce(['EU', 'i1', 1], ['EU', 'i2', 2]);
  await world.update();
  world.produce(['EU', 'i3', 3], ['EU', 'i4', 4], ['EU', 'i5', 5], ['EU', 'i6', 6]);
  await world.log.deleteRecords('orders', new Map([[0, 4]]));
  const failure = await world.update().catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 'OFFSET_OUT_OF_RANGE',
    detail: expect.stringMatching(/"orders", partition 0 is offset 2, .* starts at 4: 2 records/),
    hint: expect.stringContaining('--accept-gap cur/orders/0@2'),
  });
  expect(world.rows()).toEqual(['i2']);
  await expect(world.update(['cur/orders/0@9'])).rejects.toMatchObject({ code: 'USAGE' });
  await world.update(['cur/orders/0@2']);
  expect(world.rows()).toEqual(['i6']);
  // The gap is behind it: nothing has to be accepted again.
  await world.update();
});

test('P047 an accepted gap covers what was gone then: what goes later is a gap of its own', async () => {
  const world = new World();
  world.produce(['EU', 'i1', 1], ['EU', 'i2', 2]);
  await world.update();
  world.produce(['EU', 'i3', 3], ['EU', 'i4', 4], ['EU', 'i5', 5], ['EU', 'i6', 6]);
  await world.log.deleteRecords('orders', new Map([[0, 3]]));
  await expect(world.update()).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
  // Nobody knows of it who accepts the gap that was told.
  await world.log.deleteRecords('orders', new Map([[0, 5]]));
  await expect(world.update(['cur/orders/0@2'])).rejects.toMatchObject({
    code: 'OFFSET_OUT_OF_RANGE',
    detail: expect.stringMatching(/is offset 3, .* starts at 5: 2 records/),
    hint: expect.stringContaining('--accept-gap cur/orders/0@3'),
  });
  await world.update(['cur/orders/0@3']);
  expect(world.rows()).toEqual(['i6']);
});

test('P115 a checkpoint that is still in the log is kept when records before it expire', async () => {
  const world = new World();
  world.produce(['EU', 'i1', 1], ['US', 'i2', 2], ['JP', 'i3', 3]);
  await world.update();
  await world.log.deleteRecords('orders', new Map([[0, 2]]));
  world.produce(['EU', 'i4', 4]);
  // It goes on behind the third one, and reads none again.
  expect(await world.update()).toBe(1);
  expect(world.rows()).toEqual(['i2', 'i3', 'i4']);
});

test('a group that is deleted twice is a gap twice: what was accepted once covers one loss', async () => {
  const world = new World();
  world.produce(['EU', 'a', 1]);
  await world.update();
  const ids: string[] = [];
  for (let time = 0; time < 3; time += 1) {
    await world.log.deleteCheckpoints('p.cur');
    const failure = await world.update(ids).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'CHECKPOINT_MISSING' });
    const { hint } = failure as { hint: string };
    const accepted = [...hint.matchAll(/--accept-gap (\S+)/g)].map(([, id]) => id ?? '');
    expect(ids).not.toEqual(expect.arrayContaining(accepted));
    ids.push(...accepted);
    await world.update(ids);
    // A command line that names them still accepts nothing new.
    await world.update(ids);
  }
  expect(world.rows()).toEqual(['a']);
});

test('P053 FR-23 a topic that was deleted and created again is another source', async () => {
  const world = new World();
  world.produce(['EU', 'old', 50]);
  await world.update();
  world.log.deleteTopic('orders');
  world.log.createTopic('orders', 1);
  world.produce(['EU', 'late', 1], ['US', 'new', 1]);
  const failure = await world.update().catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 'TOPIC_RECREATED',
    detail: expect.stringContaining('recreated'),
  });
  const id = /--accept-gap (\S+)/.exec((failure as { hint: string }).hint)?.[1] ?? '';
  await world.update([id]);
  expect(world.rows()).toEqual(['new', 'old']);
  world.produce(['US', 'newer', 2]);
  await world.update();
  expect(world.rows()).toEqual(['newer', 'old']);
});

test('FR-22 the topic of its name on another cluster is another source', async () => {
  const world = new World();
  world.produce(['EU', 'old', 50]);
  await world.update();
  // As after a move for which the catalog and the groups were copied.
  world.log.deleteTopic('orders');
  world.log.move('other');
  world.log.createTopic('orders', 1);
  world.produce(['EU', 'late', 1], ['US', 'new', 1]);
  const failure = await world.update().catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 'TOPIC_RECREATED',
    detail: expect.stringContaining('is on another cluster'),
  });
  const id = /--accept-gap (\S+)/.exec((failure as { hint: string }).hint)?.[1] ?? '';
  await world.update([id]);
  expect(world.rows()).toEqual(['new', 'old']);
  world.log.deleteTopic('orders');
  world.log.createTopic('orders', 1);
  await expect(world.update()).rejects.toMatchObject({
    detail: expect.stringContaining('recreated'),
  });
});

test('a partition without any record has a checkpoint after the first update', async () => {
  const world = new World();
  await world.update();
  const committed = await world.log.committedOffsets('p.cur', 'orders', [0]);
  expect(committed.get(0)?.offset).toBe(0);
});

test('P047 FR-12 a partition that was added counts as read up to its first offset: what expires before is a gap', async () => {
  const world = new World();
  world.produce(['EU', 'i1', 1]);
  await world.update();
  world.log.addPartitions('orders', 2);
  world.produceTo(1, ['US', 'a1', 1], ['JP', 'a2', 1], ['CN', 'a3', 1]);
  await world.log.deleteRecords('orders', new Map([[1, 2]]));
  await expect(world.update()).rejects.toMatchObject({
    code: 'OFFSET_OUT_OF_RANGE',
    detail: expect.stringMatching(
      /Nothing of topic "orders", partition 1 was read yet, .* starts at 2: 2 records/,
    ),
    hint: expect.stringContaining('--accept-gap cur/orders/1@0'),
  });
  // It is durable, and a start without a word stops again.
  await expect(world.update()).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
  await world.log.deleteRecords('orders', new Map([[1, 3]]));
  await expect(world.update(['cur/orders/1@0'])).rejects.toMatchObject({
    hint: expect.stringContaining('--accept-gap cur/orders/1@2'),
  });
  world.produceTo(1, ['CN', 'a4', 2]);
  await world.update(['cur/orders/1@2']);
  expect(world.rows()).toEqual(['a4', 'i1']);
  await world.update();
});

test('FR-12 an added partition whose records are all there is read from the first one', async () => {
  const world = new World();
  await world.update();
  world.log.addPartitions('orders', 3);
  world.produceTo(1, ['US', 'a1', 1]);
  world.produceTo(2, ['JP', 'a2', 1]);
  await world.update();
  expect(world.rows()).toEqual(['a1', 'a2']);
});

test('a first start reads every partition from the earliest offset, whichever of them has a checkpoint first', async () => {
  const world = new World();
  world.log.addPartitions('orders', 2);
  world.produceTo(1, ['US', 'gone', 1], ['JP', 'a2', 1]);
  await world.log.deleteRecords('orders', new Map([[1, 1]]));
  await world.update();
  // As when the instance that has partition 1 was not as fast as the one that has partition 0.
  await world.forget('cur/orders/1');
  await world.forgetCheckpoint('orders', 1);
  await world.update();
  expect(world.rows()).toEqual(['a2']);
});

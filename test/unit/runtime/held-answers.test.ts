import { afterEach, describe, expect, test } from 'vitest';
import type { MemoryClient } from '../../../src/adapters/memory/memory-client.ts';
import type { HeldPartition } from '../../../src/runtime/takeover/held-partition.ts';
import { recordCheckpoints } from '../../../src/runtime/takeover/record-checkpoints.ts';
import { readPins } from '../../../src/runtime/views/once-pins.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { workerOf, worldOf } from '../../support/append-world.ts';

const sql = `CREATE SOURCE sales (day DATE, amount INT);
CREATE STREAMING TABLE kept (day DATE, amount INT);
CREATE FLOW f AS INSERT INTO kept BY NAME REPLACE WHERE day >= DATE'2026-01-01'
SELECT day, amount FROM sales WHERE day >= DATE'2026-01-01';`;

/** In the time of the world: the log itself ends then what nobody else does. */
const abandonedAfterMs = 60_000;

let world: PipelineWorld;

afterEach(() => world.close());

const membership = { instanceId: undefined, sessionTimeoutMs: 1_000, rebalanceTimeoutMs: 1_000 };

/**
 * An instance that took a group's partition for its own and is gone, with the offset in a transaction that nobody has ended:
 * until that is done the log tells nothing of it.
 */
async function leaveOpen(
  transactionalId: string,
  { group, topic, partition = 0 }: { group: string; topic: string; partition?: number },
): Promise<MemoryClient> {
  const dead = world.log.connect({ betweenCommitSteps: () => new Promise(() => undefined) });
  const member = dead.joinGroup({ ...membership, group, topics: [topic] });
  const { identity } = await member.rejoin();
  const producer = await dead.openProducer(transactionalId);
  const offsets = [{ topic, partition, offset: 1, metadata: '' }];
  void producer.commit([{ member: identity, offsets }]);
  await world.clock.sleep(10);
  return dead;
}

describe('what an instance that is gone has left open holds nobody up who has to end it', () => {
  test('95142330 96105182 a start that misses the topic of a view, whose first run is open', async () => {
    world = worldOf(sql, 1);
    world.produce('sales', { value: '{"day":"2026-01-02","amount":1}' });
    await workerOf(world, sql, {});
    const dead = await leaveOpen('test.f', { group: 'test.f', topic: 'test.catalog' });
    dead.kill();
    await world.log.deleteTopics(['kept']);
    const startedMs = world.clock.monotonic();
    const events: string[] = [];
    const worker = await workerOf(world, sql, { once: true }, world.log.connect(), ({ event }) => {
      events.push(event);
    });
    expect(world.clock.monotonic() - startedMs).toBeLessThan(abandonedAfterMs);
    expect(events).toContain('fencing');
    await worker.run();
    expect(world.log.readCommitted('kept')).toHaveLength(1);
  });

  test('a run that stands makes the same start refuse: what the view kept is lost', async () => {
    world = worldOf(sql, 1);
    world.produce('sales', { value: '{"day":"2026-01-02","amount":1}' });
    await (await workerOf(world, sql, { once: true })).run();
    const dead = await leaveOpen('test.f', { group: 'test.f', topic: 'test.catalog' });
    dead.kill();
    await world.log.deleteTopics(['kept']);
    await expect(workerOf(world, sql, { once: true })).rejects.toMatchObject({
      code: 'TOPIC_MISSING',
      message: expect.stringContaining('is gone'),
    });
  });

  test('a start that has lost its catalog, over a checkpoint that a process of its name left open', async () => {
    const plain = `CREATE SOURCE src (id INT);
CREATE STREAMING TABLE t AS SELECT id FROM STREAM(src);`;
    world = worldOf(plain, 1);
    world.produce('src', { value: '{"id":1}' });
    await (await workerOf(world, plain, { once: true })).run();
    const dead = await leaveOpen('test-one', { group: 'test.t', topic: 'src' });
    dead.kill();
    await world.log.deleteTopics(['test.catalog']);
    const startedMs = world.clock.monotonic();
    await expect(workerOf(world, plain, { once: true })).rejects.toMatchObject({
      code: 'DEFINITION_MISSING',
    });
    expect(world.clock.monotonic() - startedMs).toBeLessThan(abandonedAfterMs / 2);
  });

  test('an owner whose view another one has taken meanwhile, and left a run of it open', async () => {
    world = worldOf(sql, 1);
    world.produce('sales', { value: '{"day":"2026-01-02","amount":1}' });
    const told: string[] = [];
    const settings = { viewIntervalMs: 100 };
    const worker = await workerOf(world, sql, settings, world.log.connect(), (event) => {
      if (event.event === 'recovering') told.push(event.error.code);
      else told.push(event.event);
    });
    void worker.run();
    await until(() => told.includes('view_computed'));
    const dead = await leaveOpen('test.f', { group: 'test.f', topic: 'test.catalog' });
    dead.kill();
    world.produce('sales', { value: '{"day":"2026-01-03","amount":2}' });
    await until(() => world.log.readCommitted('kept').length === 2);
    expect(told.filter((event) => event === 'view_computed')).toHaveLength(2);
    worker.stop();
  });

  test('a flow that runs one time and asks whether others have read their partitions to the end', async () => {
    const once = `CREATE SOURCE src (id INT);
CREATE STREAMING TABLE t (id INT);
CREATE FLOW o AS INSERT INTO ONCE t BY NAME SELECT id FROM src;`;
    world = worldOf(once, 2);
    for (let id = 0; id < 4; id += 1) world.produce('src', { value: `{"id":${id}}` });
    const { facts: flows, catalog } = await workerOf(world, once, { once: true });
    const [facts] = flows;
    if (facts?.once === undefined) throw new Error('the flow has no pins');
    const dead = await leaveOpen('test-dead', { group: 'test.o', topic: 'src', partition: 1 });
    const { log, clock } = world;
    const options = { facts, log, catalog, clock, once: facts.once };
    const [until] = facts.once.ends.get('src') ?? [];
    const name = 'o/src/0';
    const read = { topic: 'src', partition: 0, until, committed: until, acceptedGaps: [] };
    const value = { topicId: facts.sources[0]?.topicId };
    const held = { ...read, unrecorded: { name, value } } as unknown as HeldPartition;
    const startedMs = clock.monotonic();
    await recordCheckpoints(options, [held]);
    expect(clock.monotonic() - startedMs).toBeLessThan(abandonedAfterMs);
    expect(catalog.get('checkpoint', name)?.value).toMatchObject(value);
    expect(readPins(facts.flow, catalog)?.isDone).toBe(false);
    // Once nothing is open any more, whoever reads the other one tells.
    dead.kill();
    await log.fence('test-dead');
    const group = log.connect().joinGroup({ ...membership, group: 'test.o', topics: ['src'] });
    const { identity } = await group.rejoin();
    const offsets = [0, 1].map((partition) => ({
      ...{ topic: 'src', partition, offset: until ?? 0, metadata: '' },
    }));
    await (await log.openProducer('test-one')).commit([{ member: identity, offsets }]);
    await recordCheckpoints(options, [held]);
    expect(readPins(facts.flow, catalog)?.isDone).toBe(true);
  });
});

/** In less time than the log gives a transaction that nobody ends. */
async function until(isSo: () => boolean): Promise<void> {
  for (let waitedMs = 0; !isSo(); waitedMs += 100) {
    if (waitedMs >= abandonedAfterMs / 2) throw new Error('it is held up');
    await world.clock.sleep(100);
  }
}

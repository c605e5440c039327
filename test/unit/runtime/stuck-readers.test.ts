import { expect, test } from 'vitest';
import type { MemoryClient } from '../../../src/adapters/memory/memory-client.ts';
import type { Worker } from '../../../src/runtime/worker/worker.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { abortedRecord } from '../../../src/testing/simulation/aborted-record.ts';
import { workerOf, worldOf } from '../../support/append-world.ts';

const sql = `CREATE SOURCE src (k INT, seq BIGINT);
CREATE STREAMING TABLE a WITH (topic = 'a', dead_letter_topic = 'a.dlq');
CREATE FLOW fa AS INSERT INTO a BY NAME SELECT k, seq FROM STREAM(src);`;

test('P071 what a dead instance has left open holds up no reader of appended rows and dead letters', async () => {
  const world = worldOf(sql, 1);
  const isHeldUp = (topic: string): boolean => {
    const { stable, end } = world.log.rangeNow(topic, 0);
    return stable < end;
  };
  world.produce('src', { value: '{"k":1,"seq":1}' });
  world.produce('src', { value: 'no JSON' });
  const dying = world.log.connect();
  void (await workerOn(world, dying, 'dying', 600_000)).run();
  await until(world, () => isHeldUp('a') && isHeldUp('a.dlq'));
  dying.kill();
  const heir = await workerOn(world, world.log.connect(), 'heir', 20);
  const living = heir.run();
  // The group first has to notice; from then on nobody waits for the broker to end it, which takes a minute.
  await until(world, () => world.log.committedNow('test.fa', 'src', 0)?.offset === 2);
  const startedMs = world.clock.monotonic();
  await until(world, () => !isHeldUp('a') && !isHeldUp('a.dlq'));
  expect(world.clock.monotonic() - startedMs).toBeLessThan(10_000);
  expect(world.log.readCommitted('a')).toHaveLength(1);
  expect(world.log.readCommitted('a.dlq')).toHaveLength(1);
  heir.stop();
  await living;
  world.close();
});

function workerOn(
  world: PipelineWorld,
  log: MemoryClient,
  instance: string,
  commitIntervalMs: number,
): Promise<Worker> {
  const settings = { instance, commitIntervalMs, sessionTimeoutMs: 3_000 };
  return workerOf(world, sql, { ...settings, retriesMax: Number.POSITIVE_INFINITY }, log);
}

async function until(world: PipelineWorld, isTrue: () => boolean): Promise<void> {
  for (let look = 0; !isTrue(); look += 1) {
    if (look > 20_000) throw new Error('it never came about');
    await world.clock.sleep(10);
  }
}

test.each(['while this one lives', 'once this one stops'])(
  'P071 what a dead twin has left open under the id of both is ended %s',
  async (when) => {
    const world = worldOf(sql, 1);
    world.produce('src', { value: '{"k":1,"seq":1}' });
    const living = await workerOn(world, world.log.connect(), 'pod', 20);
    const running = living.run();
    await until(world, () => world.log.committedNow('test.fa', 'src', 0)?.offset === 1);
    const twin = await world.log.connect().openProducer('test-pod');
    twin.append('a', 0, abortedRecord);
    expect(world.log.rangeNow('a', 0)).toMatchObject({ stable: 2, end: 3 });
    if (when === 'once this one stops') living.stop();
    const startedMs = world.clock.monotonic();
    await until(world, () => world.log.rangeNow('a', 0).stable > 3);
    // The broker ends it by itself after a minute.
    expect(world.clock.monotonic() - startedMs).toBeLessThan(10_000);
    world.produce('src', { value: '{"k":2,"seq":1}' });
    if (when === 'while this one lives') {
      await until(world, () => world.log.committedNow('test.fa', 'src', 0)?.offset === 2);
    }
    living.stop();
    await running;
    expect(living.progress().fencings).toBe(0);
    world.close();
  },
);

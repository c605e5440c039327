import { afterEach, expect, test } from 'vitest';
import { StatusReader } from '../../../src/runtime/inspect/pipeline-status.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import { PauseWatch, setPause } from '../../../src/runtime/worker/pauses.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { planned, workerOf, worldOf } from '../../support/append-world.ts';

const sql = `CREATE SOURCE s (k STRING, seq BIGINT);
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(s);
CREATE STREAMING TABLE log AS SELECT k, seq FROM STREAM(s);
CREATE STREAMING TABLE after_log AS SELECT k FROM STREAM(log);`;

let world: PipelineWorld;

afterEach(() => world.close());

function give(k: string): void {
  world.produce('s', { value: JSON.stringify({ k, seq: 1 }) }, 0);
}

const count = (topic: string): number => world.log.readCommitted(topic).length;

async function wish(flow: string, isPaused: boolean): Promise<boolean> {
  const catalog = new Catalog(world.log, 'test.catalog');
  const changed = await setPause(catalog, flow, { isPaused, command: 'test', nowMs: 1_000 });
  await catalog.close();
  return changed;
}

test('a flow that is paused stands still while the others go on, over a restart too, and loses nothing', async () => {
  world = worldOf(sql, 1);
  const worker = await workerOf(world, sql, {});
  const running = worker.run();
  const watch = new PauseWatch({ catalog: worker.catalog, clock: world.clock }, (flows) =>
    worker.setPaused(flows),
  );
  const watching = watch.run();
  give('a');
  await expect.poll(() => [count('t'), count('log')]).toEqual([1, 1]);
  expect(await wish('t', true)).toBe(true);
  expect(await wish('t', true)).toBe(false);
  await expect.poll(() => worker.progress().flows[0]?.isPaused, { timeout: 5_000 }).toBe(true);
  give('b');
  await expect.poll(() => count('log')).toBe(2);
  expect(count('t')).toBe(1);
  worker.stop();
  await running;
  const reader = new StatusReader(planned(sql), 'test', world.log, world.clock);
  const [status] = await reader.read();
  expect(status).toMatchObject({ flow: 't', pausedSinceMs: 1_000 });
  await reader.close();
  const update = await workerOf(world, sql, { once: true });
  await update.run();
  expect(count('t')).toBe(1);
  expect(await wish('t', false)).toBe(true);
  await (await workerOf(world, sql, { once: true })).run();
  expect(count('t')).toBe(2);
  watch.close();
  await watching;
});

test('an update in which every flow is paused says so', async () => {
  world = worldOf(sql, 1);
  await (await workerOf(world, sql, { once: true })).run();
  for (const flow of ['t', 'log', 'after_log']) await wish(flow, true);
  await expect(workerOf(world, sql, { once: true })).rejects.toMatchObject({
    code: 'USAGE',
    message: 'every flow is paused',
  });
});

test('one table alone: only its flow runs, over what the tables that it reads hold already', async () => {
  world = worldOf(sql, 1);
  const plan = planned(sql);
  const update = async (...tables: readonly string[]): Promise<void> => {
    const flows = plan.flows.filter(({ target }) => tables.includes(target));
    await (await workerOf(world, { ...plan, flows }, { once: true })).run();
  };
  give('a');
  await update('t', 'log', 'after_log');
  give('b');
  await update('t');
  expect([count('t'), count('log'), count('after_log')]).toEqual([2, 1, 1]);
  await update('after_log');
  expect(count('after_log')).toBe(1);
  await update('log', 'after_log');
  expect([count('log'), count('after_log')]).toEqual([2, 2]);
});

test('one table alone is refused where a table that it reads was never written', async () => {
  world = worldOf(sql, 1);
  const plan = planned(sql);
  const flows = plan.flows.filter(({ target }) => target === 'after_log');
  await expect(workerOf(world, { ...plan, flows }, { once: true })).rejects.toMatchObject({
    code: 'TOPIC_MISSING',
  });
});

import { afterEach, expect, test } from 'vitest';
import type { LogProducer } from '../../../src/ports/log.ts';
import type { RuntimeEvent } from '../../../src/runtime/runtime-events.ts';
import { defaultWorkerSettings, startWorker } from '../../../src/runtime/worker/start-worker.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { planned, workerOf, worldOf } from '../../support/append-world.ts';

const source = `CREATE SOURCE archive (id INT);`;
const appended = `${source} CREATE STREAMING TABLE t;
CREATE FLOW f AS INSERT INTO ONCE t BY NAME SELECT id FROM archive;`;
const counted = `${source} CREATE STREAMING TABLE t;
CREATE FLOW f AS INSERT INTO ONCE t BY NAME SELECT count(*) AS n, max(id) AS id FROM archive;`;
const streamed = `${source} CREATE STREAMING TABLE t AS SELECT id FROM STREAM(archive);`;

let world: PipelineWorld;

afterEach(() => world.close());

/** A record of a transaction that somebody keeps open. */
async function opened(id: number): Promise<LogProducer> {
  const producer = await world.log.connect().openProducer('somebody');
  const value = Buffer.from(JSON.stringify({ id }));
  const none = Buffer.from([0]);
  producer.append('archive', 0, {
    ...{ key: none, keyStart: 0, keyEnd: -1 },
    ...{ value, valueStart: 0, valueEnd: value.length },
    ...{ headers: none, headersStart: 0, headersEnd: 1, timestampMs: 0 },
  });
  await producer.drain();
  return producer;
}

async function untilHeld(events: readonly RuntimeEvent[]): Promise<RuntimeEvent> {
  for (;;) {
    const found = events.find(({ event }) => event === 'source_held');
    if (found !== undefined) return found;
    await world.clock.sleep(5);
  }
}

function rowsOf(sql: string): string[] {
  const [table] = planned(sql).tables;
  if (table === undefined) throw new Error('the plan has no table');
  return world
    .rows(table)
    .map(({ row }) => row.bytes.toString('utf8', row.start, row.end))
    .sort();
}

async function update(sql: string, events: RuntimeEvent[]): Promise<void> {
  const listener = (event: RuntimeEvent) => events.push(event);
  const worker = await workerOf(world, sql, { once: true }, world.log.connect(), listener);
  await worker.run();
}

test.each([
  ['a query of rows', appended, ['{"id":1}', '{"id":2}', '{"id":3}']],
  ['a query of groups', counted, ['{"n":3,"id":3}']],
])(
  'FL-16 what is committed behind an open transaction when it starts first is read: %s',
  async (_, sql, rows) => {
    world = worldOf(sql, 1);
    world.log.produce('archive', 0, { value: '{"id":1}' });
    const producer = await opened(2);
    world.log.produce('archive', 0, { value: '{"id":3}' });
    const events: RuntimeEvent[] = [];
    const updating = update(sql, events);
    const told = await untilHeld(events);
    expect(told).toMatchObject({
      flow: 'f',
      topic: 'archive',
      partition: 0,
      offset: 1,
      held: 2,
      isAwaited: true,
    });
    await producer.commit([]);
    await updating;
    expect(rowsOf(sql)).toEqual(rows);
    world.log.produce('archive', 0, { value: '{"id":4}' });
    await update(sql, []);
    expect(rowsOf(sql)).toEqual(rows);
  },
);

test('FL-16 a start that waits for an open transaction ends when it is told to stop, and writes nothing', async () => {
  world = worldOf(counted, 1);
  const producer = await opened(2);
  const events: RuntimeEvent[] = [];
  let isStopped = false;
  const options = {
    plan: planned(counted),
    log: world.log.connect(),
    state: world.state,
    clock: world.clock,
    listener: (event: RuntimeEvent) => events.push(event),
    replicationFactor: -1,
    isStopped: () => isStopped,
    settings: { ...defaultWorkerSettings, pipeline: 'test', instance: 'one', token: 'one' },
  };
  const starting = startWorker(options);
  await untilHeld(events);
  isStopped = true;
  // What the service takes for a stop before the start; the next start waits for the same transaction.
  await expect(starting).rejects.toMatchObject({ remedy: 'retry' });
  await producer.commit([]);
  await update(counted, []);
  expect(rowsOf(counted)).toEqual(['{"n":1,"id":2}']);
});

test('FL-03 an update tells what an open transaction leaves to the next one', async () => {
  world = worldOf(streamed, 1);
  world.log.produce('archive', 0, { value: '{"id":1}' });
  const producer = await opened(2);
  const events: RuntimeEvent[] = [];
  await update(streamed, events);
  expect(events.filter(({ event }) => event === 'source_held')).toEqual([
    {
      event: 'source_held',
      flow: 't',
      topic: 'archive',
      partition: 0,
      offset: 1,
      held: 1,
      isAwaited: false,
    },
  ]);
  expect(rowsOf(streamed)).toEqual(['{"id":1}']);
  await producer.commit([]);
  await update(streamed, []);
  expect(rowsOf(streamed)).toEqual(['{"id":1}', '{"id":2}']);
});

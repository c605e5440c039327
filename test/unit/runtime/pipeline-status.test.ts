import { expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { StatusReader } from '../../../src/runtime/inspect/pipeline-status.ts';
import { parseTableMetadata, tableMetadata } from '../../../src/task/row-account.ts';
import { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { pipelineStarter } from '../../../src/testing/pipeline/start-pipeline.ts';
import { openTransaction } from '../../support/open-transaction.ts';
import { samplePlan } from '../../support/sample-plan.ts';

const record = (k: number, seq: number) => ({ value: JSON.stringify({ k, seq, v: 'x' }) });

async function inWorld(use: (world: PipelineWorld, reader: StatusReader) => Promise<void>) {
  const plan = samplePlan();
  const world = new PipelineWorld({
    plan,
    partitions: 2,
    sliceRecordsMax: undefined,
    start: pipelineStarter(),
  });
  const reader = new StatusReader(plan, 'test', world.log, systemClock);
  try {
    await use(world, reader);
  } finally {
    await reader.close();
    world.close();
  }
}

test('a pipeline that never ran: the whole log is lag, and nothing is created', async () => {
  await inWorld(async (world, reader) => {
    for (let at = 0; at < 5; at += 1) world.produce('src', record(at, 1));
    const [flow] = await reader.read();
    expect(flow).toMatchObject({ flow: 't', table: 't', group: 'test.t' });
    expect(flow?.topics).toMatchObject([
      {
        stage: 'source',
        topic: 'src',
        exists: true,
        partitions: [
          { partition: 0, committed: undefined, logStart: 0, end: 3, lag: 3, counters: undefined },
          { partition: 1, committed: undefined, logStart: 0, end: 2, lag: 2, counters: undefined },
        ],
      },
      { stage: 'repartition', topic: 'test.t.repartition', exists: false, partitions: [] },
    ]);
    const topics = await world.log.describeTopics(['test.catalog', 'test.t.repartition', 't']);
    expect([...topics.keys()]).toEqual([]);
  });
});

test('what lies behind an open transaction of a producer is told beside the lag, which does not count it', async () => {
  await inWorld(async (world, reader) => {
    const producer = await openTransaction(world.log, 'src', ['{}', '{}']);
    const [flow] = await reader.read();
    expect(flow?.topics[0]?.partitions).toMatchObject([
      { end: 0, lag: 0, held: 2 },
      { end: 0, lag: 0, held: 0 },
    ]);
    await producer.commit([]);
    const [later] = await reader.read();
    expect(later?.topics[0]?.partitions[0]).toMatchObject({ held: 0 });
  });
});

test('FL-01, FL-19 after a run: checkpoints by flow, no lag, the account, who took it; then new lag', async () => {
  await inWorld(async (world, reader) => {
    for (let at = 0; at < 6; at += 1) world.produce('src', record(at % 3, at));
    const process = await world.startProcess('one');
    await world.untilCaughtUp(process);
    await world.stop(process);
    const [flow] = await reader.read();
    const partitions = flow?.topics.flatMap((topic) => topic.partitions) ?? [];
    expect(partitions.map(({ lag }) => lag)).toEqual(partitions.map(() => 0));
    const source = flow?.topics[0]?.partitions ?? [];
    expect(source.map(({ committed, instance }) => [committed, instance])).toEqual([
      [3, 'one'],
      [3, 'one'],
    ]);
    expect(source[0]?.counters).toMatchObject({ records: 3, decoded: 3, rows: 3 });
    const merged = flow?.topics[1]?.partitions.map(({ counters }) => counters?.rows ?? 0) ?? [];
    expect(merged.reduce((sum, rows) => sum + rows, 0)).toBe(6);
    expect(flow?.missingOutput).toBeUndefined();
    world.produce('src', record(9, 9));
    const [later] = await reader.read();
    const lags = later?.topics.flatMap((topic) => topic.partitions.map(({ lag }) => lag)) ?? [];
    expect(lags.reduce((sum, lag) => sum + lag, 0)).toBe(1);
  });
});

test('a table whose topic is gone does not pass for one that is whole', async () => {
  await inWorld(async (world, reader) => {
    world.produce('src', record(1, 1));
    const process = await world.startProcess('one');
    await world.untilCaughtUp(process);
    await world.stop(process);
    world.log.deleteTopic('t');
    const [flow] = await reader.read();
    expect(flow).toMatchObject({ missingOutput: 't' });
  });
});

test('the account closes over both stages; a row that is astray between them shows', async () => {
  await inWorld(async (world, reader) => {
    for (let at = 0; at < 6; at += 1) world.produce('src', record(at % 3, at));
    const process = await world.startProcess('one');
    await world.untilCaughtUp(process);
    await world.stop(process);
    expect((await reader.read())[0]?.betweenStages).toBe(0);
    const topic = 'test.t.repartition';
    const known = await world.log.committedOffsets('test.t', topic, [0, 1]);
    const [partition, { offset, metadata }] = [...known].find(
      ([, one]) => (parseTableMetadata(one.metadata)?.rows ?? 0) > 0,
    ) ?? [0, { offset: 0, metadata: '' }];
    const counters = parseTableMetadata(metadata);
    if (counters === undefined) throw new Error('no account');
    const lost = { ...counters, rows: counters.rows - 1, replacing: counters.replacing - 1 };
    const at = { topic, partition, offset, metadata: tableMetadata(lost) };
    await world.log.commitCheckpoint('test.t', [at]);
    expect((await reader.read())[0]?.betweenStages).toBe(1);
  });
});

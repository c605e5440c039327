import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { type FlowStatus, StatusReader } from '../../../src/runtime/inspect/pipeline-status.ts';
import { parseTableMetadata, tableMetadata } from '../../../src/task/row-account.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { planned, worldOf } from '../../support/append-world.ts';

const one = `CREATE SOURCE s (k STRING, v INT, seq BIGINT);
CREATE SOURCE z (k STRING, v INT, seq BIGINT);
CREATE STREAMING TABLE t;
CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (k) APPLY AS TRUNCATE WHEN v = 0 SEQUENCE BY seq;`;
const both = `${one}
CREATE FLOW g AS AUTO CDC INTO t FROM STREAM(z) KEYS (k) SEQUENCE BY seq;`;

let world: PipelineWorld;

afterEach(() => world.close());

function give(topic: string, k: string, v: number, seq: number): void {
  world.produce(topic, { value: JSON.stringify({ k, v, seq }) });
}

async function settled(sql: string): Promise<void> {
  const process = await world.startProcess('one', planned(sql));
  await world.untilCaughtUp(process);
  await world.stop(process);
}

/** Of the flow that merges what all feeds hand on. */
async function stageOf(sql: string): Promise<FlowStatus | undefined> {
  const reader = new StatusReader(planned(sql), 'test', world.log, systemClock);
  try {
    return (await reader.read()).find(({ flow }) => flow === 't');
  } finally {
    await reader.close();
  }
}

/** As if a row had got lost on its way between the stages. */
async function loseRow(): Promise<void> {
  const topic = 'test.t.repartition';
  for (const [partition, { offset, metadata }] of await world.log.committedOffsets(
    'test.t',
    topic,
    [0, 1],
  )) {
    const counters = parseTableMetadata(metadata);
    if (counters === undefined || counters.new === 0) continue;
    const lost = { ...counters, rows: counters.rows - 1, new: counters.new - 1 };
    const at = { topic, partition, offset, metadata: tableMetadata(lost) };
    await world.log.commitCheckpoint('test.t', [at]);
    return;
  }
  throw new Error('no row arrived');
}

test('FL-19 what several change feeds hand on is compared with what their table got', async () => {
  world = worldOf(both);
  for (let at = 1; at < 9; at += 1) {
    give('s', `k${at}`, at === 5 ? 0 : at, at);
    give('z', `k${at % 3}`, at, 10 + at);
  }
  await settled(both);
  expect(await stageOf(both)).toMatchObject({ betweenStages: 0, lostAccounts: [] });
  await loseRow();
  expect(await stageOf(both)).toMatchObject({ betweenStages: 1 });
});

test('FL-19 what a feed handed on that is no longer in the pipeline is no difference', async () => {
  world = worldOf(both);
  give('s', 'a', 1, 1);
  give('z', 'b', 1, 1);
  await settled(both);
  expect(await stageOf(one)).toMatchObject({ betweenStages: undefined, formerFeeds: ['g'] });
});

import { describe, expect, test } from 'vitest';
import { replayDeadLetters } from '../../../src/runtime/inspect/replay-dead-letters.ts';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { carryCheckpoint } from '../../../src/runtime/refresh/refresh-carry.ts';
import { tryRecords } from '../../../src/runtime/refresh/refresh-trial.ts';
import { readDeadLetters } from '../../../src/runtime/worker/dead-letters.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';

function sqlOf(flow: string, cast: string, topic = 't'): string {
  return `CREATE STREAMING TABLE t WITH (topic = '${topic}', dead_letter_topic = 'letters');
CREATE FLOW ${flow} AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, ${cast}(v AS INT) AS v FROM STREAM(a);`;
}

function flowOf(world: RefreshWorld) {
  const [flow] = world.plan.flows;
  if (flow === undefined) throw new Error('the pipeline has a flow');
  return flow;
}

/** Places of the records whose letters are those of the flow. */
async function letters(world: RefreshWorld): Promise<string[]> {
  const found: string[] = [];
  const options = await world.outside();
  const [table] = world.plan.tables;
  if (table === undefined) throw new Error('the pipeline has a table');
  await readDeadLetters(
    { ...options, table, flow: flowOf(world).name },
    ({ partition, offset }) => {
      found.push(`${partition}@${offset}`);
    },
  );
  return found;
}

async function newlyBad(world: RefreshWorld): Promise<number> {
  const options = await world.outside();
  const { deadLetters } = await tryRecords({
    ...options,
    flows: world.plan.flows,
    recordsMax: 1_000,
  });
  return deadLetters;
}

async function replayed(world: RefreshWorld) {
  return replayDeadLetters({
    ...(await world.outside()),
    flow: flowOf(world),
    isWanted: () => true,
    isDryRun: true,
    onBad: () => undefined,
  });
}

describe('DL two pipelines with flows of one name share a dead-letter topic', () => {
  test('each has its own letters, and a refresh of one takes none of the other for its own', async () => {
    const world = new RefreshWorld(sqlOf('f', 'CAST'), ['a'], 1);
    await world.produce('a', 0, { k: 'x', seq: 1, v: '1' }, { k: 'y', seq: 1, v: 'bad' });
    await world.update();
    expect(await letters(world)).toEqual(['0@1']);
    world.pipeline = 'q';
    world.sql = sqlOf('f', 'TRY_CAST', 'u');
    await world.update();
    expect(await letters(world)).toEqual([]);
    expect(await replayed(world)).toMatchObject({ letters: 0 });
    world.sql = sqlOf('f', 'CAST', 'u');
    expect(await newlyBad(world)).toBe(1);
    const unlucky = { ...(await world.besideOptions('t')), tryRecordsMax: 0 };
    await expect(refreshBeside(unlucky)).rejects.toMatchObject({ code: 'DATA_LOSS_REFUSED' });
    await refreshBeside(await world.besideOptions('t', { allowLoss: true }));
    expect(await letters(world)).toEqual(['0@1']);
    expect(world.log.readCommitted('letters')).toHaveLength(2);
  });
});

describe('DL a carried checkpoint takes the dead letters along', () => {
  test('they are listed, replayed and known to a refresh under the new name, and under the next one', async () => {
    const world = new RefreshWorld(sqlOf('f1', 'CAST'), ['a'], 1);
    await world.produce('a', 0, { k: 'x', seq: 1, v: '1' }, { k: 'y', seq: 1, v: 'bad' });
    await world.update();
    for (const [at, name] of ['f2', 'f3'].entries()) {
      world.sql = sqlOf(name, 'CAST');
      await carryCheckpoint(await world.outside(), `f${at + 1}`, flowOf(world));
      await world.update();
      expect(await letters(world)).toEqual(['0@1']);
      expect(await replayed(world)).toMatchObject({ letters: 1, stillBad: 1 });
      expect(await newlyBad(world)).toBe(0);
    }
    await refreshBeside({ ...(await world.besideOptions('t')), tryRecordsMax: 0 });
    expect(world.log.readCommitted('letters')).toHaveLength(1);
  });

  test('what a new flow of the former name sets aside is its own', async () => {
    const world = new RefreshWorld(sqlOf('f1', 'CAST'), ['a'], 1);
    await world.produce('a', 0, { k: 'y', seq: 1, v: 'bad' });
    await world.update();
    world.sql = sqlOf('f2', 'CAST');
    await carryCheckpoint(await world.outside(), 'f1', flowOf(world));
    await world.update();
    world.sql = sqlOf('f1', 'CAST');
    expect(await letters(world)).toEqual([]);
    await world.produce('a', 0, { k: 'z', seq: 1, v: 'bad' });
    await world.update();
    // It reads from the beginning.
    expect(await letters(world)).toEqual(['0@0', '0@1']);
    world.sql = sqlOf('f2', 'CAST');
    expect(await letters(world)).toEqual(['0@0']);
  });
});

import { afterEach, expect, test } from 'vitest';
import { FlowError } from '../../../src/base/errors.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { worldOf } from '../../support/append-world.ts';

const sql = `CREATE SOURCE s (k STRING, seq BIGINT);
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(s);`;

let world: PipelineWorld;

afterEach(() => world.close());

/** Lets the state store fail a write on demand; gives how often a task was opened and written well. */
function breakable() {
  const told = { opens: 0, writes: 0, isBroken: false };
  const { state } = world;
  const open = state.open.bind(state);
  state.open = async (...args) => {
    const session = await open(...args);
    told.opens += 1;
    const write = session.write.bind(session);
    session.write = async (entries) => {
      if (told.isBroken) {
        told.isBroken = false;
        throw new FlowError('STATE_UNAVAILABLE', 'the answer never came');
      }
      await write(entries);
      told.writes += 1;
    };
    return session;
  };
  return told;
}

test('P103 a state write that fails is made good at once, though no further record comes', async () => {
  world = worldOf(sql, 1);
  const told = breakable();
  const process = await world.startProcess('one');
  world.produce('s', { value: '{"k":"a","seq":1}' });
  await world.untilCaughtUp(process);
  const { opens } = told;
  told.isBroken = true;
  world.produce('s', { value: '{"k":"b","seq":1}' });
  await expect.poll(() => world.log.readCommitted('t').length).toBe(2);
  await expect.poll(() => told.isBroken).toBe(false);
  await expect.poll(() => told.opens, { timeout: 5_000 }).toBeGreaterThan(opens);
  await world.untilCaughtUp(process);
  const flow = { pipeline: 'test', flow: 't', generation: 0, partition: 0 };
  await world.stop(process);
  const session = await world.state.open(flow, Number.MAX_SAFE_INTEGER);
  const [entry] = (await session.read(['{"k":"b"}'])).entries;
  expect(entry).toBeDefined();
});

const truncating = `CREATE SOURCE s (op STRING, k STRING, seq BIGINT);
CREATE STREAMING TABLE t;
CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (k) APPLY AS DELETE WHEN op = 'd'
APPLY AS TRUNCATE WHEN op = 't' SEQUENCE BY seq COLUMNS * EXCEPT (op) STORED AS SCD TYPE 1;`;
const truncate = '{"op":"t","k":null,"seq":9}';

/** Puts each of the texts behind what was there, and lets a process read it. */
async function feed(texts: readonly string[]): Promise<void> {
  const process = await world.startProcess('one');
  for (const value of texts) {
    world.produce('s', { value });
    await world.untilCaughtUp(process);
  }
  await world.stop(process);
}

function rows(): readonly (string | undefined)[] {
  return world.log.readCommitted('t').map(({ value }) => value?.toString());
}

test('FL-25 a truncate that met no rows still counts after a restart', async () => {
  world = worldOf(truncating, 1);
  await feed([truncate]);
  // The level of the delete stands behind that of the truncate: who starts after it reads neither of them.
  await feed(['{"op":"d","k":"a","seq":10}']);
  await feed(['{"op":"u","k":"b","seq":8}']);
  expect(rows().filter((row) => row !== undefined)).toEqual([]);
});

test('FL-25 a truncate and what comes behind it still count after a restart', async () => {
  world = worldOf(truncating, 1);
  await feed([truncate, '{"op":"d","k":"a","seq":10}']);
  await feed(['{"op":"u","k":"b","seq":8}']);
  expect(rows().filter((row) => row !== undefined)).toEqual([]);
});

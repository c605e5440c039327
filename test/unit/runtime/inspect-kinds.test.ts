import { afterEach, describe, expect, test } from 'vitest';
import { keyedFacts } from '../../../src/runtime/inspect/flow-facts.ts';
import { deployedFacts } from '../../../src/runtime/inspect/pipeline-facts.ts';
import { rebuildState, scrubState } from '../../../src/runtime/inspect/state-scrub.ts';
import { flowsOf } from '../../../src/runtime/refresh/refresh-facts.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { planned, worldOf } from '../../support/append-world.ts';
import { packedEntries } from '../../support/packed-entries.ts';

const source = 'CREATE SOURCE s (k STRING, v INT, seq BIGINT);';

let world: PipelineWorld;

afterEach(() => world.close());

function give(k: string, v: unknown, seq: number, partition = 0): void {
  world.produce('s', { value: JSON.stringify({ k, v, seq }) }, partition);
}

async function settled(sql: string): Promise<void> {
  const process = await world.startProcess('one', planned(sql));
  await world.untilCaughtUp(process);
  await world.stop(process);
}

async function options(sql: string, name: string) {
  const catalog = new Catalog(world.log, 'test.catalog');
  await catalog.read();
  const plan = planned(sql);
  const table = plan.tables.find((one) => one.name === name);
  if (table === undefined) throw new Error(plan.tables.map((one) => one.name).join());
  const { log, clock, state } = world;
  const [flow] = flowsOf(plan, table);
  const facts = keyedFacts(await deployedFacts({ log, catalog, plan, pipeline: 'test' }, flow));
  if (facts === undefined) throw new Error('no state');
  const listener = () => undefined;
  const base = { log, catalog, clock, state, plan, facts, listener, pipeline: 'test' };
  return { ...base, command: 'test', token: `t${Math.random()}` };
}

const feed = (more = '') => `${source}
CREATE STREAMING TABLE t;
CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (k) APPLY AS DELETE WHEN v = 0 SEQUENCE BY seq ${more};`;

describe('state scrub reads the state of every kind of table', () => {
  test.each([
    ['AUTO CDC', 't', feed()],
    ['AUTO CDC with history', 't', feed('STORED AS SCD TYPE 2')],
    [
      'DISTINCT',
      't.distinct',
      `${source} CREATE STREAMING TABLE t AS SELECT DISTINCT k, v FROM STREAM(s);`,
    ],
    [
      'a join of two streams',
      't.join',
      `${source} CREATE SOURCE z (k STRING, w INT);
CREATE STREAMING TABLE t AS SELECT x.k, x.v, y.w FROM STREAM(s) x JOIN STREAM(z) y ON x.k = y.k;`,
    ],
  ])('%s', async (_, name, sql) => {
    world = worldOf(sql);
    for (let at = 0; at < 200; at += 1) give(`k${at % 23}`, at % 5, Math.floor(at / 40), at % 2);
    await settled(sql);
    const first = await scrubState(await options(sql, name));
    expect(first.map(({ state, differences }) => [state, differences])).toEqual(
      first.map(() => ['right', 0]),
    );
    expect(first.reduce((sum, { keys }) => sum + keys, 0)).toBeGreaterThan(20);
    const { catalog, clock, facts } = await options(sql, name);
    const partition = first.find(({ keys }) => keys > 2)?.partition ?? 0;
    const { generation, flow } = facts;
    const epoch = await catalog.write([{ kind: 'event', name: 'test', value: {} }], clock.now());
    const task = { pipeline: 'test', flow: flow.name, generation, partition };
    const session = await world.state.open(task, epoch);
    const mark = await session.mark();
    const known: string[] = [];
    for await (const part of session.scan()) known.push(...part.map(([key]) => key));
    if (mark === undefined) throw new Error('no mark');
    await session.write({
      entries: packedEntries(
        known,
        known.map(() => undefined),
      ),
      mark,
    });
    await session.close();
    const damaged = (await scrubState(await options(sql, name)))[partition];
    expect(damaged?.state).toBe('differs');
    expect(damaged?.differences).toBeGreaterThan(1);
    await rebuildState(await options(sql, name));
    const after = await scrubState(await options(sql, name));
    expect(after.map(({ state }) => state)).toEqual(first.map(() => 'right'));
  });
});

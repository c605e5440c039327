import { describe, expect, test } from 'vitest';
import { tableOf } from '../../../src/plan/topology.ts';
import { settledJudge } from '../../../src/runtime/inspect/settled-letters.ts';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { readDeadLetters } from '../../../src/runtime/worker/dead-letters.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';

const asNumber = 'CAST(v AS INT)';
const withoutX = "CAST(regexp_replace(v, 'x$', '') AS INT)";

const shapes: readonly (readonly [string, (value: string) => string])[] = [
  [
    'REPLACE USING',
    (value) => `CREATE STREAMING TABLE t WITH (dead_letter_topic = 'dlq')
      FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, ${value} AS v FROM STREAM(a);`,
  ],
  [
    'append',
    (value) => `CREATE STREAMING TABLE t WITH (dead_letter_topic = 'dlq');
      CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, seq, ${value} AS v FROM STREAM(a);`,
  ],
  [
    'AUTO CDC',
    (value) => `CREATE STREAMING TABLE t WITH (dead_letter_topic = 'dlq');
      CREATE FLOW f AS AUTO CDC INTO t FROM (SELECT k, seq, ${value} AS v FROM STREAM(a))
      KEYS (k) SEQUENCE BY seq;`,
  ],
];

/** Each letter by the offset of its record. */
async function letters(world: RefreshWorld): Promise<readonly string[]> {
  const { log, catalog, pipeline, plan } = await world.outside();
  const found: string[] = [];
  for (const flow of plan.flows) {
    const isSettled = await settledJudge({ log, catalog, pipeline, plan, flow });
    const scope = { log, catalog, pipeline, table: tableOf(plan, flow), flow: flow.name };
    await readDeadLetters(scope, (letter) => {
      found.push(`${letter.offset} ${isSettled(letter) ? 'settled' : 'open'}`);
    });
  }
  return found.sort();
}

async function refreshed(world: RefreshWorld, allowLoss = false): Promise<void> {
  await refreshBeside(await world.besideOptions('t', { allowLoss }));
}

describe.each(shapes)('DL letters after a refresh beside the table: %s', (_, sqlOf) => {
  test('those whose records it could read are settled, the others and those of later records open', async () => {
    const world = new RefreshWorld(sqlOf(asNumber), ['a'], 1);
    const row = (k: string, v: string) => ({ k, seq: 1, v });
    await world.produce('a', 0, row('R1', '1'), row('R2', '2x'), row('R3', 'three'));
    await world.produce('a', 0, row('R4', '4x'));
    await world.update();
    expect(await letters(world)).toEqual(['1 open', '2 open', '3 open']);
    world.sql = sqlOf(withoutX);
    await refreshed(world);
    expect(await letters(world)).toEqual(['1 settled', '2 open', '3 settled']);
    await world.produce('a', 0, row('R5', 'five'));
    await world.update();
    expect(await letters(world)).toEqual(['1 settled', '2 open', '3 settled', '4 open']);
    // A definition that cannot read them any more: what is as bad as before has no second letter, and is open.
    world.sql = sqlOf(asNumber);
    await refreshed(world, true);
    expect(await letters(world)).toEqual(['1 open', '2 open', '3 open', '4 open']);
  });

  test('what it could not read any more is open', async () => {
    const world = new RefreshWorld(sqlOf(asNumber), ['a'], 1);
    await world.produce('a', 0, { k: 'R1', seq: 1, v: '1x' }, { k: 'R2', seq: 1, v: '2x' });
    await world.update();
    await world.log.deleteRecords('a', new Map([[0, 1]]));
    world.sql = sqlOf(withoutX);
    await refreshed(world);
    expect(await letters(world)).toEqual(['0 open', '1 settled']);
  });
});

import { afterEach, describe, expect, test } from 'vitest';
import { incrementalView } from '../../../src/plan/flows/incremental-view.ts';
import { HeldView } from '../../../src/runtime/views/held-view.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { planned, worldOf } from '../../support/append-world.ts';

const source = 'CREATE SOURCE s (k STRING, n INT, seq BIGINT);';
const replaced = `${source}
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, n, seq FROM STREAM(s);
CREATE MATERIALIZED VIEW v AS SELECT n, count(*) AS c FROM t GROUP BY n;`;
const appended = `${source}
CREATE STREAMING TABLE t AS SELECT k, n FROM STREAM(s);
CREATE MATERIALIZED VIEW v AS SELECT n, count(*) AS c FROM t GROUP BY n;`;

let world: PipelineWorld;

afterEach(() => world.close());

function heldOf(sql: string, bytesMax?: number): HeldView {
  const plan = planned(sql);
  const [view] = plan.materializedViews;
  const [table, own] = ['t', 'v'].map((name) => plan.tables.find((one) => one.name === name));
  const divided = view && incrementalView(view);
  if (view === undefined || table === undefined || divided === undefined) throw new Error(sql);
  const { topic } = table;
  return new HeldView({
    log: world.log.connect(),
    view: divided,
    input: {
      kind: 'table',
      name: 't',
      topic,
      partitions: 1,
      table,
      sequenceType: { kind: 'bigint' },
    },
    layout: { columns: own?.columns ?? [], keys: view.keys },
    timeZone: 'UTC',
    nowMicros: 0n,
    ...(bytesMax === undefined ? {} : { bytesMax }),
  });
}

async function give(...records: readonly (readonly [string, number, number])[]): Promise<void> {
  for (const [k, n, seq] of records) {
    world.produce('s', { value: JSON.stringify({ k, n, seq }) });
  }
  const process = await world.startProcess('one');
  await world.untilCaughtUp(process);
  await world.stop(process);
}

const nothing = async () => new Map<string, string>();

async function changesOf(held: HeldView, written = nothing) {
  const found = await held.changes(written);
  if (found === undefined) return undefined;
  held.applied(found);
  const changes = Object.fromEntries(
    [...found.changes].map(([key, record]) => [key, record?.value ?? null]),
  );
  return { changes, read: found.read };
}

describe('FL-28 a view that its owner holds', () => {
  test.each([
    ['of a table whose rows are replaced', replaced],
    ['of a table whose rows are appended', appended],
  ])('%s: only what has come is read, and only its groups are written', async (_, sql) => {
    world = worldOf(sql, 1);
    const held = heldOf(sql);
    await give(['A', 1, 1], ['B', 1, 1], ['C', 2, 1]);
    expect(await changesOf(held)).toEqual({
      changes: { '{"n":1}': '[{"n":1,"c":2}]', '{"n":2}': '[{"n":2,"c":1}]' },
      read: 3,
    });
    expect(await changesOf(held)).toEqual({ changes: {}, read: 0 });
    await give(['D', 2, 1]);
    expect(await changesOf(held)).toEqual({
      changes: { '{"n":2}': '[{"n":2,"c":2}]' },
      read: 1,
    });
    expect(held.rows).toBe(2);
  });

  test('a row that goes to another group changes both, and an empty group is gone', async () => {
    world = worldOf(replaced, 1);
    const held = heldOf(replaced);
    await give(['A', 1, 1], ['B', 2, 1]);
    await changesOf(held);
    await give(['A', 2, 2]);
    expect((await changesOf(held))?.changes).toEqual({
      '{"n":1}': null,
      '{"n":2}': '[{"n":2,"c":2}]',
    });
  });

  test('what stands in the topic of the view from before is compared with one time', async () => {
    world = worldOf(replaced, 1);
    await give(['A', 1, 1], ['B', 2, 1]);
    const before = new Map([
      ['{"n":1}', '[{"n":1,"c":1}]'],
      ['{"n":7}', '[{"n":7,"c":3}]'],
    ]);
    expect((await changesOf(heldOf(replaced), async () => before))?.changes).toEqual({
      '{"n":2}': '[{"n":2,"c":1}]',
      '{"n":7}': null,
    });
  });

  test('a table that was emptied, and one that is too large, are computed as a whole', async () => {
    world = worldOf(appended, 1);
    const held = heldOf(appended);
    await give(['A', 1, 1], ['B', 2, 1]);
    await changesOf(held);
    await world.log.deleteRecords('t', new Map([[0, 2]]));
    expect(await changesOf(held)).toBeUndefined();
    await world.close();
    world = worldOf(appended, 1);
    await give(['A', 1, 1], ['B', 2, 1]);
    expect(await changesOf(heldOf(appended, 10))).toBeUndefined();
  });
});

import { expect, test } from 'vitest';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { cancelRefresh } from '../../../src/runtime/refresh/refresh-cancel.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { RefreshWorld, type SourceRow, tableText } from '../../support/refresh-world.ts';

const sql = `CREATE STREAMING TABLE t
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);`;
const flags = { keepUnrecoverable: true };

function row(at: number, seq = 1): SourceRow {
  return { k: `R${at}`, seq, v: 'x' };
}

function lines(from: number, to: number): string[] {
  const all = Array.from({ length: to - from }, (_, at) => row(from + at));
  return all.map((one) => JSON.stringify(one)).sort();
}

/** Forty keys, of which the first twenty have expired. */
async function opened(): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.produce('a', 0, ...Array.from({ length: 40 }, (_, at) => row(at)));
  await world.update();
  await world.log.deleteRecords('a', new Map([[0, 20]]));
  return world;
}

/** Nothing of a refresh is left but its end. */
async function expectClean(world: RefreshWorld): Promise<void> {
  const roles = ['output', 'repartition', 'levels'].map((role) => `p.t.refresh.${role}`);
  expect([...(await world.log.describeTopics(roles)).keys()]).toEqual([]);
  const { catalog } = await world.outside();
  expect(catalog.all('lock')).toEqual([]);
  expect(catalog.all('flow').map(({ name }) => name)).toEqual(['t']);
}

type Step = 'building generation' | 'reading what has come' | 'swapping in';

/** A refresh beside the table, during which something else happens at one of its steps. */
async function refreshWhile(
  world: RefreshWorld,
  step: Step,
  happens: () => Promise<unknown>,
): Promise<{ readonly refresh: unknown; readonly other: unknown }> {
  let other: Promise<unknown> | undefined;
  const outcome = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'done',
      (error: { readonly code?: string }) => error.code ?? error,
    );
  const refresh = await outcome(
    refreshBeside({
      ...(await world.besideOptions('t', flags)),
      waitMs: 5_000,
      onStep: (text) => {
        if (text.includes(step)) other ??= outcome(happens());
      },
    }),
  );
  expect(other, step).toBeDefined();
  return { refresh, other: await other };
}

test('FR-04 two refreshes at once: one goes its way, the other stops, and the table is right', async () => {
  const world = await opened();
  const attempts = await Promise.allSettled(
    [1, 2].map(async () => refreshBeside(await world.besideOptions('t', flags))),
  );
  for (const attempt of attempts) {
    if (attempt.status === 'fulfilled') continue;
    expect(attempt.reason).toMatchObject({
      code: expect.stringMatching(/TABLE_LOCKED|GROUP_BUSY|TASK_MIGRATED/),
    });
  }
  // Whoever was stopped by the other is started once more.
  await refreshBeside(await world.besideOptions('t', flags));
  await world.update();
  expect(tableText(await world.table('t'))).toEqual(lines(0, 40));
  await expectClean(world);
});

test.each(['building generation', 'reading what has come'] as const)(
  'FR-05 what expires while it stands at "%s" is kept or refused as what had expired before',
  async (step) => {
    const world = await opened();
    const expire = () => world.log.deleteRecords('a', new Map([[0, 35]]));
    expect((await refreshWhile(world, step, expire)).refresh).toBe('done');
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(lines(0, 40));
    await expectClean(world);
  },
);

test.each(['building generation', 'reading what has come', 'swapping in'] as const)(
  'FR-04 the state is lost while it stands at "%s": it goes on, or the next attempt does',
  async (step) => {
    const world = await opened();
    const { refresh } = await refreshWhile(world, step, () => world.state.close());
    if (refresh !== 'done') await refreshBeside(await world.besideOptions('t', flags));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(lines(0, 40));
    await expectClean(world);
  },
);

test('FR-23 a source is created again after it was built: the next attempt builds anew', async () => {
  const world = await opened();
  const recreate = async (): Promise<void> => {
    world.recreate('a');
    await world.produce('a', 0, row(0, 2));
  };
  const { refresh } = await refreshWhile(world, 'reading what has come', recreate);
  expect(refresh).toBe('TOPIC_RECREATED');
  expect(tableText(await world.table('t'))).toEqual(lines(0, 40));
  await refreshBeside(await world.besideOptions('t', flags));
  await world.update();
  const expected = [JSON.stringify(row(0, 2)), ...lines(1, 40)].sort();
  expect(tableText(await world.table('t'))).toEqual(expected);
  await expectClean(world);
});

test('FR-04 cancelled while it swaps: refused, and the refresh comes to its end', async () => {
  const world = await opened();
  const cancel = async () => cancelRefresh(await world.cancelOptions('t', flags));
  expect(await refreshWhile(world, 'swapping in', cancel)).toEqual({
    refresh: 'done',
    other: 'TABLE_LOCKED',
  });
  await world.update();
  expect(tableText(await world.table('t'))).toEqual(lines(0, 40));
  await expectClean(world);
});

test('FR-35 instances come and go while it builds and swaps', async () => {
  const world = await opened();
  const first = await world.service('one');
  let second: Awaited<ReturnType<RefreshWorld['service']>> | undefined;
  const { refresh } = await refreshWhile(world, 'building generation', async () => {
    second = await world.service('two');
    await first.stop();
  });
  if (refresh !== 'done') await refreshBeside(await world.besideOptions('t', flags));
  await world.produce('a', 0, row(40));
  await expect
    .poll(async () => tableText(await world.table('t')), { timeout: 10_000 })
    .toEqual(lines(0, 41));
  await second?.stop();
  await expectClean(world);
});

test('FR-10 a record of somebody else in the output stops it before anything is changed', async () => {
  const world = await opened();
  world.log.produce('t', 0, { key: 'not ours', value: '1' });
  for (const refresh of [refreshBeside, refreshInPlace]) {
    await expect(refresh(await world.besideOptions('t', flags))).rejects.toMatchObject({
      code: 'RECORD_CORRUPT',
    });
    await expectClean(world);
  }
  expect((await world.outside()).catalog.all('refresh')).toEqual([]);
});

test('FR-10 a table that moves to a topic of another pipeline is refused, and the topic stays theirs', async () => {
  const world = await opened();
  const before = world.log.readCommitted('t').length;
  world.pipeline = 'q';
  world.sql = sql.replace('TABLE t', "TABLE t WITH (topic = 'u')");
  await world.update();
  world.sql = sql;
  for (const [refresh, code] of [
    [refreshBeside, 'DEFINITION_CHANGED'],
    [refreshInPlace, 'TOPIC_CONFIG'],
  ] as const) {
    const options = await world.besideOptions('t', { allowLoss: true });
    await expect(refresh(options)).rejects.toMatchObject({ code });
  }
  expect(world.log.readCommitted('t')).toHaveLength(before);
  expect((await world.outside()).catalog.get('topic', 't')).toBeUndefined();
  expect((await world.outside()).catalog.all('lock')).toEqual([]);
});

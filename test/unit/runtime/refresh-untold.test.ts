import { describe, expect, test } from 'vitest';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { lostCatalog } from '../../../src/runtime/topics/lost-catalog.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

const keys = ['R1', 'R2', 'R3', 'R4', 'R5'];
const sql =
  'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);';

function lines(...some: readonly string[]): string[] {
  return some.map((k) => JSON.stringify({ k, seq: 1, v: 'x' }));
}

/** Five keys that were read, of which the source has only those behind `expired`. */
async function readWorld(expired: number): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.produce('a', 0, ...keys.map((k) => ({ k, seq: 1, v: 'x' })));
  await world.update();
  if (expired > 0) await world.log.deleteRecords('a', new Map([[0, expired]]));
  return world;
}

describe('FR-05 FR-07 the topic of the table is gone', () => {
  test.each(['missing', 'recreated'] as const)(
    '%s: of a source that has expired partly nobody can tell what is lost',
    async (state) => {
      const world = await readWorld(3);
      if (state === 'missing') world.log.deleteTopic('t');
      else {
        world.log.deleteTopic('t');
        world.log.createTopic('t', 1, { 'cleanup.policy': 'compact' });
      }
      expect((await world.preview('t')).report).toMatchObject({
        lossless: false,
        untold: {
          ...{ topic: 't', state, holdsRows: false },
          sources: [{ topic: 'a', partition: 0, logStart: 3, committed: 5, reason: 'expired' }],
        },
      });
      const refusal = {
        code: 'DATA_LOSS_REFUSED',
        detail: expect.stringContaining('a/0 starts at 3, and the flow has read up to 5'),
        hint: expect.stringContaining('tidemark refresh t --in-place --allow-loss'),
      };
      await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject(refusal);
      const keeping = await world.runOptions('t', { keepUnrecoverable: true });
      await expect(refreshInPlace(keeping)).rejects.toMatchObject(refusal);
      const accepting = await world.runOptions('t', { allowLoss: true });
      expect(await refreshInPlace(accepting)).toMatchObject({ untold: { topic: 't', state } });
      await world.update();
      expect(tableText(await world.table('t'))).toEqual(lines('R4', 'R5'));
    },
  );

  test('where the source has every record nothing is lost, and nobody has to accept it', async () => {
    const world = await readWorld(0);
    world.log.deleteTopic('t');
    expect((await world.preview('t')).report).toMatchObject({ lossless: true, untold: null });
    await refreshInPlace(await world.runOptions('t'));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(lines(...keys));
  });

  test('a source that was created again, or lost its end, has not what was read of it', async () => {
    const world = await readWorld(0);
    world.log.deleteTopic('t');
    world.recreate('a');
    expect((await world.preview('t')).report.untold?.sources).toMatchObject([
      { reason: 'elsewhere' },
    ]);
  });

  test('beside a table without its topic nothing is built, and the error says what is missing', async () => {
    const world = await readWorld(3);
    world.log.deleteTopic('t');
    await expect(
      refreshBeside(await world.besideOptions('t', { allowLoss: true })),
    ).rejects.toMatchObject({
      code: 'TOPIC_MISSING',
      hint: expect.stringContaining('tidemark refresh t --in-place'),
    });
  });

  test('created again with rows of a copy: they are kept beside, or what is lost is not told', async () => {
    const world = await readWorld(3);
    const copy = world.log.readCommitted('t').filter(({ key }) => String(key).includes('R1'));
    world.log.deleteTopic('t');
    world.log.createTopic('t', 1, { 'cleanup.policy': 'compact' });
    for (const { key, value, headers } of copy) {
      const all = Object.fromEntries(headers.map((one) => [one.key, one.value ?? '']));
      world.log.produce('t', 0, { key, value, headers: all });
    }
    await expect(refreshBeside(await world.besideOptions('t'))).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
      hint: expect.stringContaining('--keep-unrecoverable'),
    });
    const options = await world.besideOptions('t', { keepUnrecoverable: true });
    expect(await refreshBeside(options)).toMatchObject({ untold: { state: 'recreated' } });
    expect(tableText(await world.table('t'))).toEqual(lines('R1', 'R4', 'R5'));
  });

  test('the levels of empty keys are gone: an older row may rise', async () => {
    const world = new RefreshWorld(
      'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq APPLY AS EMPTY WHEN (gone) BY NAME SELECT k, seq, v, gone FROM STREAM(a);',
      ['a'],
      1,
    );
    await world.produce(
      ...(['a', 0, { k: 'x', seq: 1, v: 'x' }] as const),
      { k: 'x', seq: 2, v: '', gone: true },
      { k: 'y', seq: 1, v: 'x' },
    );
    await world.update();
    await world.log.deleteRecords('a', new Map([[0, 3]]));
    const [levels] = [...(await world.log.describeTopics(['p.t.levels'])).keys()];
    expect(levels).toBe('p.t.levels');
    world.log.deleteTopic('p.t.levels');
    expect((await world.preview('t')).report).toMatchObject({
      lossless: false,
      untold: { topic: 'p.t.levels', state: 'missing', holdsRows: true },
    });
    await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
      hint: expect.stringContaining('--keep-unrecoverable'),
    });
    await refreshInPlace(await world.runOptions('t', { keepUnrecoverable: true }));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual([
      JSON.stringify({ k: 'y', seq: 1, v: 'x', gone: null }),
    ]);
  });

  test('the refusal of a start names the table', async () => {
    const world = await readWorld(0);
    world.log.deleteTopic('t');
    await expect(world.update()).rejects.toMatchObject({
      code: 'TOPIC_MISSING',
      hint: expect.stringContaining('tidemark refresh t --plan'),
    });
  });
});

test('FR-31 without a catalog topic it is told what is missing', async () => {
  const world = await readWorld(0);
  const told = async (pipeline: string) => {
    const { log, plan } = world;
    const [table] = plan.tables;
    if (table === undefined) throw new Error('no table');
    return lostCatalog({ log, plan, pipeline, table });
  };
  world.log.deleteTopic('p.catalog');
  expect(await told('p')).toMatchObject({
    code: 'DEFINITION_MISSING',
    message: 'catalog topic "p.catalog" is gone',
    hint: expect.stringContaining('tidemark refresh t --in-place --keep-unrecoverable'),
  });
  expect(await told('other')).toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('neither a catalog nor a checkpoint, and topic "t" holds'),
  });
  world.log.deleteTopic('t');
  expect(await told('other')).toMatchObject({ message: 'pipeline "other" never ran' });
});

describe('FR-31 the catalog is gone, and the source has expired partly', () => {
  test.each([true, false])(
    'the rows are kept (a start made the catalog anew: %s)',
    async (isNew) => {
      const world = await readWorld(3);
      world.log.deleteTopic('p.catalog');
      if (isNew) await expect(world.update()).rejects.toMatchObject({ code: 'DEFINITION_MISSING' });
      else world.log.createTopic('p.catalog', 1, { 'cleanup.policy': 'compact' });
      await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject({
        code: 'DATA_LOSS_REFUSED',
        hint: expect.stringContaining('--in-place --keep-unrecoverable'),
      });
      await expect(
        refreshBeside(await world.besideOptions('t', { keepUnrecoverable: true })),
      ).rejects.toMatchObject({
        code: 'DEFINITION_MISSING',
        hint: expect.stringContaining('tidemark refresh t --in-place --keep-unrecoverable'),
      });
      await refreshInPlace(await world.runOptions('t', { keepUnrecoverable: true }));
      expect(tableText(await world.table('t'))).toEqual(lines('R1', 'R2', 'R3'));
      await world.update();
      expect(tableText(await world.table('t'))).toEqual(lines(...keys));
    },
  );
});

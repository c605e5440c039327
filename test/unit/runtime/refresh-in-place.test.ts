import { describe, expect, test } from 'vitest';
import { outcomeText } from '../../../src/cli/refresh-text.ts';
import type { RefreshMode } from '../../../src/refresh/refresh-request.ts';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { foreseenRefusal } from '../../../src/runtime/refresh/refresh-refusals.ts';
import { openCatalog } from '../../../src/runtime/topics/catalog.ts';
import { refreshThroughCrashes, updateOrLocked } from '../../support/refresh-crashes.ts';
import { RefreshWorld, type SourceRow, tableText } from '../../support/refresh-world.ts';

const select = 'SELECT k, seq, v FROM STREAM(a)';

function sqlOf(options = '', query = select, sequence = 'seq'): string {
  return `CREATE STREAMING TABLE t ${options} FLOW REPLACE USING (k) SEQUENCE BY ${sequence} BY NAME ${query};`;
}

function row(k: string, seq: number, v: string, gone = false): SourceRow {
  return { k, seq, v, gone };
}

function lines(...rows: readonly (readonly [string, number, string])[]): string[] {
  return rows.map(([k, seq, v]) => JSON.stringify({ k, seq, v })).sort();
}

/** Six keys in one partition, of which the first three have expired. */
async function expiredWorld(options = ''): Promise<RefreshWorld> {
  const world = new RefreshWorld(sqlOf(options), ['a'], 1);
  await world.produce('a', 0, ...['R1', 'R2', 'R3', 'R4', 'R5', 'R6'].map((k) => row(k, 1, 'x')));
  await world.update();
  await world.log.deleteRecords('a', new Map([[0, 3]]));
  return world;
}

describe.each(['', "WITH (output = 'rows')"])('P055 refresh --in-place %s', (options) => {
  test('FR-05 refused where anything would be lost, and nothing is touched', async () => {
    const world = await expiredWorld(options);
    const before = world.log.readCommitted('t').length;
    await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
      detail: expect.stringContaining('Keys: 3, rows: 3'),
      hint: expect.stringMatching(/--allow-loss.*--keep-unrecoverable/),
    });
    expect(world.log.readCommitted('t')).toHaveLength(before);
    // The flow is not held any more.
    await world.update();
    expect(tableText(await world.table('t'))).toHaveLength(6);
  });

  test('FR-01 FR-02 with --allow-loss the table is a function of what the source still has', async () => {
    const world = await expiredWorld(options);
    const outcome = await refreshInPlace(await world.runOptions('t', { allowLoss: true }));
    expect(outcome).toMatchObject({ generation: 1, buried: 6, lost: { keys: 3, rows: 3 } });
    expect(await world.table('t')).toEqual(new Map());
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(
      lines(['R4', 1, 'x'], ['R5', 1, 'x'], ['R6', 1, 'x']),
    );
    const headers = world.log.readCommitted('t').at(-1)?.headers;
    expect(headers?.find(({ key }) => key === 'tm-gen')?.value?.toString()).toBe('1');
  });

  test('with --keep-unrecoverable what can not be read again stays, and takes part in the merge', async () => {
    const world = await expiredWorld(options);
    const outcome = await refreshInPlace(await world.runOptions('t', { keepUnrecoverable: true }));
    expect(outcome).toMatchObject({ buried: 3, published: 0, lost: { keys: 0 } });
    expect(outcome.kept).toEqual({ keys: 3, rows: 3, levels: 0 });
    expect(outcomeText(outcome)).toBe(
      'table t is in generation 1: records written: 0, removed: 3, kept though it can not be read again: keys: 3, rows: 3; nothing was lost. The next run fills it: tidemark run.\n',
    );
    expect(tableText(await world.table('t'))).toEqual(
      lines(['R1', 1, 'x'], ['R2', 1, 'x'], ['R3', 1, 'x']),
    );
    await world.produce('a', 0, row('R1', 1, 'tie'), row('R2', 2, 'newer'), row('R3', 0, 'late'));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(
      lines(
        ['R1', 1, 'tie'],
        ['R1', 1, 'x'],
        ['R2', 2, 'newer'],
        ['R3', 1, 'x'],
        ['R4', 1, 'x'],
        ['R5', 1, 'x'],
        ['R6', 1, 'x'],
      ),
    );
  });

  test('a row-set of which only a part can be read again is whole afterwards', async () => {
    const world = new RefreshWorld(sqlOf(options), ['a'], 1);
    await world.produce(
      'a',
      0,
      row('R1', 5, 'a'),
      row('R1', 5, 'b'),
      row('R1', 5, 'c'),
      row('R1', 4, 'old'),
    );
    await world.update();
    await world.log.deleteRecords('a', new Map([[0, 1]]));
    const before = tableText(await world.table('t'));
    await refreshInPlace(await world.runOptions('t', { keepUnrecoverable: true }));
    expect(tableText(await world.table('t'))).toEqual(lines(['R1', 5, 'a']));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(before);
  });

  test('FR-46 levels are forgotten: a row older than the former one is accepted', async () => {
    const world = new RefreshWorld(sqlOf(options), ['a'], 1);
    await world.produce('a', 0, row('R1', 9, 'high'), row('R1', 3, 'low'));
    await world.update();
    await world.log.deleteRecords('a', new Map([[0, 1]]));
    await refreshInPlace(await world.runOptions('t', { allowLoss: true }));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(lines(['R1', 3, 'low']));
  });

  test('FR-03 nothing of the checkpoints is left', async () => {
    const world = await expiredWorld(options);
    await refreshInPlace(await world.runOptions('t', { allowLoss: true }));
    expect((await world.log.committedOffsets('p.t', 'a', [0])).size).toBe(0);
    expect((await world.log.committedOffsets('p.t', 'p.t.repartition', [0])).size).toBe(0);
    const range = (await world.log.offsetRanges('p.t.repartition', [0])).get(0);
    expect(range?.start).toBe(range?.end);
    const catalog = await openCatalog(world.log, 'p.catalog');
    expect(catalog?.all('checkpoint')).toEqual([]);
    expect(catalog?.all('lock')).toEqual([]);
  });

  test('FR-03 nor of the state, once the next run has taken the flow over', async () => {
    const world = await expiredWorld(options);
    const entriesOf = async (generation: number): Promise<number> => {
      const task = { pipeline: 'p', flow: 't', generation, partition: 0 };
      const session = await world.state.open(task, Number.MAX_SAFE_INTEGER);
      return session.keyCount();
    };
    await refreshInPlace(await world.runOptions('t', { allowLoss: true }));
    await world.update();
    expect([await entriesOf(0), await entriesOf(1)]).toEqual([0, 3]);
  });

  test('FR-03 nor where refreshes followed each other without a run between them', async () => {
    const world = await expiredWorld(options);
    const stateOf = (generation: number) =>
      world.state.image({ pipeline: 'p', flow: 't', generation, partition: 0 });
    expect(stateOf(0)?.entries.size).toBe(6);
    for (let refreshes = 0; refreshes < 3; refreshes += 1) {
      await refreshInPlace(await world.runOptions('t', { allowLoss: true }));
    }
    await world.update();
    expect([0, 1, 2].map(stateOf)).toEqual([undefined, undefined, undefined]);
    expect(stateOf(3)?.entries.size).toBe(3);
  });
});

describe('levels of empty keys', () => {
  const sql = sqlOf('', 'SELECT k, seq, v, gone FROM STREAM(a)', 'seq APPLY AS EMPTY WHEN (gone)');

  async function emptied(): Promise<RefreshWorld> {
    const world = new RefreshWorld(sql, ['a'], 1);
    await world.produce('a', 0, row('R1', 9, '', true), row('R1', 3, 'old'), row('R2', 1, 'x'));
    await world.update();
    // The marker expires before the row that it keeps dead.
    await world.log.deleteRecords('a', new Map([[0, 1]]));
    return world;
  }

  test('a level that can not be read again counts as lost: an older row would rise', async () => {
    const world = await emptied();
    await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
      detail: expect.stringContaining('levels of empty keys: 1'),
    });
    const outcome = await refreshInPlace(await world.runOptions('t', { allowLoss: true }));
    // One row, the level, and the tombstone that told it.
    expect(outcome).toMatchObject({ buried: 3, buriedLevels: 2, lost: { levels: 1 } });
    expect(outcomeText(outcome)).toContain('removed: 3 (2 of them about keys without rows)');
    await world.update();
    expect([...(await world.table('t')).keys()].sort()).toEqual(['{"k":"R1"}', '{"k":"R2"}']);
  });

  test('kept, it keeps the older row dead', async () => {
    const world = await emptied();
    const kept = await refreshInPlace(await world.runOptions('t', { keepUnrecoverable: true }));
    expect(kept).toMatchObject({ buriedLevels: 0, kept: { rows: 0, levels: 1 } });
    await world.update();
    expect([...(await world.table('t')).keys()]).toEqual(['{"k":"R2"}']);
  });
});

describe('other definitions', () => {
  test('P107 FR-13 another key: emptied under the former key, filled under the new one', async () => {
    const world = new RefreshWorld(sqlOf(), ['a'], 1);
    await world.produce('a', 0, row('R1', 1, 'x'), row('R2', 2, 'x'));
    await world.update();
    world.sql = sqlOf().replace('(k)', '(v)');
    await expect(world.update()).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
    await refreshInPlace(await world.runOptions('t'));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(lines(['R2', 2, 'x']));
  });

  test('FR-19 records of another form need another topic', async () => {
    const world = new RefreshWorld(sqlOf(), ['a'], 1);
    await world.produce('a', 0, row('R1', 1, 'x'), row('R1', 1, 'y'));
    await world.update();
    world.sql = sqlOf("WITH (output = 'rows')");
    await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject({
      code: 'DEFINITION_CHANGED',
      hint: expect.stringMatching(/another topic .*tidemark refresh t --in-place/),
    });
    await expect(world.update()).rejects.toMatchObject({
      code: 'DEFINITION_CHANGED',
      hint: expect.stringMatching(/another topic .*tidemark refresh t --in-place/),
    });
    world.sql = sqlOf("WITH (output = 'rows', topic = 'u')");
    await expect(world.update()).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
    await refreshInPlace(await world.runOptions('t'));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(lines(['R1', 1, 'x'], ['R1', 1, 'y']));
    expect(world.log.readCommitted('t')).toHaveLength(1);
  });

  test('FR-19 another number of partitions needs another topic and another flow', async () => {
    const world = new RefreshWorld(sqlOf('WITH (partitions = 2)'), ['a'], 1);
    await world.produce('a', 0, row('R1', 1, 'x'), row('R2', 1, 'y'));
    await world.update();
    const way = { hint: expect.stringMatching(/another topic.* its flow a new name/) };
    world.sql = sqlOf('WITH (partitions = 4)');
    await expect(world.update()).rejects.toMatchObject(way);
    await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject(way);
    // What flow t keeps has two: it could never fill the topic that it would be emptied for.
    world.sql = sqlOf("WITH (partitions = 4, topic = 'u')");
    await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject({
      code: 'TOPIC_PARTITIONS',
      ...way,
    });
    world.sql = `CREATE STREAMING TABLE t WITH (partitions = 4, topic = 'u');
CREATE FLOW g AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq ${select};`;
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(lines(['R1', 1, 'x'], ['R2', 1, 'y']));
  });

  test('FL-21 a table that append flows wrote is told apart, before anything is read of it', async () => {
    const world = new RefreshWorld(`CREATE STREAMING TABLE t AS ${select};`, ['a'], 1);
    await world.produce('a', 0, row('R1', 1, 'x'));
    await world.update();
    world.sql = sqlOf();
    const refused = {
      code: 'DEFINITION_CHANGED',
      hint: expect.stringMatching(/another topic .*tidemark refresh t --in-place/),
    };
    await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject(refused);
    const { catalog, plan } = await world.outside();
    const [table] = plan.tables;
    if (table === undefined) throw new Error('the pipeline has a table');
    const asked = { catalog, plan, table };
    const request = {
      table: 't',
      mode: 'in_place',
      allowLoss: true,
      keepUnrecoverable: false,
    } as const;
    const facts = await world.facts('t');
    expect(() => foreseenRefusal(asked, request, facts)).toThrow(
      expect.objectContaining({ code: 'DEFINITION_CHANGED' }),
    );
  });

  test('FR-13 what a refresh beside the table is refused for is foreseen', async () => {
    const world = new RefreshWorld(sqlOf(), ['a'], 1);
    await world.produce('a', 0, row('R1', 1, 'x'));
    await world.update();
    world.sql = sqlOf().replace('(k)', '(v)');
    const { catalog, plan } = await world.outside();
    const [table] = plan.tables;
    if (table === undefined) throw new Error('the pipeline has a table');
    const facts = await world.facts('t');
    const of = (mode: RefreshMode) =>
      foreseenRefusal(
        { catalog, plan, table },
        { table: 't', mode, allowLoss: false, keepUnrecoverable: false },
        facts,
      );
    expect(of('beside')?.hint).toContain('--in-place');
    expect(of('in_place')).toBeUndefined();
  });

  test('rows of another form can not be kept', async () => {
    const world = await expiredWorld();
    world.sql = sqlOf('', 'SELECT k, seq, v AS w FROM STREAM(a)');
    await expect(
      refreshInPlace(await world.runOptions('t', { keepUnrecoverable: true })),
    ).rejects.toMatchObject({
      code: 'DEFINITION_CHANGED',
      detail: expect.stringContaining('FR-12'),
    });
  });

  test('DISTINCT: a row is lost only where none that equals it can be read', async () => {
    const world = new RefreshWorld(sqlOf('', 'SELECT DISTINCT k, seq, v FROM STREAM(a)'), ['a'], 1);
    await world.produce(
      'a',
      0,
      row('R1', 1, 'x'),
      row('R2', 1, 'y'),
      row('R1', 1, 'x'),
      row('R2', 1, 'z'),
    );
    await world.update();
    const before = tableText(await world.table('t'));
    await world.log.deleteRecords('a', new Map([[0, 2]]));
    await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject({
      detail: expect.stringContaining('Keys: 1, rows: 1'),
    });
    await refreshInPlace(await world.runOptions('t', { keepUnrecoverable: true }));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(before);
  });
});

describe('with the service running', () => {
  test.each([
    ['REPLACE USING', sqlOf()],
    ['append', `CREATE STREAMING TABLE t AS ${select};`],
  ])('FR-35 it lets go of the flow, and fills the table by itself: %s', async (_, sql) => {
    const world = new RefreshWorld(sql, ['a'], 1);
    await world.produce('a', 0, ...['R1', 'R2', 'R3'].map((k) => row(k, 1, 'x')));
    const services = [await world.service('one'), await world.service('two')];
    const rowsNow = async (): Promise<string[]> => {
      const from = (await world.log.offsetRanges('t', [0])).get(0)?.start ?? 0;
      if (sql === sqlOf()) return tableText(await world.table('t'));
      const records = world.log.readCommitted('t').filter(({ offset }) => offset >= from);
      return records.map(({ value }) => String(value)).sort();
    };
    await expect.poll(rowsNow, { timeout: 5_000 }).toHaveLength(3);
    await world.log.deleteRecords('a', new Map([[0, 1]]));
    await refreshInPlace({ ...(await world.runOptions('t', { allowLoss: true })), waitMs: 5_000 });
    await world.produce('a', 0, row('R4', 1, 'x'));
    const expected = lines(['R2', 1, 'x'], ['R3', 1, 'x'], ['R4', 1, 'x']);
    await expect.poll(rowsNow, { timeout: 10_000 }).toEqual(expected);
    for (const service of services) await service.stop();
  });
});

describe('crashes', () => {
  test.each([
    ['allowLoss', true, 3],
    ['allowLoss', false, 4],
    ['keepUnrecoverable', true, 4],
    ['keepUnrecoverable', false, 3],
  ] as const)(
    'FR-04 killed at every call, it goes on and ends the same: %s, effect %s',
    async (flag, hasEffect, step) => {
      const expected = lines(
        ...(flag === 'allowLoss'
          ? []
          : ([
              ['R1', 1, 'x'],
              ['R2', 1, 'x'],
              ['R3', 1, 'x'],
            ] as const)),
        ['R4', 1, 'x'],
        ['R5', 1, 'x'],
        ['R6', 1, 'x'],
      );
      await refreshThroughCrashes({
        open: expiredWorld,
        refresh: async (world, log) =>
          refreshInPlace(await world.runOptions('t', { [flag]: true }, log)),
        flow: 't',
        // Nobody runs on half of it.
        between: async (world) => {
          if ((await updateOrLocked(world)) !== 'ran') return;
          expect([6, expected.length]).toContain(tableText(await world.table('t')).length);
        },
        check: async (world, killedAt) => {
          expect(tableText(await world.table('t')), killedAt).toEqual(expected);
        },
        hasEffect,
        step,
      });
    },
    120_000,
  );
});

test('FL-17 FL-18 what a once flow computed into replaced rows is computed again, in place only', async () => {
  const world = new RefreshWorld(
    `CREATE STREAMING TABLE t;
CREATE FLOW o AS INSERT INTO ONCE t BY NAME REPLACE USING (k) SEQUENCE BY seq
SELECT k, count(*) AS seq, max(v) AS v FROM a GROUP BY k;`,
    ['a'],
    1,
  );
  await world.produce('a', 0, row('R1', 1, 'x'), row('R1', 2, 'y'));
  await world.update();
  await world.produce('a', 0, row('R1', 3, 'z'), row('R2', 1, 'x'));
  await world.update();
  expect(tableText(await world.table('t'))).toEqual(lines(['R1', 2, 'y']));
  await expect(refreshBeside(await world.besideOptions('t'))).rejects.toMatchObject({
    message: 'table "t" is refreshed in place only',
  });
  await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject({
    code: 'DATA_LOSS_REFUSED',
  });
  await refreshInPlace(await world.runOptions('t', { allowLoss: true }));
  await world.update();
  const after = lines(['R1', 3, 'z'], ['R2', 1, 'x']);
  expect(tableText(await world.table('t'))).toEqual(after);
  await world.produce('a', 0, row('R3', 1, 'x'));
  await world.update();
  expect(tableText(await world.table('t'))).toEqual(after);
});

test('a table whose topic was given more partitions is not emptied before what its flow keeps has them, too', async () => {
  const world = new RefreshWorld(
    `CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq APPLY AS EMPTY WHEN (gone)
     BY NAME SELECT k, seq, v, gone FROM STREAM(a);`,
    ['a'],
    1,
  );
  await world.produce('a', 0, { k: 'R1', seq: 1, v: 'x' }, { k: 'R2', seq: 1, v: 'y' });
  await world.update();
  const before = tableText(await world.table('t'));
  world.log.addPartitions('t', 2);
  await expect(world.update()).rejects.toMatchObject({ code: 'TOPIC_PARTITIONS' });
  await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject({
    code: 'TOPIC_PARTITIONS',
    detail: expect.stringMatching(/"p\.t\.repartition" has 1, "p\.t\.levels" has 1/),
  });
  expect(tableText(await world.table('t'))).toEqual(before);
  // What the hint says.
  world.log.addPartitions('p.t.repartition', 2);
  world.log.addPartitions('p.t.levels', 2);
  await refreshInPlace(await world.runOptions('t'));
  await world.update();
  expect(tableText(await world.table('t'))).toEqual(before);
});

import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { cancelRefresh } from '../../../src/runtime/refresh/refresh-cancel.ts';
import { skipRecord } from '../../../src/runtime/refresh/refresh-skip.ts';
import { openCatalog } from '../../../src/runtime/topics/catalog.ts';
import { lockFlows, unlockFlows } from '../../../src/runtime/topics/locks.ts';
import { stopOf } from '../../../src/runtime/worker/stops.ts';
import { Random } from '../../../src/testing/random.ts';
import { FailingLog } from '../../support/failing-log.ts';
import { refreshThroughCrashes, updateOrLocked } from '../../support/refresh-crashes.ts';
import {
  type KnownRecord,
  RefreshWorld,
  type SourceRow,
  tableText,
} from '../../support/refresh-world.ts';

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

const modes = ['', "WITH (output = 'rows')"];

async function expiredWorld(options = ''): Promise<RefreshWorld> {
  const world = new RefreshWorld(sqlOf(options), ['a'], 1);
  await world.produce('a', 0, ...['R1', 'R2', 'R3', 'R4', 'R5', 'R6'].map((k) => row(k, 1, 'x')));
  await world.update();
  await world.log.deleteRecords('a', new Map([[0, 3]]));
  return world;
}

async function expectClean(world: RefreshWorld): Promise<void> {
  const catalog = await openCatalog(world.log, 'p.catalog');
  const left = [...(catalog?.all('flow') ?? []), ...(catalog?.all('checkpoint') ?? [])];
  expect(left.filter(({ name }) => name.includes('.refresh'))).toEqual([]);
  expect(catalog?.all('lock')).toEqual([]);
  const topics = ['output', 'repartition', 'levels'].map((name) => `p.t.refresh.${name}`);
  expect((await world.log.describeTopics(topics)).size).toBe(0);
}

describe.each(modes)('refresh beside the table %s', (options) => {
  test('where nothing changed and nothing is lost not one record is written', async () => {
    const world = new RefreshWorld(sqlOf(options), ['a'], 2);
    await world.produce('a', 0, row('R1', 1, 'x'), row('R1', 1, 'y'), row('R2', 1, 'x'));
    await world.update();
    const before = world.log.readCommitted('t').length;
    const outcome = await refreshBeside(await world.besideOptions('t'));
    expect(outcome).toMatchObject({ mode: 'beside', generation: 1, published: 0, buried: 0 });
    expect(world.log.readCommitted('t')).toHaveLength(before);
    await expectClean(world);
    await world.produce('a', 1, row('R2', 2, 'new'));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(
      lines(['R1', 1, 'x'], ['R1', 1, 'y'], ['R2', 2, 'new']),
    );
  });

  test('a table without rows, and a definition that lets no row through', async () => {
    const world = new RefreshWorld(sqlOf(options), ['a'], 2);
    await world.update();
    const none = { published: 0, buried: 0, lost: { keys: 0, rows: 0, levels: 0 } };
    expect(await refreshBeside(await world.besideOptions('t'))).toMatchObject(none);
    await world.produce('a', 0, row('R1', 1, 'x'), row('R1', 1, 'y'), row('R2', 1, 'x'));
    await world.update();
    world.sql = sqlOf(options, `${select} WHERE v = 'none'`);
    const emptied = await refreshBeside(await world.besideOptions('t'));
    expect(emptied).toMatchObject({
      published: 0,
      buried: options === '' ? 2 : 3,
      lost: none.lost,
    });
    expect(tableText(await world.table('t'))).toEqual([]);
    await world.update();
    world.sql = sqlOf(options);
    await refreshBeside(await world.besideOptions('t'));
    expect(tableText(await world.table('t'))).toHaveLength(3);
    await expectClean(world);
  });

  test('FR-05 refused where anything would be lost, and nothing is touched', async () => {
    const world = await expiredWorld(options);
    await expect(refreshBeside(await world.besideOptions('t'))).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
      detail: expect.stringContaining('Keys: 3, rows: 3'),
    });
    await expectClean(world);
    await world.update();
    expect(tableText(await world.table('t'))).toHaveLength(6);
  });

  test('with --allow-loss what can not be read again goes, the rest is never touched', async () => {
    const world = await expiredWorld(options);
    const outcome = await refreshBeside(await world.besideOptions('t', { allowLoss: true }));
    expect(outcome).toMatchObject({ published: 0, buried: 3, lost: { keys: 3, rows: 3 } });
    expect(tableText(await world.table('t'))).toEqual(
      lines(['R4', 1, 'x'], ['R5', 1, 'x'], ['R6', 1, 'x']),
    );
    await world.produce('a', 0, row('R1', 0, 'older'));
    await world.update();
    expect(tableText(await world.table('t'))).toContain(lines(['R1', 0, 'older'])[0]);
  });

  test('with --keep-unrecoverable the table is as before, plus newer rows', async () => {
    const world = await expiredWorld(options);
    await world.produce('a', 0, row('R1', 2, 'newer'), row('R7', 1, 'x'), row('R2', 1, 'tie'));
    const outcome = await refreshBeside(
      await world.besideOptions('t', { keepUnrecoverable: true }),
    );
    expect(outcome.lost).toEqual({ keys: 0, rows: 0, levels: 0 });
    const expected = lines(
      ['R1', 2, 'newer'],
      ['R2', 1, 'tie'],
      ['R2', 1, 'x'],
      ['R3', 1, 'x'],
      ['R4', 1, 'x'],
      ['R5', 1, 'x'],
      ['R6', 1, 'x'],
      ['R7', 1, 'x'],
    );
    expect(tableText(await world.table('t'))).toEqual(expected);
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(expected);
  });

  test('an older row-set takes the place of one that is lost, and stands after a restore', async () => {
    const world = new RefreshWorld(sqlOf(options), ['a'], 1);
    await world.produce(
      'a',
      0,
      row('R1', 9, 'a'),
      row('R1', 9, 'b'),
      row('R1', 9, 'c'),
      row('R1', 3, 'low'),
    );
    await world.update();
    await world.log.deleteRecords('a', new Map([[0, 3]]));
    await refreshBeside(await world.besideOptions('t', { allowLoss: true }));
    expect(tableText(await world.table('t'))).toEqual(lines(['R1', 3, 'low']));
    await world.produce('a', 0, row('R1', 3, 'tie'), row('R1', 2, 'late'));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(lines(['R1', 3, 'low'], ['R1', 3, 'tie']));
    // After compaction, too.
    world.log.compact('t', { dropTombstones: true });
    await world.state.close();
    await world.produce('a', 0, row('R1', 4, 'next'));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(lines(['R1', 4, 'next']));
  });

  test('FR-05 records that only the former definition can read are a loss, and dead letters of the flow', async () => {
    const withLetters =
      options === ''
        ? "WITH (dead_letter_topic = 'dlq')"
        : options.replace(')', ", dead_letter_topic = 'dlq')");
    const world = new RefreshWorld(sqlOf(withLetters), ['a'], 1);
    await world.produce('a', 0, row('R1', 1, '1'), row('R2', 1, 'x'), row('R3', 1, '3'));
    await world.update();
    world.sql = sqlOf(withLetters, 'SELECT k, seq, v FROM STREAM(a) WHERE CAST(v AS INT) > 0');
    // As if the sample that is tried first had missed it.
    const unlucky = { ...(await world.besideOptions('t')), tryRecordsMax: 0 };
    await expect(refreshBeside(unlucky)).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
      detail: expect.stringContaining('a/0@1: CAST_INVALID_INPUT'),
    });
    expect(tableText(await world.table('t'))).toHaveLength(3);
    const flows = (): (string | undefined)[] =>
      world.log
        .readCommitted('dlq')
        .map(({ headers }) => headers.find(({ key }) => key === 'tm-flow')?.value?.toString());
    // What may yet be given up has left nothing.
    expect(flows()).toEqual([]);
    const outcome = await refreshBeside(await world.besideOptions('t', { allowLoss: true }));
    expect(outcome).toMatchObject({ deadLetters: 1, buried: 1 });
    expect(flows()).toEqual(['t']);
    expect(tableText(await world.table('t'))).toEqual(lines(['R1', 1, '1'], ['R3', 1, '3']));
    // They are counted with its checkpoint now: the next refresh loses nothing more.
    await world.update();
    expect(await refreshBeside(await world.besideOptions('t'))).toMatchObject({ deadLetters: 1 });
    expect(flows()).toEqual(['t']);
  });

  test('FR-18 a new column and a filter reach the rows that are there', async () => {
    const world = new RefreshWorld(sqlOf(options), ['a'], 1);
    await world.produce('a', 0, row('R1', 1, 'x'), row('R2', 1, 'no'), row('R3', 1, 'z'));
    await world.update();
    world.sql = sqlOf(options, "SELECT k, seq, v, upper(v) AS u FROM STREAM(a) WHERE v <> 'no'");
    await refreshBeside(await world.besideOptions('t'));
    expect(tableText(await world.table('t'))).toEqual([
      '{"k":"R1","seq":1,"v":"x","u":"X"}',
      '{"k":"R3","seq":1,"v":"z","u":"Z"}',
    ]);
    await world.update();
    expect(await world.table('t')).toHaveProperty('size', 2);
  });

  test('FR-23 a recreated source: what only the former topic had goes or stays as asked', async () => {
    for (const keepUnrecoverable of [true, false]) {
      const world = new RefreshWorld(sqlOf(options), ['a'], 1);
      await world.produce('a', 0, row('R1', 5, 'former'), row('R2', 5, 'former'));
      await world.update();
      world.recreate('a');
      await world.produce('a', 0, row('R1', 6, 'new'));
      await refreshBeside(
        await world.besideOptions(
          't',
          keepUnrecoverable ? { keepUnrecoverable } : { allowLoss: true },
        ),
      );
      await world.update();
      expect(tableText(await world.table('t'))).toEqual(
        keepUnrecoverable ? lines(['R1', 6, 'new'], ['R2', 5, 'former']) : lines(['R1', 6, 'new']),
      );
    }
  });
});

describe('what a reader sees', () => {
  const keyCount = 12;

  async function produceRandomly(
    world: RefreshWorld,
    random: Random,
    count: number,
    levels: Map<string, number>,
  ) {
    for (let number = 0; number < count; number += 1) {
      const k = `k${random.below(keyCount)}`;
      const level = levels.get(k) ?? 0;
      let seq = level + 1;
      if (random.chance(300)) seq = level;
      else if (random.chance(150)) seq = Math.max(0, level - 2);
      levels.set(k, Math.max(level, seq));
      await world.produce('a', random.below(2), row(k, seq, `v${number}`));
    }
  }

  /** The rows of each key by brute force over some records. */
  function fold(records: readonly KnownRecord[]): Map<string, { seq: number; rows: string[] }> {
    const sets = new Map<string, { seq: number; rows: string[] }>();
    for (const { k, seq, v } of records) {
      const known = sets.get(k);
      const text = JSON.stringify({ k, seq, v });
      if (known === undefined || seq > known.seq) sets.set(k, { seq, rows: [text] });
      else if (seq === known.seq) known.rows.push(text);
    }
    return sets;
  }

  function rowsOf(sets: ReadonlyMap<string, { rows: readonly string[] }>): string[] {
    return [...sets.values()].flatMap(({ rows }) => rows).sort();
  }

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'keep-unrecoverable, seed %d: no key goes missing, none goes back',
    async (seed) => {
      const random = new Random(seed);
      const world = new RefreshWorld(sqlOf(modes[seed % 2]), ['a'], 2);
      const levels = new Map<string, number>();
      await produceRandomly(world, random, 60, levels);
      await world.update();
      for (const partition of [0, 1]) {
        const end = (await world.log.offsetRanges('a', [partition])).get(partition)?.end ?? 0;
        await world.log.deleteRecords('a', new Map([[partition, random.below(end + 1)]]));
      }
      await produceRandomly(world, random, 20, levels);
      const from = world.log.readCommitted('t').length;
      await refreshBeside(await world.besideOptions('t', { keepUnrecoverable: true }));
      const expected = rowsOf(fold(world.produced));
      expect(tableText(await world.table('t'))).toEqual(expected);
      // Followed record by record: a key's sequence never goes down, and no key vanishes.
      const highest = new Map<string, number>();
      for (const [at, { key, value, headers }] of world.log.readCommitted('t').entries()) {
        const name = String(key).replace(/,"_row":\d+/, '');
        const number = Number(/"_row":(\d+)/.exec(String(key))?.[1] ?? 0);
        if (value === null) {
          if (at >= from) expect(number).toBeGreaterThan(0);
          continue;
        }
        const sequence = Number(headers.find((one) => one.key === 'tm-seq')?.value?.toString());
        expect(sequence).toBeGreaterThanOrEqual(highest.get(name) ?? 0);
        highest.set(name, sequence);
      }
      await produceRandomly(world, random, 20, levels);
      await world.update();
      expect(tableText(await world.table('t'))).toEqual(rowsOf(fold(world.produced)));
    },
  );

  test.each([11, 12, 13, 14, 15, 16])(
    'allow-loss, seed %d: the table is a function of what is there',
    async (seed) => {
      const random = new Random(seed);
      const world = new RefreshWorld(sqlOf(modes[seed % 2]), ['a'], 2);
      const levels = new Map<string, number>();
      await produceRandomly(world, random, 80, levels);
      await world.update();
      const starts = [0, 0];
      for (const partition of [0, 1]) {
        const end = (await world.log.offsetRanges('a', [partition])).get(partition)?.end ?? 0;
        starts[partition] = random.below(end + 1);
        await world.log.deleteRecords('a', new Map([[partition, starts[partition] ?? 0]]));
      }
      const { losses } = await world.preview('t');
      await refreshBeside(await world.besideOptions('t', { allowLoss: true }));
      const left = world.produced.filter(
        ({ partition, offset }) => offset >= (starts[partition] ?? 0),
      );
      expect(tableText(await world.table('t'))).toEqual(rowsOf(fold(left)));
      // Only keys that the preview named are other than before.
      const named = new Set(losses.map(({ key }) => key));
      const before = fold(world.produced);
      const after = fold(left);
      for (const [k, { rows }] of before) {
        if (!named.has(JSON.stringify({ k })))
          expect(after.get(k)?.rows.sort()).toEqual(rows.sort());
      }
      await produceRandomly(world, random, 30, levels);
      await world.update();
      const now = world.produced.filter(
        ({ partition, offset }) => offset >= (starts[partition] ?? 0),
      );
      expect(tableText(await world.table('t'))).toEqual(rowsOf(fold(now)));
      // The state can be built anew from the topic, compacted or not.
      if (random.chance(500)) world.log.compact('t');
    },
  );
});

describe('levels of empty keys', () => {
  const sql = (options: string) =>
    sqlOf(options, 'SELECT k, seq, v, gone FROM STREAM(a)', 'seq APPLY AS EMPTY WHEN (gone)');
  const keysOf = async (world: RefreshWorld) => [...(await world.table('t')).keys()].sort();

  test.each(modes)(
    'a level whose marker is gone: risen or kept dead, as asked %s',
    async (options) => {
      for (const flags of [{ allowLoss: true }, { keepUnrecoverable: true }]) {
        const world = new RefreshWorld(sql(options), ['a'], 1);
        await world.produce('a', 0, row('R1', 9, '', true), row('R1', 3, 'old'), row('R2', 1, 'x'));
        await world.update();
        await world.log.deleteRecords('a', new Map([[0, 1]]));
        await expect(refreshBeside(await world.besideOptions('t'))).rejects.toMatchObject({
          detail: expect.stringContaining('levels of empty keys: 1'),
        });
        await refreshBeside(await world.besideOptions('t', flags));
        const expected = 'allowLoss' in flags ? ['{"k":"R1"}', '{"k":"R2"}'] : ['{"k":"R2"}'];
        expect(await keysOf(world)).toEqual(expected);
        await world.produce('a', 0, row('R1', 4, 'later'));
        await world.update();
        expect(await keysOf(world)).toEqual(expected);
        const level = tableText(await world.table('t')).some((text) => text.includes('later'));
        expect(level).toBe('allowLoss' in flags);
      }
    },
  );
});

describe('with the service running', () => {
  async function untilTable(world: RefreshWorld, expected: readonly string[]): Promise<void> {
    for (let attempt = 0; attempt < 200; attempt += 1) {
      if (tableText(await world.table('t')).join() === expected.join()) return;
      await systemClock.sleep(25);
    }
    expect(tableText(await world.table('t'))).toEqual(expected);
  }

  test.each(modes)(
    'it lets go of the flow for the swap, and goes on from there %s',
    async (options) => {
      const world = await expiredWorld(options);
      const services = [await world.service('one'), await world.service('two')];
      await world.produce('a', 0, row('R1', 2, 'newer'));
      const flags = { keepUnrecoverable: true };
      const outcome = await refreshBeside({
        ...(await world.besideOptions('t', flags)),
        waitMs: 5_000,
      });
      expect(outcome.generation).toBe(1);
      await world.produce('a', 0, row('R2', 2, 'after'));
      const expected = lines(
        ['R1', 2, 'newer'],
        ['R2', 2, 'after'],
        ['R3', 1, 'x'],
        ['R4', 1, 'x'],
        ['R5', 1, 'x'],
        ['R6', 1, 'x'],
      );
      await untilTable(world, expected);
      const generations = world.log
        .readCommitted('t')
        .filter(({ value }) => String(value).includes('after'))
        .map(({ headers }) => headers.find(({ key }) => key === 'tm-gen')?.value?.toString());
      expect(generations).toEqual(['1']);
      for (const service of services) await service.stop();
    },
  );

  test('a refresh with another definition is not gone on with by an instance of the former one', async () => {
    const world = await expiredWorld();
    const service = await world.service();
    world.sql = sqlOf('', 'SELECT k, seq, v, upper(v) AS u FROM STREAM(a)');
    await refreshBeside({
      ...(await world.besideOptions('t', { allowLoss: true })),
      waitMs: 5_000,
    });
    await systemClock.sleep(1_500);
    await expect(service.stop()).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
    // OP-01: nobody runs any more, and the catalog tells why.
    const known = async () => stopOf((await world.outside()).catalog, 't');
    expect(await known()).toMatchObject({
      code: 'DEFINITION_CHANGED',
      hint: expect.stringContaining('files'),
    });
    await world.update();
    expect(await known()).toBeUndefined();
    expect(tableText(await world.table('t'))[0]).toContain('"u":"X"');
  });

  test('an instance that starts while the flow is held waits for it', async () => {
    const world = await expiredWorld();
    const { catalog } = await world.outside();
    const lock = { flow: 't', command: 'test', token: 'x', untilMs: undefined };
    await lockFlows(catalog, [lock], 0);
    const service = await world.service();
    await systemClock.sleep(200);
    await world.produce('a', 0, row('R4', 2, 'later'));
    await systemClock.sleep(200);
    expect(tableText(await world.table('t')).some((text) => text.includes('later'))).toBe(false);
    await unlockFlows(catalog, [lock], 0);
    await untilTable(
      world,
      lines(
        ['R1', 1, 'x'],
        ['R2', 1, 'x'],
        ['R3', 1, 'x'],
        ['R4', 2, 'later'],
        ['R5', 1, 'x'],
        ['R6', 1, 'x'],
      ),
    );
    await service.stop();
  });
});

describe('cancel and crashes', () => {
  test('cancel removes what was built, and leaves the table untouched', async () => {
    const world = await expiredWorld();
    const client = world.log.connect();
    const failing = new FailingLog(client, 60, true);
    await expect(
      refreshBeside(await world.besideOptions('t', { allowLoss: true }, failing.log)),
    ).rejects.toBeDefined();
    client.kill();
    const before = world.log.readCommitted('t').length;
    await cancelRefresh(await world.cancelOptions('t'));
    await expectClean(world);
    expect(world.log.readCommitted('t')).toHaveLength(before);
    await world.update();
    expect(tableText(await world.table('t'))).toHaveLength(6);
    await expect(cancelRefresh(await world.cancelOptions('t'))).rejects.toMatchObject({
      code: 'USAGE',
    });
  });

  test('while an instance reads it waits, and gives up without a trace', async () => {
    const world = await expiredWorld();
    const member = world.log.joinGroup({
      group: 'p.t',
      topics: ['a'],
      instanceId: undefined,
      sessionTimeoutMs: 5_000,
      rebalanceTimeoutMs: 5_000,
    });
    await member.rejoin();
    await expect(
      refreshBeside(await world.besideOptions('t', { allowLoss: true })),
    ).rejects.toMatchObject({ code: 'GROUP_BUSY' });
    await member.leave();
    await world.update();
    expect(tableText(await world.table('t'))).toHaveLength(6);
    await refreshBeside(await world.besideOptions('t', { allowLoss: true }));
    expect(tableText(await world.table('t'))).toHaveLength(3);
  });

  test.each([
    ['allowLoss', true, 11],
    ['keepUnrecoverable', false, 13],
  ] as const)(
    'killed at every call, it goes on and ends the same: %s, effect %s',
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
          refreshBeside(await world.besideOptions('t', { [flag]: true }, log)),
        flow: 't',
        between: async (world) => {
          await updateOrLocked(world);
        },
        check: async (world, killedAt) => {
          expect(tableText(await world.table('t')), killedAt).toEqual(expected);
          await expectClean(world);
        },
        hasEffect,
        step,
      });
    },
    240_000,
  );
});

describe('FR-41 a shadow of the table', () => {
  test('tells what would change and be lost, and leaves no trace', async () => {
    const world = await expiredWorld();
    await world.produce('a', 0, row('R4', 2, 'new'));
    const before = world.log.readCommitted('t').length;
    const shadow = { ...(await world.besideOptions('t')), isShadow: true };
    // R4 has come meanwhile, three rows have expired.
    expect(await refreshBeside(shadow)).toMatchObject({
      isShadow: true,
      published: 1,
      buried: 3,
      lost: { keys: 3, rows: 3, levels: 0 },
    });
    expect(world.log.readCommitted('t')).toHaveLength(before);
    await expectClean(world);
    const kept = {
      ...(await world.besideOptions('t', { keepUnrecoverable: true })),
      isShadow: true,
    };
    expect(await refreshBeside(kept)).toMatchObject({ published: 1, buried: 0, lost: { keys: 0 } });
    await world.update();
    expect(tableText(await world.table('t'))).toHaveLength(6);
    await expect(refreshBeside(await world.besideOptions('t'))).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
    });
  });

  test('of another definition: what the new query would change', async () => {
    const world = new RefreshWorld(sqlOf(), ['a'], 1);
    await world.produce('a', 0, row('R1', 1, 'x'), row('R2', 1, 'Y'));
    await world.update();
    const former = world.sql;
    world.sql = sqlOf('', 'SELECT k, seq, upper(v) AS v FROM STREAM(a)');
    const shadow = { ...(await world.besideOptions('t')), isShadow: true };
    expect(await refreshBeside(shadow)).toMatchObject({ published: 1, buried: 0 });
    world.sql = former;
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(lines(['R1', 1, 'x'], ['R2', 1, 'Y']));
  });

  test.each([
    ['that has ended', Number.POSITIVE_INFINITY],
    ['that was killed while it built', 60],
  ])(
    'P127 the dead letters of the table are its own: a shadow %s writes none, and a later refresh none a second time',
    async (_, calls) => {
      const world = new RefreshWorld(sqlOf("WITH (dead_letter_topic = 'dlq')"), ['a'], 1);
      await world.produce('a', 0, row('R1', 1, '1'), row('R2', 1, '2'));
      world.log.produce('a', 0, { value: 'no JSON' });
      await world.update();
      const letters = (): number => world.log.readCommitted('dlq').length;
      expect(letters()).toBe(1);
      const client = world.log.connect();
      const { log } = new FailingLog(client, calls, true);
      const options = { ...(await world.besideOptions('t', {}, log)), isShadow: true };
      const ended = await refreshBeside(options).then(
        () => true,
        () => false,
      );
      expect(ended).toBe(calls === Number.POSITIVE_INFINITY);
      client.kill();
      expect(letters()).toBe(1);
      world.log.produce('a', 0, { value: 'no JSON, either' });
      expect(await refreshBeside(await world.besideOptions('t'))).toMatchObject({ deadLetters: 2 });
      // The former generation has set the first aside, and the new one both.
      expect(letters()).toBe(2);
      await world.update();
      expect(letters()).toBe(2);
      await expectClean(world);
      const left = 'p.t.refresh.dead_letters';
      expect((await world.log.describeTopics([left])).size).toBe(0);
    },
  );

  test('what a refresh that is given up has set aside goes with it', async () => {
    const world = new RefreshWorld(sqlOf("WITH (dead_letter_topic = 'dlq')"), ['a'], 1);
    await world.produce('a', 0, row('R1', 1, '1'));
    await world.update();
    world.log.produce('a', 0, { value: 'no JSON' });
    const client = world.log.connect();
    const { log } = new FailingLog(client, 120, true);
    await expect(refreshBeside(await world.besideOptions('t', {}, log))).rejects.toBeDefined();
    client.kill();
    expect(world.log.readCommitted('p.t.refresh.dead_letters')).toHaveLength(1);
    await cancelRefresh(await world.cancelOptions('t'));
    expect(world.log.readCommitted('dlq')).toEqual([]);
    await expectClean(world);
    await world.update();
    expect(world.log.readCommitted('dlq')).toHaveLength(1);
  });

  test('a dead-letter topic that is gone is made anew for what could not be read', async () => {
    const world = new RefreshWorld(sqlOf("WITH (dead_letter_topic = 'dlq')"), ['a'], 1);
    world.log.produce('a', 0, { value: 'no JSON' });
    await world.produce('a', 0, row('R1', 1, '1'));
    await world.update();
    await world.log.deleteTopics(['dlq']);
    await refreshBeside(await world.besideOptions('t', { allowLoss: true }));
    expect(world.log.readCommitted('dlq')).toHaveLength(1);
    await world.update();
    expect(tableText(await world.table('t'))).toEqual(lines(['R1', 1, '1']));
  });

  test('does not take over a refresh that is under way; a refresh goes on from a shadow', async () => {
    const world = await expiredWorld();
    const interrupted = async (isShadow: boolean) => {
      const client = world.log.connect();
      const { log } = new FailingLog(client, 60, true);
      const options = await world.besideOptions('t', { allowLoss: true }, log);
      await expect(refreshBeside({ ...options, isShadow })).rejects.toBeDefined();
      client.kill();
    };
    await interrupted(true);
    expect(await refreshBeside(await world.besideOptions('t', { allowLoss: true }))).toMatchObject({
      buried: 3,
    });
    await interrupted(false);
    const shadow = { ...(await world.besideOptions('t')), isShadow: true };
    await expect(refreshBeside(shadow)).rejects.toMatchObject({ code: 'TABLE_LOCKED' });
    await refreshBeside(await world.besideOptions('t', { allowLoss: true }));
    await expectClean(world);
  });
});

test('FL-18 FR-45 a flow that runs once runs again with the refresh, and not after it', async () => {
  const world = new RefreshWorld(
    `CREATE STREAMING TABLE t;
CREATE FLOW o AS INSERT INTO ONCE t BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, v FROM a;`,
    ['a'],
    1,
  );
  await world.produce('a', 0, row('R1', 1, 'x'));
  await world.update();
  await world.produce('a', 0, row('R2', 1, 'x'));
  await world.update();
  expect(tableText(await world.table('t'))).toEqual(lines(['R1', 1, 'x']));
  await refreshBeside(await world.besideOptions('t'));
  const both = lines(['R1', 1, 'x'], ['R2', 1, 'x']);
  expect(tableText(await world.table('t'))).toEqual(both);
  await world.produce('a', 0, row('R3', 1, 'x'));
  await world.update();
  expect(tableText(await world.table('t'))).toEqual(both);
});

test('a cancellation takes the state only once whoever builds has let go of it', async () => {
  const world = new RefreshWorld(
    'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);',
    ['a'],
    1,
  );
  const rows = Array.from({ length: 2_000 }, (_, at) => ({ k: `k${at}`, seq: 1, v: 'v' }));
  await world.produce('a', 0, ...rows);
  await world.update();
  const building = refreshBeside({
    ...(await world.besideOptions('t')),
    recordsPerSecondMax: 10,
  }).then(
    () => 'done',
    (error: unknown) => error,
  );
  let hasEnded = false;
  void building.then(() => {
    hasEnded = true;
  });
  const group = 'p.t.refresh';
  await expect.poll(() => world.log.groupMembers(group), { timeout: 10_000 }).toHaveLength(1);
  const options = await world.cancelOptions('t');
  let members: number | undefined;
  await cancelRefresh({
    ...options,
    waitMs: 6_000,
    openState: async () => {
      // As with a directory that one process has at a time.
      await expect.poll(() => hasEnded, { timeout: 5_000 }).toBe(true);
      members = (await world.log.groupMembers(group)).length;
      return options.openState();
    },
  });
  expect(members).toBe(0);
  expect(await building).toMatchObject({
    code: 'TABLE_LOCKED',
    message: 'the refresh of table "t" was cancelled',
  });
}, 20_000);

test('FR-05 what a refresh tells of a record that stops it is about the flow of the pipeline', async () => {
  const world = new RefreshWorld(
    'CREATE STREAMING TABLE t; CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq SELECT k, seq, v FROM STREAM(a);',
    ['a'],
    1,
  );
  await world.produce('a', 0, { k: 'x', seq: 1, v: 'x1' });
  await world.update();
  world.log.produce('a', 0, { value: '{"k":"x","seq":"nonsense"}' });
  const options = await world.besideOptions('t', { allowLoss: true });
  const error = await refreshBeside(options).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'BAD_ROW',
    hint: expect.stringContaining('tidemark checkpoint skip f a/0@1'),
  });
  const place = { topic: 'a', partition: 0, offset: 1 };
  await skipRecord(await world.outside(), options.flow, place);
  expect(await refreshBeside(options)).toMatchObject({ mode: 'beside' });
});

test('FR-05 where a flow began to read is known, and after a refresh where its generation did', async () => {
  const world = new RefreshWorld(sqlOf(), ['a'], 1);
  await world.produce('a', 0, { k: 'x', seq: 1, v: 'x1' }, { k: 'y', seq: 1, v: 'y1' });
  await world.log.deleteRecords('a', new Map([[0, 1]]));
  await world.update();
  await world.produce('a', 0, { k: 'z', seq: 1, v: 'z1' });
  await world.log.deleteRecords('a', new Map([[0, 2]]));
  const firstRead = async () => (await world.facts('t')).sources.map((one) => one.firstRead);
  expect(await firstRead()).toEqual([1]);
  await refreshBeside(await world.besideOptions('t', { keepUnrecoverable: true }));
  expect(await firstRead()).toEqual([2]);
  await world.update();
  expect(await firstRead()).toEqual([2]);
});

import { describe, expect, test, vi } from 'vitest';
import type { Log } from '../../../src/ports/log.ts';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import type { RefreshRunOptions } from '../../../src/runtime/refresh/refresh-run.ts';
import {
  refreshTogether,
  refreshTogetherBeside,
} from '../../../src/runtime/refresh/refresh-together.ts';
import { openCatalog } from '../../../src/runtime/topics/catalog.ts';
import { refreshThroughCrashes } from '../../support/refresh-crashes.ts';
import { RefreshWorld, type SourceRow, tableText } from '../../support/refresh-world.ts';

const bronze = `CREATE STREAMING TABLE bronze;
CREATE FLOW fa AS INSERT INTO bronze BY NAME SELECT k, seq, v FROM STREAM(a);
CREATE FLOW fb AS INSERT INTO bronze BY NAME SELECT k, seq, v FROM STREAM(b);`;
const silver = `CREATE STREAMING TABLE silver
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(bronze);`;

function row(k: string, seq: number, v = 'x'): SourceRow {
  return { k, seq, v };
}

function lines(...rows: readonly (readonly [string, number, string?])[]): string[] {
  return rows.map(([k, seq, v = 'x']) => JSON.stringify({ k, seq, v })).sort();
}

/** Three keys of topic a, two of topic b, in a raw table and in one over it. */
async function chainedWorld(sql = bronze + silver): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql, ['a', 'b'], 1);
  await world.produce('a', 0, row('A1', 1), row('A2', 1), row('A3', 1), row('A3', 2, 'new'));
  await world.produce('b', 0, row('B1', 1), row('B2', 1));
  await world.update();
  return world;
}

const allRaw = lines(['A1', 1], ['A2', 1], ['A3', 1], ['A3', 2, 'new'], ['B1', 1], ['B2', 1]);
const allNew = lines(['A1', 1], ['A2', 1], ['A3', 2, 'new'], ['B1', 1], ['B2', 1]);

function rawText(world: RefreshWorld): string[] {
  return world.log
    .readCommitted('bronze')
    .map(({ value }) => String(value))
    .sort();
}

async function silverText(world: RefreshWorld): Promise<string[]> {
  return tableText(await world.table('silver'));
}

async function both(
  world: RefreshWorld,
  flags: Parameters<RefreshWorld['runOptions']>[1] = {},
  log: Log = world.log,
): Promise<readonly RefreshRunOptions[]> {
  const together = new Set(['bronze', 'silver']);
  const catalogOf = await world.runOptions('bronze', flags, log);
  return [
    { ...catalogOf, together },
    { ...(await world.runOptions('silver', flags, log)), catalog: catalogOf.catalog, together },
  ];
}

describe('FR-37 a table over a raw table that keeps everything', () => {
  test('it is refreshed after the sources have expired, and loses nothing', async () => {
    const world = await chainedWorld();
    await world.log.deleteRecords('a', new Map([[0, 4]]));
    await world.log.deleteRecords('b', new Map([[0, 2]]));
    expect((await world.preview('silver')).report).toMatchObject({
      lossless: true,
      sources: [{ source: 'bronze', logStart: 0 }],
    });
    const before = world.log.readCommitted('silver').length;
    const outcome = await refreshBeside(await world.besideOptions('silver'));
    expect(outcome).toMatchObject({ generation: 1, published: 0, buried: 0 });
    expect(world.log.readCommitted('silver')).toHaveLength(before);
    await refreshInPlace(await world.runOptions('silver'));
    expect(await silverText(world)).toEqual([]);
    await world.update();
    expect(await silverText(world)).toEqual(allNew);
  });

  test('FR-33 where the raw table lost a part itself, exactly what came from that is named', async () => {
    const world = await chainedWorld();
    await world.log.deleteRecords('bronze', new Map([[0, 2]]));
    const gone = new Set(allRaw);
    for (const text of rawText(world)) gone.delete(text);
    const { report, losses } = await world.preview('silver');
    expect(report.lost.rows).toBe(gone.size);
    expect(losses.map(({ key }) => key).sort()).toEqual(
      [...gone].map((text) => JSON.stringify({ k: (JSON.parse(text) as SourceRow).k })).sort(),
    );
    await expect(refreshBeside(await world.besideOptions('silver'))).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
    });
    await refreshBeside(await world.besideOptions('silver', { keepUnrecoverable: true }));
    expect(await silverText(world)).toEqual(allNew);
  });
});

describe('a table that append flows write', () => {
  test('FR-01 FR-02 FR-03 FR-04 it is emptied, and every flow begins anew', async () => {
    const world = await chainedWorld(bronze);
    const outcome = await refreshInPlace(await world.runOptions('bronze'));
    expect(outcome).toMatchObject({ generation: 1, buried: 6, lost: { rows: 0 } });
    expect(rawText(world)).toEqual([]);
    const catalog = await openCatalog(world.log, 'p.catalog');
    expect(catalog?.all('checkpoint')).toEqual([]);
    expect(catalog?.all('lock')).toEqual([]);
    for (const [flow, topic] of [
      ['fa', 'a'],
      ['fb', 'b'],
    ] as const) {
      expect((await world.log.committedOffsets(`p.${flow}`, topic, [0])).size).toBe(0);
    }
    await world.update();
    expect(rawText(world)).toEqual(allRaw);
    const generations = world.log
      .readCommitted('bronze')
      .map(({ headers }) => headers.find(({ key }) => key === 'tm-gen')?.value?.toString());
    expect(new Set(generations)).toEqual(new Set(['1']));
  });

  test('FR-05 what can not be read again is counted, refused, kept or let go', async () => {
    for (const flag of ['none', 'keepUnrecoverable', 'allowLoss'] as const) {
      const world = await chainedWorld(bronze);
      await world.log.deleteRecords('a', new Map([[0, 2]]));
      expect((await world.preview('bronze')).report.lost).toMatchObject({ keys: 2, rows: 2 });
      const attempt = refreshInPlace(await world.runOptions('bronze', { [flag]: true }));
      if (flag === 'none') {
        await expect(attempt).rejects.toMatchObject({ code: 'DATA_LOSS_REFUSED' });
        expect(rawText(world)).toEqual(allRaw);
        continue;
      }
      const isKept = flag === 'keepUnrecoverable';
      expect(await attempt).toMatchObject({
        published: isKept ? 2 : 0,
        kept: { rows: isKept ? 2 : 0 },
        lost: { rows: isKept ? 0 : 2 },
      });
      await world.update();
      const left = lines(['A3', 1], ['A3', 2, 'new'], ['B1', 1], ['B2', 1]);
      expect(rawText(world)).toEqual(isKept ? allRaw : left);
      // Once more: what was kept before is kept again, and still once.
      if (!isKept) continue;
      await refreshInPlace(await world.runOptions('bronze', { keepUnrecoverable: true }));
      await world.update();
      expect(rawText(world)).toEqual(allRaw);
    }
  });

  test('FR-45 FL-18 a flow that runs once runs again after it, beside the others', async () => {
    const once = `CREATE STREAMING TABLE bronze;
CREATE FLOW fa AS INSERT INTO bronze BY NAME SELECT k, seq, v FROM STREAM(a);
CREATE FLOW fb AS INSERT INTO ONCE bronze BY NAME SELECT k, seq, v FROM b;`;
    const world = await chainedWorld(once);
    expect(rawText(world)).toEqual(allRaw);
    await world.produce('b', 0, row('B3', 1));
    await world.update();
    // It has run: what comes later is not its own.
    expect(rawText(world)).toEqual(allRaw);
    await refreshInPlace(await world.runOptions('bronze'));
    await world.update();
    const whole = [...allRaw, ...lines(['B3', 1])].sort();
    expect(rawText(world)).toEqual(whole);
    await world.produce('b', 0, row('B4', 1));
    await world.update();
    expect(rawText(world)).toEqual(whole);
  });

  test.each(['x', 'y'])(
    'rows that two flows made of one record are both kept: %s',
    async (other) => {
      const world = new RefreshWorld(
        `CREATE STREAMING TABLE bronze;
CREATE FLOW fa AS INSERT INTO bronze BY NAME SELECT k, seq, v FROM STREAM(a);
CREATE FLOW fb AS INSERT INTO bronze BY NAME SELECT k, seq, '${other}' AS v FROM STREAM(a);`,
        ['a'],
        1,
      );
      await world.produce('a', 0, row('A1', 1), row('A2', 1));
      await world.update();
      await world.log.deleteRecords('a', new Map([[0, 1]]));
      await refreshInPlace(await world.runOptions('bronze', { keepUnrecoverable: true }));
      await world.update();
      const from = (await world.log.offsetRanges('bronze', [0])).get(0)?.start ?? 0;
      const left = world.log.readCommitted('bronze').filter(({ offset }) => offset >= from);
      expect(left.map(({ value }) => String(value)).sort()).toEqual(
        lines(['A1', 1], ['A1', 1, other], ['A2', 1], ['A2', 1, other]),
      );
    },
  );

  test('FL-17 FL-18 what a once flow computed is computed again, from what is there by then', async () => {
    const counted = `CREATE STREAMING TABLE bronze;
CREATE FLOW fb AS INSERT INTO ONCE bronze BY NAME SELECT k, count(*) AS seq, max(v) AS v FROM a GROUP BY k;
CREATE FLOW fa AS INSERT INTO bronze BY NAME SELECT k, seq, v FROM STREAM(b);`;
    const world = await chainedWorld(counted);
    const live = lines(['B1', 1], ['B2', 1]);
    const before = [...lines(['A1', 1], ['A2', 1], ['A3', 2]), ...live];
    expect(rawText(world)).toEqual(before);
    await world.produce('a', 0, row('A1', 5, 'z'));
    await world.update();
    expect(rawText(world)).toEqual(before);
    // Nobody knows beforehand what it will give.
    await expect(refreshInPlace(await world.runOptions('bronze'))).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
    });
    await refreshInPlace(await world.runOptions('bronze', { allowLoss: true }));
    await world.update();
    const after = [...lines(['A1', 2, 'z'], ['A2', 1], ['A3', 2]), ...live];
    expect(rawText(world)).toEqual(after);
    await world.update();
    expect(rawText(world)).toEqual(after);
  });

  test('FL-18 beside a service that goes on, what a once flow computed over a table is computed again, not taken from before', async () => {
    const counted = `CREATE STREAMING TABLE bronze;
CREATE FLOW fb AS INSERT INTO ONCE bronze BY NAME SELECT k, count(*) AS seq, max(v) AS v FROM raw GROUP BY k;
CREATE STREAMING TABLE raw AS SELECT k, v FROM STREAM(a);`;
    const world = await chainedWorld(counted);
    expect(rawText(world)).toEqual(lines(['A1', 1], ['A2', 1], ['A3', 2]));
    await world.produce('a', 0, row('A1', 5, 'z'));
    await world.update();
    const service = await world.service();
    await refreshInPlace(await world.runOptions('bronze', { allowLoss: true }));
    const after = lines(['A1', 2, 'z'], ['A2', 1], ['A3', 2]);
    await vi.waitFor(() => expect(rawText(world)).toEqual(after), { timeout: 20_000 });
    await service.stop();
    await world.update();
    expect(rawText(world)).toEqual(after);
  });

  test('both flags are refused', async () => {
    const world = await chainedWorld(bronze);
    const options = await world.runOptions('bronze');
    await expect(
      refreshInPlace({ ...options, allowLoss: true, keepUnrecoverable: true }),
    ).rejects.toMatchObject({ code: 'USAGE' });
  });
});

function generationsOf(world: RefreshWorld, topic: string): (string | undefined)[] {
  return world.log
    .readCommitted(topic)
    .map(({ headers }) => headers.find(({ key }) => key === 'tm-gen')?.value?.toString());
}

/** Fewest rows that a reader from the beginning would have found, looked at before every call to the log. */
function watchFewest(world: RefreshWorld, topic: string): { readonly log: Log; fewest: number } {
  const watched = { log: world.log as Log, fewest: Number.POSITIVE_INFINITY };
  watched.log = new Proxy(world.log, {
    get: (log, name) => {
      watched.fewest = Math.min(watched.fewest, log.readCommitted(topic).length);
      const member: unknown = Reflect.get(log, name);
      return typeof member === 'function' ? member.bind(log) : member;
    },
  });
  return watched;
}

describe('FR-01 FR-34 beside a table that append flows write', () => {
  test('the new rows are there before the old ones go: never empty, and each once at the end', async () => {
    const world = await chainedWorld(bronze);
    world.sql = bronze.replace('FROM STREAM(b)', "FROM STREAM(b) WHERE k <> 'B1'");
    const watched = watchFewest(world, 'bronze');
    const outcome = await refreshBeside(await world.besideOptions('bronze', {}, watched.log));
    expect(outcome).toMatchObject({ generation: 1, mode: 'beside', published: 5, buried: 6 });
    expect(watched.fewest).toBeGreaterThanOrEqual(5);
    const left = allRaw.filter((text) => !text.includes('B1'));
    expect(rawText(world)).toEqual(left);
    expect(new Set(generationsOf(world, 'bronze'))).toEqual(new Set(['1']));
    const catalog = await openCatalog(world.log, 'p.catalog');
    expect(catalog?.all('lock')).toEqual([]);
    const names = ['fa', 'fb'].flatMap((flow) =>
      ['output', 'repartition', 'levels'].map((role) => `p.${flow}.refresh.${role}`),
    );
    expect((await world.log.describeTopics(names)).size).toBe(0);
    await world.produce('a', 0, row('A4', 1));
    await world.update();
    expect(rawText(world)).toEqual([...left, ...lines(['A4', 1])].sort());
  });

  test('FR-05 what can not be read again is counted, refused, kept or let go', async () => {
    for (const flag of ['none', 'keepUnrecoverable', 'allowLoss'] as const) {
      const world = await chainedWorld(bronze);
      await world.log.deleteRecords('a', new Map([[0, 2]]));
      const attempt = refreshBeside(await world.besideOptions('bronze', { [flag]: true }));
      if (flag === 'none') {
        await expect(attempt).rejects.toMatchObject({ code: 'DATA_LOSS_REFUSED' });
        expect(rawText(world)).toEqual(allRaw);
        continue;
      }
      const isKept = flag === 'keepUnrecoverable';
      expect(await attempt).toMatchObject({
        published: isKept ? 6 : 4,
        buried: isKept ? 4 : 6,
        lost: { rows: isKept ? 0 : 2 },
      });
      const left = lines(['A3', 1], ['A3', 2, 'new'], ['B1', 1], ['B2', 1]);
      expect(rawText(world)).toEqual(isKept ? allRaw : left);
      await world.update();
      expect(rawText(world)).toEqual(isKept ? allRaw : left);
    }
  });

  test('FR-45 FL-18 a flow that runs once runs again with it, and not after it', async () => {
    const world = await chainedWorld(`CREATE STREAMING TABLE bronze;
CREATE FLOW fa AS INSERT INTO bronze BY NAME SELECT k, seq, v FROM STREAM(a);
CREATE FLOW fb AS INSERT INTO ONCE bronze BY NAME SELECT k, seq, v FROM b;`);
    await world.produce('b', 0, row('B3', 1));
    await world.update();
    expect(rawText(world)).toEqual(allRaw);
    await refreshBeside(await world.besideOptions('bronze', { allowLoss: true }));
    const whole = [...allRaw, ...lines(['B3', 1])].sort();
    expect(rawText(world)).toEqual(whole);
    await world.produce('b', 0, row('B4', 1));
    await world.update();
    expect(rawText(world)).toEqual(whole);
  });

  test('of a table with DISTINCT the new generation knows what it has let through', async () => {
    const world = await chainedWorld(
      'CREATE STREAMING TABLE bronze AS SELECT DISTINCT k, v FROM STREAM(a);',
    );
    const helper = world.plan.tables.find(({ name }) => name !== 'bronze')?.name ?? '';
    const count = () => world.log.readCommitted(helper).length;
    expect(count()).toBe(4);
    const options = await world.besideOptions(helper);
    await refreshBeside({ ...options, together: new Set(['bronze']) });
    expect(count()).toBe(4);
    expect(new Set(generationsOf(world, helper))).toEqual(new Set(['1']));
  });

  test('a shadow of it tells what would be written, and touches nothing', async () => {
    const world = await chainedWorld(bronze);
    const outcome = await refreshBeside({
      ...(await world.besideOptions('bronze')),
      isShadow: true,
    });
    expect(outcome).toMatchObject({ isShadow: true, published: 6, buried: 6 });
    expect(rawText(world)).toEqual(allRaw);
  });

  test.each([
    ['keepUnrecoverable', true],
    ['allowLoss', false],
  ])(
    'FR-04 killed anywhere and started again it ends the same: %s',
    async (flag, hasEffect) => {
      await refreshThroughCrashes({
        open: async () => {
          const world = await chainedWorld(bronze);
          await world.log.deleteRecords('a', new Map([[0, 2]]));
          return world;
        },
        refresh: async (world, log) =>
          refreshBeside(await world.besideOptions('bronze', { [flag]: true }, log)),
        flow: 'fa',
        check: (world, killedAt) => {
          const left = lines(['A3', 1], ['A3', 2, 'new'], ['B1', 1], ['B2', 1]);
          expect(rawText(world), killedAt).toEqual(flag === 'allowLoss' ? left : allRaw);
          return Promise.resolve();
        },
        hasEffect,
        step: 19,
      });
    },
    120_000,
  );
});

describe('FR-08 tables that read a refreshed one', () => {
  test('refused while they are not refreshed with it', async () => {
    const world = await chainedWorld();
    await expect(refreshInPlace(await world.runOptions('bronze'))).rejects.toMatchObject({
      code: 'USAGE',
      detail: expect.stringContaining('silver'),
      hint: expect.stringContaining('--cascade --in-place'),
    });
    expect(rawText(world)).toEqual(allRaw);
  });

  test('together they are emptied and filled again, in order', async () => {
    const world = await chainedWorld();
    const outcomes = await refreshTogether(await both(world));
    expect(outcomes.map(({ table, generation }) => [table, generation])).toEqual([
      ['bronze', 1],
      ['silver', 1],
    ]);
    expect(rawText(world)).toEqual([]);
    expect(await silverText(world)).toEqual([]);
    await world.update();
    expect([rawText(world), await silverText(world)]).toEqual([allRaw, allNew]);
  });

  test('beside them each is whole all along, and both are what the sources have', async () => {
    const world = await chainedWorld();
    await world.log.deleteRecords('a', new Map([[0, 1]]));
    const refresh = async (flags: Parameters<RefreshWorld['runOptions']>[1]) =>
      refreshTogetherBeside(await both(world, flags), async (options) => {
        const own = await world.besideOptions(options.table.name, flags);
        return refreshBeside({ ...own, ...options });
      });
    await expect(refresh({})).rejects.toMatchObject({ code: 'DATA_LOSS_REFUSED' });
    expect([rawText(world), await silverText(world)]).toEqual([allRaw, allNew]);
    const kept = await refresh({ keepUnrecoverable: true });
    expect(kept.map(({ table, mode }) => [table, mode])).toEqual([
      ['bronze', 'beside'],
      ['silver', 'beside'],
    ]);
    expect([rawText(world), await silverText(world)]).toEqual([allRaw, allNew]);
    await world.update();
    expect([rawText(world), await silverText(world)]).toEqual([allRaw, allNew]);
    const gone = await refresh({ allowLoss: true });
    expect(gone.map(({ lost }) => lost.rows)).toEqual([1, 1]);
    const without = (texts: readonly string[]) => texts.filter((text) => !text.includes('A1'));
    expect([rawText(world), await silverText(world)]).toEqual([without(allRaw), without(allNew)]);
    await world.produce('a', 0, row('A2', 2));
    await world.update();
    expect(await silverText(world)).toContain(lines(['A2', 2])[0]);
  });

  test('FR-33 the loss is followed through the table to its sources, before any is touched', async () => {
    const world = await chainedWorld();
    await world.log.deleteRecords('a', new Map([[0, 2]]));
    // Of the table alone nothing is lost; together with what it reads it is.
    expect((await world.preview('silver')).report.lossless).toBe(true);
    await expect(refreshTogether(await both(world))).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
    });
    expect([rawText(world), await silverText(world)]).toEqual([allRaw, allNew]);
    await world.update();
    await refreshTogether(await both(world, { allowLoss: true }));
    await world.update();
    expect(await silverText(world)).toEqual(lines(['A3', 2, 'new'], ['B1', 1], ['B2', 1]));
  });

  test('a flow that was not there for it stops with a named error, until its table is refreshed', async () => {
    const world = await chainedWorld();
    world.sql = bronze;
    await refreshInPlace(await world.runOptions('bronze'));
    world.sql = bronze + silver;
    await expect(world.update()).rejects.toMatchObject({
      code: 'SOURCE_REFRESHED',
      message: 'flow "silver" reads a table that was refreshed fully since',
    });
    await expect(world.update()).rejects.toMatchObject({ code: 'SOURCE_REFRESHED' });
    expect(await silverText(world)).toEqual(allNew);
    await refreshBeside(await world.besideOptions('silver', { keepUnrecoverable: true }));
    await world.update();
    await world.produce('a', 0, row('A4', 1));
    await world.update();
    expect(await silverText(world)).toEqual([...allNew, ...lines(['A4', 1])].sort());
  });

  test('with skipChangeCommits it is not asked, and goes on from its checkpoint', async () => {
    const skipping = silver.replace(
      'STREAM(bronze)',
      'STREAM(bronze) WITH (skipChangeCommits = true)',
    );
    const world = await chainedWorld(bronze + skipping);
    await refreshInPlace(await world.runOptions('bronze'));
    expect(await silverText(world)).toEqual(allNew);
    await world.produce('a', 0, row('A1', 2));
    await world.update();
    expect(rawText(world)).toEqual([...allRaw, ...lines(['A1', 2])].sort());
    const expected = lines(['A1', 2], ['A2', 1], ['A3', 2, 'new'], ['B1', 1], ['B2', 1]);
    expect(await silverText(world)).toEqual(expected);
    // Whoever minds again takes the table as it is by then, or says so.
    await world.update();
    expect(await silverText(world)).toEqual(expected);
  });

  test('or it goes on as it is, where somebody says so', async () => {
    const world = await chainedWorld();
    world.sql = bronze;
    await refreshInPlace(await world.runOptions('bronze'));
    world.sql = bronze + silver;
    await world.update({ acceptsGaps: true });
    await world.produce('a', 0, row('A1', 2));
    await world.update();
    await world.update();
    expect(await silverText(world)).toEqual(
      lines(['A1', 2], ['A2', 1], ['A3', 2, 'new'], ['B1', 1], ['B2', 1]),
    );
  });

  test.each(['keepUnrecoverable', 'allowLoss'])(
    'FR-04 killed anywhere and started again, both end the same: %s',
    async (flag) => {
      for (const hasEffect of [false, true]) {
        await refreshThroughCrashes({
          open: async () => {
            const world = await chainedWorld();
            await world.log.deleteRecords('a', new Map([[0, 2]]));
            return world;
          },
          refresh: async (world, log) => refreshTogether(await both(world, { [flag]: true }, log)),
          flow: 'silver',
          check: async (world, killedAt) => {
            const left = lines(['A3', 2, 'new'], ['B1', 1], ['B2', 1]);
            expect(await silverText(world), killedAt).toEqual(flag === 'allowLoss' ? left : allNew);
            if (flag === 'keepUnrecoverable') expect(rawText(world), killedAt).toEqual(allRaw);
          },
          hasEffect,
          step: 7,
        });
      }
    },
    120_000,
  );
});

/** A table with what its flow has let through, in the order of their refresh. */
async function withHelper(
  world: RefreshWorld,
  flags: Parameters<RefreshWorld['runOptions']>[1],
): Promise<readonly RefreshRunOptions[]> {
  const names = world.plan.tables
    .map(({ name }) => name)
    .toSorted((a) => (a === 'bronze' ? 1 : -1));
  const together = new Set(names);
  const all: RefreshRunOptions[] = [];
  for (const name of names) {
    const options = await world.runOptions(name, flags);
    all.push({ ...options, catalog: all[0]?.catalog ?? options.catalog, together });
  }
  return all;
}

describe('FR-05 FR-30 what can not be read again of a table with DISTINCT or LIMIT', () => {
  const distinct = 'CREATE STREAMING TABLE bronze AS SELECT DISTINCT k FROM STREAM(a);';

  async function distinctWorld(): Promise<RefreshWorld> {
    const world = new RefreshWorld(distinct, ['a'], 1);
    await world.produce('a', 0, row('A', 1), row('C', 1), row('B', 1), row('A', 2));
    await world.update();
    await world.log.deleteRecords('a', new Map([[0, 2]]));
    return world;
  }

  const keys = (...names: readonly string[]): string[] => names.map((k) => JSON.stringify({ k }));

  test('beside: a row that an equal one has taken the place of is not kept beside it', async () => {
    const world = await distinctWorld();
    await refreshTogetherBeside(
      await withHelper(world, { keepUnrecoverable: true }),
      async (options) =>
        refreshBeside({
          ...(await world.besideOptions(options.table.name)),
          ...options,
        }),
    );
    expect(rawText(world)).toEqual(keys('A', 'B', 'C'));
    await world.update();
    expect(rawText(world)).toEqual(keys('A', 'B', 'C'));
    await world.produce('a', 0, row('C', 2), row('A', 3), row('D', 1));
    await world.update();
    expect(rawText(world)).toEqual(keys('A', 'B', 'C', 'D'));
  });

  test('LIMIT: refused, since as many more would be let through', async () => {
    const appended = 'CREATE STREAMING TABLE bronze AS SELECT k FROM STREAM(a) LIMIT 2;';
    const merged =
      'CREATE STREAMING TABLE bronze FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(a) LIMIT 2;';
    for (const [refresh, sql] of [
      [refreshBeside, appended],
      [refreshInPlace, appended],
      [refreshBeside, merged],
      [refreshInPlace, merged],
    ] as const) {
      const world = new RefreshWorld(sql, ['a'], 1);
      await world.produce('a', 0, row('A', 1), row('B', 1), row('C', 1), row('D', 2));
      await world.update();
      await world.log.deleteRecords('a', new Map([[0, 1]]));
      for (const { name } of world.plan.tables) {
        const options = await world.besideOptions(name, { keepUnrecoverable: true });
        const together = new Set(world.plan.tables.map((table) => table.name));
        await expect(refresh({ ...options, together })).rejects.toMatchObject({
          code: 'USAGE',
          message: expect.stringContaining('LIMIT'),
        });
      }
      expect(rawText(world)).toHaveLength(2);
    }
  });

  test('in place: refused, since what one table keeps the one below it reads again', async () => {
    for (const sql of [
      distinct,
      `${bronze}\nCREATE STREAMING TABLE copy AS SELECT k FROM STREAM(bronze);`,
    ]) {
      const world = new RefreshWorld(sql, ['a', 'b'], 1);
      await world.produce('a', 0, row('A', 1), row('C', 1), row('B', 1), row('A', 2));
      await world.update();
      await world.log.deleteRecords('a', new Map([[0, 2]]));
      const before = rawText(world);
      await expect(
        refreshTogether(await withHelper(world, { keepUnrecoverable: true })),
      ).rejects.toMatchObject({ code: 'USAGE', hint: expect.stringContaining('beside') });
      expect(rawText(world)).toEqual(before);
    }
  });
});

import { describe, expect, test } from 'vitest';
import type { Log } from '../../../src/ports/log.ts';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { cancelRefresh } from '../../../src/runtime/refresh/refresh-cancel.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import {
  beginRun,
  type RefreshOutcome,
  type RefreshRunOptions,
} from '../../../src/runtime/refresh/refresh-run.ts';
import {
  refreshTogether,
  refreshTogetherBeside,
} from '../../../src/runtime/refresh/refresh-together.ts';
import { refreshThroughCrashes, updateOrLocked } from '../../support/refresh-crashes.ts';
import { RefreshWorld, type SourceRow, tableText } from '../../support/refresh-world.ts';

const cur = (filter = '') => `CREATE STREAMING TABLE cur
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a) ${filter};`;
const down = `CREATE STREAMING TABLE down
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(cur) WHERE v <> 'hidden';`;

function row(k: string, seq: number, v = 'x'): SourceRow {
  return { k, seq, v };
}

/** One partition for each key, so that the first records of one can go without the other. */
async function chainedWorld(sql = cur() + down): Promise<RefreshWorld> {
  const world = new RefreshWorld(sql, ['a'], 2);
  await world.produce('a', 0, row('EU', 1));
  await world.produce('a', 1, row('US', 1));
  await world.update();
  return world;
}

async function texts(world: RefreshWorld): Promise<readonly string[][]> {
  return [tableText(await world.table('cur')), tableText(await world.table('down'))];
}

async function both(
  world: RefreshWorld,
  flags: Parameters<RefreshWorld['runOptions']>[1] = {},
): Promise<readonly RefreshRunOptions[]> {
  const together = new Set(['cur', 'down']);
  const first = await world.runOptions('cur', flags);
  const second = await world.runOptions('down', flags);
  return [
    { ...first, together },
    { ...second, catalog: first.catalog, together },
  ];
}

const euCur = '{"k":"EU","seq":1,"v":"x"}';
const usCur = '{"k":"US","seq":1,"v":"x"}';
const eu = '{"k":"EU","seq":1}';
const us = '{"k":"US","seq":1}';

describe('FL-27 a full refresh of a table of which another reads the first versions', () => {
  const firsts = `CREATE STREAMING TABLE firsts AS
SELECT k, v FROM STREAM(cur) WITH (skipChangeCommits = true);`;
  const replaced = (query: string, options = '') =>
    `CREATE STREAMING TABLE cur ${options} FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME ${query};`;
  const captured = (query: string) =>
    `CREATE STREAMING TABLE cur; CREATE FLOW f AS AUTO CDC INTO cur FROM (${query}) KEYS (k) SEQUENCE BY seq;`;
  const now = "SELECT k, seq, v FROM STREAM(a) WHERE v <> 'hidden'";
  const anew = "SELECT k, seq, v || '!' AS v FROM STREAM(a)";
  const read = (world: RefreshWorld) =>
    world.log
      .readCommitted('firsts')
      .map(({ value }) => value?.toString())
      .sort();

  test.each([
    ['REPLACE USING', replaced],
    [
      'REPLACE USING, one record a row',
      (query: string) => replaced(query, "WITH (output = 'rows')"),
    ],
    ['AUTO CDC', captured],
  ])('%s: beside the live one it brings changes, in place first versions', async (_, table) => {
    const world = await chainedWorld(table(now) + firsts);
    await world.produce('a', 0, row('GB', 1, 'hidden'));
    await world.update();
    const before = ['{"k":"EU","v":"x"}', '{"k":"US","v":"x"}'];
    expect(read(world)).toEqual(before);
    world.sql = table(anew) + firsts;
    await refreshBeside(await world.besideOptions('cur'));
    await world.update();
    expect(tableText(await world.table('cur'))).toContain('{"k":"EU","seq":1,"v":"x!"}');
    expect(read(world)).toEqual(before);
    // What is new after it is a first version as ever.
    await world.produce('a', 1, row('FR', 1), row('US', 2));
    await world.update();
    const further = [...before, '{"k":"FR","v":"x!"}'].sort();
    expect(read(world)).toEqual(further);
    await refreshInPlace(await world.runOptions('cur'));
    await world.update();
    expect(read(world).length).toBe(further.length + 4);
  });
});

describe('P111 a full refresh of a table that a REPLACE USING table streams', () => {
  test('is refused while that table is not taken along, and named', async () => {
    const world = await chainedWorld();
    expect((await world.preview('cur')).report.downstream).toEqual(['down']);
    for (const refresh of [refreshInPlace, refreshBeside]) {
      await expect(refresh(await world.besideOptions('cur'))).rejects.toMatchObject({
        code: 'USAGE',
        detail: expect.stringContaining('down'),
        hint: expect.stringContaining('--cascade'),
      });
    }
    expect(await texts(world)).toEqual([
      [euCur, usCur],
      [eu, us],
    ]);
  });

  test('with it both hold what the source has still, whatever stands in the topic between them', async () => {
    const world = await chainedWorld();
    await world.log.deleteRecords('a', new Map([[1, 1]]));
    await expect(refreshTogether(await both(world))).rejects.toMatchObject({
      code: 'DATA_LOSS_REFUSED',
    });
    await refreshTogether(await both(world, { allowLoss: true }));
    expect(await texts(world)).toEqual([[], []]);
    await world.update();
    expect(await texts(world)).toEqual([[euCur], [eu]]);
    // The key may come back at a sequence that the former generation had passed.
    await world.produce('a', 1, row('US', 0, 'back'));
    await world.update();
    expect(await texts(world)).toEqual([
      [euCur, '{"k":"US","seq":0,"v":"back"}'],
      [eu, '{"k":"US","seq":0}'],
    ]);
  });

  test('what can not be read again is kept in both where that is asked for', async () => {
    const world = await chainedWorld();
    await world.log.deleteRecords('a', new Map([[1, 1]]));
    await refreshTogether(await both(world, { keepUnrecoverable: true }));
    await world.update();
    expect(await texts(world)).toEqual([
      [euCur, usCur],
      [eu, us],
    ]);
  });

  test('FR-08 a flow that was not there for it stops with a named error, until its table is refreshed', async () => {
    const world = await chainedWorld();
    await world.produce('a', 0, row('EU', 5, 'high'));
    await world.update();
    await world.log.deleteRecords(
      'a',
      new Map([
        [0, 1],
        [1, 1],
      ]),
    );
    await world.produce('a', 0, row('EU', 7));
    world.sql = cur("WHERE v <> 'high' AND seq < 7");
    await refreshBeside(await world.besideOptions('cur', { allowLoss: true }));
    await world.produce('a', 0, row('EU', 2));
    world.sql = cur("WHERE v <> 'high' AND seq < 7") + down;
    await expect(world.update()).rejects.toMatchObject({ code: 'SOURCE_REFRESHED' });
    expect((await world.preview('down')).report.lossless).toBe(true);
    await refreshBeside(await world.besideOptions('down'));
    await world.update();
    // The topic of the table above still holds both keys of the former generation, at higher sequences.
    expect(await texts(world)).toEqual([['{"k":"EU","seq":2,"v":"x"}'], ['{"k":"EU","seq":2}']]);
  });

  test('a refresh of the table below alone loses nothing', async () => {
    const world = await chainedWorld();
    await world.produce('a', 0, row('EU', 3, 'hidden'));
    await world.update();
    await world.log.deleteRecords(
      'a',
      new Map([
        [0, 2],
        [1, 1],
      ]),
    );
    world.log.compact('cur', { dropTombstones: true });
    expect((await world.preview('down')).report.lossless).toBe(true);
    await refreshBeside(await world.besideOptions('down'));
    await world.update();
    expect(await texts(world)).toEqual([['{"k":"EU","seq":3,"v":"hidden"}', usCur], [us]]);
    await refreshInPlace(await world.runOptions('down'));
    await world.update();
    expect((await texts(world))[1]).toEqual([us]);
  });

  test('a table that is added after a refresh beside the live one reads what counts', async () => {
    const world = await chainedWorld(cur());
    await world.produce('a', 0, row('EU', 5, 'high'));
    await world.update();
    world.sql = cur("WHERE v <> 'high' AND k = 'EU'");
    await refreshBeside(await world.besideOptions('cur', { allowLoss: true }));
    world.sql += down;
    await world.update();
    expect(await texts(world)).toEqual([[euCur], [eu]]);
  });
});

const low = `CREATE STREAMING TABLE low
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, 'low' AS v FROM STREAM(down);`;
const chain = ['cur', 'down', 'low'];

/** All tables of the chain by one command, each beside the live one. */
async function cascade(
  world: RefreshWorld,
  flags: Parameters<RefreshWorld['runOptions']>[1] = {},
  log?: Log,
  onTurn: (table: string) => Promise<void> = async () => undefined,
): Promise<readonly RefreshOutcome[]> {
  const together = new Set(chain);
  const { catalog } = await world.outside(log);
  const all = [];
  for (const name of chain) {
    all.push({ ...(await world.besideOptions(name, flags, log)), catalog, together });
  }
  return refreshTogetherBeside(all, async (options) => {
    await onTurn(options.table.name);
    const own = await world.besideOptions(options.table.name, flags, log);
    return refreshBeside({ ...own, ...options, flow: own.flow, waitMs: 5_000 });
  });
}

async function chainTexts(world: RefreshWorld): Promise<readonly string[][]> {
  return [...(await texts(world)), tableText(await world.table('low'))];
}

const whole = [
  [euCur, usCur],
  [eu, us],
  ['{"k":"EU","seq":1,"v":"low"}', '{"k":"US","seq":1,"v":"low"}'],
];
const euOnly = whole.map(([first]) => [first]);

async function expiredChain(): Promise<RefreshWorld> {
  const world = await chainedWorld(cur() + down + low);
  await world.log.deleteRecords('a', new Map([[1, 1]]));
  return world;
}

describe('FR-08 --cascade beside the live tables', () => {
  test('what would be lost is refused before anything of any table is made', async () => {
    const world = await expiredChain();
    await expect(cascade(world)).rejects.toMatchObject({ code: 'DATA_LOSS_REFUSED' });
    const built = chain.map((name) => `p.${name}.refresh.output`);
    expect((await world.log.describeTopics(built)).size).toBe(0);
    expect((await world.outside()).catalog.all('refresh')).toEqual([]);
    await world.update();
    expect(await chainTexts(world)).toEqual(whole);
  });

  test('with --allow-loss each is what the sources have still, by its differences alone', async () => {
    const world = await expiredChain();
    const before = chain.map((name) => world.log.readCommitted(name).length);
    const outcomes = await cascade(world, { allowLoss: true });
    expect(outcomes).toMatchObject(
      chain.map((table) => ({
        table,
        mode: 'beside',
        generation: 1,
        published: 0,
        buried: 1,
        lost: { keys: 1, rows: 1 },
      })),
    );
    expect(await chainTexts(world)).toEqual(euOnly);
    // One tombstone each: no reader saw a table without the key that stays.
    const after = chain.map((name) => world.log.readCommitted(name).length);
    expect(after).toEqual(before.map((count) => count + 1));
    await world.update();
    expect(chain.map((name) => world.log.readCommitted(name).length)).toEqual(after);
    // The key may come back at a sequence that the former generation had passed.
    await world.produce('a', 1, row('US', 0, 'back'));
    await world.update();
    expect((await chainTexts(world))[2]).toEqual([
      '{"k":"EU","seq":1,"v":"low"}',
      '{"k":"US","seq":0,"v":"low"}',
    ]);
  });

  test('with --keep-unrecoverable each is as it was, and newer rows go through all of them', async () => {
    const world = await expiredChain();
    await world.produce('a', 0, row('EU', 4));
    const outcomes = await cascade(world, { keepUnrecoverable: true });
    expect(outcomes.map(({ lost }) => lost.keys)).toEqual([0, 0, 0]);
    await world.update();
    expect(await chainTexts(world)).toEqual([
      ['{"k":"EU","seq":4,"v":"x"}', usCur],
      ['{"k":"EU","seq":4}', us],
      ['{"k":"EU","seq":4,"v":"low"}', '{"k":"US","seq":1,"v":"low"}'],
    ]);
  });

  test('FR-46 another definition above: those below follow to lower sequences', async () => {
    const world = await chainedWorld(cur() + down + low);
    await world.produce('a', 0, row('EU', 5, 'high'));
    await world.update();
    world.sql = cur("WHERE v <> 'high'") + down + low;
    await cascade(world);
    expect(await chainTexts(world)).toEqual(whole);
  });

  test('between the turns the flows below are held, and the next attempt goes on with them alone', async () => {
    const world = await expiredChain();
    const interrupted = cascade(world, { allowLoss: true }, undefined, async (table) => {
      if (table === 'down') throw new Error('interrupted');
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    expect(await chainTexts(world)).toEqual([euOnly[0], whole[1], whole[2]]);
    await expect(world.update()).rejects.toMatchObject({ code: 'TABLE_LOCKED' });
    const turns: string[] = [];
    await cascade(world, { allowLoss: true }, undefined, async (table) => {
      turns.push(table);
    });
    expect(turns).toEqual(['down', 'low']);
    await world.update();
    expect(await chainTexts(world)).toEqual(euOnly);
    expect((await world.outside()).catalog.all('lock')).toEqual([]);
  });

  test('FR-04 two of them at once: every table is refreshed whole, and once it has come to its end nothing is held', async () => {
    for (const flags of [{ allowLoss: true }, { keepUnrecoverable: true }]) {
      const world = await expiredChain();
      const attempts = await Promise.allSettled([cascade(world, flags), cascade(world, flags)]);
      for (const attempt of attempts) {
        if (attempt.status === 'fulfilled') continue;
        expect(attempt.reason).toMatchObject({
          code: expect.stringMatching(/TABLE_LOCKED|GROUP_BUSY|TASK_MIGRATED/),
        });
      }
      // Whoever was stopped by the other is started once more.
      await cascade(world, flags);
      await world.update();
      expect(await chainTexts(world)).toEqual('allowLoss' in flags ? euOnly : whole);
      const { catalog } = await world.outside();
      expect(catalog.all('lock')).toEqual([]);
      expect(catalog.all('flow').map(({ name }) => name)).toEqual([...chain]);
    }
  });

  test('one that is given up in between stops with the named error until it is refreshed', async () => {
    const world = await expiredChain();
    const interrupted = cascade(world, { allowLoss: true }, undefined, async (table) => {
      if (table !== 'down') return;
      const { catalog, clock } = await world.outside();
      await beginRun(await world.runOptions('down'), 'beside').progress.enter(
        'building',
        clock.now(),
      );
      await catalog.read();
      await cancelRefresh(await world.cancelOptions('down'));
      throw new Error('interrupted');
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    await expect(world.update()).rejects.toMatchObject({
      code: expect.stringMatching(/SOURCE_REFRESHED|TABLE_LOCKED/),
    });
    await cascade(world, { allowLoss: true });
    await world.update();
    expect(await chainTexts(world)).toEqual(euOnly);
  });

  test('FR-35 services let go of every flow by themselves, and take it up again', async () => {
    const world = await expiredChain();
    const services = [await world.service('one'), await world.service('two')];
    await cascade(world, { allowLoss: true });
    await world.produce('a', 0, row('EU', 8));
    await expect
      .poll(() => chainTexts(world), { timeout: 20_000 })
      .toEqual([
        ['{"k":"EU","seq":8,"v":"x"}'],
        ['{"k":"EU","seq":8}'],
        ['{"k":"EU","seq":8,"v":"low"}'],
      ]);
    for (const service of services) await service.stop();
  }, 60_000);

  test.each([
    ['allowLoss', true, 53],
    ['keepUnrecoverable', false, 59],
  ] as const)(
    'killed at every call it goes on and ends the same: %s, effect %s',
    async (flag, hasEffect, step) => {
      await refreshThroughCrashes({
        open: expiredChain,
        refresh: (world, log) => cascade(world, { [flag]: true }, log),
        flow: 'low',
        between: async (world) => {
          await updateOrLocked(world);
        },
        check: async (world, killedAt) => {
          expect(await chainTexts(world), killedAt).toEqual(flag === 'allowLoss' ? euOnly : whole);
          const { catalog } = await world.outside();
          expect(catalog.all('lock'), killedAt).toEqual([]);
        },
        hasEffect,
        step,
      });
    },
    240_000,
  );
});

describe('P111 tombstones of a table that a REPLACE USING table streams', () => {
  const emptied = `CREATE STREAMING TABLE cur
FLOW REPLACE USING (k) SEQUENCE BY seq APPLY AS EMPTY WHEN (gone) BY NAME SELECT k, seq, v, gone FROM STREAM(a);`;

  async function retentionOf(world: RefreshWorld): Promise<string | undefined> {
    const found = (await world.log.describeTopics(['cur'])).get('cur');
    return found?.configs.get('delete.retention.ms');
  }

  test('stay, where they say that a key is empty', async () => {
    for (const [above, kept] of [
      [emptied, '3155760000000'],
      [cur(), undefined],
    ] as const) {
      const world = await chainedWorld(above + down);
      expect(await retentionOf(world)).toBe(kept);
    }
    const alone = await chainedWorld(emptied);
    expect(await retentionOf(alone)).toBeUndefined();
  });

  test('a topic that would lose them is refused, with what to set', async () => {
    const world = new RefreshWorld(emptied + down, ['a'], 1);
    const configs = { 'cleanup.policy': 'compact', 'delete.retention.ms': '86400000' };
    await world.log.createTopics([{ name: 'cur', partitions: 1, replicationFactor: 1, configs }]);
    await expect(world.update()).rejects.toMatchObject({
      code: 'TOPIC_CONFIG',
      hint: expect.stringContaining('delete.retention.ms=3155760000000'),
    });
  });
});

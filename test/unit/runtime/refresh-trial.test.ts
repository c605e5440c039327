import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { trialLines } from '../../../src/cli/refresh-text.ts';
import type { FlowPlan } from '../../../src/plan/pipeline-plan.ts';
import type { TrialReport } from '../../../src/refresh/trial.ts';
import { replayDeadLetters } from '../../../src/runtime/inspect/replay-dead-letters.ts';
import { type BesideOptions, refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { cancelRefresh } from '../../../src/runtime/refresh/refresh-cancel.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { skipRecord } from '../../../src/runtime/refresh/refresh-skip.ts';
import { tryRecords } from '../../../src/runtime/refresh/refresh-trial.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import { RefreshWorld, type SourceRow, tableText } from '../../support/refresh-world.ts';

function sqlOf(value: string, options = '', more = ''): string {
  return `CREATE STREAMING TABLE t ${options}
    FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, ${value} AS v FROM STREAM(a) ${more};`;
}

function row(k: string, v: string): SourceRow {
  return { k, seq: 1, v };
}

const withLetters = "WITH (dead_letter_topic = 'dlq')";
const asText = 'v';
const asNumber = 'CAST(v AS INT)';

/** Four records, of which two are no numbers, read as text. */
async function deployed(options = '', value = asText): Promise<RefreshWorld> {
  const world = new RefreshWorld(sqlOf(value, options), ['a'], 1);
  await world.produce('a', 0, row('R1', '1'), row('R2', 'two'), row('R3', '3'), row('R4', 'four'));
  await world.update();
  return world;
}

async function trial(world: RefreshWorld, recordsMax = 1_000): Promise<TrialReport> {
  const catalog = new Catalog(world.log, 'p.catalog');
  await catalog.read();
  const { log, pipeline, plan } = world;
  return tryRecords({
    ...{ log, catalog, pipeline, plan, recordsMax },
    clock: systemClock,
    flows: plan.flows,
  });
}

describe('FR-11 records that the present definition can not read', () => {
  test.each(['', withLetters])(
    'FR-01 refresh --in-place %s is refused and touches nothing',
    async (options) => {
      const world = await deployed(options);
      const before = tableText(await world.table('t'));
      world.sql = sqlOf(asNumber, options);
      const what = options === '' ? 'at which the flow would stop: 2' : 'dead letters: 2';
      await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject({
        code: 'DATA_LOSS_REFUSED',
        detail: expect.stringContaining(what),
        hint: expect.stringContaining('--allow-loss'),
      });
      await expect(
        refreshInPlace(await world.runOptions('t', { keepUnrecoverable: true })),
      ).rejects.toMatchObject({ code: 'DEFINITION_CHANGED' });
      world.sql = sqlOf(asText, options);
      await world.update();
      expect(tableText(await world.table('t'))).toEqual(before);
    },
  );

  test.each(['', withLetters])(
    'FR-01 beside the table %s it is refused before anything is built',
    async (options) => {
      const world = await deployed(options);
      world.sql = sqlOf(asText, options, 'WHERE CAST(v AS INT) > 0');
      await expect(refreshBeside(await world.besideOptions('t'))).rejects.toMatchObject({
        code: 'DATA_LOSS_REFUSED',
        detail: expect.stringMatching(/: 2.*a\/0@1/),
        hint: expect.stringContaining('--allow-loss'),
      });
      expect((await world.log.describeTopics(['p.t.refresh.output'])).size).toBe(0);
      expect((await world.outside()).catalog.all('refresh')).toEqual([]);
      expect(tableText(await world.table('t'))).toHaveLength(4);
    },
  );

  test('FR-01 with --allow-loss it is emptied, and filled with what can be read', async () => {
    const world = await deployed(withLetters);
    world.sql = sqlOf(asNumber, withLetters);
    await refreshInPlace(await world.runOptions('t', { allowLoss: true }));
    await world.update();
    expect(tableText(await world.table('t'))).toEqual([
      '{"k":"R1","seq":1,"v":1}',
      '{"k":"R3","seq":1,"v":3}',
    ]);
  });

  test('the trial names the first of them and why', async () => {
    const world = await deployed(withLetters);
    world.sql = sqlOf(asNumber, withLetters);
    expect(await trial(world)).toMatchObject({
      records: 4,
      tried: 4,
      deadLetters: 2,
      stops: 0,
      reasons: { CAST_INVALID_INPUT: 2 },
      sample: [{ topic: 'a', partition: 0, offset: 1 }, { offset: 3 }],
    });
    expect((await world.preview('t')).report.trial).toBeNull();
  });

  test('what is a dead letter already does not count, nor what was not read yet', async () => {
    const world = await deployed(withLetters, asNumber);
    await world.produce('a', 0, row('R5', 'five'));
    const found = await trial(world);
    expect(found).toMatchObject({ records: 4, tried: 4, deadLetters: 0, setAside: 2, stops: 0 });
    expect(trialLines(found)[0]).toMatch(
      /: each can be read, but for 2 that gave no row before, and are dead letters already\.$/,
    );
    await refreshInPlace(await world.runOptions('t'));
  });

  test('what has expired is not tried', async () => {
    const world = await deployed(withLetters);
    await world.log.deleteRecords('a', new Map([[0, 2]]));
    world.sql = sqlOf(asNumber, withLetters);
    expect(await trial(world)).toMatchObject({ records: 2, tried: 2, deadLetters: 1 });
  });

  test('a share of dead letters that the table does not allow stops the flow', async () => {
    const world = await deployed();
    world.sql = sqlOf(
      asNumber,
      "WITH (dead_letter_topic = 'new_dlq', max_dead_letter_share = 0.001)",
    );
    expect(await trial(world)).toMatchObject({
      deadLetters: 2,
      stops: 1,
      reasons: { TOO_MANY_DEAD_LETTERS: 1 },
    });
  });

  test('an expectation that fails the update stops the flow', async () => {
    const world = await deployed();
    world.sql = sqlOf(asText, '(CONSTRAINT short EXPECT (length(v) < 4) ON VIOLATION FAIL UPDATE)');
    expect(await trial(world)).toMatchObject({ stops: 1, reasons: { EXPECTATION_FAILED: 1 } });
  });

  test.each([
    ['DROP ROW', {}],
    ['FAIL UPDATE', { EXPECTATION_FAILED: 1 }],
    ['warn', { NULL_SEQUENCE: 1 }],
  ])(
    'a row is judged (%s) before it is asked for its sequence, as in the run',
    async (action, reasons) => {
      const [goes, judged] = ["v <> 'none'", action === 'warn' ? '' : `ON VIOLATION ${action}`];
      const sqlWith = (condition: string): string => `
      CREATE STREAMING TABLE t (CONSTRAINT some EXPECT (${condition}) ${judged}) ${withLetters}
      FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
      SELECT k, CASE WHEN v <> 'none' THEN seq END AS seq, v FROM STREAM(a);`;
      const world = new RefreshWorld(sqlOf(asText, withLetters), ['a'], 1);
      await world.produce('a', 0, row('K1', 'some'), row('K2', 'none'));
      await world.update();
      world.sql = sqlWith(goes);
      expect((await trial(world)).reasons).toEqual(reasons);
    },
  );

  test('FR-28 a table of AUTO CDC is tried, too, and a delete is judged by no expectation', async () => {
    const feed = (value: string): string => `
      CREATE STREAMING TABLE t (CONSTRAINT some EXPECT (v <> 'x') ON VIOLATION FAIL UPDATE) ${withLetters};
      CREATE FLOW f AS AUTO CDC INTO t FROM (SELECT k, seq, ${value} AS v, gone FROM STREAM(a))
      KEYS (k) APPLY AS DELETE WHEN gone SEQUENCE BY seq COLUMNS * EXCEPT (gone);`;
    const world = new RefreshWorld(feed('v'), ['a'], 1);
    await world.produce('a', 0, row('R1', '1'), { ...row('R1', 'x'), seq: 2, gone: true });
    await world.update();
    expect(await trial(world)).toMatchObject({ records: 2, deadLetters: 0, stops: 0 });
    world.sql = feed('CAST(CAST(v AS INT) AS STRING)');
    expect(await trial(world)).toMatchObject({ records: 2, deadLetters: 1, stops: 0 });
  });

  test('FR-26 of a join of two streams each side is tried by itself', async () => {
    const joined = (value: string): string =>
      `CREATE STREAMING TABLE t (CONSTRAINT some EXPECT (v <> '') ON VIOLATION FAIL UPDATE)
       FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
       SELECT x.k, x.seq, y.v FROM STREAM(a) x JOIN (SELECT k, ${value} AS v FROM STREAM(b)) y ON x.k = y.k;`;
    const world = new RefreshWorld(joined('v'), ['a', 'b'], 1);
    await world.produce('a', 0, row('A', ''), row('B', ''));
    await world.produce('b', 0, row('A', '1'), row('B', 'two'));
    await world.update();
    expect(await trial(world)).toMatchObject({ deadLetters: 0, stops: 0 });
    world.sql = joined('CAST(CAST(v AS INT) AS STRING)');
    expect(await trial(world)).toMatchObject({ stops: 1, sample: [{ topic: 'b', offset: 1 }] });
  });

  test('of many records an even sample is tried, and says so', async () => {
    const world = new RefreshWorld(sqlOf(asText, withLetters), ['a'], 1);
    const rows = Array.from({ length: 300 }, (_, at) => row(`R${at}`, at < 280 ? '1' : 'x'));
    await world.produce('a', 0, ...rows);
    await world.update();
    world.sql = sqlOf(asNumber, withLetters);
    expect(await trial(world, 300)).toMatchObject({ records: 300, tried: 300, deadLetters: 20 });
    expect(await trial(world, 30)).toMatchObject({ records: 300, tried: 30, deadLetters: 0 });
    const { sample } = await trial(world, 290);
    expect(sample[0]).toMatchObject({ offset: 280 });
  });

  test('a row of a joined table is found, and nothing is remembered of the join', async () => {
    const joined = (value: string): string => `
      CREATE STREAMING TABLE u FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(b);
      CREATE STREAMING TABLE t ${withLetters}
      FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
      SELECT l.k AS k, l.seq AS seq, ${value} AS v FROM STREAM(a) AS l JOIN u AS r ON l.k = r.k;`;
    const world = new RefreshWorld(joined('r.v'), ['a', 'b'], 1);
    await world.produce('b', 0, row('R1', 'one'), row('R2', '2'));
    await world.update();
    await world.produce('a', 0, row('R1', ''), row('R2', ''));
    await world.update();
    world.sql = joined('CAST(r.v AS INT)');
    const catalog = await world.log.offsetRanges('p.catalog', [0]);
    const { flows } = world.plan;
    const outside = await world.outside();
    const report = await tryRecords({
      ...outside,
      flows: flows.filter(({ target }) => target === 't'),
      recordsMax: 10,
    });
    expect(report).toMatchObject({ records: 2, deadLetters: 1 });
    expect(await world.log.offsetRanges('p.catalog', [0])).toEqual(catalog);
  });
});

/** Gives the dead letters of a flow to it once more, and lets them be merged where they are not left between the stages. */
async function replayed(
  world: RefreshWorld,
  flow: FlowPlan | undefined,
  isMerged = true,
): Promise<number> {
  if (flow === undefined) throw new Error('no flow');
  const report = await replayDeadLetters({
    ...(await world.outside()),
    flow,
    isWanted: () => true,
    isDryRun: false,
    onBad: () => undefined,
  });
  if (isMerged) await world.update();
  return report.replayed;
}

const refused = { code: 'DATA_LOSS_REFUSED' };
/** What a refresh beside the table finds before the swap. */
const unreadable = { ...refused, message: expect.stringContaining('cannot read 1 records') };

/** As if the sample that is tried first had missed it. */
async function unlucky(world: RefreshWorld): Promise<BesideOptions> {
  return { ...(await world.besideOptions('t')), tryRecordsMax: 0 };
}

/** Both ways are refused for one record, and nothing is left of the attempts. */
async function expectRefusals(world: RefreshWorld): Promise<void> {
  await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject(refused);
  await expect(refreshBeside(await unlucky(world))).rejects.toMatchObject(unreadable);
  await cancelRefresh(await world.cancelOptions('t'));
}

/** A reader that takes an x from the end of the number, and one that takes a y. */
const withX = "CAST(regexp_replace(v, 'x$', '') AS INT)";
const withY = "CAST(regexp_replace(v, 'y$', '') AS INT)";

describe('FR-11 a dead letter whose record has a row in the table is no loss that has happened', () => {
  const keyed = (value: string, output = ''): string =>
    sqlOf(value, `WITH (dead_letter_topic = 'dlq'${output})`);
  const appended = (value: string): string => `CREATE STREAMING TABLE t ${withLetters};
    CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, seq, ${value} AS v FROM STREAM(a);`;
  const cdc = (value: string): string => `CREATE STREAMING TABLE t ${withLetters};
    CREATE FLOW f AS AUTO CDC INTO t FROM (SELECT k, seq, ${value} AS v FROM STREAM(a))
    KEYS (k) SEQUENCE BY seq;`;
  const chained = (value: string): string => `CREATE STREAMING TABLE raw;
    CREATE FLOW fr AS INSERT INTO raw BY NAME SELECT k, seq, v FROM STREAM(a);
    CREATE STREAMING TABLE t ${withLetters}
    FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, ${value} AS v FROM STREAM(raw);`;
  const shapes: readonly (readonly [string, (value: string) => string])[] = [
    ['REPLACE USING', keyed],
    ['numbered rows', (value) => keyed(value, ", output = 'rows'")],
    ['append', appended],
    ['AUTO CDC', cdc],
    ['a table over a table', chained],
  ];

  test.each(shapes)('rows that came by a replay are not let go: %s', async (_, sql) => {
    const world = new RefreshWorld(sql(asNumber), ['a'], 1);
    await world.produce('a', 0, row('R1', '1'), row('R2', '2x'), row('R3', 'three'));
    await world.update();
    world.sql = sql(withX);
    await world.update();
    const flow = world.plan.flows.find(({ target }) => target === 't');
    expect(await replayed(world, flow)).toBe(1);
    const rows = (): number => world.log.readCommitted('t').filter(({ value }) => value).length;
    const before = rows();
    expect(before).toBe(2);
    world.sql = sql(asNumber);
    await expectRefusals(world);
    expect(rows()).toBe(before);
    // What can read it, and what lacks a row of it, loses nothing.
    world.sql = sql(withX);
    await refreshBeside(await world.besideOptions('t'));
    await refreshInPlace(await world.runOptions('t'));
  });

  test.each(shapes.filter(([shape]) => shape !== 'append'))(
    'rows of a replay that wait between the stages are not let go: %s',
    async (_, sql) => {
      const world = new RefreshWorld(sql(asNumber), ['a'], 1);
      await world.produce('a', 0, row('R1', '1'), row('R2', '2x'), row('R3', 'three'));
      await world.update();
      world.sql = sql(withX);
      await world.update();
      const flow = world.plan.flows.find(({ target }) => target === 't');
      // Twice: it is one row all the same.
      expect(await replayed(world, flow, false)).toBe(1);
      expect(await replayed(world, flow, false)).toBe(1);
      world.sql = sql(asNumber);
      await expectRefusals(world);
      world.sql = sql(withX);
      await refreshBeside(await world.besideOptions('t'));
      await world.update();
      const rows = world.log.readCommitted('t').filter(({ value }) => value);
      expect(rows.some(({ value }) => String(value).includes('"R2"'))).toBe(true);
    },
  );

  test('a row that a later one has replaced is none that is lost', async () => {
    const world = new RefreshWorld(keyed(asNumber), ['a'], 1);
    await world.produce('a', 0, row('R2', '2x'));
    await world.update();
    world.sql = keyed(withX);
    await world.update();
    expect(await replayed(world, world.plan.flows[0])).toBe(1);
    await world.produce('a', 0, { ...row('R2', '3'), seq: 2 });
    await world.update();
    world.sql = keyed(asNumber);
    expect((await trial(world)).deadLetters).toBe(0);
    await refreshBeside(await world.besideOptions('t'));
  });

  test('a row that another flow makes of the same record is not that of the dead letter', async () => {
    const world = new RefreshWorld(
      `CREATE STREAMING TABLE t ${withLetters};
      CREATE FLOW f AS INSERT INTO t BY NAME SELECT k, seq, CAST(${asNumber} AS STRING) AS v FROM STREAM(a);
      CREATE FLOW g AS INSERT INTO t BY NAME SELECT k, seq, v FROM STREAM(a);`,
      ['a'],
      1,
    );
    await world.produce('a', 0, row('R1', '1'), row('R2', '2x'));
    await world.update();
    expect(await trial(world)).toMatchObject({ deadLetters: 0 });
    await refreshBeside(await unlucky(world));
    await refreshInPlace(await world.runOptions('t'));
  });

  test('what a refresh that was refused has set aside makes no later one lose it silently', async () => {
    const world = new RefreshWorld(keyed(withX), ['a'], 1);
    await world.produce('a', 0, row('R1', '1'), row('R2', '2x'));
    await world.update();
    world.sql = keyed(asNumber);
    await expect(refreshBeside(await unlucky(world))).rejects.toMatchObject(unreadable);
    await cancelRefresh(await world.cancelOptions('t'));
    expect(await trial(world)).toMatchObject({ deadLetters: 1 });
    await expect(refreshInPlace(await world.runOptions('t'))).rejects.toMatchObject(refused);
    expect(tableText(await world.table('t'))).toHaveLength(2);
  });

  test('as many records that can be read now make up for none that no longer can', async () => {
    const world = new RefreshWorld(keyed(withX), ['a'], 1);
    await world.produce('a', 0, row('R1', '1'), row('R2', '2x'), row('R3', '3y'));
    await world.update();
    expect(tableText(await world.table('t'))).toHaveLength(2);
    world.sql = keyed(withY);
    await expect(refreshBeside(await unlucky(world))).rejects.toMatchObject({
      ...unreadable,
      detail: expect.stringContaining('a/0@1'),
    });
    expect(tableText(await world.table('t'))).toHaveLength(2);
  });
});

test('FR-11 a record that the flow was made to step over is no dead letter of a refresh', async () => {
  const world = new RefreshWorld(sqlOf(asNumber), ['a'], 1);
  await world.produce('a', 0, row('R1', '1'), row('R2', 'two'), row('R3', '3'));
  await expect(world.update()).rejects.toMatchObject({ code: 'BAD_ROW' });
  const outside = await world.outside();
  const [flow] = world.plan.flows;
  if (flow === undefined) throw new Error('no flow');
  await skipRecord(outside, flow, { topic: 'a', partition: 0, offset: 1 });
  await world.update();
  expect(await refreshBeside(await world.besideOptions('t'))).toMatchObject({ deadLetters: 0 });
  expect(tableText(await world.table('t'))).toHaveLength(2);
});

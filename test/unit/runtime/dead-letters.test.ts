import { afterEach, describe, expect, test } from 'vitest';
import { openText, replayCode, replayText } from '../../../src/cli/dlq.ts';
import { readHeaders } from '../../../src/data/record-headers.ts';
import { tableOf } from '../../../src/plan/topology.ts';
import { decideMoves } from '../../../src/refresh/checkpoint-move.ts';
import { NamedLetters } from '../../../src/runtime/inspect/named-letters.ts';
import { readTable } from '../../../src/runtime/inspect/read-table.ts';
import {
  type ReplayReport,
  replayDeadLetters,
} from '../../../src/runtime/inspect/replay-dead-letters.ts';
import { settledJudge } from '../../../src/runtime/inspect/settled-letters.ts';
import {
  applyMoves,
  type OutsideOptions,
  readCheckpoints,
} from '../../../src/runtime/refresh/refresh-checkpoints.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import {
  type PlacedDeadLetter,
  readDeadLetters,
} from '../../../src/runtime/worker/dead-letters.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { planned, valuesOf, worldOf } from '../../support/append-world.ts';

const source = 'CREATE SOURCE s (k STRING, n STRING, seq BIGINT);';
const table = (to: string, more = '') => `${source}
CREATE STREAMING TABLE t WITH (dead_letter_topic = 't.dlq'${more})
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, ${to}(n AS INT) AS n, seq FROM STREAM(s);`;
const strict = table('CAST');
const mild = table('TRY_CAST');
const appended = (to: string) => `${source}
CREATE STREAMING TABLE log WITH (dead_letter_topic = 't.dlq');
CREATE FLOW f AS INSERT INTO log BY NAME SELECT k, ${to}(n AS INT) AS n, seq FROM STREAM(s);`;

let world: PipelineWorld;

afterEach(() => world.close());

async function settled(sql: string): Promise<void> {
  const process = await world.startProcess('one', planned(sql));
  await world.untilCaughtUp(process);
  await world.stop(process);
}

function give(k: string, n: string, seq: number, partition = 0): void {
  world.produce('s', { value: JSON.stringify({ k, n, seq }) }, partition);
}

async function outside(sql: string): Promise<OutsideOptions> {
  const catalog = new Catalog(world.log, 'test.catalog');
  await catalog.read();
  return {
    log: world.log,
    catalog,
    clock: world.clock,
    pipeline: 'test',
    plan: planned(sql),
    listener: () => undefined,
    command: 'test',
    token: 'test',
  };
}

async function replay(
  sql: string,
  more: {
    readonly isDryRun?: boolean;
    readonly isWanted?: (one: PlacedDeadLetter) => boolean;
    readonly named?: NamedLetters;
  } = {},
): Promise<ReplayReport & { readonly bad: readonly string[] }> {
  const bad: string[] = [];
  const options = await outside(sql);
  const [flow] = options.plan.flows;
  if (flow === undefined) throw new Error('no flow');
  const report = await replayDeadLetters({
    ...options,
    flow,
    isWanted: () => true,
    isDryRun: false,
    onBad: ({ offset }, { errorClass, message }) =>
      bad.push(`${offset}: ${errorClass}: ${message}`),
    ...more,
  });
  await options.catalog.close();
  return { ...report, bad };
}

async function rewind(sql: string): Promise<void> {
  const options = await outside(sql);
  const [flow] = options.plan.flows;
  if (flow === undefined) throw new Error('no flow');
  const rows = await readCheckpoints(options, flow);
  await applyMoves(options, flow, decideMoves(rows, { to: 'earliest' }), rows);
  await options.catalog.close();
}

/** Rows with where each came from. */
async function rows(sql: string): Promise<string[]> {
  const { tables, flows } = planned(sql);
  const [tablePlan] = tables;
  const [flow] = flows;
  if (tablePlan === undefined || flow?.kind !== 'replace_using') throw new Error('no table');
  const found: string[] = [];
  for await (const set of readTable({ log: world.log, table: tablePlan, flow })) {
    for (const row of set.rows) {
      const places = row.sources.map(({ partition, offset }) => `${partition}@${offset}`);
      found.push(`${row.json} ${places.join('+')}`);
    }
  }
  return found.sort();
}

async function account(sql: string) {
  const [flow] = planned(sql).flows;
  if (flow === undefined) throw new Error('no flow');
  return world.account(flow);
}

describe('dead letters', () => {
  test('DL replay: rows keep the place of their source record, a lower sequence stays superseded, and twice is once', async () => {
    world = worldOf(strict);
    give('a', '1', 1);
    give('a', 'x', 2);
    give('b', 'y', 1);
    give('b', '5', 2);
    give('c', 'z', 1, 1);
    give('c', '7', 1, 1);
    await settled(strict);
    expect(await rows(strict)).toEqual([
      '{"k":"a","n":1,"seq":1} 0@0',
      '{"k":"b","n":5,"seq":2} 0@3',
      '{"k":"c","n":7,"seq":1} 1@1',
    ]);
    await settled(mild);
    expect(await replay(mild)).toMatchObject({ letters: 3, replayed: 3, rows: 3, stillBad: 0 });
    await settled(mild);
    const after = [
      '{"k":"a","n":null,"seq":2} 0@1',
      '{"k":"b","n":5,"seq":2} 0@3',
      '{"k":"c","n":7,"seq":1} 1@1',
      '{"k":"c","n":null,"seq":1} 1@0',
    ];
    expect(await rows(mild)).toEqual(after);
    const written = world.log.readCommitted('t').length;
    await replay(mild);
    await settled(mild);
    expect(await rows(mild)).toEqual(after);
    expect(world.log.readCommitted('t').length).toBe(written);
    const { source: read, table: merged } = await account(mild);
    expect(read).toMatchObject({ records: 6, decoded: 3, deadLettered: 3, handedOn: 3 });
    expect(merged).toMatchObject({ rows: 9, replayed: 6 });
    expect(merged.rows).toBe(read.handedOn + merged.replayed);
  });

  const isSettled = async (sql: string): Promise<readonly string[]> => {
    const { log, catalog, pipeline, plan } = await outside(sql);
    const [flow] = plan.flows;
    if (flow === undefined) throw new Error('no flow');
    const judge = await settledJudge({ log, catalog, pipeline, plan, flow });
    const found: string[] = [];
    const scope = { log, catalog, pipeline, table: tableOf(plan, flow), flow: flow.name };
    await readDeadLetters(scope, (letter) => {
      found.push(`${letter.partition}@${letter.offset} ${judge(letter) ? 'settled' : 'open'}`);
    });
    return found.sort();
  };

  test('DL a letter is settled once a replay has given its record to the flow, and open again once it was set aside anew', async () => {
    world = worldOf(strict);
    for (const n of ['x', '1', 'y', 'z']) give('a', n, 1);
    give('b', 'x', 1, 1);
    await settled(strict);
    expect(await isSettled(strict)).toEqual(['0@0 open', '0@2 open', '0@3 open', '1@0 open']);
    await replay(strict);
    expect(await isSettled(strict)).toEqual(['0@0 open', '0@2 open', '0@3 open', '1@0 open']);
    await settled(mild);
    await replay(mild, { isDryRun: true });
    expect(await isSettled(mild)).toContain('0@0 open');
    await replay(mild, { isWanted: ({ offset }) => offset === 2 });
    expect(await isSettled(mild)).toEqual(['0@0 open', '0@2 settled', '0@3 open', '1@0 open']);
    await replay(mild, { isWanted: ({ offset }) => offset === 0 });
    const most = ['0@0 settled', '0@2 settled', '0@3 open', '1@0 settled'];
    expect(await isSettled(mild)).toEqual(most);
    await replay(mild);
    expect((await isSettled(mild)).filter((one) => one.endsWith('open'))).toEqual([]);
    await settled(strict);
    await rewind(strict);
    await settled(strict);
    expect(openText(4, 4)).toBe('');
    expect(openText(8, 4)).toBe(', 4 open, 4 settled');
    const anew = await isSettled(strict);
    expect(anew.filter((one) => one.endsWith('settled'))).toHaveLength(4);
    expect(anew.filter((one) => one.endsWith('open'))).toHaveLength(4);
  });

  test('DL records that are named are all replayed, or none where one of them has no letter', async () => {
    world = worldOf(strict);
    for (const n of ['x', '1', 'y']) give('a', n, 1);
    await settled(strict);
    await settled(mild);
    const at = (offset: number) => ({ topic: 's', partition: 0, offset });
    const named = (...offsets: readonly number[]) => {
      const letters = new NamedLetters(offsets.map(at));
      return { named: letters, isWanted: (one: PlacedDeadLetter) => letters.isMeant(one) };
    };
    await expect(replay(mild, named(0, 1))).rejects.toMatchObject({
      code: 'USAGE',
      detail: 'Of s/0@1 there is none.',
    });
    await settled(mild);
    expect(await rows(mild)).toEqual(['{"k":"a","n":1,"seq":1} 0@1']);
    expect(await isSettled(mild)).toEqual(['0@0 open', '0@2 open']);
    const left = (await outside(mild)).catalog.all('instance').map(({ name }) => name);
    expect(left).not.toContain('test-replay.t');
    expect(await replay(mild, named(0, 2))).toMatchObject({ letters: 2, replayed: 2, rows: 2 });
    await settled(mild);
    expect(await rows(mild)).toHaveLength(3);
  });

  test('DL replay of a record that the flow has read again meanwhile changes nothing', async () => {
    world = worldOf(strict);
    give('a', 'x', 2);
    give('a', 'y', 2);
    await settled(strict);
    await rewind(mild);
    await settled(mild);
    const before = await rows(mild);
    expect(before).toHaveLength(2);
    const written = world.log.readCommitted('t').length;
    expect(await replay(mild)).toMatchObject({ letters: 2, replayed: 2 });
    await settled(mild);
    expect(await rows(mild)).toEqual(before);
    expect(world.log.readCommitted('t').length).toBe(written);
  });

  test('DL replay into an append flow writes each row once, whatever was replayed or read again before', async () => {
    world = worldOf(appended('CAST'));
    for (const n of ['1', 'x', 'y', '2']) give('a', n, 1);
    await settled(appended('CAST'));
    const sql = appended('TRY_CAST');
    await settled(sql);
    const isFirst = ({ offset }: PlacedDeadLetter): boolean => offset === 1;
    expect(await replay(sql, { isWanted: isFirst })).toMatchObject({ rows: 1, present: 0 });
    expect(await replay(sql)).toMatchObject({ replayed: 2, rows: 1, present: 1 });
    expect(await replay(sql)).toMatchObject({ replayed: 2, rows: 0, present: 2 });
    expect(valuesOf(world.log.readCommitted('log'))).toEqual([
      '{"k":"a","n":1,"seq":1}',
      '{"k":"a","n":2,"seq":1}',
      '{"k":"a","n":null,"seq":1}',
      '{"k":"a","n":null,"seq":1}',
    ]);
  });

  test('DL replay into LIMIT hands each row on once, whether it is on its way or in the output', async () => {
    const limited = (to: string) => `${source}
CREATE STREAMING TABLE log WITH (dead_letter_topic = 't.dlq') AS
SELECT k, ${to}(n AS INT) AS n, seq FROM STREAM(s) LIMIT 10;`;
    const sql = limited('TRY_CAST');
    world = worldOf(limited('CAST'));
    for (const n of ['1', 'x', 'y']) give('a', n, 1);
    await settled(limited('CAST'));
    await settled(sql);
    const isFirst = ({ offset }: PlacedDeadLetter): boolean => offset === 1;
    expect(await replay(sql, { isWanted: isFirst })).toMatchObject({ rows: 1, present: 0 });
    expect(await replay(sql)).toMatchObject({ replayed: 2, rows: 1, present: 1 });
    await settled(sql);
    expect(await replay(sql)).toMatchObject({ replayed: 2, rows: 0, present: 2 });
    await settled(sql);
    expect(valuesOf(world.log.readCommitted('log'))).toEqual([
      '{"k":"a","n":1,"seq":1}',
      '{"k":"a","n":null,"seq":1}',
      '{"k":"a","n":null,"seq":1}',
    ]);
  });

  test('DL two append flows of one record are not told apart, so a replay is refused', async () => {
    const twins = `${appended('TRY_CAST')}
CREATE FLOW g AS INSERT INTO log BY NAME SELECT k, 0 AS n, seq FROM STREAM(s);`;
    world = worldOf(twins);
    give('a', '1', 1);
    await settled(twins);
    await expect(replay(twins)).rejects.toMatchObject({ code: 'NOT_SUPPORTED' });
  });

  test('DL what is still bad stays, a dry run writes nothing, and another definition is refused', async () => {
    world = worldOf(strict);
    give('a', 'x', 1);
    world.produce('s', { value: '{"k":' }, 0);
    await settled(strict);
    await expect(replay(mild)).rejects.toMatchObject({
      code: 'DEFINITION_CHANGED',
      hint: expect.stringContaining('declare that column as VARIANT and cast it'),
    });
    await settled(mild);
    const before = await rows(mild);
    const dry = await replay(mild, { isDryRun: true });
    expect(dry).toMatchObject({ letters: 2, replayed: 1, rows: 1, stillBad: 1 });
    await settled(mild);
    expect(await rows(mild)).toEqual(before);
    const done = await replay(mild);
    // Of the letter alone: no flow stopped, and no checkpoint is concerned.
    expect(done.bad).toEqual([expect.stringMatching(/^1: MALFORMED_RECORD: [^.]*$/)]);
    await settled(mild);
    expect(await rows(mild)).toEqual(['{"k":"a","n":null,"seq":1} 0@0']);
    expect(world.deadLetters()).toHaveLength(2);
  });

  test('DL a letter whose row fails an expectation is still bad, and ends no replay', async () => {
    const failing = mild.replace(
      'WITH (',
      '(CONSTRAINT known EXPECT (n IS NOT NULL) ON VIOLATION FAIL UPDATE) WITH (',
    );
    world = worldOf(strict);
    give('a', 'x', 1);
    world.produce('s', { value: '{"k":' }, 0);
    await settled(strict);
    await settled(failing);
    const done = await replay(failing);
    expect(done).toMatchObject({ letters: 2, replayed: 0, rows: 0, stillBad: 2 });
    expect(done.bad.join()).toContain(
      'EXPECTATION_FAILED: expectation "known" of table "t" failed',
    );
  });

  const nothing = {
    letters: 0,
    replayed: 0,
    rows: 0,
    present: 0,
    stillBad: 0,
    unread: 0,
    foreign: 0,
  };
  const merged =
    'the flow merges these rows when it runs: what the table has already, or has of a higher sequence, stays as it is\n';

  test.each([
    [{}, false, '0 dead letters\n'],
    [
      { letters: 1, replayed: 1, rows: 1 },
      false,
      `1 dead letter: 1 was replayed, 1 row went on\n${merged}`,
    ],
    [
      { letters: 3, replayed: 2, rows: 4, stillBad: 1 },
      true,
      '3 dead letters: 2 could be replayed, 4 rows would go on, 1 is still bad\n',
    ],
    [
      { letters: 4, stillBad: 2, unread: 1, foreign: 1 },
      false,
      '4 dead letters: 0 were replayed, 2 are still bad, 1 is yet to be read by the flow itself, 1 is of a source that the flow does not read any more\n',
    ],
  ])('DL what a replay of %o says (dry run: %s)', (report, isDryRun, text) => {
    const [flow] = planned(mild).flows;
    if (flow === undefined) throw new Error('no flow');
    expect(replayText(flow, { ...nothing, ...report }, isDryRun)).toBe(text);
    expect(replayCode({ ...nothing, ...report })).toBe(text.includes('still bad') ? 1 : 0);
  });

  test('DL a letter keeps key, time and headers of its record: hidden columns give what they would have given', async () => {
    const hidden = (to: string) => `CREATE SOURCE s (n STRING, seq BIGINT);
CREATE STREAMING TABLE t WITH (dead_letter_topic = 't.dlq') FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
SELECT CAST(_key AS STRING) AS k, ${to}(n AS INT) AS n, seq, _timestamp AS at, size(_headers) AS h, _offset AS o FROM STREAM(s);`;
    world = worldOf(hidden('CAST'));
    const value = '{"n":"x","seq":1}';
    const timestampMs = Date.UTC(2020, 0, 1);
    world.produce('s', { key: 'key', value, headers: { a: '1', b: '2' }, timestampMs }, 1);
    await settled(hidden('CAST'));
    const letters: PlacedDeadLetter[] = [];
    const [tablePlan] = planned(hidden('CAST')).tables;
    if (tablePlan === undefined) throw new Error('no table');
    const options = await outside(hidden('CAST'));
    await readDeadLetters({ ...options, table: tablePlan, flow: 't' }, (one) => {
      letters.push(one);
    });
    await options.catalog.close();
    expect(letters).toHaveLength(1);
    const [letter] = letters;
    expect(letter?.value?.toString()).toBe(value);
    const headers = readHeaders(letter?.headers ?? Buffer.alloc(0), 0, letter?.headers.length ?? 0);
    expect(headers.map(({ key }) => key)).toEqual(['a', 'b']);
    await settled(hidden('TRY_CAST'));
    await replay(hidden('TRY_CAST'));
    await settled(hidden('TRY_CAST'));
    expect(await rows(hidden('TRY_CAST'))).toEqual([
      '{"k":"key","n":null,"seq":1,"at":"2020-01-01T00:00:00.000000Z","h":2,"o":0} 1@0',
    ]);
  });

  test('DL a replay keeps the first source of a row that comes through a table', async () => {
    const chain = (to: string) => `${source}
CREATE STREAMING TABLE gold WITH (dead_letter_topic = 't.dlq') FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
SELECT k, ${to}(n AS INT) AS n, seq FROM STREAM(silver);
CREATE STREAMING TABLE silver AS SELECT k, n, seq FROM STREAM(s) WHERE seq > 0;`;
    world = worldOf(chain('CAST'));
    give('a', '0', 0, 1);
    give('a', 'x', 1, 1);
    await settled(chain('CAST'));
    await settled(chain('TRY_CAST'));
    expect(await replay(chain('TRY_CAST'))).toMatchObject({ replayed: 1 });
    await settled(chain('TRY_CAST'));
    expect(await rows(chain('TRY_CAST'))).toEqual(['{"k":"a","n":null,"seq":1} 1@1']);
  });

  test('DL the breaker stops a flow whose records are mostly bad, also after a restart, and lets it go on where told', async () => {
    const sql = table('CAST', ', max_dead_letter_share = 0.01');
    world = worldOf(sql, 1);
    for (let at = 0; at < 30; at += 1) give(`k${at}`, at % 2 === 0 ? '1' : 'x', 1);
    const process = await world.startProcess('one', planned(sql));
    const error = await world.untilCaughtUp(process).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'TOO_MANY_DEAD_LETTERS', remedy: 'stop' });
    expect(JSON.stringify(error)).toContain('max_dead_letter_share = 0.01 allows 10 of 1000');
    expect(JSON.stringify(error)).toContain('offset 21');
    // Its letters are taken back with the transaction: the error has to show what they are.
    expect(error).toMatchObject({
      detail: expect.stringMatching(
        /CAST_INVALID_INPUT: 11, the first at s\/0@1 \(.*'x'.*, s\/0@3 /,
      ),
      logDetail: expect.stringMatching(
        /CAST_INVALID_INPUT: 11, the first at s\/0@1, s\/0@3, s\/0@5\.$/,
      ),
      hint: expect.stringContaining('no dead letters yet'),
    });
    const again = await world.startProcess('one', planned(sql));
    const second = await world.untilCaughtUp(again).catch((thrown: unknown) => thrown);
    expect(second).toMatchObject({ code: 'TOO_MANY_DEAD_LETTERS' });
    expect(world.deadLetters().length).toBeLessThanOrEqual(10);
    await settled(table('CAST', ', max_dead_letter_share = 1'));
    expect(world.deadLetters()).toHaveLength(15);
  });

  test('DL the breaker counts over restarts and forgets after a thousand records', async () => {
    const sql = table('CAST', ', max_dead_letter_share = 0.004');
    world = worldOf(sql, 1);
    const bad = async (count: number): Promise<void> => {
      for (let at = 0; at < count; at += 1) give('bad', 'x', 1);
      await settled(sql);
    };
    await bad(2);
    await bad(2);
    for (let at = 0; at < 996; at += 1) give(`k${at}`, '1', 1);
    await bad(4);
    const process = await world.startProcess('one', planned(sql));
    give('bad', 'x', 1);
    const error = await world.untilCaughtUp(process).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'TOO_MANY_DEAD_LETTERS' });
  });
});

import { describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import { dieAtEveryStep } from '../../support/die-at-step.ts';
import { everyWay, type Given, planOf, type Scenario, scenario } from '../../support/scenario.ts';

const sources = `CREATE SOURCE s (k INT, cc STRING, n INT, tags ARRAY<STRING>, seq BIGINT) WITH (topic = 's');
  CREATE SOURCE dim (code STRING, name STRING, lo INT, hi INT) WITH (topic = 'dim', refresh_interval = '1 minute');`;

function into(select: string, more = ''): string {
  return `${sources} ${more} CREATE STREAMING TABLE t
    FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME ${select};`;
}

const row = (k: number, cc: string | null, seq: number, n = 0): Given => ({
  topic: 's',
  value: { k, cc, n, tags: ['x', 'y'], seq },
});
const dim = (code: string | null, name: string | null, key: string | null = code): Given => ({
  topic: 'dim',
  key,
  value: name === null ? null : { code, name, lo: 0, hi: 10 },
});

/** Plays records of the stream over static data that is there before, in every way. */
function joined(select: string, records: readonly Given[], expected: readonly object[]) {
  const dims = [
    dim('KR', 'Korea'),
    dim('US', 'States'),
    dim('US', 'USA', 'us2'),
    dim(null, 'nobody', 'n'),
  ];
  return everyWay(into(select), [...dims, ...records], (told, { name, commits, between }) => {
    // Static data that comes while rows are read is another matter.
    if (commits > 1 || between !== 'nothing') return;
    expect(
      told.rows().map((text) => JSON.parse(text)),
      name,
    ).toEqual(expected);
  });
}

describe('joins with static data', () => {
  test('OP-08 inner: each row with every partner, and none without', async () => {
    await joined(
      'SELECT k, cc, name, seq FROM STREAM(s) JOIN dim ON cc = code',
      [row(1, 'US', 1), row(2, 'FR', 1), row(3, null, 1), row(4, 'KR', 1)],
      [
        { k: 1, cc: 'US', name: 'States', seq: 1 },
        { k: 1, cc: 'US', name: 'USA', seq: 1 },
        { k: 4, cc: 'KR', name: 'Korea', seq: 1 },
      ],
    );
  });

  test('OP-09 left: NULL where there is no partner', async () => {
    await joined(
      'SELECT k, name, seq FROM STREAM(s) LEFT JOIN dim ON cc = code AND n < hi',
      [row(1, 'KR', 1), row(2, 'KR', 1, 10), row(3, null, 1)],
      [
        { k: 1, name: 'Korea', seq: 1 },
        { k: 2, name: null, seq: 1 },
        { k: 3, name: null, seq: 1 },
      ],
    );
  });

  test('OP-08 left semi, left anti, and NULL-safe', async () => {
    const records = [row(1, 'US', 1), row(2, 'FR', 1), row(3, null, 1)];
    const of = (...ks: number[]) => ks.map((k) => ({ k, seq: 1 }));
    const query = (kind: string, on: string) =>
      `SELECT k, seq FROM STREAM(s) LEFT ${kind} JOIN dim ON ${on}`;
    await joined(query('SEMI', 'cc = code'), records, of(1));
    await joined(query('ANTI', 'cc = code'), records, of(2, 3));
    await joined(query('SEMI', 'cc <=> code'), records, of(1, 3));
  });

  test('OP-08 several joins, with EXPLODE before or after: rows of one record are told apart', async () => {
    const rows = [1, 2].flatMap(() => ['x', 'y'].map((tag) => ({ k: 1, tag, seq: 1 })));
    const sorted = rows.sort((a, b) => (a.tag < b.tag ? -1 : 1));
    for (const from of [
      'STREAM(s) JOIN dim a ON cc = a.code JOIN dim b ON cc = b.code AND b.name = a.name LATERAL VIEW explode(tags) AS tag',
      '(SELECT k, seq, cc, explode(tags) AS tag FROM STREAM(s)) JOIN dim a ON cc = a.code LEFT SEMI JOIN dim b ON b.name = a.name',
    ]) {
      await joined(`SELECT k, tag, seq FROM ${from}`, [row(1, 'US', 1)], sorted);
    }
  });

  const query = into('SELECT k, name, seq FROM STREAM(s) LEFT JOIN dim ON cc = code');
  const names = (told: Scenario) => told.rows().map((text) => JSON.parse(text).name);

  test('OP-08 the latest record of each key counts, refreshed on a schedule, its offsets recorded', async () => {
    await scenario(query, {}, async (told) => {
      await told.settle(
        dim('US', 'old'),
        dim('US', 'new'),
        dim('KR', 'Korea'),
        dim('KR', null),
        row(1, 'US', 1),
      );
      expect(names(told)).toEqual(['new']);
      await told.settle(dim('US', 'newer'), row(2, 'US', 1), row(3, 'KR', 1));
      expect(names(told), 'it is not due yet').toEqual(['new', 'new', null]);
      await told.world.clock.sleep(61_000);
      await told.settle(row(4, 'US', 1));
      expect(names(told), 'rows of before stay').toEqual(['new', 'new', null, 'newer']);
      const catalog = new Catalog(told.world.log.connect(), 'test.catalog');
      await catalog.read();
      const recorded = catalog.get('static', 't/dim')?.value;
      await catalog.close();
      expect(recorded).toMatchObject({ topic: 'dim', offsets: { 0: 5 } });
    });
  });

  test('OP-08 a table of the pipeline is looked up in what it holds', async () => {
    const sql = `${sources} CREATE STREAMING TABLE dims
      FLOW REPLACE USING (code) SEQUENCE BY hi BY NAME SELECT code, name, hi FROM STREAM(dim);
      CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
      SELECT k, name, seq FROM STREAM(s) JOIN dims ON cc = code;`;
    const version = (hi: number, name: string) => ({
      topic: 'dim',
      value: { code: 'US', name, hi },
    });
    await scenario(sql, { partitions: 2 }, async (told) => {
      await told.settle(version(2, 'second'), version(1, 'first'), version(2, 'twin'));
      await told.world.clock.sleep(11_000);
      await told.settle(row(1, 'US', 1));
      expect(told.rows('t').map((text) => JSON.parse(text).name)).toEqual(['second', 'twin']);
    });
  });

  test('OP-08 a record of the static side that cannot be read stops the flow and is named', async () => {
    await scenario(query, {}, async (told) => {
      const failed = await told.failure(
        { topic: 'dim', key: 'US', value: '{"lo": "x"}' },
        row(1, 'US', 1),
      );
      expect(failed).toBeUndefined();
    });
    await scenario(query, {}, async (told) => {
      const failed = await told.failure(
        { topic: 'dim', key: 'US', value: '{"name": 1' },
        row(1, 'US', 1),
      );
      expect(failed).toMatchObject({ code: 'BAD_ROW' });
      expect(String(failed?.['detail'])).toContain('topic "dim", partition 0, offset 0');
    });
  });

  test('RU-10 exactly once whichever step is the last', async () => {
    const records = [
      dim('US', 'a'),
      dim('US', 'b', 'us2'),
      row(1, 'US', 1),
      row(2, 'US', 1),
      row(1, 'US', 2),
    ];
    const select = 'SELECT k, name, seq FROM STREAM(s) JOIN dim ON cc = code';
    const expected = [
      '{"k":1,"name":"a","seq":2}',
      '{"k":1,"name":"b","seq":2}',
      '{"k":2,"name":"a","seq":1}',
      '{"k":2,"name":"b","seq":1}',
    ];
    await dieAtEveryStep(planOf(into(select)), records, (rows, step) => {
      expect(rows, `step ${step}`).toEqual(expected);
    });
  });

  test('OP-08 a column that the query does not read may be added to the static side', () => {
    const texts = [sources, sources.replace('lo INT', 'more STRING, lo INT')].map((text) => {
      const sql = query.replace(sources, text);
      return planOf(sql).flows[0]?.definition;
    });
    expect(texts[0]).toEqual(texts[1]);
    const other = planOf(query.replace('cc = code', 'cc = name')).flows[0]?.definition;
    expect(other?.branches[0]?.generators).not.toEqual(texts[0]?.branches[0]?.generators);
  });

  test('NO-07 what stands around it is refused with its place', () => {
    const { faults } = planPipeline([
      {
        file: 'f.sql',
        text: into(
          'SELECT k, count(*) AS n, seq FROM STREAM(s) JOIN (SELECT code, max(hi) AS m FROM dim GROUP BY code) d ON cc = code GROUP BY k, seq',
        ),
      },
    ]);
    const codes = faults.filter(({ severity }) => severity === 'error').map(({ code }) => code);
    expect(codes).toContain('GROUP_BY_REFUSED');
    expect(codes).toContain('AGGREGATE_REFUSED');
  });
});

import { afterEach, describe, expect, test } from 'vitest';
import {
  from,
  literal,
  type Pipeline,
  type PipelineTest,
  pipeline,
  sql,
  stream,
  testPipeline,
} from '../../../src/index.ts';
import { planStatements } from '../../../src/plan/plan-pipeline.ts';
import { expectSamePlan } from '../../support/same-plan.ts';

function codesOf(program: Pipeline): readonly string[] {
  return planStatements(program.definition()).faults.map(({ code }) => code);
}

const sourceSql = `CREATE SOURCE bookings (id BIGINT, version BIGINT, total DECIMAL(10,2), guests ARRAY<STRING>)
WITH (topic = 'booking_updates');`;

function bookings() {
  const p = pipeline();
  const source = p.source('bookings', {
    topic: 'booking_updates',
    columns: { id: 'BIGINT', version: 'BIGINT', total: 'DECIMAL(10,2)', guests: 'ARRAY<STRING>' },
  });
  return { p, source };
}

describe('what the decorators of Python say', () => {
  test('SX-06 table with replaceUsing and sequenceBy is the short form', () => {
    const { p, source } = bookings();
    p.table({
      name: 'current',
      replaceUsing: ['id'],
      sequenceBy: 'version',
      query: stream(source)
        .where((row) => row.total.gt(0))
        .select('id', 'version', 'total'),
    });
    expectSamePlan(
      p,
      `${sourceSql} CREATE STREAMING TABLE current FLOW REPLACE USING (id) SEQUENCE BY version BY NAME
       SELECT id, version, total FROM STREAM(bookings) WHERE total > 0;`,
    );
  });

  test('SX-07 createStreamingTable with replaceFlow is the long form', () => {
    const { p, source } = bookings();
    const target = p.createStreamingTable({
      name: 'current',
      columns: { id: 'INT', version: 'BIGINT' },
    });
    p.replaceFlow({
      name: 'newest',
      target,
      replaceUsing: ['id'],
      sequenceBy: 'version',
      query: stream(source).select((row) => ({ id: row.id.cast('INT'), version: row.version })),
    });
    expectSamePlan(
      p,
      `${sourceSql} CREATE STREAMING TABLE current (id INT, version BIGINT);
       CREATE FLOW newest AS INSERT INTO current BY NAME REPLACE USING (id) SEQUENCE BY version
       SELECT CAST(id AS INT) AS id, version FROM STREAM(bookings);`,
    );
  });

  test.each([
    ['a name', 'version' as const, 'version'],
    [
      'an expression',
      (row: { version: { plus(n: number): never } }) => row.version.plus(1),
      'version + 1',
    ],
    ['SQL', sql`version + 1`, 'version + 1'],
  ])('SX-09 the sequence is %s', (_, sequenceBy, text) => {
    const { p, source } = bookings();
    p.table({
      name: 'current',
      replaceUsing: ['id'],
      sequenceBy: sequenceBy as 'version',
      query: stream(source),
    });
    expectSamePlan(
      p,
      `${sourceSql} CREATE STREAMING TABLE current
       FLOW REPLACE USING (id) SEQUENCE BY ${text} BY NAME SELECT * FROM STREAM(bookings);`,
    );
  });

  test('SX-08 SX-10 what the compiler was not asked about is a fault of the plan', () => {
    const list = bookings();
    const given = { name: 'a', query: 'SELECT id, version FROM STREAM(bookings)' };
    list.p.table({ ...given, replaceUsing: 'id' as never, sequenceBy: 'version' });
    expect(codesOf(list.p)).toEqual(['REPLACE_USING_KEY_MISSING']);
    const without = bookings();
    without.p.table({ ...given, replaceUsing: ['id'] } as never);
    expect(codesOf(without.p)).toEqual(['SEQUENCE_BY_MISSING']);
    const alone = bookings();
    alone.p.table({ ...given, sequenceBy: 'version' } as never);
    expect(codesOf(alone.p)).toEqual(['REPLACE_USING_KEY_MISSING']);
  });

  test('CH-03 SX-18 replaceWhereFlow is REPLACE WHERE, once too', () => {
    const { p, source } = bookings();
    const target = p.createStreamingTable({
      name: 'recent',
      columns: { id: 'BIGINT', total: 'DECIMAL(10,2)' },
      refreshEvery: '5 minutes',
    });
    p.replaceWhereFlow({
      name: 'slice',
      target,
      replaceWhere: (row) => row.id.gt(10),
      query: from(source)
        .where((row) => row.id.gt(10))
        .select('id', 'total'),
    });
    const archive = p.createStreamingTable({ name: 'archive', columns: { id: 'BIGINT' } });
    p.replaceWhereFlow({
      target: archive,
      once: true,
      replaceWhere: 'id <= 10',
      query: sql`SELECT id FROM bookings WHERE id <= 10`,
    });
    expectSamePlan(
      p,
      `${sourceSql} CREATE STREAMING TABLE recent (id BIGINT, total DECIMAL(10,2)) WITH (refresh_every = '5 minutes');
       CREATE FLOW slice AS INSERT INTO recent BY NAME REPLACE WHERE id > 10
       SELECT id, total FROM bookings WHERE id > 10;
       CREATE STREAMING TABLE archive (id BIGINT);
       CREATE FLOW archive AS INSERT INTO ONCE archive BY NAME REPLACE WHERE id <= 10
       SELECT id FROM bookings WHERE id <= 10;`,
    );
  });

  test('SX-13 SX-15 a table that streams, and append flows into one target', () => {
    const { p, source } = bookings();
    p.table({ name: 'raw', query: stream(source) });
    const united = p.createStreamingTable({ name: 'united' });
    for (const region of ['west', 'east']) {
      p.appendFlow({
        name: region,
        target: united,
        query: stream(source).withColumns(() => ({ region: literal(region) })),
      });
    }
    expectSamePlan(
      p,
      `${sourceSql} CREATE STREAMING TABLE raw AS SELECT * FROM STREAM(bookings);
       CREATE STREAMING TABLE united;
       CREATE FLOW west AS INSERT INTO united BY NAME SELECT *, 'west' AS region FROM STREAM(bookings);
       CREATE FLOW east AS INSERT INTO united BY NAME SELECT *, 'east' AS region FROM STREAM(bookings);`,
    );
  });

  test('SX-20 expectations of each kind, alone and together', () => {
    const { p, source } = bookings();
    p.table({ name: 'raw', query: stream(source) })
      .expect('priced', (row) => row.total.gt(0))
      .expectAllOrDrop({ known: 'id IS NOT NULL', versioned: (row) => row.version.isNotNull() })
      .expectOrFail('sane', sql`total < 1000000`);
    expectSamePlan(
      p,
      `${sourceSql} CREATE STREAMING TABLE raw (
         CONSTRAINT priced EXPECT (total > 0),
         CONSTRAINT known EXPECT (id IS NOT NULL) ON VIOLATION DROP ROW,
         CONSTRAINT versioned EXPECT (version IS NOT NULL) ON VIOLATION DROP ROW,
         CONSTRAINT sane EXPECT (total < 1000000) ON VIOLATION FAIL UPDATE
       ) AS SELECT * FROM STREAM(bookings);`,
    );
  });

  test('SX-20 expectations of a table that is created without a flow', () => {
    const { p, source } = bookings();
    const target = p.createStreamingTable({
      name: 'raw',
      columns: { id: 'BIGINT', total: 'DECIMAL(10,2)' },
      expectAll: { priced: (row) => row.total.gt(0) },
      expectAllOrDrop: { known: 'id IS NOT NULL' },
      expectAllOrFail: { sane: sql`total < 1000000` },
    });
    p.appendFlow({ name: 'all', target, query: stream(source).select('id', 'total') });
    expectSamePlan(
      p,
      `${sourceSql} CREATE STREAMING TABLE raw (id BIGINT, total DECIMAL(10,2),
         CONSTRAINT priced EXPECT (total > 0),
         CONSTRAINT known EXPECT (id IS NOT NULL) ON VIOLATION DROP ROW,
         CONSTRAINT sane EXPECT (total < 1000000) ON VIOLATION FAIL UPDATE
       );
       CREATE FLOW all AS INSERT INTO raw BY NAME SELECT id, total FROM STREAM(bookings);`,
    );
  });

  test('OP-04 OP-06 OP-07 explode, union and distinct are what the SQL is', () => {
    const { p, source } = bookings();
    const guests = stream(source).where('total > 0').explode('guests', { as: 'guest' });
    p.table({
      name: 'guests',
      replaceUsing: ['id'],
      sequenceBy: 'version',
      query: guests
        .select('id', 'version', 'guest')
        .unionAll(
          stream(source).select((row) => ({
            id: row.id,
            version: row.version,
            guest: literal('?'),
          })),
        )
        .distinct(),
    });
    expectSamePlan(
      p,
      `${sourceSql} CREATE STREAMING TABLE guests FLOW REPLACE USING (id) SEQUENCE BY version BY NAME
       SELECT DISTINCT * FROM (
         SELECT id, version, guest FROM (SELECT * FROM STREAM(bookings) WHERE total > 0)
           LATERAL VIEW explode(guests) g AS guest
         UNION ALL SELECT id, version, '?' AS guest FROM STREAM(bookings));`,
    );
  });
});

describe('the test driver: given records, when it is run, then its rows', () => {
  let driven: PipelineTest | undefined;

  afterEach(() => driven?.close());

  const records = [
    { id: 1n, version: 9007199254740993n, total: '12.50', guests: ['Ada'] },
    { id: 1n, version: 9007199254740992n, total: 10, guests: null },
    { id: 2n, version: 1n, total: '0.00' },
  ];

  function driver() {
    const { p, source } = bookings();
    const current = p
      .table({
        name: 'current',
        replaceUsing: ['id'],
        sequenceBy: 'version',
        query: stream(source),
      })
      .expectOrDrop('priced', (row) => row.total.gt(0));
    driven = testPipeline(p, { partitions: 3 });
    return { source, current, tested: driven };
  }

  test('values keep every digit, and expectations are counted', async () => {
    const { source, current, tested } = driver();
    await tested.given(source, records).run();
    expect(tested.rows(current)).toEqual([
      { id: 1n, version: 9007199254740993n, total: '12.50', guests: ['Ada'] },
    ]);
    expect(await tested.expectations('current')).toEqual({ priced: { passed: 2, failed: 1 } });
    await tested.given(source, ['{"id":1,"version":9007199254740994,"total":1.25}']).run();
    expect(tested.rows(current)).toEqual([
      { id: 1n, version: 9007199254740994n, total: '1.25', guests: null },
    ]);
  });

  test.each([1, 2, 3])(
    'processes that die and state that is lost change nothing: seed %i',
    async (faults) => {
      const { source, current, tested } = driver();
      const many = Array.from({ length: 200 }, (_, index) => ({
        id: BigInt(index % 7),
        version: BigInt((index * 37) % 200),
        total: '1.00',
      }));
      await tested.given(source, many).run({ faults });
      const newest = Array.from({ length: 7 }, (_, id) =>
        many
          .filter((row) => row.id === BigInt(id))
          .reduce((a, b) => (a.version > b.version ? a : b)),
      );
      const sorted = [...tested.rows(current)].sort((a, b) => Number((a.id ?? 0n) - (b.id ?? 0n)));
      expect(sorted).toEqual(newest.map((row) => ({ ...row, guests: null })));
    },
  );

  test('what is unknown is told by name, and an invalid pipeline with all its faults', () => {
    const { tested } = driver();
    expect(() => tested.rows('currents')).toThrow('the pipeline has no table "currents"');
    expect(() => tested.given('booking', [])).toThrow('the pipeline has no source "booking"');
    const { p } = bookings();
    p.table({ name: 'a', query: 'SELECT ids FROM STREAM(bookings)' });
    // Of an error a test runner shows the message alone.
    expect(() => testPipeline(p)).toThrow(/the pipeline is invalid:\n.*error/su);
  });

  test('an object whose value does not fit is a bad row as its record would be, and a misspelt column is refused', async () => {
    const p = pipeline();
    p.source('ev', { columns: { id: 'BIGINT', seq: 'BIGINT' } });
    p.table({
      name: 'good',
      replaceUsing: ['id'],
      sequenceBy: 'seq',
      query: 'SELECT id, seq FROM STREAM(ev)',
      deadLetterTopic: 'bad',
    });
    driven = testPipeline(p);
    await driven
      .given('ev', [
        { id: 'x', seq: 1n },
        { id: '7', seq: '2' },
      ])
      .run();
    expect(driven.deadLetters()).toEqual(['{"id":"x","seq":1}']);
    expect(driven.rows('good')).toEqual([{ id: 7n, seq: 2n }]);
    expect(() => driven?.given('ev', [{ idd: 1n }])).toThrow('source "ev" has no column "idd"');
  });

  test.each([false, true])(
    'EX-03 a run rejects with the error of the flow that stops, and the next one again; another goes on: %s',
    async (isBeside) => {
      const p = pipeline();
      const source = p.source('ev', {
        topic: 'ev',
        columns: { id: 'BIGINT', x: 'INT', seq: 'BIGINT' },
      });
      p.table({
        name: 'b',
        replaceUsing: ['id'],
        sequenceBy: 'seq',
        query: stream(source),
      }).expectOrFail('positive', (row) => row.x.gt(0));
      if (isBeside) p.table({ name: 'f', query: stream(source).select('id') });
      driven = testPipeline(p);
      driven.given(source, [{ id: 1n, x: 0, seq: 1n }]);
      await expect(driven.run()).rejects.toMatchObject({ code: 'EXPECTATION_FAILED' });
      await expect(driven.run()).rejects.toMatchObject({ code: 'EXPECTATION_FAILED' });
    },
  );
});

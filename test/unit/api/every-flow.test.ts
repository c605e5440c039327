import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as api from '../../../src/index.ts';
import { aggregates, from, literal, Pipeline, pipeline, sql, stream } from '../../../src/index.ts';
import { expectSamePlan } from '../../support/same-plan.ts';

const feedSql = `CREATE SOURCE feed (id BIGINT, name STRING, city STRING, op STRING, lsn BIGINT, at TIMESTAMP)
WITH (topic = 'people.feed');`;

function feeds() {
  const p = pipeline();
  const feed = p.source('feed', {
    topic: 'people.feed',
    columns: {
      id: 'BIGINT',
      name: 'STRING',
      city: 'STRING',
      op: 'STRING',
      lsn: 'BIGINT',
      at: 'TIMESTAMP',
    },
  });
  return { p, feed };
}

describe('SX-21 each kind of flow and dataset is what its SQL is', () => {
  test('AUTO CDC of SCD type 1 with its clauses, and one that runs once beside it', () => {
    const { p, feed } = feeds();
    const target = p.createStreamingTable({ name: 'people' });
    p.autoCdcFlow({
      name: 'people_cdc',
      target,
      source: feed,
      keys: ['id'],
      sequenceBy: 'lsn',
      applyAsDeletes: (row) => row.op.eq('d'),
      applyAsTruncates: "op = 't'",
      ignoreNullUpdates: { except: ['city'] },
      columns: { except: ['op', 'lsn', 'at'] },
      storedAsScdType: 1,
    });
    p.autoCdcFlow({
      name: 'people_archive',
      target,
      source: feed,
      keys: ['id'],
      sequenceBy: (row) => row.lsn,
      once: true,
      ignoreNullUpdates: true,
      columns: ['id', 'name', 'city'],
    });
    expectSamePlan(
      p,
      `${feedSql} CREATE STREAMING TABLE people;
       CREATE FLOW people_cdc AS AUTO CDC INTO people FROM STREAM(feed) KEYS (id)
       IGNORE NULL UPDATES ON * EXCEPT (city) APPLY AS DELETE WHEN op = 'd' APPLY AS TRUNCATE WHEN op = 't'
       SEQUENCE BY lsn COLUMNS * EXCEPT (op, lsn, at) STORED AS SCD TYPE 1;
       CREATE FLOW people_archive AS AUTO CDC ONCE INTO people FROM STREAM(feed) KEYS (id)
       IGNORE NULL UPDATES SEQUENCE BY lsn COLUMNS (id, name, city);`,
    );
  });

  test('AUTO CDC of SCD type 2 with a part of its columns tracked', () => {
    const { p, feed } = feeds();
    p.autoCdcFlow({
      target: p.streamingTable({ name: 'history' }),
      source: feed,
      keys: ['id'],
      sequenceBy: 'lsn',
      columns: { except: ['op', 'lsn', 'at'] },
      storedAsScdType: 2,
      trackHistory: ['city'],
    });
    expectSamePlan(
      p,
      `${feedSql} CREATE STREAMING TABLE history;
       CREATE FLOW history AS AUTO CDC INTO history FROM STREAM(feed) KEYS (id) SEQUENCE BY lsn
       COLUMNS * EXCEPT (op, lsn, at) STORED AS SCD TYPE 2 TRACK HISTORY ON (city);`,
    );
  });

  test('FL-25 AUTO CDC of SCD type 2: all columns tracked but some, NULLs ignored of a list, by a hidden sequence', () => {
    const { p, feed } = feeds();
    const cleaned = p.view({ name: 'cleaned', query: stream(feed).where((row) => row.id.gt(0)) });
    const target = p.createStreamingTable({ name: 'history' });
    p.autoCdcFlow({
      name: 'changes',
      target,
      source: feed,
      keys: ['id', 'city'],
      sequenceBy: '_offset',
      applyAsDeletes: (row) => row.op.eq('d').or(row._key.isNull()),
      ignoreNullUpdates: ['name'],
      columns: ['id', 'name', 'city', 'op'],
      storedAsScdType: 2,
      trackHistory: { except: ['op'] },
    });
    p.autoCdcFlow({
      name: 'archive',
      comment: 'what was there before',
      target,
      source: cleaned,
      once: true,
      keys: ['id', 'city'],
      sequenceBy: (row) => row.lsn,
      columns: { except: ['lsn', 'at'] },
      storedAsScdType: 2,
      trackHistory: { except: ['op'] },
    });
    expectSamePlan(
      p,
      `${feedSql} CREATE TEMPORARY VIEW cleaned AS SELECT * FROM STREAM(feed) WHERE id > 0;
       CREATE STREAMING TABLE history;
       CREATE FLOW changes AS AUTO CDC INTO history FROM STREAM(feed) KEYS (id, city)
       IGNORE NULL UPDATES ON (name) APPLY AS DELETE WHEN op = 'd' OR _key IS NULL
       SEQUENCE BY _offset COLUMNS (id, name, city, op) STORED AS SCD TYPE 2 TRACK HISTORY ON * EXCEPT (op);
       CREATE FLOW archive COMMENT 'what was there before' AS AUTO CDC ONCE INTO history FROM STREAM(cleaned) KEYS (id, city)
       SEQUENCE BY lsn COLUMNS * EXCEPT (lsn, at) STORED AS SCD TYPE 2 TRACK HISTORY ON * EXCEPT (op);`,
    );
  });

  test('FL-16 FL-17 flows that compute once: aggregates, a join, DISTINCT with LIMIT', () => {
    const { p, feed } = feeds();
    const visits = p.source('visits', { columns: { id: 'BIGINT', place: 'STRING' } });
    const target = p.createStreamingTable({
      name: 'figures',
      columns: { place: 'STRING', n: 'BIGINT' },
    });
    p.appendFlow({
      name: 'sums',
      target,
      once: true,
      query: from(feed)
        .where((row) => row.op.ne('d'))
        .groupBy('city')
        .aggregate((row) => ({ n: aggregates.sum(row.lsn) }))
        .select((row) => ({ place: row.city, n: row.n })),
    });
    p.appendFlow({
      name: 'joined',
      target,
      once: true,
      query: from(visits)
        .join(from(feed), (visit, row) => visit.id.eq(row.id))
        .select((visit, row) => ({ place: visit.place, n: row.lsn })),
    });
    p.appendFlow({
      name: 'some',
      target,
      once: true,
      query: from(visits).select('place').distinct().limit(3),
    });
    expectSamePlan(
      p,
      `${feedSql} CREATE SOURCE visits (id BIGINT, place STRING);
       CREATE STREAMING TABLE figures (place STRING, n BIGINT);
       CREATE FLOW sums AS INSERT INTO ONCE figures BY NAME
       SELECT city AS place, n FROM (SELECT city, sum(lsn) AS n FROM feed WHERE op <> 'd' GROUP BY city);
       CREATE FLOW joined AS INSERT ONCE INTO figures BY NAME
       SELECT \`left\`.place AS place, \`right\`.lsn AS n FROM visits AS \`left\` JOIN feed AS \`right\` ON \`left\`.id = \`right\`.id;
       CREATE FLOW some AS INSERT INTO ONCE figures BY NAME SELECT DISTINCT place FROM visits LIMIT 3;`,
    );
  });

  test('groups are columns of the result by themselves, and once where they are stated again', () => {
    const { p, feed } = feeds();
    p.materializedView({
      name: 'cities',
      query: from(feed)
        .groupBy('city', 'op')
        .aggregate((row) => ({ city: row.city, people: aggregates.count() })),
    });
    expectSamePlan(
      p,
      `${feedSql} CREATE MATERIALIZED VIEW cities AS
       SELECT city, op, count(*) AS people FROM feed GROUP BY city, op;`,
    );
    p.materializedView({
      name: 'wrong',
      query: from(feed)
        .groupBy('city')
        .aggregate((row) => ({ city: aggregates.max(row.city) })),
    });
    const { faults } = p.definition();
    expect(faults.map(({ code, hint }) => [code, hint])).toEqual([
      ['OUTPUT_COLUMN_DUPLICATE', expect.stringContaining('leave this one out of aggregate')],
    ]);
  });

  test('flows that run once: rows that are appended, and rows that are replaced', () => {
    const { p, feed } = feeds();
    const appended = p.createStreamingTable({ name: 'appended' });
    p.appendFlow({
      name: 'backfill',
      target: appended,
      once: true,
      query: from(feed).select('id'),
    });
    const counts = p.createStreamingTable({
      name: 'counts',
      columns: { city: 'STRING', n: 'BIGINT' },
    });
    p.replaceFlow({
      target: counts,
      once: true,
      replaceUsing: ['city'],
      sequenceBy: 'n',
      query: from(feed)
        .groupBy('city')
        .aggregate(() => ({ n: aggregates.count() })),
    });
    expectSamePlan(
      p,
      `${feedSql} CREATE STREAMING TABLE appended;
       CREATE FLOW backfill AS INSERT INTO ONCE appended BY NAME SELECT id FROM feed;
       CREATE STREAMING TABLE counts (city STRING, n BIGINT);
       CREATE FLOW counts AS INSERT INTO ONCE counts BY NAME REPLACE USING (city) SEQUENCE BY n
       SELECT city, count(*) AS n FROM feed GROUP BY city;`,
    );
  });

  test('views with expectations, sinks, materialized views over a join, and a time zone', () => {
    const p = pipeline({ timezone: 'Europe/Warsaw' });
    const orders = p.source('orders', {
      columns: { id: 'BIGINT', customer: 'INT', amount: 'INT', seq: 'BIGINT' },
    });
    const customers = p.source('customers', { columns: { id: 'INT', country: 'STRING' } });
    const paid = p
      .view({ name: 'paid', query: stream(orders).where((row) => row.amount.gt(0)) })
      .expectAll({ known: 'customer IS NOT NULL' })
      .expectAllOrDrop({ small: (row) => row.amount.lt(100) });
    const current = p
      .table({ name: 'current', replaceUsing: ['id'], sequenceBy: 'seq', query: from(paid) })
      .expectAllOrFail({ sane: 'amount < 1000' });
    const large = p.sink('large', { topic: 'orders.large' });
    p.appendFlow({
      name: 'hand_over',
      target: large,
      query: stream(orders)
        .where('amount > 50')
        .withColumns(() => ({ size: literal('large') })),
    });
    p.materializedView({
      name: 'by_country',
      refreshEvery: '1 minute',
      query: from(current)
        .leftJoin(from(customers), (order, customer) => order.customer.eq(customer.id))
        .select((order, customer) => ({ country: customer.country, amount: order.amount }))
        .groupBy('country')
        .aggregate((row) => ({ total: aggregates.sum(row.amount) })),
    }).expect('some', 'total > 0');
    expectSamePlan(
      p,
      `SET timezone = 'Europe/Warsaw';
       CREATE SOURCE orders (id BIGINT, customer INT, amount INT, seq BIGINT);
       CREATE SOURCE customers (id INT, country STRING);
       CREATE TEMPORARY VIEW paid (
         CONSTRAINT known EXPECT (customer IS NOT NULL),
         CONSTRAINT small EXPECT (amount < 100) ON VIOLATION DROP ROW
       ) AS SELECT * FROM STREAM(orders) WHERE amount > 0;
       CREATE STREAMING TABLE current (CONSTRAINT sane EXPECT (amount < 1000) ON VIOLATION FAIL UPDATE)
       FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME SELECT * FROM paid;
       CREATE SINK large WITH (topic = 'orders.large');
       CREATE FLOW hand_over AS INSERT INTO large BY NAME SELECT *, 'large' AS size FROM STREAM(orders) WHERE amount > 50;
       CREATE MATERIALIZED VIEW by_country (CONSTRAINT some EXPECT (total > 0)) WITH (refresh_every = '1 minute') AS
       SELECT country, sum(amount) AS total FROM (
         SELECT \`right\`.country AS country, \`left\`.amount AS amount
         FROM current AS \`left\` LEFT JOIN customers AS \`right\` ON \`left\`.customer = \`right\`.id
       ) GROUP BY country;`,
    );
  });

  test('joins of streams, LIMIT, options by the names of SQL, and skipChangeCommits', () => {
    const { p, feed } = feeds();
    const other = p.source('other', { columns: { id: 'BIGINT', n: 'INT' }, with: { topic: 'o' } });
    const raw = p.table({
      name: 'raw',
      partitions: 3,
      deadLetterTopic: 'bad',
      query: stream(feed),
    });
    p.table({
      name: 'pairs',
      query: stream(feed)
        .join(stream(other), (left, right) => left.id.eq(right.id))
        .select((left, right) => ({ id: left.id, n: right.n })),
    });
    p.table({
      name: 'first',
      replaceUsing: ['id'],
      sequenceBy: 'lsn',
      emptyWhen: sql`name IS NULL`,
      query: stream(feed).select('id', 'name', 'lsn').limit(10),
    });
    p.table({ name: 'names', query: stream(feed).select('id', 'name').distinct().limit(5) });
    p.table({ name: 'copied', query: stream(raw, { skipChangeCommits: true }).select('id') });
    expectSamePlan(
      p,
      `${feedSql} CREATE SOURCE other (id BIGINT, n INT) WITH (topic = 'o');
       CREATE STREAMING TABLE raw WITH (partitions = 3, dead_letter_topic = 'bad') AS SELECT * FROM STREAM(feed);
       CREATE STREAMING TABLE pairs AS
       SELECT \`left\`.id AS id, \`right\`.n AS n FROM STREAM(feed) AS \`left\` JOIN STREAM(other) AS \`right\` ON \`left\`.id = \`right\`.id;
       CREATE STREAMING TABLE first FLOW REPLACE USING (id) SEQUENCE BY lsn APPLY AS EMPTY WHEN (name IS NULL) BY NAME
       SELECT id, name, lsn FROM STREAM(feed) LIMIT 10;
       CREATE STREAMING TABLE names AS SELECT DISTINCT id, name FROM STREAM(feed) LIMIT 5;
       CREATE STREAMING TABLE copied AS SELECT id FROM STREAM(raw) WITH (skipChangeCommits = true);`,
    );
  });
});

test('every name that a program may call stands in its documentation', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/typescript.md'), 'utf8');
  const names = [
    ...Object.getOwnPropertyNames(Pipeline.prototype).filter(
      (name) => !['constructor', 'definition'].includes(name),
    ),
    'streamingTable',
    ...Object.getOwnPropertyNames(api.Query.prototype).filter(
      (name) => !['constructor', 'build', 'relation'].includes(name),
    ),
    ...['expect', 'expectOrDrop', 'expectOrFail', 'expectAll', 'expectAllOrDrop'],
    ...['expectAllOrFail', 'pipeline', 'stream', 'from', 'sql', 'call', 'literal', 'aggregates'],
    'testPipeline',
  ];
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([]);
  expect(names.length).toBeGreaterThan(30);
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';

/**
 * What a stream cannot do is refused wherever it stands: by its own code, at its own place, and with
 * something to do instead. Each construct is put into each place where a query may hide.
 */
const sources = {
  file: 'sources.sql',
  text: `${readFileSync(join(import.meta.dirname, 'sources.sql'), 'utf8')}
    CREATE SOURCE dims (code STRING, name STRING);`,
};

/** Queries of region and seq, with the code that each is refused with. */
const constructs: readonly (readonly [row: string, query: string, code: string])[] = [
  ['NO-01', 'SELECT region, max(seq) AS seq FROM § GROUP BY region', 'GROUP_BY_REFUSED'],
  ['NO-01', 'SELECT region, seq FROM § GROUP BY ALL', 'GROUP_BY_REFUSED'],
  ['NO-01', 'SELECT region, max(seq) AS seq FROM § GROUP BY ROLLUP (region)', 'GROUP_BY_REFUSED'],
  ['NO-01', 'SELECT region, 1 + count(*) AS seq FROM §', 'AGGREGATE_REFUSED'],
  ['NO-01', 'SELECT region, count(*) FILTER (WHERE qty > 1) AS seq FROM §', 'AGGREGATE_REFUSED'],
  [
    'NO-01',
    'SELECT region, transform(array(seq), x -> x + sum(qty))[0] AS seq FROM §',
    'AGGREGATE_REFUSED',
  ],
  ['NO-01', 'SELECT region, seq FROM § WHERE count(*) > 1', 'AGGREGATE_REFUSED'],
  ['NO-01', 'SELECT region, seq FROM § HAVING seq > 1', 'HAVING_REFUSED'],
  [
    'NO-02',
    'SELECT region, row_number() OVER (ORDER BY at) AS seq FROM § WATERMARK at DELAY OF INTERVAL 1 MINUTE',
    'WINDOW_FUNCTION_REFUSED',
  ],
  [
    'NO-02',
    'SELECT region, coalesce(sum(seq) OVER w, 0) AS seq FROM § WINDOW w AS (PARTITION BY item)',
    'WINDOW_FUNCTION_REFUSED',
  ],
  [
    'NO-02',
    'SELECT region, seq FROM § QUALIFY row_number() OVER (ORDER BY seq) = 1',
    'QUALIFY_REFUSED',
  ],
  ['NO-03', 'SELECT region, seq FROM § ORDER BY seq', 'ORDER_BY_REFUSED'],
  ['NO-03', 'SELECT region, seq FROM § ORDER BY ALL', 'ORDER_BY_REFUSED'],
  ['NO-03', 'SELECT region, seq FROM § CLUSTER BY seq', 'SORT_BY_REFUSED'],
  [
    'NO-04',
    'SELECT region, seq FROM § INTERSECT SELECT region, seq FROM STREAM(refunds)',
    'INTERSECT_REFUSED',
  ],
  [
    'NO-04',
    'SELECT region, seq FROM § MINUS SELECT region, seq FROM STREAM(refunds)',
    'EXCEPT_REFUSED',
  ],
  ['NO-05', 'SELECT region, seq FROM § UNION ALL SELECT region, seq FROM refunds', 'UNION_MIX'],
  ['NO-05', "SELECT region, seq FROM § UNION ALL VALUES ('a', 1)", 'UNION_MIX'],
  [
    'NO-05',
    'SELECT region, seq FROM § UNION SELECT region, seq FROM STREAM(refunds)',
    'UNION_DISTINCT_REFUSED',
  ],
  [
    'NO-07',
    'SELECT o.region, o.seq FROM § o RIGHT JOIN dims d ON o.region = d.code',
    'JOIN_STATIC_OUTER',
  ],
  [
    'NO-07',
    'SELECT o.region, o.seq FROM § o FULL JOIN dims d ON o.region = d.code',
    'JOIN_STATIC_OUTER',
  ],
  [
    'NO-08',
    'SELECT o.region, o.seq FROM dims d LEFT JOIN § o ON o.region = d.code',
    'JOIN_STREAM_RIGHT',
  ],
  ['NO-08', 'SELECT o.region, o.seq FROM dims d, § o WHERE o.region = d.code', 'JOIN_STREAM_RIGHT'],
  ['OP-05', 'SELECT region, seq FROM § LIMIT 3 OFFSET 1', 'OFFSET_REFUSED'],
  ['OP-11', "SELECT region, seq, window(at, '5 minutes') AS w FROM §", 'WATERMARK_MISSING'],
  [
    'OP-12',
    'SELECT o.region, o.seq FROM § o LEFT JOIN STREAM(refunds) r ON o.region = r.region',
    'JOIN_WATERMARK_MISSING',
  ],
  [
    'OP-12',
    'SELECT o.region, o.seq FROM § o CROSS JOIN STREAM(refunds) r',
    'JOIN_EQUALITY_MISSING',
  ],
  ['OP', 'SELECT region, seq + (SELECT 1) AS seq FROM §', 'SUBQUERY_REFUSED'],
  ['OP', 'SELECT region, seq FROM § WHERE region IN (SELECT code FROM dims)', 'SUBQUERY_REFUSED'],
  ['OP', "SELECT * FROM § PIVOT (sum(qty) FOR item IN ('a'))", 'RELATION_REFUSED'],
  [
    'OP',
    'WITH RECURSIVE r AS (SELECT region, seq FROM § UNION ALL SELECT region, seq + 1 FROM r) SELECT * FROM r',
    'RELATION_REFUSED',
  ],
];

const flow = (query: string): string =>
  `CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME ${query};`;

const places: readonly (readonly [place: string, pipeline: (query: string) => string])[] = [
  ['the query of a flow', flow],
  ['a subquery of a subquery', (q) => flow(`SELECT region, seq FROM (SELECT * FROM (${q}) y) x`)],
  ['a CTE of a CTE', (q) => flow(`WITH c AS (${q}), d AS (FROM c) SELECT region, seq FROM d`)],
  [
    'a CTE of a subquery',
    (q) => flow(`SELECT region, seq FROM (WITH c AS (${q}) SELECT * FROM c)`),
  ],
  [
    'a CTE that nobody reads',
    (q) => flow(`WITH c AS (${q}) SELECT region, seq FROM STREAM(refunds)`),
  ],
  ['a view', (q) => `CREATE VIEW v AS ${q}; ${flow('SELECT region, seq FROM v')}`],
  [
    'a view of a view that is streamed',
    (q) =>
      `CREATE VIEW v AS ${q}; CREATE TEMPORARY VIEW w AS FROM v; ${flow('FROM STREAM(w) |> SELECT region, seq')}`,
  ],
  ['the left of a union', (q) => flow(`(${q}) UNION ALL SELECT region, seq FROM STREAM(refunds)`)],
  ['the right of a union', (q) => flow(`SELECT region, seq FROM STREAM(refunds) UNION ALL (${q})`)],
  ['a pipe', (q) => flow(`FROM (${q}) |> WHERE seq > 1 |> SELECT region, seq`)],
  [
    'the left of a join',
    (q) => flow(`SELECT x.region, x.seq FROM (${q}) x JOIN dims d ON x.region = d.code`),
  ],
  [
    'the right of a join',
    (q) =>
      flow(`SELECT x.region, x.seq FROM STREAM(refunds) d JOIN (${q}) x ON x.region = d.region`),
  ],
  ['SELECT DISTINCT', (q) => flow(`SELECT DISTINCT region, seq FROM (${q}) x`)],
  ['a flow that appends', (q) => `CREATE STREAMING TABLE t AS ${q};`],
  [
    'a flow of changes',
    (q) =>
      `CREATE STREAMING TABLE t; CREATE VIEW v AS ${q}; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(v) KEYS (region) SEQUENCE BY seq;`,
  ],
];

describe.each(constructs)('%s %s', (_, query, code) => {
  test.each(places)('is refused in %s', (_place, pipeline) => {
    const text = pipeline(query.replaceAll('§', 'STREAM(orders)'));
    const { plan, faults } = planPipeline([sources, { file: 'q.sql', text }]);
    expect(plan).toBeUndefined();
    const errors = faults.filter(({ severity }) => severity === 'error');
    expect(errors.map((fault) => fault.code)).toContain(code);
    for (const { code: told, hint, place } of errors) {
      expect([told, place.file, (hint ?? '').length > 0]).toEqual([told, 'q.sql', true]);
      expect(place.end).toBeGreaterThan(place.start);
    }
  });
});

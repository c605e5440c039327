import { describe, expect, test } from 'vitest';
import type { PipelinePlan } from '../../../src/plan/pipeline-plan.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { flowOf, planOf, replaceSql, sourcesSql } from './bind-sql.ts';

const query = "SELECT k, seq, n + 1 AS n FROM STREAM(s) WHERE v <> ''";
const base = flowOf(replaceSql(query)).fingerprint;

/** A plan without what says where it stood in a file. */
function withoutPlaces(plan: PipelinePlan): unknown {
  return JSON.parse(
    JSON.stringify(plan, (key, value) => {
      if (key === 'place') return undefined;
      return typeof value === 'bigint' ? value.toString() : value;
    }),
  );
}

describe('spellings', () => {
  test('SX-02, SX-16 the short form, the long form and a flow named like its table are one plan', () => {
    const short = planOf(replaceSql(query));
    const named = planOf(
      `CREATE STREAMING TABLE t; CREATE FLOW t AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq ${query};`,
    );
    expect(withoutPlaces(named)).toEqual(withoutPlaces(short));
    expect(named.flows[0]?.fingerprint).toBe(base);
    const long = planOf(
      `CREATE OR REFRESH STREAMING TABLE t; CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq ${query};`,
    );
    expect(long.flows[0]?.fingerprint).toBe(base);
    expect(long.flows[0]?.name).toBe('f');
  });

  const same: Record<string, string> = {
    'an alias of the relation':
      "SELECT o.k, o.seq, o.n + 1 AS n FROM STREAM(s) AS o WHERE o.v <> ''",
    'comments and spaces':
      "SELECT k, /* the key */ seq,\n n+1 AS n -- more\n FROM STREAM s WHERE v<>''",
    'the case of names': "SELECT K, Seq, N + 1 AS n FROM STREAM(S) WHERE V <> ''",
    'a subquery around the source':
      "SELECT k, seq, n + 1 AS n FROM (SELECT v AS w, n, seq, k FROM STREAM(s)) WHERE w <> ''",
    'a CTE': "WITH c AS (SELECT * FROM STREAM(s)) SELECT k, seq, n + 1 AS n FROM c WHERE v <> ''",
  };
  test.each(Object.entries(same))('%s leaves no trace', (_, other) => {
    expect(flowOf(replaceSql(other)).fingerprint).toBe(base);
  });

  test('a view, further columns of the source and their order leave no trace', () => {
    const wide =
      'CREATE SOURCE s (more INT, v STRING, n INT, other STRING, seq BIGINT, k STRING); CREATE VIEW w AS SELECT * FROM STREAM(s);';
    const { plan } = planPipeline([
      { file: 'a.sql', text: `${wide} ${replaceSql(query.replace('STREAM(s)', 'w'))}` },
    ]);
    expect(plan?.flows[0]?.fingerprint).toBe(base);
  });
});

describe('definitions', () => {
  const different: Record<string, string> = {
    'the key (P107)': replaceSql(query, 'n'),
    'another key (P107)': replaceSql(query, 'k, n'),
    'the sequence (P107)': replaceSql(query, 'k', 'n'),
    'an expression': replaceSql(query.replace('n + 1', 'n + 2')),
    'the filter': replaceSql(query.replace("''", "'x'")),
    'the source': replaceSql("SELECT k, seq, CAST(n + 1 AS INT) AS n FROM STREAM(r) WHERE v <> ''"),
    'a further column': replaceSql(query.replace(' FROM', ', m FROM')),
    DISTINCT: replaceSql(query.replace('SELECT', 'SELECT DISTINCT')),
    'a branch': replaceSql(`${query} UNION ALL ${query}`),
    'the empty condition': replaceSql(query, 'k', 'seq APPLY AS EMPTY WHEN (n IS NULL)'),
    'the time zone': `SET timezone = 'Europe/Warsaw'; ${replaceSql(query)}`,
    'the declared type': `CREATE STREAMING TABLE t (k STRING, seq BIGINT, n BIGINT) FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME ${query};`,
  };
  test.each(Object.entries(different))('%s makes another fingerprint', (_, sql) => {
    expect(flowOf(sql).fingerprint).not.toBe(base);
  });

  test('the topic, the format and the tombstones of the source are part of it', () => {
    const fingerprints = ["topic = 's'", "topic = 'x'", "tombstones = 'bad'"].map((option) => {
      const text = `${sourcesSql.replace(/MAP<STRING, INT>\)/u, `MAP<STRING, INT>) WITH (${option})`)} ${replaceSql(query)}`;
      return planPipeline([{ file: 'a.sql', text }]).plan?.flows[0]?.fingerprint;
    });
    expect(fingerprints[0]).toBe(base);
    expect(new Set(fingerprints).size).toBe(3);
  });

  test('expectations, options and comments of the table are not part of it', () => {
    const sql = `CREATE STREAMING TABLE t (CONSTRAINT c EXPECT (n > 0)) COMMENT 'x' WITH (partitions = 3) FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME ${query};`;
    expect(flowOf(sql).fingerprint).toBe(base);
  });

  test('the text is readable', () => {
    expect(base).toBe(
      [
        'flow replace_using',
        'time zone "UTC"',
        'keys ["k"]',
        'sequence #1:bigint as bigint',
        'empty when never',
        'distinct false',
        'columns ["k string","seq bigint","n int"]',
        'from ["s","json","skip"]',
        'reads ["k string","n int","seq bigint","v string"]',
        'filter <>(string)[#3:string, "":string]:boolean',
        'project #0:string, #2:bigint, add(int,int)[#1:int, 1:int]:int',
        'project #0:string, #1:bigint, #2:int',
      ].join('\n'),
    );
  });
});

import { describe, expect, test } from 'vitest';
import type { FlowBody, Statement } from '../../../src/sql/ast.ts';
import { parseColumns, parsePipeline } from '../../../src/sql/parse.ts';
import { printStatement } from '../../../src/sql/print.ts';
import { withoutPlaces } from './tree-shape.ts';

function statement(text: string): Statement {
  const { statements, faults } = parsePipeline(text, 'p.sql');
  expect(faults).toEqual([]);
  const [first] = statements;
  if (first === undefined || statements.length > 1) throw new Error('not one statement');
  return first;
}

function fault(text: string): string {
  const [first] = parsePipeline(text, 'p.sql').faults;
  return first === undefined ? 'no fault' : `${first.code}: ${first.message}`;
}

function flow(text: string): FlowBody | undefined {
  const found = statement(text);
  if (found.node === 'create_streaming_table') return found.flow;
  return found.node === 'create_flow' ? found.body : undefined;
}

describe('REPLACE USING', () => {
  const short =
    'CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY s BY NAME SELECT * FROM STREAM(src)';
  const long =
    'CREATE FLOW t AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY s SELECT * FROM STREAM(src)';

  test('SX-01 in CREATE STREAMING TABLE, BY NAME stands behind SEQUENCE BY', () => {
    expect(flow(short)).toMatchObject({
      node: 'insert',
      byName: true,
      replaceUsing: { keys: [{ text: 'k' }], sequence: [{ node: 'column' }], emptyWhen: undefined },
    });
  });

  test('SX-02 in CREATE FLOW, BY NAME stands before REPLACE USING; both give the same flow', () => {
    expect(withoutPlaces(flow(long))).toEqual(withoutPlaces(flow(short)));
  });

  test('SX-03 OR REFRESH', () => {
    expect(statement(short.replace('CREATE', 'CREATE OR REFRESH'))).toMatchObject({
      node: 'create_streaming_table',
      orRefresh: true,
    });
    expect(statement(short)).toMatchObject({ orRefresh: false });
  });

  test('SX-04 a missing BY NAME is no syntax fault but shows in the tree', () => {
    expect(flow(short.replace('BY NAME ', ''))).toMatchObject({ byName: false });
    expect(flow(long.replace('BY NAME ', ''))).toMatchObject({ byName: false });
  });

  test.each([
    ['RQ-03 no key', 'REPLACE USING () SEQUENCE BY s BY NAME', 0, 1],
    ['RQ-04 no sequence', 'REPLACE USING (k) BY NAME', 1, undefined],
    ['RQ-04 two sequences', 'REPLACE USING (k) SEQUENCE BY s, u BY NAME', 1, 2],
    ['RQ-05 a key twice', 'REPLACE USING (k, K) SEQUENCE BY s BY NAME', 2, 1],
  ])('%s is no syntax fault but shows in the tree', (_, clause, keys, sequences) => {
    const body = flow(`CREATE STREAMING TABLE t FLOW ${clause} SELECT 1`);
    if (body?.node !== 'insert') throw new Error('no insert');
    expect(body.replaceUsing?.keys).toHaveLength(keys);
    expect(body.replaceUsing?.sequence?.length).toBe(sequences);
  });

  test.each([
    'REPLACE USING (k) SEQUENCE BY s APPLY AS EMPTY WHEN (n = 0) BY NAME',
    'REPLACE USING (k) APPLY AS EMPTY WHEN n = 0 SEQUENCE BY s BY NAME',
  ])('APPLY AS EMPTY WHEN: %s', (clause) => {
    expect(flow(`CREATE STREAMING TABLE t FLOW ${clause} SELECT 1`)).toMatchObject({
      replaceUsing: { emptyWhen: { node: 'binary', operator: '=' } },
    });
  });

  test('the sequence may be an expression, and the query may begin with WITH or a parenthesis', () => {
    for (const query of [
      'SELECT 1',
      'WITH a AS (SELECT 1) SELECT * FROM a',
      '(SELECT 1)',
      'VALUES (1)',
    ]) {
      const body = flow(
        `CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY greatest(a, b) + 1 ${query}`,
      );
      expect(body).toMatchObject({ replaceUsing: { sequence: [{ node: 'binary' }] } });
    }
  });
});

describe('flows', () => {
  test('SX-12 AS is the default flow: it appends by name', () => {
    expect(flow('CREATE OR REFRESH STREAMING TABLE t AS SELECT * FROM STREAM(src)')).toMatchObject({
      node: 'insert',
      once: false,
      byName: true,
      replaceUsing: undefined,
    });
  });

  test('SX-14 INSERT INTO … BY NAME', () => {
    const found = statement("CREATE FLOW a.f COMMENT 'why' AS INSERT INTO t BY NAME SELECT 1");
    expect(found).toMatchObject({ node: 'create_flow', comment: 'why', body: { byName: true } });
  });

  test('SX-17 a table without a flow', () => {
    expect(statement('CREATE STREAMING TABLE t')).toMatchObject({ flow: undefined });
  });

  test.each([
    'CREATE FLOW f AS INSERT ONCE INTO t BY NAME SELECT 1',
    'CREATE FLOW f AS INSERT INTO ONCE t BY NAME SELECT 1',
    'CREATE STREAMING TABLE t FLOW INSERT ONCE BY NAME SELECT 1',
  ])('SX-18 both spellings of ONCE: %s', (text) => {
    expect(flow(text)).toMatchObject({ once: true, byName: true });
  });

  test('SX-18 a table may be called once', () => {
    expect(statement('CREATE FLOW f AS INSERT INTO once BY NAME SELECT 1')).toMatchObject({
      target: { parts: [{ text: 'once' }] },
      body: { once: false },
    });
  });

  test('SX-18 ONCE goes with REPLACE USING', () => {
    expect(
      flow('CREATE FLOW f AS INSERT INTO ONCE t BY NAME REPLACE USING (k) SEQUENCE BY s SELECT 1'),
    ).toMatchObject({ once: true, replaceUsing: { keys: [{ text: 'k' }] } });
  });

  test.each([
    'CREATE FLOW f AS INSERT INTO t REPLACE WHERE k = 1 SELECT * FROM src',
    'CREATE FLOW f AS INSERT INTO t REPLACE WHERE k = 1 BY NAME SELECT * FROM src',
    'CREATE STREAMING TABLE t FLOW REPLACE WHERE k = 1 BY NAME SELECT * FROM src',
  ])('REPLACE WHERE: %s', (text) => {
    expect(flow(text)).toMatchObject({ replaceWhere: { node: 'binary' } });
  });

  test('SX-19 materialized views and views', () => {
    expect(
      statement('CREATE OR REFRESH PRIVATE MATERIALIZED VIEW IF NOT EXISTS m AS SELECT 1'),
    ).toMatchObject({
      node: 'create_materialized_view',
      orRefresh: true,
      private: true,
      ifNotExists: true,
    });
    expect(statement('CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1')).toMatchObject({
      node: 'create_view',
      orReplace: true,
      temporary: true,
    });
  });

  test('SX-19 columns of a view stand in front of its query', () => {
    const text = "CREATE VIEW v (a COMMENT 'x', b INT NOT NULL) AS SELECT 1, 2";
    expect(printStatement(statement(text))).toBe(text);
  });
});

describe('AUTO CDC', () => {
  test('every clause, in any order', () => {
    const found = statement(`CREATE FLOW f AS AUTO CDC ONCE INTO t FROM STREAM src
      STORED AS SCD TYPE 2 TRACK HISTORY ON * EXCEPT (w) SEQUENCE BY struct(s, u) KEYS (k, j)
      IGNORE NULL UPDATES ON (v) APPLY AS DELETE WHEN op = 'D' APPLY AS TRUNCATE WHEN op = 'T'
      COLUMNS (a, b)`);
    expect(found).toMatchObject({
      node: 'create_flow',
      target: { parts: [{ text: 't' }] },
      body: {
        node: 'auto_cdc',
        cdc: {
          once: true,
          source: { node: 'named', stream: true, alias: undefined },
          keys: [{ node: 'column' }, { node: 'column' }],
          ignoreNullUpdates: true,
          ignoreNullColumns: { except: false },
          deleteWhen: { operator: '=' },
          truncateWhen: { operator: '=' },
          sequence: [{ node: 'call' }],
          columns: { except: false, columns: [{}, {}] },
          scdType: 2,
          trackHistory: { except: true },
        },
      },
    });
  });

  test('what is missing shows in the tree', () => {
    expect(flow('CREATE STREAMING TABLE t FLOW AUTO CDC FROM STREAM(src)')).toMatchObject({
      cdc: { keys: [], sequence: undefined, scdType: undefined, columns: undefined },
    });
  });

  test('the source may be a query, and the old spelling is read', () => {
    expect(
      flow(
        'CREATE FLOW f AS AUTO CDC INTO t FROM (SELECT * FROM STREAM(src)) KEYS (k) SEQUENCE BY s',
      ),
    ).toMatchObject({ cdc: { source: { node: 'subquery' } } });
    expect(
      statement('APPLY CHANGES INTO live.t FROM STREAM(s) KEYS (k) SEQUENCE BY s'),
    ).toMatchObject({
      node: 'apply_changes',
    });
  });

  test.each([
    ['KEYS (k) KEYS (j)', 'PARSE_SYNTAX_ERROR: KEYS stands twice'],
    ['KEYS (a.k)', "PARSE_SYNTAX_ERROR: found '.', expected ')'"],
    ['KEYS (k) STORED AS SCD TYPE 3', 'PARSE_SYNTAX_ERROR: SCD TYPE is 1 or 2, not 3'],
  ])('%s is refused', (clauses, message) => {
    expect(fault(`CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) ${clauses}`)).toBe(message);
  });
});

describe('what a table is made of', () => {
  test('SX-20 expectations with each action', () => {
    const found = statement(`CREATE STREAMING TABLE t (
      a INT NOT NULL COMMENT 'x' DEFAULT 1 + 1, constraint STRING,
      CONSTRAINT w EXPECT (a > 1), CONSTRAINT d EXPECT (a > 2) ON VIOLATION DROP ROW,
      CONSTRAINT f EXPECT (a > 3) ON VIOLATION FAIL UPDATE, PRIMARY KEY (a) RELY
    )`);
    expect(found).toMatchObject({
      body: {
        columns: [
          { name: { text: 'a' }, notNull: true, comment: 'x', defaultValue: { operator: '+' } },
          { name: { text: 'constraint' } },
        ],
        constraints: [{ action: 'warn' }, { action: 'drop' }, { action: 'fail' }],
        clauses: [{ clause: 'PRIMARY KEY', text: 'PRIMARY KEY (a) RELY' }],
      },
    });
  });

  test('options keep their clause, their key and their kind of value', () => {
    const found = statement(`CREATE SOURCE s (a BIGINT) COMMENT 'c'
      WITH (topic = 'x', a.b = 12, 'c d' = -1.5, e = true, seq = 9007199254740993, ahead = INTERVAL 1 DAY)
      OPTIONS (f 'g') TBLPROPERTIES ('h' = FALSE)`);
    if (found.node !== 'create_source') throw new Error('no source');
    expect(found.body.comment).toBe('c');
    expect(found.body.options.map(({ clause, key, value }) => [clause, key, value])).toEqual([
      ['with', 'topic', 'x'],
      ['with', 'a.b', 12],
      ['with', 'c d', -1.5],
      ['with', 'e', true],
      ['with', 'seq', '9007199254740993'],
      ['with', 'ahead', 'INTERVAL 1 DAY'],
      ['options', 'f', 'g'],
      ['tblproperties', 'h', false],
    ]);
  });

  test('clauses of other systems are kept by name', () => {
    const found = statement(`CREATE STREAMING TABLE t (a INT) USING delta PARTITIONED BY (a)
      CLUSTER BY AUTO LOCATION '/x' DEFAULT COLLATION UTF8_BINARY SCHEDULE EVERY 1 DAY
      ROW FORMAT DELIMITED STORED AS parquet WITH ROW FILTER f ON (a) COMMENT 'c' AS SELECT 1`);
    if (found.node !== 'create_streaming_table') throw new Error('no table');
    expect(found.body.comment).toBe('c');
    expect(found.body.clauses.map(({ clause, text }) => [clause, text])).toEqual([
      ['USING', 'USING delta'],
      ['PARTITIONED BY', 'PARTITIONED BY (a)'],
      ['CLUSTER BY', 'CLUSTER BY AUTO'],
      ['LOCATION', "LOCATION '/x'"],
      ['DEFAULT COLLATION', 'DEFAULT COLLATION UTF8_BINARY'],
      ['SCHEDULE', 'SCHEDULE EVERY 1 DAY'],
      ['ROW FORMAT', 'ROW FORMAT DELIMITED'],
      ['STORED AS', 'STORED AS parquet'],
      ['ROW FILTER', 'ROW FILTER f ON (a)'],
    ]);
  });

  test('sinks', () => {
    expect(statement("CREATE SINK s USING kafka OPTIONS ('topic' = 'x')")).toMatchObject({
      node: 'create_sink',
      body: { clauses: [{ clause: 'USING' }], options: [{ clause: 'options' }] },
    });
  });

  test('a list of columns alone, with and without colons', () => {
    expect(
      parseColumns('a INT, b: STRING NOT NULL, c STRUCT<x INT>').map(({ name }) => name.text),
    ).toEqual(['a', 'b', 'c']);
    expect(parseColumns('')).toEqual([]);
    expect(() => parseColumns('a')).toThrow('expected a data type');
  });
});

describe('other statements', () => {
  test.each([
    ["SET timezone = 'Europe/Warsaw'", 'timezone', 'Europe/Warsaw'],
    ["SET TIME ZONE 'Asia/Tokyo'", 'timezone', 'Asia/Tokyo'],
    ['SET TIME ZONE LOCAL', 'timezone', 'LOCAL'],
    ['SET TIME ZONE INTERVAL 10 HOURS', 'timezone', 'INTERVAL 10 HOURS'],
    ['SET spark.sql.session.timeZone = UTC', 'spark.sql.session.timeZone', 'UTC'],
    ['set a.b-c = 10s', 'a.b-c', '10s'],
    ['SET a = -5', 'a', -5],
    ['SET a = true', 'a', true],
    ['SET a = x y  z', 'a', 'x y  z'],
    ["SET `a b` = '1'", 'a b', '1'],
  ])('%s', (text, key, value) => {
    const found = statement(text);
    expect(found).toMatchObject({ node: 'set', key, value });
    expect(withoutPlaces(statement(printStatement(found)))).toEqual(withoutPlaces(found));
  });

  test.each([
    ['INSERT INTO t SELECT 1', 'INSERT INTO'],
    ['INSERT INTO TABLE t (a, b) VALUES (1, 2)', 'INSERT INTO'],
    ['INSERT INTO t BY NAME REPLACE WHERE k = 1 SELECT 1 AS k', 'INSERT INTO'],
    ['INSERT INTO t REPLACE ON t.k = s.k (SELECT 1 AS k) AS s', 'INSERT INTO'],
    ['INSERT OVERWRITE t SELECT 1', 'INSERT OVERWRITE'],
    ['USE SCHEMA s', 'USE'],
    ['USE a.b', 'USE'],
  ])('%s is read, to be refused by name', (text, clause) => {
    expect(statement(text)).toMatchObject({ node: 'foreign', clause: { clause, text } });
  });

  test.each([
    ['DROP TABLE t', 'NOT_SUPPORTED: DROP has no place in a pipeline'],
    ['DELETE FROM t', 'NOT_SUPPORTED: DELETE has no place in a pipeline'],
    ['REFRESH STREAMING TABLE t', 'NOT_SUPPORTED: REFRESH has no place in a pipeline'],
    ['CREATE TABLE t (a INT)', 'NOT_SUPPORTED: CREATE TABLE is not supported'],
    ['CREATE FUNCTION f AS 1', 'NOT_SUPPORTED: CREATE FUNCTION is not supported'],
    [
      'CREATE FLOW f AS INSERT INTO t (a) SELECT 1',
      'NOT_SUPPORTED: a flow takes no list of columns',
    ],
    [
      'DROP STREAMING TABLE t',
      "PARSE_SYNTAX_ERROR: found 'DROP', expected a statement (CREATE, SET, APPLY CHANGES or a query)",
    ],
    [
      'CREATE OR REFRESH FLOW f AS INSERT INTO t BY NAME SELECT 1',
      'PARSE_SYNTAX_ERROR: FLOW takes no OR REFRESH',
    ],
    [
      'CREATE OR REPLACE STREAMING TABLE t',
      'PARSE_SYNTAX_ERROR: STREAMING TABLE takes no OR REPLACE',
    ],
    [
      'CREATE TEMPORARY STREAMING TABLE t',
      'PARSE_SYNTAX_ERROR: STREAMING TABLE takes no TEMPORARY',
    ],
    [
      'CREATE FLOW IF NOT EXISTS f AS INSERT INTO t BY NAME SELECT 1',
      "PARSE_SYNTAX_ERROR: found 'NOT', expected AS",
    ],
    [
      'CREATE FLOW f AS SELECT 1',
      "PARSE_SYNTAX_ERROR: found 'SELECT', expected INSERT INTO or AUTO CDC INTO",
    ],
    [
      'CREATE FLOW f AS INSERT INTO t BY NAME ONCE SELECT 1',
      "PARSE_SYNTAX_ERROR: found 'ONCE', expected a query",
    ],
    [
      'CREATE STREAMING TABLE t FLOW REPLACE USING k',
      "PARSE_SYNTAX_ERROR: found 'k', expected '('",
    ],
    [
      "CREATE STREAMING TABLE t COMMENT 'a' COMMENT 'b'",
      'PARSE_SYNTAX_ERROR: COMMENT stands twice',
    ],
    ['CREATE STREAMING TABLE t (a INT b INT)', "PARSE_SYNTAX_ERROR: found 'b', expected ')'"],
    [
      'CREATE MATERIALIZED VIEW m',
      'PARSE_SYNTAX_ERROR: found the end of the statement, expected AS',
    ],
    [
      'hello',
      "PARSE_SYNTAX_ERROR: found 'hello', expected a statement (CREATE, SET, APPLY CHANGES or a query)",
    ],
  ])('%s is refused', (text, message) => {
    expect(fault(text)).toBe(message);
  });
});

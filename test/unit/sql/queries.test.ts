import { describe, expect, test } from 'vitest';
import type { Relation, SelectQuery } from '../../../src/sql/ast.ts';
import { parsePipeline, parseQuery } from '../../../src/sql/parse.ts';
import { printQuery } from '../../../src/sql/print.ts';
import { withoutPlaces } from './tree-shape.ts';

function printed(text: string): string {
  return printQuery(parseQuery(text, 'f'));
}

function select(text: string): SelectQuery {
  const { body } = parseQuery(text, 'f');
  if (body.node !== 'select') throw new Error(`${text} is no SELECT`);
  return body;
}

function relation(text: string): Relation {
  const [first] = select(`SELECT * FROM ${text}`).from;
  if (first === undefined) throw new Error(`${text} is no relation`);
  return first;
}

describe('SELECT', () => {
  test.each([
    ['select 1', 'SELECT 1'],
    [
      'SELECT a FROM t WATERMARK !a AS ts DELAY OF INTERVAL 1 DAY',
      'SELECT a FROM t WATERMARK (NOT a) AS ts DELAY OF INTERVAL 1 DAY',
    ],
    [
      'SELECT a FROM t LATERAL VIEW explode(y) version v',
      'SELECT a FROM t LATERAL VIEW explode(y) version AS v',
    ],
    ['SELECT a FROM (WHERE)', 'SELECT a FROM `WHERE`'],
    ['SELECT a FROM STREAM VALUES(k, j)', 'SELECT a FROM STREAM(`VALUES`(k, j))'],
    ['SELECT a b, c AS `d e`, 1 AS select', 'SELECT a AS b, c AS `d e`, 1 AS `select`'],
    ['SELECT posexplode(x) AS (p, e)', 'SELECT posexplode(x) AS (p, e)'],
    ['SELECT stack(1, a) (k, v) FROM t', 'SELECT stack(1, a) AS (k, v) FROM t'],
    ['SELECT DISTINCT a FROM t', 'SELECT DISTINCT a FROM t'],
    ['SELECT ALL a FROM t', 'SELECT a FROM t'],
    ['SELECT distinct FROM t', 'SELECT `distinct` FROM t'],
    ['SELECT * EXCEPT (a, b.c), t.* FROM t', 'SELECT * EXCEPT (a, b.c), t.* FROM t'],
    ['SELECT * EXCEPT (SELECT 1)', 'SELECT * EXCEPT (SELECT 1)'],
    ['SELECT a order, b', 'SELECT a AS `order`, b'],
    ['SELECT a key, b sequence FROM t', 'SELECT a AS key, b AS sequence FROM t'],
    ['SELECT order, group FROM t', 'SELECT `order`, `group` FROM t'],
    ['SELECT end - 1 FROM t', 'SELECT `end` - 1 FROM t'],
    ['SELECT /*+ BROADCAST(t) */ a FROM t', 'SELECT a FROM t'],
    [
      'SELECT a FROM t WHERE b GROUP BY a, c HAVING d QUALIFY e WINDOW w AS (ORDER BY a), v AS (w)',
      'SELECT a FROM t WHERE b GROUP BY a, c HAVING d QUALIFY e WINDOW w AS (ORDER BY a), v AS w',
    ],
    ['SELECT a FROM t GROUP BY ALL', 'SELECT a FROM t GROUP BY ALL'],
    ['SELECT a FROM t GROUP BY all, b', 'SELECT a FROM t GROUP BY `all`, b'],
    ['SELECT a FROM t GROUP BY ROLLUP (a, (b, c))', 'SELECT a FROM t GROUP BY ROLLUP(a, (b, c))'],
    ['SELECT a FROM t GROUP BY a, b WITH CUBE', 'SELECT a FROM t GROUP BY CUBE(a, b)'],
    [
      'SELECT a FROM t GROUP BY GROUPING SETS ((a), (), a)',
      'SELECT a FROM t GROUP BY GROUPING SETS ((a), (), a)',
    ],
    ['FROM t SELECT a WHERE b', 'SELECT a FROM t WHERE b'],
    ['FROM t', 'SELECT * FROM t'],
    ['FROM STREAM t AS s', 'SELECT * FROM STREAM(t) AS s'],
    ['FROM a, b ORDER BY x LIMIT 1', 'SELECT * FROM a, b ORDER BY x LIMIT 1'],
    ['FROM a UNION ALL FROM b', 'SELECT * FROM a UNION ALL SELECT * FROM b'],
    [
      'WITH c AS (FROM t) SELECT x IN (FROM c)',
      'WITH c AS (SELECT * FROM t) SELECT x IN (SELECT * FROM c)',
    ],
    ['SELECT a left, b right FROM t', 'SELECT a AS `left`, b AS `right` FROM t'],
    ['SELECT count(*) full FROM t', 'SELECT count(*) AS `full` FROM t'],
    ['SELECT sum(a) OVER first FROM t', 'SELECT sum(a) OVER first FROM t'],
    ['SELECT sum(a) over FROM t', 'SELECT sum(a) AS over FROM t'],
    ['SELECT /*+ REPARTITION(3), x */ /*+ MERGE(a.b) */ a FROM t', 'SELECT a FROM t'],
    ['SELECT a FROM t;', 'SELECT a FROM t'],
  ])('%s', (text, expected) => {
    expect(printed(text)).toBe(expected);
  });

  test.each([
    'SELECT a AS () FROM t',
    'SELECT * FROM t AS u()',
    'WITH c() AS (SELECT 1) SELECT 1',
    'SELECT transform(a, () -> 1)',
    'SELECT * FROM a JOIN b USING ()',
    'SELECT * FROM a NATURAL JOIN b ON a.x = b.x',
    'SELECT * FROM a NATURAL JOIN b USING (x)',
    'SELECT * FROM t AS left',
    'SELECT * FROM t AS anti(a)',
    'SELECT * FROM VALUES (1) AS union(b)',
    'SELECT * FROM t LATERAL VIEW explode(a)',
    'FROM t WHERE a',
    "SELECT INTERVAL '1 day' '2 day'",
    "SELECT INTERVAL '1' DAYS TO HOURS",
    'SELECT CAST(a AS INTERVAL SECOND TO DAY)',
    "SELECT CAST(a AS STRUCT<x: INT COMMENT 'c' NOT NULL>)",
    'SELECT a /*+ x */ FROM t',
    'SELECT /*+ */ a FROM t',
    'SELECT /*+ BROADCAST( */ a FROM t',
    'SELECT /*+ 1 */ a FROM t',
  ])('%s is refused with its place, as in Spark', (text) => {
    const { statements, faults } = parsePipeline(text, 'f');
    expect(statements).toEqual([]);
    expect(faults).toMatchObject([{ code: 'PARSE_SYNTAX_ERROR', place: { line: 1 } }]);
  });

  test('several names for a generator are all kept', () => {
    const [item] = select('SELECT posexplode(x) AS (p, e) FROM t').items;
    expect(item?.aliases.map(({ text }) => text)).toEqual(['p', 'e']);
  });
});

describe('relations', () => {
  test.each(['STREAM(a.b.c)', 'STREAM a.b.c', 'stream (a.b.c)', 'STREAM(`a`.b.c)'])(
    'SX-11 %s reads the stream a.b.c',
    (text) => {
      const found = relation(text);
      expect(found).toMatchObject({ node: 'named', stream: true });
      if (found.node === 'named') {
        expect(found.name.parts.map((part) => part.text)).toEqual(['a', 'b', 'c']);
      }
    },
  );

  test.each([
    ['t', 't'],
    ['t AS x(a, b)', 't AS x(a, b)'],
    ['t x', 't AS x'],
    ['stream', 'stream'],
    ['stream AS s', 'stream AS s'],
    ['stream WHERE a', 'stream WHERE a'],
    ['STREAM t JOIN STREAM u', 'STREAM(t) JOIN STREAM(u)'],
    ["STREAM read_kafka(subscribe => 't')", "STREAM(read_kafka(subscribe => 't'))"],
    ["STREAM(read_kafka(subscribe => 't')) AS k", "STREAM(read_kafka(subscribe => 't')) AS k"],
    ['STREAM (SELECT 1) s', 'STREAM (SELECT 1) AS s'],
    [
      'STREAM(t) WITH (skipChangeCommits = true) x',
      "STREAM(t) WITH ('skipChangeCommits' = TRUE) AS x",
    ],
    [
      'STREAM(t) WATERMARK ts DELAY OF INTERVAL 5 MINUTES AS x',
      'STREAM(t) WATERMARK ts DELAY OF INTERVAL 5 MINUTE AS x',
    ],
    [
      't WATERMARK to_timestamp(x) AS ts DELAY OF INTERVAL 1 MINUTE',
      't WATERMARK to_timestamp(x) AS ts DELAY OF INTERVAL 1 MINUTE',
    ],
    ['t watermark', 't AS `watermark`'],
    ['(SELECT 1) x', '(SELECT 1) AS x'],
    ['((SELECT 1) UNION SELECT 2)', '((SELECT 1) UNION SELECT 2)'],
    ['(t)', 't'],
    ['(a JOIN b ON c)', 'a JOIN b ON c'],
    ['(a JOIN b ON c) x', '(a JOIN b ON c) AS x'],
    ['a JOIN (b JOIN c) ON d', 'a JOIN (b JOIN c) ON d'],
    ['VALUES (1, 2), (3, 4) AS t(a, b)', 'VALUES (1, 2), (3, 4) AS t(a, b)'],
    ['VALUES 1, 2', 'VALUES (1), (2)'],
    ['VALUES struct(1, 2), (struct(3, 4))', 'VALUES (1, 2), (3, 4)'],
    ['range(10)', 'range(10)'],
    ['a, b', 'a, b'],
    ['a LEFT OUTER JOIN b USING (k)', 'a LEFT JOIN b USING (k)'],
    ['a LEFT SEMI JOIN b ON c', 'a LEFT SEMI JOIN b ON c'],
    ['a ANTI JOIN b ON c', 'a LEFT ANTI JOIN b ON c'],
    ['a NATURAL FULL JOIN b CROSS JOIN c', 'a NATURAL FULL JOIN b CROSS JOIN c'],
    ['a JOIN LATERAL f(a.x) AS v(e)', 'a JOIN LATERAL f(a.x) AS v(e)'],
    ['a, b, LATERAL f(a.x) v', 'a CROSS JOIN b CROSS JOIN LATERAL f(a.x) AS v'],
    ['t LATERAL VIEW explode(x) v AS e', 't LATERAL VIEW explode(x) v AS e'],
    ['t LATERAL VIEW explode(x) APPLY e', 't LATERAL VIEW explode(x) APPLY AS e'],
    ['t LATERAL VIEW explode(x) APPLY AS e', 't LATERAL VIEW explode(x) APPLY AS e'],
    [
      't LATERAL VIEW OUTER explode(x) v LATERAL VIEW f(y) AS a, b',
      't LATERAL VIEW OUTER explode(x) v LATERAL VIEW f(y) AS a, b',
    ],
    ['t PIVOT (sum(a) FOR b IN (1, 2)) p', 't PIVOT (sum(a) FOR b IN (1, 2)) AS p'],
    ['t TABLESAMPLE (10 PERCENT) x', 't TABLESAMPLE (10 PERCENT) AS x'],
    ['t VERSION AS OF 3', 't VERSION AS OF 3'],
    ["t FOR TIMESTAMP AS OF '2020-01-01' x", "t FOR TIMESTAMP AS OF '2020-01-01' AS x"],
    ['t version', 't AS version'],
  ])('FROM %s', (text, expected) => {
    expect(printed(`SELECT * FROM ${text}`)).toBe(`SELECT * FROM ${expected}`);
  });

  test('a function behind a comma and LATERAL sees every relation before it', () => {
    const found = relation('a, b, LATERAL f(a.x)');
    expect(found).toMatchObject({ node: 'join', kind: 'cross', lateral: true });
    if (found.node === 'join') expect(found.left).toMatchObject({ node: 'join', lateral: false });
  });

  test('what no flow carries out is kept by name', () => {
    expect(relation('t PIVOT (sum(a) FOR b IN (1))')).toMatchObject({
      node: 'foreign',
      clause: { clause: 'PIVOT', text: 'PIVOT (sum(a) FOR b IN (1))' },
    });
    expect(relation('t FOR VERSION AS OF 3')).toMatchObject({
      clause: { clause: 'VERSION AS OF', text: 'FOR VERSION AS OF 3' },
    });
  });
});

describe('queries', () => {
  test.each([
    ['SELECT 1 UNION ALL SELECT 2 UNION SELECT 3', 'SELECT 1 UNION ALL SELECT 2 UNION SELECT 3'],
    ['SELECT 1 UNION DISTINCT SELECT 2', 'SELECT 1 UNION SELECT 2'],
    ['SELECT 1 MINUS SELECT 2', 'SELECT 1 EXCEPT SELECT 2'],
    ['(SELECT 1) UNION (SELECT 2 ORDER BY 1)', '(SELECT 1) UNION (SELECT 2 ORDER BY 1)'],
    [
      'SELECT a FROM t ORDER BY a DESC NULLS LAST, b LIMIT 10 OFFSET 5',
      'SELECT a FROM t ORDER BY a DESC NULLS LAST, b LIMIT 10 OFFSET 5',
    ],
    ['SELECT a LIMIT ALL', 'SELECT a'],
    ['SELECT a FROM t SORT BY a', 'SELECT a FROM t SORT BY a'],
    ['SELECT a FROM t sort', 'SELECT a FROM t AS sort'],
    [
      'WITH t AS (SELECT 1), u(a) (SELECT 2) SELECT * FROM t, u',
      'WITH t AS (SELECT 1), u (a) AS (SELECT 2) SELECT * FROM t, u',
    ],
    [
      'WITH RECURSIVE r(n) MAX RECURSION LEVEL 3 (SELECT 1 UNION ALL SELECT n FROM r) TABLE r',
      'WITH RECURSIVE r (n) MAX RECURSION LEVEL 3 AS (SELECT 1 UNION ALL SELECT n FROM r) TABLE r',
    ],
    ['TABLE a.b', 'TABLE a.b'],
    ['VALUES (1)', 'VALUES (1)'],
  ])('%s', (text, expected) => {
    expect(printed(text)).toBe(expected);
  });

  test('INTERSECT binds tighter than UNION, both from the left', () => {
    expect(parseQuery('SELECT 1 UNION SELECT 2 INTERSECT SELECT 3', 'f').body).toMatchObject({
      operator: 'union',
      right: { operator: 'intersect' },
    });
    expect(parseQuery('SELECT 1 EXCEPT SELECT 2 UNION SELECT 3', 'f').body).toMatchObject({
      operator: 'union',
      left: { operator: 'except' },
    });
  });

  test.each([
    ['SELECT 1 |> SELECT 2', 'SELECT 2 FROM (SELECT 1)'],
    ['FROM t |> WHERE a |> EXTEND b + 1 AS c', 'SELECT *, b + 1 AS c FROM t WHERE a'],
    ['FROM t |> DROP a, b', 'SELECT * EXCEPT (a, b) FROM t'],
    ['FROM t |> AS x |> JOIN u ON x.a', 'SELECT * FROM (SELECT * FROM t) AS x JOIN u ON x.a'],
    ['FROM t |> ORDER BY a LIMIT 1', '(SELECT * FROM t) ORDER BY a LIMIT 1'],
    ['FROM t |> UNION ALL SELECT 1', '(SELECT * FROM t) UNION ALL SELECT 1'],
    ['FROM t |> AGGREGATE count(*) AS n GROUP BY a', 'SELECT a, count(*) AS n FROM t GROUP BY a'],
    [
      'FROM t |> AGGREGATE count(*) n GROUP BY a x',
      'SELECT a AS x, count(*) AS n FROM t GROUP BY a',
    ],
    ['FROM t |> WHERE a |> SET b = c + 1', 'FROM t |> WHERE a |> SET b = c + 1'],
    ['FROM t |> SET a = 1, b = a', 'FROM (FROM t |> SET a = 1) |> SET b = a'],
    ['FROM t |> SELECT a WINDOW w AS (ORDER BY a)', 'SELECT a FROM t WINDOW w AS (ORDER BY a)'],
    ['FROM t |> TABLESAMPLE (1 ROWS)', 'SELECT * FROM (SELECT * FROM t) TABLESAMPLE (1 ROWS)'],
    [
      'WITH u AS (SELECT 1) FROM t |> UNION ALL TABLE u',
      'WITH u AS (SELECT 1) (SELECT * FROM t) UNION ALL TABLE u',
    ],
    [
      'SELECT a FROM t GROUP BY a, b GROUPING SETS (a, (b))',
      'SELECT a FROM t GROUP BY a, b GROUPING SETS (a, (b))',
    ],
  ])('the pipe syntax %s', (text, expected) => {
    expect(printed(text)).toBe(expected);
    expect(withoutPlaces(parseQuery(expected, 'f'))).toEqual(withoutPlaces(parseQuery(text, 'f')));
  });

  test.each([
    ['SELECT', "found the end of the statement, expected '*' or an expression"],
    ['SELECT 1,', 'found the end of the statement, expected an expression'],
    ['SELECT a, FROM t', 'TRAILING_COMMA_IN_SELECT'],
    ['SELECT \'x\' AS "quoted"', 'found "quoted"'],
    ['SELECT STREAM * FROM t', 'STREAM_MISPLACED'],
    ['SELECT 1 UNION ALL BY NAME SELECT 2', "found 'BY', expected a query"],
    ['SELECT * FROM', 'expected a table, STREAM(…), a subquery or a table function'],
    ['SELECT * FROM t WHERE', 'expected an expression'],
    [
      'SELECT * FROM STREAM(t) AS s WATERMARK ts DELAY OF INTERVAL 1 DAY',
      'WATERMARK stands behind the alias',
    ],
    ['SELECT * FROM STREAM(t) WATERMARK ts DELAY OF 10 SECONDS', "found '10', expected INTERVAL"],
    ['SELECT from_json(a).* FROM t', "found '.'"],
    ['SELECT (SELECT 1', "expected ')'"],
    ['SELECT 1 FROM t JOIN', 'expected a table'],
    ['SELECT a b c', "found 'c', expected the end"],
  ])('%s is refused: %s', (text, message) => {
    expect(() => parseQuery(text, 'f')).toThrow(message);
  });
});

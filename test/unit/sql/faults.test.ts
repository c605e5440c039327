import { expect, test } from 'vitest';
import { formatFault } from '../../../src/base/fault-text.ts';
import type { Fault } from '../../../src/base/place.ts';
import { parsePipeline, parseQuery } from '../../../src/sql/parse.ts';

function texts(source: string): string[] {
  return parsePipeline(source, 'p.sql').faults.map((fault) => formatFault(fault, source));
}

test('a fault says where, what, the line with the span marked, and what to do', () => {
  expect(
    texts('CREATE STREAMING TABLE t\n  FLOW REPLACE USING k SEQUENCE BY s BY NAME SELECT 1'),
  ).toEqual([
    [
      "p.sql:2:22: error PARSE_SYNTAX_ERROR: found 'k', expected '('",
      '    FLOW REPLACE USING k SEQUENCE BY s BY NAME SELECT 1',
      '                       ^',
      'hint: Columns stand in parentheses: USING (a, b).',
    ].join('\n'),
  ]);
});

test('all faults come at once, in order, and what has none is read', () => {
  const source = 'SELECT a FORM b;\nSELECT 1;\nSELECT (2;\nSELECT 3;\nSELECT 1 +;\n/* open';
  const { statements, faults } = parsePipeline(source, 'p.sql');
  expect(statements).toHaveLength(2);
  expect(faults.map(({ place, code }) => [place.line, place.column, code])).toEqual([
    [1, 15, 'PARSE_SYNTAX_ERROR'],
    [3, 10, 'PARSE_SYNTAX_ERROR'],
    [5, 11, 'PARSE_SYNTAX_ERROR'],
    [6, 1, 'UNCLOSED_BRACKETED_COMMENT'],
  ]);
});

test('a missing semicolon before CREATE is one fault, and both statements are read', () => {
  const source =
    'CREATE STREAMING TABLE t\nCREATE FLOW f AS INSERT INTO t BY NAME SELECT 1;\nSELECT 1';
  const { statements, faults } = parsePipeline(source, 'p.sql');
  expect(statements.map(({ node }) => node)).toEqual([
    'create_streaming_table',
    'create_flow',
    'query',
  ]);
  expect(faults.map(({ hint }) => hint)).toEqual([
    'Statements end with a semicolon: one is missing before CREATE.',
  ]);
});

test('behind a faulty statement, CREATE at the beginning of a line goes on', () => {
  const source = 'CREATE STREAMING TABLE t AS\nCREATE FLOW f AS SELECT\nCREATE STREAMING TABLE u';
  const { statements, faults } = parsePipeline(source, 'p.sql');
  expect(faults.map(({ place }) => place.line)).toEqual([2, 2]);
  expect(statements).toHaveLength(1);
});

test.each([
  ['SELECT a FORM t', 'Did you mean FROM'],
  ['CREATE STREEMING TABLE t', 'Did you mean STREAMING'],
  ['SELECT a FROM t WEHRE b', 'Did you mean WHERE'],
  [
    'CREATE STREAMING TABLE t FLOW REPLACE USING (k) BY NAME SEQUENCE BY s SELECT 1',
    'BY NAME stands behind SEQUENCE BY',
  ],
  [
    'CREATE FLOW f AS INSERT INTO t REPLACE USING (k) BY NAME SEQUENCE BY s SELECT 1',
    'it stands behind the target',
  ],
  [
    'CREATE STREAMING TABLE t FLOW BY NAME REPLACE USING (k) SELECT 1',
    'BY NAME stands behind SEQUENCE BY',
  ],
  ['CREATE FLOW f AS INSERT INTO t BY NAME ONCE SELECT 1', 'ONCE stands behind INSERT'],
  ['CREATE FLOW f AS SELECT 1', 'A flow names its target'],
  ['CREATE STREAMING VIEW v AS SELECT 1', 'STREAMING TABLE'],
  ['CREATE TEMPORARY LIVE VIEW v AS SELECT 1', 'Leave LIVE out'],
  ['CREATE OR REPLACE STREAMING TABLE t', 'Write CREATE OR REFRESH STREAMING TABLE.'],
  ['CREATE TABLE t (a INT)', 'STREAMING TABLE'],
  ['CREATE SINK s OPTIONS (a = b)', "Text stands in quotes: 'b'."],
  ['SELECT * FROM a-b', 'A name with a hyphen'],
  ['SELECT 1 AS "a"', 'Double quotes make a string'],
  ['SELECT DATE 2020-01-01', "A literal is written with quotes: DATE '…'."],
  ['SELECT f(SELECT 1)', 'parentheses of its own'],
  ['SELECT a,, b FROM t', 'a comma too many'],
  ['SELECT "abc', 'A quote inside a string'],
  ['SELECT :p', 'no parameters'],
  ['SELECT id cust seq FROM t', "A comma may be missing before 'cust' or before 'seq'."],
  ['MERGE INTO t USING s ON a = b', 'Rows are merged by a flow'],
  [
    'CREATE FLOW f AS AUTO CDC INTO t FROM s KEYS (k) APPLY AS DELETES WHEN a SEQUENCE BY b',
    'Write APPLY AS DELETE WHEN.',
  ],
  [
    'CREATE FLOW f AS AUTO CDC INTO t FROM s KEYS (k) SEQUENCE BY b COLUMNS a, b',
    'Columns stand in parentheses: COLUMNS (a, b).',
  ],
  [
    'CREATE FLOW f AS AUTO CDC INTO t FROM s KEYS k SEQUENCE BY b',
    'Columns stand in parentheses: KEYS (a, b).',
  ],
  [
    'CREATE STREAMING TABLE t (CONSTRAINT c EXPECT (a) ON VIOLATION DROP) AS SELECT 1',
    'ON VIOLATION DROP ROW',
  ],
])('%s: %s', (source, hint) => {
  expect(parsePipeline(source, 'p.sql').faults.map((fault) => fault.hint)).toEqual([
    expect.stringContaining(hint),
  ]);
});

test('a file that is no SQL is told in a hundred faults at most', () => {
  const { faults } = parsePipeline('nonsense;\n'.repeat(500), 'p.sql');
  expect(faults).toHaveLength(100);
  expect(faults.at(-1)).toMatchObject({
    code: 'TOO_MANY_FAULTS',
    message: '401 further faults begin here',
    place: { line: 100 },
  });
});

test('places hold the file, the span and the line', () => {
  const { place } = parseQuery('  SELECT a +\n b FROM t', 'q.sql');
  expect(place).toEqual({ file: 'q.sql', start: 2, end: 22, line: 1, column: 3 });
});

function marked(
  source: string,
  start: number,
  end: number,
  line = 1,
  column = start + 1,
): string[] {
  const fault: Fault = {
    severity: 'warning',
    code: 'C',
    message: 'm',
    detail: 'Because.',
    place: { file: 'f', start, end, line, column },
  };
  return formatFault(fault, source).split('\n').slice(1);
}

test('the mark is as long as the span on its line', () => {
  expect(marked('SELECT abc FROM t', 7, 10)).toEqual([
    '  SELECT abc FROM t',
    '         ^~~',
    'Because.',
  ]);
  expect(marked('SELECT\nabc', 0, 10)).toEqual(['  SELECT', '  ^~~~~~', 'Because.']);
  expect(marked('ab', 2, 2)).toEqual(['  ab', '    ^', 'Because.']);
});

test('tabs keep their width and characters outside the plane count once', () => {
  expect(marked("\tab '💧💧' c", 4, 10)).toEqual(["  \tab '💧💧' c", '  \t   ^~~~', 'Because.']);
});

test('a long line is cut to what stands around the span', () => {
  const [line = '', mark = ''] = marked(`${'x'.repeat(500)}ABC${'y'.repeat(500)}`, 500, 503);
  expect(line.length).toBeLessThan(170);
  expect(line.slice(mark.indexOf('^'), mark.lastIndexOf('~') + 1)).toBe('ABC');
});

test('without the source, or with one that does not fit, the rest is told', () => {
  expect(marked('', 7, 10)).toEqual(['Because.']);
  expect(marked('ab', 70, 73)).toEqual(['Because.']);
  expect(marked('a\nb', 3, 4, 1, 4)).toEqual(['Because.']);
});

test.each([
  ["SELECT * ILIKE 'a%' FROM t", 'INVALID_USAGE_OF_STAR_OR_REGEX'],
  ["SELECT TRANSFORM(a) USING 'cat' AS (b STRING) FROM t", 'NOT_SUPPORTED'],
  ["MAP a USING 'cat' FROM t", 'NOT_SUPPORTED'],
  ['FROM t INSERT INTO x SELECT a INSERT INTO y SELECT b', 'NOT_SUPPORTED'],
])('%s is refused by its name, and not as a slip', (source, code) => {
  const [fault] = parsePipeline(source, 'p.sql').faults;
  expect(fault?.code).toBe(code);
  expect(fault?.hint).toBeDefined();
});

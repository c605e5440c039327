import { describe, expect, test } from 'vitest';
import { parseExpression, parseType } from '../../../src/sql/parse.ts';
import { printExpression, printType } from '../../../src/sql/print.ts';
import { shape, withoutPlaces } from './tree-shape.ts';

function parsed(text: string): string {
  return shape(parseExpression(text, 'f'));
}

describe('precedence', () => {
  test.each([
    ['a + b * c', '[a + [b * c]]'],
    ['a * b + c', '[[a * b] + c]'],
    ['a - b - c', '[[a - b] - c]'],
    ['a || b + c', '[[a || b] + c]'],
    ['7 div 2 % 3 / 4', '[[[7 div 2] % 3] / 4]'],
    ['a + b << 1 & c', '[[[a + b] << 1] & c]'],
    ['a >> 1 >>> 2', '[[a >> 1] >>> 2]'],
    ['a & b ^ c | d', '[[[a & b] ^ c] | d]'],
    ['a | b = c & d', '[[a | b] = [c & d]]'],
    ['a = b < c', '[[a = b] < c]'],
    ['a == b != c', '[[a = b] <> c]'],
    ['a <=> b <> c', '[[a <=> b] <> c]'],
    ['a !> b', '[a <= b]'],
    ['a !< b', '[a >= b]'],
    ['NOT a = b', '[not [a = b]]'],
    ['NOT a AND b', '[[not a] and b]'],
    ['NOT NOT a OR b', '[[not [not a]] or b]'],
    ['! a', '[not a]'],
    ['!a = b', '[not [a = b]]'],
    ['a AND b OR c AND d', '[[a and b] or [c and d]]'],
    ['a OR b AND c', '[a or [b and c]]'],
    ['a AND b AND c', '[[a and b] and c]'],
    ['a AND (b AND c)', '[a and [b and c]]'],
    ['a = b IS NULL', '[[a = b] is null]'],
    ['a IS NOT TRUE AND b', '[[a is not true] and b]'],
    ['a BETWEEN 1 AND 2 AND b', '[[a between 1 2] and b]'],
    ['a NOT BETWEEN 1 + 1 AND b || c', '[a not between [1 + 1] [b || c]]'],
    ['a IN (1, 2) OR b', '[[a in 1 2] or b]'],
    ['a NOT IN (1)', '[a not in 1]'],
    ["a LIKE 'x' || 'y'", "[a like ['x' || 'y']]"],
    ["a NOT RLIKE 'x' AND b", "[[a not rlike 'x'] and b]"],
    ['a REGEXP b', '[a rlike b]'],
    ['NOT a IN (1)', '[not [a in 1]]'],
    ['a IS DISTINCT FROM b = c', '[a is distinct [b = c]]'],
    ['a ! IN (1) AND b IS ! NULL', '[[a not in 1] and [b is not null]]'],
    ['-a * b', '[[- a] * b]'],
    ['-a.b', '[- a.b]'],
    ['- -a', '[- [- a]]'],
    ['~a & b', '[[~ a] & b]'],
    ['a - -1', '[a - [- 1]]'],
    ['a -1', '[a - 1]'],
    ['-1::string', '[[- 1] :: string]'],
    ['-a::string', '[- [a :: string]]'],
    ['a::int + 1', '[[a :: int] + 1]'],
    ['a + b::int', '[a + [b :: int]]'],
    ['a[0][1]', '[[a at 0] at 1]'],
    ['a.b[0].c.d', '[[[a.b at 0] . c] . d]'],
    ['(a).b', '[a . b]'],
    ['f(x).b', '[f(x) . b]'],
    ['v:a.b[0]::int', '[[v : a.b[0]] :: int]'],
    ["v:['a b'][*] = 1", "[[v : ['a b'][*]] = 1]"],
    ['a < b', '[a < b]'],
    ['a > > b', undefined],
  ] as const)('%s', (text, expected) => {
    if (expected === undefined) expect(() => parsed(text)).toThrow('expected an expression');
    else expect(parsed(text)).toBe(expected);
  });

  test('predicates do not chain, as in Spark', () => {
    expect(() => parsed('a IS NULL IS NULL')).toThrow("found 'IS', expected the end");
    expect(() => parsed('a IN (1) = b')).toThrow("found '=', expected the end");
  });

  test('a long chain of AND is no deep tree, and keeps its order', () => {
    const names = Array.from({ length: 3000 }, (_, index) => `c${index}`);
    const tree = parseExpression(names.join(' AND '), 'f');
    const leaves: string[] = [];
    let depthMax = 0;
    const walk = (node: typeof tree, depth: number): void => {
      depthMax = Math.max(depthMax, depth);
      if (node.node === 'binary') {
        walk(node.left, depth + 1);
        walk(node.right, depth + 1);
      } else leaves.push(printExpression(node));
    };
    walk(tree, 0);
    expect(leaves).toEqual(names);
    expect(depthMax).toBeLessThan(15);
    expect(withoutPlaces(parseExpression(printExpression(tree), 'f'))).toEqual(withoutPlaces(tree));
  });
});

describe('literals', () => {
  test.each([
    ["'a' 'b'  \"c\"", { node: 'string', value: 'abc' }],
    ["r'\\d' '\\t'", { node: 'string', value: '\\d\t' }],
    ['1.', { node: 'number', text: '1.', suffix: '' }],
    ['10l', { node: 'number', text: '10', suffix: 'L' }],
    ['1e3bd', { node: 'number', text: '1e3', suffix: 'BD' }],
    ['1e3d', { node: 'number', text: '1e3', suffix: 'D' }],
    ["DATE '2020-01-01'", { node: 'typed', type: 'date', text: '2020-01-01' }],
    ["timestamp_ntz'x'", { node: 'typed', type: 'timestamp_ntz', text: 'x' }],
    ["X'1F'", { node: 'typed', type: 'x', text: '1F' }],
    ["INTERVAL '1 day'", { node: 'typed', type: 'interval', text: '1 day' }],
    ['NULL', { node: 'null' }],
    ['false', { node: 'boolean', value: false }],
  ])('%s', (text, expected) => {
    expect(withoutPlaces(parseExpression(text, 'f'))).toEqual(expected);
  });

  test.each([
    ['INTERVAL 3 DAYS', 'INTERVAL 3 DAY'],
    ['interval 1 day 2 hours -3 minutes', 'INTERVAL 1 DAY 2 HOUR -3 MINUTE'],
    ["INTERVAL '1' DAY", "INTERVAL '1' DAY"],
    ['INTERVAL 1.5 SECONDS + INTERVAL -1 WEEK', 'INTERVAL 1.5 SECOND + INTERVAL -1 WEEK'],
    ["INTERVAL '1 02:03' DAY TO MINUTE", "INTERVAL '1 02:03' DAY TO MINUTE"],
    ["INTERVAL -'1-2' YEAR TO MONTH", "INTERVAL -'1-2' YEAR TO MONTH"],
    ['interval - 1', 'interval - 1'],
    ['interval.a + interval', 'interval.a + interval'],
  ])('%s', (text, expected) => {
    expect(printExpression(parseExpression(text, 'f'))).toBe(expected);
  });

  test('a string behind a word that is no type is refused with the types there are', () => {
    expect(() => parsed("money '1'")).toThrow('found a string behind money');
  });
});

describe('words', () => {
  test.each([
    ...['order', 'group', 'select', 'from', 'end', 'limit', 'table', 'values', 'case', 'stream'],
    ...[
      'key',
      'sequence',
      'flow',
      'name',
      'date',
      'timestamp',
      'interval',
      'left',
      'using',
      'window',
    ],
  ])('%s names a column where nothing else can stand', (word) => {
    for (const text of [`${word} = 1`, `t.${word}.${word}`, `f(${word}, ${word})`]) {
      // Where a clause could be meant, it is printed in quotes.
      expect(parsed(text).replaceAll('`', '')).toBe(text.includes('=') ? `[${text}]` : text);
    }
  });

  test.each([
    ...[
      'left',
      'right',
      'if',
      'replace',
      'map',
      'array',
      'struct',
      'date',
      'year',
      'second',
      'like',
    ],
    ...['rlike', 'filter', 'exists', 'any', 'some', 'first', 'last', 'window', 'range'],
  ])('%s names a function', (word) => {
    expect(parsed(`${word}(a, 1)`)).toBe(`${word}(a, 1)`);
  });

  test('values names a function, printed in quotes, as VALUES begins a query', () => {
    expect(parsed('values(a, 1)')).toBe('`values`(a, 1)');
  });

  test('current_date without parentheses is a column, the binder decides', () => {
    expect(parseExpression('current_date', 'f').node).toBe('column');
  });

  test('a quoted name keeps its quotes and its backticks', () => {
    expect(withoutPlaces(parseExpression('`a``b`.`select`', 'f'))).toEqual({
      node: 'column',
      name: {
        parts: [
          { text: 'a`b', quoted: true },
          { text: 'select', quoted: true },
        ],
      },
    });
  });
});

describe('forms of their own', () => {
  test.each([
    ['extract(day FROM ts)', 'EXTRACT(day FROM ts)'],
    ['TRIM(x)', 'TRIM(x)'],
    ["trim(BOTH 'a' FROM x)", "TRIM(BOTH 'a' FROM x)"],
    ['trim(LEADING FROM x)', 'TRIM(LEADING FROM x)'],
    ["trim('a' FROM x)", "TRIM(BOTH 'a' FROM x)"],
    ['trim(both)', 'trim(both)'],
    ['substring(x FROM 1 FOR 2)', 'substring(x, 1, 2)'],
    ['substr(x FROM 2)', 'substr(x, 2)'],
    ['substring(x, 1, 2)', 'substring(x, 1, 2)'],
    ['substring(a IS DISTINCT FROM b, 1)', 'substring(a IS DISTINCT FROM b, 1)'],
    ["position('b' IN x)", "position('b', x)"],
    ['position(a IN (1), b)', 'position(a IN (1), b)'],
    ["overlay(x PLACING 'y' FROM 2 FOR 3)", "overlay(x, 'y', 2, 3)"],
    ["overlay(x, 'y', 2)", "overlay(x, 'y', 2)"],
    ['CASE a WHEN 1 THEN 2 END', 'CASE a WHEN 1 THEN 2 END'],
    ['case when a then b else c end', 'CASE WHEN a THEN b ELSE c END'],
    ['x -> x + 1', 'x -> x + 1'],
    ['f(a, (x, y) -> x + y)', 'f(a, (x, y) -> x + y)'],
    ['f(a => 1, b => x)', 'f(a => 1, b => x)'],
    ['count(*)', 'count(*)'],
    ['count(DISTINCT a, b)', 'count(DISTINCT a, b)'],
    ['count(ALL a)', 'count(a)'],
    ['count(t.*) FILTER (WHERE a > 1)', 'count(t.*) FILTER (WHERE a > 1)'],
    ['first(a IGNORE NULLS)', 'first(a) IGNORE NULLS'],
    ['first(a) IGNORE NULLS', 'first(a) IGNORE NULLS'],
    ['last(a) RESPECT NULLS', 'last(a)'],
    ['listagg(a) WITHIN GROUP (ORDER BY b DESC)', 'listagg(a) WITHIN GROUP (ORDER BY b DESC)'],
    ['sum(a) OVER w', 'sum(a) OVER w'],
    ['sum(a) OVER (w)', 'sum(a) OVER w'],
    [
      'sum(a) over (partition by b order by c nulls last rows between 1 preceding and current row)',
      'sum(a) OVER (PARTITION BY b ORDER BY c NULLS LAST rows between 1 preceding and current row)',
    ],
    ['struct(1 AS a, b c, *)', 'struct(1 AS a, b AS c, *)'],
    ['(1 AS a, 2)', '(1 AS a, 2)'],
    ['(1)', '1'],
    ["a LIKE ANY ('x', 'y')", "a LIKE ANY ('x', 'y')"],
    ["a NOT ILIKE ALL ('x')", "a NOT ILIKE ALL ('x')"],
    ["a LIKE SOME ('x')", "a LIKE ANY ('x')"],
    ["a LIKE 'x' ESCAPE '!'", "a LIKE 'x' ESCAPE '!'"],
    ['EXISTS (SELECT 1)', 'EXISTS (SELECT 1)'],
    ['a IN (SELECT 1)', 'a IN (SELECT 1)'],
    ['a IN ((SELECT 1))', 'a IN ((SELECT 1))'],
    ['((SELECT 1) UNION (SELECT 2))', '((SELECT 1) UNION (SELECT 2))'],
    ['((SELECT 1) + 1)', '(SELECT 1) + 1'],
    ['a COLLATE UTF8_LCASE', 'a COLLATE UTF8_LCASE'],
    ['a::array<map<string,struct<x:int>>>', 'CAST(a AS ARRAY<MAP<STRING, STRUCT<x: INT>>>)'],
    ['TRY_CAST(a AS DECIMAL(10,2))', 'TRY_CAST(a AS DECIMAL(10, 2))'],
  ])('%s', (text, expected) => {
    expect(printExpression(parseExpression(text, 'f'))).toBe(expected);
  });

  test('a minus before a number is not lost in printing', () => {
    const unary = { ...parseExpression('-a', 'f'), operand: parseExpression('1[0]', 'f') };
    const printed = printExpression(unary);
    expect(withoutPlaces(parseExpression(printed, 'f'))).toEqual(withoutPlaces(unary));
  });

  test.each([
    ['f(a => 1, b)', 'a positional argument stands behind a named one'],
    ['f(SELECT 1)', "found '('"],
    [':p', 'a parameter marker'],
    ['?', 'a parameter marker'],
    ['(1 AS a)', 'found an alias inside parentheses'],
    ['a ->', 'expected an expression'],
    ['', 'found the end of the statement, expected an expression'],
    ['a b', "found 'b', expected the end of the statement"],
    ['CASE END', 'expected WHEN'],
    ['a LIKE', 'expected ANY, SOME, ALL or an expression'],
    ['array(1,', "expected '*' or an expression"],
  ])('%s is refused: %s', (text, message) => {
    expect(() => parsed(text)).toThrow(message);
  });
});

describe('types', () => {
  test.each([
    ['int', 'INT'],
    ['Decimal(10, 2)', 'DECIMAL(10, 2)'],
    ['array<array<int>>', 'ARRAY<ARRAY<INT>>'],
    ['map<string,array<struct<a:int,b string>>>', 'MAP<STRING, ARRAY<STRUCT<a: INT, b: STRING>>>'],
    ['struct<>', 'STRUCT<>'],
    ["struct<`a b`: int NOT NULL COMMENT 'x'>", "STRUCT<`a b`: INT NOT NULL COMMENT 'x'>"],
    ['interval', 'INTERVAL'],
    ['interval day to second', 'INTERVAL DAY TO SECOND'],
    ['interval year', 'INTERVAL YEAR'],
    ['timestamp without time zone', 'TIMESTAMP_NTZ'],
    ['timestamp with local time zone', 'TIMESTAMP'],
    ['time(6) without time zone', 'TIME(6)'],
    ['string collate UTF8_BINARY', 'STRING'],
    ['varchar(10)', 'VARCHAR(10)'],
  ])('%s', (text, expected) => {
    expect(printType(parseType(text))).toBe(expected);
  });

  test.each([
    ['array', 'the type array is incomplete'],
    ['array<int', "expected '>'"],
    ['map<int>', "expected ','"],
    ['string collate UNICODE', 'collation UNICODE is not supported'],
    ['decimal(1.5)', 'expected a whole number'],
    ['', 'expected a data type'],
  ])('%s is refused: %s', (text, message) => {
    expect(() => parseType(text)).toThrow(message);
  });
});

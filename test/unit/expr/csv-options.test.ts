import { describe, expect, test } from 'vitest';
import { ExpressionError } from '../../../src/expr/expression-error.ts';
import { evaluate } from './evaluate.ts';

/** Every answer is one of Spark 4.3.0. */
describe('from_csv', () => {
  test.each([
    ["from_csv('1,\"abc', 'a INT, b STRING')", [1, 'abc']],
    ["from_csv('1,', 'a INT, b STRING', map('nullValue', '-'))", [1, null]],
    ["from_csv('\"\"', 'a STRING', map('emptyValue', 'E', 'nullValue', 'x'))", ['E']],
    ["from_csv('', 'a INT, _corrupt_record STRING')", [null, null]],
    [
      "from_csv(' 1 , \"a b\" ', 'a STRING, b STRING', map('ignoreLeadingWhiteSpace', 'true'))",
      ['1 ', 'a b'],
    ],
    ["from_csv('x,abc', 'a INT, b STRING', map('mode', 'foo'))", [null, 'abc']],
  ])('%s', (sql, expected) => {
    expect(evaluate(sql)).toEqual(expected);
  });

  test.each([
    ["from_csv('1,abc', 'a INT, b STRING', map('maxCharsPerColumn', '2'))", 'MALFORMED_CSV_RECORD'],
    [
      "from_csv('1', 'a INT, b DATE', map('columnNameOfCorruptRecord', 'b'))",
      'INVALID_CORRUPT_RECORD_TYPE',
    ],
    ["from_csv('1', 'a INT', map('mode', 'DROPMALFORMED'))", 'PARSE_MODE_UNSUPPORTED'],
  ])('%s is refused with %s', (sql, code) => {
    let told: unknown;
    try {
      evaluate(sql);
    } catch (error) {
      told = error instanceof ExpressionError ? error.errorClass : String(error);
    }
    expect(told).toContain(code);
  });
});

describe('to_csv', () => {
  test.each([
    ["to_csv(struct(1, 'a,b'), map('quote', ''))", '1,\0a,b\0'],
    ["to_csv(struct(true, ''), map('quote', '|'))", 'true,""'],
    ["to_csv(struct('x', CAST(NULL AS INT)), map('quoteAll', 'true'))", '"x",""'],
    ["to_csv(struct('a\\\\b'), map('quoteAll', 'true'))", '"a\\\\b"'],
  ])('%s', (sql, expected) => {
    expect(evaluate(sql)).toBe(expected);
  });
});

describe('schema_of_csv', () => {
  test.each([
    ["schema_of_csv('1,-', map('header', 'true'))", 'STRUCT<_c0: INT, _c1: STRING>'],
    ["schema_of_csv('10:00,x', map('positiveInf', 'x'))", 'STRUCT<_c0: TIME(6), _c1: DOUBLE>'],
  ])('%s', (sql, expected) => {
    expect(evaluate(sql)).toBe(expected);
  });
});

describe('format_string', () => {
  test.each([
    ["format_string('%s %<s', 1.5D)", '1.5 1.5'],
    ["format_string('%08.3f|%+.1f', double('NaN'), double('NaN'))", '     NaN|NaN'],
    ["format_string('%08d', CAST(NULL AS INT))", '    null'],
    ["format_string('%c', DATE'2020-01-01')", '\u4756'],
    [
      "format_string('%1$tF %1$tT.%1$tL %1$tN %1$tQ %1$ts', 1700000000123L)",
      '2023-11-14 22:13:20.123 123000000 1700000000123 1700000000',
    ],
    [
      "format_string('%tc|%<Tr|%<tD', 1700000000123L)",
      'Tue Nov 14 22:13:20 UTC 2023|10:13:20 PM|11/14/23',
    ],
    ["format_string('%tA %<tB %<te %<tk %<tl %<tp', -99999999999L)", 'Monday October 31 14 2 pm'],
    ["format_string('%tF %<tj', -12219292800001L)", '1582-10-04 277'],
    [
      "format_string('%tF %<ta %<tC|%<ty', -9223372036854775808L)",
      '292269055-12-02 Sun 2922690|55',
    ],
    ["format_string('%tF %<tj', 951782400000L)", '2000-02-29 060'],
    ["format_string('%tF %<tj', -2203977600000L)", '1900-02-28 059'],
    ["format_string('%5tY|%<-8tB|%<TZ', 5L)", ' 1970|January |UTC'],
  ])('%s', (sql, expected) => {
    expect(evaluate(sql)).toBe(expected);
  });
});

describe('what a change of the clock does', () => {
  test.each([
    [
      "months_between(TIMESTAMP'2024-04-07 01:45:00 Asia/Kolkata', TIMESTAMP'2024-03-31 03:00:00 America/Sao_Paulo')",
      0.2140457,
    ],
    ["unix_timestamp(TIMESTAMP_NTZ'2024-12-31 23:30:00')", 1735687800n],
    ["date_format(TIMESTAMP'2011-12-30 12:00:00', 'z')", 'CET'],
    ["date_format(TIMESTAMP'2024-07-30 12:00:00', 'z')", 'CEST'],
  ])('%s', (sql, expected) => {
    expect(evaluate(sql, { timeZone: 'Europe/Berlin' })).toEqual(expected);
  });
});

describe('paths and clusters', () => {
  test.each([
    ["regexp_extract_all('e\\u0301a', '\\\\X', 0)", ['e\u0301', 'a']],
    ["'ab' RLIKE '^\\\\X\\\\X$'", true],
    ["'e\\u0301' RLIKE '^\\\\X\\\\X$'", false],
    ['to_json(parse_json(\'{"a":{"b":1},"a.b":5}\'):`a.b`)', '1'],
    ['to_json(parse_json(\'{"x y":3}\'):`x y`)', '3'],
  ])('%s', (sql, expected) => {
    expect(evaluate(sql)).toEqual(expected);
  });
});

test.each(["'%tY', 5", "'%tY', DATE'2024-01-01'", "'%tE', 5L", "'%-tY', 5L", "'%.2tY', 5L"])(
  'format_string(%s) is refused',
  (text) => {
    expect(() => evaluate(`format_string(${text})`)).toThrow('the format is wrong');
  },
);

describe('from_json with singleVariantColumn', () => {
  test.each([
    ['{"a":1}', '{"v":{"a":1}}'],
    ['[1,{"b":2}]', '{"v":[1,{"b":2}]}'],
    ['null', '{"v":null}'],
    ['{"a":1', '{}'],
  ])('reads %s whole', (json, expected) => {
    const options = "map('singleVariantColumn', 'v')";
    expect(evaluate(`to_json(from_json('${json}', 'v VARIANT', ${options}))`)).toBe(expected);
  });
});

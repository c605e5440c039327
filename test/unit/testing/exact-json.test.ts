import { expect, test } from 'vitest';
import { parseCanonical } from '../../../src/data/canonical.ts';
import { parseTypeText } from '../../../src/data/type-text.ts';
import { parseExactJson, withExactNumbers } from '../../../src/testing/pipeline/exact-json.ts';

const digits = '12345678901234567890123456789012345678';

test.each([
  ['BIGINT', '9223372036854775807', 9223372036854775807n],
  ['BIGINT', '-9223372036854775808', -9223372036854775808n],
  ['BIGINT', '"9007199254740993"', 9007199254740993n],
  ['BIGINT', '7', 7n],
  ['DECIMAL(38,0)', digits, BigInt(digits)],
  ['DECIMAL(38,2)', '123456789012345678901234567890123456.78', BigInt(digits)],
  ['DECIMAL(10,2)', '1.50', 150n],
  ['DECIMAL(10,2)', '1.5', 150n],
  ['DECIMAL(10,2)', '"1.50"', 150n],
  ['DOUBLE', '1.50', 1.5],
  ['DOUBLE', '1e3', 1000],
  ['INT', '5', 5],
  ['STRING', '"9223372036854775807 and 1.50"', '9223372036854775807 and 1.50'],
  ['ARRAY<BIGINT>', '[9007199254740993, 1]', [9007199254740993n, 1n]],
  ['STRUCT<a: BIGINT, b: STRING>', '{"a": 9007199254740993, "b": "x"}', [9007199254740993n, 'x']],
  ['MAP<STRING, BIGINT>', '[["k", 9007199254740993]]', { entries: [['k', 9007199254740993n]] }],
])('an expected value of type %s written as %s keeps every digit', (type, text, value) => {
  const found = parseTypeText(type);
  expect(parseCanonical(found, withExactNumbers(found, parseExactJson(text)))).toEqual(value);
});

test('a text that is no JSON is refused as JSON.parse does', () => {
  expect(() => parseExactJson('{"a": 01}')).toThrow(SyntaxError);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  canonicalJson,
  canonicalText,
  canonicalValue,
  parseCanonical,
  parseCanonicalText,
} from '../../../src/data/canonical.ts';
import { canonicalEqual, canonicalKey, rowDifference } from '../../../src/data/row-difference.ts';
import { parseColumnsText, parseTypeText } from '../../../src/data/type-text.ts';
import type { Value } from '../../../src/data/value.ts';
import { anyTypes, valuesOf } from './arbitraries.ts';

test.each([
  ['bigint', 9007199254740991n, 9007199254740991],
  ['bigint', 9007199254740992n, '9007199254740992'],
  ['float', Math.fround(0.1), 0.1],
  ['double', -0, -0],
  ['double', Number.NaN, 'NaN'],
  ['decimal(10,2)', 5n, '0.05'],
  ['binary', Buffer.from('abc'), 'YWJj'],
  ['date', 2_932_897, '+10000-01-01'],
  ['time(6)', 45_296_123_456_000n, '12:34:56.123456000'],
  ['interval year to month', -13, "INTERVAL '-1-1' YEAR TO MONTH"],
  ['interval month', 12, "INTERVAL '12' MONTH"],
  ['interval year', 24, "INTERVAL '2' YEAR"],
  ['interval day', -86_400_000_000n, "INTERVAL '-1' DAY"],
  ['interval day to hour', 93_600_000_000n, "INTERVAL '1 02' DAY TO HOUR"],
  ['interval day to minute', -81_000_000_000n, "INTERVAL '-0 22:30' DAY TO MINUTE"],
  ['interval day to second', 93_784_500_000n, "INTERVAL '1 02:03:04.5' DAY TO SECOND"],
  ['interval hour', 90_000_000_000n, "INTERVAL '25' HOUR"],
  ['interval hour to minute', 7_380_000_000n, "INTERVAL '02:03' HOUR TO MINUTE"],
  ['interval minute', 5_400_000_000n, "INTERVAL '90' MINUTE"],
  ['interval second', 1_500_000n, "INTERVAL '01.5' SECOND"],
  [
    'interval',
    { months: 14, days: -3, micros: 3_661_500_000n },
    '1 years 2 months -3 days 1 hours 1 minutes 1.5 seconds',
  ],
  ['interval', { months: 0, days: 0, micros: 0n }, '0 seconds'],
  ['map<string,int>', { entries: [['a', 1]] }, [['a', 1]]],
  ['struct<a:int,b:struct<c:bigint>>', [1, [2n]], { a: 1, b: { c: 2 } }],
  [
    'struct<a:int,a:int>',
    [1, 2],
    {
      $struct: [
        ['a', 1],
        ['a', 2],
      ],
    },
  ],
  [
    'variant',
    { variant: new Map([['a', [1n, 'x', null, true, 1.5]]]) },
    '{"a":[1,"x",null,true,1.5]}',
  ],
] as [string, Value, unknown][])('%s, case %#', (type, value, expected) => {
  const parsed = parseTypeText(type);
  expect(canonicalValue(parsed, value)).toEqual(expected);
  if (type !== 'variant') expect(parseCanonical(parsed, expected)).toEqual(value);
});

test('what is printed is read back, as JSON and as text', () => {
  const typed = anyTypes.chain((type) => fc.tuple(fc.constant(type), valuesOf(type, false)));
  fc.assert(
    fc.property(typed, ([type, value]) => {
      if (value === null) return;
      const json = canonicalJson(canonicalValue(type, value));
      const back = parseCanonical(type, JSON.parse(json));
      expect(canonicalKey(type, back as Value)).toBe(canonicalKey(type, value));
      const again = parseCanonicalText(type, canonicalText(type, value));
      expect(canonicalKey(type, again as Value)).toBe(canonicalKey(type, value));
    }),
    { numRuns: 1000 },
  );
});

test('a value of another type is refused', () => {
  const cases: [string, unknown][] = [
    ['int', '1'],
    ['int', 1.5],
    ['bigint', 1e300],
    ['bigint', 'x'],
    ['boolean', 0],
    ['double', 'x'],
    ['string', 1],
    ['decimal(10,2)', '1.234'],
    ['date', '2024-02-30'],
    ['interval day', "INTERVAL '1' HOUR"],
    ['array<int>', {}],
    ['array<int>', ['x']],
    ['map<int,int>', [[1]]],
    ['struct<a:int>', []],
    ['void', 1],
  ];
  for (const [type, json] of cases)
    expect(parseCanonical(parseTypeText(type), json)).toBeUndefined();
});

test('maps have no order, but both zeros differ', () => {
  const type = parseTypeText('struct<m:map<string,array<int>>>');
  const left: Value = [
    {
      entries: [
        ['a', [1]],
        ['b', null],
      ],
    },
  ];
  const right: Value = [
    {
      entries: [
        ['b', null],
        ['a', [1]],
      ],
    },
  ];
  expect(canonicalEqual(type, left, right)).toBe(true);
  expect(canonicalEqual({ kind: 'double' }, 0, -0)).toBe(false);
  expect(canonicalEqual({ kind: 'double' }, Number.NaN, Number.NaN)).toBe(true);
});

test('rows are compared as multisets', () => {
  const columns = parseColumnsText('k INT, v DOUBLE');
  const actual = [
    [1, 1],
    [1, 1],
    [2, -0],
  ];
  const expected = [
    [2, 0],
    [1, 1],
  ];
  expect(rowDifference(columns, actual, expected)).toEqual({
    missing: [[2, 0]],
    surplus: [
      [1, 1],
      [2, -0],
    ],
  });
  expect(rowDifference(columns, actual, [...actual].reverse())).toEqual({
    missing: [],
    surplus: [],
  });
});

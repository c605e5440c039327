import fc from 'fast-check';
import { expect, test } from 'vitest';
import { comparator, compareText, isOrderable } from '../../../src/data/compare.ts';
import { parseTypeText } from '../../../src/data/type-text.ts';
import type { Value } from '../../../src/data/value.ts';
import { orderableTypes, valuesOf } from './arbitraries.ts';

function sorted(type: string, values: readonly Value[]): readonly Value[] {
  return [...values].sort(comparator(parseTypeText(type)));
}

test('NULL comes first, NaN last, and both zeros are one', () => {
  const values = [Number.NaN, 1, null, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  expect(sorted('double', values)).toEqual([
    null,
    Number.NEGATIVE_INFINITY,
    1,
    Number.POSITIVE_INFINITY,
    Number.NaN,
  ]);
  const compare = comparator({ kind: 'double' });
  expect(compare(-0, 0)).toBe(0);
  expect(compare(Number.NaN, Number.NaN)).toBe(0);
  expect(sorted('boolean', [true, null, false])).toEqual([null, false, true]);
});

test('P013 whole 64 bits and more are compared exactly', () => {
  expect(sorted('bigint', [9007199254740993n, 9007199254740992n])).toEqual([
    9007199254740992n,
    9007199254740993n,
  ]);
  const sequence = comparator({ kind: 'decimal', precision: 20, scale: 0 });
  expect(sequence(18446744073709551615n, 9n)).toBeGreaterThan(0);
});

test('text is ordered by its UTF-8 bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (left, right) => {
      const expected = Buffer.compare(Buffer.from(left), Buffer.from(right));
      expect(Math.sign(compareText(left, right))).toBe(expected);
    }),
  );
  expect(compareText('\uffff', '\u{1f600}')).toBeLessThan(0);
  expect(compareText('a', 'ab')).toBeLessThan(0);
});

test('binary is unsigned; arrays and structs go part by part', () => {
  expect(sorted('binary', [Buffer.from([200]), Buffer.from([100, 0]), Buffer.from([100])])).toEqual(
    [Buffer.from([100]), Buffer.from([100, 0]), Buffer.from([200])],
  );
  expect(sorted('array<int>', [[1, 2], [1], [null, 9], []])).toEqual([[], [null, 9], [1], [1, 2]]);
  expect(
    sorted('struct<a:int,b:string>', [
      [1, 'b'],
      [1, null],
      [0, 'z'],
    ]),
  ).toEqual([
    [0, 'z'],
    [1, null],
    [1, 'b'],
  ]);
});

test('every order is total: antisymmetric, transitive, reflexive', () => {
  const cases = orderableTypes.chain((type) =>
    fc.tuple(fc.constant(type), valuesOf(type), valuesOf(type), valuesOf(type)),
  );
  fc.assert(
    fc.property(cases, ([type, a, b, c]) => {
      const compare = comparator(type);
      expect(compare(a, a)).toBe(0);
      expect(Math.sign(compare(a, b))).toBe(-Math.sign(compare(b, a)) + 0);
      if (compare(a, b) <= 0 && compare(b, c) <= 0) {
        expect(compare(a, c)).toBeLessThanOrEqual(0);
      }
    }),
  );
});

test('RQ maps, variants and calendar intervals have no order', () => {
  const types = [
    'map<string,int>',
    'variant',
    'interval',
    'array<map<int,int>>',
    'struct<a:variant>',
  ];
  for (const text of types) {
    const type = parseTypeText(text);
    expect(isOrderable(type)).toBe(false);
    expect(() => comparator(type)).toThrow(expect.objectContaining({ code: 'PIPELINE_INVALID' }));
  }
  expect(isOrderable(parseTypeText('struct<a:array<decimal(38,10)>,b:binary>'))).toBe(true);
});

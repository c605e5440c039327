import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDouble, formatFloat, shortestDoubleOfFloat } from '../../../src/data/double-text.ts';

test.each([
  [1, '1.0'],
  [-0, '-0.0'],
  [0, '0.0'],
  [0.1, '0.1'],
  [0.001, '0.001'],
  [0.0001, '1.0E-4'],
  [1234567, '1234567.0'],
  [1e7, '1.0E7'],
  [-12345678.9, '-1.23456789E7'],
  [123456.789, '123456.789'],
  [9.223372036854776e18, '9.223372036854776E18'],
  [5e-324, '4.9E-324'],
  [1.7976931348623157e308, '1.7976931348623157E308'],
  [1 / 3, '0.3333333333333333'],
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
  [Number.NEGATIVE_INFINITY, '-Infinity'],
])('the double %d prints as %s', (value, expected) => {
  expect(formatDouble(value)).toBe(expected);
});

test.each([
  [0.1, '0.1'],
  [1.5, '1.5'],
  [16777216, '1.6777216E7'],
  [3.4028234663852886e38, '3.4028235E38'],
  [1.401298464324817e-45, '1.4E-45'],
  [1 / 3, '0.33333334'],
])('the float %d prints as %s', (value, expected) => {
  expect(formatFloat(Math.fround(value))).toBe(expected);
});

test('every text reads back as its number', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true }), (value) => {
      expect(Number(formatDouble(value))).toBe(value);
    }),
  );
  fc.assert(
    fc.property(fc.float({ noNaN: true }), (value) => {
      expect(Math.fround(Number(formatFloat(value)))).toBe(value);
      expect(Math.fround(shortestDoubleOfFloat(value))).toBe(value);
    }),
  );
});

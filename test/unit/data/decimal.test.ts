import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  fitsPrecision,
  formatDecimal,
  parseDecimal,
  rescale,
  rescaleExact,
  toDecimalType,
} from '../../../src/data/decimal.ts';

test.each([
  ['0', 0n, 0],
  ['-12.50', -1250n, 2],
  ['+.5', 5n, 1],
  ['5.', 5n, 0],
  ['1e3', 1n, -3],
  ['1.25E-2', 125n, 4],
  ['12345678901234567890.123456789', 12345678901234567890123456789n, 9],
])('%s is read exactly', (text, unscaled, scale) => {
  expect(parseDecimal(text)).toEqual({ unscaled, scale });
});

test.each([
  '',
  '.',
  '-',
  '1e',
  'e5',
  '1.2.3',
  ' 1',
  '0x1A',
  'NaN',
  '1_000',
  '1e10000',
  '1e-99999999999',
])('%j is no decimal', (text) => {
  expect(parseDecimal(text)).toBeUndefined();
});

test('digits are lost half up, away from zero, or not at all', () => {
  expect([1249n, 1250n, -1250n, -1249n].map((value) => rescale(value, 2, 1))).toEqual([
    125n,
    125n,
    -125n,
    -125n,
  ]);
  expect([5n, 4n, -5n].map((value) => rescale(value, 1, 0))).toEqual([1n, 0n, -1n]);
  expect(rescaleExact(1250n, 3, 2)).toBe(125n);
  expect(rescaleExact(1251n, 3, 2)).toBeUndefined();
  expect(rescaleExact(-3n, 0, 4)).toBe(-30_000n);
});

test('P013 a type bounds its digits', () => {
  expect(fitsPrecision(999n, 3)).toBe(true);
  expect(fitsPrecision(-1000n, 3)).toBe(false);
  expect(toDecimalType({ unscaled: 18446744073709551615n, scale: 0 }, 20, 0)).toBe(
    18446744073709551615n,
  );
  expect(toDecimalType({ unscaled: 9995n, scale: 3 }, 3, 2)).toBeUndefined();
  expect(toDecimalType({ unscaled: 1n, scale: -9999 }, 38, 0)).toBeUndefined();
  expect(toDecimalType({ unscaled: 0n, scale: -9999 }, 38, 0)).toBe(0n);
  expect(toDecimalType({ unscaled: 7n, scale: 9999 }, 38, 2)).toBe(0n);
});

test('P015 text and back keeps every digit', () => {
  const limit = 10n ** 38n - 1n;
  fc.assert(
    fc.property(fc.bigInt({ min: -limit, max: limit }), fc.nat(38), (unscaled, scale) => {
      const text = formatDecimal(unscaled, scale);
      expect(parseDecimal(text)).toEqual({ unscaled, scale });
      expect(text).toMatch(scale === 0 ? /^-?\d+$/ : new RegExp(`^-?\\d+\\.\\d{${scale}}$`));
    }),
  );
});

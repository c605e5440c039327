import { describe, expect, test } from 'vitest';
import {
  placesPattern,
  printDecimal,
  readDecimalPattern,
} from '../../../src/expr/decimal-pattern.ts';
import {
  parseByPattern,
  printByPattern,
  readNumberPattern,
} from '../../../src/expr/number-pattern.ts';

function toChar(unscaled: bigint, scale: number, text: string): string {
  const pattern = readNumberPattern(text);
  if (pattern === undefined) throw new Error(`${text} is no pattern`);
  return printByPattern(unscaled, scale, pattern);
}

/** Every answer is one of Spark 4.3.0. */
describe('to_char', () => {
  test.each([
    ['00090.', 0n, 0, '00000 '],
    ['999090.00', 0n, 2, '     0.00'],
    ['MI909090.9', 35360n, 2, '    353.6'],
    ['0DMI', 4n, 0, '4  '],
    ['S990990', 0n, 2, '      +'],
    ['909,900.', 721n, 0, '    721 '],
    ['S09900,9', 0n, 0, '+00000, '],
    ['0G00909.', 0n, 0, '0,00000 '],
    ['$990909PR', 7n, 0, '$     7  '],
    ['90.PR', -2495852n, 0, '<##> '],
    ['$0009Ds', 0n, 0, '$0000+ '],
    ['909900MI', -4n, 0, '     4-'],
  ] as const)('%s of %d (scale %d)', (pattern, unscaled, scale, expected) => {
    expect(toChar(unscaled, scale, pattern)).toBe(expected);
  });
});

describe('to_number', () => {
  test.each([
    ['S9G00999', '+0', undefined],
    ['S9G00999', '+00,012', undefined],
    ['S9G00999', '+00012', 12n],
    ['S9G00999', '-1,00012', -100012n],
    ['0,999', '1,234', 1234n],
    ['0,999', '234', undefined],
  ] as const)('%s reads %s as %s', (text, input, expected) => {
    const pattern = readNumberPattern(text);
    expect(pattern && parseByPattern(input, pattern)).toBe(expected);
  });
});

describe('format_number', () => {
  test.each([
    ['#.00;-#', 0n, 0, '.00'],
    ['0\u2030', 25n, 1, '2500\u2030'],
    ['00E0', 5n, 1, '50E-2'],
    ['#,#0,0', -7n, 0, '-0,7'],
    ['#,##0.-#', 123456789012345678n, 0, '123,456,789,012,345,678-'],
    ["'x'#", -5n, 0, '-x5'],
    ['#;(#)', -5n, 0, '(5)'],
    ['#,####', 123456789012345678n, 0, '12,3456,7890,1234,5678'],
    ['0.###E0', 12345n, 0, '1.234E4'],
  ] as const)('%s of %d (scale %d)', (text, unscaled, scale, expected) => {
    const pattern = readDecimalPattern(text);
    expect(pattern && printDecimal({ unscaled, scale }, pattern)).toBe(expected);
  });

  test.each(['0.0.0', '0#', '#,', "'x", '%0%', '0E', ';0'])('%s is no pattern', (text) => {
    expect(readDecimalPattern(text)).toBeUndefined();
  });

  test('a number of places groups by three', () => {
    expect(printDecimal({ unscaled: 12345678n, scale: 1 }, placesPattern(2))).toBe('1,234,567.80');
  });
});

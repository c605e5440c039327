import fc from 'fast-check';
import { expect, test } from 'vitest';
import { powerOfTen } from '../../../src/data/decimal.ts';
import { compile, newFrame } from '../../../src/expr/compile.ts';
import { decimalResult } from '../../../src/expr/operators/arithmetic.ts';
import { decimal } from '../../../src/expr/types.ts';
import { bind } from './evaluate.ts';

function run(sql: string, type: string, row: readonly (number | bigint)[]): unknown {
  const columns = [
    { name: 'a', type: { kind: type } },
    { name: 'b', type: { kind: type } },
  ] as Parameters<typeof bind>[1] extends infer S
    ? S extends { columns?: infer C }
      ? C
      : never
    : never;
  try {
    return compile(bind(sql, { columns }), { timeZone: 'UTC' })(row, newFrame());
  } catch (error) {
    return (error as { errorClass?: string }).errorClass;
  }
}

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

function wanted(value: bigint, bits: number): bigint | string {
  return BigInt.asIntN(bits, value) === value ? value : 'ARITHMETIC_OVERFLOW';
}

test('int arithmetic is exact or an overflow', () => {
  fc.assert(
    fc.property(int32, int32, (a, b) => {
      const [x, y] = [BigInt(a), BigInt(b)];
      const as = (value: unknown): unknown => (typeof value === 'number' ? BigInt(value) : value);
      expect(as(run('a + b', 'int', [a, b]))).toBe(wanted(x + y, 32));
      expect(as(run('a - b', 'int', [a, b]))).toBe(wanted(x - y, 32));
      expect(as(run('a * b', 'int', [a, b]))).toBe(wanted(x * y, 32));
      expect(as(run('a % b', 'int', [a, b]))).toBe(y === 0n ? 'REMAINDER_BY_ZERO' : x % y);
    }),
  );
});

test('bigint arithmetic is exact over all 64 bits or an overflow', () => {
  fc.assert(
    fc.property(int64, int64, (a, b) => {
      expect(run('a + b', 'bigint', [a, b])).toBe(wanted(a + b, 64));
      expect(run('a * b', 'bigint', [a, b])).toBe(wanted(a * b, 64));
      expect(run('a div b', 'bigint', [a, b])).toBe(
        b === 0n ? 'DIVIDE_BY_ZERO' : wanted(a / b, 64),
      );
      expect(run('try_add(a, b)', 'bigint', [a, b])).toBe(
        typeof wanted(a + b, 64) === 'string' ? null : a + b,
      );
    }),
  );
});

const decimalType = fc
  .integer({ min: 1, max: 38 })
  .chain((p) => fc.integer({ min: 0, max: p }).map((s) => decimal(p, s)));

test('the result of decimal arithmetic has at most 38 digits and a scale inside of them', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('+', '-', '*', '/', '%') as fc.Arbitrary<'+'>,
      decimalType,
      decimalType,
      (op, a, b) => {
        const result = decimalResult(op, a, b);
        expect(result.precision).toBeGreaterThan(0);
        expect(result.precision).toBeLessThanOrEqual(38);
        expect(result.scale).toBeGreaterThanOrEqual(0);
        expect(result.scale).toBeLessThanOrEqual(result.precision);
      },
    ),
  );
});

test('decimal addition is exact where no digit has to go', () => {
  const small = fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n });
  const columns = [
    { name: 'a', type: decimal(18, 4) },
    { name: 'b', type: decimal(18, 9) },
  ];
  const sum = compile(bind('a + b', { columns }), { timeZone: 'UTC' });
  fc.assert(
    fc.property(small, small, (a, b) => {
      expect(sum([a, b], newFrame())).toBe(a * powerOfTen(5) + b);
    }),
  );
});

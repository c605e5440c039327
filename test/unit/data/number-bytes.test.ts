import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteWriter } from '../../../src/data/byte-writer.ts';
import { formatDecimal } from '../../../src/data/decimal.ts';
import { writeBigint, writeDecimal } from '../../../src/data/number-bytes.ts';

function written(write: (out: ByteWriter) => void): string {
  const out = new ByteWriter(8);
  write(out);
  return out.copy().toString('latin1');
}

const edges = [2n ** 53n, 2n ** 63n - 1n, 10n ** 15n, 10n ** 18n, 0n];

test('RU-23 a BIGINT keeps every digit, around 2^53 above all', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...edges),
      fc.bigInt({ min: -20n, max: 20n }),
      fc.boolean(),
      (edge, offset, negative) => {
        const value = BigInt.asIntN(64, negative ? -(edge + offset) : edge + offset);
        expect(written((out) => writeBigint(out, value))).toBe(value.toString());
      },
    ),
    { numRuns: 2000 },
  );
});

test('P015 a DECIMAL keeps every digit at any scale', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }),
      fc.constantFrom(...edges),
      fc.nat(38),
      fc.boolean(),
      (random, edge, scale, nearEdge) => {
        const unscaled = nearEdge ? edge + (random % 20n) : random;
        expect(written((out) => writeDecimal(out, unscaled, scale))).toBe(
          formatDecimal(unscaled, scale),
        );
      },
    ),
    { numRuns: 2000 },
  );
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { viewOf } from '../../../src/data/byte-copy.ts';
import { ByteWriter } from '../../../src/data/byte-writer.ts';
import {
  type Int64,
  readInt64Digits,
  readInt64Words,
  writeInt64Digits,
} from '../../../src/data/int64.ts';
import { sequenceCodec, writeInt64Sequence } from '../../../src/data/sequence.ts';

const halves: Int64 = { high: 0, low: 0 };

function read(text: string): bigint | undefined {
  const bytes = Buffer.from(`x${text}y`, 'latin1');
  const byWords: Int64 = { high: 0, low: 0 };
  const fits = readInt64Words(bytes, viewOf(bytes), 1, bytes.length - 1, byWords);
  expect(readInt64Digits(bytes, 1, bytes.length - 1, halves)).toBe(fits);
  if (!fits) return undefined;
  expect(byWords).toEqual(halves);
  return BigInt.asIntN(64, (BigInt(halves.high) << 32n) | BigInt(halves.low));
}

const edges = [0n, 2n ** 32n, 2n ** 53n, 10n ** 9n, 10n ** 18n, 2n ** 63n - 1n, -(2n ** 63n)];
const anyInt64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc
    .tuple(fc.constantFrom(...edges), fc.bigInt({ min: -40n, max: 40n }))
    .map(([edge, offset]) => BigInt.asIntN(64, edge + offset)),
);

test('RU-23 digits and halves are the same number, and so are the bytes of a sequence', () => {
  const { encode, writeText } = sequenceCodec({ kind: 'bigint' });
  fc.assert(
    fc.property(anyInt64, (value) => {
      expect(read(value.toString())).toBe(value);
      const digits = new ByteWriter(4);
      writeInt64Digits(digits, halves.high, halves.low);
      expect(digits.copy().toString('latin1')).toBe(value.toString());
      const [expected, actual, text] = [new ByteWriter(8), new ByteWriter(8), new ByteWriter(8)];
      encode(value, expected);
      writeInt64Sequence(actual, halves.high, halves.low);
      expect(actual.copy()).toEqual(expected.copy());
      writeText(text, actual.copy(), 0, 8);
      expect(text.copy().toString('latin1')).toBe(value.toString());
    }),
    { numRuns: 3000 },
  );
});

test.each([
  '9223372036854775808',
  '-9223372036854775809',
  '9999999999999999999',
  '10000000000000000000',
])('RU-23 %s is beyond 64 bits', (text) => {
  expect(read(text)).toBeUndefined();
});

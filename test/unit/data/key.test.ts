import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteWriter } from '../../../src/data/byte-writer.ts';
import { comparator } from '../../../src/data/compare.ts';
import { keyEncoder } from '../../../src/data/key.ts';
import { parseColumnsText } from '../../../src/data/type-text.ts';
import type { Value } from '../../../src/data/value.ts';
import { orderableTypes, valuesOf } from './arbitraries.ts';

function key(ddl: string, ...values: Value[]): string {
  const out = new ByteWriter(8);
  keyEncoder(parseColumnsText(ddl)).encode(values, out);
  return out.copy().toString('utf8');
}

test('the key is the compact object of its columns in declared order', () => {
  expect(key('payment_id BIGINT', 42n)).toBe('{"payment_id":42}');
  expect(key('b STRING, a DECIMAL(20,2)', 'x"', 100n)).toBe('{"b":"x\\"","a":1.00}');
  expect(key('t TIMESTAMP', 0n)).toBe('{"t":"1970-01-01T00:00:00.000000Z"}');
});

test("P011 NULL, '' and 'NULL' are three keys", () => {
  const keys = [null, '', 'NULL', 'null'].map((value) => key('k STRING', value));
  expect(keys).toEqual(['{"k":null}', '{"k":""}', '{"k":"NULL"}', '{"k":"null"}']);
});

test('P017 both zeros are one key, and so is every NaN, also inside a struct', () => {
  expect(key('k DOUBLE', -0)).toBe(key('k DOUBLE', 0));
  expect(key('k FLOAT', -0)).toBe('{"k":0}');
  expect(key('k DOUBLE', Number.NaN)).toBe('{"k":"NaN"}');
  expect(key('k STRUCT<a: ARRAY<DOUBLE>>', [[-0]])).toBe('{"k":{"a":[0]}}');
});

test('P027 a struct key stands in the order of its type', () => {
  expect(key('addr STRUCT<a:INT,b:INT>', [1, 2])).toBe('{"addr":{"a":1,"b":2}}');
});

const pairs = fc
  .array(orderableTypes, { minLength: 1, maxLength: 3 })
  .chain((types) =>
    fc.tuple(
      fc.constant(types),
      fc.tuple(...types.map((type) => valuesOf(type))),
      fc.tuple(...types.map((type) => valuesOf(type))),
    ),
  );

test('keys are equal exactly when all their values compare as equal', () => {
  fc.assert(
    fc.property(pairs, ([types, left, right]) => {
      const columns = types.map((type, index) => ({ name: `k${index}`, type }));
      const encode = (values: readonly Value[]): string => {
        const out = new ByteWriter(8);
        keyEncoder(columns).encode(values, out);
        return out.copy().toString('latin1');
      };
      const isEqual = types.every(
        (type, index) => comparator(type)(left[index] as Value, right[index] as Value) === 0,
      );
      expect(encode(left) === encode(right)).toBe(isEqual);
      expect(encode(left)).toBe(encode([...left]));
    }),
    { numRuns: 1000 },
  );
});

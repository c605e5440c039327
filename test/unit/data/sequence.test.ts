import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteWriter } from '../../../src/data/byte-writer.ts';
import { comparator } from '../../../src/data/compare.ts';
import { sequenceCodec } from '../../../src/data/sequence.ts';
import { parseTypeText } from '../../../src/data/type-text.ts';
import type { DataType } from '../../../src/data/types.ts';
import type { Value } from '../../../src/data/value.ts';
import { orderableTypes, valuesOf } from './arbitraries.ts';

function encode(type: DataType, value: Value): Buffer {
  const out = new ByteWriter(8);
  sequenceCodec(type).encode(value, out);
  return out.copy();
}

function text(type: string, value: Value): string {
  const parsed = parseTypeText(type);
  const bytes = encode(parsed, value);
  return sequenceCodec(parsed).text(bytes, 0, bytes.length);
}

test.each([
  ['bigint', 9007199254740993n, '9007199254740993'],
  ['int', -5, '-5'],
  ['boolean', true, 'true'],
  ['decimal(10,2)', 1250n, '12.50'],
  ['decimal(38,10)', -1n, '-0.0000000001'],
  ['double', -0, '0'],
  ['double', 1e21, '1e+21'],
  ['double', Number.NaN, 'NaN'],
  ['double', Number.NEGATIVE_INFINITY, '-Infinity'],
  ['float', Math.fround(0.1), '0.1'],
  ['string', 'v1', 'v1'],
  ['string', '', ''],
  ['binary', Buffer.from([0, 255]), 'AP8='],
  ['date', 19_782, '2024-02-29'],
  ['timestamp', 1_710_036_000_000_007n, '2024-03-10T02:00:00.000007Z'],
  ['timestamp_ntz', 1_710_036_000_000_007n, '2024-03-10T02:00:00.000007'],
  ['struct<a:bigint,b:string>', [9007199254740993n, null], '{"a":"9007199254740993","b":null}'],
  ['array<int>', [1, null, 3], '[1,null,3]'],
] as [string, Value, string][])('the text of %s, case %#', (type, value, expected) => {
  expect(text(type, value)).toBe(expected);
});

test('P013 numbers beyond 2^53 and 2^63 keep their order', () => {
  const type: DataType = { kind: 'decimal', precision: 20, scale: 0 };
  const sorted = [9n, 9223372036854775808n, 10000000000000000000n, 18446744073709551615n];
  const encoded = sorted.map((value) => encode(type, value));
  expect([...encoded].reverse().sort(Buffer.compare)).toEqual(encoded);
});

test('a NULL sequence is never encoded, and text that is no sequence is refused', () => {
  expect(() => encode({ kind: 'bigint' }, null)).toThrow(/NULL sequence/);
  for (const [type, bad] of [
    ['bigint', '1.5'],
    ['bigint', '9223372036854775808'],
    ['date', 'today'],
    ['double', 'one'],
    ['struct<a:int>', '[1]'],
    ['array<int>', '[1'],
    ['boolean', 'yes'],
  ] as const) {
    expect(() => sequenceCodec(parseTypeText(type)).parse(bad)).toThrow(
      expect.objectContaining({ code: 'RECORD_CORRUPT' }),
    );
  }
  expect(() => sequenceCodec({ kind: 'variant' })).toThrow(/no order/);
});

const sequences = orderableTypes
  .filter((type) => type.kind !== 'void')
  .chain((type) => fc.tuple(fc.constant(type), valuesOf(type, false), valuesOf(type, false)));

test('the order of the bytes is the order of the values', () => {
  fc.assert(
    fc.property(sequences, ([type, left, right]) => {
      const order = Buffer.compare(encode(type, left), encode(type, right));
      expect(order).toBe(Math.sign(comparator(type)(left, right)));
    }),
    { numRuns: 3000 },
  );
});

test('bytes, text and bytes again are the same sequence', () => {
  fc.assert(
    fc.property(sequences, ([type, value]) => {
      const codec = sequenceCodec(type);
      const bytes = encode(type, value);
      const padded = Buffer.concat([Buffer.from('ab'), bytes]);
      expect(comparator(type)(codec.decode(padded, 2, padded.length), value)).toBe(0);
      const written = codec.text(padded, 2, padded.length);
      expect(codec.parse(written)).toEqual(bytes);
      const out = new ByteWriter();
      const text = Buffer.from(`,${written},`);
      if (codec.readText(out, text, 1, text.length - 1)) expect(out.copy()).toEqual(bytes);
      else expect(out.length).toBe(0);
    }),
    { numRuns: 1000 },
  );
});

test('the text of a BIGINT becomes a sequence without a string, and no other text does', () => {
  const { readText } = sequenceCodec({ kind: 'bigint' });
  const isRead = (text: string) => readText(new ByteWriter(), Buffer.from(text), 0, text.length);
  for (const text of ['0', '-1', '9223372036854775807', '-9223372036854775808']) {
    expect([text, isRead(text)]).toEqual([text, true]);
  }
  for (const text of ['', '-', '-0', '01', '1.0', '1e3', ' 1', '9223372036854775808']) {
    expect([text, isRead(text)]).toEqual([text, false]);
  }
});

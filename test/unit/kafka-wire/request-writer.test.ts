import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RequestWriter } from '../../../src/adapters/kafka/wire/request-writer.ts';
import { ResponseReader } from '../../../src/adapters/kafka/wire/response-reader.ts';
import { FlowError } from '../../../src/base/errors.ts';

function written(flexible: boolean, write: (writer: RequestWriter) => void): Buffer {
  const writer = new RequestWriter(flexible, 4);
  write(writer);
  return Buffer.concat(writer.finish());
}

const int = (bits: number) =>
  fc.bigInt({ min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n });
const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.constant('ü'.repeat(300)));
const id = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString('base64url'));

const values = fc.record({
  int8: int(8).map(Number),
  int16: int(16).map(Number),
  int32: int(32).map(Number),
  number: fc.maxSafeInteger(),
  int64: int(64),
  flag: fc.boolean(),
  varint: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  id,
  text,
  optionalText: fc.option(text),
  bytes: fc.uint8Array({ maxLength: 300 }),
  optionalBytes: fc.option(fc.uint8Array({ maxLength: 20 })),
  numbers: fc.array(int(32).map(Number), { maxLength: 200 }),
  texts: fc.array(text, { maxLength: 5 }),
  structures: fc.option(fc.array(fc.tuple(text, int(8).map(Number)), { maxLength: 5 })),
});

describe.each([true, false])('flexible: %s', (flexible) => {
  test('what is written is what is read', () => {
    fc.assert(
      fc.property(values, (value) => {
        const bytes = written(flexible, (writer) => {
          writer.int8(value.int8);
          writer.int16(value.int16);
          writer.int32(value.int32);
          writer.int64(value.number);
          writer.int64(value.int64);
          writer.boolean(value.flag);
          writer.unsignedVarint(value.varint);
          writer.uuid(value.id);
          writer.string(value.text);
          writer.nullableString(value.optionalText);
          writer.bytes(value.bytes);
          writer.records(Buffer.from(value.bytes));
          writer.nullableBytes(value.optionalBytes);
          writer.int32Array(value.numbers);
          writer.stringArray(value.texts);
          writer.nullableArray(value.structures, ([name, number]) => {
            writer.string(name);
            writer.int8(number);
            writer.tags();
          });
          writer.tags();
        });
        const reader = new ResponseReader(bytes, flexible);
        expect(reader.int8()).toBe(value.int8);
        expect(reader.int16()).toBe(value.int16);
        expect(reader.int32()).toBe(value.int32);
        expect(reader.int64()).toBe(value.number);
        expect(reader.bigInt64()).toBe(value.int64);
        expect(reader.boolean()).toBe(value.flag);
        expect(reader.unsignedVarint()).toBe(value.varint);
        expect(reader.uuid()).toBe(value.id);
        expect(reader.string()).toBe(value.text);
        expect(reader.nullableString()).toBe(value.optionalText);
        expect(reader.slice()).toEqual(Buffer.from(value.bytes));
        expect(reader.slice()).toEqual(Buffer.from(value.bytes));
        const { optionalBytes } = value;
        expect(reader.nullableSlice()).toEqual(optionalBytes && Buffer.from(optionalBytes));
        expect(reader.int32Array()).toEqual(value.numbers);
        expect(reader.stringArray()).toEqual(value.texts);
        const structures = reader.nullableArray(() => {
          const structure = [reader.string(), reader.int8()];
          reader.tags();
          return structure;
        });
        expect(structures).toEqual(value.structures);
        reader.tags();
        expect(reader.remaining).toBe(0);
      }),
    );
  });

  test('counts and lengths that the bytes cannot hold are refused at once', () => {
    const huge = Buffer.from(flexible ? 'ffffffff0f' : '7fffffff', 'hex');
    const reader = () => new ResponseReader(huge, flexible);
    let calls = 0;
    const read = () => {
      calls += 1;
    };
    expect(() => reader().array(read)).toThrow(FlowError);
    expect(() => reader().slice()).toThrow(FlowError);
    expect(() => reader().string()).toThrow(FlowError);
    expect(calls).toBe(0);
  });
});

describe('bytes by reference', () => {
  test('stand in the result as they are, and nothing around them is lost', () => {
    const batches = [Buffer.alloc(1000, 1), Buffer.alloc(2000, 2), Buffer.alloc(0)];
    const writer = new RequestWriter(true, 8);
    for (const [index, batch] of batches.entries()) {
      writer.string(`before ${index}, longer than the first chunk`);
      writer.records(batch);
    }
    writer.tags();
    const buffers = writer.finish();
    for (const batch of batches) expect(buffers).toContain(batch);
    const reader = new ResponseReader(Buffer.concat(buffers), true);
    for (const [index, batch] of batches.entries()) {
      expect(reader.string()).toBe(`before ${index}, longer than the first chunk`);
      expect(reader.slice()).toEqual(batch);
    }
    reader.tags();
    expect(reader.remaining).toBe(0);
  });
});

describe('reading', () => {
  test('a number of more than five bytes is damage', () => {
    const reader = new ResponseReader(Buffer.alloc(20, 0xff), true);
    expect(() => reader.unsignedVarint()).toThrow(FlowError);
  });

  test('tags: the known one is read, the others are passed over whatever is read of them', () => {
    const bytes = Buffer.from(
      '03' + '00' + '02' + 'aaaa' + '05' + '04' + '00000007' + '06' + '00' + '11',
      'hex',
    );
    const reader = new ResponseReader(bytes, true);
    const seen: number[] = [];
    let value = 0;
    reader.tags((tag) => {
      seen.push(tag);
      if (tag === 5) value = reader.int32();
    });
    expect(seen).toEqual([0, 5, 6]);
    expect(value).toBe(7);
    expect(reader.int8()).toBe(0x11);
  });

  test('a tag that is longer than the bytes is damage', () => {
    const reader = new ResponseReader(Buffer.from('010063', 'hex'), true);
    expect(() => reader.tags()).toThrow(FlowError);
  });

  test('the error says what was wrong', () => {
    const reader = new ResponseReader(Buffer.alloc(3), false);
    expect(() => reader.int32()).toThrow(
      expect.objectContaining({
        code: 'RECORD_CORRUPT',
        message: 'reply of the broker cannot be read',
        detail: 'The reply is cut short or damaged: it needs 4 bytes at 0 but has 3 in all.',
      }),
    );
  });
});

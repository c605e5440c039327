import fc from 'fast-check';
import { expect, test } from 'vitest';
import { copyBytes, viewOf } from '../../../src/data/byte-copy.ts';
import { ByteWriter } from '../../../src/data/byte-writer.ts';

test('a span of any size lands where it has to, and nothing beside it changes', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 200, maxLength: 200 }),
      fc.nat(9),
      fc.nat(150),
      fc.nat(9),
      (bytes, start, size, at) => {
        const source = Buffer.from(bytes);
        const target = Buffer.alloc(200, 0xee);
        copyBytes(viewOf(source), start, start + size, viewOf(target), at);
        const expected = Buffer.alloc(200, 0xee);
        source.copy(expected, at, start, start + size);
        expect(target).toEqual(expected);
        const writer = new ByteWriter(at);
        writer.span(source, viewOf(source), 0, at);
        writer.span(source, viewOf(source), start, start + size);
        expect(writer.copy()).toEqual(
          Buffer.concat([source.subarray(0, at), source.subarray(start, start + size)]),
        );
      },
    ),
  );
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Compression,
  compress,
  compressions,
  decompress,
} from '../../../src/adapters/kafka/wire/compression.ts';
import { zstdDecompressedSizeMax } from '../../../src/adapters/kafka/wire/zstd.ts';

const packers = compressions.filter((name) => name !== 'none');

function stored(text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE((text.length | 0x8000_0000) >>> 0);
  return Buffer.concat([length, Buffer.from(text)]);
}

describe.each<Compression>(packers)('%s', (name) => {
  const text = fc.oneof(
    fc.uint8Array({ maxLength: 2000 }),
    fc
      .tuple(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 30_000 }))
      .map(([unit, length]) => Buffer.alloc(length, Buffer.from(unit))),
    fc
      .array(fc.constantFrom('region', 'item', '"seq":', '17', 'ü', ',{'), { maxLength: 900 })
      .map((words) => Buffer.from(words.join(''))),
  );

  test('round trip within the bound, to the byte', () => {
    fc.assert(
      fc.property(text, (bytes) => {
        const plain = Buffer.from(bytes);
        const packed = Buffer.concat(compress(name, plain));
        expect(decompress(name, packed, 1 << 20)?.equals(plain)).toBe(true);
        // Zstandard's bound goes by whole blocks of 128 KB where node:zlib does not have it.
        const exact = name !== 'zstd' && plain.length > 1;
        if (exact) {
          expect(decompress(name, packed, plain.length)?.equals(plain)).toBe(true);
          expect(decompress(name, packed, plain.length - 1)).toBeUndefined();
        }
      }),
    );
  });
});

describe('lz4 frames of others', () => {
  const end = Buffer.alloc(4);

  test('blocks that refer to those before them', () => {
    // One literal, twelve bytes from ten before it, five literals.
    const block = Buffer.from(`18${Buffer.from('X').toString('hex')}0a00`, 'hex');
    const packed = Buffer.concat([block, Buffer.from([0x50]), Buffer.from('final')]);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(packed.length);
    const frame = Buffer.concat([
      Buffer.from('04224d184040c0', 'hex'),
      stored('abcdefghijklmnop'),
      length,
      packed,
      end,
    ]);
    const plain = 'abcdefghijklmnopXhijklmnopXhifinal';
    expect(decompress('lz4', frame, 100)?.toString()).toBe(plain);
    expect(decompress('lz4', frame, plain.length)?.toString()).toBe(plain);
    expect(decompress('lz4', frame, plain.length - 1)).toBeUndefined();
  });

  test('content size and checksums are passed over', () => {
    const checksum = Buffer.from('deadbeef', 'hex');
    const frame = Buffer.concat([
      Buffer.from('04224d187c40', 'hex'),
      Buffer.from('0600000000000000', 'hex'),
      Buffer.from([0x99]),
      stored('abc'),
      checksum,
      stored('def'),
      checksum,
      end,
      checksum,
    ]);
    expect(decompress('lz4', frame, 6)?.toString()).toBe('abcdef');
  });

  test.each([
    [10, 255],
    [70_000, 1],
    [70_000, 255],
    [0, 1],
    [1, 1],
    [300_000, 2],
    [5_000, 251],
  ])(
    '%i bytes of %i kinds come out whole, whatever came before, and the bound holds',
    (size, kinds) => {
      const bytes = Buffer.from(Uint8Array.from({ length: size }, (_, at) => (at * at) % kinds));
      const frame = Buffer.concat(compress('lz4', bytes));
      expect(decompress('lz4', frame, size)?.equals(bytes)).toBe(true);
      if (size > 0) expect(decompress('lz4', frame, size - 1)).toBeUndefined();
    },
  );

  test('an empty frame', () => {
    const frame = Buffer.concat([Buffer.from('04224d18604082', 'hex'), end]);
    expect(decompress('lz4', frame, 6)).toEqual(Buffer.alloc(0));
  });
});

describe('the bound of zstandard', () => {
  test('is never below what the frames hold', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 400_000 }), { maxLength: 3 }), (sizes) => {
        const frames = sizes.map((size) =>
          Buffer.concat(compress('zstd', Buffer.alloc(size, 'abc'))),
        );
        const total = sizes.reduce((sum, size) => sum + size, 0);
        expect(zstdDecompressedSizeMax(Buffer.concat(frames))).toBeGreaterThanOrEqual(total);
      }),
      { numRuns: 30 },
    );
  });

  test('passes over skippable frames', () => {
    const skippable = Buffer.from('502a4d18' + '03000000' + 'aabbcc', 'hex');
    const frame = Buffer.concat(compress('zstd', Buffer.alloc(1000)));
    const bound = zstdDecompressedSizeMax(frame);
    expect(bound).toBeGreaterThanOrEqual(1000);
    expect(zstdDecompressedSizeMax(Buffer.concat([skippable, frame]))).toBe(bound);
  });

  test('random bytes have a bound, and it is found', () => {
    const magic = Buffer.from('28b52ffd', 'hex');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(zstdDecompressedSizeMax(Buffer.concat([magic, bytes]))).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

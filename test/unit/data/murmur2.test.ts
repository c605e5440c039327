import fc from 'fast-check';
import { expect, test } from 'vitest';
import { viewOf } from '../../../src/data/byte-copy.ts';
import { murmur2, murmur2Of, partitionOf } from '../../../src/data/murmur2.ts';

test.each([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
])('the hash of %s is the one of the Java client', (text, expected) => {
  const bytes = Buffer.from(text);
  expect(murmur2(bytes, 0, bytes.length)).toBe(expected);
});

test('a span hashes like its copy, and the partition is in range', () => {
  fc.assert(
    fc.property(
      fc.uint8Array(),
      fc.nat(5),
      fc.integer({ min: 1, max: 100 }),
      (key, lead, count) => {
        const padded = Buffer.concat([Buffer.alloc(lead, 7), key, Buffer.from('tail')]);
        const hash = murmur2(padded, lead, lead + key.length);
        expect(hash).toBe(murmur2(key, 0, key.length));
        expect(murmur2Of(padded, viewOf(padded), lead, lead + key.length)).toBe(hash);
        const partition = partitionOf(padded, lead, lead + key.length, count);
        expect(partition).toBe((hash & 0x7fff_ffff) % count);
        expect(partition).toBeGreaterThanOrEqual(0);
        expect(partition).toBeLessThan(count);
      },
    ),
  );
});

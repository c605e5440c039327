import { createHash } from 'node:crypto';
import { crc32 as crc32OfEngine } from '@node-rs/crc32';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { crc32 } from '../../../src/expr/digest/crc32.ts';
import { md5 } from '../../../src/expr/digest/md5.ts';
import { sha1 } from '../../../src/expr/digest/sha1.ts';
import { sha2 } from '../../../src/expr/digest/sha2.ts';

const bytes = fc.uint8Array({ maxLength: 300 });

test('digests are those of the platform, around every block border', () => {
  fc.assert(
    fc.property(bytes, (value) => {
      const of = (name: string): string => createHash(name).update(value).digest('hex');
      expect(md5(value)).toBe(of('md5'));
      expect(sha1(value)).toBe(of('sha1'));
      expect(sha2(value, 224)).toBe(of('sha224'));
      expect(sha2(value, 256)).toBe(of('sha256'));
      expect(sha2(value, 384)).toBe(of('sha384'));
      expect(sha2(value, 512)).toBe(of('sha512'));
      expect(crc32(value)).toBe(crc32OfEngine(Buffer.from(value)));
    }),
    { numRuns: 300 },
  );
});

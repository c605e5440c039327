import { expect, test } from 'vitest';
import { InvariantError } from '../../../src/base/assert.ts';
import { ByteWriter } from '../../../src/data/byte-writer.ts';
import {
  provenanceTemplate,
  readProvenance,
  topicIdHex,
  topicIdText,
  writeProvenance,
} from '../../../src/data/provenance.ts';

const hex = '85f64fbabec34925beca04d53698ff07';

test.each([
  ['hexadecimal digits', hex],
  ['a dashed UUID', '85F64FBA-BEC3-4925-BECA-04D53698FF07'],
  ['base64url, as Kafka shows it', Buffer.from(hex, 'hex').toString('base64url')],
])('a topic id in %s is the same 16 bytes', (_, topicId) => {
  expect(topicIdHex(topicId)).toBe(hex);
  // However it comes, people meet it as Kafka's own tools print it.
  expect(topicIdText(topicId)).toBe('hfZPur7DSSW-ygTVNpj_Bw');
});

test('base64url ids with hyphens and underscores stay apart', () => {
  const ids = ['-_--____----__--____-w', '__--____----__--____-w'];
  expect(new Set(ids.map(topicIdHex)).size).toBe(2);
});

test.each(['', 'short', 'x'.repeat(32), 'A'.repeat(23)])('"%s" is no topic id', (topicId) => {
  expect(() => topicIdHex(topicId)).toThrow(InvariantError);
});

test('a provenance reads back with the id of its topic', () => {
  const out = new ByteWriter(64);
  const topicId = Buffer.from(hex, 'hex').toString('base64url');
  writeProvenance(out, provenanceTemplate(topicId, 7, 2), 2 ** 40 + 3, 5);
  expect(readProvenance(out.copy(), 0)).toEqual({
    topicId: hex,
    partition: 7,
    offset: 2 ** 40 + 3,
    branch: 2,
    index: 5,
  });
});

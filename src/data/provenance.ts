import { assert } from '../base/assert.ts';
import type { ByteWriter } from './byte-writer.ts';

/**
 * Where a row came from, in a fixed number of bytes: the identity of a row within its row-set.
 * Invariant: two rows have equal bytes exactly when they are the same row of the same record of the same
 * incarnation of a topic, whichever process read it and however often.
 *
 * Layout (big-endian; changed only with `rowEnvelopeVersion`):
 *
 *     topic id 16 | partition 4 | offset 8 | branch 1 | index 7
 *
 * `branch` is the side of the UNION ALL, `index` the position among the rows that one record gave,
 * counted before any filter.
 */
export const provenanceSize = 36;

export type Provenance = {
  /** 32 hexadecimal digits. */
  readonly topicId: string;
  readonly partition: number;
  readonly offset: number;
  readonly branch: number;
  readonly index: number;
};

/** What stays the same for all rows of one source partition and branch; written once, then patched. */
export function provenanceTemplate(topicId: string, partition: number, branch: number): Buffer {
  const template = Buffer.alloc(provenanceSize);
  Buffer.from(topicIdHex(topicId), 'hex').copy(template, 0);
  template.writeUInt32BE(partition, 16);
  template[28] = branch;
  return template;
}

export function writeProvenance(
  out: ByteWriter,
  template: Buffer,
  offset: number,
  index: number,
): void {
  out.reserve(provenanceSize);
  const { buffer, length } = out;
  template.copy(buffer, length);
  buffer.writeUInt32BE(Math.floor(offset / 0x1_0000_0000), length + 20);
  buffer.writeUInt32BE(offset >>> 0, length + 24);
  buffer.writeUIntBE(Math.floor(index / 0x1_0000_0000), length + 29, 3);
  buffer.writeUInt32BE(index >>> 0, length + 32);
  out.length = length + provenanceSize;
}

/** Sets the offset in a provenance that is there. */
export function patchOffset(bytes: Buffer, start: number, offset: number): void {
  const high = Math.floor(offset / 0x1_0000_0000);
  bytes[start + 20] = high >>> 24;
  bytes[start + 21] = high >>> 16;
  bytes[start + 22] = high >>> 8;
  bytes[start + 23] = high;
  bytes[start + 24] = offset >>> 24;
  bytes[start + 25] = offset >>> 16;
  bytes[start + 26] = offset >>> 8;
  bytes[start + 27] = offset;
}

export function readProvenance(bytes: Buffer, start: number): Provenance {
  return {
    topicId: bytes.toString('hex', start, start + 16),
    partition: bytes.readUInt32BE(start + 16),
    offset: bytes.readUInt32BE(start + 20) * 0x1_0000_0000 + bytes.readUInt32BE(start + 24),
    branch: bytes[start + 28] ?? 0,
    index: bytes.readUIntBE(start + 29, 3) * 0x1_0000_0000 + bytes.readUInt32BE(start + 32),
  };
}

/**
 * Topic ids come as 22 characters of base64url, which is how Kafka shows them, as 32 hexadecimal digits, or as
 * a dashed UUID. Anything else would give two topics one provenance, so it is refused.
 */
export function topicIdHex(topicId: string): string {
  const hex =
    topicId.length === 22
      ? Buffer.from(topicId, 'base64url').toString('hex')
      : topicId.replaceAll('-', '').toLowerCase();
  assert(/^[0-9a-f]{32}$/.test(hex), `"${topicId}" is no topic id of 16 bytes`);
  return hex;
}

/** A topic id as people meet it everywhere: 22 characters, as Kafka's own tools print it. */
export function topicIdText(topicId: string): string {
  return Buffer.from(topicIdHex(topicId), 'hex').toString('base64url');
}

import { ByteWriter } from '../data/byte-writer.ts';
import type { Span } from '../data/bytes.ts';
import { provenanceSize } from '../data/provenance.ts';
import { sha2 } from '../expr/digest/sha2.ts';

const both = new ByteWriter(2 * provenanceSize);

/** No record has it. */
const nobody: Span = { bytes: Buffer.alloc(provenanceSize), start: 0, end: provenanceSize };

/**
 * Where a joined row came from, in the form of every provenance: a digest of the provenances of both its rows.
 * Invariant: it depends on these two alone, so that a pair is the same row whichever of them came first and however
 * often they came; two pairs have one digest (213 bits of SHA-256) by no chance that counts.
 *
 * The digest stands in topic id, partition and offset; branch and index are 0, so that a query over joined rows has
 * room for its own.
 */
export function joinedProvenance(left: Span = nobody, right: Span = nobody): Buffer {
  both.reset();
  both.bytes(left.bytes, left.start, left.end);
  both.bytes(right.bytes, right.start, right.end);
  const digest = Buffer.from(sha2(both.copy(), 256) ?? '', 'hex');
  const provenance = Buffer.alloc(provenanceSize);
  digest.copy(provenance, 0, 0, 28);
  // An offset is a number below 2^53.
  provenance[20] = 0;
  provenance[21] = (provenance[21] as number) & 0x1f;
  return provenance;
}

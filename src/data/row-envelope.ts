import type { ByteWriter } from './byte-writer.ts';
import { provenanceSize } from './provenance.ts';

/**
 * The value of a record in a repartition topic: one row on its way from the flow stage to the table
 * stage, which merges it without decoding anything.
 *
 * Layout: version 1 | flags 1 | provenance 36 | sequence length 1 (255: 4 more bytes) | sequence | row
 *
 * `sequence` is order-preserving (`data/sequence.ts`), `row` is the output JSON of the row.
 *
 * Changes: 2026-11-30 version 1.
 */
export const rowEnvelopeVersion = 1;

/** The row says that its key has no rows at this sequence (REPLACE USING). */
export const emptyFlag = 1;

/** The key lost its row at this sequence (AUTO CDC). */
export const deleteFlag = 2;

/** Every key of the table lost its row at this sequence; it goes to all partitions, under `truncateKey`. */
export const truncateFlag = 4;

/** No row: how far a source partition has come in the time of its rows; it goes to all partitions, under `timeKey`. */
export const timeFlag = 8;

export const timeKey = 'time';

/** Keys of rows are JSON objects, so no row ever has this one. */
export const truncateKey = 'truncate';

/** Starts an envelope; the caller appends the row's bytes right after it. */
export function writeEnvelopeHead(
  out: ByteWriter,
  flags: number,
  provenance: Buffer,
  sequence: ByteWriter,
): void {
  out.reserve(provenanceSize + sequence.length + 7);
  out.byte(rowEnvelopeVersion);
  out.byte(flags);
  out.bytes(provenance, 0, provenanceSize);
  writeLength(out, sequence.length);
  out.bytes(sequence.buffer, 0, sequence.length);
}

export function writeLength(out: ByteWriter, length: number): void {
  if (length < 255) {
    out.byte(length);
  } else {
    out.byte(255);
    out.uint32(length);
  }
}

/** Where the parts of an envelope lie; one object is filled again and again. */
export type EnvelopeParts = {
  flags: number;
  provenanceStart: number;
  sequenceStart: number;
  sequenceEnd: number;
  rowStart: number;
};

/** False when the bytes are no envelope of a version that this build reads. */
export function readEnvelope(
  bytes: Buffer,
  start: number,
  end: number,
  parts: EnvelopeParts,
): boolean {
  if (end - start < 3 + provenanceSize || bytes[start] !== rowEnvelopeVersion) return false;
  parts.flags = bytes[start + 1] as number;
  parts.provenanceStart = start + 2;
  let position = start + 2 + provenanceSize;
  let length = bytes[position] as number;
  position += 1;
  if (length === 255) {
    if (position + 4 > end) return false;
    length = bytes.readUInt32BE(position);
    position += 4;
  }
  parts.sequenceStart = position;
  parts.sequenceEnd = position + length;
  parts.rowStart = position + length;
  return parts.rowStart <= end;
}

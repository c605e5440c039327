import { copyBytes, viewOf } from './byte-copy.ts';
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

/** Where the sequence begins whose length is one byte. */
const sequenceAt = provenanceSize + 3;

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
  const start = out.length;
  beginEnvelope(out, viewOf(provenance));
  out.bytes(sequence.buffer, 0, sequence.length);
  endSequence(out, start, flags);
}

/** Starts an envelope; the caller appends the sequence, calls `endSequence`, and appends the row. */
export function beginEnvelope(out: ByteWriter, provenance: DataView): void {
  out.reserve(sequenceAt);
  const { view, length } = out;
  view.setUint8(length, rowEnvelopeVersion);
  copyBytes(provenance, 0, provenanceSize, view, length + 2);
  out.length = length + sequenceAt;
}

/** `start` is where the envelope begins. */
export function endSequence(out: ByteWriter, start: number, flags: number): void {
  const { buffer } = out;
  const size = out.length - start - sequenceAt;
  buffer[start + 1] = flags;
  if (size < 255) {
    buffer[start + sequenceAt - 1] = size;
    return;
  }
  const sequence = Buffer.from(buffer.subarray(start + sequenceAt, out.length));
  out.length = start + sequenceAt - 1;
  writeLength(out, size);
  out.bytes(sequence);
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

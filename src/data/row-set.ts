import { ByteWriter } from './byte-writer.ts';
import { compareSpans, type Span } from './bytes.ts';
import { provenanceSize } from './provenance.ts';
import { writeLength } from './row-envelope.ts';

/** One row of a row-set: its provenance, and its output JSON unless only the provenance is kept. */
export type SetRow = {
  readonly provenance: Span;
  /** An empty span where the state keeps no row bytes (output mode `rows`). */
  readonly row: Span;
};

/**
 * Every row that carries the highest sequence seen for one key. Invariant: rows are ordered by
 * provenance and no provenance stands twice, so that equal sets have equal bytes whatever the order
 * in which their rows arrived.
 */
export type RowSet = { readonly sequence: Span; readonly rows: readonly SetRow[] };

/**
 * Layout of a row-set in the state store: version 1 | sequence length 1 or 5 | sequence |
 * row count 4 | for each row: provenance 36, row length 4, row.
 *
 * Changes: 2026-11-30 version 1.
 */
const rowSetVersion = 1;

const scratch = new ByteWriter(4096);

export function encodeRowSet(rowSet: RowSet): Buffer {
  const out = scratch;
  out.reset();
  out.byte(rowSetVersion);
  const { sequence, rows } = rowSet;
  writeLength(out, sequence.end - sequence.start);
  out.bytes(sequence.bytes, sequence.start, sequence.end);
  out.uint32(rows.length);
  for (const { provenance, row } of rows) {
    out.bytes(provenance.bytes, provenance.start, provenance.end);
    out.uint32(row.end - row.start);
    out.bytes(row.bytes, row.start, row.end);
  }
  return out.copy();
}

/** Undefined when the bytes are not of a version that this build reads: the state is then rebuilt. */
export function decodeRowSet(bytes: Buffer): RowSet | undefined {
  if (bytes[0] !== rowSetVersion) return undefined;
  let position = 2;
  let length = bytes[1] ?? 0;
  if (length === 255) {
    length = bytes.readUInt32BE(2);
    position = 6;
  }
  const sequence = { bytes, start: position, end: position + length };
  position += length;
  const count = bytes.readUInt32BE(position);
  position += 4;
  const rows: SetRow[] = [];
  for (let index = 0; index < count; index += 1) {
    const provenance = { bytes, start: position, end: position + provenanceSize };
    const rowLength = bytes.readUInt32BE(provenance.end);
    const rowStart = provenance.end + 4;
    position = rowStart + rowLength;
    rows.push({ provenance, row: { bytes, start: rowStart, end: position } });
  }
  return position === bytes.length ? { sequence, rows } : undefined;
}

/** Position of a provenance among rows that are ordered by it, or where it belongs, as -1 - position. */
export function findRow(rows: readonly SetRow[], provenance: Span): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareSpans((rows[middle] as SetRow).provenance, provenance);
    if (order === 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return -1 - low;
}

import { ByteWriter } from './byte-writer.ts';
import { compareSpans, type Span } from './bytes.ts';
import { provenanceSize } from './provenance.ts';
import { emptyFlag, writeEnvelopeHead, writeLength } from './row-envelope.ts';

/** One row of a row-set: its provenance, and its output JSON unless only the provenance is kept. */
export type SetRow = {
  readonly provenance: Span;
  /** An empty span where the state keeps no row bytes (output mode `rows`). */
  readonly row: Span;
};

/**
 * Every row that carries the highest sequence seen for one key; none where a marker said that the key is empty
 * at that sequence. Invariant: rows are ordered by provenance and no provenance stands twice, so that equal sets
 * have equal bytes whatever the order in which their rows arrived.
 */
export type RowSet = { readonly sequence: Span; readonly rows: readonly SetRow[] };

/**
 * Layout of a row-set in the state store, by its first byte:
 *
 * - 1, any number of rows: 1 | sequence length 1 or 5 | sequence | row count 4 | for each row: provenance 36,
 *   row length 4, row.
 * - 2, one row: 2 | the row's envelope without its version (`row-envelope.ts`), so that it is one copy. The row is
 *   missing where only provenance is kept. With the empty flag it is no row but a level: the sequence at which
 *   a marker emptied the key, with the marker's provenance; then, where numbered records may be left, how many 4.
 *
 * Changes: 2026-11-30 both.
 */
const listVersion = 1;
const singleVersion = 2;

/** Where the sequence's length stands in an entry of one row. */
const singleSequenceAt = 2 + provenanceSize;

const scratch = new ByteWriter(4096);

export function encodeRowSet(rowSet: RowSet): Buffer {
  const out = scratch;
  out.reset();
  out.byte(listVersion);
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

/** The entry of one row, from a copy of its envelope, which it becomes. */
export function singleEntry(envelope: Buffer): Buffer {
  return makeSingleEntry(envelope, 0);
}

/** The same where the copy begins at `start`. */
export function makeSingleEntry(bytes: Buffer, start: number): Buffer {
  bytes[start] = singleVersion;
  return bytes;
}

export type StoredSequence = { start: number; end: number };

/** Finds the sequence of an entry; false when the entry is of an unknown version. */
export function sequenceOf(entry: Buffer, found: StoredSequence): boolean {
  return sequenceIn(entry, 0, entry.length, found);
}

/** The same of an entry that lies in [start, end). */
export function sequenceIn(
  bytes: Buffer,
  start: number,
  end: number,
  found: StoredSequence,
): boolean {
  const version = bytes[start];
  if (version !== listVersion && version !== singleVersion) return false;
  const at = start + (version === listVersion ? 1 : singleSequenceAt);
  const length = bytes[at] ?? 0;
  if (length === 255) {
    found.start = at + 5;
    found.end = found.start + bytes.readUInt32BE(at + 1);
  } else {
    found.start = at + 1;
    found.end = found.start + length;
  }
  return found.end <= end;
}

/** The entry of a key that has no rows at a sequence; `numbers`: of which a numbered record may be left. */
export function levelEntry(provenance: Buffer, sequence: Buffer, numbers = 0): Buffer {
  const head = new ByteWriter(64);
  const written = new ByteWriter(sequence.length);
  written.bytes(sequence);
  writeEnvelopeHead(head, emptyFlag, provenance, written);
  if (numbers > 0) head.uint32(numbers);
  return singleEntry(head.copy());
}

/** Whether an entry, which begins at `start`, holds a level without rows. */
export function isLevelEntry(bytes: Buffer, start = 0): boolean {
  return bytes[start] === singleVersion && ((bytes[start + 1] as number) & emptyFlag) !== 0;
}

/** Whether it holds one row, in the short form. */
export function isSingleEntry(bytes: Buffer, start = 0): boolean {
  return bytes[start] === singleVersion && ((bytes[start + 1] as number) & emptyFlag) === 0;
}

/** How many numbers of an entry of a known version may have a record (output mode `rows`). */
export function storedRowCount(entry: Buffer): number {
  const found = { start: 0, end: 0 };
  if (isLevelEntry(entry)) {
    const isCounted = sequenceOf(entry, found) && found.end + 4 <= entry.length;
    return isCounted ? entry.readUInt32BE(found.end) : 0;
  }
  if (entry[0] !== listVersion || !sequenceOf(entry, found)) return 1;
  return entry.readUInt32BE(found.end);
}

/** Undefined when the bytes are not of a version that this build reads: the state is then rebuilt. */
export function decodeRowSet(bytes: Buffer): RowSet | undefined {
  const found = { start: 0, end: 0 };
  if (!sequenceOf(bytes, found)) return undefined;
  const sequence = { bytes, start: found.start, end: found.end };
  if (isLevelEntry(bytes)) return { sequence, rows: [] };
  if (bytes[0] === singleVersion) {
    const provenance = { bytes, start: 2, end: 2 + provenanceSize };
    const row = { bytes, start: found.end, end: bytes.length };
    return { sequence, rows: [{ provenance, row }] };
  }
  const count = bytes.readUInt32BE(found.end);
  let position = found.end + 4;
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

/** No log has a partition of this number. */
const vacantProvenance = Buffer.alloc(provenanceSize, 0xff);

/**
 * Stands for a number that no row of the set has, though the output topic may have a record of it: one that was
 * not read yet, or is left over from a lower sequence. Its text is one that no row has.
 */
export function vacantRow(position: number): SetRow {
  const row = Buffer.from(`#${position}`, 'latin1');
  return {
    provenance: { bytes: vacantProvenance, start: 0, end: provenanceSize },
    row: { bytes: row, start: 0, end: row.length },
  };
}

export function isVacant({ provenance: { bytes, start, end } }: SetRow): boolean {
  // Nearly no row is, and a call of the engine takes longer than all the rest of a tie.
  return bytes[start] === 0xff && vacantProvenance.compare(bytes, start, end) === 0;
}

/** Rows with equal bytes together, in the order in which the first of each stands. */
export function equalRows(rows: readonly SetRow[]): SetRow[][] {
  const groups = new Map<string, SetRow[]>();
  for (const row of rows) {
    const text = row.row.bytes.toString('latin1', row.row.start, row.row.end);
    const group = groups.get(text);
    if (group === undefined) groups.set(text, [row]);
    else group.push(row);
  }
  return [...groups.values()];
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

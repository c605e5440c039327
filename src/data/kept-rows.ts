import { ByteWriter } from './byte-writer.ts';
import type { Span } from './bytes.ts';
import { provenanceSize } from './provenance.ts';

export type JoinSideName = 'left' | 'right';

/** A row that a join keeps, for partners that are still to come. */
export type KeptRow = {
  readonly side: JoinSideName;
  /** It has had a partner, which may be kept no more. */
  readonly isMatched: boolean;
  readonly provenance: Span;
  /** JSON object of the columns that the join keeps of its side. */
  readonly row: Span;
};

/**
 * The rows that a join keeps of one key, in its state and in its changelog: version 4 | count 4 | for each: flags 1
 * (1: right side, 2: it has had a partner) | provenance 36 | row length 4 | row. The first byte tells them from row-sets (`row-set.ts`) and changes
 * (`change.ts`).
 *
 * Changes: 2026-11-30 version 4.
 */
const keptVersion = 4;

const scratch = new ByteWriter(1024);

export function encodeKeptRows(rows: readonly KeptRow[]): Buffer {
  const out = scratch;
  out.reset();
  out.byte(keptVersion);
  out.uint32(rows.length);
  for (const { side, isMatched, provenance, row } of rows) {
    out.byte((side === 'right' ? 1 : 0) + (isMatched ? 2 : 0));
    out.bytes(provenance.bytes, provenance.start, provenance.end);
    out.uint32(row.end - row.start);
    out.bytes(row.bytes, row.start, row.end);
  }
  return out.copy();
}

/** Undefined when the bytes are not of a version that this build reads: the state is then rebuilt. */
export function decodeKeptRows(bytes: Buffer): readonly KeptRow[] | undefined {
  if (bytes[0] !== keptVersion || bytes.length < 5) return undefined;
  const rows: KeptRow[] = [];
  let at = 5;
  for (let left = bytes.readUInt32BE(1); left > 0; left -= 1) {
    const flags = bytes[at] as number;
    const side = (flags & 1) !== 0 ? 'right' : 'left';
    const provenance = { bytes, start: at + 1, end: at + 1 + provenanceSize };
    const start = provenance.end + 4;
    const end = start + bytes.readUInt32BE(provenance.end);
    rows.push({ side, isMatched: (flags & 2) !== 0, provenance, row: { bytes, start, end } });
    at = end;
  }
  return at === bytes.length ? rows : undefined;
}

import { ByteWriter } from './byte-writer.ts';
import { compareSpans, type Span } from './bytes.ts';
import { splitJsonObject } from './json-split.ts';
import { provenanceSize } from './provenance.ts';
import { writeLength } from './row-envelope.ts';

/**
 * One entry of a change feed: at a sequence a key got a row, or lost the one it had. A member that the row does
 * not have was not given by the feed (IGNORE NULL UPDATES leaves it out), and says nothing about its column.
 */
export class Change {
  readonly sequence: Span;
  readonly isDelete: boolean;
  readonly provenance: Span;
  /** JSON object in canonical form; empty for a delete. */
  readonly row: Span;
  #members: ReadonlyMap<string, Span> | undefined;

  constructor(sequence: Span, isDelete: boolean, provenance: Span, row: Span) {
    this.sequence = sequence;
    this.isDelete = isDelete;
    this.provenance = provenance;
    this.row = isDelete ? { bytes: row.bytes, start: row.start, end: row.start } : row;
  }

  /** Name → its value's bytes. */
  get members(): ReadonlyMap<string, Span> {
    this.#members ??= this.isDelete ? noMembers : splitJsonObject(this.row);
    return this.#members;
  }
}

const noMembers: ReadonlyMap<string, Span> = new Map();

/**
 * The order in which changes of one key count: by sequence, at one sequence a delete above an upsert, then by the bytes
 * of the row. Invariant: it looks at nothing that arrival decides, so every reader puts the same changes in one order.
 */
export function compareChanges(a: Change, b: Change): number {
  const bySequence = compareSpans(a.sequence, b.sequence);
  if (bySequence !== 0) return bySequence;
  if (a.isDelete !== b.isDelete) return a.isDelete ? 1 : -1;
  return compareSpans(a.row, b.row);
}

/**
 * The changes with one more among them, lowest first; the same array where it says nothing new. Two equal changes are
 * one, which has the lower provenance of both. A provenance that is there already is the same row read again: it differs
 * only after the definition changed, and then the newer one wins.
 */
export function withChange(changes: readonly Change[], input: Change): readonly Change[] {
  const known = changes.find(({ provenance }) => compareSpans(provenance, input.provenance) === 0);
  if (known !== undefined && compareChanges(known, input) === 0) return changes;
  const others = known === undefined ? changes : changes.filter((change) => change !== known);
  let low = 0;
  let high = others.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareChanges(others[middle] as Change, input);
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  const twin = others[low];
  if (twin === undefined || compareChanges(twin, input) !== 0) {
    return [...others.slice(0, low), input, ...others.slice(low)];
  }
  if (compareSpans(twin.provenance, input.provenance) < 0) return others;
  return [...others.slice(0, low), input, ...others.slice(low + 1)];
}

/**
 * Changes in the state store: version 3 | count 4 | for each: flags 1 (1: delete) | provenance 36 | sequence length 1
 * or 5 | sequence | row length 4 | row. The first byte tells them from row-sets (`row-set.ts`).
 *
 * Changes: 2026-11-30 version 3.
 */
const changesVersion = 3;

const scratch = new ByteWriter(1024);

export function encodeChanges(changes: readonly Change[]): Buffer {
  const out = scratch;
  out.reset();
  out.byte(changesVersion);
  out.uint32(changes.length);
  for (const { sequence, isDelete, provenance, row } of changes) {
    out.byte(isDelete ? 1 : 0);
    out.bytes(provenance.bytes, provenance.start, provenance.end);
    writeLength(out, sequence.end - sequence.start);
    out.bytes(sequence.bytes, sequence.start, sequence.end);
    out.uint32(row.end - row.start);
    out.bytes(row.bytes, row.start, row.end);
  }
  return out.copy();
}

/** Undefined when the bytes are not of a version that this build reads: the state is then rebuilt. */
export function decodeChanges(bytes: Buffer): readonly Change[] | undefined {
  if (bytes[0] !== changesVersion || bytes.length < 5) return undefined;
  const count = bytes.readUInt32BE(1);
  const changes: Change[] = [];
  let at = 5;
  for (let index = 0; index < count; index += 1) {
    const isDelete = bytes[at] === 1;
    const provenance = { bytes, start: at + 1, end: at + 1 + provenanceSize };
    at = provenance.end + 1;
    let length = bytes[at - 1] ?? 0;
    if (length === 255) {
      if (at + 4 > bytes.length) return undefined;
      length = bytes.readUInt32BE(at);
      at += 4;
    }
    const sequence = { bytes, start: at, end: at + length };
    if (sequence.end + 4 > bytes.length) return undefined;
    const start = sequence.end + 4;
    at = start + bytes.readUInt32BE(sequence.end);
    changes.push(new Change(sequence, isDelete, provenance, { bytes, start, end: at }));
  }
  return at === bytes.length ? changes : undefined;
}

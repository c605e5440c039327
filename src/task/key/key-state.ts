import { FlowError } from '../../base/errors.ts';
import { viewOf } from '../../data/byte-copy.ts';
import { compareBytes, type Span } from '../../data/bytes.ts';
import { provenanceSize } from '../../data/provenance.ts';
import { emptyFlag } from '../../data/row-envelope.ts';
import {
  decodeRowSet,
  isLevelEntry,
  isSingleEntry,
  type StoredSequence,
  sequenceIn,
  sequenceOf,
  storedRowCount,
} from '../../data/row-set.ts';
import {
  KeyRowSet,
  type KeyRowSetOptions,
  type MergeOutcome,
} from '../../operators/replace-using.ts';
import type { StateKey } from '../../ports/state-store.ts';
import type { LoadedRow } from '../row/row-batch.ts';
import { KeyGenerations } from './key-generations.ts';
import { type KeyTable, userField } from './key-table.ts';

const nothing = Buffer.alloc(0);
const storedSequence: StoredSequence = { start: 0, end: 0 };

// What is known of a key's entry in the state store: one of three, and flags of an entry that is there.
const unread = 0;
const neverSeen = 1;
const isStored = 2;
const knownMask = 3;
/** It is a level without rows. */
const levelFlag = 4;
/** It is one row, in the short form. */
const singleFlag = 8;
/** The sequence that stands, stored or held, has 8 bytes, and they are in the record. */
const shortFlag = 16;

// Fields of a key's record.
const knownField = userField;
const askedField = userField + 1;
/** Number of the buffer that holds the row (or the marker) that stands now, + 1; 0: `stored` or a row-set decides. */
const heldField = userField + 2;
const envelopeField = userField + 3;
/** The row begins where the sequence ends. */
const rowField = userField + 4;
const rowEndField = userField + 5;
/** Number of the row-set of a key whose rows tie, + 1. */
const rowSetField = userField + 6;
/** The first and the last 4 bytes of a short sequence. */
const highField = userField + 7;
const lowField = userField + 8;
/** Which of the holds of the transaction it is that counts. */
const holdField = userField + 9;
/** Numbers of a hold: the key, and where the key begins in the row's buffer. */
const holdFields = 2;
const holdsMin = 32;
/** Where the length of the sequence stands in an envelope. */
const sequenceLengthAt = 2 + provenanceSize;

/**
 * What a table task knows of its keys: of each its entry in the state store, and what the open transaction made of
 * it. Nearly every key holds one row, and most rows that arrive replace it or are late; those cases are decided on
 * bytes as they lie and numbers outside of the heap, with nothing allocated for a row or a key. What decides stands in
 * the key's record, sequences of 8 bytes included: of a million keys hardly any entry is in the processor's cache, and
 * each look at one costs as much as the rest of the merge. A `KeyRowSet` is made only where rows tie. A key goes by a number, which holds until `endTransaction`.
 *
 * Invariant: the result is that of `KeyRowSet.merge` over the stored row-set and every row in turn.
 */
export class KeyStates {
  readonly #options: KeyRowSetOptions;
  readonly #cache: KeyGenerations;
  #table: KeyTable;
  /** From 1 on: a new record has 0. */
  #transaction = 1;
  /** Buffers that rows of the open transaction lie in, and their views. */
  readonly #buffers: Buffer[] = [];
  readonly #views: DataView[] = [];
  #lastBuffer: Buffer = nothing;
  readonly #rowSets: KeyRowSet[] = [];
  /** Whose row-sets these are. */
  readonly #rowSetKeys: number[] = [];
  /** Each time that a key got another row, in the order of the rows, which is that of their bytes. */
  #holds = new Int32Array(holdFields * holdsMin);
  #holdsMax = holdsMin;
  #holdCount = 0;

  constructor(options: KeyRowSetOptions, cacheBytesMax: number) {
    this.#options = options;
    this.#cache = new KeyGenerations(cacheBytesMax);
    this.#table = this.#cache.table;
  }

  /** Keys in memory, those of the open transaction included. */
  get size(): number {
    return this.#cache.size;
  }

  /** To be called with the hashes of many keys before `get` of each. */
  prefetch(hashes: readonly number[], count: number): void {
    this.#table.prefetch(hashes, count);
  }

  /** The key's number. */
  get(hash: number, row: LoadedRow): number {
    return this.#cache.get(hash, row.view, row.keyStart, row.keyEnd);
  }

  /** Whether the open transaction had not asked for the key before. */
  ask(key: number): boolean {
    const block = this.#table.recordBlock(key);
    const at = this.#table.recordStart(key) + askedField;
    if (block[at] === this.#transaction) return false;
    block[at] = this.#transaction;
    return true;
  }

  isUnread(key: number): boolean {
    return (this.#field(key, knownField) & knownMask) === unread;
  }

  keyText(key: number): StateKey {
    return this.#table.keyText(key);
  }

  keyBytes(key: number): Buffer {
    return this.#table.keyBytes(key);
  }

  keyStart(key: number): number {
    return this.#table.keyStart(key);
  }

  keyLength(key: number): number {
    return this.#table.keyLength(key);
  }

  /** What the state store has of the key, read or just written. */
  setStored(key: number, entry: Buffer | undefined): void {
    if (entry === undefined) {
      this.#setField(key, knownField, neverSeen);
      return;
    }
    const table = this.#table;
    table.setValue(key, viewOf(entry), 0, entry.length);
    if (!sequenceOf(entry, storedSequence)) throw unknownEntry();
    const { start, end } = storedSequence;
    const kind = isLevelEntry(entry) ? levelFlag : isSingleEntry(entry) ? singleFlag : 0;
    this.#setField(key, knownField, isStored | kind);
    this.#setSequence(key, entry, start, end);
  }

  #setSequence(key: number, bytes: Buffer, start: number, end: number): void {
    const block = this.#table.recordBlock(key);
    const at = this.#table.recordStart(key);
    if (end - start === 8) {
      block[at + knownField] = (block[at + knownField] as number) | shortFlag;
      block[at + highField] = wordAt(bytes, start);
      block[at + lowField] = wordAt(bytes, start + 4);
    } else {
      block[at + knownField] = (block[at + knownField] as number) & ~shortFlag;
    }
  }

  /** Whether one row (or one marker) of the open transaction stands now. */
  isSingle(key: number): boolean {
    return this.#field(key, heldField) !== 0;
  }

  rowSet(key: number): KeyRowSet | undefined {
    const number = this.#field(key, rowSetField);
    return number === 0 ? undefined : this.#rowSets[number - 1];
  }

  /** How often keys got another row in the open transaction. */
  get holdCount(): number {
    return this.#holdCount;
  }

  /** The key of a hold, as long as it is the one that stands; else -1. */
  heldKey(hold: number): number {
    const key = this.#holds[hold * holdFields] as number;
    const block = this.#table.recordBlock(key);
    const at = this.#table.recordStart(key);
    return block[at + holdField] === hold && block[at + heldField] !== 0 ? key : -1;
  }

  /** Where the key of a hold begins in the row's buffer. */
  heldKeyStart(hold: number): number {
    return this.#holds[hold * holdFields + 1] as number;
  }

  /** Row-sets that the open transaction has begun. */
  get rowSetCount(): number {
    return this.#rowSets.length;
  }

  /** The key of a row-set, as long as it is the one that stands; else -1. */
  rowSetKey(index: number): number {
    const key = this.#rowSetKeys[index] as number;
    return this.#field(key, rowSetField) === index + 1 ? key : -1;
  }

  /** Where the row (or the marker) of a single key lies. */
  loadSingle(key: number, into: HeldRow): void {
    const block = this.#table.recordBlock(key);
    const at = this.#table.recordStart(key);
    const buffer = (block[at + heldField] as number) - 1;
    const bytes = this.#buffers[buffer] as Buffer;
    const envelopeStart = block[at + envelopeField] as number;
    into.view = this.#views[buffer] as DataView;
    const lengthAt = envelopeStart + sequenceLengthAt;
    into.bytes = bytes;
    into.envelopeStart = envelopeStart;
    into.sequenceStart = lengthAt + (bytes[lengthAt] === 255 ? 5 : 1);
    into.sequenceEnd = block[at + rowField] as number;
    into.rowStart = into.sequenceEnd;
    into.rowEnd = block[at + rowEndField] as number;
  }

  /** Whether the key has a sequence and no rows at it. */
  isLevel(key: number): boolean {
    if (this.isSingle(key)) return (this.#heldFlags(key) & emptyFlag) !== 0;
    return this.#field(key, rowSetField) === 0 && this.wasLevel(key);
  }

  /** The same, as of the last transaction. */
  wasLevel(key: number): boolean {
    return (this.#field(key, knownField) & levelFlag) !== 0;
  }

  /** What stood before the open transaction; undefined: the key was never seen. A view, until the transaction ends. */
  stored(key: number): Buffer | undefined {
    if ((this.#field(key, knownField) & knownMask) !== isStored) return undefined;
    const table = this.#table;
    const start = table.valueStart(key);
    return table.valueBytes(key).subarray(start, start + table.valueLength(key));
  }

  /** How many numbers of the key had a record; `rowCount` tells it of an entry that is no single row. */
  storedNumbers(key: number, rowCount: (entry: Buffer) => number = storedRowCount): number {
    const known = this.#field(key, knownField);
    if ((known & knownMask) !== isStored) return 0;
    return (known & singleFlag) !== 0 ? 1 : rowCount(this.stored(key) ?? nothing);
  }

  /** Whether the stored entry of a key that has one is of this sequence. */
  isStoredSequence(key: number, { bytes, start, end }: Span): boolean {
    const stored = this.stored(key) ?? nothing;
    if (!sequenceOf(stored, storedSequence)) throw unknownEntry();
    const { start: from, end: to } = storedSequence;
    return compareBytes(bytes, start, end, stored, from, to) === 0;
  }

  merge(key: number, row: LoadedRow): MergeOutcome {
    if ((row.flags & emptyFlag) !== 0) return this.#empty(key, row);
    const rowSet = this.rowSet(key);
    if (rowSet !== undefined) return rowSet.merge(row.input());
    const order = this.#compare(key, row);
    if (order < 0) return 'superseded';
    if (order > 0) {
      const isNew = !this.isSingle(key) && this.isNeverSeen(key);
      this.#hold(key, row);
      return isNew ? 'new' : 'replacing';
    }
    if (this.isLevel(key)) {
      this.#hold(key, row);
      return 'replacing';
    }
    const opened = this.#openRowSet(key);
    this.#rowSets.push(opened);
    this.#rowSetKeys.push(key);
    this.#setField(key, rowSetField, this.#rowSets.length);
    return opened.merge(row.input());
  }

  /**
   * A marker: the key has no rows at its sequence. Rows of the same sequence win, in either order. The same marker
   * once more is written again: without transactions its level may stand where its tombstone was lost.
   */
  #empty(key: number, row: LoadedRow): MergeOutcome {
    const held = this.rowSet(key)?.rowSet?.sequence;
    const order =
      held === undefined
        ? this.#compare(key, row)
        : compareBytes(
            row.bytes,
            row.sequenceStart,
            row.sequenceEnd,
            held.bytes,
            held.start,
            held.end,
          );
    const isSame = order === 0 && this.isLevel(key) && this.#isSameMarker(key, row);
    if (order < 0 || (order === 0 && !isSame)) return 'superseded';
    const isNew =
      !this.isSingle(key) && this.#field(key, rowSetField) === 0 && this.isNeverSeen(key);
    this.#setField(key, rowSetField, 0);
    this.#hold(key, row);
    if (isSame) return 'duplicate';
    return isNew ? 'new' : 'replacing';
  }

  #isSameMarker(key: number, { bytes, provenanceStart }: LoadedRow): boolean {
    const isHeld = this.isSingle(key);
    const known = isHeld ? this.#heldBytes(key) : this.#table.valueBytes(key);
    const start = (isHeld ? this.#field(key, envelopeField) : this.#table.valueStart(key)) + 2;
    return (
      known.compare(
        bytes,
        provenanceStart,
        provenanceStart + provenanceSize,
        start,
        start + provenanceSize,
      ) === 0
    );
  }

  /** The row's sequence against the key's. */
  #compare(key: number, row: LoadedRow): number {
    const table = this.#table;
    const block = table.recordBlock(key);
    const at = table.recordStart(key);
    const known = block[at + knownField] as number;
    const isHeld = block[at + heldField] !== 0;
    if (!isHeld && (known & knownMask) !== isStored) return 1;
    const { bytes, sequenceStart, sequenceEnd } = row;
    if ((known & shortFlag) !== 0 && sequenceEnd - sequenceStart === 8) {
      const high = wordAt(bytes, sequenceStart) - (block[at + highField] as number);
      return high === 0
        ? wordAt(bytes, sequenceStart + 4) - (block[at + lowField] as number)
        : high;
    }
    if (isHeld) {
      this.loadSingle(key, heldRow);
      return compareBytes(
        bytes,
        sequenceStart,
        sequenceEnd,
        heldRow.bytes,
        heldRow.sequenceStart,
        heldRow.sequenceEnd,
      );
    }
    const stored = table.valueBytes(key);
    const start = table.valueStart(key);
    if (!sequenceIn(stored, start, start + table.valueLength(key), storedSequence)) {
      throw unknownEntry();
    }
    const { start: from, end: to } = storedSequence;
    return compareBytes(bytes, sequenceStart, sequenceEnd, stored, from, to);
  }

  /** Whether the state store has no entry of the key. */
  isNeverSeen(key: number): boolean {
    return (this.#field(key, knownField) & knownMask) === neverSeen;
  }

  #hold(key: number, row: LoadedRow): void {
    if (row.bytes !== this.#lastBuffer) {
      this.#lastBuffer = row.bytes;
      this.#buffers.push(row.bytes);
      this.#views.push(row.view);
    }
    const hold = this.#holdCount;
    if (hold === this.#holdsMax) this.#growHolds();
    this.#holds[hold * holdFields] = key;
    this.#holds[hold * holdFields + 1] = row.keyStart;
    this.#holdCount = hold + 1;
    const block = this.#table.recordBlock(key);
    const at = this.#table.recordStart(key);
    block[at + heldField] = this.#buffers.length;
    block[at + envelopeField] = row.valueStart;
    block[at + rowField] = row.rowStart;
    block[at + rowEndField] = row.valueEnd;
    block[at + holdField] = hold;
    this.#setSequence(key, row.bytes, row.sequenceStart, row.sequenceEnd);
  }

  #growHolds(): void {
    this.#holdsMax *= 2;
    const holds = new Int32Array(this.#holdsMax * holdFields);
    holds.set(this.#holds);
    this.#holds = holds;
  }

  /** A tie: from here on the rows are objects. */
  #openRowSet(key: number): KeyRowSet {
    if (!this.isSingle(key)) {
      const stored = decodeRowSet(this.stored(key) ?? nothing);
      if (stored === undefined) throw unknownEntry();
      return new KeyRowSet(stored, this.#options);
    }
    this.loadSingle(key, heldRow);
    const { bytes, envelopeStart, sequenceStart, sequenceEnd, rowStart, rowEnd } = heldRow;
    const provenanceStart = envelopeStart + 2;
    const rowSet = new KeyRowSet(undefined, this.#options);
    rowSet.merge({
      sequence: { bytes, start: sequenceStart, end: sequenceEnd },
      provenance: { bytes, start: provenanceStart, end: provenanceStart + provenanceSize },
      row: { bytes, start: rowStart, end: rowEnd },
    });
    this.#setField(key, heldField, 0);
    return rowSet;
  }

  /** What was held of a key is written as the entry in [start, end): its sequence stands in the record already. */
  settleSingle(key: number, entry: DataView, start: number, end: number): void {
    const table = this.#table;
    table.setValue(key, entry, start, end);
    const block = table.recordBlock(key);
    const at = table.recordStart(key);
    const kind = (entry.getUint8(start + 1) & emptyFlag) !== 0 ? levelFlag : singleFlag;
    block[at + knownField] = isStored | kind | ((block[at + knownField] as number) & shortFlag);
    block[at + heldField] = 0;
  }

  /** Lets go of a key's row-set; `entry` is what was written of it, undefined where nothing changed. */
  settleRowSet(key: number, entry: Buffer | undefined): void {
    if (entry !== undefined) this.setStored(key, entry);
    this.#setField(key, rowSetField, 0);
  }

  /** After every hold and every row-set was settled: numbers hold no longer. */
  endTransaction(): void {
    this.#buffers.length = 0;
    this.#views.length = 0;
    this.#lastBuffer = nothing;
    this.#rowSets.length = 0;
    this.#rowSetKeys.length = 0;
    this.#holdCount = 0;
    this.#transaction += 1;
    this.#cache.turn();
    this.#table = this.#cache.table;
  }

  #heldBytes(key: number): Buffer {
    return this.#buffers[this.#field(key, heldField) - 1] as Buffer;
  }

  #heldFlags(key: number): number {
    return this.#heldBytes(key)[this.#field(key, envelopeField) + 1] as number;
  }

  #field(key: number, field: number): number {
    const table = this.#table;
    return table.recordBlock(key)[table.recordStart(key) + field] as number;
  }

  #setField(key: number, field: number, value: number): void {
    const table = this.#table;
    table.recordBlock(key)[table.recordStart(key) + field] = value;
  }
}

/** A row as it lies in its envelope; one object is filled again and again. */
export class HeldRow {
  bytes: Buffer = nothing;
  /** Of the bytes. */
  view: DataView = viewOf(nothing);
  envelopeStart = 0;
  sequenceStart = 0;
  sequenceEnd = 0;
  rowStart = 0;
  rowEnd = 0;
}

const heldRow = new HeldRow();

/** 4 bytes, most significant first, as a number whose order is theirs. */
function wordAt(bytes: Buffer, at: number): number {
  return (
    (((bytes[at] as number) ^ 0x80) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  );
}

export function unknownEntry(): FlowError {
  return new FlowError('TASK_CORRUPTED', 'a state entry is of an unknown version');
}

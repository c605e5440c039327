import { FlowError } from '../base/errors.ts';
import { compareBytes } from '../data/bytes.ts';
import { provenanceSize } from '../data/provenance.ts';
import { emptyFlag } from '../data/row-envelope.ts';
import { decodeRowSet, isLevelEntry, type StoredSequence, sequenceOf } from '../data/row-set.ts';
import { KeyRowSet, type KeyRowSetOptions, type MergeOutcome } from '../operators/replace-using.ts';
import type { StateKey } from '../ports/state-store.ts';
import type { LoadedRow } from './row-batch.ts';

const nothing = Buffer.alloc(0);
const storedSequence: StoredSequence = { start: 0, end: 0 };

/**
 * What a table task knows of one key: its entry in the state store, and what the open transaction made of it.
 * Nearly every key holds one row, and most rows that arrive replace it or are late; those cases are decided on
 * bytes as they lie, with nothing allocated. A `KeyRowSet` is made only where rows tie.
 *
 * Invariant: the result is that of `KeyRowSet.merge` over the stored row-set and every row in turn.
 */
export class KeyState {
  readonly key: StateKey;
  /** undefined: to be read; null: never seen. */
  stored: Buffer | null | undefined;
  /** Transaction that touched it last. */
  touchedIn = -1;
  /** The one row (or the marker) that stands now, as an envelope; empty when `stored` or `rowSet` decides. */
  bytes: Buffer = nothing;
  envelopeStart = 0;
  sequenceStart = 0;
  sequenceEnd = 0;
  rowStart = 0;
  rowEnd = 0;
  rowSet: KeyRowSet | undefined;

  constructor(key: StateKey, stored: Buffer | null | undefined) {
    this.key = key;
    this.stored = stored;
  }

  /** Whether the open transaction changed anything. */
  get isChanged(): boolean {
    return this.bytes !== nothing || this.rowSet?.changed === true;
  }

  get isSingle(): boolean {
    return this.bytes !== nothing;
  }

  /** Whether the key has a sequence and no rows at it. */
  get isLevel(): boolean {
    if (this.bytes !== nothing) {
      return ((this.bytes[this.envelopeStart + 1] as number) & emptyFlag) !== 0;
    }
    const { stored } = this;
    if (this.rowSet !== undefined || stored === null || stored === undefined) return false;
    return isLevelEntry(stored);
  }

  merge(row: LoadedRow, options: KeyRowSetOptions): MergeOutcome {
    if ((row.flags & emptyFlag) !== 0) return this.#empty(row);
    if (this.rowSet !== undefined) return this.rowSet.merge(row.input());
    const order = this.#compare(row);
    if (order < 0) return 'superseded';
    if (order > 0) {
      const isNew = this.bytes === nothing && this.stored === null;
      this.#hold(row);
      return isNew ? 'new' : 'replacing';
    }
    if (this.isLevel) {
      this.#hold(row);
      return 'replacing';
    }
    this.rowSet = this.#openRowSet(options);
    return this.rowSet.merge(row.input());
  }

  /**
   * A marker: the key has no rows at its sequence. Rows of the same sequence win, in either order. The same marker
   * once more is written again: without transactions its level may stand where its tombstone was lost.
   */
  #empty(row: LoadedRow): MergeOutcome {
    const held = this.rowSet?.rowSet?.sequence;
    const order =
      held === undefined
        ? this.#compare(row)
        : compareBytes(
            row.bytes,
            row.sequenceStart,
            row.sequenceEnd,
            held.bytes,
            held.start,
            held.end,
          );
    const isSame = order === 0 && this.isLevel && this.#isSameMarker(row);
    if (order < 0 || (order === 0 && !isSame)) return 'superseded';
    const isNew = this.bytes === nothing && this.rowSet === undefined && this.stored === null;
    this.rowSet = undefined;
    this.#hold(row);
    if (isSame) return 'duplicate';
    return isNew ? 'new' : 'replacing';
  }

  #isSameMarker({ bytes, provenanceStart }: LoadedRow): boolean {
    const known = this.bytes === nothing ? this.stored : this.bytes;
    const start = (this.bytes === nothing ? 0 : this.envelopeStart) + 2;
    return (
      known?.compare(
        bytes,
        provenanceStart,
        provenanceStart + provenanceSize,
        start,
        start + provenanceSize,
      ) === 0
    );
  }

  /** The row's sequence against the key's. */
  #compare(row: LoadedRow): number {
    if (this.bytes !== nothing) {
      return compareBytes(
        row.bytes,
        row.sequenceStart,
        row.sequenceEnd,
        this.bytes,
        this.sequenceStart,
        this.sequenceEnd,
      );
    }
    const { stored } = this;
    if (stored === null || stored === undefined) return 1;
    if (!sequenceOf(stored, storedSequence)) throw unknownEntry();
    return compareBytes(
      row.bytes,
      row.sequenceStart,
      row.sequenceEnd,
      stored,
      storedSequence.start,
      storedSequence.end,
    );
  }

  #hold(row: LoadedRow): void {
    this.bytes = row.bytes;
    this.envelopeStart = row.valueStart;
    this.sequenceStart = row.sequenceStart;
    this.sequenceEnd = row.sequenceEnd;
    this.rowStart = row.rowStart;
    this.rowEnd = row.valueEnd;
  }

  /** A tie: from here on the rows are objects. */
  #openRowSet(options: KeyRowSetOptions): KeyRowSet {
    if (this.bytes === nothing) {
      const stored = decodeRowSet(this.stored ?? nothing);
      if (stored === undefined) throw unknownEntry();
      return new KeyRowSet(stored, options);
    }
    const { bytes, envelopeStart, sequenceStart, sequenceEnd, rowStart, rowEnd } = this;
    const provenanceStart = envelopeStart + 2;
    const rowSet = new KeyRowSet(undefined, options);
    rowSet.merge({
      sequence: { bytes, start: sequenceStart, end: sequenceEnd },
      provenance: { bytes, start: provenanceStart, end: provenanceStart + provenanceSize },
      row: { bytes, start: rowStart, end: rowEnd },
    });
    this.bytes = nothing;
    return rowSet;
  }

  /** Lets go of what the transaction collected; `stored` is what stands from now on. */
  settle(stored: Buffer | null | undefined): void {
    this.stored = stored;
    this.bytes = nothing;
    this.rowSet = undefined;
  }
}

export function unknownEntry(): FlowError {
  return new FlowError('TASK_CORRUPTED', 'a state entry is of an unknown version');
}

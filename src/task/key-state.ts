import { FlowError } from '../base/errors.ts';
import { compareBytes } from '../data/bytes.ts';
import { provenanceSize } from '../data/provenance.ts';
import { decodeRowSet, type StoredSequence, sequenceOf } from '../data/row-set.ts';
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
  /** The one row that stands now, as an envelope; empty when `stored` or `rowSet` decides. */
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

  merge(row: LoadedRow, options: KeyRowSetOptions): MergeOutcome {
    if (this.rowSet !== undefined) return this.rowSet.merge(row.input());
    const order = this.#compare(row);
    if (order < 0) return 'superseded';
    if (order > 0) {
      const isNew = this.bytes === nothing && this.stored === null;
      this.#hold(row);
      return isNew ? 'new' : 'replacing';
    }
    this.rowSet = this.#openRowSet(options);
    return this.rowSet.merge(row.input());
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

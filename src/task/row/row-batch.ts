import { FlowError } from '../../base/errors.ts';
import { viewOf } from '../../data/byte-copy.ts';
import { murmur2 } from '../../data/murmur2.ts';
import { provenanceSize } from '../../data/provenance.ts';
import { type EnvelopeParts, readEnvelope } from '../../data/row-envelope.ts';
import type { MergeInput } from '../../operators/replace-using.ts';
import type { StateKey } from '../../ports/state-store.ts';
import { RowLane, type RowSlice } from '../memory-shuffle.ts';
import type { TimeRuns } from '../time-runs.ts';

const nothing: Buffer = Buffer.alloc(0);
const noView = viewOf(nothing);

/** One row between the stages, as spans of the fetched bytes. */
export class LoadedRow implements EnvelopeParts {
  bytes: Buffer = nothing;
  /** Of the bytes. */
  view: DataView = noView;
  keyStart = 0;
  keyEnd = 0;
  valueStart = 0;
  valueEnd = 0;
  flags = 0;
  provenanceStart = 0;
  sequenceStart = 0;
  sequenceEnd = 0;
  rowStart = 0;
  /** Of the key, by `murmur2`. */
  keyHash = 0;
  /** It came from a dead letter that somebody replayed. */
  isReplayed = false;

  get key(): StateKey {
    return this.bytes.toString('latin1', this.keyStart, this.keyEnd);
  }

  input(): MergeInput {
    const { bytes, provenanceStart, sequenceStart, sequenceEnd, rowStart, valueEnd } = this;
    return {
      sequence: { bytes, start: sequenceStart, end: sequenceEnd },
      provenance: { bytes, start: provenanceStart, end: provenanceStart + provenanceSize },
      row: { bytes, start: rowStart, end: valueEnd },
    };
  }
}

/** The rows of one slice. Invariant: its objects are used again for the next slice; nothing may keep one. */
export class RowBatch {
  count = 0;
  readonly #rows: LoadedRow[] = [];

  load(slice: RowSlice, table: string, times?: TimeRuns): void {
    const { records } = slice;
    const lane = records instanceof RowLane ? records : undefined;
    let bytes = nothing;
    let view = noView;
    this.count = 0;
    while (records.next()) {
      const row = this.#next();
      if (records.bytes !== bytes) {
        bytes = records.bytes;
        view = viewOf(bytes);
      }
      row.bytes = bytes;
      row.view = view;
      row.keyStart = records.keyStart;
      row.keyEnd = records.keyEnd;
      row.valueStart = records.valueStart;
      row.valueEnd = records.valueEnd;
      // What the flow stage hands on has no headers: at most their count, which is 0.
      row.isReplayed = records.headersEnd - records.headersStart > 1;
      if (
        records.keyEnd < 0 ||
        records.valueEnd < 0 ||
        !readEnvelope(records.bytes, records.valueStart, records.valueEnd, row)
      ) {
        throw foreignRecord(slice, records.offset, table);
      }
      row.keyHash = lane?.keyHash ?? murmur2(row.bytes, row.keyStart, row.keyEnd);
      times?.add(records.timestampMs);
      this.count += 1;
    }
  }

  #next(): LoadedRow {
    let row = this.#rows[this.count];
    if (row === undefined) {
      row = new LoadedRow();
      this.#rows.push(row);
    }
    return row;
  }

  at(index: number): LoadedRow {
    return this.#rows[index] as LoadedRow;
  }

  /** Lets go of the fetched bytes. */
  clear(): void {
    for (let index = 0; index < this.count; index += 1) {
      const row = this.at(index);
      row.bytes = nothing;
      row.view = noView;
    }
    this.count = 0;
  }
}

function foreignRecord(slice: RowSlice, offset: number, table: string): FlowError {
  return new FlowError(
    'RECORD_CORRUPT',
    `a record between the stages of table "${table}" is not one of ours`,
    {
      detail: `Topic "${slice.topic}", partition ${slice.partition}, offset ${offset}.`,
      hint: 'Nothing but Tidemark may write to a repartition topic; find out what else does, or run the version that wrote the record.',
    },
  );
}

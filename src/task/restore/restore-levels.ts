import { FlowError } from '../../base/errors.ts';
import { levelEntry, sequenceOf, storedRowCount } from '../../data/row-set.ts';
import type { RecordCursor, Slice } from '../../ports/log.ts';
import type { StateKey } from '../../ports/state-store.ts';
import { parseSources } from '../output/output-record.ts';
import { foreignRecord, foreignTombstone, readAt, readTableHeaders } from '../table-records.ts';

/** The level of one key, as a record of the levels topic tells it. */
export type LevelChange = {
  readonly key: StateKey;
  readonly provenance: Buffer;
  readonly sequence: Buffer;
};

/** An entry of the state that a level changes. */
export type LevelWrite = { readonly key: StateKey; readonly entry: Buffer };

/**
 * Brings the levels of empty keys back into the state, after the output topic was replayed. Invariant: a level
 * counts only above the sequence that the output topic gives its key, so replaying it twice, or one that rows
 * have overtaken since, changes nothing.
 */
export class LevelRestore {
  readonly #parseSequence: (text: string) => Buffer;

  /** `parseSequence`: canonical text of a sequence → its order-preserving bytes. */
  constructor(parseSequence: (text: string) => Buffer) {
    this.#parseSequence = parseSequence;
  }

  /** Reads a slice into the last level of each key. A tombstone says that rows have taken the level's place. */
  load(slice: Slice): readonly LevelChange[] {
    const levels = new Map<StateKey, LevelChange>();
    const { records } = slice;
    while (records.next()) {
      const { bytes, keyStart, keyEnd } = records;
      if (keyEnd < 0) throw foreignRecord(slice, records.offset, 'it has no key');
      const key = bytes.toString('latin1', keyStart, keyEnd);
      if (records.valueEnd >= 0) levels.set(key, { key, ...this.#level(slice, records) });
      else if (readTableHeaders(records).isOurs) levels.delete(key);
      else throw foreignTombstone(slice, records.offset);
    }
    return [...levels.values()];
  }

  #level(slice: Slice, records: RecordCursor): Omit<LevelChange, 'key'> {
    const { sequence, sources = '' } = readTableHeaders(records);
    const provenance = parseSources(sources)?.[0]?.[0];
    if (sequence === undefined || provenance === undefined) {
      throw foreignRecord(slice, records.offset, 'its headers tm-seq and tm-src are missing');
    }
    const parse = () => this.#parseSequence(sequence);
    return { provenance, sequence: readAt(slice, records.offset, parse) };
  }

  /** The entries that change; `present` answers the keys of the changes, by position. */
  apply(
    changes: readonly LevelChange[],
    present: readonly (Buffer | undefined)[],
  ): readonly LevelWrite[] {
    return changes.flatMap(({ key, provenance, sequence }, index) => {
      const known = present[index];
      if (known !== undefined && !isAbove(sequence, known)) return [];
      const numbers = known === undefined ? 0 : storedRowCount(known);
      return [{ key, entry: levelEntry(provenance, sequence, numbers) }];
    });
  }
}

const found = { start: 0, end: 0 };

function isAbove(sequence: Buffer, entry: Buffer): boolean {
  if (!sequenceOf(entry, found)) {
    throw new FlowError('TASK_CORRUPTED', 'a state entry is of an unknown version');
  }
  return sequence.compare(entry, found.start, found.end) > 0;
}

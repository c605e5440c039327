import { Change, decodeChanges, encodeChanges, withChange } from '../../data/change.ts';
import { splitJsonArray } from '../../data/json-split.ts';
import { readHeaders } from '../../data/record-headers.ts';
import type { RecordCursor, Slice } from '../../ports/log.ts';
import type { StateKey } from '../../ports/state-store.ts';
import type { ChangeMerge } from '../change-merge.ts';
import { unknownEntry } from '../key/key-state.ts';
import { stateHeader } from '../output/change-output.ts';
import { parseSources } from '../output/output-record.ts';
import { foreignRecord, foreignTombstone, readAt, readTableHeaders } from '../table-records.ts';

/** What a record says of its key; undefined: nothing counts. */
export type RestoredKey = { readonly key: StateKey; readonly entry: Buffer | undefined };

/**
 * Turns records of an AUTO CDC table's topics back into state entries. Invariant: replaying any tail of the output
 * topic over a state that stood before it gives the state that stands after it, and levels only ever add to it.
 */
export class ChangeRestore {
  readonly #parseSequence: (text: string) => Buffer;

  /** `parseSequence`: canonical text of a sequence → its order-preserving bytes. */
  constructor(parseSequence: (text: string) => Buffer) {
    this.#parseSequence = parseSequence;
  }

  /** The last word on each key of a slice. */
  load(slice: Slice): readonly RestoredKey[] {
    const keys = new Map<StateKey, RestoredKey>();
    const { records } = slice;
    while (records.next()) {
      const { bytes, keyStart, keyEnd } = records;
      if (keyEnd < 0) throw foreignRecord(slice, records.offset, 'it has no key');
      const key = bytes.toString('latin1', keyStart, keyEnd);
      keys.set(key, { key, entry: this.#entry(slice, records) });
    }
    return [...keys.values()];
  }

  #entry(slice: Slice, records: RecordCursor): Buffer | undefined {
    const { bytes, valueStart, valueEnd, headersStart, headersEnd, offset } = records;
    for (const { key, value } of readHeaders(bytes, headersStart, headersEnd)) {
      if (key === stateHeader && value !== null) return Buffer.from(value);
    }
    const { sequence: sequenceText, sources: sourceText, isOurs } = readTableHeaders(records);
    if (valueEnd < 0) {
      if (!isOurs) throw foreignTombstone(slice, offset);
      return undefined;
    }
    const rows = splitJsonArray(bytes, valueStart, valueEnd);
    const provenance = parseSources(sourceText ?? '')?.[0]?.[0];
    const row = rows?.[0];
    if (sequenceText === undefined || provenance === undefined || row === undefined) {
      throw foreignRecord(slice, offset, 'its row and its headers do not agree');
    }
    const sequence = readAt(slice, offset, () => this.#parseSequence(sequenceText));
    return encodeChanges([
      new Change(
        { bytes: sequence, start: 0, end: sequence.length },
        false,
        { bytes: provenance, start: 0, end: provenance.length },
        row,
      ),
    ]);
  }
}

/** What is known of a key with what a level adds to it; both are sets of changes, so the order does not matter. */
export function joinLevel(
  merge: ChangeMerge,
  known: Buffer | undefined,
  level: Buffer | undefined,
): Buffer | undefined {
  if (known === undefined || level === undefined) return known ?? level;
  const [before, added] = [decodeChanges(known), decodeChanges(level)];
  if (before === undefined || added === undefined) throw unknownEntry();
  return encodeChanges(merge.keep(added.reduce(withChange, before), undefined));
}

import { FlowError } from '../base/errors.ts';
import type { Span } from '../data/bytes.ts';
import { splitJsonArray } from '../data/json-split.ts';
import { provenanceSize } from '../data/provenance.ts';
import { readHeaders } from '../data/record-headers.ts';
import {
  decodeRowSet,
  encodeRowSet,
  equalRows,
  levelEntry,
  type RowSet,
  type SetRow,
} from '../data/row-set.ts';
import type { OutputMode } from '../plan/pipeline-plan.ts';
import type { RecordCursor, Slice } from '../ports/log.ts';
import type { StateKey } from '../ports/state-store.ts';
import { splitNumberedKey } from './numbered-key.ts';
import { parseSources } from './output-record.ts';

export type RestoreOptions = {
  readonly output: OutputMode;
  /** SELECT DISTINCT: a numbered record stands for equal rows, whose bytes the state needs. */
  readonly distinct?: boolean;
  /** Canonical text of a sequence → its order-preserving bytes. */
  readonly parseSequence: (text: string) => Buffer;
};

/**
 * Turns records of an output topic back into state entries. Invariant: replaying any tail of the
 * topic over a state that stood before it gives the state that stands after it.
 */
export class Restore {
  readonly #options: RestoreOptions;

  constructor(options: RestoreOptions) {
    this.#options = options;
  }

  /** The keys whose present entries `apply` needs: none where each record is a whole row-set. */
  readonly keysNeeded = (slice: RestoreSlice): readonly StateKey[] =>
    this.#options.output === 'row_set' ? [] : [...new Set(slice.map(({ key }) => key))];

  /** Reads a slice into changes, in log order. */
  load(slice: Slice): RestoreSlice {
    const changes: RestoreChange[] = [];
    const { records } = slice;
    while (records.next()) {
      if (records.keyEnd < 0) throw foreignRecord(slice, records.offset, 'it has no key');
      changes.push(this.#change(slice, records));
    }
    return changes;
  }

  #change(slice: Slice, records: RecordCursor): RestoreChange {
    const { bytes, keyStart, keyEnd } = records;
    const recordKey = bytes.toString('latin1', keyStart, keyEnd);
    const isNumbered = this.#options.output === 'rows';
    const split = isNumbered ? splitNumberedKey(recordKey) : undefined;
    if (isNumbered && split === undefined) {
      throw foreignRecord(slice, records.offset, 'its key has no row number');
    }
    const key = split?.key ?? recordKey;
    const position = split?.position ?? -1;
    let sequenceText: string | undefined;
    let sourceText: string | undefined;
    for (const header of readHeaders(bytes, records.headersStart, records.headersEnd)) {
      if (header.key === 'tm-seq') sequenceText = header.value?.toString('utf8');
      if (header.key === 'tm-src') sourceText = header.value?.toString('latin1');
    }
    if (records.valueEnd < 0) {
      const level = this.#level(sequenceText, sourceText);
      return { key, position, sequence: level?.sequence, rows: undefined, level: level?.entry };
    }
    if (sequenceText === undefined || sourceText === undefined) {
      throw foreignRecord(slice, records.offset, 'its headers tm-seq and tm-src are missing');
    }
    const sequence = this.#options.parseSequence(sequenceText);
    const rows = this.#rows(bytes, records, sourceText);
    if (rows === undefined) {
      throw foreignRecord(slice, records.offset, 'its rows and its header tm-src do not agree');
    }
    return { key, position, sequence, rows, level: undefined };
  }

  /** A marker's tombstone tells the level at which the key is empty; any other tombstone tells nothing. */
  #level(
    sequenceText: string | undefined,
    sourceText: string | undefined,
  ): { readonly sequence: Buffer; readonly entry: Buffer } | undefined {
    if (sequenceText === undefined || sourceText === undefined) return undefined;
    const provenance = parseSources(sourceText)?.[0]?.[0];
    if (provenance === undefined) return undefined;
    const sequence = this.#options.parseSequence(sequenceText);
    return { sequence, entry: levelEntry(provenance, sequence) };
  }

  #rows(bytes: Buffer, records: RecordCursor, sourceText: string): SetRow[] | undefined {
    const sources = parseSources(sourceText);
    if (sources === undefined) return undefined;
    const isWhole = this.#options.output === 'row_set';
    const { valueStart, valueEnd } = records;
    const isKept = this.#options.distinct === true;
    const spans: readonly Span[] | undefined = isWhole
      ? splitJsonArray(bytes, valueStart, valueEnd)
      : [{ bytes, start: isKept ? valueStart : 0, end: isKept ? valueEnd : 0 }];
    if (spans === undefined || spans.length !== sources.length) return undefined;
    const rows: SetRow[] = [];
    for (const [index, group] of sources.entries()) {
      const row = spans[index] as Span;
      for (const provenance of group) {
        rows.push({ provenance: { bytes: provenance, start: 0, end: provenance.length }, row });
      }
    }
    // Equal rows of a DISTINCT stand behind one span: the order of the state is by provenance again.
    if (isWhole) rows.sort((a, b) => a.provenance.bytes.compare(b.provenance.bytes));
    return rows;
  }

  /** The entries after the slice; `present` answers `keysNeeded`, by position. */
  apply(
    changes: RestoreSlice,
    needed: readonly StateKey[],
    present: readonly (Buffer | undefined)[],
  ): ReadonlyMap<StateKey, Buffer | undefined> {
    const entries = new Map<StateKey, Buffer | undefined>();
    for (const [index, key] of needed.entries()) entries.set(key, present[index]);
    for (const change of changes) {
      if (this.#options.output === 'row_set') {
        const { sequence, rows, level } = change;
        entries.set(
          change.key,
          sequence === undefined || rows === undefined
            ? level
            : encodeRowSet({ sequence: whole(sequence), rows }),
        );
      } else {
        const { distinct = false } = this.#options;
        entries.set(change.key, applyNumbered(entries.get(change.key), change, distinct));
      }
    }
    return entries;
  }
}

type RestoreChange = {
  readonly key: StateKey;
  /** -1 in mode `row_set`. */
  readonly position: number;
  /** undefined: a tombstone that tells none. */
  readonly sequence: Buffer | undefined;
  /** undefined: a tombstone. */
  readonly rows: readonly SetRow[] | undefined;
  /** The entry of an empty key. */
  readonly level: Buffer | undefined;
};

export type RestoreSlice = readonly RestoreChange[];

const noProvenance = Buffer.alloc(provenanceSize);

/**
 * Stands for a number whose record was not read yet: compaction may bring a later number first. With DISTINCT
 * its text is one that no row has, so that two of them are not taken for equal rows.
 */
function absent(position: number, isDistinct: boolean): SetRow {
  const bytes = Buffer.from(isDistinct ? `#${position}` : '', 'latin1');
  return { provenance: whole(noProvenance), row: whole(bytes) };
}

/** The rows that each number stands for. */
function numbersOf(present: RowSet | undefined, isDistinct: boolean): SetRow[][] {
  if (present === undefined) return [];
  return isDistinct ? equalRows(present.rows) : present.rows.map((row) => [row]);
}

/**
 * One numbered record. A row of a higher sequence starts the set anew; one of a lower sequence is a
 * leftover whose tombstone follows. A tombstone counts only for a row of the present set.
 */
function applyNumbered(
  entry: Buffer | undefined,
  change: RestoreChange,
  isDistinct: boolean,
): Buffer | undefined {
  const present = entry === undefined ? undefined : decodeRowSet(entry);
  const { sequence, rows, position, level } = change;
  if (sequence === undefined || rows === undefined) {
    if (level !== undefined && sequence !== undefined && isAbove(sequence, present)) return level;
    const kept = numbersOf(present, isDistinct);
    if (present === undefined || position >= kept.length) return entry;
    kept[position] = [absent(position, isDistinct)];
    while (kept.length > 0 && isAbsent(kept.at(-1))) kept.pop();
    if (kept.length === 0) return undefined;
    return encodeRowSet({ sequence: present.sequence, rows: kept.flat() });
  }
  const order =
    present === undefined
      ? 1
      : sequence.compare(present.sequence.bytes, present.sequence.start, present.sequence.end);
  if (order < 0) return entry;
  const kept = order > 0 ? [] : numbersOf(present, isDistinct);
  while (kept.length < position) kept.push([absent(kept.length, isDistinct)]);
  kept[position] = [...rows];
  return encodeRowSet({ sequence: whole(sequence), rows: kept.flat() });
}

function isAbove(sequence: Buffer, present: RowSet | undefined): boolean {
  if (present === undefined) return true;
  const { bytes, start, end } = present.sequence;
  return sequence.compare(bytes, start, end) > 0;
}

function isAbsent(rows: readonly SetRow[] | undefined): boolean {
  const [row] = rows ?? [];
  if (row === undefined) return false;
  const { bytes, start, end } = row.provenance;
  return noProvenance.compare(bytes, start, end) === 0;
}

function whole(bytes: Buffer): Span {
  return { bytes, start: 0, end: bytes.length };
}

function foreignRecord(slice: Slice, offset: number, reason: string): FlowError {
  return new FlowError(
    'RECORD_CORRUPT',
    `output topic "${slice.topic}" holds a record that is not one of ours`,
    {
      detail: `Partition ${slice.partition}, offset ${offset}: ${reason}.`,
      hint: 'Find out what else writes to this topic. A table may not be written by anything but its pipeline.',
    },
  );
}

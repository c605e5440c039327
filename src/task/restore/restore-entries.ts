import { compareBytes, equalSpans, type Span } from '../../data/bytes.ts';
import { splitJsonArray } from '../../data/json-split.ts';
import {
  decodeRowSet,
  encodeRowSet,
  equalRows,
  isLevelEntry,
  isSingleEntry,
  isVacant,
  levelEntry,
  type RowSet,
  type SetRow,
  sequenceOf,
  storedRowCount,
  vacantRow,
} from '../../data/row-set.ts';
import type { SequenceCodec } from '../../data/sequence.ts';
import type { OutputMode } from '../../plan/pipeline-plan.ts';
import type { RecordCursor, Slice } from '../../ports/log.ts';
import type { StateKey } from '../../ports/state-store.ts';
import { splitNumberedSpan } from '../output/numbered-key.ts';
import { parseSources } from '../output/output-record.ts';
import { foreignRecord, foreignTombstone, readTableHeaders, withPlace } from '../table-records.ts';
import { SingleRecords } from './restore-single.ts';

export type RestoreOptions = {
  readonly output: OutputMode;
  /** SELECT DISTINCT: a numbered record stands for equal rows, whose bytes the state needs. */
  readonly distinct?: boolean;
  readonly sequence: Pick<SequenceCodec, 'parse' | 'readText'>;
  /** Whether a full refresh wrote what stands at an offset: only there may a key's sequence go down. */
  readonly isSwapped?: ((offset: number) => boolean) | undefined;
};

/**
 * Turns records of an output topic back into state entries. Invariant: replaying any tail of the
 * topic over a state that stood before it gives the state that stands after it.
 */
export class Restore {
  readonly #options: RestoreOptions;
  readonly #singles: SingleRecords;

  constructor(options: RestoreOptions) {
    this.#options = options;
    const { output, distinct, sequence } = options;
    const isList = output === 'row_set';
    this.#singles = new SingleRecords({ isList, withRow: isList || distinct === true, sequence });
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
      try {
        changes.push(this.#change(slice, records));
      } catch (error) {
        throw withPlace(error, slice, records.offset);
      }
    }
    return changes;
  }

  #change(slice: Slice, records: RecordCursor): RestoreChange {
    const { bytes, keyStart, keyEnd } = records;
    const isNumbered = this.#options.output === 'rows';
    const split = isNumbered ? splitNumberedSpan(bytes, keyStart, keyEnd) : undefined;
    if (isNumbered && split === undefined) {
      throw foreignRecord(slice, records.offset, 'its key has no row number');
    }
    const key = split?.key ?? bytes.toString('latin1', keyStart, keyEnd);
    const position = split?.position ?? -1;
    const isSwapped = this.#options.isSwapped?.(records.offset) === true;
    const single = this.#singles.entryOf(records);
    if (single !== undefined) {
      // Each field by its name: to spread an object takes longer than the rest of a record's way.
      return {
        key,
        position,
        sequence: undefined,
        rows: undefined,
        level: undefined,
        single,
        isSwapped,
      };
    }
    const { sequence: sequenceText, sources: sourceText, isOurs } = readTableHeaders(records);
    if (records.valueEnd < 0) {
      if (!isOurs) throw foreignTombstone(slice, records.offset);
      const level = this.#level(sequenceText, sourceText);
      const sequence = level?.sequence;
      return { key, position, sequence, rows: undefined, level, single, isSwapped };
    }
    if (sequenceText === undefined || sourceText === undefined) {
      throw foreignRecord(slice, records.offset, 'its headers tm-seq and tm-src are missing');
    }
    const sequence = this.#options.sequence.parse(sequenceText);
    const rows = this.#rows(bytes, records, sourceText);
    if (rows === undefined) {
      throw foreignRecord(slice, records.offset, 'its rows and its header tm-src do not agree');
    }
    return { key, position, sequence, rows, level: undefined, single, isSwapped };
  }

  /** A marker's tombstone tells the level at which the key is empty; any other tombstone tells nothing. */
  #level(sequenceText: string | undefined, sourceText: string | undefined): Level | undefined {
    if (sequenceText === undefined || sourceText === undefined) return undefined;
    const provenance = parseSources(sourceText)?.[0]?.[0];
    if (provenance === undefined) return undefined;
    return { provenance, sequence: this.#options.sequence.parse(sequenceText) };
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
        entries.set(change.key, wholeEntry(change));
      } else {
        const { distinct = false } = this.#options;
        const before = entries.get(change.key);
        const entry = isAlone(before, change)
          ? laterOf(before, change)
          : applyNumbered(before, listed(change), distinct);
        entries.set(change.key, entry);
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
  /** Of an empty key. */
  readonly level: Level | undefined;
  /** The entry of a record of one row, which says the same as sequence and rows would. */
  readonly single: Buffer | undefined;
  readonly isSwapped: boolean;
};

type Level = { readonly provenance: Buffer; readonly sequence: Buffer };

export type RestoreSlice = readonly RestoreChange[];

/** Of a record that is a whole row-set. */
function wholeEntry({ single, sequence, rows, level }: RestoreChange): Buffer | undefined {
  if (single !== undefined) return single;
  if (sequence === undefined || rows === undefined) {
    return level && levelEntry(level.provenance, level.sequence);
  }
  return encodeRowSet({ sequence: whole(sequence), rows });
}

/** Whether a key has no number but 0, before the record and after it. */
function isAlone(entry: Buffer | undefined, { single, position }: RestoreChange): boolean {
  return single !== undefined && position === 0 && (entry === undefined || isSingleEntry(entry));
}

/** What `applyNumbered` would make of such a key: the row of the higher sequence, of equal ones the later. */
function laterOf(
  entry: Buffer | undefined,
  { single, isSwapped }: RestoreChange,
): Buffer | undefined {
  if (entry === undefined || single === undefined || isSwapped) return single;
  const now = { start: 0, end: 0 };
  const before = { start: 0, end: 0 };
  // An entry of an unknown version is replaced, as it would be by any record.
  if (!sequenceOf(entry, before) || !sequenceOf(single, now)) return single;
  const order = compareBytes(single, now.start, now.end, entry, before.start, before.end);
  return order < 0 ? entry : single;
}

/** The change with its row as an object. */
function listed(change: RestoreChange): RestoreChange {
  const { single } = change;
  const rowSet = single && decodeRowSet(single);
  if (single === undefined || rowSet === undefined) return change;
  const { start, end } = rowSet.sequence;
  return { ...change, sequence: single.subarray(start, end), rows: rowSet.rows };
}

/** The rows that each number stands for; those of which only the records are left stand for none. */
function numbersOf(entry: Buffer | undefined, isDistinct: boolean): SetRow[][] {
  if (entry === undefined) return [];
  if (isLevelEntry(entry)) return vacantNumbers(storedRowCount(entry));
  const rows = decodeRowSet(entry)?.rows ?? [];
  return isDistinct ? equalRows(rows) : rows.map((row) => [row]);
}

function vacantNumbers(count: number): SetRow[][] {
  return Array.from({ length: count }, (_, position) => [vacantRow(position)]);
}

/**
 * One numbered record. A row of a higher sequence starts the set anew; the records of the set before it are
 * leftovers until a tombstone or a row takes the place of each. So is a row of a lower sequence. A tombstone
 * counts only for a number of the present set.
 */
function applyNumbered(
  entry: Buffer | undefined,
  change: RestoreChange,
  isDistinct: boolean,
): Buffer | undefined {
  const present = entry === undefined ? undefined : decodeRowSet(entry);
  const { sequence, rows, position, level } = change;
  const numbers = numbersOf(entry, isDistinct);
  if (sequence === undefined || rows === undefined) {
    if (level !== undefined && isAbove(level.sequence, present)) {
      return levelEntry(level.provenance, level.sequence, numbers.length);
    }
    if (entry === undefined || present === undefined) return entry;
    if (isLevelEntry(entry)) return change.isSwapped ? undefined : entry;
    const left = buried(present, numbers, position);
    // What a refresh takes away goes without leaving a sequence behind.
    return change.isSwapped && numbers.flat().every(isVacant) ? undefined : left;
  }
  const compared = present === undefined ? 1 : compareTo(sequence, present);
  const order = change.isSwapped ? Math.abs(compared) : compared;
  if (order < 0) return entry;
  const kept = order > 0 ? vacantNumbers(numbers.length) : numbers;
  while (kept.length < position) kept.push([vacantRow(kept.length)]);
  if (isDistinct) vacateEqual(kept, rows[0]);
  kept[position] = [...rows];
  return encodeRowSet({ sequence: whole(sequence), rows: kept.flat() });
}

/**
 * Equal rows have one number in the end. Where another number has the row of a record, a record of its own is still to come: a refresh
 * gives rows other numbers. Left there, both would be taken for one number, and the next ones for those before them.
 */
function vacateEqual(numbers: SetRow[][], row: SetRow | undefined): void {
  if (row === undefined) return;
  for (const [number, [first]] of numbers.entries()) {
    if (first === undefined || isVacant(first) || !equalSpans(first.row, row.row)) continue;
    numbers[number] = [vacantRow(number)];
  }
}

/** Tombstones of numbers come from the last one down, so the others may still have a record. */
function buried(present: RowSet, numbers: SetRow[][], position: number): Buffer | undefined {
  const last = numbers.length - 1;
  if (position < last) numbers[position] = [vacantRow(position)];
  else if (position === last) numbers.pop();
  if (numbers.length === 0) return undefined;
  return encodeRowSet({ sequence: present.sequence, rows: numbers.flat() });
}

function compareTo(sequence: Buffer, { sequence: { bytes, start, end } }: RowSet): number {
  return sequence.compare(bytes, start, end);
}

function isAbove(sequence: Buffer, present: RowSet | undefined): boolean {
  return present === undefined || compareTo(sequence, present) > 0;
}

function whole(bytes: Buffer): Span {
  return { bytes, start: 0, end: bytes.length };
}

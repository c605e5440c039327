import { createHash } from 'node:crypto';
import { splitJsonArray } from '../../data/json-split.ts';
import type { SequenceCodec } from '../../data/sequence.ts';
import type { Log, RecordCursor, Slice } from '../../ports/log.ts';
import type { LostKeys } from '../../refresh/lost-keys.ts';
import type { SourceBounds } from '../../refresh/retention.ts';
import type { JoinRow, JoinSet } from '../../refresh/row-join.ts';
import { splitNumberedKey } from '../../task/output/numbered-key.ts';
import { parseSources } from '../../task/output/output-record.ts';
import { foreignRecord, readTableHeaders } from '../../task/table-records.ts';
import { levelLoss, type RecordForm, recordLosses } from '../takeover/record-losses.ts';

/** The last record of one record key, without its bytes. */
export type RawRecord = {
  /** Latin1 text of the key columns, without a row number. */
  readonly key: string;
  /** undefined: the record is a whole row-set. */
  readonly position: number | undefined;
  /** Of value, sequence, sources and state: what two records have in common that say the same. */
  readonly digest: string;
  readonly offset: number;
  readonly size: number;
};

const rawOverheadBytes = 220;

/** Reads one partition between two offsets, slice by slice. */
export async function eachSlice(
  log: Log,
  topic: string,
  {
    partition,
    from,
    to,
  }: { readonly partition: number; readonly from: number; readonly to: number },
  take: (slice: Slice) => Promise<void> | void,
): Promise<void> {
  if (from >= to) return;
  const reader = log.openReader();
  try {
    reader.assign(topic, partition, from);
    for (let position = from; position < to; ) {
      for (const slice of await reader.poll(500)) {
        await take(slice);
        position = slice.nextOffset;
      }
    }
  } finally {
    await reader.close();
  }
}

/** What is told of each record while a topic is folded. */
export type FoldListener = {
  readonly isWanted: (key: string) => boolean;
  /** Where lost keys are collected; undefined: nobody asks. */
  readonly lost?: LostListener | undefined;
};

type LostListener = {
  readonly keys: LostKeys;
  readonly bounds: SourceBounds;
  readonly form: RecordForm;
  /** Whether what is not ours goes like everything else; else it is an error. */
  readonly takesAll: boolean;
};

/** The last record of each record key of one partition. Invariant: its size grows with the keys, not with the rows. */
export class RawFold {
  readonly records = new Map<string, RawRecord>();
  heldBytes = 0;
  readonly #isNumbered: boolean;
  readonly #role: 'output' | 'levels';

  constructor(role: 'output' | 'levels', isNumbered: boolean) {
    this.#role = role;
    this.#isNumbered = isNumbered;
  }

  take(slice: Slice, { isWanted, lost }: FoldListener): void {
    const { records } = slice;
    while (records.next()) {
      if (records.keyEnd < 0) throw foreignRecord(slice, records.offset, 'it has no key');
      const raw = records.bytes.toString('latin1', records.keyStart, records.keyEnd);
      const split = this.#isNumbered ? splitNumberedKey(raw) : undefined;
      const key = split?.key ?? raw;
      if (!isWanted(key)) continue;
      // One of somebody else is to be covered by ours, or whoever reads the table would meet it.
      const isCovered = lost?.takesAll === true && !readTableHeaders(records).isOurs;
      if (records.valueEnd < 0 && !isCovered) this.#forget(raw);
      else this.#keep(raw, { key, position: split?.position }, records);
      if (lost !== undefined) this.#judge(slice, key, split?.position ?? 0, lost);
    }
  }

  #keep(raw: string, place: Pick<RawRecord, 'key' | 'position'>, records: RecordCursor): void {
    const { bytes, valueStart, valueEnd, offset } = records;
    const { sequence, sources, state } = readTableHeaders(records);
    const hash = createHash('sha1')
      .update(bytes.subarray(valueStart, Math.max(valueStart, valueEnd)))
      .update(`\0${sequence ?? ''}\0${sources ?? ''}`);
    if (state !== undefined) hash.update('\0').update(state);
    const digest = hash.digest('base64');
    if (!this.records.has(raw)) this.heldBytes += raw.length * 2 + rawOverheadBytes;
    const valueSize = Math.max(0, valueEnd - valueStart);
    const size = records.headersEnd - records.headersStart + valueSize + raw.length;
    this.records.set(raw, { ...place, digest, offset, size });
  }

  #forget(raw: string): void {
    if (this.records.delete(raw)) this.heldBytes -= raw.length * 2 + rawOverheadBytes;
  }

  #judge(
    slice: Slice,
    key: string,
    position: number,
    { keys, takesAll, ...how }: LostListener,
  ): void {
    const { records } = slice;
    // Of somebody else's record nothing can be lost.
    const isTombstone = records.valueEnd < 0 || (takesAll && !isReadable(records));
    if (this.#role === 'levels') {
      keys.level(key, isTombstone ? undefined : levelLoss(recordLosses(slice, how)));
    } else if (isTombstone) {
      keys.tombstone(key, position);
    } else {
      keys.record({ key, position, ...recordLosses(slice, how) });
    }
  }
}

type HeldRecord = {
  readonly value: Buffer;
  readonly sequence: Buffer;
  readonly sources: Buffer[][];
};

function isReadable(records: RecordCursor): boolean {
  const { sequence, sources } = readTableHeaders(records);
  return sequence !== undefined && sources !== undefined && parseSources(sources) !== undefined;
}

type SetFoldOptions = {
  readonly isNumbered: boolean;
  readonly parse: SequenceCodec['parse'];
  readonly takesAll: boolean;
};

/** The row-sets of some keys, with their bytes. */
export class SetFold {
  readonly #held = new Map<string, Map<number, HeldRecord>>();
  readonly #levels = new Map<string, HeldRecord>();
  readonly #keys: ReadonlySet<string>;
  readonly #isNumbered: boolean;
  readonly #parse: SequenceCodec['parse'];
  readonly #takesAll: boolean;

  constructor(keys: ReadonlySet<string>, { isNumbered, parse, takesAll }: SetFoldOptions) {
    this.#keys = keys;
    this.#isNumbered = isNumbered;
    this.#parse = parse;
    this.#takesAll = takesAll;
  }

  takeOutput(slice: Slice): void {
    const { records } = slice;
    while (records.next()) {
      const raw = records.bytes.toString('latin1', records.keyStart, records.keyEnd);
      const split = this.#isNumbered ? splitNumberedKey(raw) : undefined;
      const key = split?.key ?? raw;
      if (!this.#keys.has(key)) continue;
      const rows = this.#held.get(key) ?? new Map<number, HeldRecord>();
      this.#held.set(key, rows);
      if (this.#isGone(records)) rows.delete(split?.position ?? 0);
      else rows.set(split?.position ?? 0, this.#read(slice));
    }
  }

  takeLevels(slice: Slice): void {
    const { records } = slice;
    while (records.next()) {
      const key = records.bytes.toString('latin1', records.keyStart, records.keyEnd);
      if (!this.#keys.has(key)) continue;
      if (this.#isGone(records)) this.#levels.delete(key);
      else this.#levels.set(key, this.#read(slice));
    }
  }

  #isGone(records: RecordCursor): boolean {
    return records.valueEnd < 0 || (this.#takesAll && !isReadable(records));
  }

  #read(slice: Slice): HeldRecord {
    const { records } = slice;
    const { bytes, valueStart, valueEnd, offset } = records;
    const { sequence, sources } = readTableHeaders(records);
    const groups = sources === undefined ? undefined : parseSources(sources);
    if (sequence === undefined || groups === undefined) {
      throw foreignRecord(slice, offset, 'its headers tm-seq and tm-src are missing');
    }
    const value = Buffer.from(bytes.subarray(valueStart, valueEnd));
    return { value, sequence: this.#parse(sequence), sources: groups };
  }

  /** Row numbers that have a record now. */
  positions(key: string): readonly number[] {
    return [...(this.#held.get(key)?.keys() ?? [])].sort((left, right) => left - right);
  }

  /** The rows of the highest sequence, or the level where it is higher; undefined: nothing is known of the key. */
  set(key: string): JoinSet | undefined {
    const records = this.positions(key).flatMap((at) => this.#held.get(key)?.get(at) ?? []);
    const level = this.#levels.get(key);
    let highest = level?.sequence;
    for (const { sequence } of records) {
      if (highest === undefined || sequence.compare(highest) > 0) highest = sequence;
    }
    if (highest === undefined) return undefined;
    const sequence = highest;
    const rows = records
      .filter((record) => record.sequence.equals(sequence))
      .flatMap((record) => this.#rows(record));
    if (rows.length > 0 || level === undefined) return { sequence, rows };
    return { sequence, rows: [], levelSource: level.sources[0]?.[0] };
  }

  #rows({ value, sources }: HeldRecord): JoinRow[] {
    const spans = this.#isNumbered
      ? [{ bytes: value, start: 0, end: value.length }]
      : (splitJsonArray(value, 0, value.length) ?? []);
    return spans.map(({ bytes, start, end }, index) => ({
      json: bytes.subarray(start, end),
      sources: sources[index] ?? [],
    }));
  }
}

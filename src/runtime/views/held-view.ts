import { splitJsonArray } from '../../data/json-split.ts';
import { rowDecoder } from '../../data/row-decoder.ts';
import type { Row } from '../../data/value.ts';
import type { IncrementalView } from '../../plan/flows/incremental-view.ts';
import type { Log, RecordCursor } from '../../ports/log.ts';
import { PartRows } from '../../task/row/part-rows.ts';
import {
  foreignRecord,
  foreignTombstone,
  readTableHeaders,
  withPlace,
} from '../../task/table-records.ts';
import { type ViewRecord, type ViewRecords, viewDifferences } from '../../task/view-records.ts';
import { readPartition } from '../worker/read-partition.ts';
import type { InputFacts } from './read-input-rows.ts';

/** Of the records of a view's table that are held between its computations, in bytes; of more than that none are. */
export const heldBytesMax = 16 * 1024 * 1024;

export type HeldViewOptions = {
  readonly log: Log;
  readonly view: IncrementalView;
  readonly input: Extract<InputFacts, { kind: 'table' }>;
  readonly layout: ConstructorParameters<typeof PartRows>[0]['layout'];
  readonly timeZone: string;
  readonly nowMicros: bigint;
  readonly bytesMax?: number;
};

export type HeldChanges = {
  readonly changes: ReadonlyMap<string, ViewRecord | undefined>;
  /** Records of the table that were read for them. */
  readonly read: number;
};

/** Whether a table is written so that a record of it tells all rows of its key. */
export function canBeHeld(input: InputFacts): input is Extract<InputFacts, { kind: 'table' }> {
  return input.kind === 'table' && input.table.output !== 'rows';
}

/**
 * A materialized view as its owner holds it from one computation to the next, so that it reads what has come since and
 * computes what that belongs to. Invariant: it tells what a computation of everything would; where it cannot, it says so
 * and is to be thrown away.
 */
export class HeldView {
  readonly #options: HeldViewOptions;
  readonly #decode: (bytes: Buffer, start: number, end: number) => Row;
  readonly #parts: PartRows;
  /** By partition of the table: where its log began, and what is read next. */
  readonly #places = new Map<number, { readonly start: number; position: number }>();
  readonly #sizes = new Map<string, number>();
  #bytes = 0;
  #read = 0;
  /** Record key → value, as the topic of the view holds them. */
  #written: Map<string, string> | undefined;

  constructor(options: HeldViewOptions) {
    const decode = rowDecoder(options.input.table.columns);
    this.#options = options;
    this.#decode = (bytes, start, end) => decode({ bytes, start, end });
    this.#parts = new PartRows(options);
  }

  get rows(): number {
    return this.#parts.count;
  }

  get expectations(): ReadonlyMap<string, { readonly passed: number; readonly failed: number }> {
    const { tallies } = this.#parts;
    return new Map([...tallies].filter(([, { passed, failed }]) => passed + failed > 0));
  }

  /**
   * What has to be written now. `written` is asked for one time, for what the topic of the view holds. undefined: it is too
   * large to be held, or its table no longer begins where it did.
   */
  async changes(
    written: () => Promise<ReadonlyMap<string, string>>,
  ): Promise<HeldChanges | undefined> {
    this.#read = 0;
    const { partitions } = this.#options.input;
    for (let partition = 0; partition < partitions; partition += 1) {
      if (!(await this.#follow(partition))) return undefined;
    }
    const touched = this.#parts.refresh();
    if (this.#written === undefined) {
      this.#written = new Map(await written());
      // All of it is new here, so that nothing of it is gone.
      const changes = viewDifferences(this.#written, touched as ViewRecords);
      return { changes, read: this.#read };
    }
    const before = this.#written;
    const changes = new Map(
      [...touched].filter(([key, record]) => before.get(key) !== record?.value),
    );
    return { changes, read: this.#read };
  }

  /** The changes stand in the topic. */
  applied({ changes }: HeldChanges): void {
    for (const [key, record] of changes) {
      if (record === undefined) this.#written?.delete(key);
      else this.#written?.set(key, record.value);
    }
  }

  async #follow(partition: number): Promise<boolean> {
    const { log, input, bytesMax = heldBytesMax } = this.#options;
    const { topic, partitions, table } = input;
    const range = (await log.offsetRanges(topic, [partition])).get(partition);
    if (range === undefined) return false;
    let place = this.#places.get(partition);
    if (place === undefined) {
      place = { start: range.start, position: range.start };
      this.#places.set(partition, place);
    }
    // A compacted topic may begin later without a change; one that is kept whole was emptied.
    const isCut = table.output === 'append' && range.start !== place.start;
    const { position: from } = place;
    if (isCut || range.start > from || range.end < from) return false;
    const now = place;
    await readPartition({ log, topic, partition, partitions, from }, ({ records, nextOffset }) => {
      while (this.#bytes <= bytesMax && records.next()) {
        this.#read += 1;
        this.#take(records, partition);
      }
      now.position = nextOffset;
    });
    return this.#bytes <= bytesMax;
  }

  #take(records: RecordCursor, partition: number): void {
    try {
      this.#takeRecord(records, partition);
    } catch (error) {
      throw withPlace(error, { topic: this.#options.input.topic, partition }, records.offset);
    }
  }

  #takeRecord(records: RecordCursor, partition: number): void {
    const { table, topic } = this.#options.input;
    const { bytes, keyStart, keyEnd, valueStart, valueEnd, offset } = records;
    const place = { topic, partition };
    const { isOurs, sources } = readTableHeaders(records);
    if (table.output === 'append') {
      if (valueEnd < 0 || sources === undefined) {
        throw foreignRecord(place, offset, 'it is no row with its header tm-src');
      }
      const row = this.#decode(bytes, valueStart, valueEnd);
      this.#set(partition, String(offset), [row], valueEnd - valueStart);
      return;
    }
    if (keyEnd < 0) throw foreignRecord(place, offset, 'it has no key');
    const key = bytes.toString('latin1', keyStart, keyEnd);
    if (valueEnd < 0) {
      if (!isOurs) throw foreignTombstone(place, offset);
      this.#set(partition, key, undefined, 0);
      return;
    }
    const spans = splitJsonArray(bytes, valueStart, valueEnd);
    if (spans === undefined || sources === undefined) {
      throw foreignRecord(place, offset, 'its rows and its header tm-src do not agree');
    }
    const rows = spans.map((span) => this.#decode(span.bytes, span.start, span.end));
    this.#set(partition, key, rows, valueEnd - valueStart);
  }

  #set(partition: number, key: string, rows: readonly Row[] | undefined, size: number): void {
    const name = `${partition}/${key}`;
    this.#bytes += size - (this.#sizes.get(name) ?? 0);
    if (rows === undefined) this.#sizes.delete(name);
    else this.#sizes.set(name, size);
    this.#parts.set(partition, key, rows);
  }
}

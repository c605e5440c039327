import { ByteWriter } from '../data/byte-writer.ts';
import { rowEncoder } from '../data/json-encode.ts';
import { keyEncoder } from '../data/key.ts';
import type { Column } from '../data/types.ts';
import type { Row } from '../data/value.ts';
import { sha2 } from '../expr/digest/sha2.ts';

/** The rows of one record key: a JSON array. */
export type ViewRecord = { readonly value: string; readonly rows: number };

/** By the record key. Texts are of bytes: one character each. */
export type ViewRecords = ReadonlyMap<string, ViewRecord>;

export type ViewLayout = {
  readonly columns: readonly Column[];
  /** Positions of the columns that make the key; undefined: the row itself does. */
  readonly keys: readonly number[] | undefined;
};

/** Digits of a row's digest that name it: two different rows never share them. */
const digestDigits = 40;

/**
 * The records that hold the rows of a materialized view. Invariant: equal rows are in one record, and the records
 * depend on the rows alone, whatever their order.
 */
export function viewRecords(rows: Iterable<Row>, { columns, keys }: ViewLayout): ViewRecords {
  const encodeRow = rowEncoder(columns, 'kept');
  const keyColumns = (keys ?? []).flatMap((position) => columns[position] ?? []);
  const encodeKey = keyEncoder(keyColumns);
  const out = new ByteWriter(1024);
  const found = new Map<string, string[]>();
  for (const row of rows) {
    out.reset();
    encodeRow(row, out);
    const text = out.buffer.toString('latin1', 0, out.length);
    let key: string;
    if (keys === undefined) {
      const digest = sha2(out.buffer.subarray(0, out.length), 256) ?? '';
      key = `{"_hash":"${digest.slice(0, digestDigits)}"}`;
    } else {
      out.reset();
      encodeKey.encode(
        keys.map((position) => row[position] ?? null),
        out,
      );
      key = out.buffer.toString('latin1', 0, out.length);
    }
    const before = found.get(key);
    if (before === undefined) found.set(key, [text]);
    else before.push(text);
  }
  const records = new Map<string, ViewRecord>();
  for (const [key, texts] of found) {
    // A key that is no group may hold several rows; whichever order they came in, they are written in one.
    records.set(key, { value: `[${texts.sort().join(',')}]`, rows: texts.length });
  }
  return records;
}

/** What has to be written so that `after` stands where `before` did; undefined: the key is gone. */
export function viewDifferences(
  before: ReadonlyMap<string, string>,
  after: ViewRecords,
): ReadonlyMap<string, ViewRecord | undefined> {
  const changes = new Map<string, ViewRecord | undefined>();
  for (const [key, record] of after) {
    if (before.get(key) !== record.value) changes.set(key, record);
  }
  for (const key of before.keys()) if (!after.has(key)) changes.set(key, undefined);
  return changes;
}

import { nameKey } from './bind/names.ts';

/** The columns of `read_kafka` on Databricks, and which column of a source each of them is. */
export const kafkaColumns: readonly (readonly [name: string, column: string])[] = [
  ['key', '_key'],
  ['value', 'value'],
  ['topic', '_topic'],
  ['partition', '_partition'],
  ['offset', '_offset'],
  ['timestamp', '_timestamp'],
];

/** Whether columns are those of raw records, in which nobody has looked for fields yet. */
export function isRawRow(columns: readonly { readonly name?: string | undefined }[]): boolean {
  const names = new Set(columns.map(({ name }) => nameKey(name ?? '')));
  return [...kafkaColumns.map(([name]) => name), 'timestampType'].every((name) =>
    names.has(nameKey(name)),
  );
}

export const rawRowHint =
  "read_kafka gives the raw records: take fields out of the value (SELECT from_json(CAST(value AS STRING), 'id BIGINT').id AS id), or declare a source that decodes them (CREATE SOURCE name (id BIGINT) WITH (topic = '…')).";

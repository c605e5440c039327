import type { ByteWriter } from '../../data/byte-writer.ts';
import { keyEncoder } from '../../data/key.ts';
import type { Column } from '../../data/types.ts';
import type { Row } from '../../data/value.ts';
import type { SourcePlan } from '../../plan/pipeline-plan.ts';
import type { RecordCursor } from '../../ports/log.ts';
import { PartCursor } from '../key/key-version.ts';
import { foreignToTable } from '../row/chained-source.ts';
import { type RecordPlace, SourceReader } from '../row/source-reader.ts';

export type EmptiedKeyOptions = {
  readonly source: SourcePlan;
  readonly timeZone: string;
  /** The source's columns that are the keys of the flow. */
  readonly positions: readonly number[];
};

/**
 * The key of a flow from the key of a record of a table whose rows are replaced: a version without rows has no other place
 * where it stands. Invariant: the same bytes as a row of that key gives.
 */
export class EmptiedKey {
  readonly #reader: SourceReader;
  readonly #positions: readonly number[];
  readonly #encode: ReturnType<typeof keyEncoder>['encode'];
  readonly #part = new PartCursor();

  /** `columns`: the key columns of the flow's table. */
  constructor({ source, timeZone, positions }: EmptiedKeyOptions, columns: readonly Column[]) {
    this.#positions = positions;
    this.#reader = new SourceReader({
      source,
      used: new Set(positions),
      located: new Set(),
      timeZone,
    });
    this.#encode = keyEncoder(columns).encode;
  }

  read(records: RecordCursor, place: RecordPlace): Row {
    const { keyStart, keyEnd } = records;
    const bad = this.#reader.read(this.#part.of(records, keyStart, keyEnd), place);
    if (bad !== undefined) throw foreignToTable(records, place);
    return this.#positions.map((position) => this.#reader.row[position] ?? null);
  }

  write(row: Row, out: ByteWriter): void {
    this.#encode(row, out);
  }
}

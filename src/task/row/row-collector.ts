import { ByteWriter } from '../../data/byte-writer.ts';
import { provenanceSize } from '../../data/provenance.ts';
import { deleteFlag, emptyFlag, truncateFlag } from '../../data/row-envelope.ts';
import type { Row } from '../../data/value.ts';
import { compile, newFrame } from '../../expr/compile.ts';
import { ExpressionError } from '../../expr/expression-error.ts';
import type { ExpectationPlan, TablePlan } from '../../plan/pipeline-plan.ts';
import type { RecordCursor } from '../../ports/log.ts';
import type { RowOutput } from '../output/row-output.ts';
import type { BadRow } from './bad-row.ts';
import type { RowProgram } from './row-program.ts';

/** A row as the query gives it, before it is merged; of an append flow key and sequence are empty. */
export type SourceRow = {
  /** Latin1 text of the canonical key; empty where the row is of every key. */
  readonly key: string;
  /** Its order-preserving bytes; undefined: the row has none that counts; unless an expectation drops it before, it is bad for that reason. */
  readonly sequence: Buffer | undefined;
  readonly bad: BadRow | undefined;
  /** It says that its key has no rows. */
  readonly isMarker: boolean;
  /** It says that its key lost its row (AUTO CDC). */
  readonly isDelete: boolean;
  /** It says that every key lost its row (AUTO CDC), and has no key itself. */
  readonly isTruncate: boolean;
  readonly provenance: Buffer;
  readonly json: string;
  /** Expectations that it does not meet. */
  readonly violated: readonly ExpectationPlan[];
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
};

export type RowCollectorOptions = {
  /** With its expectations as they are declared; the programs are to keep the rows that these drop. */
  readonly table: TablePlan;
  readonly timeZone: string;
  readonly nowMs: number;
  /** Rows meet by key. */
  readonly isKeyed: boolean;
  readonly onRow: (row: SourceRow) => void;
};

/**
 * Hands over rows instead of sending them, each with what keeps it out of the table. Invariant: key, sequence, provenance
 * and bytes are those that the flow itself would give the row.
 */
export class RowCollector implements RowOutput {
  readonly #options: RowCollectorOptions;
  readonly #place: { readonly topic: string; readonly partition: number };
  readonly #expectations: readonly {
    readonly expectation: ExpectationPlan;
    readonly isMet: (row: Row) => boolean;
  }[];
  readonly #bytes = new ByteWriter(4 * 1024);
  #rows: SourceRow[] = [];

  constructor(
    options: RowCollectorOptions,
    place: { readonly topic: string; readonly partition: number },
  ) {
    this.#options = options;
    this.#place = place;
    const { table, timeZone } = options;
    const frame = newFrame(BigInt(Math.floor(options.nowMs)) * 1000n);
    this.#expectations = table.expectations.map((expectation) => {
      const evaluate = compile(expectation.condition, { timeZone });
      return { expectation, isMet: (row) => evaluate(row, frame) === true };
    });
  }

  begin(): void {
    this.#rows = [];
  }

  add(program: RowProgram, row: Row, provenance: Buffer, records: RecordCursor): void {
    const { isKeyed } = this.#options;
    const flags = isKeyed ? program.flagsOf(row) : 0;
    // What is no row but says that rows are gone is judged by nothing.
    const violated = flags === 0 ? this.#violatedBy(row) : [];
    const isTruncate = (flags & truncateFlag) !== 0;
    // The flow asks for key and sequence of a row only after it has judged it.
    const isDropped = violated.some(({ action }) => action !== 'warn');
    let key = '';
    let bad: BadRow | undefined;
    let sequence: Buffer | undefined;
    if (isKeyed) {
      try {
        if (!isTruncate) key = this.#text(() => program.encodeKey(row, this.#bytes));
      } catch (error) {
        if (!isDropped || !(error instanceof ExpressionError)) throw error;
      }
      this.#bytes.reset();
      try {
        program.encodeSequence(row, this.#bytes, records.timestampMs);
        sequence = this.#bytes.copy();
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error;
        if (!isDropped) bad = { errorClass: error.errorClass, message: error.message };
      }
    }
    const isMarker = (flags & emptyFlag) !== 0;
    const json = this.#text(() => program.encodeRow(row, this.#bytes));
    this.#rows.push({
      ...this.#place,
      key,
      sequence,
      bad,
      isMarker,
      isDelete: (flags & deleteFlag) !== 0,
      isTruncate,
      provenance: Buffer.from(provenance.subarray(0, provenanceSize)),
      json: isMarker ? '' : Buffer.from(json, 'latin1').toString('utf8'),
      violated,
      offset: records.offset,
    });
  }

  #violatedBy(row: Row): readonly ExpectationPlan[] {
    return this.#expectations.filter(({ isMet }) => !isMet(row)).map((one) => one.expectation);
  }

  #text(write: () => void): string {
    this.#bytes.reset();
    write();
    return this.#bytes.buffer.toString('latin1', 0, this.#bytes.length);
  }

  /** One bad row makes its whole record bad. */
  send(): number {
    const rows = this.#rows;
    this.#rows = [];
    const bad = rows.find((one) => one.bad !== undefined)?.bad;
    for (const row of rows) this.#options.onRow(bad === undefined ? row : { ...row, bad });
    return rows.length;
  }
}

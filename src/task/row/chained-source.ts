import type { FlowError } from '../../base/errors.ts';
import { provenanceSize, readProvenance } from '../../data/provenance.ts';
import { readHeaders } from '../../data/record-headers.ts';
import type { RecordCursor } from '../../ports/log.ts';
import { parseSources } from '../output/output-record.ts';
import { foreignRecord } from '../table-records.ts';
import { elementsMax } from './row-steps.ts';
import type { RecordPlace } from './source-reader.ts';

/** Sides of a union that have room beside those of the table that is read. */
export const chainedBranches = 16;

/** How a branch that reads a table numbers its rows on top of what the table's rows carry already. */
export type ChainedNumbers = {
  /** The side of the union that it is; 0 where the query has one side only. */
  readonly branch: number;
  readonly generators: number;
};

/**
 * The identity of rows that come from a table of the pipeline: the provenance in the headers of their record, never
 * the place of that record, with the numbers of this query folded in. Invariant: it names the record of the
 * first source, so that a row is the same however often, and in which partition, the table wrote it.
 */
export class ChainedSource {
  readonly #branchBase: number;
  readonly #indexScale: number;
  /** What is the same for all rows of the current record; the offset is in it, too. */
  readonly template = Buffer.alloc(provenanceSize);
  offset = 0;
  #index = 0;

  constructor({ branch, generators }: ChainedNumbers) {
    this.#branchBase = branch * chainedBranches;
    this.#indexScale = elementsMax ** generators;
  }

  /** Takes the next record of the table's topic. */
  read(records: RecordCursor, place: RecordPlace): void {
    const source = headerSource(records);
    if (source === undefined) throw foreignToTable(records, place);
    this.take(source);
  }

  /** Takes the next row of a record that has several. */
  take(source: Buffer): void {
    const { branch, offset, index } = readProvenance(source, 0);
    source.copy(this.template);
    this.template[28] = this.#branchBase + branch;
    this.offset = offset;
    this.#index = index * this.#indexScale;
  }

  /** The index of a row, from that which this query gave it. */
  indexOf(index: number): number {
    return this.#index + index;
  }
}

export function foreignToTable({ offset }: RecordCursor, place: RecordPlace): FlowError {
  return foreignRecord(place, offset, 'its header tm-src does not say where its row came from');
}

function headerSource({ bytes, headersStart, headersEnd }: RecordCursor): Buffer | undefined {
  for (const { key, value } of readHeaders(bytes, headersStart, headersEnd)) {
    if (key !== 'tm-src' || value === null) continue;
    const rows = parseSources(value.toString('latin1'));
    return rows?.length === 1 ? rows[0]?.[0] : undefined;
  }
  return undefined;
}

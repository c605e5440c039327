import { splitJsonArray } from '../../data/json-split.ts';
import { readHeaders } from '../../data/record-headers.ts';
import { sequenceCodec } from '../../data/sequence.ts';
import type { ReplacedSource } from '../../plan/pipeline-plan.ts';
import type { RecordCursor } from '../../ports/log.ts';
import { parseSources } from '../output/output-record.ts';
import { foreignToTable } from '../row/chained-source.ts';
import type { RecordPlace } from '../row/source-reader.ts';
import { readAt } from '../table-records.ts';

const nothing = Buffer.alloc(0);

/** A part of a record as if it were the value of one of its own. */
export class PartCursor implements RecordCursor {
  offset = 0;
  timestampMs = 0;
  bytes: Buffer = nothing;
  keyStart = 0;
  keyEnd = -1;
  valueStart = 0;
  valueEnd = -1;
  headersStart = 0;
  headersEnd = 0;

  next(): boolean {
    return false;
  }

  of(records: RecordCursor, start: number, end: number): this {
    this.offset = records.offset;
    this.timestampMs = records.timestampMs;
    this.bytes = records.bytes;
    this.keyStart = records.keyStart;
    this.keyEnd = records.keyEnd;
    this.headersStart = records.headersStart;
    this.headersEnd = records.headersEnd;
    this.valueStart = start;
    this.valueEnd = end;
    return this;
  }
}

export type VersionRow = {
  readonly start: number;
  readonly end: number;
  /** Where it came from; several places where equal rows are written as one. */
  readonly sources: readonly Buffer[];
};

export type KeyVersion = {
  /** Order-preserving bytes. */
  readonly sequence: Buffer;
  /** None where a marker has emptied the key. */
  readonly rows: readonly VersionRow[];
  /** Where the version itself comes from: the marker's place, or that of its first row. */
  readonly source: Buffer;
};

/**
 * Reads the records of a table whose rows are replaced. Invariant: a record is one version of a key (or a numbered row of
 * one) with its sequence and the provenance of each row; what says nothing but that a number has no row any more is none.
 */
export class KeyVersionReader {
  readonly #isNumbered: boolean;
  readonly #parse: (text: string) => Buffer;

  constructor({ output, sequence }: ReplacedSource) {
    this.#isNumbered = output === 'rows';
    this.#parse = sequenceCodec(sequence.type).parse;
  }

  read(records: RecordCursor, place: RecordPlace): KeyVersion | undefined {
    const { bytes, valueStart, valueEnd, headersStart, headersEnd } = records;
    let sequence: string | undefined;
    let sources: string | undefined;
    for (const { key, value } of readHeaders(bytes, headersStart, headersEnd)) {
      if (key === 'tm-seq') sequence = value?.toString('utf8');
      if (key === 'tm-src') sources = value?.toString('latin1');
    }
    if (sequence === undefined && sources === undefined && valueEnd < 0) return undefined;
    const groups = sources === undefined ? undefined : parseSources(sources);
    const spans = this.#spansOf(bytes, valueStart, valueEnd);
    const source = groups?.[0]?.[0];
    const isWhole = valueEnd < 0 || (spans.length > 0 && spans.length === groups?.length);
    if (sequence === undefined || source === undefined || !isWhole || records.keyEnd < 0) {
      throw foreignToTable(records, place);
    }
    const text = sequence;
    return {
      sequence: readAt(place, records.offset, () => this.#parse(text)),
      source,
      rows: spans.map(({ start, end }, index) => ({ start, end, sources: groups?.[index] ?? [] })),
    };
  }

  #spansOf(bytes: Buffer, start: number, end: number) {
    if (end < 0) return [];
    return this.#isNumbered ? [{ start, end }] : (splitJsonArray(bytes, start, end) ?? []);
  }
}

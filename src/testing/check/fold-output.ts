import type { CommittedRecord } from '../../adapters/memory/memory-log.ts';
import type { Span } from '../../data/bytes.ts';
import { splitJsonArray } from '../../data/json-split.ts';
import { type Provenance, readProvenance } from '../../data/provenance.ts';
import type { OutputMode } from '../../plan/pipeline-plan.ts';
import { parseSources } from '../../task/output/output-record.ts';

/** One row as a reader of the output topic finds it. */
export type OutputRow = {
  readonly row: Span;
  /** Where it came from; several places where equal rows were written as one. */
  readonly sources: readonly string[];
};

export type OutputSet = {
  /** Header `tm-seq`: one text for all rows of the record. */
  readonly sequence: string;
  readonly rows: readonly OutputRow[];
};

/**
 * What a reader has after reading the output topic from its start: the last record of each record key
 * counts, a null value deletes; of appended rows every record counts. Invariant: keyed by the key columns alone, whatever the output mode, so
 * the rows of a key are together.
 */
export class OutputFold {
  readonly #output: OutputMode;
  /** Key columns → record key → its rows. */
  readonly #sets = new Map<string, Map<string, OutputSet>>();

  constructor(output: OutputMode) {
    this.#output = output;
  }

  /** Takes one more record; returns the key columns that it is about. */
  add(record: CommittedRecord): string {
    const recordKey =
      this.#output === 'append'
        ? `${record.partition}@${record.offset}`
        : (record.key?.toString('utf8') ?? '');
    const key = this.#output === 'rows' ? withoutRowNumber(recordKey) : recordKey;
    if (record.value === null) {
      const parts = this.#sets.get(key);
      parts?.delete(recordKey);
      if (parts?.size === 0) this.#sets.delete(key);
      return key;
    }
    const parts = this.#sets.get(key) ?? new Map<string, OutputSet>();
    parts.set(recordKey, readOutputRecord(record, record.value, this.#output));
    this.#sets.set(key, parts);
    return key;
  }

  keys(): readonly string[] {
    return [...this.#sets.keys()];
  }

  /** The records of one key: one in mode `row_set`, one a row in mode `rows`. */
  records(key: string): readonly OutputSet[] {
    return [...(this.#sets.get(key)?.values() ?? [])];
  }

  rows(): readonly OutputRow[] {
    return this.keys().flatMap((key) => this.records(key).flatMap(({ rows }) => rows));
  }
}

export function foldOutput(records: Iterable<CommittedRecord>, output: OutputMode): OutputFold {
  const fold = new OutputFold(output);
  for (const record of records) fold.add(record);
  return fold;
}

function readOutputRecord(record: CommittedRecord, value: Buffer, output: OutputMode): OutputSet {
  const sequence = headerText(record, 'tm-seq');
  const sources = parseSources(headerText(record, 'tm-src'));
  if (sources === undefined) {
    throw new Error(`a record at offset ${record.offset} has no readable tm-src`);
  }
  const whole = { bytes: value, start: 0, end: value.length };
  const rows = output === 'row_set' ? splitJsonArray(value, 0, value.length) : [whole];
  if (rows === undefined || rows.length !== sources.length) {
    throw new Error(`a record at offset ${record.offset} does not hold one source a row`);
  }
  return {
    sequence,
    rows: rows.map((row, index) => ({
      row,
      sources: (sources[index] ?? []).map((bytes) => sourceText(readProvenance(bytes, 0))),
    })),
  };
}

/** One text for one row of one record, as `ReferenceRow.provenance` has it. */
export function sourceText({ topicId, partition, offset, branch, index }: Provenance): string {
  return `${topicId}/${partition}@${offset}#${branch}.${index}`;
}

function headerText(record: CommittedRecord, name: string): string {
  return record.headers.find(({ key }) => key === name)?.value?.toString('utf8') ?? '';
}

/** `{"k":1,"_row":0}` → `{"k":1}`. */
function withoutRowNumber(recordKey: string): string {
  return recordKey.replace(/,"_row":\d+\}$/, '}');
}

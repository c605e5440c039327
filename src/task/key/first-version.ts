import { splitJsonArray } from '../../data/json-split.ts';
import { readHeaders } from '../../data/record-headers.ts';
import type { RecordCursor } from '../../ports/log.ts';
import { parseSources } from '../output/output-record.ts';
import { foreignToTable } from '../row/chained-source.ts';
import type { RecordPlace } from '../row/source-reader.ts';
import type { VersionRow } from './key-version.ts';

/**
 * Reads the records of a table whose rows are replaced as if only what is new were there. Invariant: the rows of a record
 * are given where it says that its key had none before, each with one provenance; every other record is a change, and none.
 */
export class FirstVersionReader {
  readonly #isNumbered: boolean;

  constructor(output: 'row_set' | 'rows') {
    this.#isNumbered = output === 'rows';
  }

  read(records: RecordCursor, place: RecordPlace): readonly VersionRow[] | undefined {
    const { bytes, valueStart, valueEnd, headersStart, headersEnd } = records;
    let isFirst = false;
    let sources: string | undefined;
    for (const { key, value } of readHeaders(bytes, headersStart, headersEnd)) {
      if (key === 'tm-first') isFirst = true;
      if (key === 'tm-src') sources = value?.toString('latin1');
    }
    if (sources === undefined && valueEnd >= 0) throw foreignToTable(records, place);
    if (!isFirst || valueEnd < 0 || sources === undefined) return undefined;
    const groups = parseSources(sources);
    const spans = this.#isNumbered
      ? [{ start: valueStart, end: valueEnd }]
      : splitJsonArray(bytes, valueStart, valueEnd);
    if (groups === undefined || spans === undefined || spans.length !== groups.length) {
      throw foreignToTable(records, place);
    }
    // Equal rows, or changes that made one, are one row here: the first of them stands for all.
    return spans.map(({ start, end }, at) => ({
      start,
      end,
      sources: (groups[at] ?? []).slice(0, 1),
    }));
  }
}

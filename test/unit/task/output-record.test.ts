import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteWriter } from '../../../src/data/byte-writer.ts';
import { equalSpans, wholeSpan } from '../../../src/data/bytes.ts';
import {
  provenanceTemplate,
  readProvenance,
  writeProvenance,
} from '../../../src/data/provenance.ts';
import { readHeaders } from '../../../src/data/record-headers.ts';
import {
  decodeRowSet,
  encodeRowSet,
  equalRows,
  isVacant,
  type RowSet,
  type SetRow,
} from '../../../src/data/row-set.ts';
import { sequenceCodec } from '../../../src/data/sequence.ts';
import type { OutgoingRecord, RecordSink, Slice } from '../../../src/ports/log.ts';
import { OutputWriter, parseSources } from '../../../src/task/output/output-record.ts';
import { Restore } from '../../../src/task/restore/restore-entries.ts';

type Written = { key: string; value: string | undefined; headers: Buffer };

class CollectingSink implements RecordSink {
  readonly records: Written[] = [];

  append(_topic: string, _partition: number, record: OutgoingRecord): void {
    const text = (bytes: Uint8Array, start: number, end: number) =>
      Buffer.from(bytes.subarray(start, end)).toString('utf8');
    this.records.push({
      key: text(record.key, record.keyStart, record.keyEnd),
      value:
        record.valueEnd < 0 ? undefined : text(record.value, record.valueStart, record.valueEnd),
      headers: Buffer.from(record.headers.subarray(record.headersStart, record.headersEnd)),
    });
  }
}

const topics = ['0011223344556677889900aabbccddee', 'ffeeddccbbaa00998877665544332211'];

type TestRow = {
  topic: number;
  partition: number;
  offset: number;
  branch: number;
  index: number;
  text: string;
};

function rowSetOf(sequence: bigint, rows: readonly TestRow[]): RowSet {
  const codec = sequenceCodec({ kind: 'bigint' });
  const out = new ByteWriter();
  codec.encode(sequence, out);
  const encoded = out.copy();
  const made = rows.map((row) => {
    const provenance = new ByteWriter();
    const template = provenanceTemplate(topics[row.topic] ?? '', row.partition, row.branch);
    writeProvenance(provenance, template, row.offset, row.index);
    const bytes = Buffer.from(JSON.stringify({ v: row.text }));
    return {
      provenance: { bytes: provenance.copy(), start: 0, end: 36 },
      row: { bytes, start: 0, end: bytes.length },
    };
  });
  made.sort((a, b) => a.provenance.bytes.compare(b.provenance.bytes));
  return { sequence: { bytes: encoded, start: 0, end: encoded.length }, rows: made };
}

const target = {
  table: 't',
  topic: 't',
  partition: 0,
  generation: 0,
  writeSequence: sequenceCodec({ kind: 'bigint' }).writeText,
  recordBytesMax: 1_000_000,
};

function sliceOf(records: readonly Written[]): Slice {
  let at = -1;
  const cursor = {
    offset: 0,
    timestampMs: 0,
    bytes: Buffer.alloc(0),
    keyStart: 0,
    keyEnd: 0,
    valueStart: 0,
    valueEnd: 0,
    headersStart: 0,
    headersEnd: 0,
    next(): boolean {
      at += 1;
      const record = records[at];
      if (record === undefined) return false;
      const key = Buffer.from(record.key);
      const value = Buffer.from(record.value ?? '');
      this.offset = at;
      this.bytes = Buffer.concat([key, value, record.headers]);
      this.keyEnd = key.length;
      this.valueStart = key.length;
      this.valueEnd = record.value === undefined ? -1 : key.length + value.length;
      this.headersStart = key.length + value.length;
      this.headersEnd = this.bytes.length;
      return true;
    },
  };
  return {
    topic: 't',
    partition: 0,
    records: cursor,
    recordCountMax: records.length,
    byteLength: 0,
    fromOffset: 0,
    nextOffset: records.length,
    logStart: 0,
    stableOffset: records.length,
    highWatermark: records.length,
  };
}

const rows = fc.uniqueArray(
  fc.record({
    topic: fc.nat(1),
    partition: fc.nat(5),
    offset: fc.maxSafeNat(),
    branch: fc.nat(3),
    index: fc.nat(2 ** 30),
    text: fc.constantFrom('a', 'b', '"quoted", [x]'),
  }),
  { minLength: 1, maxLength: 12, selector: (row) => JSON.stringify({ ...row, text: '' }) },
);

function numbered({ sequence, rows: all }: RowSet, position: number) {
  return { sequence, rows: all.slice(position, position + 1), position };
}

function restoreAll(output: 'row_set' | 'rows', records: readonly Written[], distinct = false) {
  const restore = new Restore({ output, distinct, sequence: sequenceCodec({ kind: 'bigint' }) });
  const changes = restore.load(sliceOf(records));
  const needed = restore.keysNeeded(changes);
  return restore.apply(
    changes,
    needed,
    needed.map(() => undefined),
  );
}

test('RU-22 a row-set is restored from its output record alone, byte for byte', () => {
  fc.assert(
    fc.property(
      rows,
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.boolean(),
      (some, sequence, distinct) => {
        const rowSet = rowSetOf(sequence, some);
        const sink = new CollectingSink();
        new OutputWriter({ ...target, distinct }).rowSet(
          sink,
          wholeSpan(Buffer.from('{"k":1}')),
          rowSet,
          0,
        );
        const entry = restoreAll('row_set', sink.records).get('{"k":1}');
        // One row may stand in the short form.
        const restored = decodeRowSet(entry ?? Buffer.alloc(0));
        expect(restored && encodeRowSet(restored)).toEqual(encodeRowSet(rowSet));
      },
    ),
  );
});

test('OP-04 equal rows of a DISTINCT query stand once in the output, with the provenance of each', () => {
  const rowSet = rowSetOf(7n, [
    { topic: 0, partition: 0, offset: 1, branch: 0, index: 0, text: 'same' },
    { topic: 0, partition: 0, offset: 2, branch: 0, index: 0, text: 'other' },
    { topic: 0, partition: 1, offset: 1, branch: 0, index: 0, text: 'same' },
  ]);
  const sink = new CollectingSink();
  new OutputWriter({ ...target, distinct: true }).rowSet(
    sink,
    wholeSpan(Buffer.from('{}')),
    rowSet,
    0,
  );
  expect(sink.records[0]?.value).toBe('[{"v":"same"},{"v":"other"}]');
  const headers = readHeaders(
    sink.records[0]?.headers ?? Buffer.alloc(0),
    0,
    sink.records[0]?.headers.length ?? 0,
  );
  const source = headers.find(({ key }) => key === 'tm-src')?.value?.toString() ?? '';
  expect(source).toBe(`${topics[0]}/0@1+${topics[0]}/1@1,${topics[0]}/0@2`);
  expect(
    parseSources(source)?.map((group) => group.map((one) => readProvenance(one, 0).offset)),
  ).toEqual([[1, 1], [2]]);
});

test('RU-08 numbered records: a smaller set after a larger one leaves no row behind', () => {
  const large = rowSetOf(
    1n,
    [0, 1, 2].map((offset) => ({
      topic: 0,
      partition: 0,
      offset,
      branch: 0,
      index: 0,
      text: `l${offset}`,
    })),
  );
  const small = rowSetOf(2n, [
    { topic: 0, partition: 0, offset: 9, branch: 0, index: 0, text: 's' },
  ]);
  const sink = new CollectingSink();
  const writer = new OutputWriter({ ...target, distinct: false });
  const key = wholeSpan(Buffer.from('{"k":null}'));
  for (const position of [0, 1, 2]) writer.row(sink, key, numbered(large, position), 0);
  writer.row(sink, key, numbered(small, 0), 0);
  writer.tombstone(sink, key, 2, 0);
  writer.tombstone(sink, key, 1, 0);
  expect(sink.records.map((record) => record.key)).toContain('{"k":null,"_row":2}');
  const whole = restoreAll('rows', sink.records).get('{"k":null}');
  expect(decodeRowSet(whole ?? Buffer.alloc(0))?.rows.length).toBe(1);
});

test('numbered records that compaction left in another order are restored to their numbers', () => {
  const rowSet = rowSetOf(
    3n,
    [0, 1].map((offset) => ({
      topic: 0,
      partition: 0,
      offset,
      branch: 0,
      index: 0,
      text: `r${offset}`,
    })),
  );
  const sink = new CollectingSink();
  const writer = new OutputWriter({ ...target, distinct: false });
  writer.row(sink, wholeSpan(Buffer.from('{"k":1}')), numbered(rowSet, 1), 0);
  writer.row(sink, wholeSpan(Buffer.from('{"k":1}')), numbered(rowSet, 0), 0);
  const entry = decodeRowSet(restoreAll('rows', sink.records).get('{"k":1}') ?? Buffer.alloc(0));
  expect(
    entry?.rows.map(({ provenance }) => readProvenance(provenance.bytes, provenance.start).offset),
  ).toEqual([0, 1]);
});

const step = fc.record({
  isTombstone: fc.boolean(),
  position: fc.nat(2),
  sequence: fc.bigInt({ min: -2n, max: 2n }),
  offset: fc.nat(1000),
  text: fc.constantFrom('a', 'b'),
});

/** What the entry of the only key says, with where its rows came from but for the branch. */
function told(records: readonly Written[], distinct: boolean): unknown {
  const entry = restoreAll('rows', records, distinct).get('{"k":1}');
  if (entry === undefined) return 'nothing';
  const rowSet = decodeRowSet(entry);
  return {
    sequence: rowSet?.sequence.bytes.toString('hex', rowSet.sequence.start, rowSet.sequence.end),
    rows: rowSet?.rows.map((row) => [
      row.row.bytes.toString('utf8', row.row.start, row.row.end),
      isVacant(row) ? -1 : readProvenance(row.provenance.bytes, row.provenance.start).offset,
    ]),
  };
}

test('RU-22 numbered records of one source restore the same state by the short way as by the long one', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), fc.boolean(), (steps, distinct) => {
      // The short way takes rows of branch 0 only.
      const [short, long] = [0, 1].map((branch) => {
        const sink = new CollectingSink();
        const writer = new OutputWriter({ ...target, distinct });
        for (const { isTombstone, position, sequence, offset, text } of steps) {
          const key = wholeSpan(Buffer.from('{"k":1}'));
          const { rows: made, ...rest } = rowSetOf(sequence, [
            { topic: 0, partition: 3, offset, branch, index: 0, text },
          ]);
          if (isTombstone) writer.tombstone(sink, key, position, 0);
          else writer.row(sink, key, { ...rest, rows: made, position }, 0);
        }
        return told(sink.records, distinct);
      });
      expect(short).toEqual(long);
    }),
  );
});

test('RU-22 a value that is not the one row of its header is no row of the short way either', () => {
  const sink = new CollectingSink();
  const rowSet = rowSetOf(1n, [
    { topic: 0, partition: 0, offset: 1, branch: 0, index: 0, text: 'a' },
  ]);
  new OutputWriter({ ...target, distinct: false }).rowSet(
    sink,
    wholeSpan(Buffer.from('{"k":1}')),
    rowSet,
    0,
  );
  const [record] = sink.records;
  for (const value of ['[{"v":"a"},{"v":"b"}]', '[{"v":"a"]', '{"v":"a"}', '[]']) {
    expect(() =>
      restoreAll('row_set', [{ key: '', headers: Buffer.alloc(0), ...record, value }]),
    ).toThrow(expect.objectContaining({ code: 'RECORD_CORRUPT' }));
  }
});

test('P095 a row-set that no record can hold is refused with the name of its key', () => {
  const rowSet = rowSetOf(1n, [
    { topic: 0, partition: 0, offset: 1, branch: 0, index: 0, text: 'x'.repeat(2000) },
  ]);
  const writer = new OutputWriter({ ...target, distinct: false, recordBytesMax: 1000 });
  expect(() =>
    writer.rowSet(new CollectingSink(), wholeSpan(Buffer.from('{"k":"EU"}')), rowSet, 0),
  ).toThrow(
    expect.objectContaining({
      code: 'RECORD_TOO_LARGE',
      detail: expect.stringContaining('{"k":"EU"}'),
    }),
  );
});

const distinctRow = fc.record({
  topic: fc.constant(0),
  partition: fc.nat(2),
  offset: fc.nat(30),
  branch: fc.constant(0),
  index: fc.constant(0),
  text: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
});

/**
 * Rows of one sequence, a few more in each step. Each step leaves them in an order of its own, as a refresh does, whose difference is
 * written number by number.
 */
function writtenStepwise(steps: readonly (readonly TestRow[])[]) {
  const sink = new CollectingSink();
  const writer = new OutputWriter({ ...target, distinct: true });
  const key = wholeSpan(Buffer.from('{"k":1}'));
  const places = new Map<string, TestRow>();
  const { sequence } = rowSetOf(1n, []);
  let before: SetRow[][] = [];
  for (const rows of steps) {
    // Those of the step first.
    for (const row of [...rows].reverse()) {
      const place = `${row.partition}/${row.offset}`;
      const known = places.get(place) ?? row;
      places.delete(place);
      places.set(place, known);
    }
    const ordered = [...places.values()].reverse();
    const groups = equalRows(ordered.flatMap((row) => rowSetOf(1n, [row]).rows));
    for (const [position, group] of groups.entries()) {
      if (isSameGroup(before[position], group)) continue;
      writer.row(sink, key, { sequence, rows: group, position }, 0);
    }
    for (let position = before.length - 1; position >= groups.length; position -= 1) {
      writer.tombstone(sink, key, position, 0);
    }
    before = groups;
  }
  return { records: sink.records, groups: before };
}

function isSameGroup(before: readonly SetRow[] | undefined, now: readonly SetRow[]): boolean {
  return (
    before?.length === now.length &&
    now.every(({ row, provenance }, at) => {
      const other = before[at];
      return (
        other !== undefined &&
        equalSpans(other.row, row) &&
        equalSpans(other.provenance, provenance)
      );
    })
  );
}

test('RU-22 FR-34 rows of a DISTINCT that change their numbers are restored whole, wherever a slice ends', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(distinctRow, { minLength: 1, maxLength: 4 }), {
        minLength: 1,
        maxLength: 5,
      }),
      fc.array(fc.nat(20), { maxLength: 4 }),
      (steps, cuts) => {
        const { records, groups } = writtenStepwise(steps);
        const restore = new Restore({
          output: 'rows',
          distinct: true,
          sequence: sequenceCodec({ kind: 'bigint' }),
        });
        let entry: Buffer | undefined;
        const ends = [...cuts.filter((cut) => cut < records.length), records.length];
        let start = 0;
        for (const end of ends.sort((a, b) => a - b)) {
          const changes = restore.load(sliceOf(records.slice(start, end)));
          start = end;
          if (changes.length === 0) continue;
          entry = restore.apply(changes, restore.keysNeeded(changes), [entry]).get('{"k":1}');
        }
        const restored = equalRows(decodeRowSet(entry ?? Buffer.alloc(0))?.rows ?? []);
        expect(restored.map(asTold)).toEqual(groups.map(asTold));
      },
    ),
    { numRuns: 2000 },
  );
});

function asTold(group: readonly SetRow[]): unknown {
  return group.map(({ row, provenance }) => [
    row.bytes.toString('utf8', row.start, row.end),
    provenance.bytes.toString('hex', provenance.start, provenance.end),
  ]);
}

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compressions } from '../../../src/adapters/kafka/wire/compression.ts';
import { RecordBatchCursor } from '../../../src/adapters/kafka/wire/record-batch-reader.ts';
import {
  type BatchOptions,
  RecordBatchBuilder,
} from '../../../src/adapters/kafka/wire/record-batch-writer.ts';
import { InvariantError } from '../../../src/base/assert.ts';
import { FlowError } from '../../../src/base/errors.ts';
import { HeaderWriter, readHeaders } from '../../../src/data/record-headers.ts';
import type { OutgoingRecord } from '../../../src/ports/log.ts';
import { recordSet, seenRecords } from './log-batches.ts';

const options: BatchOptions = {
  producerId: -1n,
  producerEpoch: -1,
  baseSequence: -1,
  transactional: false,
  compression: 'none',
};

type Row = {
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: Uint8Array;
  readonly timestampMs: number;
};

/** The row's spans inside of longer buffers, as a task hands them over. */
function outgoing(row: Row): OutgoingRecord {
  const padded = (bytes: Uint8Array | null) =>
    Buffer.concat([Buffer.from('<<'), bytes ?? new Uint8Array(), Buffer.from('>')]);
  return {
    key: padded(row.key),
    keyStart: 2,
    keyEnd: row.key === null ? -1 : 2 + row.key.length,
    value: padded(row.value),
    valueStart: 2,
    valueEnd: row.value === null ? -1 : 2 + row.value.length,
    headers: padded(row.headers),
    headersStart: 2,
    headersEnd: 2 + row.headers.length,
    timestampMs: row.timestampMs,
  };
}

function textRow(value: string, timestampMs = 1_700_000_000_000): Row {
  return {
    key: Buffer.from('k'),
    value: Buffer.from(value),
    headers: new Uint8Array(),
    timestampMs,
  };
}

function headerSection(headers: readonly (readonly [string, Uint8Array])[]): Buffer {
  const writer = new HeaderWriter();
  if (headers.length === 0) return Buffer.alloc(0);
  writer.begin(headers.length);
  for (const [name, value] of headers) writer.add(name, value);
  return writer.writer.copy();
}

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 70 }),
  fc.uint8Array({ minLength: 60, maxLength: 400 }),
  fc.constant(Buffer.alloc(9000, 'x')),
);
const arbitraryRow: fc.Arbitrary<Row> = fc.record({
  key: fc.option(bytes),
  value: fc.option(bytes),
  headers: fc
    .array(fc.tuple(fc.stringMatching(/^[a-z.]{0,9}$/), fc.uint8Array({ maxLength: 80 })), {
      maxLength: 3,
    })
    .map(headerSection),
  timestampMs: fc.oneof(
    fc.integer({ min: 0, max: 2 ** 31 }),
    fc.integer({ min: 1_700_000_000_000, max: 1_700_000_100_000 }),
    fc.integer({ min: 0, max: 2 ** 47 }),
  ),
});

describe('what is built is what is read', () => {
  test('any records, in any compression', () => {
    const rows = fc.array(arbitraryRow, { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(rows, fc.constantFrom(...compressions), (written, compression) => {
        const builder = new RecordBatchBuilder(1 << 20, 64);
        for (const row of written) expect(builder.append(outgoing(row))).toBe(true);
        expect(builder.recordCount).toBe(written.length);
        const plainSize = builder.byteLength;
        const batch = builder.finish({ ...options, compression });
        expect(batch.length).toBeLessThanOrEqual(plainSize);
        const cursor = new RecordBatchCursor(recordSet(batch));
        expect(cursor.recordCountMax).toBe(written.length);
        expect(cursor.nextOffset).toBe(written.length);
        expect(seenRecords(cursor)).toEqual(
          written.map((row, offset) => ({
            offset,
            timestampMs: row.timestampMs,
            key: row.key === null ? null : Buffer.from(row.key).toString('latin1'),
            value: row.value === null ? null : Buffer.from(row.value).toString('latin1'),
            headers: Buffer.from(row.headers).toString('hex'),
          })),
        );
      }),
      { numRuns: 150 },
    );
  });

  test('a large batch of each compression goes through several blocks of its codec', () => {
    for (const compression of compressions) {
      const builder = new RecordBatchBuilder(1 << 24);
      for (let index = 0; index < 60_000; index += 1) {
        builder.append(outgoing(textRow(`a row with the number ${index * 7919}`.repeat(3))));
      }
      expect(builder.byteLength).toBeGreaterThan(4 << 20);
      const cursor = new RecordBatchCursor(recordSet(builder.finish({ ...options, compression })));
      let count = 0;
      while (cursor.next()) {
        const value = cursor.bytes.toString('latin1', cursor.valueStart, cursor.valueEnd);
        if (value === `a row with the number ${count * 7919}`.repeat(3)) count += 1;
      }
      expect(count).toBe(60_000);
    }
  });

  test('headers', () => {
    const headers = headerSection([
      ['tidemark.seq', Buffer.from('17')],
      ['empty', Buffer.alloc(0)],
    ]);
    const builder = new RecordBatchBuilder(1000);
    builder.append(outgoing({ ...textRow('a'), headers }));
    const cursor = new RecordBatchCursor(recordSet(builder.finish(options)));
    expect(cursor.next()).toBe(true);
    expect(readHeaders(cursor.bytes, cursor.headersStart, cursor.headersEnd)).toEqual([
      { key: 'tidemark.seq', value: Buffer.from('17') },
      { key: 'empty', value: Buffer.alloc(0) },
    ]);
  });
});

describe('the header', () => {
  test('byte for byte', () => {
    const builder = new RecordBatchBuilder(1000);
    builder.append(outgoing({ ...textRow('v0'), timestampMs: 5000 }));
    builder.append(outgoing({ ...textRow('v1'), key: null, timestampMs: 4990 }));
    const batch = builder.finish({
      producerId: 4000n,
      producerEpoch: 2,
      baseSequence: 31,
      transactional: true,
      compression: 'none',
    });
    expect(batch.toString('hex')).toBe(
      [
        '0000000000000000', // base offset: the broker's to fill in
        '00000044', // length after this field: 68
        'ffffffff', // leader epoch
        '02', // magic
        '67b93f50', // checksum
        '0010', // attributes: transactional
        '00000001', // last offset delta
        '0000000000001388', // base timestamp 5000
        '0000000000001388', // max timestamp 5000
        '0000000000000fa0', // producer id 4000
        '0002', // producer epoch
        '0000001f', // base sequence 31
        '00000002', // records
        '12' + '00' + '00' + '00' + '02' + '6b' + '04' + '7630' + '00',
        '10' + '00' + '13' + '02' + '01' + '04' + '7631' + '00',
      ].join(''),
    );
  });

  test('a batch that does not shrink goes out plain', () => {
    const builder = new RecordBatchBuilder(1000);
    for (const compression of compressions) {
      builder.append(outgoing(textRow('x')));
      expect(builder.finish({ ...options, compression }).readInt16BE(21)).toBe(0);
    }
    builder.append(outgoing(textRow('x'.repeat(500))));
    expect(builder.finish({ ...options, compression: 'zstd' }).readInt16BE(21)).toBe(4);
  });

  test('an empty batch is a bug', () => {
    const builder = new RecordBatchBuilder(1000);
    expect(() => builder.finish(options)).toThrow(InvariantError);
    builder.append(outgoing(textRow('x')));
    builder.reset();
    expect(builder.byteLength).toBe(61);
    expect(() => builder.finish(options)).toThrow(InvariantError);
  });
});

describe('the bound', () => {
  test('a record that does not fit is left for the next batch, to the byte', () => {
    const exact = new RecordBatchBuilder(1000);
    exact.append(outgoing(textRow('first')));
    exact.append(outgoing(textRow('second')));
    const bytesMax = exact.byteLength;

    const fits = new RecordBatchBuilder(bytesMax);
    expect(fits.append(outgoing(textRow('first')))).toBe(true);
    expect(fits.append(outgoing(textRow('second')))).toBe(true);
    expect(fits.append(outgoing({ ...textRow(''), key: null }))).toBe(false);
    expect(fits.finish(options)).toHaveLength(bytesMax);

    const tight = new RecordBatchBuilder(bytesMax - 1);
    expect(tight.append(outgoing(textRow('first')))).toBe(true);
    const before = tight.byteLength;
    expect(tight.append(outgoing(textRow('second')))).toBe(false);
    expect(tight.byteLength).toBe(before);
    expect(tight.recordCount).toBe(1);
    expect(seenRecords(new RecordBatchCursor(recordSet(tight.finish(options))))).toHaveLength(1);
    expect(tight.append(outgoing(textRow('second')))).toBe(true);
  });

  test('a record that no batch can hold is refused by name, and harms nothing', () => {
    const builder = new RecordBatchBuilder(200);
    let error: unknown;
    try {
      builder.append(outgoing(textRow('x'.repeat(300))));
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(FlowError);
    expect(error).toMatchObject({
      code: 'RECORD_TOO_LARGE',
      detail: 'A batch may have 200 bytes.',
    });
    expect(builder.append(outgoing(textRow('small')))).toBe(true);
    expect(seenRecords(new RecordBatchCursor(recordSet(builder.finish(options))))).toHaveLength(1);
  });
});

describe('memory', () => {
  function finished(builder: RecordBatchBuilder, value: string, facts = options): Buffer {
    builder.append(outgoing(textRow(value)));
    return builder.finish(facts);
  }

  test('a batch keeps its bytes until it is given back, and is then used again', () => {
    const builder = new RecordBatchBuilder(10_000);
    const first = finished(builder, 'first');
    const copy = Buffer.from(first);
    const second = finished(builder, 'second');
    expect(first).toEqual(copy);
    expect(second.buffer).not.toBe(first.buffer);
    builder.release(first);
    const third = finished(builder, 'third');
    const fourth = finished(builder, 'fourth');
    expect([third.buffer, fourth.buffer]).toContain(first.buffer);
  });

  test('what is given back twice, or is not its own, is not used twice', () => {
    const builder = new RecordBatchBuilder(10_000);
    const first = finished(builder, 'first');
    const foreign = Buffer.alloc(1000);
    const packed = finished(builder, 'p'.repeat(1000), { ...options, compression: 'lz4' });
    builder.release(first);
    builder.release(first);
    builder.release(foreign);
    builder.release(packed);
    const later = ['a', 'b', 'c', 'd'].map((value) => finished(builder, value));
    const memories = [...later.map(({ buffer }) => buffer), foreign.buffer, packed.buffer];
    expect(new Set(memories).size).toBe(6);
  });
});

import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Compression, compressions } from '../../../src/adapters/kafka/wire/compression.ts';
import { RecordBatchCursor } from '../../../src/adapters/kafka/wire/record-batch-reader.ts';
import { type ErrorCode, FlowError } from '../../../src/base/errors.ts';
import { readHeaders } from '../../../src/data/record-headers.ts';
import {
  batchBytes,
  CONTROL,
  LOG_APPEND_TIME,
  recordBytes,
  recordSet,
  sealed,
  seenRecords,
  type TestBatch,
  TestLog,
  type TestRecord,
  TRANSACTIONAL,
  values,
  varint,
} from './log-batches.ts';

/** Written by Kafka's Java client: three records at offset 100, the first with headers h=x and n=null. */
const javaBatches: Readonly<Record<Compression, string>> = {
  none: '0000000000000064000000890000000302bfd90d160010000000020000018bcfe568050000018bcfe568090000000000000fa000010000000700000003560000000a6b65792d303276616c75652076616c75652076616c75652076616c756520300402680278026e013e000902013276616c75652076616c75652076616c75652076616c7565203100160008040a6b65792d320100',
  gzip: '0000000000000064000000730000000302a81a1c190011000000020000018bcfe568050000018bcfe568090000000000000fa0000100000007000000031f8b08000000000000ff0b636060e0ca4eadd435302a4bcc294d55c0240d589832982a98f218ed18389918712a33641063e060019b65c4c800006f5afd1958000000',
  snappy:
    '00000000000000640000007c0000000302771fb0f70012000000020000018bcfe568050000018bcfe568090000000000000fa00001000000070000000382534e41505059000000000100000001000000375840560000000a6b65792d303276616c75652046060034300402680278026e013e00090201622700343100160008040a6b65792d320100',
  lz4: '00000000000000640000007600000003024725e9f10013000000020000018bcfe568050000018bcfe568090000000000000fa00001000000070000000304224d1860408236000000fe02560000000a6b65792d303276616c7565200600ef300402680278026e013e00090201270006e03100160008040a6b65792d32010000000000',
  zstd: '0000000000000064000000740000000302df5602b10014000000020000018bcfe568050000018bcfe568090000000000000fa00001000000070000000328b52ffd0058bc0100d402560000000a6b65792d303276616c756520300402680278026e013e000902013100160008040a6b65792d32010002004a2d6abcb204010000',
};

const javaRecords = [
  {
    offset: 100,
    timestampMs: 1_700_000_000_005,
    key: 'key-0',
    value: 'value value value value 0',
    headers: '0402680278026e01',
  },
  {
    offset: 101,
    timestampMs: 1_700_000_000_000,
    key: null,
    value: 'value value value value 1',
    headers: '',
  },
  { offset: 102, timestampMs: 1_700_000_000_009, key: 'key-2', value: null, headers: '' },
];

function batch(baseOffset: number, ...rows: string[]): Buffer {
  return batchBytes({ baseOffset, records: rows.map((value, delta) => ({ delta, value })) });
}

function refusal(read: () => unknown): FlowError {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(FlowError);
    return error as FlowError;
  }
  throw new Error('was not refused');
}

function expectCorrupt(bytes: Buffer, offset: number, what: RegExp): void {
  const error = refusal(() => values(bytes));
  expect(error.code).toBe('RECORD_CORRUPT' satisfies ErrorCode);
  expect(error.message).toBe(
    `record batch at offset ${offset} of topic "orders" partition 3 is damaged`,
  );
  expect(error.detail).toMatch(what);
}

describe('batches of the Java client', () => {
  test.each(compressions)('%s', (compression) => {
    const bytes = Buffer.from(javaBatches[compression], 'hex');
    const cursor = new RecordBatchCursor(recordSet(bytes, { position: 100 }));
    expect(cursor.recordCountMax).toBe(3);
    expect(cursor.nextOffset).toBe(103);
    expect(seenRecords(cursor)).toEqual(javaRecords);
    expect(cursor.next()).toBe(false);
  });

  test('P093 all five in one fetch', () => {
    const sets = compressions.map((compression, index) => {
      const bytes = Buffer.from(javaBatches[compression], 'hex');
      bytes.writeBigInt64BE(BigInt(100 + 3 * index), 0);
      return bytes;
    });
    const seen = seenRecords(new RecordBatchCursor(recordSet(Buffer.concat(sets))));
    expect(seen.map(({ offset }) => offset)).toEqual(Array.from({ length: 15 }, (_, i) => 100 + i));
    expect(seen.map(({ key }) => key)).toEqual(
      Array.from({ length: 5 }, () => ['key-0', null, 'key-2']).flat(),
    );
  });

  test('headers are readable where the cursor says', () => {
    const cursor = new RecordBatchCursor(recordSet(Buffer.from(javaBatches.lz4, 'hex')));
    expect(cursor.next()).toBe(true);
    expect(readHeaders(cursor.bytes, cursor.headersStart, cursor.headersEnd)).toEqual([
      { key: 'h', value: Buffer.from('x') },
      { key: 'n', value: null },
    ]);
    expect(cursor.next()).toBe(true);
    expect(readHeaders(cursor.bytes, cursor.headersStart, cursor.headersEnd)).toEqual([]);
  });

  test('an abort marker is not shown, and the position moves past it', () => {
    const marker =
      '00000000000000c8000000420000000302466a1c360030000000000000018bcfe568000000018bcfe568000000000000000fa00001ffffffff000000012000000008000000000c00000000000500';
    const cursor = new RecordBatchCursor(recordSet(Buffer.from(marker, 'hex')));
    expect(cursor.recordCountMax).toBe(0);
    expect(cursor.next()).toBe(false);
    expect(cursor.nextOffset).toBe(201);
  });

  test.each([
    [0, '0000000000000000000000101fecd70a0000000000016b0000000176'],
    [1, '000000000000000000000018cf056e6e01000000000000000001000000016b0000000176'],
  ])('message format %i is refused by name', (format, hex) => {
    const error = refusal(() => values(Buffer.from(hex, 'hex')));
    expect(error.code).toBe('NOT_SUPPORTED');
    expect(error.message).toBe(
      `record batch at offset 0 of topic "orders" partition 3 has message format ${format}`,
    );
    expect(error.hint).toMatch(/Copy the topic/);
  });
});

describe('read committed', () => {
  function seen(log: TestLog, position = 0): (string | null)[] {
    return values(log.bytes, { position, abortedTransactions: log.aborted });
  }

  test('rc-a abort, commit, abort, commit by one producer in one fetch', () => {
    const log = new TestLog();
    log.send(1, 'bad0', 'bad1');
    log.abort(1);
    log.send(1, 'ok0', 'ok1');
    log.commit(1);
    log.send(1, 'bad2', 'bad3');
    log.abort(1);
    log.send(1, 'ok2', 'ok3');
    log.commit(1);
    expect(seen(log)).toEqual(['ok0', 'ok1', 'ok2', 'ok3']);
  });

  test('rc-b the later of two producers aborts first, so the list is not in order of offsets', () => {
    const log = new TestLog();
    log.send(1, 'bad a0', 'bad a1');
    log.send(2, 'bad b0', 'bad b1');
    log.abort(2);
    log.abort(1);
    log.send(1, 'ok0');
    log.commit(1);
    expect(log.aborted.map(({ firstOffset }) => firstOffset)).toEqual([2, 0]);
    expect(seen(log)).toEqual(['ok0']);
  });

  test('rc-c keys of an aborted transaction that look like markers', () => {
    const log = new TestLog();
    log.send(
      1,
      [Buffer.from([0, 0, 0, 1]), 'bad1'],
      [Buffer.from([0, 0, 0, 0]), 'bad0'],
      [Buffer.from([0, 0, 0, 2]), 'bad2'],
    );
    log.send(1, [Buffer.from([0, 0, 0, 0]), 'bad4']);
    log.send(1, 'bad5');
    log.abort(1);
    log.send(1, [Buffer.from([0, 0, 0, 0]), 'ok0']);
    log.commit(1);
    expect(seen(log)).toEqual(['ok0']);
  });

  test('rc-d commits and aborts of two producers interleaved', () => {
    const log = new TestLog();
    log.send(1, 'bad a0');
    log.send(2, 'ok b0');
    log.commit(2);
    log.send(2, 'bad b1');
    log.send(1, 'bad a1');
    log.sendPlain('plain0');
    log.abort(1);
    log.abort(2);
    log.send(1, 'ok a2');
    log.sendPlain('plain1');
    log.commit(1);
    expect(seen(log)).toEqual(['ok b0', 'plain0', 'ok a2', 'plain1']);
  });

  test('rc-e six aborts in a row', () => {
    const log = new TestLog();
    for (let index = 0; index < 6; index += 1) {
      log.send(1, `bad${index}`);
      log.abort(1);
    }
    log.send(1, 'ok');
    log.commit(1);
    log.send(1, 'bad9');
    log.abort(1);
    expect(seen(log)).toEqual(['ok']);
    const cursor = new RecordBatchCursor(
      recordSet(log.bytes, { abortedTransactions: log.aborted }),
    );
    expect(cursor.nextOffset).toBe(log.nextOffset);
    expect(cursor.recordCountMax).toBe(1);
  });

  test('a fetch that begins inside of an aborted transaction', () => {
    const log = new TestLog();
    log.send(1, 'bad0', 'bad1');
    log.send(1, 'bad2');
    log.abort(1);
    log.send(1, 'ok');
    log.commit(1);
    const bytes = Buffer.concat(log.batches.slice(1));
    expect(values(bytes, { position: 2, abortedTransactions: log.aborted })).toEqual(['ok']);
    expect(seen(log, 1)).toEqual(['ok']);
  });

  test('a fetch that holds nothing but markers still moves on', () => {
    const log = new TestLog(70);
    log.abort(1);
    log.commit(2);
    const cursor = new RecordBatchCursor(recordSet(log.bytes, { position: 70 }));
    expect(cursor.next()).toBe(false);
    expect(cursor.nextOffset).toBe(72);
  });

  test('a marker that compaction emptied still ends its transaction', () => {
    const emptyMarker = batchBytes({
      baseOffset: 1,
      records: [],
      producerId: 1,
      attributes: TRANSACTIONAL | CONTROL,
    });
    const row = (baseOffset: number, value: string) =>
      batchBytes({
        baseOffset,
        records: [{ delta: 0, value }],
        producerId: 1,
        attributes: TRANSACTIONAL,
      });
    const bytes = Buffer.concat([row(0, 'bad'), emptyMarker, row(2, 'ok')]);
    const abortedTransactions = [{ producerId: 1n, firstOffset: 0 }];
    expect(values(bytes, { abortedTransactions })).toEqual(['ok']);
  });

  test('read uncommitted shows aborted rows, but no markers', () => {
    const log = new TestLog();
    log.send(1, 'bad');
    log.abort(1);
    log.sendPlain('ok');
    expect(values(log.bytes, { abortedTransactions: null })).toEqual(['bad', 'ok']);
  });

  test('any history of transactions shows exactly the committed rows in order', () => {
    const step = fc.record({
      producer: fc.integer({ min: 1, max: 4 }),
      act: fc.constantFrom('send', 'send', 'send', 'commit', 'abort', 'plain'),
      rows: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.nat(30), (steps, position) => {
        const log = new TestLog();
        const open = new Map<number, number[]>();
        const committed: number[] = [];
        for (const { producer, act, rows } of steps) {
          const offsets = Array.from({ length: rows }, (_, index) => log.nextOffset + index);
          if (act === 'send') {
            log.send(producer, ...offsets.map(String));
            open.set(producer, [...(open.get(producer) ?? []), ...offsets]);
          } else if (act === 'plain') {
            log.sendPlain(...offsets.map(String));
            committed.push(...offsets);
          } else {
            if (act === 'commit') committed.push(...(open.get(producer) ?? []));
            open.delete(producer);
            log[act](producer);
          }
        }
        // A broker shows nothing from the first open transaction on; here all of them end.
        for (const producer of open.keys()) log.abort(producer);
        const expected = committed.filter((offset) => offset >= position).toSorted((a, b) => a - b);
        const aborted = log.aborted.toReversed();
        expect(values(log.bytes, { position, abortedTransactions: aborted })).toEqual(
          expected.map(String),
        );
      }),
    );
  });
});

describe('positions', () => {
  test('records below the position are not shown', () => {
    const bytes = Buffer.concat([batch(10, 'a', 'b'), batch(12, 'c', 'd', 'e')]);
    const cursor = new RecordBatchCursor(recordSet(bytes, { position: 13 }));
    expect(cursor.recordCountMax).toBe(3);
    expect(seenRecords(cursor).map(({ offset, value }) => [offset, value])).toEqual([
      [13, 'd'],
      [14, 'e'],
    ]);
  });

  test('P057 gaps inside of batches and between them, and batches that compaction emptied', () => {
    const bytes = Buffer.concat([
      batchBytes({
        baseOffset: 0,
        records: [
          { delta: 3, value: 'a' },
          { delta: 90, value: 'b' },
        ],
        lastOffsetDelta: 99,
      }),
      batchBytes({ baseOffset: 1000, records: [], lastOffsetDelta: 499 }),
      batchBytes({ baseOffset: 2 ** 40, records: [{ delta: 0, value: 'c' }] }),
      batchBytes({ baseOffset: 2 ** 41, records: [], lastOffsetDelta: 9 }),
    ]);
    const cursor = new RecordBatchCursor(recordSet(bytes));
    expect(cursor.recordCountMax).toBe(3);
    expect(seenRecords(cursor).map(({ offset, value }) => [offset, value])).toEqual([
      [3, 'a'],
      [90, 'b'],
      [2 ** 40, 'c'],
    ]);
    expect(cursor.nextOffset).toBe(2 ** 41 + 10);
  });

  test('a partial batch at the end is left for the next fetch', () => {
    const first = batch(0, 'a', 'b');
    const second = batch(2, 'c', 'd');
    for (let length = 0; length < second.length; length += 1) {
      const bytes = Buffer.concat([first, second.subarray(0, length)]);
      const cursor = new RecordBatchCursor(recordSet(bytes));
      expect(cursor.nextOffset).toBe(2);
      expect(seenRecords(cursor)).toHaveLength(2);
    }
  });

  test('a fetch without one whole batch is refused, since it would come again for ever', () => {
    const whole = batch(7, 'a', 'b');
    for (let length = 1; length < whole.length; length += 1) {
      const read = () => values(whole.subarray(0, length), { position: 7 });
      expect(refusal(read).code).toBe('RECORD_CORRUPT');
    }
  });

  test('an empty fetch stays where it is', () => {
    const cursor = new RecordBatchCursor(recordSet(Buffer.alloc(0), { position: 7 }));
    expect(cursor.nextOffset).toBe(7);
    expect(cursor.recordCountMax).toBe(0);
    expect(cursor.next()).toBe(false);
  });

  test('timestamps: log append time is that of the batch, create time may go back', () => {
    const facts: TestBatch = {
      baseOffset: 0,
      timestamp: 5000,
      maxTimestamp: 9000,
      records: [
        { delta: 0, value: 'a', timestampDelta: -4999 },
        { delta: 1, value: 'b', timestampDelta: 2 ** 41 },
      ],
    };
    const times = (bytes: Buffer) =>
      seenRecords(new RecordBatchCursor(recordSet(bytes))).map(({ timestampMs }) => timestampMs);
    expect(times(batchBytes(facts))).toEqual([1, 5000 + 2 ** 41]);
    expect(times(batchBytes({ ...facts, attributes: LOG_APPEND_TIME }))).toEqual([9000, 9000]);
  });

  test('spans stay valid after the cursor has moved on', () => {
    const rows = ['one'.repeat(30), 'two'.repeat(30)];
    const bytes = Buffer.concat(
      compressions.map((compression, index) =>
        batchBytes({
          baseOffset: index * 2,
          records: rows.map((value, delta) => ({ delta, value })),
          compression,
        }),
      ),
    );
    const cursor = new RecordBatchCursor(recordSet(bytes));
    const spans: Buffer[] = [];
    while (cursor.next()) spans.push(cursor.bytes.subarray(cursor.valueStart, cursor.valueEnd));
    expect(spans.map(String)).toEqual(compressions.flatMap(() => rows));
  });
});

describe('damage', () => {
  test('any changed byte under the checksum is found, before a record is shown', () => {
    const bytes = Buffer.concat([batch(0, 'a'), batch(1, 'b', 'c')]);
    const start = batch(0, 'a').length;
    for (let at = start + 17; at < bytes.length; at += 1) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      const error = refusal(() => new RecordBatchCursor(recordSet(damaged)));
      expect(error.code).toBe('RECORD_CORRUPT');
      expect(error.message).toContain('at offset 1 of topic "orders" partition 3');
    }
  });

  test('a damaged batch cannot pass for a marker or hide below the position', () => {
    const bytes = batch(5, 'a');
    bytes.writeInt16BE(CONTROL, 21);
    expectCorrupt(bytes, 5, /checksum/);
    expect(refusal(() => values(bytes, { position: 50 })).code).toBe('RECORD_CORRUPT');
  });

  test.each<[string, Partial<TestBatch> & { readonly magic?: number }, RegExp]>([
    ['an unknown format', { magic: 3 }, /its format is 3/],
    ['an unknown compression', { attributes: 5 }, /its compression is 5/],
    ['a negative count', { recordCount: -1 }, /announces -1 records/],
    ['more records than offsets', { recordCount: 2_000_000_000 }, /announces 2000000000 records/],
    [
      'more records than bytes',
      { recordCount: 2_000_000_000, lastOffsetDelta: 2_100_000_000 },
      /announces 2000000000 records/,
    ],
    ['fewer records than bytes', { recordCount: 1 }, /bytes after its last record/],
    ['more records than there are', { recordCount: 3, lastOffsetDelta: 5 }, /a record of it has/],
    ['a negative last offset', { lastOffsetDelta: -1 }, /offsets do not follow/],
    ['an offset past 2^53', { baseOffset: 2 ** 60 }, /offset is too large/],
    ['a negative offset', { baseOffset: -5 }, /offsets do not follow/],
    ['record offsets past the last', { lastOffsetDelta: 1 }, /has the offset 6/],
  ])('%s', (_, { magic, ...facts }, what) => {
    const records = [
      { delta: 0, value: 'a long value, so that there are bytes' },
      { delta: facts.lastOffsetDelta === 1 ? 2 : 1, value: 'b' },
    ];
    const bytes = batchBytes({ baseOffset: 4, records, ...facts });
    if (magic !== undefined) bytes.writeInt8(magic, 16);
    const offset = magic === undefined ? Math.max(facts.baseOffset ?? 4, 0) : 0;
    expectCorrupt(bytes, offset, what);
  });

  test.each([-1, 0, 4, 5, 48])('a batch length of %i', (length) => {
    const bytes = batch(0, 'a'.repeat(100));
    bytes.writeInt32BE(length, 8);
    expectCorrupt(bytes, 0, new RegExp(`its length is ${length}`));
  });

  test('offsets that go back', () => {
    expectCorrupt(Buffer.concat([batch(9, 'a', 'b'), batch(10, 'c')]), 10, /do not follow/);
  });

  const record = (...parts: (number | Buffer)[]): Buffer => {
    const body = Buffer.concat(
      parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : part)),
    );
    return Buffer.concat([varint(body.length), body]);
  };
  const endless = Buffer.alloc(12, 0xff);
  const value = Buffer.from('value');

  test.each<[string, Buffer]>([
    ['an endless length', endless],
    ['a negative length', varint(-7)],
    ['a length past the end', varint(1000)],
    ['a length below the least', Buffer.concat([varint(3), Buffer.alloc(3)])],
    ['an endless timestamp', record(0, endless, 0, 1, 1, 0)],
    ['an endless offset', record(0, 0, endless, 1, 1, 0)],
    ['a negative offset', record(0, 0, varint(-1), 1, 1, 0)],
    ['an endless key length', record(0, 0, 0, endless, 1, 0)],
    ['a key length of -2', record(0, 0, 0, varint(-2), 1, 0)],
    ['a key past the end', record(0, 0, 0, varint(99), 1, 0)],
    ['the longest key', record(0, 0, 0, varint(2 ** 31 - 1), 1, 0)],
    ['a value length of -2', record(0, 0, 0, 1, varint(-2), 0)],
    ['a value past the end', record(0, 0, 0, 1, varint(6), value)],
    ['a value without headers after it', record(0, 0, 0, 1, varint(5), value)],
    ['bytes after the headers', record(0, 0, 0, 1, varint(5), value, 0, 0)],
    ['a negative header count', record(0, 0, 0, 1, 1, varint(-1))],
    ['more headers than bytes', record(0, 0, 0, 1, 1, varint(2 ** 30), 0, 0)],
    ['a header without a key', record(0, 0, 0, 1, 1, 2, varint(-1), varint(-1))],
    ['a header key past the end', record(0, 0, 0, 1, 1, 2, varint(50), 0, 0)],
    ['a header value of -2', record(0, 0, 0, 1, 1, 2, 0, varint(-2))],
    ['a header value past the end', record(0, 0, 0, 1, 1, 2, 0, varint(50), 0)],
    ['an endless header count', record(0, 0, 0, 1, 1, endless)],
  ])('a record with %s', (_, body) => {
    const after = recordBytes({ delta: 1, value: 'the next record' });
    for (const compression of ['none', 'lz4'] as const) {
      const bytes = batchBytes({
        baseOffset: 40,
        records: [],
        body: Buffer.concat([body, after]),
        recordCount: 2,
        lastOffsetDelta: 9,
        compression,
      });
      expect(() => new RecordBatchCursor(recordSet(bytes))).not.toThrow();
      expectCorrupt(bytes, 40, /It cannot be read/);
    }
  });

  test('equal offsets inside of a batch', () => {
    const records = [
      { delta: 1, value: 'a' },
      { delta: 1, value: 'b' },
    ];
    expectCorrupt(batchBytes({ baseOffset: 0, records, lastOffsetDelta: 5 }), 0, /the offset 1/);
  });

  test.each(compressions.filter((name) => name !== 'none'))(
    '%s data that is none',
    (compression) => {
      const packed = Buffer.from('this was never compressed by anything at all');
      const facts = { baseOffset: 12, records: [{ delta: 0 }], compression };
      expectCorrupt(batchBytes({ ...facts, packed }), 12, new RegExp(`its ${compression} data`));
      expectCorrupt(batchBytes({ ...facts, packed: Buffer.alloc(0) }), 12, /It cannot be read/);
    },
  );

  test.each(compressions.filter((name) => name !== 'none'))('%s data that is cut short', (name) => {
    const whole = batchBytes({
      baseOffset: 0,
      records: Array.from({ length: 50 }, (_, delta) => ({
        delta,
        value: `value ${delta * 7919}`,
      })),
      compression: name,
    });
    for (let length = 62; length < whole.length - 1; length += 7) {
      const bytes = Buffer.from(whole.subarray(0, length));
      bytes.writeInt32BE(length - 12, 8);
      expect(refusal(() => values(sealed(bytes))).code).toBe('RECORD_CORRUPT');
    }
  });

  test('random bytes in place of batches are read or refused, and never hang', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => readsOrRefuses(Buffer.from(bytes))),
      { numRuns: 2000 },
    );
  });

  test('random bytes under a right checksum are read or refused, and never hang', () => {
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 120 }),
      fc.array(fc.constantFrom(0, 1, 2, 8, 10, 14, 127, 128, 255), { maxLength: 60 }),
    );
    const facts = fc.record({
      body,
      code: fc.nat(7),
      recordCount: fc.nat(5),
      lastOffsetDelta: fc.nat(10),
      position: fc.nat(5),
    });
    fc.assert(
      fc.property(facts, ({ body: bytes, code, position, ...header }) => {
        const packed = Buffer.from(bytes);
        return readsOrRefuses(
          batchBytes({ baseOffset: 0, records: [], packed, attributes: code, ...header }),
          position,
        );
      }),
      { numRuns: 5000 },
    );
  });

  test('damaged compressed data under a right checksum is read or refused', () => {
    const records = Array.from({ length: 40 }, (_, delta) => ({
      delta,
      value: `row ${delta % 7}`,
    }));
    const whole = compressions.map((compression) =>
      batchBytes({ baseOffset: 0, records, compression }),
    );
    fc.assert(
      fc.property(fc.constantFrom(...whole), fc.nat(), fc.nat(255), (bytes, at, byte) => {
        const damaged = Buffer.from(bytes);
        damaged[61 + (at % (damaged.length - 61))] = byte;
        return readsOrRefuses(sealed(damaged));
      }),
      { numRuns: 3000 },
    );
  });

  function readsOrRefuses(bytes: Buffer, position = 0): boolean {
    try {
      const cursor = new RecordBatchCursor(recordSet(bytes, { position }));
      let last = position - 1;
      for (const { offset } of seenRecords(cursor)) {
        if (offset <= last || offset >= cursor.nextOffset) return false;
        last = offset;
      }
      return true;
    } catch (error) {
      const expected: ErrorCode[] = ['RECORD_CORRUPT', 'NOT_SUPPORTED', 'RECORD_TOO_LARGE'];
      return error instanceof FlowError && expected.includes(error.code);
    }
  }
});

describe('decompressed size', () => {
  const records: TestRecord[] = [{ delta: 0, value: Buffer.alloc(1_000_000, 'a') }];

  test.each(compressions.filter((name) => name !== 'none'))('a %s batch past the bound', (name) => {
    const bytes = batchBytes({ baseOffset: 6, records, compression: name });
    expect(bytes.length).toBeLessThan(60_000);
    expect(values(bytes, { decompressedBytesMax: 1_100_000 })).toHaveLength(1);
    const error = refusal(() => values(bytes, { decompressedBytesMax: 800_000 }));
    expect(error.code).toBe('RECORD_TOO_LARGE' satisfies ErrorCode);
    expect(error.message).toContain('at offset 6 of topic "orders" partition 3');
    expect(error.detail).toContain('more than 800000 bytes decompressed');
  });

  test('64 MB by default', () => {
    const packed = gzipSync(Buffer.alloc(65 * 1024 * 1024));
    expect(packed.length).toBeLessThan(100_000);
    const bytes = batchBytes({ baseOffset: 0, records: [{ delta: 0 }], packed, attributes: 1 });
    expect(refusal(() => values(bytes)).code).toBe('RECORD_TOO_LARGE');
  });

  test('snappy in blocks, as Java writes it, is bound as a whole', () => {
    const block = batchBytes({ baseOffset: 0, records, compression: 'snappy' }).subarray(61);
    const length = Buffer.alloc(4);
    length.writeInt32BE(block.length);
    const header = Buffer.from('82534e41505059000000000100000001', 'hex');
    const body = Buffer.concat([
      header,
      ...Array.from({ length: 3 }, () => [length, block]).flat(),
    ]);
    const bytes = batchBytes({ baseOffset: 0, records, packed: body, attributes: 2 });
    const read = (decompressedBytesMax: number) => values(bytes, { decompressedBytesMax });
    expect(refusal(() => read(2_500_000)).code).toBe('RECORD_TOO_LARGE');
    // All three blocks fit, and hold two records too many.
    expect(refusal(() => read(3_500_000)).detail).toContain('bytes after its last record');
  });
});

import { crc32c } from '@node-rs/crc32';
import {
  type Compression,
  compress,
  compressions,
} from '../../../src/adapters/kafka/wire/compression.ts';
import {
  RecordBatchCursor,
  type RecordSet,
} from '../../../src/adapters/kafka/wire/record-batch-reader.ts';

/** Record batches as a broker may hold them, written without the product's own builder. */
export type TestRecord = {
  readonly delta: number;
  readonly key?: Buffer | string | null;
  readonly value?: Buffer | string | null;
  readonly timestampDelta?: number;
  /** Header section as it stands; a zero byte where left out. */
  readonly headers?: Buffer;
};

export type TestBatch = {
  readonly baseOffset: number;
  readonly records: readonly TestRecord[];
  /** The delta of the last record where left out. */
  readonly lastOffsetDelta?: number;
  readonly recordCount?: number;
  readonly producerId?: number;
  readonly attributes?: number;
  readonly compression?: Compression;
  readonly timestamp?: number;
  readonly maxTimestamp?: number;
  /** In place of the records' own bytes, before compression. */
  readonly body?: Buffer;
  /** In place of the compressed bytes. */
  readonly packed?: Buffer;
};

export const TRANSACTIONAL = 0x10;
export const CONTROL = 0x20;
export const LOG_APPEND_TIME = 0x08;

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value < 0 ? -value * 2 - 1 : value * 2;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

export function recordBytes(record: TestRecord): Buffer {
  const span = (value: Buffer | string | null | undefined): Buffer[] => {
    if (value === null || value === undefined) return [varint(-1)];
    const bytes = Buffer.from(value);
    return [varint(bytes.length), bytes];
  };
  const body = Buffer.concat([
    Buffer.from([0]),
    varint(record.timestampDelta ?? 0),
    varint(record.delta),
    ...span(record.key),
    ...span(record.value),
    record.headers ?? Buffer.from([0]),
  ]);
  return Buffer.concat([varint(body.length), body]);
}

export function batchBytes(batch: TestBatch): Buffer {
  const compression = batch.compression ?? 'none';
  const body = batch.body ?? Buffer.concat(batch.records.map(recordBytes));
  const packed = batch.packed ?? Buffer.concat(compress(compression, body));
  const bytes = Buffer.alloc(61 + packed.length);
  const timestamp = BigInt(batch.timestamp ?? 1_700_000_000_000);
  bytes.writeBigInt64BE(BigInt(batch.baseOffset), 0);
  bytes.writeInt32BE(bytes.length - 12, 8);
  bytes.writeInt32BE(3, 12);
  bytes.writeInt8(2, 16);
  bytes.writeInt16BE((batch.attributes ?? 0) | compressions.indexOf(compression), 21);
  bytes.writeInt32BE(batch.lastOffsetDelta ?? batch.records.at(-1)?.delta ?? 0, 23);
  bytes.writeBigInt64BE(timestamp, 27);
  bytes.writeBigInt64BE(BigInt(batch.maxTimestamp ?? timestamp), 35);
  bytes.writeBigInt64BE(BigInt(batch.producerId ?? -1), 43);
  bytes.writeInt16BE(0, 51);
  bytes.writeInt32BE(-1, 53);
  bytes.writeInt32BE(batch.recordCount ?? batch.records.length, 57);
  packed.copy(bytes, 61);
  return sealed(bytes);
}

/** Makes the checksum right again. */
export function sealed(batch: Buffer): Buffer {
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17);
  return batch;
}

/** A partition's log that transactions are written to, as a broker keeps it. */
export class TestLog {
  readonly batches: Buffer[] = [];
  readonly aborted: { producerId: bigint; firstOffset: number }[] = [];
  readonly #first = new Map<number, number>();
  nextOffset: number;

  constructor(start = 0) {
    this.nextOffset = start;
  }

  send(producerId: number, ...rows: (string | readonly [Buffer, string])[]): void {
    if (!this.#first.has(producerId)) this.#first.set(producerId, this.nextOffset);
    const records = rows.map((row, delta) =>
      typeof row === 'string'
        ? { delta, key: `k${row}`, value: row }
        : { delta, key: row[0], value: row[1] },
    );
    this.#add({ baseOffset: this.nextOffset, records, producerId, attributes: TRANSACTIONAL });
  }

  /** Rows of a producer without transactions. */
  sendPlain(...rows: string[]): void {
    const records = rows.map((value, delta) => ({ delta, key: 'plain', value }));
    this.#add({ baseOffset: this.nextOffset, records });
  }

  commit(producerId: number): void {
    this.#first.delete(producerId);
    this.#end(producerId, 1);
  }

  abort(producerId: number): void {
    const firstOffset = this.#first.get(producerId);
    if (firstOffset !== undefined) {
      this.aborted.push({ producerId: BigInt(producerId), firstOffset });
    }
    this.#first.delete(producerId);
    this.#end(producerId, 0);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.batches);
  }

  #end(producerId: number, type: number): void {
    const key = Buffer.from([0, 0, 0, type]);
    const records = [{ delta: 0, key, value: Buffer.alloc(6) }];
    const attributes = TRANSACTIONAL | CONTROL;
    this.#add({ baseOffset: this.nextOffset, records, producerId, attributes });
  }

  #add(batch: TestBatch): void {
    this.batches.push(batchBytes(batch));
    this.nextOffset += (batch.records.at(-1)?.delta ?? 0) + 1;
  }
}

export function recordSet(bytes: Buffer, facts: Partial<RecordSet> = {}): RecordSet {
  return { topic: 'orders', partition: 3, bytes, position: 0, abortedTransactions: [], ...facts };
}

export type SeenRecord = {
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: string;
};

/** All that a cursor shows, copied. */
export function seenRecords(cursor: RecordBatchCursor): SeenRecord[] {
  const seen: SeenRecord[] = [];
  while (cursor.next()) {
    const { bytes, keyStart, keyEnd, valueStart, valueEnd } = cursor;
    seen.push({
      offset: cursor.offset,
      timestampMs: cursor.timestampMs,
      key: keyEnd < 0 ? null : bytes.toString('latin1', keyStart, keyEnd),
      value: valueEnd < 0 ? null : bytes.toString('latin1', valueStart, valueEnd),
      headers: bytes.toString('hex', cursor.headersStart, cursor.headersEnd),
    });
  }
  return seen;
}

export function values(bytes: Buffer, facts: Partial<RecordSet> = {}): (string | null)[] {
  return seenRecords(new RecordBatchCursor(recordSet(bytes, facts))).map(({ value }) => value);
}

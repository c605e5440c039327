import { truncateKey } from '../../data/row-envelope.ts';
import type { RecordCursor } from '../../ports/log.ts';
import type { RawFold, RawRecord } from './refresh-fold.ts';

/** The last records of some keys of one partition, in the topics of one generation. */
export type Fold = { readonly output: RawFold; readonly levels: RawFold };

/** Without that of truncates. */
export function keysOf(fold: Fold | undefined): readonly string[] {
  const records = [fold?.output, fold?.levels].flatMap((one) => [...(one?.records.values() ?? [])]);
  return records.flatMap(({ key }) => (key === truncateKey ? [] : [key]));
}

/** Of the records themselves, in bytes. */
export function bytesOf({ output, levels }: Fold): number {
  let bytes = 0;
  for (const { size } of [...output.records.values(), ...levels.records.values()]) bytes += size;
  return bytes;
}

export type Differences = {
  readonly published: ReadonlyMap<string, RawRecord>;
  readonly publishedBytes: number;
  readonly buried: readonly RawRecord[];
};

/** What has to be written so that the live topic says what the fresh one does. */
export function differences(live: RawFold, fresh: RawFold | undefined): Differences {
  const published = new Map<string, RawRecord>();
  let publishedBytes = 0;
  for (const [raw, record] of fresh?.records ?? []) {
    if (live.records.get(raw)?.digest === record.digest) continue;
    published.set(raw, record);
    publishedBytes += record.size;
  }
  const buried: RawRecord[] = [];
  for (const [raw, record] of live.records) {
    if (fresh?.records.has(raw) !== true) buried.push(record);
  }
  return { published, publishedBytes, buried };
}

/** What is held of it, in bytes. */
export function sizeOf({ output, levels }: Fold): number {
  return output.heldBytes + levels.heldBytes;
}

/** A record whose slice is gone by the time it is written. */
export type RecordCopy = { readonly key: Buffer; readonly value: Buffer; readonly headers: Buffer };

export function copyOf({
  bytes,
  keyStart,
  keyEnd,
  valueStart,
  valueEnd,
  headersStart,
  headersEnd,
}: RecordCursor): RecordCopy {
  return {
    key: Buffer.from(bytes.subarray(keyStart, keyEnd)),
    value: Buffer.from(bytes.subarray(valueStart, valueEnd)),
    headers: Buffer.from(bytes.subarray(headersStart, headersEnd)),
  };
}

import type { LogProducer, RecordCursor } from '../../ports/log.ts';

/** Appends the record that a cursor stands at, key, value and headers as they are. Invariant: nothing is decoded. */
export function appendCopy(
  producer: LogProducer,
  topic: string,
  partition: number,
  records: RecordCursor,
  timestampMs: number = records.timestampMs,
): void {
  const { bytes, keyStart, keyEnd, valueStart, valueEnd, headersStart, headersEnd } = records;
  producer.append(topic, partition, {
    key: bytes,
    keyStart,
    keyEnd,
    value: bytes,
    valueStart,
    valueEnd,
    headers: bytes,
    headersStart,
    headersEnd,
    timestampMs,
  });
}

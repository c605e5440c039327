import type { Log, LogProducer } from '../../src/ports/log.ts';

/** A producer outside of the pipeline that has written records and not ended its transaction. */
export async function openTransaction(
  log: Log,
  topic: string,
  values: readonly string[],
): Promise<LogProducer> {
  const producer = await log.openProducer('somebody');
  const empty = Buffer.alloc(0);
  for (const text of values) {
    const value = Buffer.from(text);
    producer.append(topic, 0, {
      key: empty,
      keyStart: 0,
      keyEnd: -1,
      value,
      valueStart: 0,
      valueEnd: value.length,
      headers: empty,
      headersStart: 0,
      headersEnd: 0,
      timestampMs: 0,
    });
  }
  return producer;
}

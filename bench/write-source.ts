import { partitionOf } from '../src/data/murmur2.ts';
import type { Log, OutgoingRecord } from '../src/ports/log.ts';
import type { PaymentGenerator } from './generate.ts';

const pendingBytesMax = 32 * 1024 * 1024;

/**
 * Writes all records of a generator to a topic: keyed ones to the partition of their key, as every Kafka producer
 * would, the others in turn.
 */
export async function writeSource(
  log: Log,
  topic: string,
  partitions: number,
  generator: PaymentGenerator,
): Promise<void> {
  const producer = await log.openProducer(undefined);
  const record: OutgoingRecord = {
    key: Buffer.alloc(0),
    keyStart: 0,
    keyEnd: 0,
    value: Buffer.alloc(0),
    valueStart: 0,
    valueEnd: 0,
    headers: Buffer.alloc(0),
    headersStart: 0,
    headersEnd: 0,
    timestampMs: Date.now(),
  };
  let next = 0;
  for (;;) {
    const chunk = generator.next();
    if (chunk === undefined) break;
    const { bytes, count, keyStarts, keyEnds, valueStarts, valueEnds } = chunk;
    record.key = bytes;
    record.value = bytes;
    for (let index = 0; index < count; index += 1) {
      record.keyStart = keyStarts[index] ?? 0;
      record.keyEnd = keyEnds[index] ?? -1;
      record.valueStart = valueStarts[index] ?? 0;
      record.valueEnd = valueEnds[index] ?? 0;
      const isKeyed = record.keyEnd >= 0;
      const partition = isKeyed
        ? partitionOf(bytes, record.keyStart, record.keyEnd, partitions)
        : next % partitions;
      next += 1;
      producer.append(topic, partition, record);
    }
    await producer.drain(pendingBytesMax);
  }
  await producer.commit([]);
  await producer.close();
}

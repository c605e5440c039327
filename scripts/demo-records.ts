import { text } from 'node:stream/consumers';
import { openKafkaLog } from '../src/adapters/kafka/kafka-log.ts';
import { readHeaders } from '../src/data/record-headers.ts';
import type { Log, RecordCursor } from '../src/ports/log.ts';

/**
 * A producer and a consumer for the demo: `create TOPIC PARTITIONS`, `produce TOPIC` (values from standard input, one
 * a line, round robin), `show TOPIC` (committed records with their headers). KAFKA_BROKERS says where.
 */
async function main(): Promise<void> {
  const [verb, topic = '', count = '1'] = process.argv.slice(2);
  const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',');
  const log = await openKafkaLog({ brokers, clientId: 'tidemark-demo' });
  try {
    if (verb === 'create') {
      await log.createTopics([
        { name: topic, partitions: Number(count), replicationFactor: -1, configs: {} },
      ]);
    } else if (verb === 'produce') {
      await produce(log, topic, await text(process.stdin));
    } else {
      await show(log, topic);
    }
  } finally {
    await log.close();
  }
}

async function partitionsOf(log: Log, topic: string): Promise<number> {
  return (await log.describeTopics([topic])).get(topic)?.partitions ?? 0;
}

async function produce(log: Log, topic: string, lines: string): Promise<void> {
  const partitions = await partitionsOf(log, topic);
  const producer = await log.openProducer(undefined);
  const values = lines.split('\n').filter((line) => line !== '');
  for (const [index, line] of values.entries()) {
    const value = Buffer.from(line);
    producer.append(topic, index % partitions, {
      key: value,
      keyStart: 0,
      keyEnd: -1,
      value,
      valueStart: 0,
      valueEnd: value.length,
      headers: value,
      headersStart: 0,
      headersEnd: 0,
      timestampMs: Date.now(),
    });
  }
  await producer.commit([]);
  await producer.close();
}

async function show(log: Log, topic: string): Promise<void> {
  const numbers = Array.from({ length: await partitionsOf(log, topic) }, (_, index) => index);
  const ranges = await log.offsetRanges(topic, numbers);
  const reader = log.openReader();
  for (const [partition, { start, stable }] of ranges) {
    if (stable === start) continue;
    reader.assign(topic, partition, start);
    for (let position = start; position < stable; ) {
      for (const slice of await reader.poll(1000)) {
        while (slice.records.next()) showRecord(partition, slice.records);
        position = slice.nextOffset;
      }
    }
    reader.unassign(topic, partition);
  }
  await reader.close();
}

function showRecord(partition: number, records: RecordCursor): void {
  const { bytes, offset, keyStart, keyEnd, valueStart, valueEnd } = records;
  const textOf = (from: number, to: number) => (to < 0 ? 'null' : bytes.toString('utf8', from, to));
  const lines = [
    `partition ${partition}, offset ${offset}: ${textOf(keyStart, keyEnd)} = ${textOf(valueStart, valueEnd)}`,
    ...readHeaders(bytes, records.headersStart, records.headersEnd).map(
      ({ key, value }) => `    ${key}: ${value?.toString('utf8') ?? 'null'}`,
    ),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

await main();

/**
 * What a record costs in the codec alone: building batches, and walking them. Prints CPU time (user and
 * system, all threads) per record, for each compression.
 * Run: node --import tsx bench/micro/record-batch.ts [records] [value bytes]
 */
import { type Compression, compressions } from '../../src/adapters/kafka/wire/compression.ts';
import { RecordBatchCursor } from '../../src/adapters/kafka/wire/record-batch-reader.ts';
import { RecordBatchBuilder } from '../../src/adapters/kafka/wire/record-batch-writer.ts';
import type { OutgoingRecord } from '../../src/ports/log.ts';

const recordCount = Number(process.argv[2] ?? 2_000_000);
const valueBytes = Number(process.argv[3] ?? 170);
const RECORDS_PER_BATCH = 500;
/** As many batches as a fetch of 4 MB brings. */
const BATCHES_PER_SET = 40;
const RECORDS_PER_SET = RECORDS_PER_BATCH * BATCHES_PER_SET;

function exampleRecords(): OutgoingRecord[] {
  return Array.from({ length: RECORDS_PER_SET }, (_, index) => {
    const key = Buffer.from(`key-${String(index).padStart(8, '0')}`);
    const text = `{"region":"R${index % 50}","item":"i${index}","qty":${index % 97},"seq":${index},"note":"`;
    const value = Buffer.from(`${text.padEnd(valueBytes - 2, String(index * 7919))}"}`);
    return {
      key,
      keyStart: 0,
      keyEnd: key.length,
      value,
      valueStart: 0,
      valueEnd: value.length,
      headers: key,
      headersStart: 0,
      headersEnd: 0,
      timestampMs: 1_700_000_000_000 + index,
    };
  });
}

function report(what: string, records: number, run: () => void): void {
  const cpu = process.cpuUsage();
  const begin = performance.now();
  run();
  const wallMs = performance.now() - begin;
  const { user, system } = process.cpuUsage(cpu);
  const ns = ((user + system) * 1000) / records;
  const rate = records / wallMs / 1000;
  console.log(
    `${what.padEnd(16)} ${ns.toFixed(0).padStart(5)} ns CPU/record ${rate.toFixed(2)} M/s wall`,
  );
}

function build(builder: RecordBatchBuilder, records: OutgoingRecord[], compression: Compression) {
  const batches: Buffer[] = [];
  for (let start = 0; start < records.length; start += RECORDS_PER_BATCH) {
    for (let index = start; index < start + RECORDS_PER_BATCH; index += 1) {
      const record = records[index];
      if (record !== undefined) builder.append(record);
    }
    const batch = builder.finish({
      producerId: 1n,
      producerEpoch: 0,
      baseSequence: 0,
      transactional: true,
      compression,
    });
    batch.writeBigInt64BE(BigInt(start), 0);
    batches.push(batch);
  }
  return batches;
}

const records = exampleRecords();
const rounds = Math.ceil(recordCount / RECORDS_PER_SET);
const builder = new RecordBatchBuilder(1_000_000, 256 * 1024);
let bytesSeen = 0;
for (const compression of compressions) {
  const set = Buffer.concat(build(builder, records, compression));
  report(`build ${compression}`, rounds * RECORDS_PER_SET, () => {
    for (let round = 0; round < rounds; round += 1) {
      const batches = build(builder, records, compression);
      for (const batch of batches) builder.release(batch);
    }
  });
  report(`walk ${compression}`, rounds * RECORDS_PER_SET, () => {
    for (let round = 0; round < rounds; round += 1) {
      const cursor = new RecordBatchCursor({
        topic: 'orders',
        partition: 0,
        bytes: set,
        position: 0,
        abortedTransactions: [],
      });
      while (cursor.next()) bytesSeen += cursor.valueEnd - cursor.valueStart;
    }
  });
}
console.log(`${bytesSeen} value bytes walked`);

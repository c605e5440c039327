/**
 * What a record costs stage by stage, without broker, store and network: CPU time (user and system, all threads, the
 * garbage collector's too) of this process. The work is that of `npm run bench`.
 * Run: node --import tsx bench/micro/stages.ts [records] [w1-a|w1-b|w2] [row_set|rows]
 */
import { RecordBatchCursor } from '../../src/adapters/kafka/wire/record-batch-reader.ts';
import { RecordBatchBuilder } from '../../src/adapters/kafka/wire/record-batch-writer.ts';
import { sequenceCodec } from '../../src/data/sequence.ts';
import { planPipeline } from '../../src/plan/plan-pipeline.ts';
import type { OutgoingRecord, RecordSink, Slice } from '../../src/ports/log.ts';
import { FlowTask } from '../../src/task/flow-task.ts';
import { MemoryShuffle } from '../../src/task/memory-shuffle.ts';
import { RepartitionOutput } from '../../src/task/output/repartition-output.ts';
import { RowProgram } from '../../src/task/row/row-program.ts';
import { TableTask } from '../../src/task/table-task.ts';
import { benchSource, PaymentGenerator } from '../generate.ts';
import type { Work } from '../options.ts';
import { printStages, stage } from './stage.ts';

const records = Number(process.argv[2] ?? 500_000);
const work = (process.argv[3] ?? 'w1-a') as Work;
const output = (process.argv[4] ?? 'row_set') as 'row_set' | 'rows';
const partitions = 4;
const commitRecords = 250_000;

/** The source as record sets of about half a megabyte, LZ4. */
function sourceSets(): { readonly bytes: Buffer; readonly position: number }[] {
  const generator = new PaymentGenerator({ work, records, seed: 1 });
  const builder = new RecordBatchBuilder(900_000);
  const sets: { bytes: Buffer; position: number }[] = [];
  let position = 0;
  const finish = (): void => {
    const count = builder.recordCount;
    if (count === 0) return;
    const batch = builder.finish({
      producerId: -1n,
      producerEpoch: -1,
      baseSequence: -1,
      transactional: false,
      compression: 'lz4',
    });
    const bytes = Buffer.from(batch);
    bytes.writeBigInt64BE(BigInt(position), 0);
    sets.push({ bytes, position });
    position += count;
  };
  for (;;) {
    const chunk = generator.next();
    if (chunk === undefined) break;
    for (let index = 0; index < chunk.count; index += 1) {
      const record: OutgoingRecord = {
        key: chunk.bytes,
        keyStart: chunk.keyStarts[index] ?? 0,
        keyEnd: chunk.keyEnds[index] ?? -1,
        value: chunk.bytes,
        valueStart: chunk.valueStarts[index] ?? 0,
        valueEnd: chunk.valueEnds[index] ?? 0,
        headers: chunk.bytes,
        headersStart: 0,
        headersEnd: 0,
        timestampMs: 1_790_000_000_000,
      };
      if (builder.append(record)) continue;
      finish();
      builder.append(record);
    }
  }
  finish();
  return sets;
}

function sliceOf({ bytes, position }: { bytes: Buffer; position: number }): Slice {
  const cursor = new RecordBatchCursor({
    topic: 'payments',
    partition: 0,
    bytes,
    position,
    abortedTransactions: [],
  });
  return {
    topic: 'payments',
    partition: 0,
    records: cursor,
    recordCountMax: cursor.recordCountMax,
    byteLength: bytes.length,
    fromOffset: position,
    nextOffset: cursor.nextOffset,
    logStart: 0,
    stableOffset: cursor.nextOffset,
    highWatermark: cursor.nextOffset,
  };
}

/** Packs as the producer does: a batch is compressed and sealed when it is full. */
class PackingSink implements RecordSink {
  readonly #builders = Array.from({ length: partitions }, () => new RecordBatchBuilder(900_000));
  count = 0;

  append(_topic: string, partition: number, record: OutgoingRecord): void {
    const builder = this.#builders[partition] as RecordBatchBuilder;
    this.count += 1;
    if (builder.append(record)) return;
    this.#seal(builder);
    builder.append(record);
  }

  flush(): void {
    for (const builder of this.#builders) if (builder.recordCount > 0) this.#seal(builder);
  }

  #seal(builder: RecordBatchBuilder): void {
    const batch = stage('compress and seal (in emit)', () =>
      builder.finish({
        producerId: 1n,
        producerEpoch: 0,
        baseSequence: 0,
        transactional: true,
        compression: 'lz4',
      }),
    );
    builder.release(batch);
  }
}

const columns = benchSource.split(', ').map((column) => column.split(' ')[0]);
const { plan } = planPipeline([
  {
    file: 'bench.sql',
    text: `CREATE SOURCE payments (${benchSource}) WITH (topic = 'payments');
CREATE STREAMING TABLE t WITH (topic = 't', output = '${output}')
FLOW REPLACE USING (payment_id) SEQUENCE BY seq BY NAME SELECT ${columns.join(', ')} FROM STREAM(payments);`,
  },
]);
const [flow] = plan?.flows ?? [];
const [source] = plan?.sources ?? [];
const [table] = plan?.tables ?? [];
if (
  plan === undefined ||
  flow?.kind !== 'replace_using' ||
  source === undefined ||
  table === undefined
) {
  throw new Error('the pipeline has no plan');
}
const program = new RowProgram({
  flow,
  branch: 0,
  source,
  table,
  timeZone: 'UTC',
  isSpliced: true,
});
const shuffle = new MemoryShuffle('p.t.repartition');
for (let partition = 0; partition < partitions; partition += 1) shuffle.open(partition);
const flowTask = new FlowTask({
  flow: 't',
  programs: [program],
  topic: 'payments',
  topicId: '0123456789abcdef0123456789abcdef',
  partition: 0,
  output: new RepartitionOutput({ topic: 'p.t.repartition', partitions }, shuffle),
  deadLetters: undefined,
  deadLetterShareMax: 1,
});
const { writeText } = sequenceCodec(flow.sequenceType);
const tasks = Array.from(
  { length: partitions },
  (_, partition) =>
    new TableTask({
      target: {
        table: 't',
        topic: 't',
        partition,
        generation: 0,
        writeSequence: writeText,
        distinct: false,
        recordBytesMax: 1_000_000,
      },
      output,
      rowSetRowsMax: 10_000,
      cacheBytesMax: 64 * 1024 * 1024,
    }),
);
const sink = new PackingSink();

const sets = sourceSets();
globalThis.gc?.();
let sinceCommit = 0;
for (const [index, set] of sets.entries()) {
  const slice = stage('check and open a slice', () => sliceOf(set));
  shuffle.begin(sink);
  stage('flow: scan, key, sequence, row', () =>
    flowTask.process(slice, shuffle, 1_790_000_000_000),
  );
  for (const rows of shuffle.take()) {
    const task = tasks[rows.partition] as TableTask;
    const asked = stage('table: look up', () => task.keysOf(rows));
    const none = new Array(asked.length).fill(undefined);
    stage('table: merge', () => task.process(none));
  }
  sinceCommit += slice.recordCountMax;
  if (sinceCommit < commitRecords && index < sets.length - 1) continue;
  sinceCommit = 0;
  stage('table: emit', () => {
    for (const task of tasks) task.effects(sink, 1_790_000_000_000);
    sink.flush();
  });
  stage('table: settle', () => {
    for (const task of tasks) task.applied();
  });
  shuffle.turn();
}

printStages(records, sink.count);
